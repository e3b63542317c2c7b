#!/usr/bin/env python3
"""Peers that try to block the controller and the local API server.

hostile_http_test.py STOWAGE
"""
import json
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

from local_cluster import LocalCluster, Process, mixed_pods, pod, wait_until

PROGRAM = ""
CONNECTIONS = 2000
MEMORY_MIB = 400
DEEP = 100_000


def answer_to(port, request, limit=1 << 20):
    """The beginning of the answer, until the peer ends or is silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        try:
            connection.sendall(request)
        except OSError:
            pass  # it has already refused the rest
        text = b""
        try:
            while len(text) < limit:
                part = connection.recv(65536)
                if not part:
                    break
                text += part
                if b"\r\n\r\n" in text:
                    break
        except OSError:
            pass
        return text


def post(path, body, kind="application/json"):
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode() + body


def code_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0


class Flood:
    """Connections that are reopened as soon as they are closed; none completes its request."""

    HEADS = (b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: ",
             b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{",
             b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n")

    def __init__(self, ports, count):
        self.connections = []
        self.opened = 0
        self.stopped = threading.Event()
        for number in range(count):
            self.open(ports[number % len(ports)], number)
        self.thread = threading.Thread(target=self.drip, daemon=True)
        self.thread.start()

    def open(self, port, number):
        connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        connection.setblocking(False)
        self.opened += 1
        self.connections.append((connection, port, number))
        try:
            connection.send(self.HEADS[number % len(self.HEADS)])
        except OSError:
            pass

    def drip(self):
        """Sends a byte at a time, and reopens connections that were closed."""
        while not self.stopped.wait(0.2):
            kept, closed = [], []
            for entry in self.connections:
                try:
                    entry[0].send(b"a")
                    kept.append(entry)
                except BlockingIOError:
                    kept.append(entry)
                except OSError:
                    entry[0].close()
                    closed.append(entry)
            self.connections = kept
            for _, port, number in closed[:100]:
                try:
                    self.open(port, number)
                except OSError:
                    pass

    def stop(self):
        self.stopped.set()
        self.thread.join()
        for connection, _, _ in self.connections:
            connection.close()


class Hostile(unittest.TestCase):
    def setUp(self):
        self.cluster = LocalCluster(PROGRAM, "--nodes", "20")
        self.addCleanup(self.cluster.__exit__)
        config = self.cluster.folder / "config.yaml"
        config.write_text(json.dumps({
            "apiVersion": "stowage.dev/v1alpha1", "kind": "ControllerConfig",
            "profiles": [{"name": "stowage"}],
            "extenders": [{"preset": "stowage", "listen": "127.0.0.1:0"}]}), encoding="utf-8")
        self.controller = self.cluster.controller("controller", "--config", config)
        wait_until("the controller is ready", self.controller.ready)
        self.process: Process = self.controller.process
        self.port = self.controller.address
        log = self.process.log.read_text(errors="replace")
        self.extender = int(log.split("listen=http://127.0.0.1:")[1].split()[0].strip('"'))

    def still_works(self, name):
        self.cluster.api.create_all("/api/v1/namespaces/default/pods",
                                    [pod(name, {"nvidia.com/gpu": 1})])
        wait_until(f"{name} is bound", lambda: self.process.require_alive() and any(
            value["metadata"]["name"] == name and value["spec"].get("nodeName")
            for value in self.cluster.api.pods()))

    def test_thousands_of_slow_connections_stop_nothing(self):
        flood = Flood((self.port, self.extender), CONNECTIONS)
        try:
            pods = mixed_pods(60)
            self.cluster.api.create_all("/api/v1/namespaces/default/pods", pods)
            for _ in range(20):
                answer = answer_to(self.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertEqual(code_of(answer), 200, "a probe of the kubelet was kept out")
            wait_until("pods are bound meanwhile", lambda: self.process.require_alive() and sum(
                1 for value in self.cluster.api.pods() if value["spec"].get("nodeName")) >= 50)
            self.assertGreaterEqual(flood.opened, CONNECTIONS)
        finally:
            flood.stop()
        self.assertLess(self.process.peak_memory_mib(), MEMORY_MIB)
        self.still_works("after")

    def test_what_is_too_large_or_makes_no_sense_is_refused(self):
        head = b"POST /stowage/filter HTTP/1.1\r\nHost: localhost\r\n"
        rows = [
            ("a long header", b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"a" * 200_000, (431,)),
            ("many headers", b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 50_000,
             (431,)),
            ("a large body", head + b"Content-Length: 999999999999\r\n\r\n", (413,)),
            ("a length that is none", head + b"Content-Length: -1\r\n\r\n", (400,)),
            ("two lengths", head + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", (400,)),
            ("a length and chunks", head + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"
             b"\r\n0\r\n\r\n", (400,)),
            ("chunks of chunks", head + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
             (400, 501)),
            ("another coding", head + b"Transfer-Encoding: gzip\r\n\r\nx", (400, 501)),
            ("a large chunk", head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
             (400, 413)),
            ("endless trailers", head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
             + b"A: b\r\n" * 50_000, (431,)),
            ("a NUL", b"GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n", (400,)),
            ("no HTTP", b"\x16\x03\x01\x02\x00" * 100 + b"\r\n\r\n", (400,)),
        ]
        for port in (self.port, self.extender, self.cluster.port):
            for name, request, codes in rows:
                with self.subTest(f"{name}, port {port}"):
                    code = code_of(answer_to(port, request))
                    # An answer to the head alone, before the body, is fine too.
                    self.assertIn(code, codes)
        self.still_works("after")

    def test_deep_json_is_refused_by_every_reader(self):
        arrays = b"[" * DEEP + b"]" * DEEP
        objects = b'{"a":' * DEEP + b"1" + b"}" * DEEP
        for body in (arrays, objects, b"[" * DEEP, b'{"metadata":' * DEEP,
                     b'{"Pod":' + objects + b',"NodeNames":["a"]}',
                     b'{"metadata":{"name":"x"},"spec":' + arrays + b"}"):
            for verb in ("filter", "prioritize", "bind", "preempt"):
                for path in (f"/{verb}", f"/stowage/{verb}", f"/scheduler/{verb}"):
                    answer = answer_to(self.extender, post(path, body))
                    self.assertGreaterEqual(code_of(answer), 200)
            answer = answer_to(self.cluster.port, post("/api/v1/namespaces/default/pods", body))
            self.assertIn(code_of(answer), (400, 413, 422), body[:40])
            for kind in ("merge-patch+json", "json-patch+json", "strategic-merge-patch+json",
                         "apply-patch+yaml"):
                request = post("/api/v1/nodes/none", body, f"application/{kind}")
                answer = answer_to(self.cluster.port, request.replace(b"POST", b"PATCH", 1))
                self.assertGreaterEqual(code_of(answer), 400)
        self.cluster.local.require_alive()
        self.still_works("after")

    def test_deep_annotations_of_pods_and_nodes_are_refused_in_words(self):
        deep = "[" * 100_000
        self.cluster.api.create_all("/api/v1/namespaces/default/pods", [
            {**pod("deep", {"nvidia.com/gpu": 1}),
             "metadata": {"name": "deep", "annotations": {
                 "stowage.dev/gpus": deep, "stowage.dev/gpu-model": deep}}}])
        self.still_works("beside")

    def test_an_unfinished_body_does_not_stay(self):
        """Bodies of 60 MB each without the last byte: at most 256 MiB of them are buffered."""
        body = b" " * (60 << 20)
        connections = []
        for _ in range(8):
            connection = socket.create_connection(("127.0.0.1", self.extender), timeout=10)
            connections.append(connection)
            try:
                connection.sendall(b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                                   + str(len(body)).encode() + b"\r\n\r\n" + body[:-1])
            except OSError:
                pass
        self.assertLess(self.process.peak_memory_mib(), 256 + MEMORY_MIB)
        for connection in connections:
            connection.close()
        self.still_works("after")


class DeepFiles(unittest.TestCase):
    """Input of users with endless nesting or repetition: an error, and soon."""

    def test_every_reader_of_yaml_says_no(self):
        bomb = "a0: &a0 [x, x]\n" + "".join(
            f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]\n"
            for number in range(1, 20))
        texts = {"lists": "[" * DEEP + "]" * DEEP, "maps": "{a: " * DEEP + "1" + "}" * DEEP,
                 "open": "[" * DEEP, "blocks": "- " * DEEP + "a\n", "keys": "? " * DEEP + "a\n",
                 "bomb": bomb}
        readers = (("controller", "--check", "--config"), ("controller", "--kubeconfig"),
                   ("local", "--mix"), ("migrate", "scheduler-config"),
                   ("what-if", "--pending", "--cluster"))
        with tempfile.TemporaryDirectory(prefix="stowage-deep-") as folder:
            for name, text in texts.items():
                path = pathlib.Path(folder) / f"{name}.yaml"
                path.write_text(text, encoding="utf-8")
                for reader in readers:
                    with self.subTest(f"{name}: {' '.join(reader)}"):
                        done = subprocess.run([PROGRAM, *reader, path], stdin=subprocess.DEVNULL,
                                              capture_output=True, check=False, timeout=60)
                        self.assertIn(done.returncode, (1, 2), done.stderr[:300])
                        self.assertLess(len(done.stderr), 2000)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    unittest.main(verbosity=2)
