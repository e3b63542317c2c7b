"""Cases: metrics.nvidia.com through the real aggregation layer, filled by real agents.

The API server reaches the controller as in a cluster: by an APIService and a Service, which here
names this machine. Agents have cards from files, and a fake kubelet.
"""
import base64
import http.client
import json
import pathlib
import re
import ssl
import subprocess
import sys
import time

from api import ApiError, wait_until
from case import Case
from cluster import DEPLOY, Process
from objects import node, pod
from replicas import Replica
from subject import SHORT_LEASE, program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "agent"))

import kubelet_double  # noqa: E402

GROUP = "/apis/metrics.nvidia.com/v1alpha1"
REGISTRATION = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.metrics.nvidia.com"
SERVICES = "/api/v1/namespaces/kube-system/services"
SECRET = "/api/v1/namespaces/kube-system/secrets/stowage-metrics-api"
CA_MAP = "/api/v1/namespaces/kube-system/configmaps/stowage-ca"
CONFIG = f"""apiVersion: stowage.dev/v1alpha1
kind: ControllerConfig
leaderElection: {json.dumps(SHORT_LEASE)}
profiles: [{{name: stowage}}]
extenders: [{{preset: nvidia-gpu-scheduler, listen: "127.0.0.1:0"}}]
metricsApi: {{enabled: true, checkEvery: 1s}}
agents: {{listen: "127.0.0.1:0"}}
"""


def cards(model, *ids, busy=0):
    lines = "".join(f"- {{index: {index}, id: {name}, utilisation: {busy}, memoryMiB: 16384}}\n"
                    for index, name in enumerate(ids))
    return f"model: {model}\ncards:\n{lines}"


def with_devices(name, *ids, ns="d"):
    return {"namespace": ns, "name": name, "ended": False, "containers": [
        {"name": "c", "cpus": [], "devices": [
            {"resource": "nvidia.com/gpu", "ids": list(ids), "numa": [0]}]}]}


class Agent:
    """The agent of one node, with its cards, its token, and its kubelet."""

    def __init__(self, case, name, text, kubelet=True):
        self.case, self.name = case, name
        self.folder = case.cluster.folder / f"{case.namespace}-{name}"
        self.folder.mkdir()
        self.cards = self.folder / "cards.yaml"
        self.cards.write_text(text, encoding="utf-8")
        self.kubelet = None
        if kubelet:
            self.kubelet = kubelet_double.Kubelet(kubelet_double.programs(True) / "kubelet",
                                                  self.folder).start()
            case.addCleanup(self.kubelet.stop)
        (self.folder / "token").write_text(self.token("stowage.dev"), encoding="utf-8")
        self.config = case.cluster.kubeconfig(f"agent-{case.namespace}-{name}", self.token())
        self.process = None
        self.start()

    def token(self, *audiences):
        """For a pod of the agent on this node."""
        case, pods = self.case, "/api/v1/namespaces/kube-system/pods"
        agent = f"agent-{case.namespace}-{self.name}"
        try:
            made = case.api.get(f"{pods}/{agent}")
        except ApiError:
            made = case.api.create(pods, pod(agent, {"cpu": "1m"}, nodeName=self.name,
                                             serviceAccountName="stowage-agent"))
            case.addCleanup(lambda: case.api.delete(f"{pods}/{agent}"))
        answer = case.api.create(
            "/api/v1/namespaces/kube-system/serviceaccounts/stowage-agent/token", {
                "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                "spec": {"expirationSeconds": 3600, "audiences": list(audiences),
                         "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": agent,
                                            "uid": made["metadata"]["uid"]}}})
        return answer["status"]["token"]

    def start(self):
        authority = self.folder / "ca.crt"
        authority.write_text(self.case.api.get(CA_MAP)["data"]["ca.crt"], encoding="utf-8")
        self.process = Process(f"agent-{self.name}", [
            program(), "agent", "--node-name", self.name, "--cards", f"fake:{self.cards}",
            "--controller", f"https://localhost:{self.case.port()}", "--server-name",
            "stowage-agents.kube-system.svc", "--ca-file", authority, "--token-file",
            self.folder / "token", "--kubeconfig", self.config, "--podresources",
            self.kubelet.socket if self.kubelet else "", "--listen", "127.0.0.1:0"], self.folder)
        self.case.addCleanup(self.process.kill)


