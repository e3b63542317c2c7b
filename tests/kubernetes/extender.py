"""Cases: Stowage as an extender of the real kube-scheduler."""
import collections
import json
import re
import ssl
import subprocess
import urllib.error
import urllib.request

from api import wait_until
from case import Case
from cluster import free_port
from kube_scheduler import KubeScheduler, config, extender, moved, shipped
from objects import CARD_MIB, GPUS, cards_of, condition, node, node_of, pod, wrong_cards
from subject import REPOSITORY, SHORT_LEASE, program

CORE, MEMORY = "stowage.dev/gpu-core", "stowage.dev/gpu-memory"
EXAMPLES = REPOSITORY / "examples"
MIGRATE = REPOSITORY / "tests" / "client" / "migrate"
THEIRS = "default-scheduler"


def share(name, percent, memory_mib, scheduler=THEIRS, **more):
    """A pod that asks for a share of one card."""
    return pod(name, {CORE: str(percent), MEMORY: str(memory_mib)}, scheduler=scheduler, **more)


def plain_node(name, annotations=None, labels=None, **resources):
    """A node whose cards are described only by resources and annotations of a dialect."""
    return node(name, gpus=0, annotations=annotations, labels=labels, **resources)


def annotation(value, name):
    return value["metadata"].get("annotations", {}).get(name)


def label(value, name):
    return value["metadata"].get("labels", {}).get(name)


class ExtenderCase(Case):
    """A case with Stowage as the extender of a kube-scheduler."""

    starts_subject = False
    needs_cards = True

    def setUp(self):
        super().setUp()
        if not self.cluster.has("kube-scheduler"):
            self.skipTest("no kube-scheduler")

    def start_stowage(self, preset="stowage", tls=None, **more):
        """Starts the controller with one extender; returns its address."""
        port = free_port()
        stanza = {"preset": preset, "name": "tested", "listen": f"127.0.0.1:{port}", **more}
        if tls:
            stanza["tls"] = tls
        self.config = self.cluster.folder / f"extender-{port}.yaml"
        self.config.write_text(json.dumps({"profiles": [{"name": "stowage"}],
                                           "leaderElection": SHORT_LEASE,
                                           "extenders": [stanza]}, default=str),
                               encoding="utf-8")
        self.subject.start(config=self.config)
        return f"{'https' if tls else 'http'}://127.0.0.1:{port}"

    def certificates(self):
        certificate, key = self.cluster.certificates.sign(
            "extender", "/CN=stowage", "serverAuth", "IP:127.0.0.1")
        return {"certFile": certificate, "keyFile": key}

    def start_scheduler(self, text):
        self.scheduler = KubeScheduler(self.cluster, text)
        self.addCleanup(self.scheduler.kill)
        return self.scheduler.start()

    def start_both(self, *resources, preset="stowage", **more):
        """Both, on our own routes."""
        address = self.start_stowage(preset)
        return self.start_scheduler(config(extender(address, *(resources or (CORE, MEMORY)),
                                                    **more)))

    def apply_example(self, name, scheduler=THEIRS):
        """Pods of an example, comments stripped, for another scheduler."""
        text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
        text = re.sub(r"(^|\s)#.*", "", text)
        text = re.sub(r"schedulerName: .*", f"schedulerName: {scheduler}", text)
        self.cluster.kubectl("create", "-n", self.namespace, "-f", "-", text=text)

    def calls(self, verb, what="calls"):
        """How often kube-scheduler called, or got an error, from our metrics."""
        text = self.subject.get("/metrics")[1]
        found = re.search(rf'^stowage_extender_{what}_total{{[^}}]*verb="{verb}"}} (\S+)$', text,
                          re.M)
        return int(float(found.group(1)))

    def over_committed(self, cards=1, card_mib=CARD_MIB):
        self.assertEqual(wrong_cards(self.api.list(self.pods), cards, card_mib), [])

    def bound_names(self):
        return sorted(value["metadata"]["name"] for value in self.api.list(self.pods)
                      if node_of(value))


