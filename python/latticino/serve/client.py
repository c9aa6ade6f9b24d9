"""The client's side of a service: ``lt.connect(url, token)``."""

from __future__ import annotations

import io
import os
import tempfile
import threading
import time
import urllib.parse
import uuid
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from .. import arrays, errors, tfhe
from ..ckks.client import Client, ServerKeys
from ..ckks.context import Context
from ..common import roles
from ..common.progress_bar import Task
from ..files import regular, saving
from .http import FILE_BYTES, KEY, Kinds, Link
from .manifest import CHUNK, Manifest
from .parts import part_of

_ENDED = ("done", "failed", "cancelled", "expired", "poisoned")
_PENDING = ("uploaded", "checking")
_PUSHES = 3  # how often a bundle is sent whose chunks the service loses
_WAIT = 20.0  # seconds of a long poll
_UPLOADS = 4  # chunks that are sent at the same time
# Fields of the service's answers that are used, and their types.
_MODEL: Kinds = {"name": str, "digest": str, "parameters": str, "kind": str}
_BUNDLE: Kinds = {"model": str, "hash": str, "state": str, "key_id": (str, type(None))}
_STATE: Kinds = {"state": str, "reason": (str, type(None))}
_JOB: Kinds = {"id": str, "state": str, "created": (int, float), "progress": (int, float), "error": (str, type(None))}


def connect(url: str, token: str, model: str | None = None, *, cafile: str | None = None,
            certificate: str | None = None) -> Service:
    """A service at ``url`` (https, or http on this machine), under a ``token`` of its operator.

    ``model``: its name; None where the token is for one model. ``cafile``: certificates of authorities, PEM, in place
    of the system's. ``certificate``: a file with your certificate and its key, PEM, for a proxy that asks for one.
    ServiceError if it does not answer, or has no such model for the token. FileError for files that are not PEM.

    >>> service = lt.connect("https://score.example", token)
    >>> client = lt.keygen(service.context())
    >>> y = service.use(client).run(x)
    """
    return Service(Link(url, token, cafile, certificate=certificate), model)


