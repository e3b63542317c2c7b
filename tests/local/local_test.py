#!/usr/bin/env python3
"""Runs `stowage local` as users do and calls it over HTTP: nodes, workloads, failures, flags.

Usage: local_test.py PATH_OF_STOWAGE

Everything is on loopback, on ports that the program chooses.
"""

import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

PROGRAM = ""
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"

KINDS = {
    "binding": ("v1", "Binding"),
    "deployments": ("apps/v1", "Deployment"),
    "jobs": ("batch/v1", "Job"),
    "namespaces": ("v1", "Namespace"),
    "poddisruptionbudgets": ("policy/v1", "PodDisruptionBudget"),
    "pods": ("v1", "Pod"),
}


class Cluster:
    """A local cluster as a process, in its own folder."""

    def __init__(self, *flags):
        self.folder = tempfile.TemporaryDirectory(prefix="stowage-local-")
        self.kubeconfig = pathlib.Path(self.folder.name) / "kubeconfig"
        command = [PROGRAM, "local", "--kubeconfig", str(self.kubeconfig), *flags]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.greeting = ""
        for line in self.process.stdout:
            self.greeting += line
            if line.startswith("Ctrl-C"):
                break
        found = re.search(r"http://127\.0\.0\.1:\d+", self.greeting)
        if not found:
            self.process.kill()
            raise AssertionError(f"{self.greeting}{self.process.communicate()}")
        self.url = found[0]

    def request(self, method, path, body=None, content="application/json"):
        """(status, decoded answer)"""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("Content-Type", content)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def get(self, path):
        status, value = self.request("GET", path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status} {value}")
        return value

    def create(self, path, value):
        version, kind = KINDS[path.rsplit("/", 1)[1]]
        status, answer = self.request("POST", path, {"apiVersion": version, "kind": kind, **value})
        if status != 201:
            raise AssertionError(f"POST {path}: {status} {answer}")
        return answer

    def merge(self, path, value):
        status, answer = self.request("PATCH", path, value, "application/merge-patch+json")
        if status != 200:
            raise AssertionError(f"PATCH {path}: {status} {answer}")
        return answer

    def pods(self):
        return self.get(PODS)["items"]

    def phases(self):
        return [pod["status"]["phase"] for pod in self.pods()]

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self.process.stdout.close()
        self.process.stderr.close()
        self.folder.cleanup()


def wait_until(what, check, timeout=60):
    end = time.monotonic() + timeout
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(0.05)