class Protocol(ExtenderCase):
    """The two forms of a request, with and without certificates."""

    def check(self, address, **more):
        self.start_scheduler(config(extender(address, CORE, MEMORY, **more)))
        self.add_nodes(node("n1", gpus=1), node("n2", gpus=1), node("n3", gpus=0))
        self.add(share("a", 60, 1000))
        first = self.bound("a")
        self.add(share("b", 60, 1000), share("c", 60, 1000))
        wait_until("one of them is bound", lambda: len(self.bound_names()) == 2)
        left, = {"b", "c"} - set(self.bound_names())
        message = self.refused(left)
        self.assertIn("0/3 nodes are available: 1 node(s) had no GPU, 2 insufficient GPU compute.",
                      message)
        self.assertIn("node", json.loads(annotation(first, GPUS)))
        self.over_committed()
        for verb in ("filter", "prioritize", "bind"):
            self.assertGreater(self.calls(verb), 0, verb)
            self.assertEqual(self.calls(verb, "errors"), 0, verb)

    def test_names_over_http(self):
        self.check(self.start_stowage(mode="bind"))

    def test_whole_nodes_over_http(self):
        self.check(self.start_stowage(mode="bind"), nodeCacheCapable=False)

    def test_names_over_https(self):
        self.check(self.start_stowage(mode="bind", tls=self.certificates()), enableHTTPS=True,
                   tlsConfig={"caFile": str(self.cluster.certificates.ca)})

    def test_a_certificate_that_changes_is_used(self):
        files = self.certificates()
        address = self.start_stowage(mode="bind", tls=files)
        self.start_scheduler(config(extender(
            address, CORE, MEMORY, enableHTTPS=True, httpTimeout="2s",
            tlsConfig={"caFile": str(self.cluster.certificates.ca)})))
        self.add_nodes(node("n1", gpus=1))
        self.add(share("a", 10, 1000))
        self.bound("a")
        files["certFile"].write_text("half of a certificate", encoding="utf-8")
        wait_until("it is not taken", lambda: "keeping the old ones" in self.subject.said())
        self.add(share("b", 10, 1000))
        self.bound("b")
        self.certificates()  # the same files with new certificates
        wait_until("it is taken", lambda: "certificates reloaded" in self.subject.said())
        self.add(share("c", 10, 1000))
        self.bound("c")

    def test_whole_nodes_over_https_with_client_certificates(self):
        ca = self.cluster.certificates.ca
        files = {**self.certificates(), "clientCAFile": ca, "clientCertRequired": True}
        address = self.start_stowage(mode="bind", tls=files)
        with self.assertRaises((urllib.error.URLError, ssl.SSLError, OSError)):
            context = ssl.create_default_context(cafile=str(ca))
            urllib.request.urlopen(f"{address}/healthz", timeout=10, context=context)
        certificate, key = self.cluster.users["kube-scheduler"]
        self.check(address, nodeCacheCapable=False, enableHTTPS=True, tlsConfig={
            "caFile": str(ca), "certFile": str(certificate), "keyFile": str(key)})


