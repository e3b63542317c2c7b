#!/usr/bin/env python3
"""Does the bed for node tests do what a node does? The real kubelet and a small device plugin.

Usage: bed_test.py [--runtime recorder|containerd] [-k WORD]...

The plugin (programs/plugin) names a CDI device in Allocate and writes its specification in
PreStartContainer. It has no part of Stowage: what fails here is the bed, or what we believe of
kubelets. The last line counts; exit code 1 if a case failed.
"""
import argparse
import json
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kubernetes"))

import build  # noqa: E402
import nvidia  # noqa: E402
from api import ApiError, wait_until  # noqa: E402
from case import Lines  # noqa: E402
from cluster import Cluster  # noqa: E402
from node import Node, PLUGINS, container, pod, poke  # noqa: E402

RESOURCE = "bed.test/card"
CARDS = 8


class Plugin:
    """The small device plugin, as a process of a node."""

    def __init__(self, node):
        self.node = node
        self.process = None

    def tail(self):
        return self.process.tail() if self.process else ""

    def start(self):
        self.node.path("/run/bed").mkdir(exist_ok=True)
        self.process = self.node.spawn("plugin", self.node.own / "plugin", "--resource", RESOURCE,
                                       "--devices", CARDS, "--state", "/run/bed")
        wait_until("the plugin's devices are allocatable",
                   lambda: self.node.allocatable(RESOURCE) == CARDS, details=self.tail)

    def calls(self, name):
        lines = [json.loads(line) for line in self.process.text().splitlines()
                 if line.startswith("{")]
        return [line for line in lines if line["call"] == name]


class Bed(unittest.TestCase):
    node = None
    plugin = None
    subject = None
    count = 0

    def setUp(self):
        Bed.count += 1
        self.api = self.node.cluster.api
        self.namespace = f"bed-{Bed.count}"
        self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.pods = f"/api/v1/namespaces/{self.namespace}/pods"
        self.addCleanup(self.clear)
        if not self.plugin.process or not self.plugin.process.alive:
            self.plugin.start()

    def clear(self):
        self.api.delete(self.pods)
        if not self.node.kubelet.alive:
            self.node.start_kubelet()
        wait_until("the pods' containers are gone", lambda: not self.left(), every=0.2)

    def left(self):
        gone = {event["id"] for event in self.node.events("remove")}
        if self.node.runtime.runs_programs:
            return []
        return [event for event in self.node.created() if event["namespace"] == self.namespace
                and not event.get("error") and event["id"] not in gone]

    def add(self, name, *containers, **spec):
        return self.api.create(self.pods, pod(name, self.node.name, *containers, **spec))

    def status(self, name):
        return self.api.get(f"{self.pods}/{name}")["status"]

    def phase(self, name, wanted, timeout=30):
        wait_until(f"{name} is {wanted}", lambda: self.status(name).get("phase") == wanted, timeout,
                   details=lambda: json.dumps(self.status(name))[-1500:])

    def ready(self, name, timeout=30):
        def holds():
            return any(entry["type"] == "Ready" and entry["status"] == "True"
                       for entry in self.status(name).get("conditions", ()))
        wait_until(f"{name} is ready", holds, timeout,
                   details=lambda: json.dumps(self.status(name))[-1500:])

    def given(self, name, member):
        """The event of the last container made for a member of the pod; it got its devices."""
        event = [event for event in self.node.created(name, member)
                 if event["namespace"] == self.namespace][-1]
        self.assertNotIn("error", event)
        return event

    def cards(self, name, member):
        """The ids that the container's environment has after CDI, checked against all else."""
        event = self.given(name, member)
        environment = dict(entry.split("=", 1) for entry in event["spec"]["process"]["env"])
        ids = environment["BED_CARDS"].split("+")
        self.assertEqual(environment["BED_ALLOCATED"], environment["BED_CARDS"])
        nodes = [entry["path"] for entry in event["spec"]["linux"]["devices"]
                 if entry["path"].startswith("/dev/bed/")]
        self.assertEqual(sorted(nodes), [f"/dev/bed/{one}" for one in ids])
        kept = [entry for entry in self.node.checkpoint()
                if entry["PodUID"] == event["uid"] and entry["ContainerName"] == member]
        self.assertEqual(sorted(sum(kept[0]["DeviceIDs"].values(), [])), ids)
        return ids

    def test_a_container_gets_the_edits_of_what_prestart_wrote(self):
        self.add("one", container("main", {RESOURCE: 1}))
        self.ready("one")
        ids = self.cards("one", "main")
        names = self.given("one", "main")["request"]["cdi_devices"]
        self.assertEqual(len(names), 1)
        print(f"      {ids} through {names[0]}")

    def test_a_container_sees_what_it_was_given(self):
        if not self.node.runtime.runs_programs:
            self.skipTest("only a real runtime starts programs")
        self.add("one", container("main", {RESOURCE: 2}))
        self.ready("one")
        ids = self.cards("one", "main")
        logs = self.api.raw("GET", f"{self.pods}/one/log")
        view = json.loads(self.log("one", "main").splitlines()[0])
        self.assertIn("BED_CARDS=" + "+".join(ids), view["env"], logs)
        self.assertEqual([entry["path"] for entry in view["devices"]
                          if entry["path"].startswith("/dev/bed/")],
                         [f"/dev/bed/{one}" for one in ids])

    def log(self, name, member):
        """What the container printed, from the kubelet's folder of logs."""
        uid = self.api.get(f"{self.pods}/{name}")["metadata"]["uid"]
        folder = self.node.path(f"/var/log/pods/{self.namespace}_{name}_{uid}/{member}")
        text = sorted(folder.iterdir())[-1].read_text(encoding="utf-8")
        return "".join(line.split(" ", 3)[3] + "\n" for line in text.splitlines())

    def test_the_edits_of_a_card_of_nvidia_can_be_named(self):
        space = self.node.space
        text = space.path(nvidia.SPECIFICATION).read_text(encoding="utf-8")
        self.assertIn("kind: nvidia.com/gpu", text)
        for card in self.node.cards:
            self.assertTrue(space.path(f"/dev/nvidia{card.minor}").is_char_device())

    def test_init_containers_and_sidecars(self):
        self.add("mixed", container("main", {RESOURCE: 2}),
                 init=[container("first", {RESOURCE: 2}, life=0.2),
                       container("side", {RESOURCE: 1}, restartPolicy="Always")])
        self.ready("mixed")
        first, side, main = (self.cards("mixed", name) for name in ("first", "side", "main"))
        print(f"      init {first}, sidecar {side}, app {main}")
        self.assertFalse(set(side) & set(main))

    def test_a_container_that_restarts_keeps_its_cards(self):
        self.add("again", container("main", {RESOURCE: 1}, life=0.3, code=3))
        for count in (1, 2, 3):
            def again():
                poke(self.api, f"{self.pods}/again")
                return len(self.started("again")) >= count
            wait_until(f"it has started {count} times", again, every=0.5)
        created = [event for event in self.node.created("again")
                   if event["namespace"] == self.namespace]
        self.assertEqual(len({event["request"]["cdi_devices"][0] for event in created}), 1)

    def started(self, name):
        return [event for event in self.node.events("start", name)
                if event["namespace"] == self.namespace]

    def test_a_plugin_that_was_killed_comes_back(self):
        self.add("before", container("main", {RESOURCE: 1}))
        self.ready("before")
        self.plugin.process.kill()
        wait_until("nothing is allocatable", lambda: self.node.allocatable(RESOURCE) == 0)
        self.add("gap", container("main", {RESOURCE: 1}))
        self.phase("gap", "Failed")
        self.assertEqual(self.status("gap")["reason"], "UnexpectedAdmissionError")
        self.plugin.start()
        self.add("after", container("main", {RESOURCE: 1}))
        self.ready("after")
        self.assertNotEqual(self.cards("before", "main"), self.cards("after", "main"))

    def test_a_kubelet_that_was_killed_comes_back(self):
        self.add("before", container("main", {RESOURCE: 1}))
        self.ready("before")
        ids = self.cards("before", "main")
        known = len(self.node.created())
        self.node.kubelet.kill()
        begin = time.monotonic()
        self.node.start_kubelet()
        ready_after = time.monotonic() - begin
        wait_until("the plugin has registered", lambda: self.node.allocatable(RESOURCE) == CARDS)
        registered_after = time.monotonic() - begin
        self.add("after", container("main", {RESOURCE: 1}))
        self.ready("after")
        self.assertNotEqual(self.cards("after", "main"), ids)
        self.assertEqual([event["pod"] for event in self.node.created()[known:]], ["after"])
        print(f"      ready after {ready_after:.1f} s, devices after {registered_after:.1f} s")

    def test_a_plugin_whose_socket_is_removed_registers_again(self):
        before = len(self.plugin.calls("register"))
        for path in self.node.path(PLUGINS).glob("bed-*.sock"):
            path.unlink()
        wait_until("it has registered again",
                   lambda: len(self.plugin.calls("register")) > before)
        wait_until("its devices are there", lambda: self.node.allocatable(RESOURCE) == CARDS)
        self.add("one", container("main", {RESOURCE: 1}))
        self.ready("one")
        self.cards("one", "main")

    def test_settings_of_the_system_are_not_changed(self):
        self.assertEqual(settings(), self.node.settings_before)


