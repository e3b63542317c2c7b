#!/usr/bin/env python3
"""Alnair: GiB of one card. nvidia-gpu-scheduler: whole cards of a model, counted.

    counted_test.py STOWAGE
"""
import time

from extender_cluster import Case, inventory, main, node, pod, uid, wait_until

MEMORY = "alnair/vgpu-memory"
HELD = "stowage.dev/pre-allocated-node"


class Alnair(Case):
    CONFIG = """
extenders:
- {preset: alnair, listen: "127.0.0.1:0"}
- {preset: stowage, listen: "127.0.0.1:0", mode: bind}
"""

    def setUp(self):
        self.extender = self.cluster.extender("alnair")

    def make_node(self, name, chunks, used=(), key="virtual-gpu-count"):
        """Cards of these sizes in GiB. Pods there name the chunks that their agent gave them."""
        ids = [f"GPU-{name}-{i}" for i in range(len(chunks))]
        self.cluster.add_nodes(node(name, {MEMORY: sum(chunks)} if chunks else {}, {
            "ai.centaurus.io/physical-gpu-count": str(len(chunks)),
            "ai.centaurus.io/physical-gpu-uuids": ",".join(ids),
            f"ai.centaurus.io/{key}": ",".join(map(str, chunks))} if chunks else {}))
        for card, amount in enumerate(used):
            if amount:
                given = ",".join(f"{ids[card]}_{i}" for i in range(amount))
                self.cluster.add_pod(pod(f"{name}-{card}", [{MEMORY: amount}], on=name,
                                         annotations={"ai.centaurus.io/alnair-gpu-id": given}))
        self.cluster.wait_free({name: [(100, 1024 * (total - taken)) for total, taken in
                                       zip(chunks, list(used) + [0] * len(chunks))]})
        return name

    def make_pod(self, amounts, policy=None):
        return self.cluster.add_pod(pod(f"{self.fresh()}-p",
                                        [{MEMORY: n} if n else {} for n in amounts],
                                        annotations=policy and {"stowage.dev/policy": policy}))

    def test_filter(self):
        rows = (  # F.2: chunks, used, containers, card
            ("first card", (16, 16), (0, 0), (4,), 0),
            ("second card, the first is nearly full", (16, 16), (13, 0), (4,), 1),
            ("larger than the card", (16,), (0,), (17,), None),
            ("two containers that fill a card", (16,), (0,), (8, 8), 0),
            ("two containers that are more than a card", (16,), (0,), (8, 9), None),
            ("both cards nearly full: the original counts nothing", (16, 16), (13, 13), (4,), None),
            ("cards of two sizes: the original takes the first for all", (8, 16), (), (12,), 1))
        for key in ("virtual-gpu-count", "vitual-gpu-count"):  # the second is what its agent writes
            for name, chunks, used, amounts, card in rows:
                with self.subTest(f"{name}, {key}"):
                    on = self.make_node(self.fresh(), chunks, used, key)
                    before = self.cluster.free(on)[on]
                    answer = self.extender.filter(self.make_pod(amounts), [on])
                    self.assertEqual(answer.nodes, [] if card is None else [on])
                    if card is not None:
                        before[card] = (100, before[card][1] - 1024 * sum(amounts))
                    self.assertEqual(self.cluster.free(on)[on], before)

    def test_node_without_cards(self):
        on = self.make_node(self.fresh(), ())
        answer = self.extender.filter(self.make_pod((4,)), [on])
        self.assertEqual((answer.nodes, answer.failed), ([], {on: "node(s) had no GPU"}))
        # High performance refuses pods without GPUs in the original.
        self.assertEqual(self.extender.filter(self.make_pod((0,), "spread"), [on]).nodes, [on])

    def test_bind(self):
        on = self.make_node(self.fresh(), (16, 16), (13, 0))
        value = self.make_pod((2, 2))
        self.assertEqual(self.extender.filter(value, [on]).nodes, [on])
        self.assertNotIn("ai.centaurus.io/scheduler-timestamp", self.annotations(value))
        self.assertEqual(self.extender.bind(value, on), "")
        self.assertTrue(self.annotations(value)["ai.centaurus.io/scheduler-timestamp"].isdigit())
        self.assertEqual(self.indexes(value), {"c0": [1], "c1": [1]})
        self.cluster.wait_free({on: [(100, 3 * 1024), (100, 12 * 1024)]})

    def test_ids_of_two_cards(self):
        """"U_0,V_0" is two chunks; the original counts one."""
        name = self.fresh()
        self.make_node(name, (16, 16))
        self.cluster.add_pod(pod(f"{name}-odd", [{MEMORY: 2}], on=name, annotations={
            "ai.centaurus.io/alnair-gpu-id": f"GPU-{name}-0_0,GPU-{name}-1_0"}))
        whole = self.make_pod((16,))
        wait_until("it counts", lambda: self.extender.dry_run(whole, [name]).nodes == [])

    def test_order_of_nodes(self):
        rows = (  # F.3, F.4: GiB in use, the order for cost saving; the reverse is high performance
            ("three nodes", (4, 10, 0), (1, 0, 2)), ("two nodes", (3, 7), (1, 0)))
        for name, used, order in rows:
            for policy, expected in (("binpack", order), ("spread", order[::-1])):
                with self.subTest(f"{name}, {policy}"):
                    row = self.fresh()
                    names = [self.make_node(f"{row}-{i}", (16,), (n,)) for i, n in enumerate(used)]
                    # In the original, a pod without such a limit makes the score of its node 0.
                    self.cluster.add_pod(pod(f"{row}-daemon", [{}], on=names[order[0]]))
                    scores = self.extender.scores(self.make_pod((4,), policy), names)
                    self.assertEqual(sorted(names, key=lambda n: -scores[n]),
                                     [names[i] for i in expected])
                    self.assertEqual(max(scores.values()), 10)
        row = self.fresh()
        for number, used in enumerate((0, 5)):
            names = [self.make_node(f"{row}-{number}{i}", (16,), (used,)) for i in range(2)]
            self.assertEqual(set(self.extender.scores(self.make_pod((4,)), names).values()), {10})

    def test_refused(self):
        on = self.make_node(self.fresh(), (16,))
        value = self.cluster.add_pod(pod(f"{on}-c", [{"alnair/vgpu-compute": 50}]))
        answer = self.cluster.extender("stowage").filter(value, [on])
        self.assertIn("alnair/vgpu-memory", answer["Error"])


