"""/openapi.json: describes the requests and answers of the front's routes. Parameters of paths and queries are written
by FastAPI, tokens, headers, statuses and what is in the answers here."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

Json = dict[str, Any]

# ---- contents of the answers ----


def _object(needed: Json, maybe: Json | None = None) -> Json:
    return {"type": "object", "properties": {**needed, **(maybe or {})}, "required": list(needed)}


def _list(name: str, of: str) -> Json:
    return _object({name: {"type": "array", "items": _ref(of)}})


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _or_null(kind: str) -> Json:
    return {"type": [kind, "null"]}


_TEXT, _NUMBER, _COUNT = {"type": "string"}, {"type": "number"}, {"type": "integer"}
_HASH = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_BUNDLE = {"hash": _HASH, "model": _HASH, "reason": _or_null("string"), "key_id": _or_null("string"), "size": _COUNT,
           "created": _NUMBER,
           "state": {"type": "string", "enum": ["uploading", "uploaded", "checking", "ready", "refused"]}}
_JOB = {"id": {"type": "string", "pattern": "^[0-9a-f]{32}$"}, "model": _HASH, "bundle": _HASH,
        "error": _or_null("string"), "progress": _NUMBER, "attempts": _COUNT, "created": _NUMBER,
        "finished": _or_null("number"), "deadline": _or_null("number"), "seconds": _NUMBER,
        "real_seconds": _or_null("number"), "result": {"type": ["string", "null"], "pattern": _HASH["pattern"]},
        "result_size": _COUNT,
        "state": {"type": "string", "enum": ["queued", "running", "done", "failed", "cancelled", "expired",
                                             "poisoned"]}}
_FACTS = {"kind": {"type": "string", "enum": ["network", "program"]}, "digest": _HASH, "client": _HASH,
          "parameters": _TEXT, "params_hash": _TEXT, "inputs": {"type": "array", "items": _ref("Port")},
          "outputs": {"type": "array", "items": _ref("Port")},
          "keys": {"type": "object", "additionalProperties": _COUNT}, "key_bytes": _COUNT, "bundle_bytes": _COUNT,
          "predicted_seconds": _NUMBER, "peak_bytes": _COUNT, "switching": {"type": "array", "items": _TEXT},
          "scheme": {"type": "string", "enum": ["ckks", "tfhe"]}, "first_seconds": _NUMBER}
SCHEMAS: Json = {
    "Error": _object({"message": _TEXT}, {"missing": {"type": "array", "items": _HASH}}),
    "Live": _object({"live": {"type": "boolean"}}), "Ready": _object({"ready": {"type": "boolean"}, "workers": _COUNT}),
    "Port": _object({"name": _TEXT, "shape": {"type": "array", "items": _COUNT}, "level": _COUNT, "bytes": _COUNT,
                     "dtype": _TEXT}),
    "Model": _object({"name": _TEXT, **_FACTS, "seconds": _NUMBER, "request_bytes": _COUNT}),
    "Models": _list("models", "Model"),
    "Manifest": _object({"model": _TEXT, "size": _COUNT, "chunks": {"type": "array", "items": _HASH}}),
    "Bundle": _object(_BUNDLE), "Bundles": _list("bundles", "Bundle"),
    "Announced": _object({**_BUNDLE, "missing": {"type": "array", "items": _HASH}}),
    "Stored": _object({"stored": _HASH}),
    "Job": _object(_JOB), "Jobs": _list("jobs", "Job"),
    "JobAndStart": _object({**_JOB, "starts_in": _or_null("number")})}

# ---- the routes ----

_JSON, _FILE, _PLAIN = "application/json", "application/octet-stream", "text/plain"
_BINARY = {"type": "string", "format": "binary"}
_TOKEN_ERRORS = {401: "no token, or none that is valid", 429: "a rate or a quota; come again after Retry-After",
                 411: "a body of unknown length", 503: "the service or its store is busy, or about to stop"}
_ERRORS = {400: "the request is not as this document says", 404: "this tenant has no such object",
           408: "the body came too slowly", 409: "a state or an idempotency key that does not fit",
           410: "it was there, and is not any more", 413: "a body that is too long, or a quota of bytes that is full",
           500: "the disk of the service has lost or changed a file",
           507: "the disk of the service has no room"}
_HEADERS: dict[int, Json] = {
    401: {"WWW-Authenticate": {"required": True, "schema": _TEXT}},
    429: {"Retry-After": {"required": True, "description": "seconds", "schema": _COUNT}},
    503: {"Retry-After": {"required": True, "description": "seconds", "schema": _COUNT}}}
_FILE_HEADERS = {"ETag": {"required": True, "schema": _TEXT}, "Accept-Ranges": {"required": True, "schema": _TEXT}}


def _header(name: str, text: str, required: bool, schema: Json) -> Json:
    return {"name": name, "in": "header", "required": required, "description": text, "schema": schema}


_KEY = _header("Idempotency-Key", "the same key again, with the same body, gives the same job", True,
               {"type": "string", "pattern": "^[!-~]{1,128}$"})
_RANGE = _header("Range", "bytes=FIRST-LAST", False, _TEXT)
_BODY_ERRORS = (400, 404, 408, 413, 507)

# A sentence, answers (schemas by name; None for none), statuses of errors beside those of every route of tenants,
# headers, and the body as its type and schema.
_Route = tuple[str, dict[int, str | None], tuple[int, ...], tuple[Json, ...], tuple[str, Json] | None]
_ROUTES: dict[tuple[str, str], _Route] = {
    ("get", "/v1/models"): ("The models that the token is for.", {200: "Models"}, (), (), None),
    ("get", "/v1/models/{name}"): ("A model.", {200: "Model"}, (404, 410), (), None),
    ("get", "/v1/models/{name}/client"): ("The part of a model that its clients need.", {200: _FILE}, (404, 410, 500),
                                          (), None),
    ("get", "/v1/bundles"): ("Bundles of keys.", {200: "Bundles"}, (), (), None),
    ("post", "/v1/bundles"): ("Announces a bundle by its manifest.", {201: "Announced"}, (*_BODY_ERRORS, 410), (),
                              (_JSON, _ref("Manifest"))),
    ("get", "/v1/bundles/{bundle}"): ("A bundle; `wait`: seconds until the end of its check.", {200: "Bundle"},
                                      (400, 404, 410), (), None),
    ("post", "/v1/bundles/{bundle}/commit"): ("Ends an upload.", {202: "Bundle"}, (400, 404, 409, 410), (), None),
    ("delete", "/v1/bundles/{bundle}"): (
        "Deletes a bundle; `model`: a name, or the digest in a list, also if it is served no longer.", {204: None},
        (400, 404, 409), (), None),
    ("put", "/v1/chunks/{chunk}"): ("A chunk that a manifest names. 200: it was there already.",
                                    {200: "Stored", 201: "Stored"}, _BODY_ERRORS, (), (_FILE, _BINARY)),
    ("get", "/v1/jobs"): ("The latest jobs.", {200: "Jobs"}, (), (), None),
    ("post", "/v1/jobs"): ("Adds a job; the body has the files of its inputs. 200: the key has made this job before.",
                           {200: "Job", 202: "Job"}, (*_BODY_ERRORS, 409, 410), (_KEY,), (_FILE, _BINARY)),
    ("get", "/v1/jobs/{job}"): ("A job; `wait`: seconds until its end.", {200: "JobAndStart"}, (400, 404), (), None),
    ("delete", "/v1/jobs/{job}"): ("Cancels a job, or deletes its result.", {200: "Job"}, (404,), (), None),
    ("get", "/v1/jobs/{job}/result"): ("The file of a result, or a part of it.", {200: _FILE, 206: _FILE},
                                       (400, 404, 409, 410, 416, 500), (_RANGE,), None)}


def _of_errors(statuses: tuple[int, ...]) -> Json:
    out: Json = {}
    for status in sorted({*statuses, *_TOKEN_ERRORS}):
        if status == 416:
            out["416"] = {"description": "the result has no such bytes"}
            continue
        content: Json = {_JSON: {"schema": _ref("Error")}}
        if status == 400 and 416 in statuses:
            content[_PLAIN] = {"schema": _TEXT}  # for an invalid Range header
        out[str(status)] = {"description": {**_ERRORS, **_TOKEN_ERRORS}[status], "content": content,
                            **({"headers": _HEADERS[status]} if status in _HEADERS else {})}
    return out


def _of_answers(answers: dict[int, str | None], ranges: bool) -> Json:
    out: Json = {}
    for status, name in answers.items():
        content = {} if name is None else {_FILE: {"schema": _BINARY}} if name == _FILE else {
            _JSON: {"schema": _ref(name)}}
        out[str(status)] = {"description": "the answer", **({"content": content} if content else {}),
                            **({"headers": _FILE_HEADERS} if ranges else {})}
    return out


_OPEN: dict[str, Json] = {
    "/v2/health/live": {"200": {"description": "the front runs", "content": {_JSON: {"schema": _ref("Live")}}}},
    "/v2/health/ready": {
        "200": {"description": "a worker lives", "content": {_JSON: {"schema": _ref("Ready")}}},
        "503": {"description": "none does, or the service is about to stop; Error: its store does not answer",
                "content": {_JSON: {"schema": {"anyOf": [_ref("Ready"), _ref("Error")]}}}}},
    "/metrics": {"200": {"description": "for Prometheus", "content": {_PLAIN: {"schema": _TEXT}}},
                 "503": {"description": "its store does not answer", "content": {_JSON: {"schema": _ref("Error")}}}}}


def describe(app: FastAPI) -> None:
    """Completes the document of an application that has the routes above. KeyError for any other route."""
    document = FastAPI.openapi(app)
    document["components"] = {"schemas": SCHEMAS, "securitySchemes": {"token": {
        "type": "http", "scheme": "bearer", "description": "latticino tenants token makes one"}}}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path in _OPEN:
                found = _OPEN[path]
                operation["responses"] = {**found, "411": _of_errors(())["411"]}
                operation["security"] = []
                continue
            text, answers, statuses, headers, body = _ROUTES[method, path]
            operation["description"], operation["security"] = text, [{"token": []}]
            operation["responses"] = {**_of_answers(answers, _RANGE in headers), **_of_errors(statuses)}
            if headers:
                operation["parameters"] = [*operation.get("parameters", ()), *headers]
            if body is not None:
                operation["requestBody"] = {"required": True, "content": {body[0]: {"schema": body[1]}}}
    app.openapi = lambda: document  # FastAPI makes its own document again when routes are added
