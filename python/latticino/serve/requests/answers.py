"""The answers of the front: rows of the store as JSON, and errors as responses."""

from __future__ import annotations

import errno
import json
import math
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from ... import errors
from ..logs import log
from ..models import Facts
from ..refusals import Refused
from ..store import STORE_ERRORS

# ---- rows as JSON ----


def of_model(row: Any) -> dict[str, Any]:
    return {"name": row.name, **json.loads(row.facts), "seconds": row.seconds,
            "request_bytes": Facts.read(row.facts).request_bytes}


def of_bundle(row: Any) -> dict[str, Any]:
    return {"hash": row.hash, "model": row.model, "state": row.state, "reason": row.reason, "key_id": row.key_id,
            "size": row.size, "created": row.created}


def of_job(row: Any) -> dict[str, Any]:
    return {"id": row.id, "state": row.state, "model": row.model, "bundle": row.bundle, "error": row.error,
            "progress": row.progress, "attempts": row.attempts, "created": row.created, "finished": row.finished,
            "deadline": row.deadline, "seconds": row.seconds, "real_seconds": row.real_seconds,
            "result": row.result, "result_size": row.result_size if row.result else 0}


# ---- errors as responses ----


def _answer(status: int, message: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    return JSONResponse({"message": message, **more}, status, headers or {})


async def refusal(_: Request, why: Any) -> Response:
    headers = {}
    if why.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if why.retry_after is not None:
        headers["Retry-After"] = str(math.ceil(why.retry_after))
    if why.status in (408, 411, 413):
        headers["Connection"] = "close"  # the rest of the body is not read
    return _answer(why.status, str(why), headers, **({"missing": list(why.missing)} if why.missing else {}))


async def bad(_: Request, why: Any) -> Response:
    return _answer(400, str(why))


async def invalid(_: Request, why: Any) -> Response:
    names = ", ".join(sorted({str(found["loc"][-1]) for found in why.errors()}))
    return _answer(400, f"service: had a request whose {names} is missing or wrong; needs those of /openapi.json; "
                   "correct it")


async def no_route(_: Request, why: Any) -> Response:
    return _answer(why.status_code, f"service: had a method and a path that no route has ({why.detail}); needs those "
                   "of /openapi.json; correct the address", why.headers)


async def away(_: Request, why: Any) -> Response:
    return _answer(503, "service: had a store that does not answer; needs one; send it again", {"Retry-After": "2"})


async def gone(_: Request, why: Any) -> Response:
    return _answer(499, "service: had a body that ended early; needs all of it; send it again")  # no client reads this


async def of_disk(_: Request, why: Any) -> Response:
    if why.errno not in (errno.ENOSPC, errno.EDQUOT):
        # the text of an error of the system has the path of a file, and with it the id of a tenant
        log("front.trouble", error=str(why) if isinstance(why, errors.Error) else why.strerror)
        return _answer(503, "service: had trouble with its files; needs its folder of blobs; send it again, and tell "
                       "its operator if that does not help", {"Retry-After": "2"})
    return _answer(507, "service: had a full disk; needs room; ask its operator")


def add_errors(app: FastAPI) -> None:
    """Makes an application answer errors in the form of this module."""
    for kind, answer in ((Refused, refusal), (errors.ValueError, bad), (RequestValidationError, invalid),
                         (HTTPException, no_route), (ClientDisconnect, gone),
                         *((kind, away) for kind in STORE_ERRORS), (OSError, of_disk)):
        app.add_exception_handler(kind, answer)
