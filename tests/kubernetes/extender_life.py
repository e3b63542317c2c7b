"""Cases: Stowage as an extender when pods race, processes die, victims go and quotas apply."""
import json
import re
import subprocess
import urllib.request

from api import wait_until
from case import bindings
from extender import (CORE, MEMORY, MIGRATE, THEIRS, ExtenderCase, migrated, plain_node, share,
                      vgpu_node)
from kube_scheduler import SHIPPED, KubeScheduler, config, extender, shipped
from objects import CARD_MIB, GPUS, condition, node, node_of, pod
from subject import program

VCUDA_CARD = CARD_MIB // 256


def vcuda(name, percent, scheduler="gpu-scheduler", **more):
    return pod(name, {"tencent.com/vcuda-core": str(percent), "tencent.com/vcuda-memory": "10"},
               scheduler=scheduler, **more)


def vcuda_node(name, cards, **more):
    return plain_node(name, **{"tencent.com/vcuda-core": str(100 * cards),
                               "tencent.com/vcuda-memory": str(VCUDA_CARD * cards)}, **more)


class Races(ExtenderCase):
    def test_two_pods_for_the_last_share_of_a_card(self):
        self.start_both()
        self.add_nodes(node("n1", gpus=1))
        self.add(share("a", 60, 1000), share("b", 60, 1000))
        wait_until("one is bound", self.bound_names)
        first, = self.bound_names()
        second, = {"a", "b"} - {first}
        self.assertIn("1 insufficient GPU compute", self.refused(second))
        self.over_committed()
        self.api.delete(f"{self.pods}/{first}")
        self.bound(second)

    def check_crowd(self, pods, places, cards):
        """As many pods are bound as fit, and as many again after they have gone."""
        self.add(*pods)
        for _ in range(2):
            wait_until(f"{places} are bound",
                       lambda: len(self.bound_names()) >= places,
                       details=self.bound_names)
            left = {value["metadata"]["name"] for value in pods} - set(self.bound_names())
            for name in sorted(left)[:6]:
                if not self.api.gone(f"{self.pods}/{name}"):
                    self.refused(name)
            self.assertEqual(len(self.bound_names()), places)
            self.over_committed(cards)
            for name in self.bound_names():
                self.api.delete(f"{self.pods}/{name}")

    def test_many_pods_of_both_schedulers_on_few_cards(self):
        self.start_both()
        self.add_nodes(node("n1", gpus=2), node("n2", gpus=2))
        self.check_crowd([share(f"p{number}", 50, 1000,
                                scheduler=THEIRS if number % 2 else "stowage")
                          for number in range(20)], places=8, cards=2)

    def test_two_kube_schedulers_that_ask_one_extender(self):
        address = self.start_stowage()
        for name in (THEIRS, "other-scheduler"):
            self.start_scheduler(config(extender(address, CORE, MEMORY), profiles=(name,)))
        self.add_nodes(node("n1", gpus=2), node("n2", gpus=2))
        self.check_crowd([share(f"p{number}", 60, 1000,
                                scheduler=THEIRS if number % 2 else "other-scheduler")
                          for number in range(20)], places=4, cards=2)

    def test_many_pods_on_few_cards_where_kube_scheduler_binds(self):
        self.start_scheduler(shipped("gpu-admission", self.start_stowage("gpu-admission")))
        self.add_nodes(vcuda_node("t1", 2), vcuda_node("t2", 2))
        self.check_crowd([vcuda(f"p{number}", 60) for number in range(20)], places=4, cards=2)