class Kubectl:
    """A kubectl that keeps running, and the lines that it has printed so far."""

    def __init__(self, cluster, *arguments):
        self.out = cluster.folder / f"kubectl-{time.monotonic_ns()}.txt"
        with open(self.out, "wb") as out:
            self.child = subprocess.Popen(
                [str(cluster.binaries / "kubectl"), f"--kubeconfig={cluster.admin_config}",
                 f"--cache-dir={cluster.folder / 'kubectl-cache'}", *arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)

    def text(self):
        return self.out.read_text(encoding="utf-8", errors="replace")

    def lines(self):
        return [line for line in self.text().splitlines() if line.strip()]

    def stop(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()


class MetricsApi(Case):
    starts_subject = False
    needs_cards = True

    def setUp(self):
        super().setUp()
        for path in (SECRET, CA_MAP, f"{SERVICES}/stowage-agents"):
            self.api.raw("DELETE", path)
        self.apply_access()
        self.api.raw("DELETE", f"{SERVICES}/stowage-agents")
        self.cluster.kubectl("apply", "--validate=strict", "-f", DEPLOY / "agent.yaml")
        self.addCleanup(lambda: self.api.raw("DELETE", REGISTRATION))
        config = self.cluster.folder / f"{self.namespace}.yaml"
        config.write_text(CONFIG, encoding="utf-8")
        self.config = config
        self.subject.start(config=config)
        wait_until("agents may know whom to trust", lambda: self.api.get(CA_MAP).get("data"))
        self.api.create(SERVICES, {
            "metadata": {"name": "stowage-agents"},
            "spec": {"type": "ExternalName", "externalName": "localhost"}})
        self.lead_to(self.port())

    def apply_access(self):
        self.cluster.kubectl("apply", "--validate=strict", "-f", DEPLOY / "stowage.yaml", "-l",
                             "stowage.dev/part=access")

    @staticmethod
    def port_of(subject):
        return int(re.findall(r"listening for agents listen=https://127\.0\.0\.1:(\d+)",
                              subject.said())[-1])

    def port(self):
        return self.port_of(self.subject)

    def lead_to(self, port):
        """As if the Service pointed to that replica."""
        self.api.patch(REGISTRATION, {"spec": {"service": {
            "namespace": "kube-system", "name": "stowage-agents", "port": port}}})
        wait_until("the API server passes requests on", self.available, timeout=60,
                   details=lambda: self.api.get(REGISTRATION).get("status"))

    def available(self):
        for each in self.api.get(REGISTRATION).get("status", {}).get("conditions", []):
            if each["type"] == "Available" and each["status"] == "True":
                return self.api.raw("GET", f"{GROUP}/gpuinfos")[0] == 200
        return False

    def names(self, resource):
        return [each["metadata"]["name"] for each in self.api.get(f"{GROUP}/{resource}")["items"]]

    def info(self, name):
        return self.api.get(f"{GROUP}/gpuinfos/{name}")

    def two_nodes(self):
        self.add_nodes(node("n1", gpus=3), node("n2", gpus=2))
        first = Agent(self, "n1", cards("Tesla T4", "g1", "g2", "g3"))
        second = Agent(self, "n2", cards("A100", "h1", "h2", busy=50))
        first.kubelet.set([with_devices("p1", "g1")])
        wait_until("both have told", lambda: all(
            self.info(name)["status"]["node_health"] == "True" for name in ("n1", "n2")))
        wait_until("a pod has a card", lambda: self.names("podresources") == ["d.p1"])
        return first, second

    # ---- what it says

    def test_all_endpoints_through_the_api_server(self):
        first, _ = self.two_nodes()

        def raw(path):
            return json.loads(self.cluster.kubectl("get", "--raw", path))

        self.assertEqual(raw("/apis/metrics.nvidia.com")["versions"][0]["version"], "v1alpha1")
        resources = {each["name"]: each["verbs"] for each in raw(GROUP)["resources"]}
        self.assertEqual(resources["gpuinfos"], ["get", "list", "watch"])
        listed = raw(f"{GROUP}/gpuinfos")
        self.assertEqual((listed["kind"], listed["apiVersion"]), ("List", "v1"))
        one = listed["items"][0]
        self.assertEqual((one["kind"], one["apiVersion"]), ("GpuInfo", "v1alpha1"))
        self.assertEqual(one["spec"]["device_node"], "n1")
        self.assertEqual(one["spec"]["device_models"], {"tesla t4": ["g1", "g2", "g3"]})
        self.assertEqual(one["spec"]["device_busy"], ["g1"])
        self.assertEqual(one["status"]["node_health"], "True")
        pods = raw(f"{GROUP}/podresources")["items"]
        devices = pods[0]["spec"]["containers_device"][0]["device_info"]
        self.assertEqual([each["device_id"] for each in devices], ["g1"])
        code, text = self.api.raw("GET", f"{GROUP}/nonsense")
        self.assertEqual((code, json.loads(text)["msg"]), (404, "api not found"))

        table = self.cluster.kubectl("get", "gpuinfos").splitlines()
        self.assertEqual(table[0].split(), ["NAME", "HEALTH", "CARDS", "BUSY", "MODELS", "LOAD"])
        self.assertRegex(table[1], r"^n1 +Healthy +3 +1 +tesla t4:3 +0%$")
        self.assertRegex(table[2], r"^n2 +Healthy +2 +0 +a100:2 +50%$")
        self.assertRegex(self.cluster.kubectl("get", "podres"), r"\nd/p1 +n1 +c +1\n")
        self.assertIn('"kind": "GpuInfo"', self.cluster.kubectl("get", "gpui", "n2", "-o", "json"))
        self.assertIn("h1", self.cluster.kubectl("get", "gpuinfo", "n2", "-o", "yaml"))

        # A client of the original API: {"Type","Object"} lines.
        old = Kubectl(self.cluster, "get", "--raw", f"{GROUP}/podresources?watch=true")
        self.addCleanup(old.stop)
        # And one of Kubernetes.
        table = Kubectl(self.cluster, "get", "podresources", "--watch")
        self.addCleanup(table.stop)
        wait_until("the first pod is shown", lambda: "p1" in table.text())
        first.kubelet.set([with_devices("p1", "g1"), with_devices("p2", "g2", "g3")])
        wait_until("the second pod is shown", lambda: "p2" in table.text())
        first.kubelet.set([with_devices("p2", "g2", "g3")])
        wait_until("the first has gone", lambda: self.names("podresources") == ["d.p2"])
        wait_until("the old client has seen it", lambda: '"DELETED"' in old.text())
        seen = [json.loads(line) for line in old.lines()]
        told = [(each["Type"], each["Object"]["spec"]["pod_name"]) for each in seen]
        self.assertEqual(told[-2:], [("SYNCED", "p2"), ("DELETED", "p1")])
        self.assertNotIn("containers_device", seen[-1]["Object"]["spec"])
        self.assertEqual(self.info("n1")["spec"]["device_busy"], ["g2", "g3"])

    def test_questions_of_kube_scheduler_and_the_nodes_of_vectors_g(self):
        self.add_nodes(*(node(name, gpus=count) for name, count in
                         (("n1", 3), ("n2", 3), ("n3", 1), ("n4", 1), ("n5", 0))))
        first = Agent(self, "n1", cards("Tesla T4", "g1", "g2", "g3"))
        third = "- {index: 2, id: h3, model: A100, memoryMiB: 40960}\n"
        Agent(self, "n2", cards("Tesla T4", "h1", "h2") + third, kubelet=False)
        Agent(self, "n3", cards("A100", "k1"), kubelet=False)
        silent = Agent(self, "n4", cards("Tesla T4", "m1"), kubelet=False)
        known = ["n1", "n2", "n3", "n4"]
        wait_until("all are known", lambda: self.names("gpuinfos") == known)
        wait_until("all have told", lambda: all(
            self.info(name)["status"]["node_health"] == "True" for name in known))
        holder = pod("holder", {"nvidia.com/gpu": "1"}, nodeName="n1")
        self.add(holder)
        first.kubelet.set([with_devices("holder", "g1", ns=self.namespace)])
        silent.process.kill()
        wait_until("n4 is silent", lambda: self.info("n4")["status"]["node_health"] == "False")
        wait_until("g1 is busy", lambda: self.info("n1")["spec"]["device_busy"] == ["g1"])
        rows = ((None, 1, ["n1", "n2", "n3", "n4", "n5"]), ("Tesla T4", 1, ["n1", "n2"]),
                ("Tesla T4", 3, []), ("T4", 1, []))
        for number, (model, count, want) in enumerate(rows):
            with self.subTest(model=model, count=count):
                # It exists: the pre-allocation is written on it before the answer.
                [asking] = self.add(pod(
                    f"asking-{number}", {"nvidia.com/gpu": str(count)}, scheduler="theirs",
                    annotations={"nvidia.com/gpu.model": model} if model else {}))
                question = {"Pod": asking, "NodeNames": ["n1", "n2", "n3", "n4", "n5"]}
                answer = self.api.create(f"{GROUP}/schedule/filter", question)
                self.assertEqual(sorted(answer["NodeNames"] or []), want, answer)
                if model == "Tesla T4" and count == 1:
                    self.assertIn("silent", answer["FailedAndUnresolvableNodes"]["n4"])
                    scores = {each["Host"]: each["Score"] for each in
                              self.api.create(f"{GROUP}/schedule/prioritize", question)}
                    self.assertEqual((scores["n1"] > 0, scores["n2"] > 0), (True, True), scores)
                    self.assertEqual((scores["n3"], scores["n4"], scores["n5"]), (0, 0, 0))

    # ---- who may

    def test_who_may_not_is_refused(self):
        self.two_nodes()
        nobody = self.cluster.api_as(token=self.cluster.tokens["nobody"])
        code, text = nobody.raw("GET", f"{GROUP}/gpuinfos")
        self.assertEqual(code, 403, text)
        self.assertIn("nobody", text)
        self.assertEqual(nobody.raw("POST", f"{GROUP}/schedule/filter", {})[0], 403)
        self.assertEqual(self.cluster.api_as().raw("GET", f"{GROUP}/gpuinfos")[0], 403)
        # A user that may see pods may see their cards.
        rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        self.api.create(rbac, {
            "metadata": {"name": self.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                        "name": "stowage-view"},
            "subjects": [{"kind": "User", "name": "nobody",
                          "apiGroup": "rbac.authorization.k8s.io"}]})
        self.addCleanup(lambda: self.api.delete(f"{rbac}/{self.namespace}"))
        wait_until("they may look", lambda: nobody.raw("GET", f"{GROUP}/gpuinfos")[0] == 200)
        self.assertEqual(nobody.raw("POST", f"{GROUP}/schedule/filter", {})[0], 403)

    def test_the_front_proxy_alone_speaks_for_others(self):
        forged = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
        authority = self.api.get(CA_MAP)["data"]["ca.crt"]

        def ask(certificate=None, headers=None):
            context = ssl.create_default_context(cadata=authority)
            context.check_hostname = False  # its certificate is for the Service
            if certificate:
                context.load_cert_chain(*map(str, certificate))
            connection = http.client.HTTPSConnection("localhost", self.port(), context=context,
                                                     timeout=10)
            try:
                connection.request("GET", f"{GROUP}/gpuinfos", headers=headers or {})
                return connection.getresponse().status
            finally:
                connection.close()

        self.assertEqual(ask(), 401)
        self.assertEqual(ask(headers=forged), 401, "headers of somebody who is not the proxy")
        stranger = self.cluster.front_proxy.sign("stranger", "/CN=stranger", "clientAuth")
        self.assertEqual(ask(stranger, forged), 401, "a name that is not allowed")
        user = self.cluster.certificates.sign("someone", "/CN=someone", "clientAuth")
        self.assertEqual(ask(user, forged), 403, "a user is who the certificate says")
        self.assertEqual(ask(self.cluster.proxy, forged), 200)
        self.assertEqual(ask(self.cluster.users["admin"]), 200)

    # ---- certificates and replicas

    def served(self):
        """The serial number of the certificate that new connections get."""
        pem = ssl.get_server_certificate(("localhost", self.port()))
        return subprocess.run(["openssl", "x509", "-noout", "-serial"], input=pem, text=True,
                              check=True, stdout=subprocess.PIPE).stdout.strip()

    def caught_up(self, watch, agent, step):
        """Waits until a new pod is in the list and in the watch."""
        agent.kubelet.set([with_devices(f"step-{step}", "g2")])
        wait_until(f"step {step} is listed",
                   lambda: self.api.raw("GET", f"{GROUP}/podresources")[0] == 200
                   and self.names("podresources") == [f"d.step-{step}"])
        wait_until(f"step {step} is seen", lambda: f"step-{step}" in watch.text())

    def test_certificates_change_under_a_running_watch(self):
        agent, _ = self.two_nodes()
        watch = Kubectl(self.cluster, "get", "--raw", f"{GROUP}/podresources?watch=true")
        self.addCleanup(watch.stop)
        self.caught_up(watch, agent, 1)
        before, bundle = self.served(), self.api.get(REGISTRATION)["spec"]["caBundle"]
        self.api.patch(SECRET, {"data": {"tls.crt": None, "tls.key": None}})
        wait_until("there is a new certificate", lambda: self.served() != before)
        self.assertEqual(self.api.get(REGISTRATION)["spec"]["caBundle"], bundle, "same authority")
        self.caught_up(watch, agent, 2)
        # The secret is deleted: the certificate in use stays, and is written again once it can be.
        self.api.raw("DELETE", SECRET)
        wait_until("it is said", lambda: "create the secret kube-system/" in self.subject.said())
        before = self.served()
        self.caught_up(watch, agent, "lost")
        self.apply_access()
        wait_until("they are kept again",
                   lambda: self.api.get(SECRET).get("data", {}).get("ca.key"))
        self.assertEqual(self.served(), before)
        self.assertEqual(self.api.get(REGISTRATION)["spec"]["caBundle"], bundle)
        # A new authority, on request, which all clients learn of.
        self.api.patch(SECRET, {"data": {"ca.crt": None, "ca.key": None}})
        wait_until("there is a new authority",
                   lambda: self.api.get(REGISTRATION)["spec"]["caBundle"] != bundle)
        wait_until("and a new certificate", lambda: self.served() != before)
        told = base64.b64decode(self.api.get(REGISTRATION)["spec"]["caBundle"]).decode()
        wait_until("agents are told", lambda: self.api.get(CA_MAP)["data"]["ca.crt"] == told)
        wait_until("the API server trusts it", self.available, timeout=60)
        self.caught_up(watch, agent, 3)
        self.assertIsNone(watch.child.poll(), "the watch goes on all the time")
        # An agent that starts now trusts the new one.
        agent.process.kill()
        agent.start()
        self.caught_up(watch, agent, 4)

    def test_a_replica_without_a_token_is_known_by_its_certificate(self):
        self.two_nodes()
        certificate = self.cluster.certificates.sign("replica", "/CN=replica", "clientAuth")
        rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        self.api.create(rbac, {
            "metadata": {"name": self.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                        "name": "cluster-admin"},
            "subjects": [{"kind": "User", "name": "replica",
                          "apiGroup": "rbac.authorization.k8s.io"}]})
        self.addCleanup(lambda: self.api.delete(f"{rbac}/{self.namespace}"))
        standby = Replica(self.cluster, "third").start(
            kubeconfig=self.cluster.kubeconfig("replica", certificate=certificate),
            config=self.config)
        self.addCleanup(standby.kill)
        self.lead_to(self.port_of(standby))
        wait_until("the leader answers it", lambda: self.names("gpuinfos") == ["n1", "n2"])
        wait_until("by way of it", lambda: standby.metric(
            'stowage_metrics_api_forwarded_total{outcome="answered"}') > 0)

    def test_a_replica_that_does_not_lead_passes_requests_on(self):
        agent, _ = self.two_nodes()
        standby = Replica(self.cluster, "second").start(config=self.config)
        self.addCleanup(standby.kill)
        self.lead_to(self.port_of(standby))
        wait_until("it knows who leads", lambda: self.names("gpuinfos") == ["n1", "n2"])
        watch = Kubectl(self.cluster, "get", "--raw", f"{GROUP}/podresources?watch=true")
        self.addCleanup(watch.stop)
        self.caught_up(watch, agent, 1)
        nobody = self.cluster.api_as(token=self.cluster.tokens["nobody"])
        self.assertEqual(nobody.raw("GET", f"{GROUP}/gpuinfos")[0], 403)
        self.assertGreater(
            standby.metric('stowage_metrics_api_forwarded_total{outcome="answered"}'), 0)
        # The leader dies: agents find the other replica, and it answers.
        self.subject.kill()
        wait_until("the other one leads", standby.leads, timeout=30)
        wait_until("and knows what there is", lambda: self.api.raw(
            "GET", f"{GROUP}/gpuinfos")[0] == 200 and self.names("gpuinfos") == ["n1", "n2"])
