#!/usr/bin/env python3
"""Two controllers on one cluster: which one leads, how fast the other takes over, and what each
binds.

ha_test.py STOWAGE
"""
import http.client
import json
import re
import signal
import subprocess
import sys
import time
import unittest

from local_cluster import GPUS, LocalCluster, Watch, overcommitted, pod, wait_until

PROGRAM = ""
PODS = "/api/v1/namespaces/default/pods"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/stowage"
LEASE_SECONDS = 3
SHORT = ("leaderElection: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}\n"
         "profiles: [{name: stowage}]\n"
         "extenders: [{preset: stowage, listen: '127.0.0.1:0'}]\n")
DEFAULT = "profiles: [{name: stowage}]\n"
GPU = {"cpu": 1, "memory": "1Gi", "nvidia.com/gpu": 1}
SLACK = 20  # seconds, for a busy machine


class Pair(unittest.TestCase):
    CONFIG = SHORT

    def setUp(self):
        self.cluster = LocalCluster(PROGRAM, "--nodes", "40", "--gpus", "8")
        self.addCleanup(self.cluster.stack.close)
        self.watch = Watch(self.cluster.port)
        self.config = self.cluster.file("config.yaml", self.config_text())
        self.leader = self.start("a")
        wait_until("a leads", lambda: self.leads(self.leader))
        self.standby = self.start("b")
        self.assertEqual(self.standby.metric("stowage_leader"), 0)

    def config_text(self):
        return self.CONFIG

    def start(self, name):
        controller = self.cluster.controller(name, "--config", self.config)
        wait_until(f"{name} is ready", controller.ready)
        return controller

    @staticmethod
    def leads(controller):
        return controller.metric("stowage_leader") == 1

    def add(self, *names, asks=None):
        self.cluster.api.create_all(PODS, [pod(name, asks or GPU) for name in names])

    def node_of(self, name):
        return self.cluster.api.get(f"{PODS}/{name}")["spec"].get("nodeName", "")

    def bound(self, *names, timeout=60.0):
        for name in names:
            wait_until(f"{name} is bound", lambda name=name: self.node_of(name), timeout)

    def placed_once(self):
        """Every pod went to one node, and no share of a card was given twice."""
        self.assertIsNone(self.watch.failure)
        for uid, states in self.watch.states.items():
            self.assertLessEqual(sum(1 for state in states if state[0]), 1, f"{uid}: {states}")
        self.assertEqual(overcommitted(self.cluster.api.pods()), [])


