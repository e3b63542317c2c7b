#!/usr/bin/env python3
"""Does each container get exactly the cards that the controller decided? With the real kubelet.

Usage: agent_test.py [--runtime recorder|containerd] [-k WORD]...

One node with the agent's device plugin; the judge (world.py) compares every container that the
kubelet asks its runtime for with the decision for its pod. The last line counts; exit code 1 if a
case failed.
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
from api import ApiError, wait_until  # noqa: E402
from case import Lines  # noqa: E402
from node import container, poke  # noqa: E402
from objects import GPUS, node_of  # noqa: E402
from world import ATTACHMENT, CARDS, Judge, World  # noqa: E402
from world import for_init, has_plugin, pod, share, whole  # noqa: E402



class Exact(unittest.TestCase):
    world = None
    subject = None
    count = 0

    def setUp(self):
        Exact.count += 1
        self.api = self.world.api
        self.judge = self.world.judge
        self.node = self.world.node
        self.namespace = f"exact-{Exact.count}"
        self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.pods = f"/api/v1/namespaces/{self.namespace}/pods"
        self.addCleanup(self.clear)

    def clear(self):
        if not self.node.kubelet.alive:
            self.node.start_kubelet()
        if not self.world.agent.process.alive:
            self.world.agent.start()
        self.api.delete(self.pods)
        self.world.agent.registered()
        self.judge.look()
        wrong, self.judge.wrong = self.judge.wrong, []
        self.assertEqual(wrong, [])

    def add(self, value):
        return self.world.add(self.namespace, value)

    def object(self, name):
        return self.api.get(f"{self.pods}/{name}")

    def seen(self, name):
        return json.dumps(self.object(name)["status"])[-1500:]

    def ready(self, *names, timeout=40):
        def holds(name):
            return any(entry["type"] == "Ready" and entry["status"] == "True"
                       for entry in self.object(name)["status"].get("conditions", ()))
        for name in names:
            wait_until(f"{name} is ready", lambda one=name: holds(one), timeout,
                       details=lambda one=name: self.seen(one))
        self.judge.look()

    def bound(self, name):
        wait_until(f"{name} is bound", lambda: node_of(self.object(name)),
                   details=lambda: self.seen(name))

    def created(self, name, member=None):
        self.judge.look()
        return [event for event in self.node.created(name, member)
                if event["namespace"] == self.namespace and not event.get("error")]

    def cards(self, name, member):
        return self.judge.cards_in(self.created(name, member)[-1])

    def message(self, name, word, timeout=60):
        """Waits for an event about the pod that has the word; returns its text."""
        def found():
            every = self.api.list(f"/api/v1/namespaces/{self.namespace}/events")
            texts = [value["message"] for value in every
                     if value["involvedObject"].get("name") == name]
            return next((text for text in texts if word in text), None)
        return wait_until(f"an event of {name} says {word}", found, timeout, every=0.2,
                          details=lambda: self.seen(name))

    def test_shares_and_whole_cards(self):
        self.add(pod("two", container("a", share(40, 20000)), container("b", share(30, 10000)),
                     container("none")))
        self.add(pod("whole", container("a", whole(2))))
        self.ready("two", "whole")
        self.assertEqual(len(self.cards("two", "a")), 1)
        self.assertEqual(len(self.cards("whole", "a")), 2)
        self.assertEqual(self.cards("two", "none"), [])

    def test_equal_pods_that_arrive_together(self):
        names = [f"p{index}" for index in range(8)]
        for name in names:
            self.add(pod(name, container("main", whole())))
        self.ready(*names)
        given = sum((self.cards(name, "main") for name in names), [])
        self.assertEqual(len(set(given)), 8)

    def test_init_containers_and_sidecars(self):
        self.add(pod("mixed", container("main", share(20, 4000)), init=[
            container("first", for_init(share(20, 4000), 1), life=0.2),
            container("second", for_init(share(20, 4000), 2), life=0.2),
            container("side", share(10, 2000), restartPolicy="Always")]))
        self.ready("mixed")
        for name in ("first", "second", "side", "main"):
            self.assertEqual(len(self.cards("mixed", name)), 1)

    def test_restarted_containers_keep_their_cards(self):
        self.add(pod("again", container("main", share(30, 4000), life=0.3, code=1)))
        for count in (1, 2, 3):
            def again():
                poke(self.api, f"{self.pods}/again")
                return len(self.created("again")) >= count
            wait_until(f"made {count} times", again, every=0.5, details=lambda: self.seen("again"))
        self.assertEqual(len({tuple(self.judge.cards_in(event))
                              for event in self.created("again")}), 1)

    def test_environment_of_the_pod_does_not_win(self):
        self.add(pod("greedy", container("main", share(10, 2000), env=[
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])))
        self.ready("greedy")

    def test_an_agent_that_was_killed_comes_back(self):
        self.add(pod("before", container("main", whole())))
        self.ready("before")
        self.world.restart_agent()
        begin = time.monotonic()
        self.world.agent.registered()
        took = time.monotonic() - begin
        self.add(pod("after", container("main", whole())))
        self.ready("after")
        self.assertNotEqual(self.cards("before", "main"), self.cards("after", "main"))
        print(f"      registered again {took:.2f} s after its start")

    def test_a_kubelet_that_was_killed_comes_back(self):
        self.add(pod("before", container("main", whole())))
        self.ready("before")
        made = len(self.created("before"))
        self.world.restart_kubelet()
        self.world.agent.registered()
        self.add(pod("after", container("main", whole())))
        self.ready("after")
        self.assertEqual(len(self.created("before")), made)

    def test_a_container_that_ends_before_the_agent_is_back(self):
        """A new kubelet does not call PreStartContainer until the plugin has registered."""
        self.add(pod("crash", container("main", share(10, 2000))))
        self.ready("crash")
        self.node.kubelet.kill()
        self.world.agent.kill()
        self.node.start_kubelet()
        started = self.node.events("start", "crash")[-1]
        self.node.runtime.end(started, 1)
        def again():
            poke(self.api, f"{self.pods}/crash")
            return len(self.created("crash")) == 2
        wait_until("it was made again", again, every=0.5, details=lambda: self.seen("crash"))
        self.world.agent.start()
        self.world.agent.registered()

    def test_a_pod_that_is_bound_while_no_plugin_is_registered(self):
        """It fails for good, or waits until the agent is back; it never starts without its cards.
        Those of a failed pod are free at once."""
        self.world.agent.kill()
        self.add(pod("gap", container("main", whole(CARDS))))
        time.sleep(3)
        self.world.agent.start()
        self.world.agent.registered()
        def failed():
            return self.object("gap")["status"].get("reason") == "UnexpectedAdmissionError"
        wait_until("it runs or has failed", lambda: failed() or self.created("gap"),
                   details=lambda: self.seen("gap"))
        if not failed():
            print("      it waited")
            return
        begin = time.monotonic()
        self.add(pod("next", container("main", whole(CARDS))))
        self.bound("next")
        print(f"      it failed; the next pod got its cards after {time.monotonic() - begin:.2f} s")
        self.ready("next")

    def test_no_pod_is_bound_while_the_agent_is_replaced(self):
        """As in an upgrade: the agent that ends says so, and its node gets no pods with cards."""
        self.world.agent.registered()
        wait_until("it reports", lambda: "reporting controller=" in self.world.agent.said())
        time.sleep(1)
        self.world.agent.stop()
        self.add(pod("waits", container("main", whole())))
        self.add(pod("needs-none", container("main")))
        self.ready("needs-none")
        time.sleep(2)
        self.assertFalse(node_of(self.object("waits")), self.seen("waits"))
        self.world.agent.start()
        self.ready("waits")

    def test_sockets_that_are_removed(self):
        self.world.remove_sockets()
        time.sleep(1)
        self.world.agent.registered()
        self.add(pod("one", container("main", whole())))
        self.ready("one")

    def test_a_pod_without_a_decision_does_not_start(self):
        value = pod("wild", container("main", {ATTACHMENT: 1}))
        value["spec"]["nodeName"] = self.node.name
        self.add(value)
        text = self.message("wild", "PreStartContainer")
        self.assertEqual(self.created("wild"), [])
        print(f"      {text}")

    def test_an_edited_annotation_changes_nothing(self):
        """Edited as soon as the pod is bound: it starts with its own card, or not at all."""
        self.node.runtime.fail_next("main", "create", 1)
        self.add(pod("edited", container("main", whole())))
        self.bound("edited")
        text = json.loads(self.object("edited")["metadata"]["annotations"][GPUS])
        self.name_other_card(text)
        self.api.patch(f"{self.pods}/edited", {"metadata": {"annotations": {
            GPUS: json.dumps(text)}}})
        def over():
            poke(self.api, f"{self.pods}/edited")
            every = self.api.list(f"/api/v1/namespaces/{self.namespace}/events")
            return self.created("edited") or any("PreStartContainer" in value["message"]
                                                 for value in every)
        wait_until("it was made, or refused", over, every=0.5, details=lambda: self.seen("edited"))

    def name_other_card(self, decision):
        card = decision["containers"]["main"][0]
        other = next(one for one in self.world.cards if one.uuid != card["id"])
        card.update(id=other.uuid, index=other.index)

    def test_a_decision_is_good_for_its_pod_alone(self):
        """Forged, or copied from a pod that has cards: no container of such a pod starts."""
        self.add(pod("honest", container("main", whole())))
        self.ready("honest")
        signed = {name: text for name, text in
                  self.object("honest")["metadata"]["annotations"].items()
                  if name.startswith("stowage.dev/")}
        decision = json.loads(signed[GPUS])
        self.name_other_card(decision)
        for name, annotations in (("copy", signed),
                                  ("forged", {**signed, GPUS: json.dumps(decision)}),
                                  ("unsigned", {GPUS: signed[GPUS]})):
            value = pod(name, container("main", {ATTACHMENT: 1}))
            value["spec"]["nodeName"] = self.node.name
            value["metadata"]["annotations"] = annotations
            self.add(value)
            print(f"      {name}: {self.message(name, 'PreStartContainer').split('desc = ')[-1]}")
            self.assertEqual(self.created(name), [])

    def test_the_judge_finds_swapped_answers(self):
        """Of two pods with different cards, each is shown the other's decision."""
        for name in ("left", "right"):
            self.add(pod(name, container("main", whole())))
        self.ready("left", "right")
        uids = [self.object(name)["metadata"]["uid"] for name in ("left", "right")]
        first = self.world.decisions.first
        swapped = Judge(self.node, Swapped(first, *uids), self.world.cards)
        swapped.look()
        self.assertEqual(len(swapped.wrong), 2, swapped.wrong)

    def test_a_pod_of_the_same_name_gets_cards_of_its_own(self):
        for _ in range(3):
            self.add(pod("twin", container("main", share(50, 30000))))
            self.ready("twin")
            self.world.delete(f"{self.pods}/twin")
            wait_until("it is gone", lambda: self.api.gone(f"{self.pods}/twin"))

    def test_the_api_server_is_away_while_containers_restart(self):
        self.add(pod("crash", container("main", share(10, 2000), life=0.5, code=1)))
        wait_until("it was made", lambda: self.created("crash"))
        self.world.cluster.processes["kube-apiserver"].kill()
        made = len(self.created("crash"))
        wait_until("it was made again", lambda: len(self.created("crash")) > made, timeout=40)
        self.world.cluster.healthy()


