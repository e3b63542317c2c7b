#!/usr/bin/env python3
"""Which pods have to be evicted, and which cards are connected.

preempt_test.py STOWAGE
"""
import itertools

from extender_cluster import main, pod, uid, wait_until
from vgpu_test import V, Vgpu, card, gpu_node, vgpu_pod

CRITICAL = 2_000_000_000


class Preempt(Vgpu):
    """H.13: two cards with one slot each, both in use."""
    ROUTE = "/scheduler/preempt"

    def setUp(self):
        super().setUp()
        self.name = self.fresh()
        self.cluster.add_nodes(gpu_node(self.name, [card(i, self.name, 12288, slots=1)
                                                    for i in range(2)], slots=2))

    def hold(self, index, name="low", priority=10, request=(1, 10, 1024), **more):
        notes = {V + "pre-allocated":
                 f"cont1[{index}_GPU-{self.name}-{index}_{request[1]}_{request[2]}]",
                 V + "predicate-node": self.name, **more.pop("annotations", {})}
        return self.cluster.add_pod(vgpu_pod(f"{self.name}-{name}-{index}", [request],
                                             priority=priority, on=self.name, annotations=notes,
                                             **more))

    def preemptor(self, request=(1, 10, 1024), priority=100, **more):
        value = self.cluster.add_pod(vgpu_pod(f"{self.name}-wants{self.fresh()}", [request],
                                              priority=priority, **more))
        wait_until("the node is full",
                   lambda: self.extender.dry_run(value, [self.name]).nodes == [])
        return value

    def ask(self, value, victims, pdb=0, form="meta"):
        answer = self.extender.preempt(value, {self.name: (victims, pdb)}, form, self.ROUTE)
        self.assertLessEqual(set(answer), {self.name})
        return answer.get(self.name)

    def test_echo(self):
        a, _ = self.hold(0), self.hold(1)
        plain = self.cluster.add_pod(pod(f"{self.name}-plain", [{}]))
        for form in ("meta", "full"):
            for value in (None, plain):
                self.assertEqual(self.ask(value, [a], 3, form), ([uid(a)], 3))
        self.assertEqual(self.extender.preempt(self.preemptor(), {}, path=self.ROUTE), {})

    def test_victim_helps(self):
        a, b = self.hold(0), self.hold(1)
        value = self.preemptor()
        for form in ("meta", "full"):
            with self.subTest(form):
                self.assertEqual(self.ask(value, [b], 1, form), ([uid(b)], 1))
        self.assertNotEqual(uid(a), uid(b))

    def test_unknown_victims(self):
        self.hold(0), self.hold(1, "other", 200)
        value = self.preemptor(priority=5)
        self.assertIsNone(self.ask(value, ["nobody"]))

    def test_daemons_stay(self):
        a, _ = self.hold(0, owner="DaemonSet"), self.hold(1, owner="DaemonSet")
        self.assertIsNone(self.ask(self.preemptor(), [a]))

    def test_another_pod_takes_the_place_of_a_daemon(self):
        a, b = self.hold(0, owner="DaemonSet"), self.hold(1)
        self.assertEqual(self.ask(self.preemptor(), [a]), ([uid(b)], 1))

    def test_pods_that_stay(self):
        group = {"scheduling.x-k8s.io/pod-group": "gang"}
        rows = (  # name, how the victim is made, of the preemptor, whether it stays
            ("ordinary", {}, {}, False), ("of a ReplicaSet", {"owner": "ReplicaSet"}, {}, False),
            ("of a StatefulSet", {"owner": "StatefulSet"}, {}, False),
            ("critical", {"priority": CRITICAL}, {}, True), ("going", {"going": True}, {}, True),
            ("mirror pod", {"annotations": {"kubernetes.io/config.mirror": "m"}}, {}, True),
            ("of the same gang", {"labels": group}, {"labels": group}, True),
            ("of another gang", {"labels": group}, {}, False))
        for name, of_victim, of_preemptor, stays in rows:
            with self.subTest(name):
                self.setUp()
                going = of_victim.pop("going", False)
                a = self.hold(0, **of_victim)
                self.hold(1, "high", 1000)
                if going:
                    self.cluster.call("DELETE", "/api/v1/namespaces/default/pods/"
                                      f"{a['metadata']['name']}?gracePeriodSeconds=3600")
                    self.assertIn("deletionTimestamp", self.cluster.pod(a)["metadata"])
                answer = self.ask(self.preemptor(**of_preemptor), [a])
                self.assertEqual(answer, None if stays else ([uid(a)], 0))

    def test_priorities(self):
        rows = ((100, 10, True), (10, 10, False), (10, 100, False))
        for ours, theirs, evictable in rows:
            with self.subTest(f"{ours} and {theirs}"):
                self.setUp()
                daemon = self.hold(0, owner="DaemonSet")
                other = self.hold(1, "other", theirs)
                answer = self.ask(self.preemptor(priority=ours), [daemon])
                self.assertEqual(answer, ([uid(other)], 1) if evictable else None)

    def test_order_of_victims(self):
        """Adds as few victims as needed: low priority first, pods without a gang first."""
        gang = {"scheduling.x-k8s.io/pod-group": "gang"}
        rows = (  # (priority, labels) of the pods, the one that goes
            ("low first", [(50, {}), (10, {})], 1),
            ("low first, the other way", [(10, {}), (50, {})], 0),
            ("no gang first", [(10, gang), (50, {})], 1),
            ("in a gang low first", [(50, gang), (10, gang)], 1))
        for name, pods, first in rows:
            with self.subTest(name):
                self.setUp()
                made = [self.hold(i, "low", priority, labels=labels)
                        for i, (priority, labels) in enumerate(pods)]
                gone = self.cluster.add_pod(vgpu_pod(f"{self.name}-gone", [None], on=self.name,
                                                     owner="DaemonSet", priority=0))
                answer = self.ask(self.preemptor(), [gone])
                self.assertEqual(answer, ([uid(made[first])], 1))

    def test_budgets(self):  # (original, kept, added) -> result
        rows = ((3, 2, 0, 2), (1, 2, 0, 1), (0, 2, 0, 0), (2, 1, 1, 2), (0, 0, 2, 2))
        for original, kept, added, result in rows:
            with self.subTest(f"{original}, {kept}, {added}"):
                self.setUp()
                made = [self.hold(i) for i in range(2)]
                given = made[:kept]
                if not given:
                    given = [self.cluster.add_pod(vgpu_pod(f"{self.name}-daemon", [None],
                                                           on=self.name, owner="DaemonSet"))]
                answer = self.ask(self.preemptor((2, 10, 1024)), given, original)
                self.assertEqual((sorted(answer[0]), answer[1]), (sorted(map(uid, made)), result))
                self.assertEqual(len(answer[0]), kept + added)

    def test_node_that_cannot_help(self):
        a, b = self.hold(0), self.hold(1)
        self.assertIsNone(self.ask(self.preemptor((3, 10, 1024)), [a, b]))