class ExtenderRestarts(ExtenderCase):
    def check_bound_once(self, watch, count, cards):
        wait_until(f"{count} are bound",
                   lambda: len(self.bound_names()) == count, timeout=90)
        wait_until("the watch has shown it", lambda: sum(
            1 for states in bindings(watch).values() if states[-1][0]) == count)
        self.assertEqual(watch.gaps, 0)
        for name, states in bindings(watch).items():
            nodes = [where for where, _ in states if where]
            self.assertEqual(len(set(nodes)), 1, f"{name} went through {states}")
            self.assertEqual(len({cards for where, cards in states if where}), 1,
                             f"{name} went through {states}")
        self.over_committed(cards)

    def bounce(self, make, stop, start):
        """Pods that come before, during and after an outage of one part."""
        for number in range(30):
            self.add(make(f"p{number}"))
            if number == 9:
                stop()
            if number == 19:
                start()

    def test_stowage_is_killed_while_pods_come(self):
        self.start_both()
        self.add_nodes(*(node(f"n{number}", gpus=4) for number in range(3)))
        watch = self.watch_pods()
        self.bounce(lambda name: share(name, 30, 1000), self.subject.kill,
                    lambda: self.subject.start(config=self.config))
        self.check_bound_once(watch, 30, cards=4)

    def test_stowage_is_killed_where_kube_scheduler_binds(self):
        self.start_scheduler(shipped("gpu-admission", self.start_stowage("gpu-admission")))
        self.add_nodes(*(vcuda_node(f"t{number}", 4) for number in range(3)))
        watch = self.watch_pods()
        self.bounce(lambda name: vcuda(name, 30), self.subject.kill,
                    lambda: self.subject.start(config=self.config))
        self.check_bound_once(watch, 30, cards=4)

    def test_kube_scheduler_is_killed_while_pods_come(self):
        scheduler = self.start_both()
        self.add_nodes(*(node(f"n{number}", gpus=4) for number in range(3)))
        watch = self.watch_pods()
        self.bounce(lambda name: share(name, 30, 1000), scheduler.kill, scheduler.start)
        self.check_bound_once(watch, 30, cards=4)

    def test_kube_scheduler_is_killed_where_it_binds(self):
        scheduler = self.start_scheduler(
            shipped("gpu-admission", self.start_stowage("gpu-admission")))
        self.add_nodes(*(vcuda_node(f"t{number}", 4) for number in range(3)))
        watch = self.watch_pods()
        self.bounce(lambda name: vcuda(name, 30), scheduler.kill, scheduler.start)
        self.check_bound_once(watch, 30, cards=4)


class Absence(ExtenderCase):
    def test_pods_wait_for_an_extender_that_is_not_ignorable(self):
        self.start_both(ignorable=False)
        self.add_nodes(node("n1", gpus=1))
        self.subject.kill()
        self.add(share("a", 60, 1000), pod("plain", {"cpu": "1"}, scheduler=THEIRS))
        self.bound("plain")
        self.assertIn("connection refused", self.refused("a", reasons=("SchedulerError",)))
        self.subject.start(config=self.config)
        self.bound("a")
        self.over_committed()

    def test_pods_do_not_wait_for_one_that_is(self):
        """They get a node without cards; the cards that they may use count as used."""
        self.start_both(ignorable=True)
        self.add_nodes(node("n1", gpus=1))
        self.subject.kill()
        self.add(share("a", 60, 1000))
        self.assertNotIn(GPUS, self.bound("a")["metadata"].get("annotations", {}))
        self.subject.start(config=self.config)
        self.add(share("b", 60, 1000))
        self.assertIn("insufficient GPU compute", self.refused("b"))
        self.add(share("c", 30, 1000))
        self.bound("c")


