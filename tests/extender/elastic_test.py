#!/usr/bin/env python3
"""elastic-gpu-scheduler and its predecessor: cards, order of nodes, annotations, answers.

    elastic_test.py STOWAGE
"""
import json

from extender_cluster import Case, main, node, pod, uid

PRESETS = """
extenders:
- {preset: elastic-gpu-scheduler, listen: "127.0.0.1:0"}
- {preset: elastic-gpu-scheduler, name: floor, listen: "127.0.0.1:0", floorWholeCards: true}
- {preset: stowage, listen: "127.0.0.1:0", mode: bind}
"""
PERCENT = "nano-gpu/gpu-percent"


class Nano(Case):
    """One percent resource; cards by container name."""
    CONFIG = PRESETS

    def setUp(self):
        self.extender = self.cluster.extender("stowage")

    def make_node(self, name, free):
        """A node with this much left on each card; its pods have the old annotations."""
        self.cluster.add_nodes(node(name, {PERCENT: 100 * len(free)}))
        for card, left in enumerate(free):
            if left < 100:
                self.cluster.add_pod(pod(
                    f"{name}-{card}", [{PERCENT: 100 - left}], on=name,
                    annotations={"nano-gpu/assume": "true", "nano-gpu/container-c0": str(card)},
                    labels={"nano-gpu/assume": "true"}))
        self.cluster.wait_free({name: [(left, 0) for left in free]})
        return name

    def make_pod(self, demand, policy):
        return self.cluster.add_pod(pod(
            f"{self.fresh()}-p", [{PERCENT: each} if each else {} for each in demand],
            annotations={"stowage.dev/policy": policy}))

    C3 = (  # free per card, demand, binpack, spread: the card of each container, -1 for none
        ((100, 100), (20, 40), (0, 0), (0, 1)),
        ((20, 100), (20, 40), (0, 1), (1, 1)),
        ((10, 100), (20, 40), (1, 1), (1, 1)),
        ((100, 100), (0, 40, 40), (-1, 0, 0), (-1, 0, 1)),
        ((10, 50), (20, 40), None, None),
        ((100, 100, 100), (50, 50, 50), (1, 0, 0), (0, 1, 2)),
        ((60, 40, 80), (40, 30), (1, 0), (2, 0)),
        ((50, 50), (50, 50, 10), None, None),
        ((99,), (100,), None, None))
    C2 = (  # free per card, demand, whether it fits at all
        ((100, 100), (50, 50), True), ((100,), (50, 50), True), ((100,), (50, 60), False),
        ((100, 100), (100, 10), True))

    def rows(self):
        for free, demand, binpack, spread in self.C3:
            for policy, cards in (("binpack", binpack), ("spread", spread)):
                yield f"{policy} {demand} on {free}", free, demand, policy, cards

    @staticmethod
    def left(free, demand, cards):
        return [(f - sum(d for d, c in zip(demand, cards) if c == i), 0)
                for i, f in enumerate(free)]

    def test_amount_taken_from_each_card(self):
        """What filter already holds. Containers with equal demands may be exchanged."""
        for name, free, demand, policy, cards in self.rows():
            with self.subTest(name):
                on = self.make_node(self.fresh(), free)
                answer = self.extender.filter(self.make_pod(demand, policy), [on])
                self.assertEqual(answer.nodes, [on] if cards else [])
                found = self.cluster.free(on)[on]
                expected = self.left(free, demand, cards) if cards else [(f, 0) for f in free]
                if len(set(demand) - {0}) > 1:
                    self.assertEqual(found, expected)
                self.assertEqual(sorted(found), sorted(expected))

    def test_cards_of_containers(self):
        for name, free, demand, policy, cards in self.rows():
            if not cards:
                continue
            with self.subTest(name):
                on = self.make_node(self.fresh(), free)
                value = self.make_pod(demand, policy)
                self.assertEqual(self.extender.filter(value, [on]).nodes, [on])
                self.assertEqual(self.extender.bind(value, on), "")
                notes = self.annotations(value)
                self.assertEqual(
                    [int(notes.get(f"nano-gpu/container-c{i}", -1)) for i in range(len(demand))],
                    list(cards))
                self.assertEqual(notes["nano-gpu/assume"], "true")
                self.assertEqual(self.labels(value)["nano-gpu/assume"], "true")

    def test_cards_read_back(self):  # C.5
        rows = (  # demand, cards, cards that are still free
            ((100, 100), (0, 1), {2}), ((100, 50, 50), (1, 0, 0), {2}),
            ((50, 100), (0, 0), {1, 2}), ((100, 100), (0, 0), {1, 2}))  # more than there is
        for demand, cards, free in rows:
            with self.subTest(f"{demand} on {cards}"):
                on = self.make_node(self.fresh(), (100, 100, 100))
                self.cluster.add_pod(pod(f"{on}-there", [{PERCENT: each} for each in demand], on=on,
                                         annotations={"nano-gpu/assume": "true", **{
                                             f"nano-gpu/container-c{i}": str(each)
                                             for i, each in enumerate(cards)}}))
                self.cluster.wait_free({on: [(100 if i in free else 0, 0) for i in range(3)]})

    def test_whether_it_fits(self):
        for free, demand, fits in self.C2:
            with self.subTest(f"{demand} on {free}"):
                on = self.make_node(self.fresh(), free)
                answer = self.extender.filter(self.make_pod(demand, "binpack"), [on])
                self.assertEqual(answer.nodes, [on] if fits else [])
                self.assertEqual(list(answer.failed), [] if fits else [on])

    def test_order_of_nodes(self):
        rows = (  # C.4: policy, the better node, the worse one
            ("binpack", (20, 40), (30, 50)), ("binpack", (20, 40), (90,)),
            ("binpack", (30, 50), (100, 50)), ("binpack", (100, 50), (100,)),
            ("binpack", (90,), (100, 100)), ("binpack", (50, 40), (50, 50)),
            ("spread", (30, 50), (20, 40)), ("spread", (100,) * 8, (50, 50)),
            ("spread", (100, 100), (100, 50)), ("spread", (90,), (50, 40)),
            ("spread", (100,), (50, 50)), ("spread", (100, 50), (100,)))
        for policy, better, worse in rows:
            with self.subTest(f"{policy}: {better} before {worse}"):
                for first in (0, 1):  # on separate nodes: prioritize holds cards
                    row = self.fresh()
                    a, b = self.make_node(f"{row}-a", better), self.make_node(f"{row}-b", worse)
                    scores = self.extender.scores(self.make_pod((10,), policy),
                                                  (b, a) if first else (a, b))
                    self.assertEqual(scores[a], 10)
                    self.assertLess(scores[b], 10)


