#!/usr/bin/env python3
"""Runs `stowage what-if` on the clusters of known GPU schedulers and checks node and cards.

Usage: what_if_test.py PATH_OF_STOWAGE
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""


def node(name, gpus, annotations=None, labels=None):
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", **gpus}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(name, containers, on=None, annotations=None, phase=None, scheduler=None):
    spec = {
        "containers": [
            {"name": f"c{i}", "resources": {"limits": amounts}}
            for i, amounts in enumerate(containers)
        ]
    }
    if on:
        spec["nodeName"] = on
    if scheduler:
        spec["schedulerName"] = scheduler
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": spec,
        "status": {"phase": phase or ("Running" if on else "Pending")},
    }


def vcuda(core, memory):
    amounts = {}
    if core:
        amounts["tencent.com/vcuda-core"] = str(core)
    if memory:
        amounts["tencent.com/vcuda-memory"] = str(memory)
    return amounts


def vcuda_node(name, cards, memory):
    return node(
        name,
        {
            "tencent.com/vcuda-core": str(100 * cards),
            "tencent.com/vcuda-memory": str(cards * memory),
        },
    )


def elastic(core, memory):
    amounts = {}
    if core:
        amounts["elasticgpu.io/gpu-core"] = str(core)
    if memory:
        amounts["elasticgpu.io/gpu-memory"] = str(memory)
    return amounts


def gpus(count):
    return {"nvidia.com/gpu": str(count)} if count else {}


def cards(placement):
    """Indexes of the cards of each container: [[0], [0, 1]]."""
    return [[card["index"] for card in c["cards"]] for c in placement["containers"]]


class WhatIfTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, objects):
        path = self.folder / name
        if isinstance(objects, str):
            path.write_text(objects, encoding="utf-8")
        else:
            text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
            path.write_text(text, encoding="utf-8")
        return str(path)

    def run_raw(self, *args, **kwargs):
        return subprocess.run(
            [PROGRAM, "what-if", *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
            **kwargs,
        )

    def ask(self, cluster, pods, *args, code=None):
        result = self.run_raw(
            "--cluster", self.write("cluster.json", cluster),
            "-f", self.write("pods.json", pods),
            "-o", "json", *args,
        )  # fmt: skip
        self.assertIn(result.returncode, (0, 1), result.stderr)
        placements = json.loads(result.stdout)
        placed = all(p["reason"] == "" for p in placements)
        self.assertEqual(result.returncode, 0 if placed else 1)
        if code is not None:
            self.assertEqual(result.returncode, code, result.stdout)
        return placements

    def one(self, cluster, one_pod, *args):
        return self.ask(cluster, [one_pod], *args)[0]


class Vcuda(WhatIfTest):
    def test_shares_and_whole_cards_go_to_the_tightest_node(self):
        cluster = [vcuda_node(f"testnode{i}", 2, 4) for i in range(3)]
        pods = [
            pod("pod-0", [vcuda(10, 1), vcuda(10, 1)]),
            pod("pod-1", [vcuda(100, 3), vcuda(80, 3)]),
            pod("pod-2", [vcuda(200, 10), {}]),
            pod("pod-3", [vcuda(10, 2), {}]),
        ]
        placed = self.ask(cluster, pods, "--scheduler-name", "gpu-scheduler", code=0)
        self.assertEqual(
            [(p["pod"], p["node"], cards(p)) for p in placed],
            [
                ("default/pod-0", "testnode0", [[0], [0]]),
                ("default/pod-1", "testnode1", [[0], [1]]),
                ("default/pod-2", "testnode2", [[0, 1], []]),
                ("default/pod-3", "testnode0", [[0], []]),
            ],
        )
        notes = placed[2]["annotations"]
        self.assertEqual(notes["tencent.com/predicate-gpu-idx-0"], "0,1")
        self.assertEqual(notes["tencent.com/predicate-node"], "testnode2")
        self.assertEqual(notes["tencent.com/gpu-assigned"], "false")
        self.assertNotIn("tencent.com/predicate-gpu-idx-1", notes)
        share = placed[3]["containers"][0]["cards"][0]
        self.assertEqual((share["milli"], share["memory_mib"]), (100, 512))

    def test_unequal_nodes(self):
        cluster = [vcuda_node("a", 2, 8), vcuda_node("b", 4, 8), vcuda_node("c", 1, 8)]
        rows = [
            ("p1", (50, 2), "c", [0]),
            ("p2", (100, 0), "a", [0]),
            ("p3", (60, 2), "a", [1]),
            ("p4", (200, 0), "b", [0, 1]),
            ("p5", (40, 7), "b", [2]),
            ("p6", (50, 1), "c", [0]),
            ("p7", (100, 0), "b", [3]),
            ("p10", (300, 0), None, None),
        ]
        pods = [pod(name, [vcuda(*asked)]) for name, asked, _, _ in rows]
        placed = self.ask(cluster, pods, "--scheduler-name", "gpu-scheduler", code=1)
        for placement, (name, _, on, indexes) in zip(placed, rows):
            self.assertEqual(placement["node"], on, name)
            if on:
                self.assertEqual(cards(placement), [indexes], name)
        self.assertTrue(placed[-1]["reason"].startswith("0/3 nodes are available"))

    def test_what_older_schedulers_let_pass_is_refused_with_advice(self):
        cluster = [vcuda_node("a", 2, 8)]
        for asked, words in (
            ((150, 0), "150"),
            ((99, 0), "tencent.com/vcuda-memory"),
            ((0, 4), "tencent.com/vcuda-core"),
        ):
            placement = self.one(cluster, pod("p", [vcuda(*asked)]))
            self.assertIsNone(placement["node"])
            self.assertIn(words, placement["reason"])

    def test_cards_of_bound_pods_are_taken(self):
        cluster = [
            vcuda_node("a", 2, 8),
            pod("old", [vcuda(100, 0)], on="a", annotations={
                "tencent.com/predicate-node": "a",
                "tencent.com/predicate-gpu-idx-0": "0",
                "tencent.com/gpu-assigned": "true",
            }),
            pod("ended", [vcuda(100, 0)], on="a", phase="Succeeded"),
        ]  # fmt: skip
        placement = self.one(cluster, pod("new", [vcuda(100, 0)]))
        self.assertEqual(cards(placement), [[1]])
        placement = self.one(cluster, pod("new", [vcuda(200, 0)]))
        self.assertIsNone(placement["node"])


class Elastic(WhatIfTest):
    def cluster(self, count, memory, used=()):
        nodes = [
            node("n", {
                "elasticgpu.io/gpu-core": str(100 * count),
                "elasticgpu.io/gpu-memory": str(memory * count),
            })
        ]  # fmt: skip
        for i, (card, core, mib) in enumerate(used):
            nodes.append(
                pod(f"used-{i}", [elastic(core, mib)], on="n", annotations={
                    "elasticgpu.io/assumed": "true",
                    "elasticgpu.io/container-c0": str(card),
                })
            )  # fmt: skip
        return nodes

    def test_card_choice(self):
        rows = [
            ("one share", (2, 16000, ()), [(0, 256)], [[1]]),
            ("the used card", (2, 16000, [(0, 50, 8000)]), [(20, 1000)], [[0]]),
            ("the card with room", (2, 16000, [(0, 90, 1000)]), [(20, 1000)], [[1]]),
            ("two cards", (4, 12, ()), [(200, 0)], [[0, 1]]),
            ("two free cards", (4, 12, [(0, 10, 1)]), [(200, 0)], [[1, 2]]),
            ("the card with less left", (4, 12, [(1, 0, 8)]), [(0, 4)], [[1]]),
            ("a share beside a card", (3, 12, ()), [(100, 0), (50, 6)], [[0], [2]]),
            ("two halves", (1, 12, ()), [(50, 6), (50, 6)], [[0], [0]]),
            ("more than a card", (1, 12, ()), [(50, 6), (50, 7)], None),
            ("a container without cards", (1, 12, ()), [(0, 0), (100, 0)], [[], [0]]),
        ]
        for name, cluster, asks, wanted in rows:
            with self.subTest(name):
                asked = pod("p", [elastic(*ask) for ask in asks])
                placement = self.one(self.cluster(*cluster), asked, "--policy", "elastic-binpack")
                self.assertEqual(placement["node"], "n" if wanted else None, placement["reason"])
                if wanted:
                    self.assertEqual(cards(placement), wanted)

    def test_answer(self):
        asked = pod("p", [elastic(200, 0), {}])
        placement = self.one(self.cluster(4, 12), asked, "--policy", "elastic-binpack")
        self.assertEqual(placement["annotations"]["elasticgpu.io/assumed"], "true")
        self.assertEqual(placement["annotations"]["elasticgpu.io/container-c0"], "0,1")
        self.assertNotIn("elasticgpu.io/container-c1", placement["annotations"])
        self.assertEqual(placement["labels"], {"elasticgpu.io/assumed": "true"})


class Toy(WhatIfTest):
    def cluster(self, **used):
        objects = [node(name, gpus(8)) for name in used]
        for name, count in used.items():
            objects += [pod(f"on-{name}-{i}", [gpus(1)], on=name) for i in range(count)]
        return objects

    def test_the_most_used_node_that_fits(self):
        busy = self.cluster(a=3, b=5, c=7)
        for asked, wanted in ((1, "c"), (2, "b"), (6, None)):
            placement = self.one(busy, pod("p", [gpus(asked)], scheduler="toyscheduler"))
            self.assertEqual(placement["node"], wanted, placement)
        empty = self.one(self.cluster(a=0, b=0), pod("p", [gpus(1)], scheduler="toyscheduler"))
        self.assertEqual(empty["node"], "a")
        full = self.one(self.cluster(a=8, b=8), pod("p", [gpus(1)], scheduler="toyscheduler"))
        self.assertIsNone(full["node"])

    def test_one_node_is_filled_before_the_next(self):
        cluster = [node("a", gpus(4)), node("b", gpus(4))]
        pods = [pod(f"p{i}", [gpus(1)], scheduler="toyscheduler") for i in range(5)]
        placed = self.ask(cluster, pods, code=0)
        self.assertEqual([p["node"] for p in placed], ["a", "a", "a", "a", "b"])

    def test_a_job_stands_for_its_pods(self):
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "train", "namespace": "ml"},
            "spec": {"parallelism": 3, "template": pod("x", [gpus(2)])},
        }
        del job["spec"]["template"]["metadata"]["name"]
        placed = self.ask([node("a", gpus(4))], [job], code=1)
        self.assertEqual(
            [(p["pod"], p["node"]) for p in placed],
            [("ml/train-0", "a"), ("ml/train-1", "a"), ("ml/train-2", None)],
        )


class Alnair(WhatIfTest):
    def cluster(self, chunks, used=()):
        annotations = {}
        if chunks:
            uuids = [f"GPU-{i}" for i in range(len(chunks))]
            annotations = {
                "ai.centaurus.io/physical-gpu-count": str(len(chunks)),
                "ai.centaurus.io/physical-gpu-uuids": ",".join(uuids),
                "ai.centaurus.io/vitual-gpu-count": ",".join(map(str, chunks)),
            }
        offered = {"alnair/vgpu-memory": str(sum(chunks))} if chunks else {}
        objects = [node("n", offered, annotations)]
        for card, count in used:
            ids = ",".join(f"GPU-{card}_{i}" for i in range(count))
            objects.append(
                pod(f"used-{card}", [{"alnair/vgpu-memory": str(count)}], on="n",
                    annotations={"ai.centaurus.io/alnair-gpu-id": ids})
            )  # fmt: skip
        return objects

    def test_the_whole_pod_fits_one_card(self):
        rows = [
            ("an empty node", [16, 16], [], [4], [[0]]),
            ("a used card", [16, 16], [(0, 13)], [4], [[1]]),
            ("more than a card", [16], [], [17], None),
            ("two halves", [16], [], [8, 8], [[0], []]),
            ("two that are too much", [16], [], [8, 9], None),
            ("no card", [], [], [4], None),
            ("both cards used", [16, 16], [(0, 13), (1, 13)], [4], None),
        ]
        for name, chunks, used, asked, wanted in rows:
            with self.subTest(name):
                asking = pod("p", [{"alnair/vgpu-memory": str(amount)} for amount in asked])
                placement = self.one(
                    self.cluster(chunks, used), asking, "--scheduler-name", "alnair-cost-saving"
                )
                self.assertEqual(placement["node"], "n" if wanted else None, placement["reason"])
                if wanted:
                    self.assertEqual(cards(placement)[0], wanted[0])


class Models(WhatIfTest):
    def inventory(self, **models):
        cards_of = [
            {"id": id_, "index": i, "model": model, "memoryMiB": 16384}
            for i, (id_, model) in enumerate(models.items())
        ]
        return {"stowage.dev/gpu-inventory": json.dumps({"version": 1, "cards": cards_of})}

    def test_the_model_is_matched_by_its_whole_name(self):
        cluster = [
            node("n1", gpus(3), self.inventory(g1="Tesla T4", g2="Tesla T4", g3="Tesla T4")),
            node("n2", gpus(3), self.inventory(h1="Tesla T4", h2="Tesla T4", h3="A100")),
            node("n3", gpus(1), self.inventory(k1="A100")),
        ]
        rows = [
            ("tesla t4", 3, "n1", ["g1", "g2", "g3"]),
            (" Tesla T4 ", 4, None, None),
            ("T4", 1, None, None),
            ("A100", 1, None, ["h3", "k1"]),
        ]
        for model, count, on, ids in rows:
            with self.subTest(model):
                asked = pod("p", [gpus(count)], annotations={"nvidia.com/gpu.model": model})
                placement = self.one(cluster, asked, "--policy", "most-free")
                if ids is None:
                    self.assertIsNone(placement["node"])
                    continue
                if on:
                    self.assertEqual(placement["node"], on)
                given = [card["id"] for card in placement["containers"][0]["cards"]]
                self.assertTrue(set(given) <= set(ids), given)
                self.assertEqual(len(given), count)


class Quota(WhatIfTest):
    QUOTA = {
        "default": {"pool": ["public"], "quota": {"M40": 4, "P100": 4}},
        "any-pool": {"quota": {"M40": 1}},
    }

    def cluster(self, text=None, used=0):
        def labels(model, pool):
            return {"gaia.tencent.com/gpu-model": model, "gaia.tencent.com/gpu-pool": pool}

        objects = [
            node(name, {"tencent.com/vcuda-core": "800", "tencent.com/vcuda-memory": "64"},
                 labels=labels(model, pool) if model else {})
            for name, model, pool in (("n1", "M40", "public"), ("n2", "P100", "public"),
                                      ("n3", "M40", "wx"), ("n4", "V100", "public"),
                                      ("n5", "", ""))
        ]  # fmt: skip
        objects.append({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "gpuquota", "namespace": "kube-system"},
            "data": {"gpu_quota": json.dumps(self.QUOTA) if text is None else text},
        })  # fmt: skip
        objects += [pod(f"used-{i}", [vcuda(100, 0)], on="n1") for i in range(used)]
        return objects

    def nodes_of(self, cluster, namespace, count):
        pods = [pod(f"p{i}", [vcuda(100, 0)]) for i in range(count)]
        for one in pods:
            one["metadata"]["namespace"] = namespace
        return [p["node"] for p in self.ask(cluster, pods, "--policy", "first")]

    def test_a_namespace_stays_within_its_cards(self):
        self.assertEqual(
            self.nodes_of(self.cluster(), "default", 9), ["n1"] * 4 + ["n2"] * 4 + [None]
        )
        self.assertEqual(self.nodes_of(self.cluster(used=4), "default", 1), ["n2"])
        self.assertEqual(self.nodes_of(self.cluster(), "any-pool", 2), ["n1", None])
        self.assertEqual(self.nodes_of(self.cluster(), "other", 9), ["n1"] * 8 + ["n2"])

    def test_a_quota_that_can_not_be_read_is_an_error(self):
        result = self.run_raw(
            "--cluster", self.write("cluster.json", self.cluster("{")),
            "-f", self.write("pods.json", [pod("p", [vcuda(100, 0)])]),
        )  # fmt: skip
        self.assertEqual(result.returncode, 2)
        self.assertIn("ConfigMap kube-system/gpuquota", result.stderr)


class Inputs(WhatIfTest):
    def test_yaml_json_and_standard_input_mean_the_same(self):
        cluster = self.write("cluster.yaml", "\n".join([
            "apiVersion: v1", "kind: NodeList", "items:",
            "- metadata: {name: n}",
            "  status: {capacity: {cpu: 4, memory: 8Gi, nvidia.com/gpu: 1}}",
        ]))  # fmt: skip
        pods = "\n".join([
            "kind: Pod", "metadata: {name: a}",
            "spec: {containers: [{name: c, resources: {limits: {cpu: 500m, nvidia.com/gpu: 1}}}]}",
            "---", "kind: Service", "metadata: {name: s}",
        ])  # fmt: skip
        result = self.run_raw("--cluster", cluster, "-f", "-", "-o", "json", input=pods)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Service", result.stderr)
        placement = json.loads(result.stdout)[0]
        self.assertEqual(
            sorted(placement),
            ["annotations", "condition", "containers", "labels", "node", "pod", "reason"],
        )
        self.assertEqual((placement["pod"], placement["node"]), ("default/a", "n"))
        card = placement["containers"][0]["cards"][0]
        self.assertEqual((card["index"], card["id"], card["milli"]), (0, "n/0", 1000))
        table = self.run_raw("--cluster", cluster, "-f", "-", input=pods)
        self.assertIn("1 of 1 pods placed, on 1 of 1 nodes", table.stdout)
        yaml = self.run_raw("--cluster", cluster, "-f", "-", "-o", "yaml", input=pods)
        self.assertTrue(yaml.stdout.startswith('- pod: "default/a"\n  node: "n"\n'), yaml.stdout)

    def test_a_pod_that_can_not_be_read_does_not_stop_the_others(self):
        broken = pod("broken", [gpus(1)])
        broken["spec"]["containers"] = 7
        gated = pod("gated", [gpus(1)])
        gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        placed = self.ask([node("a", gpus(1))], [broken, gated, pod("good", [gpus(1)])], code=1)
        self.assertIn("spec.containers: expected an array", placed[0]["reason"])
        self.assertIn("example.com/wait", placed[1]["reason"])
        self.assertEqual(placed[2]["node"], "a")

    def test_pending_pods_of_the_cluster_are_placed_on_request_only(self):
        waiting = pod("waiting", [gpus(1)], scheduler="stowage")
        cluster = [node("a", gpus(1)), waiting]
        self.assertEqual(self.one(cluster, pod("new", [gpus(1)]))["node"], "a")
        placed = self.ask(cluster, [pod("new", [gpus(1)])], "--pending", code=1)
        self.assertEqual([p["node"] for p in placed], ["a", None])
        again = self.ask(cluster, [waiting], "--pending", code=0)
        self.assertEqual([p["pod"] for p in again], ["default/waiting"])

    def test_wrong_input_ends_with_two_and_one_line(self):
        cluster = self.write("cluster.json", [node("a", gpus(1)), pod("on", [gpus(1)], on="a")])
        pods = self.write("pods.json", [pod("p", [gpus(1)])])
        bad = self.write("bad.yaml", "kind: Pod\n  metadata: 1\n")
        odd = self.write("odd.json", [{"kind": "Node", "metadata": {"name": "a", "labels": 3}}])
        rows = [
            (["-f", pods], "--cluster FILE is needed"),
            (["--cluster", cluster], "nothing to place"),
            (["--cluster", pods, "-f", pods], "the cluster has no node"),
            (["--cluster", cluster, "-f", bad], "bad.yaml: document 1, line 2"),
            (["--cluster", odd, "-f", pods], "metadata.labels: expected an object"),
            (["--cluster", cluster, "-f", "/nonexistent"], "cannot open /nonexistent"),
            (["--cluster", cluster, "-f", pods, "--policy", "binpak"], "binpack"),
            (["--cluster", cluster, "-f", pods, "--scheduler-name", "stowag"], "stowage"),
            (["--cluster", cluster, "-f", pods, "-o", "xml"], "table, json or yaml"),
            (["--cluster", "-", "-f", "-"], "only once"),
        ]
        for args, words in rows:
            with self.subTest(words):
                result = self.run_raw(*args)
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertEqual(result.stdout, "")
                self.assertIn(words, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
