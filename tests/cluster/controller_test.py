#!/usr/bin/env python3
"""The controller and invalid input: a clear message, and everything else keeps working.

controller_test.py STOWAGE
"""
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from local_cluster import Controller, LocalCluster, Process, pod, wait_until

PROGRAM = ""


def run(*flags):
    done = subprocess.run([PROGRAM, "controller", *map(str, flags)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stowage-controller-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def kubeconfig(self, server):
        return self.file("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
            "users": [{"name": "c", "user": {}}]}))

    def start(self, kubeconfig, *flags):
        process = Process(self.folder, "controller", PROGRAM, "controller", "--kubeconfig",
                          kubeconfig, "--listen", "127.0.0.1:0", *flags)
        self.addCleanup(process.close)
        return Controller(process)


class Files(Folder):
    def refused(self, words, *flags):
        code, text = run(*flags)
        self.assertEqual(code, 2, text)
        self.assertEqual(text.count("\n"), 1, text)
        for word in words:
            self.assertIn(word, text)

    def test_kubeconfig(self):
        self.refused(["/nonexistent"], "--kubeconfig", "/nonexistent")
        self.refused(["kubeconfig"], "--kubeconfig", self.file("kubeconfig", "{ not yaml"))
        self.refused(["kubeconfig"], "--kubeconfig", self.file("kubeconfig", "a: 1\n"))
        self.refused(["nobody", "known are \"c\""], "--kubeconfig",
                     self.kubeconfig("http://127.0.0.1:1"), "--context", "nobody")
        self.refused(["ftp"], "--kubeconfig", self.kubeconfig("ftp://127.0.0.1"))

    def test_configuration(self):
        self.refused([":2: log.levl", "did you mean \"level\""], "--config",
                     self.file("c.yaml", "log:\n  levl: info\n"))
        self.refused(["/nonexistent"], "--config", "/nonexistent")
        self.refused(["nowhere"], "--listen", "nowhere")
        self.refused(["loud"], "--log-level", "loud")
        code, text = run("--config", self.file("c.yaml", "profiles: [{name: stowage}]\n"),
                         "--check")
        self.assertEqual(code, 0, text)
        self.assertIn("dual-price", text)

    def test_port_in_use(self):
        controller = self.start(self.kubeconfig("http://127.0.0.1:1"))
        wait_until("it listens", lambda: controller.get("/healthz")[0] == 200)
        code, text = run("--kubeconfig", self.kubeconfig("http://127.0.0.1:1"),
                         "--listen", f"127.0.0.1:{controller.address}")
        self.assertEqual(code, 1, text)
        self.assertIn("in use", text)


class Servers(Folder):
    def test_unreachable_server(self):
        controller = self.start(self.kubeconfig("http://127.0.0.1:1"))
        code, text = wait_until("it says why it is not ready",
                                lambda: (lambda answer: answer if "refused" in answer[1]
                                         else None)(controller.get("/readyz")))
        self.assertEqual(code, 503)
        self.assertIn("127.0.0.1:1", text)
        self.assertEqual(controller.get("/healthz")[0], 200)
        self.assertEqual(controller.process.stop(), 0)

    def test_a_server_that_talks_nonsense(self):
        with FakeApi() as api:
            controller = self.start(self.kubeconfig(f"http://127.0.0.1:{api.port}"),
                                    "--leader-elect=false")
            wait_until("it is ready in spite of malformed objects", controller.ready)
            wait_until("the one good pod is bound", lambda: api.bindings)
            self.assertEqual([binding["target"]["name"] for binding in api.bindings], ["good"])
            annotation = api.bindings[0]["metadata"]["annotations"]["stowage.dev/gpus"]
            self.assertEqual(json.loads(annotation)["node"], "good")
            time.sleep(0.2)
            self.assertEqual(len(api.bindings), 1)
            self.assertEqual(controller.process.stop(), 0)
            self.assertIn("unreadable", controller.process.log.read_text(encoding="utf-8"))
            self.assertGreater(api.lists, 2, "an event that was lost is made good by a list")


