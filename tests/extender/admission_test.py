#!/usr/bin/env python3
"""gpu-admission: the same placements and annotations over HTTP, without its defects.

    admission_test.py STOWAGE
"""
import json
import time

from extender_cluster import Case, inventory, main, node, pod, uid, wait_until

CORE, MEMORY = "tencent.com/vcuda-core", "tencent.com/vcuda-memory"
UNIT = 256  # MiB
FILTER = "/scheduler/predicates"
PRESETS = """
extenders:
- {preset: gpu-admission, listen: "127.0.0.1:0"}
- {preset: gpu-admission, name: floor, listen: "127.0.0.1:0", floorWholeCards: true}
"""


def asks(core, memory):
    return {key: amount for key, amount in ((CORE, core), (MEMORY, memory)) if amount}


def gpu_node(name, cards, per_card, **more):
    return node(name, {CORE: 100 * cards, MEMORY: per_card * cards}, **more)


class Admission(Case):
    CONFIG = PRESETS

    def setUp(self):
        self.row = self.fresh()
        self.extender = self.cluster.extender("gpu-admission")

    def make(self, name, containers, **more):
        return self.cluster.add_pod(pod(f"{self.row}-{name}", [asks(*c) for c in containers],
                                        **more))

    def nodes(self, *described):
        """(name, cards, memory of each) -> names."""
        return self.cluster.add_nodes(
            *(gpu_node(f"{self.row}-{name}", cards, memory) for name, cards, memory in described))

    def place(self, value, nodes, extender=None):
        """Filters, checks that one node is left, and binds; returns the node's name."""
        extender = extender or self.extender
        answer = extender.filter(value, nodes, FILTER)
        self.assertEqual((answer["Error"], len(answer.nodes)), ("", 1), answer)
        self.assertEqual(extender.bind(value, answer.nodes[0], "/scheduler/bind"), "")
        self.assertEqual(self.on(value), answer.nodes[0])
        return answer

    def written(self, value, count):
        """idx of each container, after checking the other annotations."""
        notes = self.annotations(value)
        self.assertEqual(notes["tencent.com/gpu-assigned"], "false")
        age = time.time() - int(notes["tencent.com/predicate-time"]) / 1e9
        self.assertTrue(-5 < age < 60, age)
        return [notes.get(f"tencent.com/predicate-gpu-idx-{i}") for i in range(count)]

    def mismatch(self, value):
        return f"pod {uid(value)} does not match with this node"

    def taken(self, value):
        return f"pod {uid(value)} has already been matched to another node"

    # ---- A.1
    def test_device_filter(self):
        for form in ("names", "full"):
            with self.subTest(form):
                self.row = self.fresh()
                self.device_filter(form)

    def device_filter(self, form):
        names = self.nodes(*((f"testnode{i}", 2, 4) for i in range(3)))
        rows = (  # pod, containers, node, idx per container, nodes that do not match
            ("pod-0", [(10, 1), (10, 1)], 0, ["0", "0"], ()),
            ("pod-1", [(100, 3), (80, 3)], 1, ["0", "1"], (0,)),
            ("pod-2", [(200, 10), (0, 0)], 2, ["0,1", None], (0, 1)),
            ("pod-3", [(10, 2), (0, 0)], 0, ["0", None], (1, 2)))
        for name, containers, to, idx, unfit in rows:
            with self.subTest(name):
                value = self.make(name, containers)
                whole = [self.cluster.call("GET", f"/api/v1/nodes/{n}") for n in names]
                answer = self.place(value, whole if form == "full" else names)
                self.assertEqual(answer.nodes, [names[to]])
                self.assertEqual(self.written(value, 2), idx)
                self.assertEqual(self.annotations(value)["tencent.com/predicate-node"], names[to])
                self.assertEqual(set(answer.failed), set(names) - {names[to]})
                for i, other in enumerate(names):
                    if i in unfit:
                        self.assertTrue(answer.failed[other].startswith(self.mismatch(value)))
                    elif i != to:
                        self.assertEqual(answer.failed[other], self.taken(value))
                if form == "full":
                    self.assertEqual(answer["Nodes"]["items"], [whole[to]])
                    self.assertIsNone(answer["NodeNames"])
        self.cluster.wait_free({names[0]: [(70, 0), (100, 4 * UNIT)],
                                names[1]: [(0, 0), (20, UNIT)], names[2]: [(0, 0), (0, 0)]})

    # ---- A.2
    def test_unequal_nodes(self):
        names = self.nodes(("a", 2, 8), ("b", 4, 8), ("c", 1, 8))
        floor = self.cluster.extender("floor")
        rows = (
            ("p1", (50, 2), "c", "0", ""), ("p2", (100, 0), "a", "0", "c"),
            ("p3", (60, 2), "a", "1", "c"), ("p4", (200, 0), "b", "0,1", "ac"),
            ("p5", (40, 7), "b", "2", "ac"), ("p6", (50, 1), "c", "0", "a"),
            ("p7", (150, 0), "b", "3", "ac"))
        for name, request, to, idx, unfit in rows:
            with self.subTest(name):
                value = self.make(name, [request])
                if request[0] == 150:  # refused, unless the old rounding is configured
                    answer = self.extender.filter(value, names, FILTER)
                    self.assertEqual(answer.nodes, [])
                    self.assertIn("write 100 or 200", answer["Error"])
                answer = self.place(value, names, floor)
                self.assertEqual(answer.nodes, [f"{self.row}-{to}"])
                self.assertEqual(self.written(value, 1), [idx])
                self.assertLessEqual(
                    {f"{self.row}-{n}" for n in unfit},
                    {n for n, why in answer.failed.items() if why.startswith(self.mismatch(value))})
        self.cluster.wait_free({
            f"{self.row}-a": [(0, 0), (40, 6 * UNIT)],
            f"{self.row}-b": [(0, 0), (0, 0), (60, UNIT), (0, 0)],
            f"{self.row}-c": [(0, 5 * UNIT)]})
        value = self.make("p10", [(300, 0)])
        answer = self.extender.filter(value, names, FILTER)
        self.assertEqual((answer.nodes, answer["Error"]), ([], ""))
        self.assertEqual(set(answer.failed), set(names))
        for why in answer.failed.values():
            self.assertTrue(why.startswith(self.mismatch(value)), why)

    # ---- A.2 p8 and p9, A.5: the original lets these pass and gpu-manager fails them later
    def test_half_requests_are_refused_with_what_to_write(self):
        names = self.nodes(("n", 2, 8))
        rows = (("p8: percent without memory", [(99, 0)], "or ask for 100"),
                ("p9: memory without percent", [(0, 4)], "write 1 to 99"),
                ("two containers that only sum up to a card", [(60, 0), (60, 0)], "ask for 100"),
                ("one container of two without memory", [(30, 2), (30, 0)], "ask for 100"),
                ("more cards than any node", [(10 ** 12, 0)], "a node has at most"),
                ("more memory than any card", [(10, 10 ** 15)], "no card has that much memory"))
        for number, (name, containers, words) in enumerate(rows):
            with self.subTest(name):
                value = self.make(f"h{number}", containers)
                answer = self.extender.filter(value, names, FILTER)
                self.assertIn(words, answer["Error"])
                self.assertEqual(answer.nodes, [])
                self.assertEqual(self.annotations(value), {})
        self.cluster.wait_free({names[0]: [(100, 8 * UNIT)] * 2})

    # ---- A.6
    def test_a_pod_is_filtered_again(self):
        names = self.nodes(("a", 1, 8), ("b", 2, 8))
        value = self.make("again", [(50, 2)])
        self.assertEqual(self.extender.filter(value, names, FILTER).nodes, [names[0]])
        value = self.cluster.pod(value)  # with predicate-time, gpu-assigned, idx
        self.assertEqual(self.extender.filter(value, names, FILTER).nodes, [names[0]])
        self.cluster.wait_free({names[0]: [(50, 6 * UNIT)], names[1]: [(100, 8 * UNIT)] * 2})
        # The node is no longer in the request: another one is chosen, and the first is free again.
        self.assertEqual(self.extender.filter(value, names[1:], FILTER).nodes, [names[1]])
        self.cluster.wait_free({names[0]: [(100, 8 * UNIT)],
                                names[1]: [(50, 6 * UNIT), (100, 8 * UNIT)]})
        self.assertEqual(self.annotations(value)["tencent.com/predicate-node"], names[1])
        self.assertEqual(self.extender.bind(value, names[1], "/scheduler/bind"), "")

    def test_bound_without_our_bind(self):
        """As the original was used: it has no bind, so kube-scheduler binds."""
        names = self.nodes(("a", 1, 8), ("b", 2, 8))
        for number, (request, on, left) in enumerate((
                ((50, 2), 0, {0: [(50, 6)], 1: [(100, 8)] * 2}),
                ((50, 7), 1, {0: [(50, 6)], 1: [(50, 1), (100, 8)]}),
                ((100, 0), 1, {0: [(50, 6)], 1: [(50, 1), (0, 0)]}),
                ((50, 6), 0, {0: [(0, 0)], 1: [(50, 1), (0, 0)]}))):
            value = self.make(f"b{number}", [request])
            self.assertEqual(self.extender.filter(value, names, FILTER).nodes, [names[on]])
            self.cluster.bind(value, names[on])
            self.assertEqual(self.on(value), names[on])
            self.cluster.wait_free({names[i]: [(core, memory * UNIT) for core, memory in cards]
                                    for i, cards in left.items()})

    def test_pod_that_cannot_be_written(self):
        on, = self.nodes(("a", 1, 8))
        ghost = pod(f"{self.row}-ghost", [asks(50, 2)])
        ghost["metadata"]["uid"] = f"{self.row}-ghost"
        answer = self.extender.filter(ghost, [on], FILTER)
        self.assertTrue(answer["Error"].startswith("update pod annotation failed"), answer)
        value = self.make("other", [(50, 2)])
        self.cluster.delete_pod(value)
        anew = self.make("other", [(50, 2)])  # of the same name
        self.assertNotEqual(self.extender.filter(value, [on], FILTER)["Error"], "")
        self.assertEqual(self.annotations(anew), {})
        self.cluster.wait_free({on: [(100, 8 * UNIT)]})

    def test_node_without_cards(self):
        names = self.cluster.add_nodes(node(f"{self.row}-cpu")) + self.nodes(("gpu", 1, 8))
        answer = self.extender.filter(self.make("p", [(50, 2)]), names, FILTER)
        self.assertEqual(answer.nodes, [names[1]])
        self.assertEqual(answer.failed, {names[0]: "no GPU device"})

    def test_pods_that_are_there_already(self):
        now = str(time.time_ns())
        full = (100, 8 * UNIT)

        def notes(on, idx, when=now):
            return {"tencent.com/predicate-node": on, "tencent.com/predicate-gpu-idx-0": idx,
                    "tencent.com/predicate-time": when, "tencent.com/gpu-assigned": "false"}
        rows = (  # name, request, idx, bound, phase, what is left
            # Unbound pods with a pre-allocation are in forged_test.py.
            ("bound to card 1", (50, 2), "1", True, "Running", [full, (50, 6 * UNIT)]),
            ("failed", (50, 2), "1", True, "Failed", [full, full]),
            ("succeeded", (50, 2), "1", True, "Succeeded", [full, full]),
            ("whole card", (100, 0), "0", True, "Running", [(0, 0), full]))
        for name, request, idx, bound, phase, left in rows:
            with self.subTest(name):
                self.row = self.fresh()
                on, = self.nodes(("n1", 2, 8))
                there = self.make("there", [request], annotations=notes(on, idx),
                                  on=on if bound else None)
                if phase:
                    self.cluster.set_status(there, {"phase": phase})
                self.cluster.wait_free({on: left})

    def test_cards_that_cannot_be_read_are_not_given_away(self):
        # The original ignores an index that the node does not have: the card is given twice.
        on, = self.nodes(("n1", 2, 8))
        self.make("odd", [(50, 2)], on=on, annotations={
            "tencent.com/predicate-node": on, "tencent.com/predicate-gpu-idx-0": "7",
            "tencent.com/predicate-time": str(time.time_ns())})
        two = self.make("two", [(200, 0)])
        wait_until("both cards are no longer free",
                   lambda: self.extender.filter(two, [on], "/stowage/filter-dryrun").nodes == [])
        self.assertEqual(self.extender.filter(two, [on], FILTER).nodes, [])

    def test_floored_pod_that_is_there_already(self):
        # 150 with one card, as the original wrote it: that card is completely in use.
        on, = self.nodes(("n1", 2, 8))
        self.make("old", [(150, 0)], on=on, annotations={
            "tencent.com/predicate-node": on, "tencent.com/predicate-gpu-idx-0": "0",
            "tencent.com/predicate-time": str(time.time_ns())})
        two, one = self.make("two", [(200, 0)]), self.make("one", [(100, 0)])
        wait_until("both cards are no longer free",
                   lambda: self.extender.dry_run(two, [on]).nodes == [])
        self.assertEqual(self.extender.dry_run(one, [on]).nodes, [on])

    def test_pod_without_cards_passes(self):
        names = self.nodes(("a", 1, 8), ("b", 1, 8)) + self.cluster.add_nodes(
            node(f"{self.row}-cpu"))
        value = self.make("plain", [(0, 0)])
        answer = self.extender.filter(value, names, FILTER)
        self.assertEqual((answer.nodes, answer.failed, answer["Error"]), (names, {}, ""))
        self.assertEqual(self.annotations(value), {})
        # Historic priorities: nodes without cards first.
        self.assertEqual(self.extender.scores(value, names, "/scheduler/priorities"),
                         {names[0]: 0, names[1]: 0, names[2]: 1})

    def test_the_forks_names(self):
        core, memory = "nvidia.com/vcuda-core", "nvidia.com/vcuda-memory"
        on, = self.cluster.add_nodes(node(f"{self.row}-n", {core: 200, memory: 40000}, {
            "tydic.io/nvidia-device-register": json.dumps(
                [{"id": i, "core": 100, "memory": 20000, "type": kind, "isMig": False,
                  "capability": 86, "health": True} for i, kind in
                 enumerate(("Tesla T4", "NVIDIA A10"))])}))
        value = self.cluster.add_pod(pod(
            f"{self.row}-p", [{core: 20, memory: 1000}, {core: 20, memory: 2000}],
            annotations={"nvidia.com/use-gputype": "a10", "nvidia.com/vcuda-core-limit": "20"}))
        self.assertEqual(self.extender.filter(value, [on], "/scheduler/filter").nodes, [on])
        self.assertEqual(self.extender.bind(value, on, "/scheduler/bind"), "")
        notes = self.annotations(value)
        self.assertEqual([notes.get(f"nvidia.com/predicate-gpu-idx-{i}") for i in (0, 1)],
                         ["1", "1"])
        self.assertEqual(notes["nvidia.com/predicate-node"], on)
        self.assertEqual(notes["nvidia.com/gpu-assigned"], "false")
        labels = self.labels(value)
        self.assertEqual(labels["tydic.io/bind-phase"], "allocating")
        self.assertTrue(labels["tydic.io/bind-time"].isdigit())
        self.cluster.wait_free({on: [(100, 20000), (60, 17000)]})


