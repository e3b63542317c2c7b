"""Cases: where pods are placed, on which cards, and why not."""
import collections
import subprocess

from api import MERGE_PATCH, wait_until
from case import Case, bindings
from objects import GPUS, cards_of, condition, gpus_text, node, node_of, pod
from subject import program


class Binding(Case):
    def test_one_pod_is_bound(self):
        self.add_nodes(node("n1"))
        self.add(pod("a"))
        value = self.bound("a")
        self.assertEqual(node_of(value), "n1")
        self.assertEqual(condition(value)["status"], "True")
        self.check_cards([value])
        wait_until("an event Scheduled tells of it", lambda: self.events("a", "Scheduled"))

    def test_a_pod_without_gpus_is_bound(self):
        self.add_nodes(node("n1", gpus=0))
        self.add(pod("a", {"cpu": "1", "memory": "1Gi"}))
        self.assertEqual(node_of(self.bound("a")), "n1")

    def test_cards_of_other_pods_are_respected(self):
        """Pods bound by others, without annotations about cards, may use any card."""
        self.add_nodes(node("n1", gpus=2))
        self.add(pod("other", {"nvidia.com/gpu": "1"}, scheduler="someone", nodeName="n1"))
        self.add(pod("big", {"nvidia.com/gpu": "2"}))
        self.refused("big")
        if self.subject.chooses_cards:
            self.add(pod("share", {"stowage.dev/gpu-core": "10"}))
            self.refused("share")
            # The device plugin gives it the remaining card; we do not name it.
            self.add(pod("small"))
            self.assertNotIn(GPUS, self.bound("small")["metadata"].get("annotations", {}))
            self.add(pod("third"))
            self.refused("third")
            for name in ("big", "third", "other", "small"):
                self.api.delete(f"{self.pods}/{name}")
            self.bound("share")

    def test_pods_of_other_schedulers_are_left_alone(self):
        self.add_nodes(node("n1"))
        self.add(pod("theirs", scheduler="someone-else"), pod("ours"))
        self.bound("ours")
        self.assertEqual(node_of(self.pod("theirs")), "")
        self.assertEqual(condition(self.pod("theirs")), {})

    def test_controllers_make_pods(self):
        if not self.cluster.has("kube-controller-manager"):
            self.skipTest("no kube-controller-manager")
        manager = self.cluster.start_controller_manager()
        self.addCleanup(manager.kill)
        self.add_nodes(node("n1"), node("n2"))
        template = pod("unused", {"nvidia.com/gpu": "2"})
        labels = {"matchLabels": {"app": "training"}}
        deployments = f"/apis/apps/v1/namespaces/{self.namespace}/deployments"
        self.api.create(deployments, {
            "metadata": {"name": "training"},
            "spec": {"replicas": 6, "selector": labels, "template": {
                "metadata": {"labels": labels["matchLabels"]}, "spec": template["spec"]}}})
        self.addCleanup(lambda: self.api.delete(f"{deployments}/training"))
        wait_until("six pods are made", lambda: len(self.api.list(self.pods)) == 6)
        self.check_cards(self.all_bound(6))