def settings():
    return {name: pathlib.Path("/proc/sys", name).read_text() for name in
            ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops")}


def run(node, words):
    suite = unittest.TestSuite()
    for test in unittest.defaultTestLoader.loadTestsFromTestCase(Bed):
        if not words or any(word in test.id() for word in words):
            suite.addTest(test)
    result = Lines()
    suite.run(result)
    failed = result.testsRun - result.passed - len(result.skipped)
    if failed:
        node.cluster.keep_logs = True
        print(f"logs: {node.cluster.folder}")
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped", flush=True)
    return 1 if failed or not result.testsRun else 0


def start(cluster, runtime):
    begin = time.monotonic()
    before = settings()
    cluster.start()
    node = Node(cluster, "node-1", runtime)
    node.settings_before = before
    node.cards = nvidia.cards(CARDS, "node-1")
    nvidia.install(node.space, node.cards)
    node.start()
    version = node.object()["status"]["nodeInfo"]
    print(f"node: kubelet {version['kubeletVersion']} with {version['containerRuntimeVersion']} "
          f"up in {time.monotonic() - begin:.1f} s", flush=True)
    Bed.node, Bed.plugin = node, Plugin(node)
    Bed.subject = Bed.plugin
    return node


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runtime", choices=["recorder", "containerd"], default="recorder")
    parser.add_argument("-k", dest="words", action="append", default=[])
    arguments = parser.parse_args()
    build.end_cleanly_on_signals()
    cluster = node = None
    try:
        cluster = Cluster(build.binaries())
        node = start(cluster, arguments.runtime)
        return run(node, arguments.words)
    except build.Unavailable as reason:
        print(f"node: skipped: {reason}\n0 passed, 0 failed, 1 skipped")
        return 0
    except (build.BuildFailed, FileNotFoundError) as reason:
        print(f"node: {reason}")
        return 1
    except (AssertionError, ApiError) as reason:
        cluster.keep_logs = True
        print(f"node: the node does not start: {reason}\nlogs: {cluster.folder}")
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if node:
            node.close()
        if cluster:
            cluster.close()


if __name__ == "__main__":
    sys.exit(main())