class Terms(Pair):
    def test_only_the_leader_binds(self):
        names = [f"p{number}" for number in range(60)]
        self.add(*names)
        self.bound(*names)
        self.assertEqual(self.leader.bound(), 60)
        self.assertEqual(self.standby.bound(), 0)
        self.assertTrue(self.standby.ready(), "a standby is ready")
        self.assertEqual(self.standby.metric("stowage_nodes"), 40, "and warm")
        wait_until("it has seen them", lambda: self.standby.metric("stowage_pods_placed") == 60)
        self.placed_once()

    def test_after_a_crash_the_other_one_takes_over(self):
        self.add("before")
        self.bound("before")
        start = time.monotonic()
        self.leader.process.kill()
        self.add("after")
        self.bound("after", timeout=LEASE_SECONDS + SLACK)
        print(f"      bound {time.monotonic() - start:.2f} s after kill -9, with a lease of "
              f"{LEASE_SECONDS} s", flush=True)
        self.assertEqual(self.standby.metric("stowage_leaderships_unclean_total"), 1)
        again = self.start("a-again")
        self.assertFalse(self.leads(again))
        self.placed_once()

    def test_a_leader_that_was_frozen_binds_nothing_any_more(self):
        names = [f"p{number}" for number in range(200)]
        self.add(*names)
        wait_until("some are bound", lambda: self.leader.bound() >= 20, every=0.001)
        self.leader.process.process.send_signal(signal.SIGSTOP)
        try:
            wait_until("b leads", lambda: self.leads(self.standby), LEASE_SECONDS + SLACK)
            self.bound(*names)
        finally:
            self.leader.process.process.send_signal(signal.SIGCONT)
        wait_until("a has noticed", lambda: self.leader.metric("stowage_leader") == 0
                   and self.leader.metric("stowage_leaderships_lost_total") == 1)
        wait_until("a is ready", self.leader.ready)
        before = self.leader.bound()
        more = [f"q{number}" for number in range(30)]
        self.add(*more)
        self.bound(*more)
        self.assertEqual(self.leader.bound(), before)
        self.placed_once()


    def test_a_lease_that_is_deleted_does_not_make_two_leaders(self):
        for number in range(6):
            status, _ = self.cluster.api.request("DELETE", LEASE)
            self.assertEqual(status, 200)
            end = time.monotonic() + 0.7 + 0.3 * number
            while time.monotonic() < end:
                self.assertEqual(self.standby.metric("stowage_leaderships_total"), 0)
            self.add(f"p{number}")
        self.assertTrue(self.leads(self.leader))
        self.assertEqual(self.leader.metric("stowage_leaderships_lost_total"), 0)
        self.bound(*[f"p{number}" for number in range(6)])
        self.placed_once()

    def test_a_frozen_leader_whose_lease_is_deleted_is_waited_out(self):
        self.leader.process.process.send_signal(signal.SIGSTOP)
        try:
            start = time.monotonic()
            status, _ = self.cluster.api.request("DELETE", LEASE)
            self.assertEqual(status, 200)
            wait_until("b leads", lambda: self.leads(self.standby), 2 * LEASE_SECONDS + SLACK)
            self.assertGreater(time.monotonic() - start, LEASE_SECONDS - 0.5)
            self.assertEqual(self.standby.metric("stowage_leaderships_unclean_total"), 1)
        finally:
            self.leader.process.process.send_signal(signal.SIGCONT)
        wait_until("a has noticed", lambda: self.leader.metric("stowage_leader") == 0)
        self.add("after")
        self.bound("after")
        self.placed_once()


class Stop(Pair):
    CONFIG = DEFAULT

    def test_a_stop_hands_over_at_once(self):
        """With a lease of 15 seconds."""
        names = [f"p{number}" for number in range(100)]
        self.add(*names)
        start = time.monotonic()
        self.assertEqual(self.leader.process.stop(), 0)
        self.add("after")
        self.bound("after", timeout=LEASE_SECONDS + 5)  # far below 15
        print(f"      bound {time.monotonic() - start:.2f} s after SIGTERM", flush=True)
        self.bound(*names)
        self.assertEqual(self.standby.metric("stowage_leaderships_unclean_total"), 0)
        self.assertEqual(self.standby.metric("stowage_leaderships_total"), 1)
        self.placed_once()

    def test_the_last_one_leaves_a_lease_that_is_free(self):
        self.assertEqual(self.standby.process.stop(), 0)
        self.assertTrue(self.leads(self.leader), "a standby that goes changes nothing")
        self.assertEqual(self.leader.process.stop(), 0)
        lease = self.cluster.api.get(LEASE)
        self.assertFalse(lease["spec"].get("holderIdentity"))
        start = time.monotonic()
        self.start("c")
        self.assertLess(time.monotonic() - start, 10, "it did not wait for 15 seconds")