class Preemption(ExtenderCase):
    """kube-scheduler asks about victims if a resource that it counts itself is exhausted."""

    def setUp(self):
        super().setUp()
        classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
        for word, value in (("lowest", 5), ("low", 10), ("high", 100), ("highest", 200)):
            name = f"{self.namespace}-{word}"
            self.api.create(classes, {"metadata": {"name": name}, "value": value})
            self.addCleanup(self.api.delete, f"{classes}/{name}")

    def ranked(self, name, word, *limits, **more):
        # Without a kubelet, only a pod without grace period is ever removed.
        return pod(name, *limits, priorityClassName=f"{self.namespace}-{word}",
                   terminationGracePeriodSeconds=0, **more)

    def of_model(self, name, word, model):
        return self.ranked(name, word, scheduler=THEIRS,
                           annotations={"nvidia.com/gpu.model": model})

    def check_models(self, text):
        self.start_scheduler(text)
        t4 = {"nvidia.com/gpu.product": "Tesla-T4"}
        self.add_nodes(node("a1", gpus=1), node("t1", gpus=1, labels=t4))
        self.add(self.of_model("on-t4", "low", "Tesla T4"),
                 self.of_model("on-a100", "lowest", "NVIDIA-A100-SXM4-80GB"))
        self.all_bound(2)
        before = self.calls("preempt")
        self.add(self.of_model("nowhere", "high", "Tesla V100"))
        self.refused("nowhere")
        wait_until("kube-scheduler asked about victims", lambda: self.calls("preempt") > before)
        self.assertEqual(self.bound_names(), ["on-a100", "on-t4"])
        # Without us it would evict the pod of lowest priority, which has the wrong card.
        self.add(self.of_model("urgent", "high", "Tesla T4"))
        self.assertEqual(node_of(self.bound("urgent")), "t1")
        self.assertEqual(self.bound_names(), ["on-a100", "urgent"])
        self.assertEqual(self.calls("preempt", "errors"), 0)

    def test_nodes_on_which_it_would_not_help_are_dropped(self):
        self.check_models(shipped("nvidia-gpu-scheduler",
                                  self.start_stowage("nvidia-gpu-scheduler")))

    def test_whole_victims(self):
        text = shipped("nvidia-gpu-scheduler", self.start_stowage("nvidia-gpu-scheduler"))
        self.check_models(text.replace("nodeCacheCapable: true", "nodeCacheCapable: false"))

    def test_no_pod_is_evicted_in_vain(self):
        """By the sums of a node, evicting a small pod would be enough; by its cards it is not."""
        self.start_scheduler(shipped("elastic-gpu-scheduler",
                                     self.start_stowage("elastic-gpu-scheduler")))
        self.add_nodes(plain_node("e1", **{"elasticgpu.io/gpu-core": "200"}))
        for name, word, percent in (("large-1", "high", 60), ("small", "low", 30),
                                    ("large-2", "high", 60)):
            self.add(self.share(name, word, percent))
            self.bound(name)
        self.add(self.share("urgent", "high", 80))
        self.refused("urgent")
        wait_until("kube-scheduler asked about victims", lambda: self.calls("preempt") > 0)
        self.assertEqual(self.bound_names(), ["large-1", "large-2", "small"])
        # A pod that may evict a large one as well.
        self.api.delete(f"{self.pods}/urgent")
        self.add(self.share("more-urgent", "highest", 80))
        self.bound("more-urgent")
        self.assertEqual(len({"large-1", "large-2"} & set(self.bound_names())), 1)

    def share(self, name, word, percent):
        return self.ranked(name, word, {"elasticgpu.io/gpu-core": str(percent)}, scheduler=THEIRS)

    def test_victims_are_added_until_the_pod_fits(self):
        """Two halves of a card have to go, although one would be enough by the number of slots."""
        self.start_scheduler(shipped("vgpu-manager", self.start_stowage("vgpu-manager")))
        self.add_nodes(vgpu_node("v1", "NVIDIA A100-SXM4-80GB", cards=1, split=2))
        ask = {"nvidia.com/vgpu-number": "1", "nvidia.com/vgpu-memory": "1000"}
        for name in ("half-1", "half-2"):
            self.add(self.ranked(name, "low", {**ask, "nvidia.com/vgpu-cores": "50"},
                                 scheduler="vgpu-scheduler"))
        self.all_bound(2)
        self.add(self.ranked("whole", "high", {**ask, "nvidia.com/vgpu-cores": "100"},
                             scheduler="vgpu-scheduler"))
        self.bound("whole")
        self.assertEqual(self.bound_names(), ["whole"])


class Manners(ExtenderCase):
    def test_a_refusal_is_told_without_touching_the_condition_of_another_scheduler(self):
        self.start_both()
        self.add_nodes(node("n1", gpus=1))
        self.add(share("a", 60, 1000))
        self.bound("a")
        self.add(share("b", 60, 1000))
        self.refused("b")
        told = wait_until("an event has the numbers", lambda: self.events("b", "FilteringFailed"))
        self.assertRegex(told[0]["note"], r"insufficient GPU compute.*\b400\b.*\b600\b")
        value = self.pod("b")
        writers = {entry["manager"] for entry in value["metadata"]["managedFields"]
                   if "f:status" in entry["fieldsV1"]}
        self.assertEqual(writers, {"kube-scheduler"})
        self.assertTrue(condition(value)["message"].startswith("0/1 nodes are available: "))
        address = json.loads(self.config.read_text(encoding="utf-8"))["extenders"][0]["listen"]
        with urllib.request.urlopen(f"http://{address}/stowage/status", timeout=10) as answer:
            status = json.load(answer)
        refused = {entry["pod"]: entry["reason"] for entry in status["stowage.dev/refused"]}
        self.assertRegex(refused[f"{self.namespace}/b"], r"\b400\b.*\b600\b")

    def test_a_pod_that_asks_for_no_card_is_bound_by_the_extender_as_well(self):
        """Without managed resources every pod is sent to us."""
        address = self.start_stowage()
        self.start_scheduler(config(extender(address, managedResources=[])))
        self.add_nodes(node("n1", gpus=1), node("n2", gpus=0))
        self.add(pod("a", {"cpu": "1"}, scheduler=THEIRS))
        self.assertNotIn(GPUS, self.bound("a")["metadata"].get("annotations", {}))
        self.assertEqual(self.calls("bind"), 1)