class Service:
    """A model of a service.

    - ``name``: the model's name
    - ``facts``: a dictionary with what the service says about the model
    - ``program``: an `lt.SavedProgram`, which is the part of the model that encrypts inputs and decrypts results
    - ``network``: this part as an `lt.nn.Network`. It is None if the model is not a network.
    """

    def __init__(self, link: Link, model: str | None) -> None:
        self._link, models = link, models_of(link)
        model = chosen(models, model, "model=NAME")
        self.name, self.facts = model, link.row(models[model], _MODEL)
        self.part = part_of(self.facts["kind"], link.send("GET", f"/v1/models/{_word(model)}/client",
                                                           most=FILE_BYTES))
        self.program = self.part.program
        self.network: Any = getattr(self.program, "network", None)

    def context(self, device: str | None = None) -> Context | tfhe.Context:
        """A context with the model's parameters, for a client."""
        return self.part.context(device)

    def use(self, client: Client | tfhe.Client,
            keys: ServerKeys | tfhe.ServerKeys | str | os.PathLike[str] | None = None) -> Remote:
        """The model for this client: makes the keys that it needs, and uploads them, unless the service has a bundle of
        this client already.

        ``keys``: a bundle, or the file of one, in place of new keys. ServiceError if the service refuses them. KeyError
        for those of another client.
        """
        roles.require_kind("use", client, (Client, tfhe.Client), "lt.keygen(service.context()) gives it")
        if keys is None:
            return Remote(self, client, self._known(client) or self.push(self.part.keys(client)))
        if isinstance(keys, (ServerKeys, tfhe.ServerKeys)):
            _require_own(client, keys._id)  # before they are uploaded
            return Remote(self, client, self.push(keys))
        bundle = self.push(keys)
        for row in self.bundles():
            if row["hash"] == bundle:
                _require_own(client, row["key_id"])
        return Remote(self, client, bundle)

    def push(self, keys: ServerKeys | tfhe.ServerKeys | str | os.PathLike[str]) -> str:
        """Uploads a bundle of keys, or the chunks of it that the service lacks, and waits until it is checked. Returns
        its hash. ``keys``: a bundle, or the file of one (`lt.save_server_keys` with one_file=True)."""
        if isinstance(keys, (ServerKeys, tfhe.ServerKeys)):
            with tempfile.TemporaryFile() as file:
                saving.save_server_keys(file, keys._context, keys)
                return self._push(file)
        with regular.opened(arrays.as_path(keys, "push"), "push", "the file of a bundle") as file:
            return self._push(file)

    def bundles(self) -> list[dict[str, Any]]:
        """What the service has of this tenant's bundles for the model: ``hash``, ``state``, ``key_id``, ``size``."""
        return [row for row in bundles_of(self._link) if row["model"] == self.facts["digest"]]

    def delete(self, bundle: str) -> None:
        """Removes a bundle of this model by its hash. `latticino keys delete` also removes those of models that are
        served no longer."""
        delete_bundle(self._link, bundle, self.name)

    def jobs(self) -> list[dict[str, Any]]:
        """The latest jobs of this tenant."""
        return jobs_of(self._link)

    def cancel(self, job: str) -> dict[str, Any]:
        """Cancels a job that has not ended, or takes away the result of one that has."""
        return cancelled(self._link, job)

    def __repr__(self) -> str:
        return f"Service({self.name!r} at {self._link.url}, {self.facts['parameters']})"

    def _known(self, client: Client | tfhe.Client) -> str | None:
        """The newest bundle that was made from this client's key, by the key ids that the service lists for this
        tenant."""
        return next((row["hash"] for row in self.bundles()
                     if row["state"] == "ready" and row["key_id"] == client.key_id), None)

    def _push(self, file: Any) -> str:
        file.seek(0, io.SEEK_END)
        size = file.tell()
        file.seek(0)
        with Task("reading keys", size, unit="bytes") as task:
            manifest = Manifest.of(file, task.advance)
        for _ in range(_PUSHES):
            self._send(file, manifest)
            if self._checked(manifest.hash):
                return manifest.hash
        raise errors.ServiceError.explain("push", f"a bundle of which the service lost chunks {_PUSHES} times",
                                          "a service that keeps them", "tell its operator that its disk may be damaged")

    def _send(self, file: Any, manifest: Manifest) -> None:
        """Sends what the service lacks of a bundle, and says that it is complete."""
        fields = {"model": self.name, "size": manifest.size, "chunks": list(manifest.chunks)}
        missing = self._link.row(self._link.json("POST", "/v1/bundles", fields), {"missing": list})["missing"]
        while missing:
            self._upload(file, manifest, set(map(str, missing)))
            try:
                self._commit(manifest.hash)
                break
            except errors.ServiceError as why:
                if not why.missing or set(why.missing) == set(map(str, missing)):
                    raise
                missing = why.missing
        else:
            self._commit(manifest.hash)

    def _upload(self, file: Any, manifest: Manifest, missing: set[str]) -> None:
        places = {hash_: i for i, hash_ in enumerate(manifest.chunks) if hash_ in missing}
        sizes, handle = manifest.sizes(), file.fileno()
        left, ends = SimpleQueue[str](), SimpleQueue[BaseException | int]()
        for hash_ in places:
            left.put(hash_)
        stopped = threading.Event()

        def work(own: int) -> None:
            with os.fdopen(own, "rb"), suppress(Empty):
                while not stopped.is_set():
                    hash_ = left.get_nowait()
                    try:
                        data = os.pread(own, sizes[hash_], places[hash_] * CHUNK)
                        self._link.send("PUT", f"/v1/chunks/{hash_}", data,
                                        headers={"Content-Type": "application/octet-stream"})
                        ends.put(len(data))
                    except BaseException as why:
                        ends.put(why)

        # After an error or an interrupt, threads may still be sending a chunk, which can take minutes. Nothing waits
        # for them. A ThreadPoolExecutor would be joined when Python exits.
        with Task("uploading keys", sum(sizes[hash_] for hash_ in places), unit="bytes") as task:
            try:
                for _ in range(min(_UPLOADS, len(places))):
                    threading.Thread(target=work, args=(os.dup(handle),), daemon=True).start()
                for _ in places:
                    end = ends.get()
                    if isinstance(end, BaseException):
                        raise end
                    task.advance(end)
            finally:
                stopped.set()

    def _commit(self, hash_: str) -> None:
        self._link.json("POST", f"/v1/bundles/{hash_}/commit", query={"model": self.name})

    def _checked(self, hash_: str) -> bool:
        """Waits until a bundle is ready. False if its check has found that the service's disk lost a chunk."""
        with Task("the service checks the keys"):
            while True:
                row = self._link.row(self._link.json("GET", f"/v1/bundles/{hash_}", query={
                    "model": self.name, "wait": _WAIT}), _STATE)
                if row["state"] == "ready":
                    return True
                if row["state"] == "uploading":
                    return False
                if row["state"] not in _PENDING:
                    raise errors.ServiceError(row["reason"] or f"push: had a bundle that is {row['state']}; needs "
                                              "one that is ready; send it again", "push")


