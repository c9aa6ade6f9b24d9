"""The commands of a service: serve, worker, tenants for its operator, keys and jobs for tenants."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.parse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import arrays, errors
from ..common import display
from ..common.options import count
from ..files import regular
from ..nn.compiling import as_bytes
from . import packages

if TYPE_CHECKING:
    from .http import Link
    from .process import Config
    from .tenants import Tenants

FOLDER = "latticino-service"
DATABASE = "service.sqlite"
TOKEN, STORE = "LATTICINO_TOKEN", "LATTICINO_STORE"
_TOKEN_BYTES = 1 << 16  # bytes that are read of a token file
_LOOPBACK = ("127.0.0.1", "::1", "localhost")

AddCommand = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add(command: AddCommand, on_device: Callable[[argparse.ArgumentParser], None]) -> None:
    """Adds the commands to the parser of `latticino`."""
    serve = command("serve", _with_store(_serve), "serve networks to tenants over HTTP (docs/serving.md)")
    serve.add_argument("models", nargs="+", help="files that lt.save_program wrote, or enc.save for the server; "
                       "NAME=FILE gives a name, which otherwise is that of the file's folder")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on; default: 127.0.0.1")
    serve.add_argument("--port", type=count(0, 65535), default=8000, help="port; 0: any free one; default: 8000")
    serve.add_argument("--plain-http", action="store_true", help="listen beyond this machine without TLS: for a "
                       "private network behind a proxy that has it")
    serve.add_argument("--rate", type=count(1), default=100, help="requests per second that a token may send; "
                       "default: 100")
    serve.add_argument("--polls", type=count(1), default=100, help="number of requests of a tenant that may wait at a "
                       "time, for the end of a job or of a check; default: 100")
    serve.add_argument("--most-queued", type=count(1), default=3600,
                       help="predicted seconds of jobs that may wait for each worker; default: 3600")
    serve.add_argument("--keep-results", type=count(1), default=86_400,
                       help="seconds until a result is deleted; default: 86400")
    serve.add_argument("--reserve", type=_amount(0), default="1GiB", help="bytes that stay free on the disk of the "
                       "blobs; default: 1GiB")
    serve.add_argument("--page", type=Path, help="a folder with a web page for tenants' browsers, at /page/ "
                       "(docs/browser.md)")
    worker = command("worker", _with_store(_worker), "run jobs of a service, on this machine or another one")
    for sub in (serve, worker):
        _on_store(sub)
        on_device(sub)
        sub.add_argument("--workers", type=count(0 if sub is serve else 1, 64), default=1, help="number of "
                         "processes that compute, each on the device; default: 1" + (
                             "; 0: only workers of other machines" if sub is serve else ""))
        sub.add_argument("--memory", type=_amount(1), help="device memory of each worker, such as 70GiB; default on "
                         "a CPU: half of the machine's memory for all workers; default on a GPU: an equal part of "
                         "what is free at the start, less a sixteenth of it and 1 GiB")
        sub.add_argument("--host-memory", type=_amount(1), help="host memory for bundles of keys, of each worker; "
                         "default: half of the machine's memory for all workers")
        sub.add_argument("--grace", type=count(0, 3600), default=20,
                         help="seconds that running jobs have after SIGTERM; default: 20")
    tenants = command("tenants", _with_store(_tenants),
                      "add tenants of a service, make and revoke their tokens, list them")
    tenants.add_argument("action", choices=("add", "token", "revoke", "list"))
    tenants.add_argument("name", nargs="?")
    _on_store(tenants)
    tenants.add_argument("--models", help="token: names of the models that it is for, separated by commas; "
                         "default: all")
    tenants.add_argument("--days", type=count(1, 3660), help="token: days for which it is valid; default: 30")
    tenants.add_argument("--most-bytes", type=_amount(1), help="add: quota of bytes of keys, inputs and results; "
                         "default: 64GiB")
    tenants.add_argument("--most-jobs", type=count(1), help="add: quota of jobs that wait or run; default: 1000")
    tenants.add_argument("--most-seconds", type=count(1), help="add: quota of predicted seconds of jobs that wait or "
                         "run; default: 86400")
    tenants.add_argument("--weight", type=count(1, 1000), help="add: weight of its share of the workers; default: 1")
    keys = command("keys", _keys, "upload a bundle of keys to a service, list or delete bundles there")
    keys.add_argument("action", choices=("push", "list", "delete"))
    keys.add_argument("bundle", nargs="?", help="push: a file that lt.save_server_keys wrote with one_file=True; "
                      "delete: a hash")
    jobs = command("jobs", _jobs, "list or cancel jobs of a service")
    jobs.add_argument("action", nargs="?", choices=("list", "cancel"), default="list")
    jobs.add_argument("job", nargs="?", help="cancel: the id of the job")
    for sub in (keys, jobs):
        sub.add_argument("--url", required=True, help="address of the service")
        sub.add_argument("--model", help="name of the model; default: the one that the token is for; list: all of "
                         "them")
        sub.add_argument("--token-file", type=Path, help=f"a file with the token; default: the environment "
                         f"variable {TOKEN}")
        sub.add_argument("--cafile", help="a file with certificates of authorities, in place of those of the system")
        sub.add_argument("--certificate", help="a file with your certificate and its key, for a proxy that asks for "
                         "one")


def _amount(least: int) -> Callable[[str], int]:
    """Bytes, or a text such as "16GiB"."""
    def read(text: str) -> int:
        try:
            number = as_bytes(text, least)
        except errors.ValueError:
            number = -1
        if not least <= number < 1 << 62:
            raise argparse.ArgumentTypeError(f"{text!r} is no amount of memory of {least} bytes or more, such as 16GiB")
        return number

    return read


def _on_store(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--folder", type=Path, default=Path(FOLDER), help=f"folder of the store and the blobs; default: "
                     f"{FOLDER}")
    sub.add_argument("--store", help="database: sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME; default: a "
                     "file in the folder")
    sub.add_argument("--blobs", type=Path, help="folder of the blobs; default: in the folder of the store")


# ---- the operator's ----


def _with_store(handler: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Calls the handler of a command. Errors of the store become errors of the library."""
    def handled(args: argparse.Namespace) -> int:
        try:
            return handler(args)
        except Exception as why:
            if isinstance(why, (errors.Error, OSError)):
                raise
            from .store import STORE_ERRORS, first_line

            if not isinstance(why, STORE_ERRORS):
                raise
            raise errors.FileError.explain(
                args.command, f"a store that refused ({first_line(why)})", "a database that answers and takes changes",
                "make room on its disk, or check --store; then run the command again") from why

    return handled