def ask(controller, path, body, method="POST"):
    """(code, text) from the extender of this controller."""
    log = controller.process.log.read_text(errors="replace")
    port = int(re.search(r" extender name=\S+ listen=http://127\.0\.0\.1:(\d+)", log)[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body if isinstance(body, str) else json.dumps(body),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


class Forwarding(Pair):
    def test_a_standby_answers_like_the_leader(self):
        _, guest = self.cluster.api.request(
            "POST", PODS, pod("guest", {"stowage.dev/gpu-core": 50}, scheduler="theirs"))
        nodes = [each["metadata"]["name"] for each in self.cluster.api.get("/api/v1/nodes")
                 ["items"]][:5]
        args = {"Pod": guest, "Nodes": None, "NodeNames": nodes}
        wait_until("the leader answers", lambda: ask(
            self.leader, "/stowage/filter-dryrun", args)[0] == 200)
        for path in ("/stowage/filter-dryrun", "/stowage/filter", "/stowage/prioritize"):
            code, text = ask(self.standby, path, args)
            self.assertEqual(code, 200, text)
            self.assertEqual((code, text), ask(self.leader, path, args), path)
        for wrong in ("", "{", "[]", "nothing"):
            self.assertEqual(ask(self.standby, "/stowage/filter", wrong),
                             ask(self.leader, "/stowage/filter", wrong), wrong)
        _, text = ask(self.standby, "/stowage/filter", args)
        chosen = json.loads(text)["NodeNames"][0]
        code, text = ask(self.standby, "/stowage/bind", {
            "PodName": "guest", "PodNamespace": "default", "PodUID": guest["metadata"]["uid"],
            "Node": chosen})
        self.assertEqual((code, json.loads(text)["Error"]), (200, ""))
        self.assertEqual(self.node_of("guest"), chosen)
        self.assertEqual(self.leader.bound(), 1)
        self.assertEqual(self.standby.bound(), 0)
        forwarded = 'stowage_extender_forwarded_total{extender="stowage",outcome="answered"}'
        self.assertGreaterEqual(self.standby.metric(forwarded), 9)
        code, text = ask(self.standby, "/readyz", "", method="GET")
        self.assertEqual(code, 200, text)

    def test_without_a_leader_the_answer_says_so(self):
        self.leader.process.kill()
        body = {"Pod": {}, "NodeNames": []}
        code, text = ask(self.standby, "/stowage/filter", body)
        if code == 503:  # otherwise it already leads
            self.assertIn("leader cannot be reached", text)
        wait_until("b leads", lambda: self.leads(self.standby), LEASE_SECONDS + SLACK)


class Conflicts(Pair):
    def config_text(self):
        """Unsigned annotations count here: the test writes a decision that was never made."""
        key = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519"], check=True,
                             capture_output=True, text=True).stdout
        path = self.cluster.file("signing.pem", key)
        return (self.CONFIG +
                f'signing: {{keyFile: {path}, unsignedUntil: "2100-01-01T00:00:00Z"}}\n')

    def test_the_later_one_of_two_pods_with_one_share_goes(self):
        self.add("first")
        self.bound("first")
        node = self.node_of("first")
        # Its kubelet is silenced: otherwise it would refuse the second pod before the test can
        # look.
        self.silence_kubelet(node)
        first = self.cluster.api.get(f"{PODS}/first")
        later = json.loads(first["metadata"]["annotations"][GPUS])
        later["decided"] = str(int(later["decided"]) + 1_000_000_000)
        self.bind("second", node, {GPUS: json.dumps(later)})
        self.bind("third", node, {})  # as other schedulers do
        wait_until("the second pod is told to go", lambda: self.cluster.api.get(f"{PODS}/second")
                   ["metadata"].get("deletionTimestamp"))
        events = wait_until("there is an event", lambda: [
            each for each in self.cluster.api.get("/apis/events.k8s.io/v1/events")["items"]
            if each["reason"] == "CardConflict"])
        self.assertEqual(len(events), 1, events)
        self.assertEqual(events[0]["regarding"]["name"], "second")
        self.assertIn("default/first", events[0]["note"])
        self.assertEqual(self.leader.metric("stowage_card_conflicts_total"), 1)
        self.assertEqual(self.standby.metric("stowage_card_conflicts_total"), 0)
        for name in ("first", "third"):
            meta = self.cluster.api.get(f"{PODS}/{name}")["metadata"]
            self.assertNotIn("deletionTimestamp", meta, name)

    def bind(self, name, node, annotations):
        self.cluster.api.create_all(PODS, [pod(name, GPU, scheduler="theirs")])
        code, text = self.cluster.api.request("POST", f"{PODS}/{name}/binding", {
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name, "annotations": annotations},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
        self.assertEqual(code, 201, text)

    def silence_kubelet(self, node):
        connection = http.client.HTTPConnection("127.0.0.1", self.cluster.port, timeout=30)
        connection.request("PATCH", f"/api/v1/nodes/{node}", json.dumps(
            {"metadata": {"annotations": {"local.stowage.dev/failed": "true"}}}),
            {"Content-Type": "application/merge-patch+json"})
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