def pairs(kind, *which):
    return {pair: kind for pair in which}


def merged(first, rest, count):
    """All pairs of `count` cards: the given ones, and the others of kind `rest`."""
    links = {pair: rest(*pair) for pair in itertools.combinations(range(count), 2)}
    links.update(first)
    return links


CROSS, SAME_CPU, BRIDGE_HOST, MULTI, SINGLE = 1, 2, 3, 4, 5


def nvlinks(number):
    return 6 + number


def halves(a, b):
    return MULTI if a // 4 == b // 4 else CROSS


NEIGHBOURS = ((0, 1), (2, 3), (4, 5), (6, 7))
VOLTA = {**pairs(nvlinks(1), (0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)),
         **pairs(nvlinks(2), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7))}
MACHINES = {
    "NVSWITCH": (8, merged({}, lambda a, b: nvlinks(18), 8)),
    "DGX1": (8, merged(VOLTA, lambda a, b: CROSS, 8)),
    "BRIDGE": (8, merged(pairs(nvlinks(12), *NEIGHBOURS), halves, 8)),
    "PCIE": (8, merged(pairs(SINGLE, *NEIGHBOURS), halves, 8)),
    "no links": (4, {}),
    "no data": (4, None),
}


class Topology(Vgpu):
    def machine(self, kind, used=()):
        count, links = MACHINES[kind]
        name = self.fresh()
        self.cluster.add_nodes(gpu_node(name, [card(i, name, slots=1) for i in range(count)],
                                        links))
        for index in used:
            self.cluster.add_pod(vgpu_pod(f"{name}-{index}", [(1,)], on=name, annotations={
                V + "pre-allocated": f"cont1[{index}_GPU-{name}-{index}_100_24000]",
                V + "predicate-node": name}))
        self.cluster.wait_free({name: [(0, 0) if i in used else (100, 24000)
                                       for i in range(count)]})
        return name

    def choose(self, on, mode, cards, **notes):
        """The cards; None if refused."""
        value = self.make([(cards,)], annotations={V + "device-topology-mode": mode, **{
            V + key.replace("_", "-"): each for key, each in notes.items()}})
        answer = self.filter(value, [on])
        self.assertEqual(answer["Error"], "")
        if not answer.nodes:
            return None
        return self.allocated(value)["cont1"]

    def test_link(self):  # H.17
        two = {tuple(sorted(pair)) for pair, kind in VOLTA.items() if kind == nvlinks(2)}
        near = set(NEIGHBOURS)
        rows = (  # machine, used, mode, cards, any of these
            ("NVSWITCH", (1, 2), "link", 2, {(0, 3)}),
            ("NVSWITCH", (1, 2), "link", 4, {(0, 3, 4, 5)}),
            ("NVSWITCH", (1, 2), "link", 6, {(0, 3, 4, 5, 6, 7)}),
            ("DGX1", (), "link", 4, {(0, 1, 2, 3)}), ("DGX1", (), "link", 2, two),
            ("BRIDGE", (), "link-strict", 2, near), ("BRIDGE", (), "link-strict", 4, None),
            ("BRIDGE", (), "link", 4, {(0, 1, 2, 3)}), ("PCIE", (), "link", 2, near),
            ("PCIE", (), "link-strict", 1, None), ("PCIE", (), "link-strict", 2, None),
            ("PCIE", (), "link", 4, {(0, 1, 2, 3)}), ("no links", (), "link", 2, {(0, 1)}),
            ("no links", (), "link-strict", 2, None), ("no data", (), "link-strict", 1, None),
            ("no data", (), "link-strict", 2, None), ("no data", (), "link", 1, {(0,)}),
            ("no data", (), "link", 2, {(0, 1)}), ("NVSWITCH", (), "link", 1, {(0,)}),
            ("DGX1", (), "link", 1, {(0,)}), ("PCIE", (), "link", 1, {(0,)}),
            ("NVSWITCH", (1, 2, 3, 4, 5, 6, 7), "link-strict", 1, {(0,)}),
            ("DGX1", (), "link-strict", 2, two), ("DGX1", (), "link-strict", 4, {(0, 1, 2, 3)}),
            ("DGX1", (), "link-strict", 8, {tuple(range(8))}))
        for kind, used, mode, cards, expected in rows:
            with self.subTest(f"{kind} without {used}: {mode} {cards}"):
                found = self.choose(self.machine(kind, used), mode, cards)
                if expected is None:
                    self.assertIsNone(found)
                else:
                    self.assertIn(tuple(sorted(found or ())), expected)

    def test_link_texts(self):
        """One NVLink between two of four cards is enough for two cards, but the others have none.
        """
        for kind, fits in ((MULTI, False), (nvlinks(1), True)):
            with self.subTest(str(kind)):
                for cards in (1, 2):
                    name = self.fresh()
                    self.cluster.add_nodes(gpu_node(
                        name, [card(i, name, slots=1) for i in range(4)],
                        merged({(0, 1): kind}, lambda a, b: SAME_CPU, 4)))
                    found = self.choose(name, "link-strict", cards)
                    self.assertEqual(found is not None, fits)
                    self.assertLessEqual(set(found or ()), {0, 1})

    def test_one_after_the_other(self):
        """DGX1 Volta: each allocation leaves the best for the next.

        For two cards at a time there are several best divisions: the reference takes {0,3} {1,2}
        {4,7} {5,6}, we take the best pair first. Both have two NVLinks for each pair, and the same
        sum.
        """
        rest = {pair: SINGLE for pair in NEIGHBOURS}
        links = {pair: [kind] for pair, kind in VOLTA.items()}
        for a, b in itertools.combinations(range(8), 2):
            plain = rest.get((a, b), BRIDGE_HOST if a // 4 == b // 4 else CROSS)
            links.setdefault((a, b), []).append(plain)
        rows = (((2, 2, 2, 2, 1), [{0, 3}, {1, 2}, {4, 7}, {5, 6}]),
                ((4, 4), [{0, 1, 2, 3}, {4, 5, 6, 7}]), ((8,), [set(range(8))]))

        def worth(groups):
            scores = {nvlinks(1): 100, nvlinks(2): 200, CROSS: 10, BRIDGE_HOST: 30, SINGLE: 50}
            return sum(scores[kind] for group in groups
                       for pair in itertools.combinations(sorted(group), 2) for kind in links[pair])
        for sizes, expected in rows:
            with self.subTest(str(sizes)):
                name = self.fresh()
                self.cluster.add_nodes(gpu_node(name, [card(i, name, slots=1) for i in range(8)],
                                                links))
                found = [self.choose(name, "link", size) for size in sizes]
                if sizes[-1] == 1:
                    self.assertIsNone(found.pop())  # nothing is left
                    self.assertTrue(all(VOLTA.get(tuple(sorted(each))) == nvlinks(2)
                                        for each in found), found)
                else:
                    self.assertEqual([set(each) for each in found], expected)
                self.assertEqual(worth(found), worth(expected))

    def test_numa(self):  # H.8
        rows = (  # NUMA node of each card, mode, cards, any of these
            ((-1, -1), "numa-strict", 1, None), ((-1, 0), "numa-strict", 1, {(1,)}),
            ((-1, -1), "numa", 1, {(0,), (1,)}), ((0, 0), "numa-strict", 2, {(0, 1)}),
            ((0, 1), "numa-strict", 2, None), ((0, 1), "numa", 2, {(0, 1)}),
            ((0, 1, 1), "numa", 2, {(1, 2)}), ((0, 0, 1, 1), "numa", 1, {(0,)}),
            ((0, 0, 1, 1), "numa-strict", 1, {(0,)}), ((0, 0, 1, 1), "none", 2, {(0, 1)}))
        for numa, mode, cards, expected in rows:
            with self.subTest(f"{cards} of {numa}, {mode}"):
                name = self.fresh()
                self.cluster.add_nodes(gpu_node(name, [card(i, name, numa=each)
                                                       for i, each in enumerate(numa)]))
                found = self.choose(name, mode, cards)
                if expected is None:
                    self.assertIsNone(found)
                else:
                    self.assertIn(tuple(found or ()), expected)

    def test_policies(self):
        """The pod's own annotations, for the node and for the card."""
        row = self.fresh()
        names = self.cluster.add_nodes(*(gpu_node(f"{row}-{i}", [card(j, f"{row}-{i}")
                                                                 for j in range(2)])
                                         for i in range(2)))
        self.cluster.add_pod(vgpu_pod(f"{row}-used", [(1, 30, 6000)], on=names[1], annotations={
            V + "pre-allocated": f"cont1[1_GPU-{names[1]}-1_30_6000]",
            V + "predicate-node": names[1]}))
        self.cluster.wait_free({names[1]: [(100, 24000), (70, 18000)]})
        rows = (("none", "none", 0, 0), ("binpack", "binpack", 1, 1), ("binpack", "spread", 1, 0),
                ("spread", "binpack", 0, 0))
        for by_node, by_card, on, index in rows:
            with self.subTest(f"{by_node}, {by_card}"):
                value = self.make([(1, 10, 1000)], annotations={
                    V + "node-scheduler-policy": by_node, V + "device-scheduler-policy": by_card})
                self.assertEqual(self.filter(value, names).nodes, [names[on]])
                self.assertEqual(self.allocated(value), {"cont1": [index]})
                self.cluster.delete_pod(value)
                self.cluster.wait_free({names[0]: [(100, 24000)] * 2,
                                        names[1]: [(100, 24000), (70, 18000)]})
        value = self.make([(1, 10, 1000)], annotations={V + "node-scheduler-policy": "sideways"})
        self.assertIn("sideways", self.filter(value, names)["Error"])


if __name__ == "__main__":
    main()