def _serve(args: argparse.Namespace) -> int:
    packages.require("serve")
    from .checker import require_confined
    from .models import Facts
    from .registry import Registry
    from .resources import Resources, key_budgets
    from .service import Service, quiet_environment

    if args.host not in _LOOPBACK and not args.plain_http:
        raise errors.UnsupportedError.explain(
            "serve", f"--host {args.host}, over which anybody can read tokens", "127.0.0.1 behind a proxy with TLS",
            "leave --host out, or pass --plain-http for a private network")
    quiet_environment()
    page = str(args.page.resolve()) if args.page else ""
    if page:
        from .traffic import Page

        Page(page)  # refused here, before the front would refuse it
    named = _models_of(args.models)
    require_confined()
    limits = {"seconds": float(args.most_queued), "keep_results": float(args.keep_results)}
    config = _config(args, page=page, limits=limits, rate=float(args.rate), burst=4.0 * args.rate,
                     polls=args.polls, reserve=args.reserve)
    _require_its_blobs(config)
    store, blobs = config.open(make=True)
    # checked first, together with the address: a service that cannot start must not change the models of one that runs
    blobs.hold()
    service = Service(config, args.workers, (args.host, args.port), float(args.grace))
    registry, facts = Registry(store, blobs), dict[str, Facts]()
    for name, path in named.items():
        facts[name] = registry.read(path, name)
        print(_described(name, facts[name]), flush=True)
    if len({each.digest for each in facts.values()}) < len(named):
        raise errors.UnsupportedError.explain("serve", "one model under two names", "a name for each model",
                                              "name each file once")
    if args.workers:  # reported here, because otherwise each worker would report it
        key_budgets(list(facts.values()), Resources(**config.resources).for_device())
    # done after everything that can be refused, because the next worker would serve what a failed start left
    registry.serve(facts)
    store.close()
    host = f"[{args.host}]" if ":" in args.host else args.host
    print(f"serving at http://{host}:{service.port}", flush=True)
    if page:
        print(f"page at http://{host}:{service.port}/page/", flush=True)
    service.run()
    return 0


def _require_its_blobs(config: Config) -> None:
    """FileError for a store with keys of tenants beside no folder of blobs, as if its disk is not mounted. With a new
    and empty folder, all keys would count as lost."""
    from .bundles import Bundles
    from .store import Store

    if Path(config.blobs, "chunks").is_dir():
        return
    store = Store(config.store)
    try:
        count = Bundles.chunks_in(store)
    finally:
        store.close()
    if count:
        raise errors.FileError.explain(
            "serve", f"{arrays.printable(config.blobs)}, which is no folder of blobs, and a store that names {count} "
            "chunks of keys", "the folder that was used with this store", "mount its disk, restore it from a backup, "
            "or name it with --blobs; to begin anew, name another store too")