class Running(Folder):
    def test_what_it_shows_and_how_it_ends(self):
        with LocalCluster(PROGRAM, "--nodes", "2", "--gpus", "2") as cluster:
            controller = cluster.controller("controller", "--log-format", "json")
            # The address is in a JSON line here.
            text = wait_until("it listens", lambda: cluster.folder.joinpath(
                "controller.log").read_text(encoding="utf-8"))
            line = json.loads(text.splitlines()[0])
            self.assertEqual(line["level"], "info")
            self.assertTrue(line["time"].endswith("Z"))
            controller.address = int(line["listen"].rsplit(":", 1)[1])
            wait_until("it is ready", controller.ready)
            cluster.api.create_all("/api/v1/namespaces/default/pods",
                                   [pod("fits", {"nvidia.com/gpu": 1}),
                                    pod("waits", {"nvidia.com/gpu": 3})])
            wait_until("one is bound", lambda: controller.bound() == 1)
            wait_until("one is refused", lambda: controller.metric(
                'stowage_refusals_total{reason="cards"}') == 1)
            code, record = controller.get("/debug/state?pod=default/waits")
            self.assertEqual(code, 200)
            replayed = subprocess.run([PROGRAM, "sim", "--replay", self.file("state", record)],
                                      capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual(replayed.returncode, 0, replayed.stderr)
            self.assertIn("refused", replayed.stdout)
            self.assertIn("the same as recorded", replayed.stdout)
            self.assertEqual(controller.get("/debug/state?pod=default/nobody")[0], 404)
            self.assertEqual(controller.get("/nothing")[0], 404)
            start = time.monotonic()
            self.assertEqual(controller.process.stop(), 0)
            self.assertLess(time.monotonic() - start, 7)


    def test_a_static_pod_serves_debugging_only_with_a_token(self):
        """It uses the host's network, so all processes of the machine can reach its loopback
        address."""
        manifest = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "static-pod.yaml"
        text = manifest.read_text(encoding="utf-8")
        self.assertIn("hostNetwork: true", text)
        self.assertIn("- --debug-loopback=false\n", text)
        with LocalCluster(PROGRAM, "--nodes", "1") as cluster:
            config = cluster.file("config.yaml", "apiVersion: stowage.dev/v1alpha1\n"
                                  "kind: ControllerConfig\ndebug: {loopback: true}\n")
            controller = cluster.controller("controller", "--config", config,
                                            "--debug-loopback=false")
            wait_until("it is ready", controller.ready)
            for path in ("/debug/state", "/debug/log-level", "/debug/profile/heap"):
                self.assertEqual(controller.get(path)[0], 401, path)
            self.assertEqual(controller.get("/metrics")[0], 200)


class FakeApi:
    """An API server whose lists contain valid and malformed objects; it records bindings."""

    NODES = [{"metadata": {"name": "good", "uid": "n"},
              "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10",
                                         "nvidia.com/gpu": "1"}}},
             {"metadata": {"name": "absurd"}, "status": {"allocatable": {"cpu": "1e30"}}},
             {"metadata": {"name": 7}}, {"metadata": []}, {}]
    PODS = [{"metadata": {"name": "a", "namespace": "ns", "uid": "1"},
             "spec": {"schedulerName": "stowage", "containers": [
                 {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"},
                                             "requests": {"nvidia.com/gpu": "1"}}}]},
             "status": {"phase": "Pending"}},
            {"metadata": {"name": "b", "namespace": "ns", "uid": "2"},
             "spec": {"schedulerName": "stowage", "containers": [
                 {"name": "c", "resources": {"requests": {"cpu": "1e30"}}}]}, "status": {}},
            {"metadata": {"name": "c", "namespace": "ns", "uid": "3"},
             "spec": {"schedulerName": "stowage", "containers": "none"}, "status": {}},
            {"metadata": {"uid": 4}}, {"spec": None}]

    def __init__(self):
        fake = self
        self.bindings = []
        self.lists = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, code, value):
                body = json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                if "watch=" in self.path:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    junk = b'{"type":"ADDED","object":{"metadata":3}}\nnot json\n'
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(junk), junk))
                    self.wfile.flush()
                    fake.closing.wait(30)
                    return
                fake.lists += 1
                items = fake.NODES if "/nodes" in self.path else fake.PODS
                self.answer(200, {"kind": "List", "metadata": {"resourceVersion": "5"},
                                  "items": items})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path.split("?")[0].endswith("/binding"):
                    fake.bindings.append(body)
                self.answer(201, {"kind": "Status", "status": "Success", "code": 201})

            def do_PATCH(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.answer(200, {})

        self.closing = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=1)