class Elastic(Case):
    CONFIG = PRESETS
    CORE, MEMORY = "elasticgpu.io/gpu-core", "elasticgpu.io/gpu-memory"

    def setUp(self):
        self.extender = self.cluster.extender("elastic-gpu-scheduler")

    def asks(self, core, memory):
        return {key: n for key, n in ((self.CORE, core), (self.MEMORY, memory)) if n}

    def make_node(self, name, cards, memory, used=()):
        """used: (card, core, memory) of existing pods."""
        self.cluster.add_nodes(node(name, self.asks(100 * cards, memory * cards)))
        left = [(100, memory)] * cards
        for card, core, amount in used:
            self.cluster.add_pod(pod(
                f"{name}-{card}", [self.asks(core, amount)], on=name,
                annotations={"elasticgpu.io/assumed": "true",
                             "elasticgpu.io/container-c0": str(card)},
                labels={"elasticgpu.io/assumed": "true"}))
            left[card] = (100 - core, memory - amount)
        self.cluster.wait_free({name: left})
        return name

    def make_pod(self, containers, **more):
        return self.cluster.add_pod(pod(f"{self.fresh()}-p", [self.asks(*c) for c in containers],
                                        **more))

    def filter(self, value, names):
        return self.extender.filter(value, names, "/scheduler/filter")

    def bind(self, value, on, **other):
        return self.extender.bind(value, on, "/scheduler/bind", **other)

    def written(self, value, count):
        notes = self.annotations(value)
        self.assertEqual(notes["elasticgpu.io/assumed"], "true")
        self.assertEqual(self.labels(value)["elasticgpu.io/assumed"], "true")
        return [notes.get(f"elasticgpu.io/container-c{i}") for i in range(count)]

    D3 = (  # cards, memory of each, used, request, cards of each container
        (2, 16000, [], [(0, 256)], ["1"]),
        (2, 16000, [(0, 50, 8000)], [(20, 1000)], ["0"]),
        (2, 16000, [(0, 90, 1000)], [(20, 1000)], ["1"]),
        (2, 16000, [], [(20, 1000), (20, 1000)], ["1", "1"]),
        (2, 16000, [], [(60, 1000), (60, 1000)], ["1", "0"]),
        (4, 12, [], [(200, 0)], ["0,1"]),
        (4, 12, [(0, 10, 1)], [(200, 0)], ["1,2"]),
        (2, 12, [(0, 1, 0)], [(200, 0)], None),
        (4, 12, [], [(0, 4)], ["3"]),
        (4, 12, [(1, 0, 8)], [(0, 4)], ["1"]),
        (3, 12, [], [(100, 0), (50, 6)], ["0", "2"]),
        (2, 12, [], [(50, 6), (100, 0)], ["1", "0"]),
        (1, 12, [], [(50, 6), (50, 6)], ["0", "0"]),
        (1, 12, [], [(50, 6), (50, 7)], None),
        (1, 15109, [], [(0, 256)], ["0"]),
        # The original gives a container without amounts a card, and a share of it.
        (2, 12, [], [(0, 0), (50, 6)], [None, "1"]),
        (1, 12, [], [(0, 0), (100, 0)], [None, "0"]),
        (1, 12, [], [(100, 0), (0, 0)], ["0", None]))

    def test_whether_it_fits(self):  # C.2, with memory
        rows = ((2, 15, [(50, 7), (50, 7)], True), (1, 15, [(50, 7), (50, 7)], True),
                (1, 15, [(50, 7), (50, 9)], False), (1, 15, [(50, 7), (50, 8)], True),
                (2, 15, [(50, 7), (50, 9)], True), (2, 7, [(50, 7), (50, 9)], False))
        for cards, memory, request, fits in rows:
            with self.subTest(f"{request} on {cards}x{memory}"):
                on = self.make_node(self.fresh(), cards, memory)
                self.assertEqual(self.filter(self.make_pod(request), [on]).nodes,
                                 [on] if fits else [])

    @staticmethod
    def left(cards, memory, used, request, chosen):
        left = [[100, memory] for _ in range(cards)]
        for card, core, amount in used:
            left[card][0] -= core
            left[card][1] -= amount
        for (core, amount), where in zip(request, chosen or []):
            for card in map(int, where.split(",")) if where else ():
                left[card][0] -= min(core, 100)
                left[card][1] -= memory if core >= 100 else amount
        return [tuple(each) for each in left]

    def test_cards_that_filter_holds(self):
        for cards, memory, used, request, chosen in self.D3:
            with self.subTest(f"{request} on {cards}x{memory} {used}"):
                on = self.make_node(self.fresh(), cards, memory, used)
                answer = self.filter(self.make_pod(request), [on])
                self.assertEqual(answer.nodes, [on] if chosen else [])
                self.assertEqual(self.cluster.free(on)[on],
                                 self.left(cards, memory, used, request, chosen))
                if not chosen:
                    self.assertTrue(answer.failed[on].startswith("no enough resource to allocate"))

    def test_cards_that_bind_writes(self):
        for cards, memory, used, request, chosen in self.D3:
            if not chosen:
                continue
            with self.subTest(f"{request} on {cards}x{memory} {used}"):
                on = self.make_node(self.fresh(), cards, memory, used)
                value = self.make_pod(request)
                self.assertEqual(self.filter(value, [on]).nodes, [on])
                self.assertEqual(self.bind(value, on), "")
                self.assertEqual(self.on(value), on)
                self.assertEqual(self.written(value, len(request)), chosen)
                self.cluster.wait_free({on: self.left(cards, memory, used, request, chosen)})

    def test_a_card_and_a_half(self):
        on = self.make_node(self.fresh(), 4, 12)
        answer = self.filter(self.make_pod([(150, 6)]), [on])
        self.assertIn("write 100 or 200", answer["Error"])
        answer = self.cluster.extender("floor").filter(self.make_pod([(150, 6)]), [on])
        self.assertEqual(answer.nodes, [on])
        self.assertEqual(self.cluster.free(on)[on], [(0, 0)] + [(100, 12)] * 3)

    def test_spread_is_a_policy(self):
        """Not implemented in the original; here it takes the emptiest card."""
        on = self.make_node(self.fresh(), 2, 16000, [(0, 50, 8000)])
        value = self.make_pod([(20, 1000)], annotations={"stowage.dev/policy": "spread"})
        self.assertEqual(self.filter(value, [on]).nodes, [on])
        self.assertEqual(self.cluster.free(on)[on], [(50, 8000), (80, 15000)])

    def test_inventory(self):
        rows = ((400, 48, [(100, 12)] * 4), (100, 15109, [(100, 15109)]),
                (250, 10, [(100, 5)] * 2), (300, 10, [(100, 3)] * 3), (99, 10, []))
        for core, memory, cards in rows:
            with self.subTest(f"{core}, {memory}"):
                on, = self.cluster.add_nodes(node(self.fresh(), self.asks(core, memory)))
                self.cluster.wait_free({on: cards})
                answer = self.filter(self.make_pod([(0, 1)]), [on])
                self.assertEqual(answer.nodes, [on] if cards else [])
                if not cards:
                    self.assertEqual(answer.failed, {on: "node(s) had no GPU"})

    def test_other_domain(self):
        on, = self.cluster.add_nodes(node(self.fresh(), {"elasticgpu.com/gpu-core": 100,
                                                         "elasticgpu.com/gpu-memory": 1000}))
        value = self.cluster.add_pod(pod(f"{on}-p", [{"elasticgpu.com/gpu-memory": 256}]))
        self.assertEqual(self.filter(value, [on]).nodes, [on])
        self.cluster.wait_free({on: [(100, 744)]})

    def test_answers(self):
        row = self.fresh()
        a, b = self.make_node(f"{row}-a", 1, 12), self.make_node(f"{row}-b", 1, 12, [(0, 90, 1)])
        c, = self.cluster.add_nodes(node(f"{row}-c"))
        value = self.make_pod([(50, 6)])
        answer = self.filter(value, [a, b, c])
        self.assertEqual((answer.nodes, answer["Error"]), ([a], ""))
        self.assertEqual(set(answer.failed), {b, c})
        self.assertTrue(answer.failed[b].startswith("no enough resource to allocate"))
        self.assertIn("no GPU", answer.failed[c])
        answer = self.extender.post("/scheduler/filter",
                                    {"Pod": value, "Nodes": None, "NodeNames": None})
        self.assertEqual(answer["Error"], "elastic-gpu-scheduler extender must be configured with "
                                          "nodeCacheCapable=true")
        # The original does not support full Node objects.
        whole = [self.cluster.call("GET", f"/api/v1/nodes/{n}") for n in (a, b, c)]
        self.assertEqual(self.filter(value, whole).nodes, [a])
        code, text = self.extender.send("POST", "/scheduler/filter", b"")
        self.assertEqual((code, text.strip()), (400, b"Please send a request body"))
        # The original answers a pod without GPUs with an error.
        plain = self.make_pod([(0, 0)])
        answer = self.filter(plain, [a, b, c])
        self.assertEqual((answer.nodes, answer["Error"]), ([a, b, c], ""))

    def test_bind_of_another_pod_of_that_name(self):
        on = self.make_node(self.fresh(), 1, 12)
        value = self.make_pod([(50, 6)])
        meta = value["metadata"]
        self.assertEqual(self.filter(value, [on]).nodes, [on])
        self.assertEqual(self.bind(value, on, PodUID="not-it"),
                         f"pod {meta['name']} in ns default's uid is {meta['uid']}, and it's not "
                         "equal with expected not-it")
        self.assertEqual(self.on(value), "")

    def test_bind_without_filter(self):
        """An error in the original; here bind chooses the cards."""
        on = self.make_node(self.fresh(), 4, 12)
        value = self.make_pod([(0, 4)])
        self.assertEqual(self.bind(value, on), "")
        self.assertEqual(self.written(value, 1), ["3"])

    def test_bind_writes_names_of_containers(self):
        on = self.make_node(self.fresh(), 2, 12)
        made = pod(f"{on}-p", [self.asks(200, 0), {}])
        made["spec"]["containers"][0]["name"] = "main"
        made["spec"]["containers"][1]["name"] = "side"
        value = self.cluster.add_pod(made)
        self.filter(value, [on])
        self.assertEqual(self.bind(value, on), "")
        notes = self.annotations(value)
        self.assertEqual(notes["elasticgpu.io/container-main"], "0,1")
        self.assertNotIn("elasticgpu.io/container-side", notes)
        self.assertEqual(notes["elasticgpu.io/assumed"], "true")
        self.assertEqual(self.labels(value)["elasticgpu.io/assumed"], "true")
        self.assertEqual(self.cards(value), {"main": [(0, 1000, 12), (1, 1000, 12)]})

    def test_priorities(self):
        row = self.fresh()
        used = self.make_node(f"{row}-used", 2, 16000, [(0, 50, 8000)])
        empty = self.make_node(f"{row}-empty", 2, 16000)
        full = self.make_node(f"{row}-full", 1, 16000, [(0, 90, 8000)])
        value = self.make_pod([(20, 1000)])
        scores = self.extender.scores(value, [empty, used, full], "/scheduler/priorities")
        self.assertEqual((scores[used], scores[full]), (10, 0))
        self.assertTrue(0 < scores[empty] < 10, scores)
        plain = self.make_pod([(0, 0)])
        self.assertEqual(self.extender.scores(plain, [empty, used], "/scheduler/priorities"),
                         {empty: 0, used: 0})

    def test_status(self):
        on = self.make_node(self.fresh(), 1, 15109, [(0, 0, 256)])
        refused = self.make_pod([(0, 15000)])
        self.filter(refused, [on])
        code, text = self.extender.send("GET", "/scheduler/status")
        self.assertEqual(code, 200)
        status = json.loads(text)
        for resource in (self.CORE, self.MEMORY):
            self.assertEqual(json.loads(status[resource])[on],
                             [{"CoreAvailable": 100, "MemoryAvailable": 14853, "CoreTotal": 100,
                               "MemoryTotal": 15109}])
        told = {each["pod"]: each["reason"] for each in status["stowage.dev/refused"]}
        self.assertIn("14853", told[f"default/{refused['metadata']['name']}"])
        self.assertEqual(self.extender.send("POST", "/scheduler/status", b"{}")[0], 405)
        self.assertTrue(uid(refused))


if __name__ == "__main__":
    main()