def _worker(args: argparse.Namespace) -> int:
    packages.require("worker")
    from .blobs import OPERATOR
    from .models import Facts
    from .registry import Registry
    from .resources import Resources, key_budgets
    from .service import Service, quiet_environment

    quiet_environment()
    _require_own(args)
    config = _config(args)
    store, blobs = config.open(make=True)
    rows = Registry(store, blobs).active()
    lacking = [row.name for row in rows if not blobs.has("models", OPERATOR, row.digest)]
    store.close()
    if lacking:  # otherwise workers would start and end again and again
        raise errors.FileError.explain("worker", f"{blobs.folder}, which lacks the model {lacking[0]} of the store",
                                       "the folder of blobs that latticino serve uses", "pass --blobs")
    key_budgets([Facts.read(row.facts) for row in rows], Resources(**config.resources).for_device())
    Service(config, args.workers, None, float(args.grace)).run()
    return 0


# Options of an action of tenants, which other actions do not have.
_OPTIONS_OF_ACTION = {"add": ("most_bytes", "most_jobs", "most_seconds", "weight"), "token": ("models", "days")}


def _require_used(args: argparse.Namespace) -> None:
    """UnsupportedError for an option of `tenants` that the action would not read."""
    for action, options in _OPTIONS_OF_ACTION.items():
        for option in options:
            if action != args.action and getattr(args, option) is not None:
                raise errors.UnsupportedError.explain(
                    f"tenants {args.action}", f"--{option.replace('_', '-')}", "options of its own",
                    f"leave it out: it belongs to {action}")


def _tenants(args: argparse.Namespace) -> int:
    packages.require("tenants")
    from .tenants import Quota

    _require_used(args)
    name = _given(args.name, args, "the name of a tenant", ("list",))
    tenants = _opened(args)
    if args.action == "list":
        for row in tenants.all():
            print(f"{row.name}: {display.size(row.held)} of {display.size(row.quota.bytes)}, "
                  f"{row.waiting} jobs that wait or run, {row.tokens} tokens")
        return 0
    if args.action == "add":
        usual = Quota()
        tenants.add(name, Quota(args.most_bytes or usual.bytes, args.most_jobs or usual.jobs,
                                float(args.most_seconds or usual.seconds), float(args.weight or usual.weight)))
        print(f"added {name}")
    elif args.action == "token":
        print(tenants.token(name, None if args.models is None else args.models.split(","), float(args.days or 30)))
    else:
        print(f"revoked {tenants.revoke(name)} tokens of {name}")
    return 0


def _opened(args: argparse.Namespace) -> Tenants:
    from .store import Store
    from .tenants import Tenants

    address = _store_of(args)
    if args.action == "add":
        _make_folder(args)
    else:
        _require_own(args)
    return Tenants(Store(address))


def _make_folder(args: argparse.Namespace) -> None:
    try:
        args.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as why:
        raise errors.FileError.explain(
            args.command, f"{arrays.printable(str(args.folder))} ({why.strerror})", "a folder that can be made or used",
            "name another one with --folder") from why


def _require_own(args: argparse.Namespace) -> None:
    """FileError if the store should be in the folder and is not: a new and empty one would have no tenants."""
    if not (args.store is not None or os.environ.get(STORE) or (args.folder / DATABASE).exists()):
        raise errors.FileError.explain(
            args.command, f"no service in {args.folder}", "the folder of a service", "pass --folder, or " + (
                "add the first tenant: latticino tenants add NAME" if args.command == "tenants" else
                "--store and --blobs, or start latticino serve first"))


def _store_of(args: argparse.Namespace) -> str:
    """The store's address. If it has a password, it should be in the environment and not among the arguments."""
    given = args.store if args.store is not None else os.environ.get(STORE) or None
    if given is not None:
        return str(given)
    folder = arrays.as_text(str(args.folder.resolve()), args.command, "folder")
    return "sqlite:///" + urllib.parse.quote(f"{folder}/{DATABASE}")


def _config(args: argparse.Namespace, **more: Any) -> Config:
    from . import resources
    from .process import Config

    found = resources.resources_by_options(args)  # before anything is made
    _make_folder(args)
    return Config(_store_of(args), str((args.blobs or args.folder / "blobs").resolve()), resources=dict(vars(found)),
                  **more)