def _require_own(client: Client | tfhe.Client, key_id: str | None) -> None:
    if key_id != client.key_id:
        raise errors.KeyError.explain("use", f"keys of the client {key_id}", f"those of this client, {client.key_id}",
                                      "pass the client that made them, or leave keys= out")


def models_of(link: Link) -> dict[str, Any]:
    """The models that the token is for, by their names."""
    return {found["name"]: found for found in link.rows("/v1/models", "models", {"name": str, "digest": str})}


def chosen(models: dict[str, Any], name: str | None, option: str) -> str:
    """The name of a model; None stands for the only one. ServiceError for None where there are several, and for a model
    that is not there. ``option``: the argument by which the caller names a
    model, for the message."""
    if name is None and len(models) == 1:
        name = next(iter(models))
    if name is None or name not in models:
        raise errors.ServiceError.explain(
            "connect", "no name of a model" if name is None else f"the model {arrays.shown(name)}",
            f"one of {', '.join(sorted(models)) or 'none that this token is for'}", f"pass {option}")
    return name


def bundles_of(link: Link) -> list[dict[str, Any]]:
    """The bundles of all models that the token is for."""
    return link.rows("/v1/bundles", "bundles", {**_BUNDLE, "size": int, "reason": (str, type(None))})


def delete_bundle(link: Link, bundle: str, model: str) -> None:
    """Removes a bundle of a model, which is a name, or a digest as in `bundles_of`."""
    link.send("DELETE", f"/v1/bundles/{_word(bundle)}", query={"model": model})


def jobs_of(link: Link) -> list[dict[str, Any]]:
    """The latest jobs of all models that the token is for."""
    return link.rows("/v1/jobs", "jobs", {**_JOB, "model": str})


def cancelled(link: Link, job: str) -> dict[str, Any]:
    """Cancels a job that has not ended, or takes away the result of one that has."""
    return link.row(link.json("DELETE", f"/v1/jobs/{_word(job)}"), _JOB)


def _word(name: str) -> str:
    """A name as a part of a path, whatever its characters are."""
    return urllib.parse.quote(arrays.as_text(name, "service", "name"), safe="")


