"""Whether an answer of the front is one that /openapi.json names."""

import json
import re

KINDS = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict, "null": type(None)}
KNOWN = {"type", "properties", "required", "items", "enum", "pattern", "$ref", "anyOf", "additionalProperties", "format"}


def require(app, method, path, status, headers, body):
    """AssertionError unless the document names the status, each header that it requires is there, and the body is of its
    schema. Paths of no route are in no document."""
    document = app.app.openapi()
    route = template(document, path)
    operation = None if route is None else document["paths"][route].get(method.lower())
    if operation is None:
        assert status in (404, 405, 411) or path.startswith(("/page", "/openapi.json")), (method, path, status)
        return
    assert str(status) in operation["responses"], (method, route, status)
    answer = operation["responses"][str(status)]
    lacking = [name for name, header in answer.get("headers", {}).items() if header["required"] and name.lower() not in headers]
    assert lacking == [], (method, route, status, lacking)
    kind = headers.get("content-type", "").partition(";")[0]
    if not answer.get("content"):
        assert body == b"", (method, route, status)
        return
    assert kind in answer["content"], (method, route, status, kind)
    if kind == "application/json":
        faults = list(of(document, answer["content"][kind]["schema"], json.loads(body)))
        assert faults == [], (method, route, status, faults)


def template(document, path):
    """The path of the document that a request's path belongs to. A fixed path comes before one with a name in it."""
    for found in sorted(document["paths"], key=lambda p: p.count("{")):
        if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(found)), path, re.DOTALL):
            return found
    return None


def of(document, schema, value, at="body"):
    """The parts of a value that differ from its schema. Fields that the schema does not name are also differences."""
    assert set(schema) <= KNOWN, schema
    if "$ref" in schema:
        yield from of(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], value, at)
        return
    if "anyOf" in schema:
        if all(list(of(document, each, value, at)) for each in schema["anyOf"]):
            yield f"{at}: {value!r}"
        return
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    fits = [kind for kind in kinds if isinstance(value, KINDS[kind]) and (kind == "boolean") >= isinstance(value, bool)]
    if not fits or value not in schema.get("enum", [value]) or (
            isinstance(value, str) and not re.search(schema.get("pattern", ""), value)):
        yield f"{at}: {value!r}"
    elif fits == ["array"]:
        for i, each in enumerate(value):
            yield from of(document, schema["items"], each, f"{at}[{i}]")
    elif fits == ["object"]:
        more = schema.get("additionalProperties")
        yield from (f"{at}.{name} lacks" for name in schema.get("required", ()) if name not in value)
        for name, each in value.items():
            known = schema.get("properties", {}).get(name, more)
            yield from [f"{at}.{name} is not named"] if known is None else of(document, known, each, f"{at}.{name}")
