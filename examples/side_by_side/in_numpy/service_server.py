"""A service that multiplies rows by its weights, for service_client.py."""

import io
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np

W = np.random.default_rng(1).uniform(-1, 1, (16, 4))


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        x = np.load(io.BytesIO(self.rfile.read(int(self.headers["Content-Length"]))))
        answer = io.BytesIO()
        np.save(answer, x @ W)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer.getvalue())


HTTPServer(("localhost", int(sys.argv[1])), Service).serve_forever()
