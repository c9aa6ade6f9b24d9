"""Sends requests to a service, with the standard library alone."""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import random
import re
import ssl
import threading
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any, TypeAlias

from .. import arrays, errors

TRIES = 5
FILE_BYTES = 2**34  # the most of a response with a file: an encrypted result, or a client's part of a model
_JSON_BYTES = 2**26  # the most of any other response: a million hashes
_PIECE = 2**20  # bytes that are read at once if a response does not state its length
Kinds: TypeAlias = Mapping[str, "type | tuple[type, ...]"]  # the types of fields, by their names
KEY = re.compile(r"[\x21-\x7e]{1,128}")  # the form of an idempotency key
_PATH = re.compile(r"[\x21-\x7e]*")  # the form of an address
_BUSY = (429, 502, 503, 504)  # 502 and 504 are a proxy's, while the service behind it starts again
_TIMEOUT = 90.0  # seconds to wait for a response; long polls take up to 30 s


class Link:
    """An address and a token. Each thread of each process has a connection of its own, and keeps it open.

    A request is repeated if its connection breaks, if the service is busy for now (429, 503), or if a proxy does not
    reach it (502, 504). It is never repeated before the time that Retry-After states. A random time is added, so that
    clients that were refused at the same moment do not all return at the same moment. ServiceError for other refusals,
    and if the time would be later than ``patience`` allows.
    """

    def __init__(self, url: str, token: str, cafile: str | None = None, patience: float = 600.0,
                 certificate: str | None = None) -> None:
        url, self._token = arrays.as_text(url, "connect", "url"), _token(token)
        try:
            parts = urllib.parse.urlsplit(url)
            host, port = (parts.hostname or "").encode("idna").decode(), parts.port
        except ValueError:  # including UnicodeError, for a host that no name server knows
            parts, host, port = urllib.parse.urlsplit(""), "", None
        if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or parts.username:
            raise errors.ValueError.explain("connect", f"the address {arrays.shown(url)}",
                                            "https://HOST or https://HOST:PORT", "correct it")
        if not _PATH.fullmatch(parts.path):
            raise errors.ValueError.explain("connect", f"the path of the address {arrays.shown(url)}",
                                            "visible characters of ASCII", "write others as %XX, or correct it")
        if parts.scheme == "http" and not _loopback(host):
            raise errors.UnsupportedError.explain(
                "connect", f"http to {host}, over which anybody can read the token",
                "https, or an address of this machine", "put the service behind TLS (docs/serving.md)")
        if parts.scheme == "http" and (cafile or certificate):
            raise errors.UnsupportedError.explain("connect", "certificates for an address with http", "https",
                                                  "correct the address, or leave cafile= and certificate= out")
        self.url, self.patience = url, patience
        self._host, self._port, self._base = host, port, parts.path.rstrip("/")
        self._tls = _tls(cafile, certificate) if parts.scheme == "https" else None
        self._local = threading.local()

    def json(self, method: str, path: str, body: Any = None, query: dict[str, Any] | None = None) -> Any:
        """The response's JSON, for a request with a JSON body or none. All of them may be repeated."""
        data = None if body is None else json.dumps(body).encode()
        text = self.send(method, path, data, query, {"Content-Type": "application/json"} if data else {})
        return self.parsed(text) if text else None

    def rows(self, path: str, name: str, kinds: Kinds) -> list[dict[str, Any]]:
        """The objects of the list ``name`` that the service answers with."""
        found: list[Any] = self.row(self.json("GET", path), {name: list})[name]
        return [self.row(each, kinds) for each in found]

    def row(self, found: Any, kinds: Kinds) -> dict[str, Any]:
        """The object that the service answered with. ServiceError unless its fields have these kinds."""
        fields = found if isinstance(found, dict) else {}
        if all(name in fields and isinstance(fields[name], kind) for name, kind in kinds.items()):
            return fields
        raise errors.ServiceError.explain("service", f"an answer of {self.url} without {', '.join(kinds)}",
                                          "one of a service of this release", "check the address")

    def parsed(self, text: bytes) -> Any:
        """The JSON of a response; ServiceError for other text."""
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as why:
            raise _foreign(self.url) from why

    def send(self, method: str, path: str, body: bytes | None = None, query: dict[str, Any] | None = None,
             headers: dict[str, str] | None = None, most: int = _JSON_BYTES) -> bytes:
        """The response's bytes. ServiceError for more than ``most``, which are not read."""
        last = time.monotonic() + self.patience
        tries = 0
        while True:
            try:
                status, found, data = self._once(method, self._path(path, query), body, headers or {}, most)
            except (OSError, http.client.HTTPException) as why:
                self._close()
                tries += 1
                if tries >= TRIES or isinstance(why, ssl.SSLCertVerificationError):
                    raise errors.ServiceError.explain(
                        "service", f"no answer of {self.url} ({type(why).__name__}: {why})", "a service that runs",
                        "check the address, or try again") from why
                time.sleep(_back_off(tries))
                continue
            except BaseException:  # after an interrupt, the answer would be taken for that of the next request
                self._close()
                raise
            if status < 300:
                return data
            stated = _pause(found)
            if status not in _BUSY:
                raise _refusal(status, data, stated)
            if stated is None:  # from a proxy, or from a server that has too many connections
                tries += 1
            pause = _back_off(tries) if stated is None else stated
            if tries >= TRIES or time.monotonic() + pause > last:
                raise _refusal(status, data, stated)
            time.sleep(pause if stated is None else _scattered(pause))

    def _path(self, path: str, query: dict[str, Any] | None) -> str:
        words = {name: str(value).lower() if isinstance(value, bool) else str(value)
                 for name, value in (query or {}).items() if value is not None}
        return self._base + path + ("?" + urllib.parse.urlencode(words) if words else "")

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str],
              most: int) -> tuple[int, Any, bytes]:
        connection = self._connection()
        connection.request(method, path, body, {"Authorization": f"Bearer {self._token}", **headers})
        response = connection.getresponse()
        data = _body(response, most)
        if data is None:
            self._close()
            raise errors.ServiceError.explain("service", f"a response of {self.url} with more than {most} bytes",
                                              "one of a service", "check the address")
        if response.will_close:
            self._close()
        return response.status, response.headers, data

    def _connection(self) -> http.client.HTTPConnection:
        held: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if held is None or self._local.process != os.getpid():  # a forked child would read its parent's answers
            held = (http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT) if self._tls is None else
                    http.client.HTTPSConnection(self._host, self._port, timeout=_TIMEOUT, context=self._tls))
            self._local.connection, self._local.process = held, os.getpid()
        return held

    def _close(self) -> None:
        held = getattr(self._local, "connection", None)
        if held is not None:
            held.close()
            self._local.connection = None


