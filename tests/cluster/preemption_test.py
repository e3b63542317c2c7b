#!/usr/bin/env python3
"""Pods of higher priority evict others; capacity is kept for pods that need several cards.

preemption_test.py STOWAGE
"""
import json
import sys
import unittest

from local_cluster import LocalCluster, overcommitted, pod, wait_until

PROGRAM = ""
PODS = "/api/v1/namespaces/default/pods"


def important(name, cards, priority):
    value = pod(name, {"nvidia.com/gpu": cards})
    value["spec"]["priorityClassName"] = f"class{priority}"
    value["spec"]["terminationGracePeriodSeconds"] = 0
    return value


class Rooms(unittest.TestCase):
    def start(self, nodes, cards, config):
        cluster = LocalCluster(PROGRAM, "--nodes", nodes, "--gpus", cards)
        self.addCleanup(cluster.stack.close)
        path = cluster.folder / "config.yaml"
        path.write_text(json.dumps(config), encoding="utf-8")
        self.controller = cluster.controller("controller", "--config", path)
        wait_until("the controller is ready", self.controller.ready)
        self.api = cluster.api
        self.api.create_all("/apis/scheduling.k8s.io/v1/priorityclasses", [
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
             "metadata": {"name": f"class{priority}"}, "value": priority}
            for priority in (1, 5, 10)])

    def create(self, *pods):
        self.api.create_all(PODS, list(pods))

    def find(self, name):
        status, value = self.api.request("GET", f"{PODS}/{name}")
        return value if status == 200 else None

    def bound(self, name):
        value = self.find(name)
        return value is not None and value["spec"].get("nodeName")

    def events(self, reason):
        items = self.api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return [item for item in items if item["reason"] == reason]

    def test_the_least_important_pod_gives_way(self):
        self.start(1, 2, {})
        self.create(important("low", 1, 1), important("middle", 1, 5))
        wait_until("both are bound", lambda: self.controller.bound() == 2)
        self.create(important("high", 1, 10))
        wait_until("the important pod is bound", lambda: self.bound("high"))
        self.assertIsNone(self.find("low"))
        self.assertTrue(self.bound("middle"))
        self.assertEqual(overcommitted(self.api.pods()), [])
        event = wait_until("the victim's event", lambda: self.events("Preempted"))[0]
        self.assertEqual(event["regarding"]["name"], "low")
        self.assertIn("Preempted by pod", event["note"])
        wait_until("the nomination's event", lambda: self.events("Nominated"))
        self.assertEqual(self.controller.metric('stowage_evictions_total{outcome="deleted"}'), 1)

    def test_no_pod_is_evicted_if_it_is_off(self):
        self.start(1, 1, {"preemption": False})
        self.create(important("low", 1, 1))
        wait_until("it is bound", lambda: self.bound("low"))
        self.create(important("high", 1, 10))
        wait_until("it is refused", lambda: self.controller.metric(
            "stowage_decisions_refused_total") >= 1)
        self.assertTrue(self.bound("low"))
        self.assertEqual(self.controller.metric("stowage_preemptions_total"), 0)

    def test_a_pod_that_needs_much_has_capacity_kept(self):
        self.start(1, 4, {"reservation": {"pendingThreshold": "1s"}})
        self.create(*[pod(f"small{number}", {"nvidia.com/gpu": 1}) for number in range(4)])
        wait_until("the small ones are bound", lambda: self.controller.bound() == 4)
        self.create(pod("large", {"nvidia.com/gpu": 4}))
        value = wait_until("the large one is nominated", lambda: (
            lambda found: found if found["status"].get("nominatedNodeName") else None)(
                self.find("large")))
        node = value["status"]["nominatedNodeName"]
        self.assertEqual(node, self.bound("small0"))
        for number in range(4):
            self.create(pod(f"late{number}", {"nvidia.com/gpu": 1}))
            self.api.request("DELETE", f"{PODS}/small{number}",
                             {"gracePeriodSeconds": 0})
        wait_until("the large one is bound", lambda: self.bound("large"))
        self.assertFalse(any(self.bound(f"late{number}") for number in range(4)))
        self.assertEqual(overcommitted([value for value in self.api.pods()
                                        if value["spec"].get("nodeName")]), [])
        self.assertTrue(wait_until("its event", lambda: self.events("Nominated")))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=1)