def pod(name, limits, scheduler="stowage", **spec):
    resources = {"limits": {key: str(value) for key, value in limits.items()}}
    container = {"name": "main", "image": "none", "resources": resources}
    return {
        "metadata": {"name": name},
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


def deployment(name, replicas):
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def condition(value, kind):
    for one in value.get("status", {}).get("conditions", []):
        if one["type"] == kind:
            return one
    return {}


def cards(value):
    """The ids of the cards of a pod."""
    text = value["metadata"].get("annotations", {}).get("stowage.dev/gpus", "{}")
    containers = json.loads(text).get("containers", {})
    return [share["id"] for shares in containers.values() for share in shares]


class WithoutController(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster("--no-controller", "--nodes", "3", "--gpus", "2", "--model", "T4")
        self.addCleanup(self.cluster.close)

    def bind(self, name, node):
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"metadata": {"name": name}, "target": target}
        self.cluster.create(f"{PODS}/{name}/binding", binding)

    def test_nodes_offer_their_cards_in_every_dialect(self):
        nodes = self.cluster.get("/api/v1/nodes")["items"]
        self.assertEqual([n["metadata"]["name"] for n in nodes], ["node-1", "node-2", "node-3"])
        for node in nodes:
            self.assertEqual(condition(node, "Ready")["status"], "True")
            self.assertNotIn("taints", node["spec"])
            offered = node["status"]["allocatable"]
            for name, amount in [
                ("nvidia.com/gpu", "2"),
                ("stowage.dev/gpu-core", "200"),
                ("stowage.dev/gpu-memory", "30720"),
                ("alnair/vgpu-memory", "30"),
                ("tencent.com/vcuda-memory", "120"),
                ("elasticgpu.io/gpu-memory", "30720"),
            ]:
                self.assertEqual(offered[name], amount, name)
            text = node["metadata"]["annotations"]["stowage.dev/gpu-inventory"]
            self.assertEqual([card["memoryMiB"] for card in json.loads(text)["cards"]], [15360] * 2)

    def test_a_deployment_makes_pods_and_its_rollout_is_told(self):
        self.cluster.create(DEPLOYMENTS, deployment("web", 3))
        wait_until("three pods", lambda: len(self.cluster.pods()) == 3)
        self.assertEqual(set(self.cluster.phases()), {"Pending"})
        for one in self.cluster.pods():
            self.bind(one["metadata"]["name"], "node-2")
        wait_until("they run", lambda: self.cluster.phases() == ["Running"] * 3)
        path = f"{DEPLOYMENTS}/web"
        wait_until(
            "the rollout is complete",
            lambda: condition(self.cluster.get(path), "Progressing").get("reason")
            == "NewReplicaSetAvailable",
        )
        self.cluster.merge(f"{path}/scale", {"spec": {"replicas": 1}})
        wait_until("one is left", lambda: len(self.cluster.pods()) == 1)
        self.assertEqual(self.cluster.request("DELETE", path)[0], 200)
        wait_until("nothing is left", lambda: not self.cluster.pods())
        self.assertEqual(self.cluster.get("/apis/apps/v1/replicasets")["items"], [])

    def test_a_job_runs_to_its_end(self):
        template = {
            "metadata": {"annotations": {"local.stowage.dev/run-seconds": "0.1"}},
            "spec": {
                "restartPolicy": "Never",
                "nodeName": "node-1",
                "containers": [{"name": "main", "image": "none"}],
            },
        }
        job = {"metadata": {"name": "j"}, "spec": {"completions": 3, "template": template}}
        path = "/apis/batch/v1/namespaces/default/jobs"
        self.cluster.create(path, job)
        done = lambda: condition(self.cluster.get(f"{path}/j"), "Complete").get("status") == "True"
        wait_until("it is complete", done)
        self.assertEqual(self.cluster.get(f"{path}/j")["status"]["succeeded"], 3)
        self.assertEqual(self.cluster.phases(), ["Succeeded"] * 3)

    def test_a_kubelet_refuses_what_its_node_has_not(self):
        self.cluster.create(PODS, pod("greedy", {"nvidia.com/gpu": 3}))
        self.bind("greedy", "node-1")
        wait_until("it is refused", lambda: self.cluster.phases() == ["Failed"])
        status = self.cluster.pods()[0]["status"]
        self.assertEqual(status["reason"], "UnexpectedAdmissionError")
        self.assertIn("Requested: 3, Available: 2", status["message"])

    def test_a_node_fails_and_returns(self):
        self.cluster.create(PODS, pod("p", {}))
        self.bind("p", "node-1")
        wait_until("it runs", lambda: self.cluster.phases() == ["Running"])
        mark = {"metadata": {"annotations": {"local.stowage.dev/failed": "true"}}}
        self.cluster.merge("/api/v1/nodes/node-1", mark)
        node = lambda: self.cluster.get("/api/v1/nodes/node-1")
        wait_until("it is unknown", lambda: condition(node(), "Ready")["status"] == "Unknown")
        wait_until("it is tainted", lambda: len(node()["spec"].get("taints", [])) == 2)
        self.assertEqual(self.cluster.request("DELETE", f"{PODS}/p")[0], 200)
        time.sleep(1)
        self.assertEqual(len(self.cluster.pods()), 1, "nobody is there to stop it")
        mark["metadata"]["annotations"]["local.stowage.dev/failed"] = None
        self.cluster.merge("/api/v1/nodes/node-1", mark)
        wait_until("it is ready", lambda: condition(node(), "Ready")["status"] == "True")
        wait_until("the pod has gone", lambda: not self.cluster.pods())
        wait_until("it is not tainted", lambda: not node()["spec"].get("taints"))

    def test_pods_of_a_deleted_node_go(self):
        self.cluster.create(PODS, pod("p", {}))
        self.bind("p", "node-3")
        wait_until("it runs", lambda: self.cluster.phases() == ["Running"])
        self.assertEqual(self.cluster.request("DELETE", "/api/v1/nodes/node-3")[0], 200)
        wait_until("it is gone", lambda: not self.cluster.pods())

    def test_a_namespace_takes_its_objects_along(self):
        self.cluster.create("/api/v1/namespaces", {"metadata": {"name": "team"}})
        path = DEPLOYMENTS.replace("/default/", "/team/")
        self.cluster.create(path, deployment("web", 2))
        pods = "/api/v1/namespaces/team/pods"
        wait_until("two pods", lambda: len(self.cluster.get(pods)["items"]) == 2)
        self.assertEqual(self.cluster.request("DELETE", "/api/v1/namespaces/team")[0], 200)
        gone = lambda: self.cluster.request("GET", "/api/v1/namespaces/team")[0] == 404
        wait_until("it is gone", gone)
        self.assertEqual(self.cluster.get(pods)["items"], [])

    def test_budgets_count_what_may_be_evicted(self):
        self.cluster.create(DEPLOYMENTS, deployment("web", 2))
        wait_until("two pods", lambda: len(self.cluster.pods()) == 2)
        for one in self.cluster.pods():
            self.bind(one["metadata"]["name"], "node-1")
        budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        self.cluster.create(budgets, {"metadata": {"name": "b"}, "spec": spec})
        allowed = lambda: self.cluster.get(f"{budgets}/b").get("status", {})
        wait_until("one may go", lambda: allowed().get("disruptionsAllowed") == 1)


class WithController(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster("--nodes", "2", "--gpus", "4")
        cls.addClassCleanup(cls.cluster.close)

    def tearDown(self):
        self.cluster.request("DELETE", PODS)
        wait_until("the cluster is empty", lambda: not self.cluster.pods())

    def running(self, count):
        wait_until(f"{count} pods run", lambda: self.cluster.phases() == ["Running"] * count)
        return {one["metadata"]["name"]: one for one in self.cluster.pods()}

    def test_pods_of_the_default_scheduler_are_placed_with_cards(self):
        self.cluster.create(PODS, pod("p", {"nvidia.com/gpu": 2}, "default-scheduler"))
        placed = self.running(1)["p"]
        self.assertEqual(len(set(cards(placed))), 2)

    def test_five_toy_pods_fill_one_node_before_the_other(self):
        limits = {"nvidia.com/gpu": 1, "cpu": 1, "memory": "1Gi"}
        for number in range(1, 6):
            self.cluster.create(PODS, pod(f"testpod{number}", limits, "toyscheduler"))
        nodes = [one["spec"]["nodeName"] for one in self.running(5).values()]
        self.assertEqual(sorted(map(nodes.count, set(nodes))), [1, 4])

    def test_memory_shares_of_two_schedulers_lie_on_cards(self):
        self.cluster.create(PODS, pod("pod-1", {"alnair/vgpu-memory": 4}, "default-scheduler"))
        self.cluster.create(PODS, pod("pod-2", {"alnair/vgpu-memory": 6}, "alnair-cost-saving"))
        for one in self.running(2).values():
            self.assertEqual(len(cards(one)), 1)

    def test_what_cannot_fit_is_told_why(self):
        self.cluster.create(PODS, pod("big", {"nvidia.com/gpu": 5}))
        path = f"{PODS}/big"
        refused = lambda: condition(self.cluster.get(path), "PodScheduled").get("message")
        self.assertIn("0/2 nodes are available", wait_until("a reason", refused))


class Flags(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_local(self, *args):
        return subprocess.run(
            [PROGRAM, "local", *args],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
        )

    def assert_ends(self, code, args, *words):
        """Expects that exit code, nothing on stdout, one line on stderr that has all of the words.
        """
        result = self.run_local(*args)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertTrue(result.stderr.startswith("stowage: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual([f for f in self.folder.iterdir() if "kubeconfig" in f.name], [])

    def test_bad_flags_end_with_one_line(self):
        mix = self.folder / "mix.yaml"
        mix.write_text("nodes:\n  - gpu: 1\n", encoding="utf-8")
        for args, words in [
            (["--nodes", "10002"], ["--nodes", '"10002"', "0 to 10000"]),
            (["demo", "--nodes", "0"], ["--nodes", "at least one"]),
            (["--nodes", "10001"], ["--nodes", "10000"]),
            (["--nodes", "many"], ["--nodes", '"many"']),
            (["--gpus", "65"], ["--gpus", "64"]),
            (["--model", "A100-80G"], ["--model", "did you mean A100-80GB?"]),
            (["--model", "x:y"], ["--model", "MiB"]),
            (["--port", "65536"], ["--port", "65535"]),
            (["--mix", "missing.yaml"], ["missing.yaml", "No such file"]),
            (["--mix", str(mix)], ["mix.yaml:2", "did you mean gpus?"]),
            (["--mix", str(mix), "--gpus", "1"], ["--mix", "--gpus"]),
            (["--log-level", "loud"], ["loud"]),
            (["--no-controller", "--config", "x"], ["--config", "--no-controller"]),
            (["--nods", "1"], ["did you mean --nodes?"]),
            (["dmeo"], ["did you mean demo?"]),
            (["demo", "--no-controller"], ["--no-controller"]),
            (["kubelets", "--kubeconfig", "missing"], ["missing", "No such file"]),
        ]:
            with self.subTest(args=args):
                self.assert_ends(2, args, *words)

    def test_what_cannot_be_done_ends_with_one_line(self):
        other = self.folder / "config"
        other.write_text("apiVersion: v1\n", encoding="utf-8")
        self.assert_ends(1, ["--kubeconfig", str(other)], str(other), "not overwritten")
        self.assertEqual(other.read_text(encoding="utf-8"), "apiVersion: v1\n")
        missing = str(self.folder / "no" / "config")
        self.assert_ends(1, ["--kubeconfig", missing], missing, "No such file")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            self.assert_ends(1, ["--port", port], port, "address already in use")

    def test_help_names_the_commands(self):
        for args, words in [
            (["--help"], ["--nodes", "demo", "kubelets", "Examples:", "local.stowage.dev/failed"]),
            (["demo", "--help"], ["Usage: stowage local demo", "card by card"]),
            (["kubelets", "--help"], ["Usage: stowage local kubelets", "--kubeconfig"]),
        ]:
            result = self.run_local(*args)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stderr, "")
            for word in words:
                self.assertIn(word, result.stdout)


class Life(unittest.TestCase):
    def test_signals_end_it_and_nothing_is_left(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for flags in ([], ["--no-controller"]):
                cluster = Cluster("--nodes", "1", *flags)
                self.addCleanup(cluster.close)
                self.assertEqual(cluster.kubeconfig.stat().st_mode & 0o777, 0o600)
                self.assertIn(f"export KUBECONFIG={cluster.kubeconfig}", cluster.greeting)
                self.assertEqual(cluster.stop(number), (0, ""))
                self.assertFalse(cluster.kubeconfig.exists())

    def test_a_mix_of_nodes(self):
        with tempfile.TemporaryDirectory() as folder:
            mix = pathlib.Path(folder) / "mix.yaml"
            mix.write_text(
                "nodes:\n"
                "  - {count: 2, name: big, gpus: 8, model: H100-80GB, cpu: 192, memory: 2Ti,\n"
                "     labels: {pool: train}, taints: [{key: a, value: b, effect: NoSchedule}]}\n"
                "  - {name: cpu}\n",
                encoding="utf-8",
            )
            cluster = Cluster("--no-controller", "--mix", str(mix))
            self.addCleanup(cluster.close)
            nodes = {n["metadata"]["name"]: n for n in cluster.get("/api/v1/nodes")["items"]}
            self.assertEqual(set(nodes), {"big-1", "big-2", "cpu-1"})
            big = nodes["big-1"]
            self.assertEqual(big["metadata"]["labels"]["pool"], "train")
            self.assertEqual(big["spec"]["taints"][0]["key"], "a")
            self.assertEqual(big["status"]["allocatable"]["cpu"], "192")
            self.assertEqual(big["status"]["allocatable"]["memory"], "2048Gi")
            self.assertNotIn("nvidia.com/gpu", nodes["cpu-1"]["status"]["allocatable"])


class Demo(unittest.TestCase):
    def run_demo(self, *flags, **environment):
        with tempfile.TemporaryDirectory() as folder:
            env = {"PATH": os.environ["PATH"], "HOME": folder, **environment}
            return subprocess.run(
                [PROGRAM, "local", "demo", *flags],
                capture_output=True,
                text=True,
                timeout=180,
                check=False,
                cwd=folder,
                env=env,
            )

    def test_without_a_terminal_it_ends_when_all_is_placed(self):
        result = self.run_demo()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        for words in ["placed  138/138", "node-16", "0/16 nodes are available", "colossus waits"]:
            self.assertIn(words, result.stdout)
        self.assertNotIn("\033", result.stdout)
        self.assertTrue(result.stdout.isascii(), "the locale is not UTF-8")

    def test_it_fits_small_clusters_and_others(self):
        for flags in (["--nodes", "1", "--gpus", "1"], ["--nodes", "3", "--model", "T4"]):
            result = self.run_demo(*flags, LANG="C.UTF-8")
            self.assertEqual(result.returncode, 0, result.stderr + result.stdout)

    def test_in_a_terminal_it_stays_until_control_c(self):
        with tempfile.TemporaryDirectory() as folder:
            child, terminal = pty.fork()
            if child == 0:
                os.chdir(folder)
                env = {"TERM": "xterm", "LANG": "C.UTF-8", "HOME": folder}
                os.execve(PROGRAM, [PROGRAM, "local", "demo", "--nodes", "2"], env)
            text = b""
            end = time.monotonic() + 120
            while b"Ctrl-C ends it" not in text and time.monotonic() < end:
                if select.select([terminal], [], [], 0.5)[0]:
                    text += os.read(terminal, 65536)
            self.assertIn("\033[36m█100", text.decode())
            self.assertIn(b"export KUBECONFIG=", text)
            os.write(terminal, b"\x03")
            _, status = os.waitpid(child, 0)
            os.close(terminal)
            self.assertEqual(os.waitstatus_to_exitcode(status), 0)
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
