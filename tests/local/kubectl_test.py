#!/usr/bin/env python3
"""Runs stock kubectl against the API server of a local cluster: kubectl_test.py SERVER_PROGRAM.

The program prints its address and serves an empty cluster without kubelets and controllers. Exit
status 0 if all is as it should be, 1 otherwise, 77 where there is no kubectl.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

PATIENCE_S = 60  # for anything that should happen at once

NODE = """
apiVersion: v1
kind: Node
metadata:
  name: %s
  labels: {node-role.kubernetes.io/worker: ""}
status:
  capacity: {cpu: "8", memory: 32Gi, pods: "110", nvidia.com/gpu: "8"}
  conditions: [{type: Ready, status: "True"}]
  nodeInfo: {kubeletVersion: v1.34.0}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: %s}}
spec:
  containers:
  - name: c
    image: pause:1
    resources: {limits: {nvidia.com/gpu: "1"}}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: c
        image: pause:1
        env: %s
"""


class Cluster:
    """A server, and a kubectl that ignores this machine's configuration."""

    def __init__(self, program):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kubectl-test-"))
        self.config = self.folder / "config"
        self.config.write_text("apiVersion: v1\nkind: Config\n", encoding="utf-8")
        self.server = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
        self.url = self.server.stdout.readline().strip()

    def close(self):
        self.server.send_signal(signal.SIGTERM)
        status = self.server.wait(PATIENCE_S)
        self.server.stdout.close()
        shutil.rmtree(self.folder)
        return status

    def command(self, *args):
        base = ["kubectl", "--kubeconfig", str(self.config), "--server", self.url]
        return base + ["--cache-dir", str(self.folder / "cache"), *args]

    def environment(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), **more}

    def run(self, *args, stdin=None, **environment):
        return subprocess.run(
            self.command(*args), input=stdin, capture_output=True, text=True,
            timeout=PATIENCE_S, env=self.environment(**environment), check=False)  # fmt: skip

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return json.load(response)

    def bind(self, pod, node):
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod},
                "target": {"kind": "Node", "name": node}}  # fmt: skip
        self.request("POST", f"/api/v1/namespaces/default/pods/{pod}/binding", body)