class Cards(Case):
    needs_cards = True

    def test_node_and_cards_come_in_one_transaction(self):
        self.add_nodes(node("n1"), node("n2"))
        watch = self.watch_pods()
        names = [f"p{number}" for number in range(12)]
        self.add(*(pod(name) for name in names))
        pods = self.all_bound(12)
        wait_until("the watch has shown it",
                   lambda: all(bindings(watch).get(name, [("", None)])[-1][0] for name in names))
        self.assertEqual(watch.gaps, 0)
        for name, states in bindings(watch).items():
            self.assertEqual(len(states), 2, f"{name} went through {states}")
            self.assertEqual(states[0], ("", None))
            self.assertTrue(states[1][0] and states[1][1], f"{name} went through {states}")
        self.check_cards(pods)

    def test_shares_of_one_card_are_packed_and_never_exceed_it(self):
        self.add_nodes(node("n1", gpus=2))
        asks = ({"stowage.dev/gpu-core": "60", "stowage.dev/gpu-memory": "20000"},
                {"stowage.dev/gpu-core": "40", "stowage.dev/gpu-memory": "20000"},
                {"stowage.dev/gpu-core": "50", "stowage.dev/gpu-memory": "60000"},
                {"stowage.dev/gpu-core": "50", "stowage.dev/gpu-memory": "20000"})
        self.add(*(pod(f"p{number}", ask) for number, ask in enumerate(asks)))
        pods = self.all_bound(len(asks))
        self.check_cards(pods, cards=2)
        self.add(pod("late", {"stowage.dev/gpu-core": "10", "stowage.dev/gpu-memory": "100"}))
        self.refused("late")

    def test_forged_cards_on_a_new_pod_are_ignored(self):
        self.add_nodes(node("n1", gpus=2))
        gate = {"schedulingGates": [{"name": "stowage.dev/test"}]}
        forgeries = {"card": gpus_text("n1", c0=[0]), "both": gpus_text("n1", c0=[0, 1]),
                     "far": gpus_text("n1", c0=[4096]), "nowhere": gpus_text("n2", c0=[0]),
                     "noise": "\"};{=,:\u2603"}
        for name, text in forgeries.items():
            self.add(pod(name, annotations={GPUS: text}, **gate))
        self.add(pod("honest-1"), pod("honest-2"))
        honest = [self.bound("honest-1"), self.bound("honest-2")]
        self.check_cards(honest, cards=2)
        for value in honest:
            self.api.delete(f"{self.pods}/{value['metadata']['name']}")
        for name in forgeries:
            self.api.patch(f"{self.pods}/{name}", {"spec": {"schedulingGates": None}}, MERGE_PATCH)
            value = self.bound(name)
            self.check_cards([value], cards=2)
            self.api.delete(f"{self.pods}/{name}")

    def test_what_it_shows_of_itself(self):
        self.add_nodes(node("n1"))
        self.add(pod("a"))
        self.bound("a")
        for path in ("/healthz", "/readyz"):
            self.assertEqual(self.subject.get(path)[0], 200, path)
        code, text = self.subject.get("/metrics")
        self.assertEqual(code, 200)
        self.assertIn("stowage_", text)
        code, text = self.subject.get("/debug/state")
        self.assertEqual(code, 200)
        self.assertTrue(text.startswith("16:stowage-decision"), text[:40])
        self.assertIn("n1", text)
        state = self.subject.cluster.folder / "state"
        state.write_text(text, encoding="utf-8")
        replayed = subprocess.run([program(), "sim", "--replay", str(state)],
                                  capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        self.subject.stop()


class Waiting(Case):
    def test_a_refusal_is_explained(self):
        self.add_nodes(node("n1", gpus=4), node("n2", gpus=4), node("n3", gpus=0))
        self.add(pod("a", {"nvidia.com/gpu": "8"}))
        message = self.refused("a")
        state = condition(self.pod("a"))
        self.assertEqual((state["status"], state["reason"]), ("False", "Unschedulable"))
        self.assertRegex(message, r"\b3\b.*\d", "the message has the number of nodes and counts")
        event = wait_until("an event FailedScheduling tells of it",
                           lambda: self.events("a", "FailedScheduling"))[0]
        self.assertEqual(event["type"], "Warning")
        self.assertRegex(event["note"], r"\b3\b.*\d")
        self.assertEqual(event["regarding"]["uid"], self.pod("a")["metadata"]["uid"])
        # kubectl describe reads the same event from the older API.
        self.assertIn("FailedScheduling", self.cluster.kubectl(
            "describe", "pod", "a", "-n", self.namespace))

    def test_without_nodes_it_says_so(self):
        self.add(pod("a"))
        self.assertRegex(self.refused("a"), r"(?i)\bno(?:ne)?\b.*node|0/0|\b0 nodes")

    def test_a_new_node_wakes_it(self):
        self.add_nodes(node("small", gpus=1))
        self.add(pod("a", {"nvidia.com/gpu": "4"}))
        self.refused("a")
        self.add_nodes(node("large", gpus=8))
        self.assertEqual(node_of(self.bound("a")), "large")

    def test_a_changed_node_wakes_it(self):
        taint = {"key": "maintenance", "effect": "NoSchedule"}
        self.add_nodes(node("n1", taints=[taint]))
        self.add(pod("a"))
        self.refused("a")
        self.api.patch("/api/v1/nodes/n1", {"spec": {"taints": None}})
        self.assertEqual(node_of(self.bound("a")), "n1")

    def test_a_pod_that_goes_wakes_it(self):
        self.add_nodes(node("n1", gpus=1))
        self.add(pod("first"))
        self.bound("first")
        self.add(pod("second"))
        self.refused("second")
        self.api.delete(f"{self.pods}/first")
        self.check_cards([self.bound("second")], cards=1)

    def test_a_pod_that_completes_wakes_it(self):
        self.add_nodes(node("n1", gpus=1))
        self.add(pod("first"))
        self.bound("first")
        self.add(pod("second"))
        self.refused("second")
        self.api.patch(f"{self.pods}/first/status", {"status": {"phase": "Succeeded"}})
        self.bound("second")

    def test_cpu_memory_and_the_number_of_pods_count(self):
        self.add_nodes(node("n1", gpus=8, cpu="4", memory="8Gi", pods="3"))
        self.add(pod("cpu", {"nvidia.com/gpu": "1", "cpu": "5"}))
        self.refused("cpu")
        self.add(pod("memory", {"nvidia.com/gpu": "1", "memory": "9Gi"}))
        self.refused("memory")
        self.add(*(pod(f"p{number}") for number in range(3)))
        for number in range(3):
            self.bound(f"p{number}")
        self.add(pod("one-more"))
        self.refused("one-more")

    def test_a_pod_deleted_while_it_waits_is_forgotten(self):
        self.add_nodes(node("n1", gpus=1))
        self.add(pod("a", {"nvidia.com/gpu": "2"}))
        self.refused("a")
        self.api.delete(f"{self.pods}/a")
        self.add(pod("a"))
        self.bound("a")


class Rules(Case):
    """Taints, selectors, affinity, gates."""

    def setUp(self):
        super().setUp()
        taint = {"key": "team", "value": "a"}
        self.add_nodes(
            node("plain", labels={"zone": "x", "rank": "5"}),
            node("other", labels={"zone": "y", "rank": "50"}),
            node("tainted", labels={"zone": "t"}, taints=[{**taint, "effect": "NoSchedule"}]),
            node("leaving", labels={"zone": "t"}, taints=[{**taint, "effect": "NoExecute"}]),
            node("disliked", labels={"zone": "d"},
                 taints=[{**taint, "effect": "PreferNoSchedule"}]),
            node("cordoned", labels={"zone": "c"}, unschedulable=True))

    def required(self, *expressions, fields=()):
        term = {"matchExpressions": list(expressions), "matchFields": list(fields)}
        return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{key: value for key, value in term.items() if value}]}}}}

    def test_where_pods_may_go(self):
        def expression(key, operator, *values):
            return {"key": key, "operator": operator, "values": list(values)}
        tolerate = {"tolerations": [{"key": "team", "operator": "Equal", "value": "a",
                                     "effect": "NoSchedule"}]}
        everything = {"tolerations": [{"operator": "Exists"}]}
        def zone(name):
            return {"nodeSelector": {"zone": name}}
        rows = [
            ("nothing asked", {}, {"plain", "other", "disliked"}),
            ("selector", zone("x"), {"plain"}),
            ("selector of two labels", {"nodeSelector": {"zone": "y", "rank": "50"}}, {"other"}),
            ("selector that nothing has", zone("nowhere"), set()),
            ("taint", zone("t"), set()),
            ("tolerated taint", {**tolerate, **zone("t")}, {"tainted"}),
            ("every taint tolerated", {**everything, **zone("t")}, {"tainted", "leaving"}),
            ("taint with another value",
             {"tolerations": [{**tolerate["tolerations"][0], "value": "b"}], **zone("t")}, set()),
            ("taint that is only a wish", zone("d"), {"disliked"}),
            ("cordoned", zone("c"), set()),
            ("cordoned and tolerated", {**everything, **zone("c")}, {"cordoned"}),
            ("In", self.required(expression("zone", "In", "x", "q")), {"plain"}),
            ("NotIn", self.required(expression("zone", "NotIn", "x", "d")), {"other"}),
            ("Exists", self.required(expression("rank", "Exists")), {"plain", "other"}),
            ("DoesNotExist", self.required(expression("rank", "DoesNotExist")), {"disliked"}),
            ("Gt", self.required(expression("rank", "Gt", "9")), {"other"}),
            ("Lt", self.required(expression("rank", "Lt", "9")), {"plain"}),
            ("by name", self.required(fields=[expression("metadata.name", "In", "other")]),
             {"other"}),
            ("selector and affinity that exclude each other",
             {**self.required(expression("rank", "Gt", "9")), **zone("x")}, set()),
        ]
        self.add(*(pod(f"p{number}", **spec) for number, (_, spec, _) in enumerate(rows)))
        for number, (title, _, allowed) in enumerate(rows):
            with self.subTest(title):
                if allowed:
                    self.assertIn(node_of(self.bound(f"p{number}")), allowed)
                else:
                    self.refused(f"p{number}")

    def test_a_gated_pod_waits_for_its_gates(self):
        gates = [{"name": "example.com/one"}, {"name": "example.com/two"}]
        self.add(pod("gated", schedulingGates=gates), pod("free"))
        self.bound("free")
        path = f"{self.pods}/gated"
        self.assertEqual(condition(self.pod("gated"))["reason"], "SchedulingGated")
        self.api.patch(path, {"spec": {"schedulingGates": gates[1:]}})
        self.add(pod("free-2"))
        self.bound("free-2")
        self.assertEqual(node_of(self.pod("gated")), "")
        self.assertEqual(self.events("gated", "FailedScheduling"), [])
        self.api.patch(path, {"spec": {"schedulingGates": None}})
        self.bound("gated")

    def test_a_pod_with_rules_that_are_not_kept_is_not_placed_by_guess(self):
        """Anti-affinity to itself by host: at most one pod per node, or none at all."""
        rule = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname",
             "labelSelector": {"matchLabels": {"app": "one-per-node"}}}]}},
            "nodeSelector": {"zone": "x"}}
        for number in range(2):
            value = pod(f"p{number}", **rule)
            value["metadata"]["labels"] = {"app": "one-per-node"}
            self.add(value)
        self.add(pod("marker", nodeSelector={"zone": "x"}))
        self.bound("marker")
        wait_until("both were tried", lambda: all(
            node_of(self.pod(f"p{number}")) or condition(self.pod(f"p{number}"))
            for number in range(2)))
        placed = [number for number in range(2) if node_of(self.pod(f"p{number}"))]
        self.assertLessEqual(len(placed), 1)


