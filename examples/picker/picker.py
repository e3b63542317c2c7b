#!/usr/bin/env python3
"""A picker for Stowage: a linear score whose weights a learner has written. See docs/picker.md.

    picker.py weights.json 8900        picker.py weights.json /run/picker.sock
"""
import http.server
import json
import pathlib
import socketserver
import sys


def score(node):
    known = {"rank": node["rank"], "pods": node["pods"], **node["free"]}
    return sum(weight * known[name] for name, weight in WEIGHTS.items())


class Pick(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept
    wbufsize = -1  # head and body leave together

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"node": max(question["candidates"], key=score)["node"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


WEIGHTS = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
where, kind = sys.argv[2], http.server.ThreadingHTTPServer
if "/" in where:
    pathlib.Path(where).unlink(missing_ok=True)
    kind = socketserver.ThreadingUnixStreamServer
kind.daemon_threads, kind.request_queue_size = True, 128
kind(where if "/" in where else ("127.0.0.1", int(where)), Pick).serve_forever()
