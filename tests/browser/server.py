"""A server for the page of web/: a linear model of handwritten digits, on pixels that it cannot see.

It knows one client at a time and keeps everything in memory: enough for a test and for a look at the page. Usage:
``server.py FOLDER``, the folder that the build of LATTICINO_WASM made, then open the address that it prints.
"""

import json
import os
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import latticino as lt

MOST_BYTES = 256 << 20  # of a request
TYPES = {".mjs": "text/javascript", ".wasm": "application/wasm"}
# Scripts of this server alone, and WebAssembly.
POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"


class Model:
    """Scores of the ten digits: W x + b of 64 pixels from 0 to 1."""

    def __init__(self, preset: str = "n13-d30-leveled-v1") -> None:
        data = load_digits()
        fitted = LogisticRegression(C=0.05, max_iter=1000).fit(data.data / 16, data.target)
        self.weights, self.bias = fitted.coef_, fitted.intercept_
        self.context = lt.Context(preset, device="cpu", threads=1)
        self.keys, self.lock = None, threading.Lock()
        plan = self.context.plan(self.scores, lt.Shape((64,), range=(0, 1)))
        self.description = {
            "params": self.context.params.canonical_text(),
            "range": [0, 1],
            "keys": {repr(label): level for label, level in plan.keys.items()},
        }

    def scores(self, x):
        return self.weights @ x + self.bias

    def load_keys(self, data: bytes) -> None:
        with self.lock:
            self.keys = lt.from_bytes(data, self.context, kind=lt.ServerKeys)

    def answer(self, data: bytes) -> bytes:
        with self.lock:
            session = self.context.bind(self.keys)
            return lt.to_bytes(self.scores(lt.from_bytes(data, session)), final=True)


def make_server(folder: str, model: Model) -> ThreadingHTTPServer:
    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=folder)

        def guess_type(self, path):
            return TYPES.get(os.path.splitext(path)[1]) or super().guess_type(path)

        def end_headers(self):
            self.send_header("Content-Security-Policy", POLICY)
            super().end_headers()

        def do_GET(self):
            if self.path == "/model":
                self.reply(json.dumps(model.description).encode(), "application/json")
            else:
                super().do_GET()

        def do_PUT(self):
            self.handle_body({"/keys": lambda data: model.load_keys(data) or b""})

        def do_POST(self):
            self.handle_body({"/answer": model.answer})

        def handle_body(self, actions):
            length = int(self.headers.get("Content-Length", MOST_BYTES + 1))
            if self.path not in actions or length > MOST_BYTES:
                return self.send_error(404 if self.path not in actions else 413)
            data = self.rfile.read(length)
            try:
                self.reply(actions[self.path](data), "application/octet-stream")
            except lt.Error as error:
                self.reply(str(error).encode(), "text/plain; charset=utf-8", 400)

        def reply(self, data, kind, status=200):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments):
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


if __name__ == "__main__":
    server = make_server(sys.argv[1], Model())
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
