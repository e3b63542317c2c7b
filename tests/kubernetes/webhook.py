"""Cases: the admission webhook, and what the controller publishes on nodes, on the real API server.

The API server reaches the replicas as in metrics_api.py: by a Service that names this machine, and
the port of the replica that a case wants to be asked.
"""
import json
import socket
import ssl
import types

import metrics_api
from api import ApiError, wait_until
from case import Case
from cluster import DEPLOY
from metrics_api import CA_MAP, SECRET, SERVICES
from objects import node, node_of, pod, whole_number
from replicas import Replica
from subject import SHORT_LEASE

HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
RECORD = "stowage.dev/node-resources"
INVENTORY = "stowage.dev/gpu-inventory"
ATTACHMENT, INIT_ATTACHMENT = "stowage.dev/attachment", "stowage.dev/init-attachment"
SHARE = {"stowage.dev/gpu-core": "50"}
VOID = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
CONFIG = f"""apiVersion: stowage.dev/v1alpha1
kind: ControllerConfig
leaderElection: {json.dumps(SHORT_LEASE)}
profiles: [{{name: stowage}}]
metricsApi: {{enabled: true, checkEvery: 1s}}
agents: {{listen: "127.0.0.1:0", silentAfter: 1h}}
nodeResources: {{enabled: true, gpuRequestsPerCard: 4}}
webhook: {{enabled: true}}
"""


class Served(Case):
    """Two replicas that serve agents and the webhook."""

    starts_subject = False
    needs_cards = True

    def setUp(self):
        super().setUp()
        for path in (SECRET, CA_MAP, f"{SERVICES}/stowage-agents"):
            self.api.raw("DELETE", path)
        self.cluster.kubectl("apply", "--validate=strict", "-f", DEPLOY / "stowage.yaml", "-l",
                             "stowage.dev/part=access")
        self.api.raw("DELETE", f"{SERVICES}/stowage-agents")
        self.api.create(SERVICES, {
            "metadata": {"name": "stowage-agents"},
            "spec": {"type": "ExternalName", "externalName": "localhost"}})
        config = self.cluster.folder / f"{self.namespace}.yaml"
        config.write_text(CONFIG, encoding="utf-8")
        self.replicas = [Replica(self.cluster, f"{self.namespace}-{name}") for name in "ab"]
        for replica in self.replicas:
            replica.default_config = config
            self.addCleanup(replica.discard)
            replica.start()
        wait_until("agents may know whom to trust", lambda: self.api.get(CA_MAP).get("data"))

    def leader(self):
        return wait_until("one leads", lambda: next(
            (each for each in self.replicas if each.leads()), None))

    def port(self, replica=None):
        return metrics_api.MetricsApi.port_of(replica or self.leader())


