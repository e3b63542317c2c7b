#!/usr/bin/env python3
"""Pods go where an external picker says; if it fails in any way, all pods are still placed.

picker_test.py STOWAGE
"""
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import time
import unittest

from local_cluster import LocalCluster, overcommitted, pod, wait_until

PROGRAM = ""
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "picker"
PODS = 12


class FakePicker:
    """Answers each question with answer(question): (status, bytes), or an object for 200."""

    def __init__(self, answer):
        fake = self
        self.questions = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.questions.append(question)
                status, body = answer(question)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True  # the controller did not wait

            def log_message(self, *_):
                pass

        http.server.ThreadingHTTPServer.request_queue_size = 128
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/pick"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def named(node):
    return 200, json.dumps({"node": node}).encode()


class Pickers(unittest.TestCase):
    def place(self, url, timeout="10s", run=None, at_once=True):
        """Places pods; returns the node of each, the controller's metrics, and its log."""
        with LocalCluster(PROGRAM, "--nodes", "4", "--gpus", "4") as cluster:
            if run is not None:
                run(cluster)
                url = f"unix:{cluster.folder}/picker.sock"
            config = cluster.folder / "config.yaml"
            config.write_text(json.dumps({"profiles": [{
                "name": "mine", "policy": "binpack",
                "picker": {"url": url, "timeout": timeout, "candidates": 3}}]}), encoding="utf-8")
            controller = cluster.controller("controller", "--config", config)
            wait_until("the controller is ready", controller.ready)
            wishes = [pod(f"p{number}", {"nvidia.com/gpu": 1}, "mine") for number in range(PODS)]
            for number in range(PODS) if not at_once else ():
                cluster.api.create_all("/api/v1/namespaces/default/pods", [wishes[number]])
                wait_until("it is bound", lambda: controller.bound() == number + 1)
            if at_once:
                cluster.api.create_all("/api/v1/namespaces/default/pods", wishes)
            wait_until("all pods are bound", lambda: controller.bound() == PODS)
            pods = cluster.api.pods()
            self.assertEqual(overcommitted(pods), [])
            metrics = {key: controller.metric(key) for key in (
                "stowage_picker_places_total{by=\"picker\"}",
                "stowage_picker_places_total{by=\"policy\"}",
                "stowage_picker_requests_total{profile=\"mine\"}")}
            for reason in ("no_opinion", "timed_out", "unreachable", "bad_answer", "busy",
                           "paused"):
                metrics[reason] = controller.metric(
                    f'stowage_picker_fallbacks_total{{profile="mine",reason="{reason}"}}')
            log = controller.process.log.read_text(encoding="utf-8")
            self.assertEqual(controller.process.stop(), 0)
            return {value["metadata"]["name"]: value["spec"]["nodeName"]
                    for value in pods}, metrics, log

    def all_by_policy(self, metrics):
        self.assertEqual(metrics['stowage_picker_places_total{by="picker"}'], 0)
        self.assertGreater(metrics['stowage_picker_places_total{by="policy"}'], 0)

    def test_pods_go_where_it_says(self):
        def worst(question):
            return named(question["candidates"][-1]["node"])

        with FakePicker(worst) as picker:
            nodes, metrics, _ = self.place(picker.url, at_once=False)
            questions = picker.questions
        for question in questions:
            self.assertEqual(nodes[question["pod"]["name"]], question["candidates"][-1]["node"])
        self.assertGreater(len(questions), PODS / 2)
        self.assertEqual(metrics['stowage_picker_places_total{by="picker"}'], len(questions))
        question = questions[0]
        self.assertEqual(question["apiVersion"], "picker.stowage.dev/v1")
        self.assertEqual(question["pod"]["request"]["containers"][0]["cards"], 1)
        self.assertEqual([entry["rank"] for entry in question["candidates"]], [0, 1, 2])
        self.assertEqual(question["candidates"][0]["free"]["cardsIdle"], 4)

    def test_nothing_listens(self):
        nodes, metrics, log = self.place("http://127.0.0.1:1/pick")
        self.assertEqual(len(nodes), PODS)
        self.all_by_policy(metrics)
        self.assertGreater(metrics["unreachable"], 0)
        self.assertEqual(log.count("picker gets no requests"),
                         1 if metrics["unreachable"] >= 5 else 0)

    def test_too_slow(self):
        def sleep(question):
            time.sleep(0.5)
            return named(question["candidates"][-1]["node"])

        with FakePicker(sleep) as picker:
            _, metrics, _ = self.place(picker.url, timeout="20ms")
        self.all_by_policy(metrics)
        self.assertGreater(metrics["timed_out"], 0)

    def test_rubbish(self):
        for name, answer in (("no JSON", (200, b"\xff\x00<html>")),
                             ("an error", (500, b"oops")),
                             ("a node that was not offered", named("somewhere"))):
            with self.subTest(name), FakePicker(lambda _, answer=answer: answer) as picker:
                _, metrics, _ = self.place(picker.url)
                self.all_by_policy(metrics)
                self.assertGreater(metrics["bad_answer"], 0)

    def test_the_example_over_a_unix_socket(self):
        def run(cluster):
            path = cluster.folder / "weights.json"
            path.write_text(json.dumps({"cardsIdle": 1}), encoding="utf-8")
            cluster.process("picker", sys.executable, EXAMPLE / "picker.py", path,
                            f"{cluster.folder}/picker.sock")
            wait_until("the example listens", (cluster.folder / "picker.sock").exists)

        nodes, metrics, _ = self.place("", run=run, at_once=False)
        self.assertEqual(metrics["unreachable"] + metrics["bad_answer"], 0)
        self.assertEqual(len(set(nodes.values())), 4, "the emptiest candidate is chosen")

    def test_the_example_as_it_is(self):
        text = (EXAMPLE / "picker.py").read_text(encoding="utf-8")
        self.assertLessEqual(text.count("\n"), 40)
        json.loads((EXAMPLE / "weights.json").read_text(encoding="utf-8"))


class Settings(unittest.TestCase):
    def check(self, text):
        done = subprocess.run([PROGRAM, "controller", "--config", "/dev/stdin", "--check"],
                              input=text, capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def test_what_it_means_is_shown(self):
        code, text = self.check("profiles: [{name: stowage, picker: {url: 'unix:/run/p.sock'}}]\n")
        self.assertEqual(code, 0, text)
        self.assertIn("picker unix:/run/p.sock with 16 candidates, timeout 50ms", text)
        code, text = self.check("profiles: [{name: stowage, picker: {url: 'p.sock'}}]\n")
        self.assertEqual(code, 2, text)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=1)
