#!/usr/bin/env python3
"""The program takes over what an older version wrote: no card is lost or given twice.

upgrade_test.py STOWAGE

The objects in fixtures/VERSION were recorded with the program of that version (record.py).
"""
import json
import pathlib
import re
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
for each in ("cluster", "extender"):
    sys.path.insert(0, str(HERE.parent / each))
import objects as recorded  # noqa: E402
from extender_cluster import Extender  # noqa: E402
from local_cluster import LocalCluster, wait_until  # noqa: E402

PROGRAM = ""
VERSIONS = sorted(path.name for path in (HERE / "fixtures").iterdir())
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
GPUS = "stowage.dev/gpus"


def free_of(text):
    """{node: [(percent, MiB)]} from the answer of /stowage/status."""
    cards = json.loads(json.loads(text)["elasticgpu.io/gpu-core"])
    return {name: [(card["CoreAvailable"], card["MemoryAvailable"]) for card in of_node]
            for name, of_node in cards.items()}


class Upgraded(LocalCluster):
    """A local cluster with the objects of that version, without a controller yet."""

    def __init__(self, version):
        super().__init__(PROGRAM, "--nodes", "0")
        self.objects = recorded.Objects(HERE / "fixtures" / version)
        self.made = {}
        try:
            self.tell()
        except BaseException:
            self.stack.close()
            raise

    def call(self, method, path, value=None, want=(200, 201)):
        code, answer = self.api.request(method, path, value)
        if code not in want:
            raise AssertionError(f"{method} {path}: {code} {answer}")
        return answer

    def tell(self):
        for value in self.objects.read("nodes"):
            value["metadata"].pop("resourceVersion", None)
            self.call("POST", "/api/v1/nodes", value)
        since = max(int(text) / 1e9 for value in self.objects.read("pods")
                    for key, text in value["metadata"].get("annotations", {}).items()
                    if key.endswith("/predicate-time"))
        for value in self.objects.read("pods"):
            value = recorded.told_again(value, since)
            made = self.call("POST", "/api/v1/namespaces/default/pods", value)
            made["status"] = value.get("status", {})
            self.made[value["metadata"]["name"]] = self.call(
                "PUT", recorded.pod_path(made, "/status"), made)
        lease = self.objects.read("lease")
        for key in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
            lease["metadata"].pop(key, None)
        # The local cluster already has one, which is free.
        now = self.call("GET", f"{LEASES}/stowage")
        lease["metadata"]["resourceVersion"] = now["metadata"]["resourceVersion"]
        self.call("PUT", f"{LEASES}/stowage", lease)

    def start(self):
        controller = self.controller("controller", "--config", self.objects.config)
        wait_until("the controller is ready", controller.ready)
        log = controller.process.log.read_text(errors="replace")
        self.extenders = {name: Extender(int(port)) for name, port in re.findall(
            r" extender name=(\S+) listen=http://127\.0\.0\.1:(\d+)", log)}
        wait_until("it leads", lambda: self.call("GET", f"{LEASES}/stowage")["spec"].get(
            "holderIdentity") != self.objects.read("lease")["spec"]["holderIdentity"])
        return controller

    def free(self):
        return free_of(self.extenders["stowage"].send("GET", "/stowage/status")[1])

    def find(self, name):
        return self.api.get(f"/api/v1/namespaces/default/pods/{name}")


def each_version(test):
    def run(self):
        for version in VERSIONS:
            with self.subTest(version), Upgraded(version) as cluster:
                test(self, cluster)
    return run


class Takeover(unittest.TestCase):
    maxDiff = None

    def wait_free(self, cluster, expected):
        last = {}

        def check():
            last.clear()
            last.update(cluster.free())
            return last == expected
        try:
            wait_until("the ledger", check, timeout=30)
        except Exception as error:
            self.assertEqual(last, expected)
            raise error

    @each_version
    def test_every_card_is_charged_as_before(self, cluster):
        cluster.start()
        self.wait_free(cluster, free_of(cluster.objects.read("free")))

    @each_version
    def test_a_pre_allocated_pod_is_bound_to_its_cards(self, cluster):
        cluster.start()
        before = free_of(cluster.objects.read("free"))
        self.wait_free(cluster, before)
        promised = cluster.made["promised"]
        cluster.call("POST", recorded.pod_path(promised, "/binding"), {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "promised"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "vcuda"}})
        time.sleep(1)
        self.wait_free(cluster, before)

    @each_version
    def test_new_pods_get_only_what_is_left(self, cluster):
        controller = cluster.start()
        self.wait_free(cluster, free_of(cluster.objects.read("free")))
        new = [recorded.pod(f"new-{number}", [{"stowage.dev/gpu-core": 10}])
               for number in range(90)]
        cluster.api.create_all("/api/v1/namespaces/default/pods", new)
        wait_until("every new pod is bound or refused", lambda: all(
            "nodeName" in each["spec"] or each.get("status", {}).get("conditions")
            for each in cluster.api.pods() if each["metadata"]["name"].startswith("new-")))
        used = {}
        for value in cluster.api.pods():
            text = value["metadata"].get("annotations", {}).get(GPUS)
            if not text or not value["spec"].get("nodeName"):
                continue
            for shares in json.loads(text)["containers"].values():
                for share in shares:
                    key = (value["spec"]["nodeName"], share["index"])
                    used[key] = used.get(key, 0) + share["milli"]
        self.assertEqual({key: milli for key, milli in used.items() if milli > 1000}, {})
        self.assertLessEqual(used.get(("vcuda", 1), 0), 400, "600 are promised")
        self.assertGreater(sum(used.values()), 15000, "of 16 cards the rest is used")
        self.assertTrue(controller.process.alive())

    @each_version
    def test_nothing_that_was_written_counts_as_forged(self, cluster):
        controller = cluster.start()
        self.wait_free(cluster, free_of(cluster.objects.read("free")))
        self.assertEqual(controller.metric("stowage_untrusted_annotations_total"), 0)
        self.assertEqual(controller.metric("stowage_pods_annotation_mismatch"), 0)

    def test_the_configuration_is_read(self):
        for version in VERSIONS:
            with self.subTest(version):
                config = recorded.Objects(HERE / "fixtures" / version).config
                done = subprocess.run([PROGRAM, "controller", "--config", config, "--check"],
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=1)
