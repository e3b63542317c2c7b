#!/usr/bin/env python3
"""vgpu-manager: several cards per container, init containers, types, topology, preemption.

    vgpu_test.py STOWAGE
"""
import collections
import json
import re
import threading
import time

from extender_cluster import Case, container, main, node, pod, wait_until

V = "nvidia.com/"
PRESETS = """
extenders:
- {preset: vgpu-manager, listen: "127.0.0.1:0"}
"""
CONFIG = {"deviceSplit": 10, "coresScaling": 1, "memoryFactor": 1, "memoryScaling": 1}


def asks(number, cores=0, memory=0):
    return {key: n for key, n in ((V + "vgpu-number", number), (V + "vgpu-cores", cores),
                                  (V + "vgpu-memory", memory)) if n}


def card(index, name, memory=24000, model="NVIDIA T", slots=10, numa=0, **more):
    return {"id": index, "type": model, "uuid": f"GPU-{name}-{index}", "core": 100,
            "memory": memory, "number": slots, "numa": numa, "mig": False, "capability": 86,
            "healthy": True, **more}


def gpu_node(name, cards, links=None, config=None, slots=40):
    notes = {V + "node-device-register": json.dumps(cards),
             V + "node-config-info": json.dumps({**CONFIG, **(config or {})})}
    if links is not None:
        kinds = collections.defaultdict(dict)
        for (a, b), kind in links.items():
            kinds[a][str(b)] = kinds[b][str(a)] = kind if isinstance(kind, list) else [kind]
        notes[V + "node-device-topology"] = json.dumps(
            [{"index": each["id"], "links": kinds[each["id"]]} for each in cards])
    # The kubelet counts all three; the register has what the cards really have.
    amounts = {V + "vgpu-number": slots}
    if slots:
        amounts.update({V + "vgpu-cores": 100000, V + "vgpu-memory": 10000000})
    return node(name, amounts, notes)