class Webhook(Served):
    def setUp(self):
        super().setUp()
        self.cluster.kubectl("apply", "--validate=strict", "-f", DEPLOY / "webhook.yaml")
        self.addCleanup(lambda: self.api.raw("DELETE", f"{HOOKS}/stowage"))
        self.ask(self.leader())

    def hooks(self):
        return self.api.get(f"{HOOKS}/stowage")["webhooks"]

    def ask(self, replica):
        """As if the Service pointed to that replica."""
        operations = [{"op": "replace", "path": f"/webhooks/{index}/clientConfig/service/port",
                       "value": self.port(replica)} for index in range(len(self.hooks()))]
        self.api.request("PATCH", f"{HOOKS}/stowage", operations, "application/json-patch+json")
        wait_until("the API server may trust it", lambda: all(
            each["clientConfig"].get("caBundle") for each in self.hooks()))

        def answers():
            try:
                return ATTACHMENT in self.limits(self.dry_run(pod("probe", SHARE)))
            except ApiError:
                return False
        wait_until("pods are reviewed", answers, timeout=60)

    def dry_run(self, value, namespace=None):
        pods = f"/api/v1/namespaces/{namespace}/pods" if namespace else self.pods
        return self.api.create(f"{pods}?dryRun=All", value)

    @staticmethod
    def limits(value, index=0, kind="containers"):
        return value["spec"][kind][index]["resources"].get("limits", {})

    def refusal(self, value):
        with self.assertRaises(ApiError) as caught:
            self.api.create(self.pods, value)
        return caught.exception

    def test_pods_get_what_their_cards_need(self):
        [made] = self.add(pod("shares", SHARE, {}, {"elasticgpu.io/gpu-memory": "256"}))
        containers = made["spec"]["containers"]
        for index in (0, 2):
            resources = containers[index]["resources"]
            self.assertEqual(resources["limits"][ATTACHMENT], "1")
            self.assertEqual(resources["requests"][ATTACHMENT], "1")
        self.assertNotIn("limits", containers[1]["resources"])
        self.assertEqual([each.get("env") for each in containers], [None, VOID, None])
        again = dict(made, metadata={"name": "again"})
        again["spec"] = {key: value for key, value in made["spec"].items()
                         if key in ("containers", "schedulerName")}
        [same] = self.add(again)
        for one, two in zip(containers, same["spec"]["containers"]):
            self.assertEqual(one["resources"], two["resources"])
            self.assertEqual(one.get("env"), two.get("env"))

    def test_init_containers_are_told_apart(self):
        init = [{"name": f"i{index}", "image": "none", "resources": {"limits": dict(SHARE)}}
                for index in range(3)]
        init[1]["restartPolicy"] = "Always"
        made = self.dry_run(pod("inits", {}, initContainers=init))
        given = [self.limits(made, index, "initContainers") for index in range(3)]
        self.assertEqual([(each.get(ATTACHMENT), each.get(INIT_ATTACHMENT)) for each in given],
                         [(None, "1"), ("1", None), (None, "2")])

    def test_misspelled_names_are_refused_with_the_right_word(self):
        rows = ((pod("p", {"stowage.dev/gpu-cores": "50"}), "stowage.dev/gpu-core?"),
                (pod("p", SHARE, annotations={"stowage.dev/gpu-modle": "A100"}),
                 "stowage.dev/gpu-model?"))
        for value, words in rows:
            error = self.refusal(value)
            self.assertEqual(error.code, 422, error)
            self.assertIn(f"did you mean {words}", error.message)

    def test_who_asks_for_nothing_gets_nothing(self):
        plain = pod("plain", {}, scheduler="default-scheduler")
        plain["spec"]["containers"][0]["env"] = [
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
        self.assertEqual(self.dry_run(plain)["spec"]["containers"][0]["env"], VOID)
        asks = self.dry_run(pod("asks"))
        self.assertNotIn("env", asks["spec"]["containers"][0], "another plugin's card")
        kept = plain["spec"]["containers"][0]["env"]
        system = self.dry_run(plain, "kube-system")
        self.assertEqual(system["spec"]["containers"][0]["env"], kept)
        self.api.patch(f"/api/v1/namespaces/{self.namespace}", {
            "metadata": {"labels": {"stowage.dev/visible-devices": "unrestricted"}}})
        wait_until("the label counts", lambda: (
            self.dry_run(plain)["spec"]["containers"][0]["env"] == kept))

    def test_a_namespace_has_a_default_scheduler(self):
        named = [pod(name, amounts, scheduler=scheduler) for name, amounts, scheduler in (
            ("cards", SHARE, "default-scheduler"), ("plain", {}, "default-scheduler"),
            ("other", SHARE, "theirs"))]
        self.assertEqual(self.dry_run(named[0])["spec"]["schedulerName"], "default-scheduler")
        self.api.patch(f"/api/v1/namespaces/{self.namespace}", {
            "metadata": {"labels": {"stowage.dev/scheduler": "stowage"}}})
        wait_until("the label counts", lambda: (
            self.dry_run(named[0])["spec"]["schedulerName"] == "stowage"))
        self.assertEqual([self.dry_run(each)["spec"]["schedulerName"] for each in named],
                         ["stowage", "default-scheduler", "theirs"])

    def test_every_replica_answers_and_without_any_other_pods_are_created(self):
        standby = next(each for each in self.replicas if each is not self.leader())
        self.ask(standby)
        for replica in self.replicas:
            replica.kill()
        error = self.refusal(pod("shares", SHARE))
        self.assertIn("failed calling webhook \"pods.stowage.dev\"", error.message)
        wish = pod("wish", {}, annotations={"stowage.dev/policy": "spread"})
        self.assertIn("failed calling webhook", self.refusal(wish).message)
        for value in (pod("plain", {}), pod("theirs", {"nvidia.com/gpu": "1"})):
            [made] = self.add(value)
            self.assertNotIn("env", made["spec"]["containers"][0])


class NodeResources(Served):
    def stream(self, name):
        """The stream of an agent on that node."""
        agent = types.SimpleNamespace(case=self, name=name)
        token = metrics_api.Agent.token(agent, "stowage.dev")
        context = ssl.create_default_context(cadata=self.api.get(CA_MAP)["data"]["ca.crt"])
        context.check_hostname = False  # its certificate is for the Service
        plain = socket.create_connection(("localhost", self.port()), timeout=30)
        stream = context.wrap_socket(plain)
        self.addCleanup(stream.close)
        stream.sendall((
            "GET /agent/v1/reports HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
            f"Upgrade: stowage-agent/1\r\nAuthorization: Bearer {token}\r\n\r\n").encode())
        self.assertIn(b" 101 ", stream.recv(4096))
        return stream

    @staticmethod
    def say(stream, **report):
        stream.sendall(json.dumps(report).encode() + b"\n")

    def offers(self, field):
        status = self.api.get("/api/v1/nodes/n1")["status"][field]
        return {name: whole_number(amount) for name, amount in status.items()
                if name.startswith(("stowage.dev/", "nano-gpu/", "elasticgpu.io/"))}

    def test_a_node_offers_what_its_cards_are_worth(self):
        self.cluster.kubectl("apply", "--validate=strict", "-f", DEPLOY / "agent.yaml", "-l",
                             "stowage.dev/part=access")
        inventory = json.dumps({"version": 1, "cards": [
            {"id": f"GPU-{index}", "index": index, "memoryMiB": 81920} for index in (0, 1)]})
        foreign = {"elasticgpu.io/gpu-core": "7"}
        self.add_nodes(node("n1", gpus=0, annotations={INVENTORY: inventory}, **foreign))
        stream = self.stream("n1")
        plugin = {"registered": True, "resources": [ATTACHMENT, INIT_ATTACHMENT]}
        self.say(stream, version=1, node="n1", agent="test", plugin=plugin)
        wanted = {"stowage.dev/gpu": 8, "stowage.dev/gpu-core": 200,
                  "stowage.dev/gpu-memory": 163840, "nano-gpu/gpu-percent": 200,
                  "elasticgpu.io/gpu-core": 7, "elasticgpu.io/gpu-memory": 163840}

        def published():
            self.say(stream)
            return self.offers("capacity") == wanted and self.offers("allocatable") == wanted
        wait_until("they are published", published)
        record = self.api.get("/api/v1/nodes/n1")["metadata"]["annotations"][RECORD]
        self.assertIn("nano-gpu/gpu-percent=200", record)
        self.assertNotIn("elasticgpu.io/gpu-core", record)
        zero = {"capacity": {"stowage.dev/gpu-core": "0"},
                "allocatable": {"stowage.dev/gpu-core": "0"}}
        self.api.patch("/api/v1/nodes/n1/status", {"status": zero})
        wait_until("what the kubelet resets is written again", published)

        # Only two cards, however many resources count them.
        for name in ("a", "b", "c"):
            self.add(pod(name, {"stowage.dev/gpu": "1"}))
        left = self.left_over("abc")

        # A plugin that is not registered: no new pods with cards.
        self.say(stream, plugin=dict(plugin, registered=False))
        wait_until("the plugin is missing", lambda: self.leader().metric(
            'stowage_agents_plugins{state="missing"}') == 1)
        self.api.delete(f"{self.pods}/{next(name for name in 'abc' if name != left)}")
        self.add(pod("late", {"stowage.dev/gpu": "1"}))
        self.assertIn("device plugin that is not registered", self.refused("late"))
        self.assertFalse(node_of(self.pod(left)), "it waits too")
        self.say(stream, plugin=plugin)
        self.bound(left)

    def left_over(self, names):
        def one():
            waiting = [name for name in names if not node_of(self.pod(name))]
            return waiting[0] if len(waiting) == 1 else None
        return wait_until("two of three are placed", one)
