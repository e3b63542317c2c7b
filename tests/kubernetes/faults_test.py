#!/usr/bin/env python3
"""Faults of a real control plane, and of our own replicas on it, while pods keep coming.

Usage: faults_test.py [--rounds 20] [--pods 2000] [-k WORD]...

Every kind of kill is done in that many rounds while that many pods are created and bound by two
replicas of the controller, one of them leading. In the end every pod is bound, none was ever seen
on two nodes or with two sets of cards, and no card is given twice. -k runs only the cases whose
names have one of the words. The last line counts; exit code 1 if a case failed.
"""
import argparse
import http.client
import json
import sys
import threading
import time
import unittest

import build
import smoke_test
from api import ApiError, wait_until
from case import Case, Lines, bindings
from cluster import Cluster
from kube_scheduler import KubeScheduler, config, extender
from objects import node, node_of, pod, wrong_cards
from replicas import Replicas, Service

ROUNDS, PODS = 20, 2000
CARDS = 8
HALF = {"stowage.dev/gpu-core": "50", "stowage.dev/gpu-memory": "40960"}
WHOLE = {"nvidia.com/gpu": "1"}


class Load:
    """Creates pods at a steady rate in a thread, also while the server is away."""

    def __init__(self, api, path, count, per_second, make):
        self.api, self.path, self.count, self.make = api, path, count, make
        self.pause = 1 / per_second
        self.created = 0
        self.failure = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        due = time.monotonic()
        for number in range(self.count):
            try:
                wait_until("a pod is created", lambda number=number: self.create(number), 120)
            except (AssertionError, ApiError) as error:
                self.failure = error
                return
            self.created += 1
            due += self.pause
            time.sleep(max(0, due - time.monotonic()))

    def create(self, number):
        try:
            self.api.create(self.path, self.make(number))
        except ApiError as error:
            if error.code != 409:  # an earlier attempt succeeded, but its answer was lost
                raise
        return True

    def end(self, test):
        self.thread.join(600)
        test.assertIsNone(self.failure)
        test.assertEqual(self.created, self.count)