class Amounts(Case):
    def test_absurd_amounts_are_refused_and_others_go_on(self):
        self.add_nodes(node("n1"))
        largest = str(2**63 - 1)
        absurd = {
            "gpus": {"nvidia.com/gpu": largest},
            "gpus-suffix": {"nvidia.com/gpu": "1k"},
            "gpus-exponent": {"nvidia.com/gpu": "1e15"},
            "memory": {"nvidia.com/gpu": "1", "memory": "7Ei"},
        }
        if self.subject.chooses_cards:
            # Sums that do not fit into 64 bits; kube-scheduler binds these.
            absurd["cpu"] = {"nvidia.com/gpu": "1", "cpu": largest}
            absurd["two-containers"] = None
            absurd["share-of-250"] = {"stowage.dev/gpu-core": "250"}
            absurd["share-huge"] = {"stowage.dev/gpu-core": largest}
            absurd["share-memory"] = {"stowage.dev/gpu-core": "10",
                                      "stowage.dev/gpu-memory": largest}
        for name, limits in absurd.items():
            self.add(pod(name, *([limits] if limits else [{"nvidia.com/gpu": largest}] * 2)))
        self.add(pod("sane"))
        self.check_cards([self.bound("sane")])
        for name in absurd:
            with self.subTest(name):
                self.assertRegex(self.refused(name, ("InvalidRequest",)), r"\d")
        self.add(pod("sane-too"))
        self.bound("sane-too")

    def test_odd_spellings_are_understood(self):
        self.add_nodes(node("n1"), node("odd", gpus=0, labels={"odd": "yes"}, **{
            "cpu": "64000m", "memory": "1e12", "nvidia.com/gpu": "8"}))
        self.add(pod("milli", {"nvidia.com/gpu": "1", "cpu": "1500m", "memory": "1500000Ki"}),
                 pod("exponent", {"nvidia.com/gpu": "2e0", "memory": "1E3"}),
                 pod("odd-node", nodeSelector={"odd": "yes"}))
        for name in ("milli", "exponent", "odd-node"):
            self.bound(name)


