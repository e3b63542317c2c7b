#!/usr/bin/env python3
"""Agents with cards from files report them to the cluster, and pods are placed accordingly.

agents_test.py STOWAGE
"""
import base64
import contextlib
import http.client
import json
import re
import socket
import ssl
import subprocess
import sys
import time
import unittest

from local_cluster import GPUS, SHORT_LEASE, LocalCluster, pod, wait_until

PROGRAM = ""
INVENTORY = "stowage.dev/gpu-inventory"
ACCOUNT = "system:serviceaccount:kube-system:stowage-agent"
CONFIG = SHORT_LEASE + """
agents: {listen: "127.0.0.1:0", silentAfter: 1s, silentNodes: refuse, loadMaxAge: 5s}
profiles:
- name: stowage
- name: by-load
  policy: load
"""
WHOLE = {"stowage.dev/gpu": "1"}
API = SHORT_LEASE.replace("{", "{{").replace("}", "}}") + """
agents: {{listen: "127.0.0.1:0", certFile: {certificate}, keyFile: {key}}}
metricsApi: {{enabled: true, apiService: none, caConfigMap: none}}
extenders: [{{preset: nvidia-gpu-scheduler, listen: "127.0.0.1:0"}}]
"""


class Cluster(LocalCluster):
    def __init__(self, nodes=2):
        super().__init__(PROGRAM, "--nodes", str(nodes), "--gpus", "2")
        self.agents = {}

    def start(self, name="controller", config=CONFIG):
        config = self.file("config.yaml", config)
        controller = self.controller(name, "--config", config)
        wait_until("the controller is ready", controller.ready)
        return controller

    @staticmethod
    def door(controller):
        log = controller.process.log.read_text(errors="replace")
        return re.search(r"listening for agents listen=(\S+)", log)[1]

    def cards(self, node, text):
        return self.file(f"{node}.yaml", text)

    def agent(self, node, controller, text, *flags, who=None):
        cards = self.cards(node, text)
        token = self.file(f"{node}.token", who or f"{ACCOUNT}@{node}")
        self.agents[node] = self.process(
            f"agent-{node}-{len(self.agents)}", PROGRAM, "agent", "--node-name", node, "--cards",
            f"fake:{cards}", "--controller", self.door(controller), "--token-file", token,
            "--podresources", "", "--kubeconfig", self.kubeconfig, "--listen", "127.0.0.1:0",
            *flags)
        return self.agents[node]

    def inventory(self, node):
        annotations = self.api.get(f"/api/v1/nodes/{node}")["metadata"].get("annotations", {})
        return json.loads(annotations.get(INVENTORY, "{}"))

    def place(self, name, resources=None, scheduler="stowage"):
        self.api.create_all("/api/v1/namespaces/default/pods",
                            [pod(name, resources or WHOLE, scheduler)])

    def find(self, name):
        return self.api.get(f"/api/v1/namespaces/default/pods/{name}")

    def node_of(self, name):
        return wait_until(f"{name} has a node", lambda: self.find(name)["spec"].get("nodeName"))

    def nodes(self):
        return sorted(each["metadata"]["name"]
                      for each in self.api.get("/api/v1/nodes")["items"])


def cards(load=(0, 0), extra=""):
    lines = "".join(f"- {{index: {i}, utilisation: {busy}}}\n" for i, busy in enumerate(load))
    return f"count: {len(load)}\nmodel: NVIDIA H200\nmemoryMiB: 143771\ncards:\n{lines}{extra}"


def make_certificate(certificate, key):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                    key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)


class Stream:
    """An agent that says exactly what a test wants it to say."""

    def __init__(self, cluster, controller, node):
        host, port = cluster.door(controller).removeprefix("http://").rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.socket.sendall((
            f"GET /agent/v1/reports HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\n"
            f"Upgrade: stowage-agent/1\r\nAuthorization: Bearer {ACCOUNT}@{node}\r\n\r\n"
        ).encode())
        answer = self.socket.recv(4096)
        assert b" 101 " in answer, answer
        self.say(version=1, node=node, agent="test")

    def say(self, **report):
        self.socket.sendall(json.dumps(report).encode() + b"\n")

    def beat_while(self, what, condition):
        """Without reports the node would be silent."""
        def met():
            self.say()
            return condition()
        return wait_until(what, met)