class Swapped:
    """The decisions, with those of two pods exchanged."""

    def __init__(self, decisions, left, right):
        self.decisions = {**decisions, left: decisions[right], right: decisions[left]}

    def of(self, uid):
        return self.decisions[uid]


def run(world, words):
    suite = unittest.TestSuite()
    for test in unittest.defaultTestLoader.loadTestsFromTestCase(Exact):
        if not words or any(word in test.id() for word in words):
            suite.addTest(test)
    result = Lines()
    suite.run(result)
    failed = result.testsRun - result.passed - len(result.skipped)
    if failed:
        world.cluster.keep_logs = True
        print(f"logs: {world.cluster.folder}")
    print(f"node: {dict(world.judge.counts)} {dict(world.judge.errors) or ''}")
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped", flush=True)
    return 1 if failed or not result.testsRun else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runtime", choices=["recorder", "containerd"], default="recorder")
    parser.add_argument("-k", dest="words", action="append", default=[])
    arguments = parser.parse_args()
    build.end_cleanly_on_signals()
    world = None
    try:
        if not has_plugin():
            raise build.Unavailable("the program under test has no device plugin")
        world = World(arguments.runtime)
        Exact.world = Exact.subject = world
        return run(world, arguments.words)
    except build.Unavailable as reason:
        print(f"node: skipped: {reason}\n0 passed, 0 failed, 1 skipped")
        return 0
    except (build.BuildFailed, FileNotFoundError) as reason:
        print(f"node: {reason}")
        return 1
    except (AssertionError, ApiError) as reason:
        print(f"node: the node does not start: {reason}")
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if world:
            world.close()


if __name__ == "__main__":
    sys.exit(main())