class KubectlTest(unittest.TestCase):
    program = ""

    def setUp(self):
        self.cluster = Cluster(self.program)

    def tearDown(self):
        self.assertEqual(self.cluster.close(), 0, "the server ends cleanly")

    def ok(self, *args, **more):
        done = self.cluster.run(*args, **more)
        self.assertEqual(done.returncode, 0, f"{args}: {done.stdout}{done.stderr}")
        return done.stdout

    def refused(self, *args, says, **more):
        done = self.cluster.run(*args, **more)
        self.assertNotEqual(done.returncode, 0, f"{args}: {done.stdout}")
        self.assertIn(says, done.stderr)

    def create(self, text):
        return self.ok("create", "-f", "-", stdin=text)

    def table(self, *args):
        return [line.split() for line in self.ok(*args).splitlines()]

    def field(self, kind, name, path):
        return self.ok("get", kind, name, "-o", "jsonpath={%s}" % path)

    @contextlib.contextmanager
    def background(self, *args):
        """Runs kubectl in the background; returns the file with its output."""
        path = self.cluster.folder / "background"
        with open(path, "w", encoding="utf-8") as out:
            process = subprocess.Popen(
                self.cluster.command(*args), stdout=out, stderr=out,
                env=self.cluster.environment())  # fmt: skip
            try:
                yield process, path
            finally:
                process.kill()
                process.wait()

    def eventually(self, holds, what):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if holds():
                return
            time.sleep(0.05)
        self.fail(f"did not happen: {what}")

    def test_discovery(self):
        version = json.loads(self.ok("version", "-o", "json"))
        self.assertTrue(version["serverVersion"]["gitVersion"].startswith("v1."))
        resources = self.ok("api-resources")
        for name in ["pods", "deployments", "priorityclasses", "poddisruptionbudgets", "leases"]:
            self.assertIn(name, resources)
        self.assertIn("events.k8s.io/v1", self.ok("api-versions"))
        self.assertIn("nodeSelector", self.ok("explain", "pod.spec"))
        self.assertEqual(self.ok("auth", "can-i", "create", "pods").strip(), "yes")

    def test_get_of_every_kind(self):
        self.assertEqual(self.table("get", "ns")[1][:2], ["default", "Active"])
        resources = self.table("api-resources", "--verbs=list", "-o", "name")
        for (name,) in resources:
            for form in ["", "wide", "yaml", "json", "name"]:
                self.ok("get", name, "-A", *(["-o", form] if form else []))

    def test_tables(self):
        self.create(NODE % "n1")
        self.create(POD % ("p1", "a"))
        self.assertEqual(self.table("get", "nodes")[1][:3], ["n1", "Ready", "worker"])
        self.assertEqual(self.table("get", "pods")[1][:4], ["p1", "0/1", "Pending", "0"])
        self.cluster.bind("p1", "n1")
        wide = self.table("get", "pods", "-o", "wide", "-A")
        self.assertEqual(wide[0][:8], "NAMESPACE NAME READY STATUS RESTARTS AGE IP NODE".split())
        self.assertEqual(wide[1][7], "n1")

    def test_selectors(self):
        for pod, app in [("p1", "a"), ("p2", "b"), ("p3", "c")]:
            self.create(POD % (pod, app))
        self.cluster.bind("p1", "n1")
        rows = {
            ("-l", "app=a"): ["p1"],
            ("-l", "app in (a,b)"): ["p1", "p2"],
            ("-l", "app notin (a,b),!none"): ["p3"],
            ("--field-selector", "spec.nodeName=n1"): ["p1"],
            ("--field-selector", "spec.nodeName!=n1,metadata.name!=p3"): ["p2"],
        }
        for args, wanted in rows.items():
            names = self.ok("get", "pods", "-o", "name", *args).split()
            self.assertEqual(names, ["pod/" + name for name in wanted], args)
        self.refused("get", "pods", "-l", "a=(", says="unable to parse requirement")
        self.refused("get", "pods", "--field-selector", "a=b", says="field label not supported: a")

    def test_describe(self):
        self.create(NODE % "n1")
        self.create(POD % ("p1", "a"))
        self.cluster.bind("p1", "n1")
        self.cluster.request("POST", "/apis/events.k8s.io/v1/namespaces/default/events", {
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "p1.1"},
            "eventTime": "2026-01-02T03:04:05.000000Z", "reason": "Scheduled", "type": "Normal",
            "action": "Binding", "reportingController": "stowage", "reportingInstance": "s-0",
            "note": "assigned to n1", "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "p1",
                "namespace": "default", "uid": self.field("pod", "p1", ".metadata.uid")},
        })  # fmt: skip
        pod = self.ok("describe", "pod", "p1")
        self.assertIn("assigned to n1", pod)
        self.assertIn("nvidia.com/gpu:  1", pod)
        node = self.ok("describe", "node", "n1")
        self.assertIn("p1", node)
        self.assertRegex(node, r"nvidia.com/gpu +1 +1")
        self.create(DEPLOYMENT % (2, "[]"))
        self.assertIn("2 desired", self.ok("describe", "deployment", "web"))
        self.assertIn("assigned to n1", self.ok("get", "events"))
        self.assertIn("assigned to n1", self.ok("events", "--for", "pod/p1"))

    def test_refusals(self):
        self.create(POD % ("p1", "a"))
        bad = POD % ("p2", "a")
        cases = [
            (POD % ("p1", "a"), 'pods "p1" already exists'),
            (bad.replace("image:", "imagee:"), 'unknown field "spec.containers[0].imagee"'),
            (bad.replace('"1"', '"1.5"'), "must be an integer"),
            (bad.replace('"1"', '"lots"'), "quantities must match"),
            (bad.replace("p2", "P2"), "a lowercase RFC 1123 subdomain"),
            (bad.replace("containers:", "priorityClassName: x\n  containers:"),
             "no PriorityClass with name x was found"),
        ]  # fmt: skip
        for text, says in cases:
            self.refused("create", "-f", "-", stdin=text, says=says)
        self.refused("create", "-n", "none", "-f", "-", stdin=bad, says='"none" not found')
        self.refused("get", "pod", "none", says='pods "none" not found')
        done = self.cluster.run(
            "create", "--validate=warn", "-f", "-",
            stdin=bad.replace("spec:", "speck: {}\nspec:"))  # fmt: skip
        self.assertIn('unknown field "speck"', done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_apply(self):
        first = DEPLOYMENT % (2, '[{name: A, value: "1"}, {name: B, value: "2"}]')
        second = DEPLOYMENT % (3, '[{name: B, value: "3"}]')
        self.assertIn("created", self.ok("apply", "-f", "-", stdin=first))
        self.assertIn("unchanged", self.ok("apply", "-f", "-", stdin=first))
        self.assertEqual(self.cluster.run("diff", "-f", "-", stdin=second).returncode, 1)
        self.assertIn("configured", self.ok("apply", "-f", "-", stdin=second))
        env = self.field("deployment", "web", ".spec.template.spec.containers[0].env")
        self.assertEqual(json.loads(env), [{"name": "B", "value": "3"}])
        self.assertEqual(self.field("deployment", "web", ".metadata.generation"), "2")
        self.assertIn("replaced", self.ok("replace", "-f", "-", stdin=first))

    def test_server_side_apply(self):
        pod = POD % ("p1", "a")
        self.ok("apply", "--server-side", "-f", "-", stdin=pod)
        changed = pod.replace("app: a", "app: b, more: c")
        self.ok("apply", "--server-side", "-f", "-", stdin=changed)
        labels = json.loads(self.field("pod", "p1", ".metadata.labels"))
        self.assertEqual(labels, {"app": "b", "more": "c"})
        self.ok("apply", "--server-side", "-f", "-", stdin=pod)
        labels = json.loads(self.field("pod", "p1", ".metadata.labels"))
        self.assertEqual(labels, {"app": "a"})
        self.ok("apply", "--dry-run=server", "-f", "-", stdin=POD % ("p2", "a"))
        self.refused("get", "pod", "p2", says="not found")

    def test_small_changes(self):
        self.create(POD % ("p1", "a"))
        self.ok("label", "pod", "p1", "x=y")
        self.ok("annotate", "pod", "p1", "note=1")
        self.ok("patch", "pod", "p1", "-p", '{"metadata":{"annotations":{"note":"2"}}}')
        self.assertEqual(self.field("pod", "p1", ".metadata.annotations.note"), "2")
        self.ok("patch", "pod", "p1", "--type=merge", "-p",
                '{"metadata":{"annotations":{"note":"3"}}}')  # fmt: skip
        self.ok("patch", "pod", "p1", "--type=json", "-p",
                '[{"op":"replace","path":"/metadata/annotations/note","value":"4"}]')  # fmt: skip
        self.assertEqual(self.field("pod", "p1", ".metadata.annotations.note"), "4")
        self.assertEqual(self.field("pod", "p1", ".metadata.labels.x"), "y")
        self.ok("label", "pod", "p1", "x-")
        self.assertEqual(self.field("pod", "p1", ".metadata.labels.x"), "")
        self.ok("patch", "pod", "p1", "--subresource=status", "-p",
                '{"status":{"phase":"Running"}}')  # fmt: skip
        self.assertEqual(self.table("get", "pod", "p1")[1][2], "Running")
        self.refused("patch", "pod", "p1", "-p", '{"spec":{"nodeName":"n1"}}',
                     says="pod updates may not change fields")  # fmt: skip

    def test_nodes(self):
        self.create(NODE % "n1")
        self.ok("cordon", "n1")
        self.assertEqual(self.table("get", "nodes")[1][1], "Ready,SchedulingDisabled")
        self.ok("uncordon", "n1")
        self.ok("taint", "nodes", "n1", "gpu=broken:NoSchedule")
        taints = json.loads(self.field("node", "n1", ".spec.taints"))
        self.assertEqual(taints, [{"effect": "NoSchedule", "key": "gpu", "value": "broken"}])
        self.ok("taint", "nodes", "n1", "gpu-")
        self.assertEqual(self.field("node", "n1", ".spec.taints"), "")

    def test_workloads(self):
        self.ok("create", "namespace", "team")
        self.ok("create", "deployment", "web", "--image=pause:1", "--replicas=2")
        self.ok("scale", "deployment", "web", "--replicas=5")
        self.assertEqual(self.field("deployment", "web", ".spec.replicas"), "5")
        self.ok("set", "image", "deployment/web", "pause=pause:2")
        self.ok("rollout", "restart", "deployment/web")
        status = {
            "observedGeneration": int(self.field("deployment", "web", ".metadata.generation")),
            "replicas": 5, "updatedReplicas": 5, "readyReplicas": 5, "availableReplicas": 5,
        }  # fmt: skip
        self.ok("patch", "deployment", "web", "--subresource=status", "-p",
                json.dumps({"status": status}))  # fmt: skip
        self.assertIn("successfully rolled out", self.ok("rollout", "status", "deployment/web"))
        self.ok("create", "configmap", "c", "--from-literal=a=b")
        self.ok("create", "secret", "generic", "s", "--from-literal=a=b")
        self.ok("create", "job", "j", "--image=busybox")
        self.ok("create", "priorityclass", "high", "--value=1000")
        self.ok("create", "pdb", "b", "--selector=app=web", "--min-available=1")
        self.ok("create", "serviceaccount", "a")
        self.ok("create", "role", "r", "--verb=get", "--resource=pods")
        self.ok("expose", "deployment", "web", "--port=80")
        self.ok("run", "one", "--image=pause")
        self.assertIn("deployment.apps/web", self.ok("get", "all"))
        editor = self.cluster.folder / "editor"
        editor.write_text("#!/bin/sh\nsed -i 's/replicas: 5$/replicas: 6/' \"$1\"\n")
        editor.chmod(0o700)
        self.ok("edit", "deployment", "web", EDITOR=str(editor))
        self.assertEqual(self.field("deployment", "web", ".spec.replicas"), "6")
        self.ok("delete", "namespace", "team")

    def test_delete(self):
        for pod, app in [("p1", "a"), ("p2", "a"), ("p3", "b"), ("p4", "b")]:
            self.create(POD % (pod, app))
        self.ok("delete", "pod", "p1")
        self.ok("delete", "pods", "-l", "app=a")
        self.assertEqual(self.ok("get", "pods", "-o", "name").split(), ["pod/p3", "pod/p4"])
        self.cluster.bind("p3", "n1")
        self.ok("delete", "pod", "p3", "--wait=false")
        self.assertEqual(self.table("get", "pod", "p3")[1][2], "Terminating")
        self.ok("delete", "pod", "p3", "--force", "--grace-period=0")
        self.ok("delete", "pods", "--all")
        self.assertEqual(self.ok("get", "pods", "-o", "name"), "")
        self.refused("delete", "pod", "p1", says="not found")

    def test_wait(self):
        self.create(POD % ("p1", "a"))
        ready = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
        with self.background("wait", "pod/p1", "--for=condition=Ready") as (process, _):
            time.sleep(0.3)
            self.ok("patch", "pod", "p1", "--subresource=status", "-p", ready)
            self.assertEqual(process.wait(PATIENCE_S), 0)
        with self.background("wait", "pod/p1", "--for=delete") as (process, _):
            time.sleep(0.3)
            self.ok("delete", "pod", "p1")
            self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_watch(self):
        with self.background("get", "pods", "-w") as (_, path):
            self.eventually(lambda: self.sees_a_pod(path), "the watch begins")
            self.create(POD % ("p1", "a"))
            self.cluster.bind("p1", "n1")
            self.ok("delete", "pod", "p1", "--wait=false")
            self.eventually(lambda: "Terminating" in path.read_text(), "the watch sees it go")
            lines = [line.split()[:3] for line in path.read_text().splitlines()]
            lines = [line for line in lines if line[0] == "p1"]
            self.assertEqual(lines[0], ["p1", "0/1", "Pending"])

    def sees_a_pod(self, path):
        """A pod of another name shows that the watch has started, even if that is slow."""
        name = f"probe-{time.monotonic_ns()}"
        self.create(POD % (name, "probe"))
        self.ok("delete", "pod", name)
        return "probe" in path.read_text()

    def test_only_local_hosts_are_served(self):
        for host, status in [("localhost:1", 200), ("[::1]:1", 200), ("page.example", 403)]:
            request = urllib.request.Request(self.cluster.url + "/version", headers={"Host": host})
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
                    self.assertEqual(response.status, status, host)
            except urllib.error.HTTPError as error:
                self.assertEqual(error.code, status, host)
                error.close()

    def test_drain(self):
        self.create(NODE % "n1")
        self.create(POD % ("p1", "a"))
        self.cluster.bind("p1", "n1")
        with self.background("drain", "n1", "--force") as (process, path):
            # There is no kubelet: the test ends the pod after it was evicted.
            self.eventually(
                lambda: self.field("pod", "p1", ".metadata.deletionTimestamp"), "the eviction")
            self.ok("delete", "pod", "p1", "--force", "--grace-period=0")
            self.assertEqual(process.wait(PATIENCE_S), 0, path.read_text())


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    if shutil.which("kubectl") is None:
        print("kubectl is not installed: skipped")
        return 77
    KubectlTest.program = sys.argv[1]
    program = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