class Remote:
    """A model of a service with one client's keys there. ``bundle``: their hash."""

    def __init__(self, service: Service, client: Client | tfhe.Client, bundle: str) -> None:
        self.service, self.client, self.bundle = service, client, bundle

    def run(self, /, *values: Any, deadline: float | None = None, **numbers: Any) -> Any:
        """Encrypts the values, sends them, waits, and decrypts the result. The values are a sample of a network, or as
        many as a run takes, or the arguments of a program. ``numbers``: those that each run of a program brings, by
        name (``program.scalars``). The service sees them in the clear. A program that returns a list gives a tuple.
        Raises as `submit` and `Job.result`."""
        return self.submit(*values, deadline=deadline, **numbers).result()

    def submit(self, /, *values: Any, final: bool = True, deadline: float | None = None, key: str | None = None,
               **numbers: Any) -> Job:
        """Encrypts and sends what a run takes; the job runs there.

        ``final``: a result of CKKS is as small as its precision allows, and can only be decrypted. ``deadline``:
        seconds from now after which the service does not run it any more. ``key``: of idempotency; the same key again
        gives the same job. ``numbers`` as of `run`; ValueError for one out of its range. ServiceError if the service
        refuses the job. If it says when to send the job again, that is done first, for up to 10 minutes.
        """
        body = self.service.part.encrypt(self.client, values, numbers)
        return self.send(body, final=final, deadline=deadline, key=key)

    def send(self, data: bytes, *, final: bool = True, deadline: float | None = None, key: str | None = None) -> Job:
        """The same for values that are already encrypted. ``data``: the files of all inputs, one after the other, and
        then the numbers."""
        link, key = self.service._link, uuid.uuid4().hex if key is None else arrays.as_text(key, "submit", "key")
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise errors.UnsupportedError.explain("send", f"{type(data).__name__} as the files of the inputs", "bytes",
                                                  "use lt.to_bytes, or submit for values that are not encrypted")
        final = arrays.as_flag(final, "submit", "final")
        deadline = None if deadline is None else arrays.as_real(deadline, "submit", "deadline", above=0)
        if not KEY.fullmatch(key):
            raise errors.ValueError.explain("submit", f"key={arrays.shown(key)}", "1 to 128 visible characters of "
                                            "ASCII", "correct it, or leave it out for a new key")
        text = link.send("POST", "/v1/jobs", data, {
            "model": self.service.name, "bundle": self.bundle, "final": final, "deadline": deadline},
            {"Idempotency-Key": key, "Content-Type": "application/octet-stream"})
        return Job(self, link.parsed(text))

    def __repr__(self) -> str:
        return f"Remote({self.service.name!r}, key {self.client.key_id}, bundle {self.bundle[:16]})"


class Job:
    """A job of a service. ``id``; ``row``: what the service said of it last; ``state``; ``progress`` from 0 to 1."""

    def __init__(self, remote: Remote, row: dict[str, Any]) -> None:
        self._remote, self.row = remote, remote.service._link.row(row, _JOB)
        self.id: str = row["id"]

    @property
    def state(self) -> str:
        return str(self.row["state"])

    @property
    def progress(self) -> float:
        return float(self.row["progress"])

    def look(self, wait: float = 0.0) -> Job:
        """Asks the service for its state; ``wait``: up to so many seconds, until it has ended."""
        wait = arrays.as_real(wait, "look", "wait")
        self.row = self._link.row(self._link.json("GET", f"/v1/jobs/{_word(self.id)}", query={
            "wait": wait} if wait else None), _JOB)
        return self

    def wait(self, timeout: float | None = None) -> Job:
        """Waits until the job has ended. ServiceError after ``timeout`` seconds; the job goes on."""
        last = None if timeout is None else time.monotonic() + arrays.as_real(timeout, "wait", "timeout")
        with Task("the service computes", 100, unit="%") as task:
            while self.state not in _ENDED:
                left = _WAIT if last is None else min(last - time.monotonic(), _WAIT)
                if left <= 0:
                    raise errors.ServiceError.explain("wait", f"a job that is {self.state} after {timeout:g} s",
                                                      "one that has ended", "wait again")
                self.look(min(left, 1.0) if task.done < 100 and self.state == "running" else left)
                task.done = round(100 * self.progress)
        return self

    def result(self, timeout: float | None = None) -> Any:
        """The decrypted result, once there is one: an array, or a tuple of arrays. ServiceError for a job that ended
        otherwise."""
        return self._remote.service.part.decrypt(self._remote.client, self.data(timeout))

    def data(self, timeout: float | None = None) -> bytes:
        """The file of the encrypted result, or of several (docs/serving.md says how they lie in it)."""
        self.wait(timeout)
        if self.state != "done":
            raise errors.ServiceError.explain(
                "service", f"a job that is {self.state}" + (f" ({self.row['error']})" if self.row["error"] else ""),
                "one that is done", "see the reason; a new job can be sent")
        return self._link.send("GET", f"/v1/jobs/{_word(self.id)}/result", most=FILE_BYTES)

    def cancel(self) -> Job:
        """Cancels it, or takes away its result."""
        self.row = self._remote.service.cancel(self.id)
        return self

    def __repr__(self) -> str:
        return f"Job({self.id}, {self.state}, {self.progress:.0%})"

    @property
    def _link(self) -> Link:
        return self._remote.service._link