class FaultCase(Case):
    starts_subject = False
    subject = None

    def setUp(self):
        self.subject = Replicas.__new__(Replicas)  # for clear(), if setUp() fails
        self.subject.members = []
        super().setUp()
        self.add_nodes(*(node(f"n{number:03}") for number in range(max(PODS, 400) // CARDS + 10)))
        self.replicas = self.subject = Replicas(self.cluster)
        self.watch = self.watch_pods()

    def load(self, count=None, per_second=120, scheduler="stowage"):
        return Load(self.api, self.pods, count or PODS, per_second, lambda number: pod(
            f"p{number:05}", HALF if number % 5 < 2 else WHOLE, scheduler=scheduler))

    def bound_count(self):
        return sum(1 for value in self.api.list(self.pods) if node_of(value))

    def judge(self, count):
        """Nothing is lost or duplicated, and the ledger agrees with the API."""
        pods = self.all_bound(count, timeout=120)
        self.assertIsNone(self.watch.failure)
        for name, states in bindings(self.watch).items():
            self.assertLessEqual(sum(1 for state in states if state[0]), 1,
                                 f"{name} went through {states}")
        self.assertEqual(wrong_cards(pods, CARDS), [])
        leader = self.replicas.leader()
        wait_until("the ledger has them all",
                   lambda: leader.metric("stowage_pods_placed") == count,
                   details=lambda: leader.metric("stowage_pods_placed"))
        self.assertEqual(leader.metric("stowage_card_conflicts_total"), 0)

    def rounds(self, what, strike):
        """Strikes in each round, in the middle of its share of the pods."""
        load = self.load()
        worst = 0.0
        for number in range(ROUNDS):
            wait_until("pods have come", lambda at=(number + 0.5) * PODS / ROUNDS:
                       load.failure or load.created >= at, timeout=120, every=0.002)
            begin = time.monotonic()
            strike()
            worst = max(worst, time.monotonic() - begin)
        load.end(self)
        self.judge(PODS)
        print(f"      {what}: {ROUNDS} rounds, {PODS} pods, back within {worst:.1f} s at most",
              flush=True)


class Kills(FaultCase):
    def test_the_api_server_is_killed(self):
        def strike():
            self.cluster.kill("kube-apiserver")
            self.cluster.start_api_server()
        self.rounds("kill -9 of kube-apiserver", strike)

    def test_etcd_is_killed(self):
        def strike():
            self.cluster.kill("etcd")
            self.cluster.start_etcd()
            wait_until("the API server has it back",
                       lambda: self.api.raw("GET", "/readyz")[0] == 200, timeout=60)
        self.rounds("kill -9 of etcd", strike)

    def test_the_leader_is_killed(self):
        def strike():
            leader = self.replicas.leader()
            leader.kill()
            self.replicas.members.remove(leader)
            self.replicas.leader()
            leader.start()
            self.replicas.members.append(leader)
        self.rounds("kill -9 of the leader", strike)

    def test_the_standby_is_killed(self):
        leader = self.replicas.leader()

        def strike():
            standby = self.replicas.standby()
            standby.kill()
            standby.start()
            self.assertTrue(leader.leads(), "the leader went on")
        self.rounds("kill -9 of the standby", strike)


class Pressure(FaultCase):
    def test_events_are_compacted_away_while_the_controllers_cannot_look(self):
        """410: the version that they watched from is gone. They have to list again."""
        load = self.load(count=400)
        wait_until("some are bound", lambda: self.bound_count() >= 50)
        lists = {each.name: each.sum("stowage_lists_total") for each in self.replicas.members}
        for each in self.replicas.members:
            each.freeze()
        wait_until("pods have come meanwhile", lambda: load.created >= 250)
        self.compact()
        self.cluster.kill("kube-apiserver")
        self.cluster.start_api_server()
        for each in self.replicas.members:
            each.thaw()
        load.end(self)
        self.judge(400)
        for each in self.replicas.members:  # the one that does not lead may still be resting
            wait_until(f"{each.name} has listed again",
                       lambda each=each: each.sum("stowage_lists_total") > lists[each.name])

    def compact(self):
        revision = self.etcd("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        self.etcd("/v3/kv/compaction", {"revision": revision, "physical": True})

    def etcd(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.cluster.ports["client"],
                                                timeout=30)
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        text = answer.read().decode()
        self.assertEqual(answer.status, 200, text)
        return json.loads(text)

    def test_the_api_server_says_429_to_most_of_our_calls(self):
        """One seat without a queue for all our calls about pods."""
        flow = "/apis/flowcontrol.apiserver.k8s.io/v1"
        self.api.create(f"{flow}/prioritylevelconfigurations", {
            "metadata": {"name": "narrow"},
            "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0,
                                                    "lendablePercent": 0,
                                                    "borrowingLimitPercent": 0,
                                                    "limitResponse": {"type": "Reject"}}}})
        self.addCleanup(lambda: self.api.delete(f"{flow}/prioritylevelconfigurations/narrow"))
        self.api.create(f"{flow}/flowschemas", {
            "metadata": {"name": "narrow"},
            "spec": {"priorityLevelConfiguration": {"name": "narrow"}, "matchingPrecedence": 2,
                     "rules": [{
                         "subjects": [{"kind": "ServiceAccount", "serviceAccount": {
                             "namespace": "kube-system", "name": "stowage"}}],
                         "resourceRules": [{"apiGroups": [""], "namespaces": ["*"],
                                            "resources": ["pods/binding", "pods/status"],
                                            "verbs": ["*"]}]}]}})
        self.addCleanup(lambda: self.api.delete(f"{flow}/flowschemas/narrow"))
        # The server applies new levels after some time, and handles 400 pods in a second.
        wait_until("the narrow level is in force", self.narrow_is_in_force)
        # The replicas are frozen while the pods come, so that there are many binds at once.
        for each in self.replicas.members:
            each.freeze()
        load = self.load(count=400)
        wait_until("all pods are there", lambda: load.failure or load.created >= 400)
        for each in self.replicas.members:
            each.thaw()

        def throttled():
            return sum(each.metric("stowage_api_throttled_total") or 0
                       for each in self.replicas.members)
        wait_until("we are told to slow down", lambda: throttled() > 5, details=throttled)
        self.api.patch(f"{flow}/prioritylevelconfigurations/narrow",
                       {"spec": {"limited": {"nominalConcurrencyShares": 100}}})
        load.end(self)
        self.judge(400)
        print(f"      {throttled():.0f} times 429", flush=True)


    def narrow_is_in_force(self):
        """True when our bind of a missing pod is counted by the narrow level."""
        schema = self.api.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/narrow")
        account = self.api.create(
            "/api/v1/namespaces/kube-system/serviceaccounts/stowage/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"expirationSeconds": 3600}})
        ours = self.cluster.api_as(token=account["status"]["token"])
        connection = ours.connect()
        try:
            body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "nobody"},
                    "target": {"kind": "Node", "name": "nowhere"}}
            connection.request("POST", f"/api/v1/namespaces/{self.namespace}/pods/nobody/binding",
                               json.dumps(body), ours.headers("application/json"))
            answer = connection.getresponse()
            answer.read()
            return answer.getheader("X-Kubernetes-PF-FlowSchema-UID") == schema["metadata"]["uid"]
        finally:
            connection.close()


class RollingUpgrade(FaultCase):
    """As a Deployment does: a new replica is ready before an old one is stopped."""

    def roll(self, load, service=None):
        """Three times through all replicas, spread over the incoming pods."""
        for number in range(3):
            wait_until("pods have come", lambda at=(number + 0.3) * load.count / 3:
                       load.failure or load.created >= at, timeout=120)
            self.replace_all(service)

    def replace_all(self, service):
        for old in list(self.replicas.members):
            new = self.replicas.start()
            self.replicas.members.append(new)
            if service:
                service.ports.append(new.extender_port())
                service.ports.remove(old.extender_port())
                time.sleep(0.3)  # the preStop hook of the manifest
            old.stop()
            self.replicas.members.remove(old)

    def failed_attempts(self):
        events = self.api.list(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
        return [value.get("note") for value in events if value["reason"] == "FailedScheduling"]

    def test_of_the_scheduler(self):
        load = self.load(per_second=60)
        self.roll(load)
        load.end(self)
        self.judge(PODS)
        self.assertEqual(self.failed_attempts(), [])
        print(f"      6 replicas replaced one by one, {PODS} pods, no failed attempt", flush=True)

    def test_of_the_extender(self):
        service = Service()
        self.addCleanup(service.close)
        service.ports = [each.extender_port() for each in self.replicas.members]
        scheduler = KubeScheduler(self.cluster, config(
            extender(service.address, *HALF, *WHOLE), profiles=("theirs",),
            percentageOfNodesToScore=100)).start()  # a sample of nodes may be full by chance
        self.addCleanup(scheduler.kill)
        load = self.load(per_second=60, scheduler="theirs")
        self.roll(load, service)
        load.end(self)
        self.judge(PODS)
        self.assertEqual(self.failed_attempts(), [])
        waited = sum(each.sum("stowage_extender_waited_total") for each in self.replicas.members)
        print(f"      6 replicas replaced one by one, {PODS} pods, no failed attempt; "
              f"{waited:.0f} calls waited for a leader", flush=True)


def main():
    global ROUNDS, PODS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--pods", type=int, default=PODS)
    parser.add_argument("-k", dest="words", action="append", default=[])
    arguments = parser.parse_args()
    ROUNDS, PODS = arguments.rounds, arguments.pods
    build.end_cleanly_on_signals()
    cluster = None
    try:
        cluster = Cluster(build.binaries())
        smoke_test.start(cluster, None)
        cases = unittest.TestSuite()
        for kind in (Kills, Pressure, RollingUpgrade):
            for test in unittest.defaultTestLoader.loadTestsFromTestCase(kind):
                if not arguments.words or any(word in test.id() for word in arguments.words):
                    cases.addTest(test)
        result = Lines()
        cases.run(result)
        failed = result.testsRun - result.passed
        if failed:
            cluster.keep_logs = True
            print(f"logs: {cluster.folder}")
        print(f"{result.passed} passed, {failed} failed", flush=True)
        return 1 if failed or not result.testsRun else 0
    except build.Unavailable as reason:
        print(f"kube: skipped: {reason}\n0 passed, 0 failed, 1 skipped")
        return 0
    except KeyboardInterrupt:
        return 130
    finally:
        if cluster:
            cluster.close()


if __name__ == "__main__":
    sys.exit(main())