class Agents(unittest.TestCase):
    def test_the_node_says_which_cards_it_has_and_how_they_are(self):
        with Cluster() as cluster:
            controller = cluster.start()
            first = cluster.nodes()[0]
            cluster.agent(first, controller, cards())
            wait_until("the node says what the agent has found", lambda: [
                card["model"] for card in cluster.inventory(first).get("cards", [])
            ] == ["NVIDIA H200"] * 2)
            wait_until("the controller hears it",
                       lambda: controller.metric('stowage_agents{state="reporting"}') == 1)
            sick = cards().replace("index: 1,", "index: 1, faults: [{xid: 79}],")
            cluster.cards(first, sick)
            told = wait_until("the card is sick", lambda: [
                card for card in cluster.inventory(first)["cards"]
                if card.get("healthy") is False])
            self.assertEqual([card["index"] for card in told], [1])
            other = cluster.nodes()[1]
            cluster.api.request("DELETE", f"/api/v1/nodes/{other}")
            for number in range(2):
                cluster.place(f"p{number}")
            self.assertEqual(cluster.node_of("p0"), first)
            answer = json.loads(cluster.find("p0")["metadata"]["annotations"][GPUS])
            self.assertEqual(answer["containers"]["main"][0]["index"], 0, "the one that is well")
            time.sleep(0.5)
            self.assertFalse(cluster.find("p1")["spec"].get("nodeName"), "the other takes nobody")

    def test_a_pod_goes_where_the_cards_are_idle(self):
        with Cluster() as cluster:
            controller = cluster.start()
            first, second = cluster.nodes()
            cluster.agent(first, controller, cards((95, 90)))
            cluster.agent(second, controller, cards((80, 5)))
            wait_until("both are heard",
                       lambda: controller.metric('stowage_agents{state="reporting"}') == 2)
            wait_until("both annotations are there", lambda: all(
                cluster.inventory(node)["cards"][0]["model"] == "NVIDIA H200"
                for node in (first, second)))
            time.sleep(1.5)  # the load is reported with the next beats
            cluster.place("idle", scheduler="by-load")
            self.assertEqual(cluster.node_of("idle"), second)
            answer = json.loads(cluster.find("idle")["metadata"]["annotations"][GPUS])
            self.assertEqual(answer["containers"]["main"][0]["index"], 1)

    def test_a_node_whose_agent_is_silent_takes_no_pod_until_it_reports(self):
        with Cluster(nodes=1) as cluster:
            controller = cluster.start()
            node = cluster.nodes()[0]
            agent = cluster.agent(node, controller, cards())
            wait_until("it is heard",
                       lambda: controller.metric('stowage_agents{state="reporting"}') == 1)
            agent.kill()
            wait_until("it is silent",
                       lambda: controller.metric('stowage_agents{state="silent"}') == 1)
            cluster.place("waits")
            time.sleep(0.5)
            self.assertFalse(cluster.find("waits")["spec"].get("nodeName"))
            cluster.agent(node, controller, cards())
            self.assertEqual(cluster.node_of("waits"), node)

    def test_a_node_takes_no_card_pods_while_its_plugin_is_not_registered(self):
        with Cluster(nodes=1) as cluster:
            controller = cluster.start()
            node = cluster.nodes()[0]
            agent = Stream(cluster, controller, node)
            self.addCleanup(agent.socket.close)
            agent.say(plugin={"registered": False, "resources": ["stowage.dev/attachment"]})
            agent.beat_while("the plugin is missing", lambda: controller.metric(
                'stowage_agents_plugins{state="missing"}') == 1)
            cluster.place("waits")
            cluster.place("plain", {"cpu": "100m"})
            agent.beat_while("a pod without cards needs no plugin",
                             lambda: cluster.find("plain")["spec"].get("nodeName"))

            def message():
                return "".join(each.get("message", "")
                               for each in cluster.find("waits")["status"].get("conditions", []))
            agent.beat_while("the pod says why it waits", lambda: (
                "device plugin that is not registered with the kubelet" in message()))
            self.assertFalse(cluster.find("waits")["spec"].get("nodeName"))
            agent.say(plugin={"registered": True, "resources": ["stowage.dev/attachment"]})
            agent.beat_while("it is placed", lambda: (
                cluster.find("waits")["spec"].get("nodeName") == node))
            agent.beat_while("it is counted", lambda: controller.metric(
                'stowage_agents_plugins{state="registered"}') == 1)

    def test_what_a_node_offers_is_published_while_its_agent_has_a_plugin(self):
        with Cluster(nodes=1) as cluster:
            controller = cluster.start(config=CONFIG + """
nodeResources: {enabled: true, dialects: [native, nano], gpuRequestsPerCard: 4}
""")
            node = cluster.nodes()[0]
            def patch(path, change):
                code, answer = cluster.api.request("PATCH", f"/api/v1/nodes/{node}{path}", change,
                                                   "application/merge-patch+json")
                self.assertEqual(code, 200, answer)

            # As on a machine where no other plugin offers them.
            nothing = {f"stowage.dev/gpu{part}": None for part in ("", "-core", "-memory")}
            patch("/status", {"status": {"capacity": nothing, "allocatable": nothing}})
            patch("", {"metadata": {"annotations": {INVENTORY: json.dumps({
                "version": 1, "cards": [{"id": f"GPU-{index}", "index": index, "memoryMiB": 1000}
                                        for index in range(2)]})}}})
            agent = Stream(cluster, controller, node)
            self.addCleanup(agent.socket.close)
            plugin = {"registered": True, "resources": ["stowage.dev/attachment"]}
            agent.say(plugin=plugin)

            def offers(field="allocatable"):
                return {name: amount for name, amount in cluster.api.get(
                    f"/api/v1/nodes/{node}")["status"][field].items()
                    if name.startswith(("stowage.dev/", "nano-gpu/"))}
            wanted = {"stowage.dev/gpu": "8", "stowage.dev/gpu-core": "200",
                      "stowage.dev/gpu-memory": "2000", "nano-gpu/gpu-percent": "200"}
            agent.beat_while("they are published", lambda: offers() == wanted)
            self.assertEqual(offers("capacity"), wanted)
            zero = {"stowage.dev/gpu-core": "0"}
            patch("/status", {"status": {"capacity": zero, "allocatable": zero}})
            agent.beat_while("what the kubelet resets is written again",
                             lambda: offers() == wanted)
            cluster.place("share", {"nano-gpu/gpu-percent": "50"})
            agent.beat_while("the pods of a dialect are placed there", lambda: (
                cluster.find("share")["spec"].get("nodeName") == node))

    def test_agents_follow_the_leader(self):
        with Cluster() as cluster:
            leader = cluster.start("first")
            standby = cluster.start("second")
            first, second = cluster.nodes()
            cluster.agent(first, standby, cards())
            cluster.agent(second, leader, cards())
            wait_until("the leader hears both",
                       lambda: leader.metric('stowage_agents{state="reporting"}') == 2)
            wait_until("one of them was sent on",
                       lambda: standby.metric("stowage_agents_redirected_total") >= 1)
            leader.process.kill()
            wait_until("the other one hears the one that knows it",
                       lambda: standby.metric('stowage_agents{state="reporting"}') >= 1)

    def test_what_agents_tell_is_an_api(self):
        with Cluster() as cluster:
            certificate, key = cluster.folder / "tls.crt", cluster.folder / "tls.key"
            make_certificate(certificate, key)
            controller = cluster.start(config=API.format(certificate=certificate, key=key))
            first, second = cluster.nodes()
            cluster.agent(first, controller, cards((50, 100)), "--ca-file", certificate)
            wait_until("the agent is heard",
                       lambda: controller.metric('stowage_agents{state="reporting"}') == 1)
            context = ssl.create_default_context(cafile=certificate)
            port = int(cluster.door(controller).rsplit(":", 1)[1])

            def ask(path, **headers):
                connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
                connection.request("GET", "/apis/metrics.nvidia.com/v1alpha1" + path,
                                   headers=headers)
                answer = connection.getresponse()
                return answer.status, answer.read().decode()

            self.assertEqual(ask("")[0], 200, "discovery is for everybody")
            self.assertEqual(ask("/gpuinfos")[0], 401)
            code, text = ask("/gpuinfos", Authorization="Bearer somebody")
            self.assertEqual(code, 200, text)
            health = {item["spec"]["device_node"]: item["status"]["node_health"]
                      for item in json.loads(text)["items"]}
            # No agent has reported the other node.
            self.assertEqual(health, {first: "True", second: "UnKnow"})
            wait_until("cards do nothing, or something", lambda: (
                controller.metric('stowage_cards_measured{model="NVIDIA H200"}') == 2))
            self.assertEqual(
                controller.metric('stowage_pods_that_fit{model="NVIDIA H200",cards="2"}'), 1)
            self.assertGreater(
                controller.metric('stowage_metrics_api_requests_total{verb="list"}'), 0)

    def test_every_replica_reviews_pods(self):
        with Cluster(nodes=1) as cluster:
            certificate, key = cluster.folder / "tls.crt", cluster.folder / "tls.key"
            make_certificate(certificate, key)
            config = API.format(certificate=certificate, key=key) + (
                "webhook: {enabled: true, configuration: none}\n")
            replicas = [cluster.start(name, config=config) for name in ("first", "second")]
            context = ssl.create_default_context(cafile=certificate)
            limits = {"stowage.dev/gpu-core": "50"}
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
                "uid": "u-1", "operation": "CREATE", "namespace": "default",
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "object": {"metadata": {"name": "p"}, "spec": {"containers": [
                    {"name": "c", "resources": {"limits": limits, "requests": limits}}]}}}}
            hostile = json.dumps(review).replace('"name": "p"', '"name": ' + "[" * 3_000_000)
            for replica in replicas:
                port = int(cluster.door(replica).rsplit(":", 1)[1])

                def ask(method, path, body, port=port):
                    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
                    with contextlib.closing(connection):
                        connection.request(method, path, body)
                        answer = connection.getresponse()
                        return answer.status, answer.read().decode()

                code, text = ask("POST", "/mutate?timeout=5s", json.dumps(review))
                self.assertEqual(code, 200, text)
                response = json.loads(text)["response"]
                self.assertEqual((response["uid"], response["allowed"]), ("u-1", True))
                patch = json.loads(base64.b64decode(response["patch"]))
                self.assertEqual({each["path"].rsplit("/", 1)[1] for each in patch},
                                 {"stowage.dev~1attachment"})
                code, text = ask("POST", "/mutate", hostile)
                self.assertEqual(code, 400, text[:200])
                self.assertIn("the admission review cannot be read", text)
                self.assertEqual(ask("GET", "/mutate", None)[0], 405)
                self.assertEqual(ask("POST", "/mutate/other", "{}")[0], 404)
                wait_until("it is counted", lambda r=replica: (
                    r.metric('stowage_webhook_reviews_total{verdict="patched"}') == 1
                    and r.metric('stowage_webhook_reviews_total{verdict="unreadable"}') == 1))

    def test_who_is_not_the_agent_of_the_node_is_not_heard(self):
        with Cluster() as cluster:
            controller = cluster.start()
            first, second = cluster.nodes()
            cluster.agent(first, controller, cards(), who=f"{ACCOUNT}@{second}")
            cluster.agent(second, controller, cards(), who="somebody@" + second)
            wait_until("they were refused", lambda: (
                controller.metric("stowage_agents_refused_total") >= 1
                and controller.metric(
                    'stowage_agents_streams_ended_total{reason="unreadable"}') >= 1))
            self.assertEqual(controller.metric('stowage_agents{state="reporting"}'), 0)
            log = cluster.agents[second].log
            wait_until("the agent says why",
                       lambda: "somebody is not in agents.allowedUsers" in log.read_text())


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