class Seeds(Case):
    """The example pods of the projects whose dialects are supported."""

    def test_toyscheduler(self):
        self.add_nodes(node("a", gpus=4), node("b", gpus=4))
        limits = {"nvidia.com/gpu": "1", "cpu": "1", "memory": "1Gi"}
        self.add(*(pod(f"testpod{number}", limits, scheduler="toyscheduler")
                   for number in range(1, 6)))
        pods = self.all_bound(5)
        self.check_cards(pods, cards=4)
        if self.subject.chooses_cards:  # a node is filled before the next one is used
            self.assertEqual(sorted(collections.Counter(map(node_of, pods)).values()), [1, 4])

    def test_alnair(self):
        notes = {"ai.centaurus.io/physical-gpu-count": "2",
                 "ai.centaurus.io/physical-gpu-uuids": "GPU-a,GPU-b",
                 "ai.centaurus.io/virtual-gpu-count": "16,16",
                 "ai.centaurus.io/vitual-gpu-count": "16,16"}
        amounts = {"alnair/vgpu-memory": "32", "alnair/vgpu-compute": "200"}
        self.add_nodes(*(node(name, gpus=0, annotations=notes, **amounts) for name in ("a", "b")))
        for name, chunks in (("pod-1", "4"), ("pod-2", "6")):
            self.add(pod(name, {"alnair/vgpu-memory": chunks}, scheduler="alnair-cost-saving"))
            self.bound(name)
        pods = self.all_bound(2)
        self.check_cards(pods, cards=2, card_mib=16 * 1024)
        if self.subject.chooses_cards:
            self.assertEqual(len(set(map(node_of, pods))), 1, "cost saving uses few nodes")
            self.add(pod("pod-3", {"alnair/vgpu-memory": "17"}, scheduler="alnair-cost-saving"))
            self.refused("pod-3")

    def test_gpu_admission(self):
        self.add_nodes(node("n1", gpus=0, **{"tencent.com/vcuda-core": "400",
                                             "tencent.com/vcuda-memory": "256"}))
        asks = {"share": ({"tencent.com/vcuda-core": "50", "tencent.com/vcuda-memory": "25"},),
                "whole": ({"tencent.com/vcuda-core": "100"},),
                "pair": ({"tencent.com/vcuda-core": "200"},)}
        for name, limits in asks.items():
            self.add(pod(name, *limits, scheduler="gpu-scheduler"))
        pods = self.all_bound(len(asks))
        self.check_cards(pods, cards=4, card_mib=64 * 256)
        if self.subject.chooses_cards:
            for value in pods:
                notes = value["metadata"]["annotations"]
                chosen = ",".join(str(index) for index, _, _ in cards_of(value)["c0"])
                self.assertEqual(notes.get("tencent.com/predicate-gpu-idx-0"), chosen, notes)
                self.assertEqual(notes.get("tencent.com/predicate-node"), "n1")