class Counted(Case):
    CONFIG = """
extenders:
- {preset: nvidia-gpu-scheduler, listen: "127.0.0.1:0", holdSeconds: 1}
- {preset: nvidia-gpu-scheduler, name: short, listen: "127.0.0.1:0", bindTimeoutSeconds: 2}
"""
    ROUTES = "/apis/metrics.nvidia.com/v1alpha1/schedule/"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.extender = cls.cluster.extender("nvidia-gpu-scheduler")

    def setUp(self):
        row = self.fresh()
        t4, a100 = "Tesla T4", "A100"
        cards = {"n1": [("g1", t4), ("g2", t4), ("g3", t4)],
                 "n2": [("h1", t4), ("h2", t4), ("h3", a100)], "n3": [("k1", a100)],
                 "n4": [("m1", t4, "sick")]}
        self.names = [f"{row}-{n}" for n in ("n1", "n2", "n3", "n4", "n5")]
        self.cluster.add_nodes(*(
            node(f"{row}-{name}", {"nvidia.com/gpu": len(each)},
                 inventory([(f"{row}-{card[0]}", card[1], 16384, *card[2:]) for card in each]))
            for name, each in cards.items()))  # n5 is unknown
        self.busy = self.cluster.add_pod(pod(f"{row}-busy", [{"nvidia.com/gpu": 1}],
                                             on=self.names[0], priority=0))
        probe = self.make_pod(3)
        wait_until("one card is in use",
                   lambda: self.extender.dry_run(probe, self.names[:1]).nodes == [])

    def make_pod(self, cards, model="Tesla T4", containers=1, **more):
        return self.cluster.add_pod(pod(
            f"{self.fresh()}-p", [{"nvidia.com/gpu": cards} if cards else {}] * containers,
            annotations={"nvidia.com/gpu.model": model} if model else {}, **more))

    def filter(self, value, names=None):
        answer = self.extender.filter(value, names or self.names, self.ROUTES + "filter")
        self.assertEqual(answer["Error"], "")
        return [name[-2:] for name in answer.nodes]

    def test_table(self):
        rows = (
            ("no model", None, 1, ["n1", "n2", "n3", "n4", "n5"]),
            ("a model", "Tesla T4", 1, ["n1", "n2"]),
            ("letters do not matter", " tesla t4 ", 1, ["n1", "n2"]),
            ("more than are free", "Tesla T4", 3, []),
            ("two of one model", "Tesla T4", 2, ["n1", "n2"]),
            ("the whole name", "T4", 1, []),
            ("another model", "A100", 1, ["n2", "n3"]))
        for name, model, cards, expected in rows:
            with self.subTest(name):
                self.setUp()
                value = self.make_pod(cards, model)
                self.assertEqual(self.filter(value), expected)
                self.assertEqual(self.annotations(value).get("stowage.dev/gpus"), None)

    def test_no_cards_pass(self):
        # The original keeps only nodes of the model; a pod without cards is passed.
        self.assertEqual(len(self.filter(self.make_pod(0))), 5)

    def test_containers_are_added_up(self):
        self.assertEqual(self.filter(self.make_pod(1, containers=2)), ["n1", "n2"])
        self.assertEqual(self.filter(self.make_pod(2, containers=2)), [])

    def test_scores(self):
        route = self.ROUTES + "prioritize"
        scores = self.extender.scores(self.make_pod(1), self.names, route)
        self.assertEqual([scores[n] for n in self.names], [10, 10, 0, 0, 0])  # 2 and 2 are free
        self.assertEqual(set(self.extender.scores(self.make_pod(1, None), self.names,
                                                  route).values()), {0})
        self.setUp()  # prioritize holds cards, so use other nodes
        # One card less is free on the second node: the first is better.
        self.cluster.add_pod(pod(f"{self.names[1]}-more", [{"nvidia.com/gpu": 1}],
                                 on=self.names[1],
                                 annotations={"nvidia.com/gpu.model": "Tesla T4"}))
        two = self.make_pod(2)
        wait_until("it counts",
                   lambda: self.extender.dry_run(two, self.names[1:2]).nodes == [])
        scores = self.extender.scores(self.make_pod(1), self.names[:2], route)
        self.assertEqual(scores[self.names[0]], 10)
        self.assertLess(scores[self.names[1]], 10)

    def test_every_failure_has_a_reason(self):  # the original is silent
        answer = self.extender.filter(self.make_pod(1), self.names, self.ROUTES + "filter")
        self.assertEqual({name[-2:]: why for name, why in answer.failed.items()},
                         {"n3": "GPU model mismatch", "n4": "GPU unhealthy or cordoned",
                          "n5": "node is not known to Stowage yet"})

    def test_preempt(self):
        """The original never removes the victims in its check: a full node is always dropped."""
        low = [self.cluster.add_pod(pod(f"{self.names[0]}-low{i}", [{"nvidia.com/gpu": 1}],
                                        on=self.names[0], priority=0)) for i in range(2)]
        value = self.make_pod(1, priority=100)
        wait_until("the node is full",
                   lambda: self.extender.dry_run(value, self.names[:1]).nodes == [])
        victims = {self.names[0]: ([low[0]], 0), self.names[2]: ([low[1]], 0)}
        answer = self.extender.preempt(value, victims, path=self.ROUTES + "preempt")
        self.assertEqual(answer, {self.names[0]: ([uid(low[0])], 0)})

    def test_one_of_two_pods_deleted(self):  # the original forgets both
        more = self.cluster.add_pod(pod(f"{self.names[0]}-more", [{"nvidia.com/gpu": 1}],
                                        on=self.names[0]))
        two = self.make_pod(2)
        wait_until("both count",
                   lambda: self.extender.dry_run(two, self.names[:1]).nodes == [])
        self.cluster.delete_pod(more)
        wait_until("one counts",
                   lambda: self.extender.dry_run(two, self.names[:1]).nodes != [])
        three = self.make_pod(3)
        self.assertEqual(self.extender.dry_run(three, self.names[:1]).nodes, [])

    def fits(self, value):
        return self.extender.dry_run(value, self.names[:1]).nodes != []

    def test_cards_are_kept_while_their_pod_may_be_bound(self):
        first, other = self.make_pod(2), self.make_pod(1)
        self.assertEqual(self.filter(first, self.names[:1]), ["n1"])
        self.extender.scores(first, self.names[:1], self.ROUTES + "prioritize")
        time.sleep(2.5)
        self.assertFalse(self.fits(other), "kube-scheduler may wait for volumes")
        self.assertEqual(self.annotations(first).get(HELD), self.names[0], "for the next leader")
        self.assertIn(":promise:", self.annotations(first)["stowage.dev/signature"])
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
        self.cluster.set_status(first, {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "SchedulerError",
             "message": "timed out", "lastTransitionTime": when}]})
        wait_until("it was given up", lambda: self.fits(other))
        self.assertNotIn(HELD, self.annotations(first))

    def test_cards_are_given_to_others_when_the_pod_is_not_bound(self):
        first, other = self.make_pod(2), self.make_pod(1)
        short = self.cluster.extender("short")
        self.assertNotEqual(short.filter(first, self.names[:1], self.ROUTES + "filter").nodes, [])
        self.assertFalse(self.fits(other))
        wait_until("the time is over", lambda: self.fits(other))
        self.assertNotIn(HELD, self.annotations(first))

    def test_the_node_on_the_pod_follows_the_scores(self):
        value = self.make_pod(1)
        self.assertEqual(self.filter(value, self.names[:2]), ["n1", "n2"])
        first = self.annotations(value)[HELD]
        other = next(name for name in self.names[:2] if name != first)
        # Another extender has dropped the node meanwhile.
        self.extender.scores(value, [other], self.ROUTES + "prioritize")
        self.assertEqual(self.annotations(value)[HELD], other)


if __name__ == "__main__":
    main()