def _body(response: http.client.HTTPResponse, most: int) -> bytes | None:
    """The bytes of a response. None for more than ``most``."""
    if response.length is not None:
        return response.read() if response.length <= most else None
    data = bytearray()
    while piece := response.read(_PIECE):
        data += piece
        if len(data) > most:
            return None
    return bytes(data)


def _token(token: Any) -> str:
    """A token that an HTTP header can contain. The error does not show it."""
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise errors.ValueError.explain("connect", "a token of other characters than ASCII's, or an empty one",
                                        "what the operator gave", "copy it again")
    return token


def _tls(cafile: str | None, certificate: str | None) -> ssl.SSLContext:
    cafile = None if cafile is None else arrays.as_path(cafile, "connect")
    certificate = None if certificate is None else arrays.as_path(certificate, "connect")
    try:
        context = ssl.create_default_context(cafile=cafile)
    except OSError as why:  # this includes ssl.SSLError
        raise errors.FileError.explain("connect", f"{cafile}: {why}", "certificates of authorities, PEM",
                                       "correct cafile=") from why
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, password=_no_password)
        except OSError as why:
            raise errors.FileError.explain("connect", f"{certificate}: {why}",
                                           "a certificate and its key without a password, PEM",
                                           "correct certificate=") from why
    return context


def _no_password() -> str:
    """Raises an error, because OpenSSL would ask for a password at the terminal."""
    return ""


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _back_off(tries: int) -> float:
    """Seconds before a request is repeated if the service states no time. They double with each try. Up to half of them
    are left out at random."""
    return float(min(0.2 * 2**tries, 5.0) * random.uniform(0.5, 1.0))


def _scattered(pause: float) -> float:
    """The seconds of Retry-After, and a random time: up to a quarter of them, or up to a second if that is more."""
    return pause + random.uniform(0.0, max(pause / 4, 1.0))


def _pause(headers: Any) -> float | None:
    """The seconds of Retry-After. None if the service has not stated a time."""
    text = headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _refusal(status: int, data: bytes, pause: float | None) -> errors.ServiceError:
    try:
        fields = json.loads(data)
        message, missing = str(fields["message"]), tuple(map(str, fields.get("missing", ())))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        message, missing = f"service: had a response of status {status}; needs one of a service; check the address", ()
    return errors.ServiceError(message, "service", status=status, retry_after=pause, missing=missing)


def _foreign(url: str) -> errors.Error:
    return errors.ServiceError.explain("service", f"a response of {url} that is no JSON", "one of a service",
                                       "check the address")
