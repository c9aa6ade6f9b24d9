"""The models that a service has: their files among the blobs, and their facts in the store."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from .. import errors
from .blobs import OPERATOR, Blobs
from .models import Facts, file_of, open_model
from .refusals import Refused, not_found
from .store import Prepared, Store
from .tables import models
from .tenants import is_name, require_name

_DESCRIBE = "from latticino.serve.registry import describe; describe()"

_ACTIVE = Prepared(sa.select(models).where(models.c.active).order_by(models.c.name))
_NAMED = Prepared(sa.select(models).where(models.c.name == sa.bindparam("name")).order_by(models.c.active.desc()))


class Registry:
    """The models in a store."""

    def __init__(self, store: Store, blobs: Blobs) -> None:
        self._store, self._blobs = store, blobs

    def add(self, path: str | os.PathLike[str], name: str) -> Facts:
        """Serves the model in a file under this name, instead of the model that had the name before. Raises as `read`.
        """
        facts = self.read(path, name)
        self.serve({name: facts}, beside=True)
        return facts

    def read(self, path: str | os.PathLike[str], name: str) -> Facts:
        """Stores the files of a model that is not served yet. FileError or UnsupportedError for a file that is no
        model, or that cannot be served."""
        require_name("serve", name)
        data = file_of(path)
        facts, client = _described(data)
        self._blobs.put("models", OPERATOR, data)
        self._blobs.put("models", OPERATOR, client)
        return facts

    def serve(self, named: Mapping[str, Facts], beside: bool = False) -> None:
        """Serves models that were read, all of them or none. Requests for others are refused (410) from then on, unless
        they are served ``beside`` these."""
        with self._store.write() as c:
            if not beside:
                c.execute(models.update().where(models.c.name.not_in(list(named))).values(active=False))
            for name, facts in named.items():
                others = models.c.name == name, models.c.digest != facts.digest
                c.execute(models.update().where(*others).values(active=False))
                known = c.execute(models.update().where(models.c.digest == facts.digest).values(
                    name=name, active=True, facts=facts.to_json()))
                if not known.rowcount:
                    c.execute(models.insert().values(
                        digest=facts.digest, name=name, active=True, facts=facts.to_json(),
                        seconds=max(facts.predicted_seconds, 1e-3), created=self._store.now(c)))

    def active(self) -> list[Any]:
        """The rows of the models that are served."""
        with self._store.read() as c:
            return _ACTIVE.rows(c)

    def named(self, name: str) -> Any:
        """The row of the model of a name. Refused: 404; 410 if it was retired."""
        if not is_name(name):
            raise not_found("models", "model")
        with self._store.read() as c:
            rows = _NAMED.rows(c, name=name)
        if not rows:
            raise not_found("models", "model")
        if not rows[0].active:
            raise Refused.of(410, "models", "a model that is not served any more", "one that is",
                             "ask for the models again")
        return rows[0]

    def part(self, digest: str) -> str:
        """The file of the part of a model that clients need. FileError for a model without a row."""
        with self._store.read() as c:
            facts = c.execute(sa.select(models.c.facts).where(models.c.digest == digest)).scalar()
        if facts is None:
            raise errors.FileError.explain("checker", "a model that the store lacks", "one that it has",
                                           "serve the model again")
        return self._blobs.path("models", OPERATOR, Facts.read(facts).client)

    def file(self, digest: str) -> bytes:
        """The bytes of a model's file. FileError if they are gone, or changed."""
        return self._blobs.read("models", OPERATOR, digest)


def _described(data: bytes) -> tuple[Facts, bytes]:
    """The output of `describe` for the bytes of a file. It runs in a process of its own, so that its memory is released
    afterwards."""
    done = subprocess.run([sys.executable, "-c", _DESCRIBE], input=data, capture_output=True)
    if done.returncode < 0:
        raise errors.OutOfMemoryError.explain(
            "serve", f"a model whose reading was ended by signal {-done.returncode}, as for lack of memory",
            f"memory for a model of {len(data)} bytes and its plan", "free memory, or serve it on a larger machine")
    lines = done.stdout.splitlines()
    fields = json.loads(lines[-1]) if done.returncode == 0 and lines else {
        "error": "FileError", "message": done.stderr.decode(errors="replace")}
    if "error" in fields:
        raise getattr(errors, fields["error"], errors.Error)(fields["message"], "serve")
    return Facts.read(fields["facts"]), base64.b64decode(fields["client"])


def describe() -> None:
    """The program of `_described`: prints the facts and the clients' part of the model that it reads from standard
    input."""
    try:
        model = open_model(sys.stdin.buffer.read(), "cpu")
        print(json.dumps({"facts": model.facts().to_json(), "client": base64.b64encode(model.client_file()).decode()}))
    except errors.Error as why:
        print(json.dumps({"error": type(why).__name__, "message": str(why)}))
