"""What all cases share: a cluster, a scheduler, a namespace, and a line in the report."""
import time
import unittest

from api import wait_until
from objects import CARD_MIB, GPUS, condition, node_of, wrong_cards


class Case(unittest.TestCase):
    """One case: its own namespace, no nodes, and a scheduler that was just started."""

    cluster = None
    subject = None
    count = 0
    starts_subject = True
    needs_cards = False

    def setUp(self):
        if self.needs_cards and not self.subject.chooses_cards:
            self.skipTest("kube-scheduler does not choose cards")
        self.cluster.healthy()
        self.api = self.cluster.api
        Case.count += 1
        self.namespace = f"case-{Case.count}"
        self.pods = f"/api/v1/namespaces/{self.namespace}/pods"
        self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.addCleanup(self.clear)
        if self.starts_subject:
            self.subject.start()

    def clear(self):
        self.subject.discard()
        self.cluster.healthy()
        self.api.delete(self.pods)
        self.api.delete("/api/v1/nodes")

    def add_nodes(self, *nodes):
        for value in nodes:
            self.api.create("/api/v1/nodes", value)

    def add(self, *pods):
        return [self.api.create(self.pods, value) for value in pods]

    def pod(self, name):
        return self.api.get(f"{self.pods}/{name}")

    def watch_pods(self):
        version = self.api.get(self.pods)["metadata"]["resourceVersion"]
        watch = self.api.watch(self.pods, version)
        self.addCleanup(watch.stop)
        return watch

    def bound(self, name, timeout=30):
        """The pod once it has a node."""
        def has_node():
            value = self.pod(name)
            return value if node_of(value) else None
        return wait_until(f"{name} is bound", has_node, timeout,
                          details=lambda: f"condition {condition(self.pod(name))}")

    def all_bound(self, count, timeout=60):
        def left():
            return [value for value in self.api.list(self.pods) if not node_of(value)]
        wait_until(f"all {count} pods are bound", lambda: not left(), timeout, every=0.2,
                   details=lambda: f"{len(left())} are not, the first: {condition(left()[0])}")
        pods = self.api.list(self.pods)
        self.assertEqual(len(pods), count)
        return pods

    def refused(self, name, reasons=("Unschedulable",), timeout=30):
        """The message of the condition, once the pod is reported as not scheduled for this reason.
        """
        def message():
            value = self.pod(name)
            self.assertFalse(node_of(value), f"{name} is bound")
            state = condition(value)
            return state["message"] if state.get("reason") in reasons else None
        return wait_until(f"{name} is refused", message, timeout,
                          details=lambda: f"condition {condition(self.pod(name))}")

    def events(self, name, reason):
        every = self.api.list(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
        return [value for value in every
                if value["regarding"].get("name") == name and value["reason"] == reason]

    def check_cards(self, pods, cards=8, card_mib=CARD_MIB):
        if self.subject.chooses_cards:
            self.assertEqual(wrong_cards(pods, cards, card_mib), [])


def bindings(watch):
    """Pod -> list of the distinct (node, cards) that a watch has shown, in order."""
    seen = {}
    for _, value in list(watch.events):
        state = (node_of(value), value["metadata"].get("annotations", {}).get(GPUS))
        states = seen.setdefault(value["metadata"]["name"], [])
        if not states or states[-1] != state:
            states.append(state)
    return seen


class Lines(unittest.TestResult):
    """One line per case; failures at once, with the end of the scheduler's log."""

    passed = 0

    def startTest(self, test):
        super().startTest(test)
        self.start = time.monotonic()
        self.before = len(self.failures), len(self.errors), len(self.skipped)

    def stopTest(self, test):
        super().stopTest(test)
        took = time.monotonic() - self.start
        name = f"{type(test).__name__}: {test._testMethodName[5:].replace('_', ' ')}"
        failures, errors, skipped = self.before
        wrong = self.failures[failures:] + self.errors[errors:]
        if wrong:
            print(f"FAIL  {name} ({took:.1f} s)", flush=True)
            for case, text in wrong:
                print("      " + (f"{case}\n{text}").strip().replace("\n", "\n      "), flush=True)
        elif len(self.skipped) > skipped:
            print(f"skip  {name}: {self.skipped[-1][1]}", flush=True)
        else:
            self.passed += 1
            print(f"ok    {name} ({took:.1f} s)", flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.add_log(test, self.failures)

    def addError(self, test, err):
        super().addError(test, err)
        self.add_log(test, self.errors)

    def add_log(self, test, where):
        log = test.subject.tail()
        if log:
            case, text = where[-1]
            where[-1] = (case, f"{text}\nthe scheduler's log ends with:\n{log}")