class Quota(Case):
    CONFIG = PRESETS
    MAP = "/api/v1/namespaces/kube-system/configmaps"
    SAMPLE = {"default": {"pool": ["public"], "quota": {"M40": 4, "P100": 4}},
              "b": {"pool": ["wx"], "quota": {"M40": 8, "P100": 2}}}
    NODES = {"n1": ("M40", "public"), "n2": ("P100", "public"), "n3": ("M40", "wx"),
             "n4": ("V100", "public"), "n5": None}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for space in ("b", "other", "anypool", "kube-system"):
            cls.cluster.call("POST", "/api/v1/namespaces",
                             {"apiVersion": "v1", "kind": "Namespace",
                              "metadata": {"name": space}}, want=(201, 409))
        cls.extender = cls.cluster.extender("gpu-admission")

    def setUp(self):
        self.row = self.fresh()
        self.made = []
        self.addCleanup(lambda: [self.cluster.delete_pod(each) for each in self.made])
        self.addCleanup(lambda: self.cluster.call("DELETE", self.MAP + "/gpuquota",
                                                  want=(200, 404)))

    def quota(self, value):
        """Creates or replaces the ConfigMap."""
        text = value if isinstance(value, str) else json.dumps(value)
        body = {"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "gpuquota", "namespace": "kube-system"},
                "data": {"gpu_quota": text}}
        code, there = self.cluster.api.request("GET", self.MAP + "/gpuquota")
        if code == 404:
            return self.cluster.call("POST", self.MAP, body)
        body["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"]
        return self.cluster.call("PUT", self.MAP + "/gpuquota", body)

    def nodes(self):
        """n1 to n5, with eight cards each."""
        def labels(name):
            model = self.NODES[name]
            return model and {"gaia.tencent.com/gpu-model": model[0],
                              "gaia.tencent.com/gpu-pool": model[1]}
        return self.cluster.add_nodes(*(gpu_node(f"{self.row}-{name}", 8, 8, labels=labels(name))
                                        for name in self.NODES))

    def make(self, name, core, namespace, on=None, idx="0", phase=None):
        notes = on and {"tencent.com/predicate-node": on, "tencent.com/predicate-gpu-idx-0": idx,
                        "tencent.com/predicate-time": str(time.time_ns())}
        value = self.cluster.add_pod(pod(f"{self.row}-{name}",
                                         [asks(core, 0 if core >= 100 else 1)],
                                         namespace=namespace, annotations=notes, on=on))
        self.made.append(value)
        if phase:
            self.cluster.set_status(value, {"phase": phase})
        return value

    def use(self, namespace, on, core):
        """Pods of this namespace on that node, with this total."""
        for card in range(core // 100):
            self.make(f"{on[-2:]}-used{card}", 100, namespace, on, str(card))
        if core % 100:
            self.make(f"{on[-2:]}-part", core % 100, namespace, on, "7")
        left = [(0, 0)] * (core // 100) + [(100, 8 * UNIT)] * (8 - core // 100)
        if core % 100:
            left[7] = (100 - core % 100, 7 * UNIT)
        self.cluster.wait_free({on: left})

    def kept(self, value, nodes):
        answer = self.extender.dry_run(value, nodes)
        self.assertEqual(answer["Error"], "")
        self.assertEqual({why for why in answer.failed.values()} - {"ExceedsGPUQuota"}, set())
        return [name[-2:] for name in answer.nodes]

    def test_table(self):
        self.quota({**self.SAMPLE, "anypool": {"quota": {"M40": 1}, "pool": []}})
        every = list(self.NODES)
        rows = (  # name, namespace, used M40, used P100, pod, nodes kept
            ("nothing used", "default", 0, 0, 100, ["n1", "n2"]),
            ("the last card of a model", "default", 300, 0, 100, ["n1", "n2"]),
            ("half a card left", "default", 350, 0, 100, ["n2"]),
            ("nothing left", "default", 400, 400, 10, []),
            ("no quota, no limit", "other", 300, 0, 100, every),
            ("any pool", "anypool", 0, 0, 100, ["n1", "n3"]),
            ("more than the quota at once", "anypool", 0, 0, 200, []),
            ("another pool", "b", 0, 0, 100, ["n3"]))
        for name, space, m40, p100, core, kept in rows:
            with self.subTest(name):
                self.setUp()
                nodes = self.nodes()
                self.use(space, nodes[0], m40)
                self.use(space, nodes[1], p100)
                value = self.make("asks", core, space)
                wait_until("the quota counts", lambda: self.kept(value, nodes) == kept)
                answer = self.extender.filter(value, nodes, FILTER)
                self.assertEqual(len(answer.nodes), min(1, len(kept)))
                self.assertEqual(answer["Error"].startswith("ExceedsGPUQuota: "), not kept)
                for on, why in answer.failed.items():
                    if on[-2:] not in kept:
                        self.assertEqual(why, "ExceedsGPUQuota")
                for each in self.made:
                    self.cluster.delete_pod(each)
                self.made.clear()
                self.cluster.wait_free({on: [(100, 8 * UNIT)] * 8 for on in nodes})

    def test_finished_pods_do_not_count(self):
        self.quota(self.SAMPLE)
        nodes = self.nodes()
        for card, phase in enumerate(("Succeeded", "Failed", "Succeeded", "Failed")):
            self.make(f"done{card}", 100, "default", nodes[0], str(card), phase)
        value = self.make("asks", 400, "default")
        wait_until("the quota counts", lambda: self.kept(value, nodes) == ["n1", "n2"])

    def test_pods_that_are_not_bound_yet_count(self):
        # The original counts only bound pods: pods that come together exceed the quota.
        self.quota({"default": {"quota": {"M40": 1}, "pool": []}})
        nodes = self.nodes()
        first, second = self.make("first", 60, "default"), self.make("second", 60, "default")
        wait_until("the quota counts", lambda: self.kept(first, nodes) == ["n1", "n3"])
        self.assertEqual(len(self.extender.filter(first, nodes, FILTER).nodes), 1)
        answer = self.extender.filter(second, nodes, FILTER)
        self.assertEqual(answer.nodes, [])
        # An error, so that kube-scheduler does not write Unschedulable: another node would not
        # help.
        self.assertRegex(answer["Error"],
                         "^ExceedsGPUQuota: .*asked 600 milli of M40, used 600 of 1000")

    def test_broken_and_changed_and_gone(self):
        nodes = self.nodes()
        value = self.make("asks", 100, "default")
        self.assertEqual(self.kept(value, nodes), list(self.NODES))  # none: no limits
        self.quota(self.SAMPLE)
        wait_until("the quota counts", lambda: self.kept(value, nodes) == ["n1", "n2"])
        before = self.cluster.metric("stowage_quota_unreadable_total")
        for text in ('{"default": {"quota": {"M40": ', '{"default": {"quota": {"M40": "many"}}}',
                     "[1]", '{"default": 7}'):
            with self.subTest(text):
                self.quota(text)
                before += 1
                wait_until("it is told", lambda: self.cluster.metric(
                    "stowage_quota_unreadable_total") >= before)
                self.assertEqual(self.cluster.metric("stowage_quota_broken"), 1)
                self.assertEqual(self.kept(value, nodes), ["n1", "n2"])
        notes = wait_until("an event tells it", lambda: [
            each for each in self.cluster.call("GET", "/apis/events.k8s.io/v1/events")["items"]
            if each.get("reason") == "QuotaUnreadable"])
        self.assertIn("gpuquota", notes[0]["note"])
        self.quota({"default": {"quota": {"V100": 1}, "pool": []}})
        wait_until("the change counts", lambda: self.kept(value, nodes) == ["n4"])
        self.assertEqual(self.cluster.metric("stowage_quota_broken"), 0)
        self.cluster.call("DELETE", self.MAP + "/gpuquota")
        wait_until("no limits", lambda: self.kept(value, nodes) == list(self.NODES))

    def test_own_form(self):
        """Cards, milli and MiB of a model; for pods of our own scheduler too."""
        row = self.fresh()
        on, = self.cluster.add_nodes(node(row, {}, inventory(
            [(f"GPU-{row}-{i}", "M40" if i < 2 else "P100", 16000) for i in range(4)])))
        self.cluster.call("POST", self.MAP, {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "stowage-quota", "namespace": "kube-system"},
            "data": {"quota": "other: [{model: M40, cards: 1}, {model: P100, milli: 500}]\n"
                              "b: [{model: '*', memoryMiB: 9000}]\n"}})
        self.addCleanup(lambda: self.cluster.call("DELETE", self.MAP + "/stowage-quota"))

        def asks_for(space, amounts, model=None):
            return pod("nobody", [amounts], namespace=space,
                       annotations=model and {"stowage.dev/gpu-model": model})

        def fits(value):
            return self.extender.dry_run(value, [on]).nodes == [on]
        core, memory = "stowage.dev/gpu-core", "stowage.dev/gpu-memory"
        wait_until("the quota counts",
                   lambda: not fits(asks_for("other", {"stowage.dev/gpu": 2}, "M40")))
        rows = (("other", {"stowage.dev/gpu": 1}, "M40", True), ("other", {core: 50}, "P100", True),
                ("other", {core: 51}, "P100", False), ("default", {core: 51}, "P100", True),
                ("b", {memory: 9000}, None, True), ("b", {memory: 9001}, None, False),
                ("other", {memory: 9001}, "M40", True))
        for space, amounts, model, expected in rows:
            with self.subTest(f"{space} {amounts} {model}"):
                self.assertEqual(fits(asks_for(space, amounts, model)), expected)
        ours = pod(f"{row}-ours", [{memory: 5000}], namespace="b", scheduler="stowage")
        self.made.append(self.cluster.add_pod(ours))
        wait_until("our own is placed", lambda: self.on(ours) != "")
        self.assertFalse(fits(asks_for("b", {memory: 4001})))
        self.assertTrue(fits(asks_for("b", {memory: 4000})))


class Ends(Case):
    CONFIG = """
extenders:
- {preset: gpu-admission, name: short, listen: "127.0.0.1:0", bindTimeoutSeconds: 3}
- {preset: gpu-admission, name: long, listen: "127.0.0.1:0", holdSeconds: 1}
"""

    def promised(self, name, count=1):
        """Pods with pre-allocations that use all cards of a node."""
        row, extender = self.fresh(), self.cluster.extender(name)
        on, = self.cluster.add_nodes(gpu_node(f"{row}-a", count, 8))
        pods = [self.cluster.add_pod(pod(f"{row}-p{i}", [asks(100, 0)])) for i in range(count)]
        for value in pods:
            self.assertEqual(extender.filter(value, [on], FILTER).nodes, [on])
        self.cluster.wait_free({on: [(0, 0)] * count})
        return extender, on, pods

    def says(self, value):
        """The annotations of the pod about a node and cards."""
        notes = self.cluster.pod(value)["metadata"].get("annotations", {})
        return sorted(key for key in notes if "predicate" in key or key == "stowage.dev/gpus")

    def test_a_pre_allocation_is_removed_unless_its_pod_was_bound(self):
        _, on, (bound, idle) = self.promised("short", 2)
        self.cluster.bind(bound, on)
        self.cluster.wait_free({on: [(0, 0), (100, 8 * UNIT)]})
        self.assertEqual(self.says(idle), [])
        self.assertNotEqual(self.says(bound), [])
        # It is still bound. Its card is unknown, so no pod gets any card there.
        self.cluster.bind(idle, on)
        self.cluster.wait_free({on: [(0, 0)] * 2})

    def test_a_card_is_kept_while_its_pod_may_be_bound(self):
        """kube-scheduler waits for volumes for up to 600 seconds, longer than any hold."""
        extender, on, (late,) = self.promised("long")
        time.sleep(2.5)
        other = self.cluster.add_pod(pod(f"{on}-other", [asks(100, 0)]))
        self.assertEqual(extender.filter(other, [on], FILTER).nodes, [])
        self.cluster.bind(late, on)
        wait_until("it is seen", lambda: self.cluster.pod(late)["spec"].get("nodeName") == on)
        self.assertEqual(extender.filter(other, [on], FILTER).nodes, [])
        self.assertEqual(self.cluster.free(on), {on: [(0, 0)]})

    def test_a_pre_allocation_ends_when_its_scheduler_gives_the_pod_up(self):
        for reason in ("Unschedulable", "SchedulerError"):
            with self.subTest(reason):
                _, on, (value,) = self.promised("long")
                made = int(self.cluster.pod(value)["metadata"]["annotations"][
                    "tencent.com/predicate-time"]) // 10**9

                def set_condition(seconds):
                    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(made + seconds))
                    self.cluster.set_status(value, {"conditions": [
                        {"type": "PodScheduled", "status": "False", "reason": reason,
                         "message": "no", "lastTransitionTime": when}]})
                set_condition(0)
                time.sleep(1.5)
                self.assertEqual(self.cluster.free(on), {on: [(0, 0)]}, "nobody can tell")
                set_condition(1)
                self.cluster.wait_free({on: [(100, 8 * UNIT)]})
                self.assertEqual(self.says(value), [])


if __name__ == "__main__":
    main()