def fixture(name):
    """Two cards of 12288 MiB and two of 20480, on two NUMA nodes."""
    return gpu_node(name, [card(i, name, 12288 if i < 2 else 20480,
                                "NVIDIA RTX 3080Ti" if i < 2 else "NVIDIA RTX 4080Ti", numa=i // 2)
                           for i in range(4)])


def vgpu_pod(name, containers, init=(), **more):
    """Containers cont1, cont2, ...; init: (amounts, is a sidecar)."""
    made = pod(name, [], **more)
    made["spec"]["containers"] = [container(f"cont{i + 1}", asks(*each) if each else {})
                                  for i, each in enumerate(containers)]
    if init:
        made["spec"]["initContainers"] = [
            container(f"init{i + 1}", asks(*each), **({"restartPolicy": "Always"} if side else {}))
            for i, (each, side) in enumerate(init)]
    return made


class Vgpu(Case):
    CONFIG = PRESETS

    def setUp(self):
        self.extender = self.cluster.extender("vgpu-manager")

    def filter(self, value, names):
        return self.extender.filter(value, names, "/scheduler/filter")

    def bind(self, value, on, **other):
        return self.extender.bind(value, on, "/scheduler/bind", **other)

    def make(self, containers, **more):
        return self.cluster.add_pod(vgpu_pod(f"{self.fresh()}-p", containers, **more))

    def allocated(self, value):
        """{container: [card]} as the agent reads it."""
        text = self.annotations(value)[V + "pre-allocated"]
        return {name: [int(each.split("_")[0]) for each in inside.split(",") if each]
                for name, inside in re.findall(r"([^;\[]+)\[([^\]]*)\]", text)}

    def placed(self, value, on):
        """The cards of the only container."""
        answer = self.filter(value, [on])
        self.assertEqual((answer["Error"], answer.nodes), ("", [on]), answer)
        return self.allocated(value)["cont1"]


class Filter(Vgpu):
    def test_device_filter(self):  # H.1
        row = self.fresh()
        names = self.cluster.add_nodes(*(fixture(f"{row}-testnode{i}") for i in range(4)))
        given = {V + "pre-allocated": f"cont1[0_GPU-{names[1]}-0_10_2048]",
                 V + "predicate-time": str(time.time_ns())}
        rows = (  # name, containers, annotations, node or error
            ("memory alone", [(1, 0, 2048)], {}, 0),
            ("too many cores", [(1, 101)], {},
             "container cont1 requests vGPU core exceeding limit"),
            ("too many cards", [(17,)], {},
             "container cont1 requests vGPU number exceeding limit"),
            ("promised before", [(1, 10, 2048)], {**given, V + "predicate-node": names[1]}, 1),
            ("promised of an unknown node", [(1, 10, 2048)],
             {**given, V + "predicate-node": "nonode"}, "had been predicated"),
            ("two cards", [(2, 10, 2048)], {}, 0),
            ("two containers with two cards each", [(2, 10, 2048), (2, 10, 2048)], {}, 0),
            ("six whole cards", [(2, 100, 12288)] * 3, {}, None))
        for name, containers, notes, expected in rows:
            with self.subTest(name):
                value = self.make(containers, annotations=notes)
                answer = self.filter(value, names)
                if isinstance(expected, str):
                    self.assertIn(expected, answer["Error"])
                    self.assertEqual(answer.nodes, [])
                    continue
                self.assertEqual(answer["Error"], "")
                self.assertEqual(answer.nodes, [] if expected is None else [names[expected]])
                if expected is None:
                    self.assertEqual(set(answer.failed), set(names))
                    self.assertNotIn(V + "predicate-node", self.annotations(value))
                    continue
                notes = self.annotations(value)
                self.assertEqual(notes[V + "predicate-node"], names[expected])
                self.assertTrue(notes[V + "predicate-time"].isdigit())
                self.assertEqual([len(each) for each in self.allocated(value).values()],
                                 [each[0] for each in containers])
                self.assertEqual(set(answer.failed.values()),
                                 {"pod already scheduled to another node"})

    def test_parallel(self):
        row = self.fresh()
        names = self.cluster.add_nodes(*(fixture(f"{row}-n{i}") for i in range(4)))
        pods = [self.make([(1, 20, 2048)] * 2) for _ in range(50)]
        answers = []

        def ask(part):
            answers.extend(self.filter(value, names) for value in part)
        threads = [threading.Thread(target=ask, args=(pods[i::10],)) for i in range(10)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual({answer["Error"] for answer in answers}, {""})
        placed = [value for value in pods if V + "predicate-node" in self.annotations(value)]
        used = collections.Counter()
        for value in placed:
            notes = self.annotations(value)
            for each in re.findall(r"(GPU-[^_]+)_(\d+)_(\d+)", notes[V + "pre-allocated"]):
                used[each[0], "slots"] += 1
                used[each[0], "cores"] += int(each[1])
                used[each[0], "memory"] += int(each[2])
        for (name, what), amount in used.items():
            most = {"slots": 10, "cores": 100, "memory": 12288 if name[-1] in "01" else 20480}
            self.assertLessEqual(amount, most[what], name)
        self.assertEqual(len(placed), 40)  # 80 shares of a fifth on 16 cards

    def test_node_checks(self):  # H.2
        config, register = V + "node-config-info", V + "node-device-register"

        def changed(name, **notes):
            made = fixture(name)
            for key, value in notes.items():
                where = {"config": config, "register": register}[key]
                if value is None:
                    del made["metadata"]["annotations"][where]
                else:
                    made["metadata"]["annotations"][where] = value
            return made

        def scaled(name, **config_more):
            return changed(name, config=json.dumps({**CONFIG, **config_more}))
        memory = V + "memory-scheduler-policy"
        not_offered = fixture(self.fresh())
        del not_offered["status"]["allocatable"][V + "vgpu-number"]
        rows = (  # name, node, annotations of the pod, whether it fits
            ("empty configuration", lambda n: changed(n, config=""), {}, False),
            ("no configuration", lambda n: changed(n, config=None), {}, False),
            ("broken configuration", lambda n: changed(n, config="xxxxxxxxx"), {}, False),
            ("no register", lambda n: changed(n, register=None), {}, False),
            ("broken register", lambda n: changed(n, register="xxx"), {}, False),
            ("empty register", lambda n: changed(n, register="[]"), {}, False),
            ("memory factor 0", lambda n: scaled(n, memoryFactor=0), {}, False),
            ("physical memory, virtual asked", fixture, {memory: "virtual"}, False),
            ("virtual memory, physical asked", lambda n: scaled(n, memoryScaling=2),
             {memory: "physical"}, False),
            ("virtual memory asked and there", lambda n: scaled(n, memoryScaling=2),
             {memory: "virtual"}, True),
            ("physical memory asked and there", fixture, {memory: "physical"}, True),
            ("all right", fixture, {}, True))
        for name, build, notes, fits in rows:
            with self.subTest(name):
                on, = self.cluster.add_nodes(build(self.fresh()))
                answer = self.filter(self.make([(1, 10, 1024)], annotations=notes), [on])
                self.assertEqual((answer["Error"], answer.nodes), ("", [on] if fits else []))
                self.assertEqual(list(answer.failed), [] if fits else [on])
        with self.subTest("the resource is not offered"):
            on, = self.cluster.add_nodes(not_offered)
            answer = self.filter(self.make([(1, 10, 1024)]), [on])
            self.assertEqual(answer.failed, {on: "node not vGPU-enabled"})

    def test_init_containers_fit(self):  # H.3
        rows = (
            ("larger than the container", [((1, 80, 8000), 0)], [(1, 40, 4000)], True),
            ("alone", [((1, 60, 6000), 0)], [None], True),
            ("sidecar", [((1, 20, 2000), 1)], [(1, 40, 4000)], True),
            ("more cards than the container", [((2, 50, 5000), 0)], [(1, 40, 4000)], True),
            ("larger than any card", [((1, 10, 24000), 0)], [(1, 10, 1000)], False),
            ("more cards than there are", [((5, 10, 1000), 0)], [None], False))
        for name, init, containers, fits in rows:
            with self.subTest(name):
                row = self.fresh()
                names = self.cluster.add_nodes(*(fixture(f"{row}-{i}") for i in range(4)))
                answer = self.filter(self.make(containers, init=init), names)
                self.assertEqual((answer["Error"], len(answer.nodes)), ("", 1 if fits else 0))

    def test_init_containers_share_cards(self):
        rows = (  # name, cards, init, containers, what is left of each card
            ("same card", 1, [((1, 80, 8000), 0)], [(1, 40, 4000)], [(20, 16000)]),
            ("two containers at once", 1, [((1, 80, 20000), 0)], [(1, 40, 10000)] * 2,
             [(20, 4000)]),
            ("two cards for init", 2, [((2, 50, 8000), 0)], [(1, 40, 4000)],
             [(50, 16000), (50, 16000)]),
            ("init alone", 1, [((1, 60, 6000), 0)], [None], [(40, 18000)]),
            ("sidecar adds", 1, [((1, 20, 2000), 1)], [(1, 40, 4000)], [(40, 18000)]),
            ("containers add", 1, [], [(1, 30, 3000), (1, 25, 2000)], [(45, 19000)]),
            ("one after the other", 2, [((1, 50, 5000), 0), ((1, 60, 6000), 0)], [None],
             [(40, 18000), (100, 24000)]))
        for name, cards, init, containers, left in rows:
            with self.subTest(name):
                on = self.fresh()
                self.cluster.add_nodes(gpu_node(on, [card(i, on) for i in range(cards)]))
                value = self.make(containers, init=init)
                answer = self.filter(value, [on])
                self.assertEqual((answer["Error"], answer.nodes), ("", [on]))
                self.cluster.wait_free({on: left})
                if name == "two cards for init":
                    found = self.allocated(value)
                    self.assertEqual((len(found["init1"]), len(found["cont1"])), (2, 1))

    def test_claims_of_pods_that_are_there(self):  # H.4
        rows = (  # name, (kind, claim) of the containers, what is left of two cards
            ("one", [("app", (0, 50, 1000))], [(50, 23000), (100, 24000)]),
            ("two", [("app", (0, 30, 1000)), ("app", (0, 40, 2000))], [(30, 21000), (100, 24000)]),
            ("small init", [("init", (0, 20, 500)), ("app", (0, 60, 4000))],
             [(40, 20000), (100, 24000)]),
            ("init with more memory", [("init", (0, 20, 8000)), ("app", (0, 60, 4000))],
             [(40, 16000), (100, 24000)]),
            ("init on another card", [("init", (1, 90, 16000)), ("app", (0, 50, 4000))],
             [(50, 20000), (10, 8000)]),
            ("one init after the other", [("init", (0, 30, 2000)), ("init", (0, 70, 1000)),
                                          ("app", None)], [(30, 22000), (100, 24000)]),
            ("sidecar", [("sidecar", (0, 20, 1000)), ("app", (0, 50, 4000))],
             [(30, 19000), (100, 24000)]))
        for name, claims, left in rows:
            with self.subTest(name):
                on = self.fresh()
                self.cluster.add_nodes(gpu_node(on, [card(i, on) for i in range(2)]))
                init = [((1, *claim[1:]), kind == "sidecar") for kind, claim in claims
                        if kind != "app"]
                containers = [claim and (1, *claim[1:]) for kind, claim in claims if kind == "app"]
                names = [f"init{i + 1}" for i in range(len(init))] + [
                    f"cont{i + 1}" for i in range(len(containers))]
                text = ";".join(f"{each}[{claim[0]}_GPU-{on}-{claim[0]}_{claim[1]}_{claim[2]}]"
                                for each, (_, claim) in zip(names, claims) if claim)
                self.make(containers, init=init, on=on, annotations={
                    V + "pre-allocated": text, V + "predicate-node": on})
                self.cluster.wait_free({on: left})

    def test_encoding(self):  # H.9
        rows = (  # containers, text; G is the id of a card up to its number
            ([(1, 0, 1024)], "cont1[0_G0_0_1024]"),
            ([(2, 10, 2048)], "cont1[0_G0_10_2048,1_G1_10_2048]"),
            ([(1, 0, 1024), (1, 0, 1024)], "cont1[0_G0_0_1024];cont2[0_G0_0_1024]"),
            ([(2, 50, 10240), (2, 50, 10240)], "cont1[0_G0_50_10240,1_G1_50_10240];"
                                               "cont2[0_G0_50_10240,1_G1_50_10240]"))
        for containers, text in rows:
            with self.subTest(text):
                on = self.fresh()
                self.cluster.add_nodes(gpu_node(on, [card(i, on) for i in range(2)]))
                value = self.make(containers)
                self.assertEqual(self.filter(value, [on]).nodes, [on])
                self.assertEqual(self.annotations(value)[V + "pre-allocated"],
                                 text.replace("G", f"GPU-{on}-"))
        with self.subTest("a container without cards"):
            on = self.fresh()
            self.cluster.add_nodes(gpu_node(on, [card(0, on)]))
            value = self.make([None, (1, 0, 1024)])
            self.assertEqual(self.filter(value, [on]).nodes, [on])
            self.assertIn(f"cont2[0_GPU-{on}-0_0_1024]",
                          self.annotations(value)[V + "pre-allocated"])

    TYPES = (  # H.11: card, include, exclude, match
        ("NVIDIA A10", "A10", None, True), ("NVIDIA A100-SXM4-40GB", "3080Ti", None, False),
        ("NVIDIA A100-SXM4-40GB", "NVIDIA A10", "NVIDIA A100", False),
        ("NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-40GB", None, False),
        ("NVIDIA A100-SXM4-80GB", None, "NVIDIA A100", False),
        ("NVIDIA GeForce RTX 3080 Ti", "RTX 4090,RTX 3080", None, True),
        ("NVIDIA GeForce RTX 3080 Ti", None, None, True),
        ("NVIDIA A100-SXM4-80GB", "a100", None, True), ("NVIDIA A100-SXM4-80GB", "", None, True),
        ("NVIDIA A100-SXM4-80GB", None, "   ", True),
        ("NVIDIA A100-SXM4-80GB", "V100,", None, False),
        ("NVIDIA A100-SXM4-80GB", None, ",V100", True),
        ("NVIDIA A100-SXM4-80GB", None, "V100,", True),
        ("NVIDIA A100-SXM4-80GB", "   ", None, True), ("NVIDIA A100-SXM4-80GB", ",,", None, True),
        ("NVIDIA A100-SXM4-80GB", "A100", "A100", False))
    UUIDS = (  # include, exclude, match; g is the id of the card
        ("g", None, True), ("other", None, False), ("other,g", None, True), (None, "g", False),
        (None, "other,g", False), (None, None, True), ("", None, True), ("   ", None, True),
        ("g,", None, True), (",g", None, True), (None, "g,", False), (None, ",g", False),
        (None, "   ", True), ("g", "g", False), ("g", "other", True))

    def test_types(self):
        nodes = {}
        for model in sorted({row[0] for row in self.TYPES}):
            nodes[model] = on = self.fresh()
            self.cluster.add_nodes(gpu_node(on, [card(0, on, model=model)]))
        for model, include, exclude, match in self.TYPES:
            with self.subTest(f"{model}, include {include!r}, exclude {exclude!r}"):
                self.matches(nodes[model], "gpu-type", include, exclude, match)

    def test_ids(self):
        on = self.fresh()
        self.cluster.add_nodes(gpu_node(on, [card(0, on)]))
        for include, exclude, match in self.UUIDS:
            with self.subTest(f"include {include!r}, exclude {exclude!r}"):
                given = [text and re.sub(r"\bg\b", f"GPU-{on}-0", text)
                         for text in (include, exclude)]
                self.matches(on, "gpu-uuid", *given, match)

    def matches(self, on, what, include, exclude, match):
        notes = {V + key + what: text for key, text in (("include-", include),
                                                        ("exclude-", exclude)) if text is not None}
        answer = self.extender.dry_run(vgpu_pod("nobody", [(1, 1, 1)], annotations=notes), [on])
        self.assertEqual((answer["Error"], answer.nodes), ("", [on] if match else []))
        if not match:
            words = {"gpu-type": "GPU type mismatch", "gpu-uuid": "GPU UUID mismatch"}
            self.assertEqual(answer.failed, {on: words[what]})

    def test_dry_run(self):  # H.16
        row = self.fresh()
        names = self.cluster.add_nodes(*(fixture(f"{row}-{i}") for i in range(4)))
        before = self.cluster.free(*names)
        value = self.make([(1, 50, 2048)])
        route = "/scheduler/filter-dryrun"
        answer = self.extender.filter(value, names, route)
        self.assertEqual((answer.nodes, answer.failed, answer["Error"]), (names, {}, ""))
        large, absurd = self.make([(1, 50, 65536)]), self.make([(1, 101, 2048)])
        answer = self.extender.filter(large, names, route)
        self.assertEqual((answer.nodes, set(answer.failed)), ([], set(names)))
        self.assertEqual(set(answer.failed.values()), {"Insufficient vGPU memory"})
        self.assertNotEqual(self.extender.filter(absurd, names, route)["Error"], "")
        # A node that is only in the request, as an autoscaler would send it.
        template, small = fixture(f"{row}-template"), gpu_node(f"{row}-small", [card(0, row, 1024)])
        answer = self.extender.filter(value, [template, small], route)
        self.assertEqual(answer.nodes, [f"{row}-template"])
        self.assertEqual(answer.failed, {f"{row}-small": "Insufficient vGPU memory"})
        # The number is limited: they are judged on the thread that answers calls.
        many = [fixture(f"{row}-template-{i}") for i in range(300)]
        answer = self.extender.filter(value, many, route)
        self.assertEqual(len(answer.nodes), 256)
        self.assertEqual(len(answer.failed), 44)
        for each in (value, large, absurd):
            self.assertEqual(self.annotations(each), {})
        self.assertEqual(self.cluster.free(*names), before)
        # The live filter returns one node, and reports a refusal once.
        self.assertEqual(len(self.filter(value, names).nodes), 1)
        self.filter(absurd, names)
        self.filter(absurd, names)
        told = wait_until("an event", lambda: self.cluster.events(absurd))
        self.assertEqual([reason for reason, _ in told], ["FilteringFailed"])
        self.assertEqual(self.cluster.events(large), [])


class Scale(Vgpu):
    CONFIG = """
extenders:
- {preset: vgpu-manager, listen: "127.0.0.1:0", holdSeconds: 600}
"""

    def test_policies_at_scale(self):
        """H.1: pods of 4/20/2048, and the number of nodes that each policy uses for them."""
        count, kinds = {}, {(a, b): 24 for a in range(8) for b in range(a)}
        for policy in ("binpack", "spread"):
            row = self.fresh()
            names = self.cluster.add_nodes(*(
                gpu_node(f"{row}-{i:03}", [card(j, f"{row}-{i:03}", 12288 if j < 4 else 20480)
                                           for j in range(8)], kinds, slots=80)
                for i in range(100)))
            used = collections.Counter()
            for number in range(200):
                value = self.make([(4, 20, 2048)], annotations={
                    V + "device-topology-mode": "link", V + "node-scheduler-policy": policy,
                    V + "device-scheduler-policy": policy})
                self.assertEqual(len(self.filter(value, names).nodes), 1, number)
                notes = self.annotations(value)
                cards = re.findall(r"GPU-([^_]+)_20_2048", notes[V + "pre-allocated"])
                self.assertEqual(len(set(cards)), 4)
                used.update(cards)
            self.assertLessEqual(max(used.values()), 5)  # five times 20 percent
            count[policy] = len({name.rsplit("-", 1)[0] for name in used})
        self.assertLessEqual(count["binpack"], 30)
        self.assertLess(count["binpack"], count["spread"])


class Factor(Vgpu):
    def test_request_resolution(self):  # H.5, one unit is 1024 MiB
        rows = (
            ("cards alone", (1,), "100", "12000"), ("cores alone", (1, 50), "50", "12000"),
            ("memory alone", (1, 0, 4), "0", "4096"), ("both", (1, 50, 8), "50", "8192"),
            ("a whole card with a limit", (1, 100, 11), "100", "11264"))
        for name, request, cores, memory in rows:
            with self.subTest(name):
                on = self.fresh()
                self.cluster.add_nodes(gpu_node(on, [card(3, on, 12000)],
                                                config={"memoryFactor": 1024}))
                value = self.make([request])
                self.assertEqual(self.filter(value, [on]).nodes, [on])
                self.assertEqual(self.annotations(value)[V + "pre-allocated"],
                                 f"cont1[3_GPU-{on}-3_{cores}_{memory}]")
        with self.subTest("whole cards of two sizes"):
            on = self.fresh()
            self.cluster.add_nodes(gpu_node(on, [card(4, on, 12000), card(7, on, 24000)],
                                            config={"memoryFactor": 1024}))
            for request, amounts in (((2, 10, 4), (4096, 4096)), ((2, 50), (12000, 24000))):
                value = self.make([request])
                self.filter(value, [on])
                found = re.findall(r"(\d)_GPU-[^_]*_\d+_(\d+)",
                                   self.annotations(value)[V + "pre-allocated"])
                self.assertEqual(found, [("4", str(amounts[0])), ("7", str(amounts[1]))])
                self.cluster.delete_pod(value)
                self.cluster.wait_free({on: [(100, 12000), (100, 24000)]})


class Bind(Vgpu):
    def test_errors(self):  # H.15
        row = self.fresh()
        names = self.cluster.add_nodes(*(fixture(f"{row}-{i}") for i in range(2)))
        value = self.make([(1, 10, 1024)])
        self.assertEqual(self.filter(value, names).nodes, names[:1])
        rows = (
            ("another uid", names[0], {"PodUID": "u"}, 'different uid "u" from the target pod'),
            ("no such pod", names[0], {"PodName": "test2"}, 'pods "test2" not found'),
            ("another node", names[1], {}, f'predicate node "{names[0]}" does not match the bound '
                                           f'node "{names[1]}"'))
        for name, on, other, error in rows:
            with self.subTest(name):
                self.assertEqual(self.bind(value, on, **other), error)
        with self.subTest("allocation failed"):
            failed = self.make([(1, 10, 1024)], labels={V + "assigned-phase": "failed"})
            self.filter(failed, names)
            self.assertEqual(self.bind(failed, names[0]), "device pre allocation check failed, "
                             f'unable to bind to node "{names[0]}"')
        self.assertEqual(self.on(value), "")

    def test_no_node(self):
        value = self.make([(1, 10, 1024)])
        self.assertIn("empty", self.bind(value, ""))

    def test_no_node_in_the_words_of_the_original(self):
        value = self.make([(1, 10, 1024)])
        self.assertEqual(self.bind(value, ""), "ExtenderBindingArgs.Node cannot be empty")

    def test_all_right(self):
        on, = self.cluster.add_nodes(fixture(self.fresh()))
        value = self.make([(1, 10, 1024)])
        self.filter(value, [on])
        before = self.annotations(value)[V + "pre-allocated"]
        self.assertEqual(self.bind(value, on), "")
        self.assertEqual(self.on(value), on)
        self.assertEqual(self.annotations(value)[V + "pre-allocated"], before)
        labels = self.labels(value)
        self.assertEqual((labels[V + "assigned-phase"], labels[V + "metrics-node"]),
                         ("allocating", on))


if __name__ == "__main__":
    main()