class Dialects(ExtenderCase):
    """The pods that users of each system write, with the configuration that we ship for it."""

    def start_shipped(self, name, preset=None):
        return self.start_scheduler(shipped(name, self.start_stowage(preset or name)))

    def start_migrated(self, file, preset, tls=None, scheduler=None):
        """With the configuration of the system's README, migrated, and the address changed."""
        text = migrated(MIGRATE / file)
        if scheduler:
            text = re.sub(r"schedulerName: .*", f"schedulerName: {scheduler}", text)
        return self.start_scheduler(moved(text, self.start_stowage(preset, tls)))

    def test_elastic_gpu_scheduler(self):
        self.start_shipped("elastic-gpu-scheduler")
        self.check_elastic()

    def test_elastic_gpu_scheduler_migrated(self):
        self.start_migrated("elastic.in.json", "elastic-gpu-scheduler")
        self.check_elastic()

    def check_elastic(self):
        self.add_nodes(
            plain_node("e1", **{"elasticgpu.io/gpu-core": "300",
                                "elasticgpu.io/gpu-memory": "49152"}),
            plain_node("m1", **{"nano-gpu/gpu-percent": "200"}))
        self.apply_example("elastic-gpu")
        value = self.bound("elastic-memory")
        self.assertEqual(annotation(value, "elasticgpu.io/assumed"), "true")
        self.assertEqual(label(value, "elasticgpu.io/assumed"), "true")
        self.assertRegex(annotation(value, "elasticgpu.io/container-main"), r"^[012]$")
        value = self.bound("elastic-cards")
        self.assertRegex(annotation(value, "elasticgpu.io/container-main"), r"^[012],[012]$")
        self.assertEqual(len(cards_of(value)["main"]), 2)
        value = self.bound("nano-share")
        self.assertEqual(node_of(value), "m1")
        if "nano-gpu" not in self.scheduler.config.read_text(encoding="utf-8"):
            return  # its README does not mention its predecessor
        self.assertEqual(annotation(value, "nano-gpu/container-main"), "0")
        self.assertEqual(annotation(value, "nano-gpu/assume"), "true")

    def check_promised(self, value, prefix):
        self.assertEqual(annotation(value, prefix + "predicate-node"), node_of(value))
        self.assertEqual(annotation(value, prefix + "gpu-assigned"), "false")
        self.assertRegex(annotation(value, prefix + "predicate-time"), r"^\d{19}$")

    def check_gpu_admission(self):
        self.add_nodes(*(plain_node(name, **{"tencent.com/vcuda-core": "200",
                                             "tencent.com/vcuda-memory": "120"})
                         for name in ("t1", "t2")))
        self.apply_example("gpu-admission", "gpu-scheduler")
        value = self.bound("vcuda-share")
        self.check_promised(value, "tencent.com/")
        self.assertRegex(annotation(value, "tencent.com/predicate-gpu-idx-0"), r"^[01]$")
        value = self.bound("vcuda-whole")
        self.check_promised(value, "tencent.com/")
        self.assertEqual(annotation(value, "tencent.com/predicate-gpu-idx-0"), "0,1")
        self.assertEqual(self.calls("bind"), 0)

    def test_gpu_admission(self):
        self.start_shipped("gpu-admission")
        self.check_gpu_admission()

    def test_gpu_admission_migrated(self):
        """Full Node objects, no managed resources."""
        self.start_migrated("gpu-admission.in.json", "gpu-admission", scheduler="gpu-scheduler")
        self.check_gpu_admission()

    def test_the_fork_of_gpu_admission(self):
        self.start_shipped("gpu-admission-fork", "gpu-admission")
        self.check_fork()

    def test_the_fork_of_gpu_admission_migrated(self):
        self.start_migrated("gpu-admission-fork.in.yaml", "gpu-admission")
        self.check_fork()

    def check_fork(self):
        cards = [{"id": index, "core": 100, "memory": 24564, "type": kind, "isMig": False,
                  "health": True} for index, kind in enumerate(("Tesla T4", "NVIDIA A10"))]
        self.add_nodes(plain_node(
            "f1", annotations={"tydic.io/nvidia-device-register": json.dumps(cards)},
            **{"nvidia.com/vcuda-core": "200", "nvidia.com/vcuda-memory": "49128"}))
        self.apply_example("gpu-admission-mib", "gpu-scheduler")
        value = self.bound("vcuda-a10")
        self.check_promised(value, "nvidia.com/")
        for position in (0, 1):
            self.assertEqual(annotation(value, f"nvidia.com/predicate-gpu-idx-{position}"), "1")
        self.assertEqual(label(value, "tydic.io/bind-phase"), "allocating")
        self.assertRegex(label(value, "tydic.io/bind-time"), r"^\d+$")
        self.assertEqual(self.calls("bind"), 1)

    def test_vgpu_manager(self):
        self.start_shipped("vgpu-manager")
        self.check_vgpu_manager()

    def test_vgpu_manager_migrated(self):
        """HTTPS, with a certificate that is not verified."""
        self.start_migrated("vgpu-manager.in.yaml", "vgpu-manager", self.certificates())
        self.check_vgpu_manager()

    def check_vgpu_manager(self):
        self.add_nodes(*(vgpu_node(name, "NVIDIA A100-SXM4-80GB") for name in ("v1", "v2")),
                       vgpu_node("v3", "Tesla T4"))
        self.apply_example("vgpu-manager", "vgpu-scheduler")
        value = self.bound("vgpu-share")
        where = node_of(value)
        self.assertIn(where, ("v1", "v2"))
        self.assertEqual(annotation(value, "nvidia.com/predicate-node"), where)
        self.assertRegex(annotation(value, "nvidia.com/predicate-time"), r"^\d{19}$")
        self.assertRegex(annotation(value, "nvidia.com/pre-allocated"),
                         rf"^main\[([01])_GPU-{where}-\1_10_1024\]$")
        self.assertEqual(label(value, "nvidia.com/assigned-phase"), "allocating")
        self.assertEqual(label(value, "nvidia.com/metrics-node"), where)
        value = self.bound("vgpu-whole")
        self.assertEqual(len(cards_of(value)["main"]), 2)

    def test_nvidia_gpu_scheduler(self):
        self.start_shipped("nvidia-gpu-scheduler")
        self.check_nvidia()

    def test_nvidia_gpu_scheduler_migrated(self):
        """HTTPS with certificates on both sides."""
        tls = {**self.certificates(), "clientCAFile": self.cluster.certificates.ca,
               "clientCertRequired": True}
        self.start_migrated("nvidia-gpu-scheduler.in.yaml", "nvidia-gpu-scheduler", tls)
        self.check_nvidia()

    def check_nvidia(self):
        """The device plugin chooses the cards, so none are named."""
        t4 = {"nvidia.com/gpu.product": "Tesla-T4"}
        self.add_nodes(node("a1", gpus=8), *(node(name, gpus=8, labels=t4)
                                             for name in ("t1", "t2")))
        self.apply_example("nvidia-gpu-scheduler")
        value = self.bound("two-t4")
        self.assertIn(node_of(value), ("t1", "t2"))
        self.assertIsNone(annotation(value, GPUS))
        self.assertEqual(self.calls("bind"), 0)
        wish = {"nvidia.com/gpu.model": "Tesla T4"}
        self.add(*(pod(f"p{number}", scheduler=THEIRS, annotations=wish) for number in range(4)))
        used = collections.Counter(node_of(one) for one in self.all_bound(5))
        self.assertNotIn("a1", used)

    def test_alnair(self):
        self.start_shipped("alnair")
        self.check_alnair()

    def test_alnair_migrated(self):
        self.start_migrated("alnair.in.yaml", "alnair")
        self.check_alnair()

    def check_alnair(self):
        self.add_nodes(plain_node("k1", annotations={
            "ai.centaurus.io/physical-gpu-count": "2",
            "ai.centaurus.io/physical-gpu-uuids": "GPU-a,GPU-b",
            "ai.centaurus.io/vitual-gpu-count": "10,10"},
            **{"alnair/vgpu-memory": "20", "alnair/vgpu-compute": "200"}))
        self.apply_example("alnair")
        cards = {}
        for number in (1, 2, 3):
            value = self.bound(f"vgpu-{number}")
            self.assertRegex(annotation(value, "ai.centaurus.io/scheduler-timestamp"), r"^\d{19}$")
            cards[number] = cards_of(value)["main"][0][0]
        # 4 and 6 GiB fill one card of 10, 6 need another.
        self.assertEqual(len(set(cards.values())), 2)

    def test_our_own(self):
        self.start_shipped("stowage")
        self.add_nodes(node("n1", gpus=4), node("n2", gpus=4))
        self.apply_example("shares")
        self.assertEqual(cards_of(self.bound("half-a-card"))["main"][0][1:], (500, 20480))
        self.assertEqual(len(cards_of(self.bound("two-cards"))["main"]), 2)
        self.assertIn("2 Insufficient nvidia.com/gpu", self.refused("too-big"))

    def test_an_absurd_request_is_refused_with_what_to_write(self):
        self.start_shipped("elastic-gpu-scheduler")
        self.add_nodes(plain_node("e1", **{"elasticgpu.io/gpu-core": "300"}))
        self.add(pod("a", {"elasticgpu.io/gpu-core": "150"}, scheduler=THEIRS))
        # The first attempt may come before the nodes.
        wait_until("it says what to write", lambda: re.search(
            "100.*200", condition(self.pod("a")).get("message", "")))


def vgpu_node(name, model, cards=2, split=10):
    register = [{"id": index, "uuid": f"GPU-{name}-{index}", "core": 100, "memory": 24000,
                 "type": model, "mig": False, "busId": f"0000:0{index}:00.0", "number": split,
                 "numa": 0, "capability": 8.0, "healthy": True} for index in range(cards)]
    setting = {"deviceSplit": split, "coresScaling": 1, "memoryFactor": 1, "memoryScaling": 1}
    return plain_node(name, annotations={
        "nvidia.com/node-device-register": json.dumps(register),
        "nvidia.com/node-config-info": json.dumps(setting)},
        **{"nvidia.com/vgpu-number": str(cards * split)})


def migrated(file):
    done = subprocess.run([program(), "migrate", "scheduler-config", str(file)], check=False,
                          timeout=30, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise AssertionError(f"{file.name}: {done.stderr}")
    return done.stdout