def _models_of(texts: Sequence[str]) -> dict[str, str]:
    """The files of models by their names."""
    from .tenants import is_name

    named: dict[str, str] = {}
    for text in texts:
        name, mark, path = text.partition("=")
        if not mark or Path(text).exists():  # a path may contain the sign
            name, path = Path(text).resolve().parent.name, text
        if not is_name(name):
            raise errors.ValueError.explain(
                "serve", f"the name {arrays.shown(name)} for {arrays.shown(path)}",
                "1 to 64 letters, digits, dots, dashes and underscores", "pass NAME=FILE")
        if name in named:
            raise errors.UnsupportedError.explain("serve", f"the name {name} twice", "a name for each model",
                                                  "pass NAME=FILE for each")
        named[name] = path
    return named


def _described(name: str, facts: Any) -> str:
    return (f"{name}: {facts.parameters}, requests of {display.size(facts.request_bytes)}, bundles of at most "
            f"{display.size(facts.bundle_bytes)}, {display.seconds(facts.predicted_seconds)} predicted, "
            f"{display.seconds(facts.first_seconds)} for the first run")


# ---- the tenants' commands ----


def _keys(args: argparse.Namespace) -> int:
    bundle = _given(args.bundle, args, "a file" if args.action == "push" else "a hash", ("list",))
    if args.action == "push":
        regular.opened(bundle, "keys", "the file of a bundle").close()  # before the service is asked for anything
    from . import client

    link = _link(args)
    if args.action == "list":
        for row, name in _rows_by_model(args, link, client.bundles_of(link)):
            print(f"{row['hash']}  {row['state']:9}  {display.size(row['size'])}  key {row['key_id'] or '-'}{name}"
                  + (f"  {row['reason']}" if row["reason"] else ""))
        return 0
    models = client.models_of(link)
    if args.action == "delete":
        for model in _models_with(bundle, args, link, models):
            client.delete_bundle(link, bundle, model)
    else:
        print(client.Service(link, client.chosen(models, args.model, "--model NAME")).push(bundle))
    return 0


def _models_with(bundle: str, args: argparse.Namespace, link: Link, models: dict[str, Any]) -> list[str]:
    """The models of which a bundle is deleted: the named one or the only one, and without a name those that are served
    no longer if only they have the bundle. Lists show them with a dash, so nobody could name them."""
    from . import client

    served = {found["digest"] for found in models.values()}
    having = [row["model"] for row in client.bundles_of(link) if row["hash"] == bundle]
    if args.model is None and having and not served & set(having):
        return having
    return [client.chosen(models, args.model, "--model NAME")]


def _jobs(args: argparse.Namespace) -> int:
    job = _given(args.job, args, "the id of a job", ("list",))
    from . import client

    link = _link(args)
    if args.action == "cancel":
        if args.model is not None:
            client.chosen(client.models_of(link), args.model, "--model NAME")  # only checks the name
        print(json.dumps(client.cancelled(link, job)))
        return 0
    for row, name in _rows_by_model(args, link, client.jobs_of(link)):
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["created"]))
        print(f"{row['id']}  {row['state']:9}  {when}  {row['progress']:.0%}{name}"
              + (f"  {row['error']}" if row["error"] else ""))
    return 0


def _rows_by_model(args: argparse.Namespace, link: Link,
                   rows: list[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """The rows of the named model, or of all models. Each has the name of its model, unless all are of the only one. A
    dash stands for a model that is served no longer."""
    from . import client

    models = client.models_of(link)
    if args.model is not None:
        digest = models[client.chosen(models, args.model, "--model NAME")]["digest"]
        return [(row, "") for row in rows if row["model"] == digest]
    names = {found["digest"]: f"  {name}" for name, found in models.items()}
    if len(names) == 1 and all(row["model"] in names for row in rows):
        return [(row, "") for row in rows]
    return [(row, names.get(row["model"], "  -")) for row in rows]


def _link(args: argparse.Namespace) -> Link:
    from .http import Link

    token = os.environ.get(TOKEN, "")
    if args.token_file:
        with regular.opened(args.token_file, args.command, "the file of a token") as file:
            token = file.read(_TOKEN_BYTES).decode(errors="replace").strip()
    if not token:
        raise errors.UnsupportedError.explain(args.command, "no token", f"{TOKEN} in the environment, or --token-file",
                                              "ask the operator for one")
    return Link(args.url, token, args.cafile, certificate=args.certificate)


def _given(value: str | None, args: argparse.Namespace, what: str, without: Sequence[str]) -> str:
    """The argument of the action. The command ends if it is missing. Actions in ``without`` have no such argument."""
    more = args.action in without
    if value is not None if more else not value:
        said = f"takes no {arrays.shown(value)}" if more else f"needs {what}"
        print(f"latticino: {args.command} {args.action} {said}", file=sys.stderr)
        raise SystemExit(2)
    return value or ""
