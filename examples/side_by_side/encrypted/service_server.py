"""A service that multiplies encrypted rows by its weights, for service_client.py."""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np

import latticino as lt

W = np.random.default_rng(1).uniform(-1, 1, (16, 4))
ctx = lt.Context("n13-d40-leveled-v1", "cpu")


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        if self.path == "/keys":
            ctx.use(lt.from_bytes(body, ctx, kind=lt.ServerKeys))
        else:
            self.wfile.write(lt.to_bytes(lt.from_bytes(body, ctx) @ W))


HTTPServer(("localhost", int(sys.argv[1])), Service).serve_forever()