class Quotas(ExtenderCase):
    MAPS = "/api/v1/namespaces/kube-system/configmaps"

    def metric(self, name):
        text = self.subject.get("/metrics")[1]
        return float(re.search(rf"^{name} (\S+)$", text, re.M).group(1))

    def write(self, name, key, text):
        body = {"metadata": {"name": name}, "data": {key: text}}
        if self.api.gone(f"{self.MAPS}/{name}"):
            self.api.create(self.MAPS, body)
            self.addCleanup(self.remove, name)
        else:
            self.api.patch(f"{self.MAPS}/{name}", body)

    def remove(self, name):
        if not self.api.gone(f"{self.MAPS}/{name}"):
            self.api.delete(f"{self.MAPS}/{name}")

    def gpu_quota(self, cards):
        return json.dumps({self.namespace: {"quota": {"M40": cards}, "pool": ["public"]}})

    def test_gpuquota_of_gpu_admission(self):
        self.write("gpuquota", "gpu_quota", self.gpu_quota(1))
        self.start_scheduler(shipped("gpu-admission", self.start_stowage("gpu-admission")))
        model, pool = "gaia.tencent.com/gpu-model", "gaia.tencent.com/gpu-pool"
        self.add_nodes(vcuda_node("q1", 4, labels={model: "M40", pool: "public"}),
                       vcuda_node("q2", 4, labels={model: "M40", pool: "private"}),
                       vcuda_node("q3", 4, labels={model: "V100", pool: "public"}))
        self.add(vcuda("a", 100))
        self.assertEqual(node_of(self.bound("a")), "q1")
        self.add(vcuda("b", 100))
        # Not Unschedulable: an autoscaler would add a node that the quota refuses as well.
        self.assertIn("ExceedsGPUQuota", self.refused("b", ("SchedulerError",)))
        self.add(vcuda("ours", 100, scheduler="stowage"))
        self.assertIn("used 1000 of 1000", self.refused("ours", ("QuotaExceeded",)))
        # An invalid quota changes nothing.
        self.write("gpuquota", "gpu_quota", "{")
        wait_until("the metric tells", lambda: self.metric("stowage_quota_broken") == 1)
        self.assertEqual(self.bound_names(), ["a"])
        # A larger quota counts at once; kube-scheduler tries again after the next event.
        self.write("gpuquota", "gpu_quota", self.gpu_quota(3))
        self.assertEqual(node_of(self.bound("ours")), "q1")
        self.assertEqual(node_of(self.bound("b")), "q1")
        self.assertEqual(self.metric("stowage_quota_broken"), 0)
        self.add(vcuda("c", 100))
        self.refused("c", ("SchedulerError",))
        self.remove("gpuquota")
        wait_until("the quota is gone", lambda: self.metric("stowage_quota_namespaces") == 0)
        self.bound("c")
        self.over_committed(cards=4)

    def test_our_own_quota_counts_both_schedulers_together(self):
        self.write("stowage-quota", "quota",
                   f"{self.namespace}:\n- model: '*'\n  milli: 1000\n")
        self.start_both()
        self.add_nodes(node("n1", gpus=4))
        self.add(share("a", 50, 1000))
        self.bound("a")
        self.add(share("b", 40, 1000, scheduler="stowage"))
        self.bound("b")
        self.add(share("c", 20, 1000), share("d", 20, 1000, scheduler="stowage"))
        self.assertIn("1 GPU quota of the namespace exceeded (asked 200 milli, used 900 of 1000)",
                      self.refused("c", ("SchedulerError",)))
        self.assertIn("quota", self.refused("d", ("QuotaExceeded",)))
        self.add(share("e", 10, 1000))
        self.bound("e")


class Configurations(ExtenderCase):
    """The files that users start from are valid for this kube-scheduler."""

    def accepts(self, text):
        text = re.sub(r"<[^>\n]*>:<[^>\n]*>", "127.0.0.1:1", text)
        scheduler = KubeScheduler(self.cluster, text)
        self.addCleanup(scheduler.kill)
        return scheduler.accepts()

    def check(self, name, text):
        good, said = self.accepts(text)
        self.assertTrue(good, f"{name}: {said}")

    def test_migrated_configurations_load(self):
        files = sorted(MIGRATE.glob("*.in.*"))
        self.assertGreaterEqual(len(files), 7)
        for file in files:
            with self.subTest(file.name):
                self.check(file.name, migrated(file))

    def test_a_file_that_was_not_migrated_does_not(self):
        good, said = self.accepts((MIGRATE / "vgpu-manager.in.yaml").read_text(encoding="utf-8"))
        self.assertFalse(good)
        self.assertIn("v1beta3", said)

    def test_shipped_configurations_load(self):
        files = [file for file in sorted(SHIPPED.glob("*.yaml")) if file.stem != "controller"]
        self.assertEqual(len(files), 7)
        for file in files:
            with self.subTest(file.name):
                self.check(file.name, file.read_text(encoding="utf-8"))

    def test_the_controllers_side_is_accepted(self):
        done = subprocess.run([program(), "controller", "--check", "--config",
                               SHIPPED / "controller.yaml"], capture_output=True, text=True,
                              check=False, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
