#!/usr/bin/env python3
"""A pre-allocation is written slowly, and kube-scheduler asks again about the pod meanwhile.

The answer that kube-scheduler got last must stay on the pod. The controller reaches the API server
through a proxy that holds or refuses the writes of one pod.

    late_writes_test.py STOWAGE
"""
import json
import os
import re
import signal
import socket
import sys
import threading
import unittest

from extender_cluster import GPUS, Extender, inventory, node, pod
from local_cluster import Controller, LocalCluster, wait_until

PROGRAM = ""
# The API server acts on a write within the time limit that the request names, here 1999 ms.
HELD_MAX = 1.9
UNAVAILABLE = (b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
               b"Content-Length: 2\r\n\r\n{}")


class Proxy(threading.Thread):
    """Passes bytes to the API server, except for requests that start and match as told."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port_behind = port
        self.match = lambda request: False
        self.refuse = False           # a request that matches: 503, else it is held
        self.met = threading.Event()  # such a request has arrived
        self.go = threading.Event()   # requests are no longer held or refused
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        with self.listener:
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port_behind)) as server:
            replies = threading.Thread(target=self.copy, args=(server, client), daemon=True)
            replies.start()
            self.copy(client, server, self.let_pass)
            replies.join()

    def let_pass(self, data, client):
        """Whether this request goes on to the API server; waits if it is held."""
        if self.go.is_set() or not self.match(data):
            return True
        self.met.set()
        if self.refuse:
            client.sendall(UNAVAILABLE)
            return False
        self.go.wait(HELD_MAX)
        return True

    @staticmethod
    def copy(source, to, let_pass=lambda data, source: True):
        try:
            while data := source.recv(1 << 16):
                if let_pass(data, source):
                    to.sendall(data)
            to.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Call(threading.Thread):
    """A filter call that may take long."""

    def __init__(self, extender, value):
        super().__init__(daemon=True)
        self.extender = extender
        self.value = value
        self.answer = None
        self.start()

    def run(self):
        self.answer = self.extender.filter(self.value, ["n"])


class LateWrites(unittest.TestCase):
    """Node n has two cards. A share of pod p and one of pod q do not fit on one card."""
    LEASE = "leaderElection: {leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}\n"
    E1 = '- {{name: e1, preset: gpu-admission, listen: "127.0.0.1:0", policy: {}}}\n'
    E2 = '- {name: e2, preset: vgpu-manager, listen: "127.0.0.1:0", policy: spread}\n'

    def setUp(self):
        self.cluster = LocalCluster(PROGRAM, "--nodes", "0")
        self.addCleanup(self.cluster.stack.close)
        self.proxy = Proxy(self.cluster.port)
        self.addCleanup(self.proxy.go.set)
        self.call("POST", "/api/v1/nodes",
                  node("n", {"tencent.com/vcuda-core": 200, "tencent.com/vcuda-memory": 128},
                       inventory([("GPU-a", "T4", 16384), ("GPU-b", "T4", 16384)])))

    def call(self, method, path, body=None):
        code, value = self.cluster.api.request(method, path, body)
        self.assertIn(code, (200, 201), (path, value))
        return value

    def start(self, name, extenders, through_proxy):
        """A controller, and its extenders by name."""
        text = self.cluster.kubeconfig.read_text(encoding="utf-8")
        if through_proxy:
            text = text.replace(str(self.cluster.port), str(self.proxy.port))
        config = self.cluster.file(f"{name}.yaml", self.LEASE + "extenders:\n" + extenders)
        process = self.cluster.process(
            name, PROGRAM, "controller", "--kubeconfig", self.cluster.file(f"{name}.kube", text),
            "--listen", "127.0.0.1:0", "--config", config)
        controller = Controller(process)
        wait_until(f"{name} is ready", controller.ready)
        ports = re.findall(r" extender name=(\S+) listen=http://127\.0\.0\.1:(\d+)",
                           process.log.read_text(errors="replace"))
        return controller, {key: Extender(int(port)) for key, port in ports}

    def reload(self, controller, extenders):
        name = controller.process.log.stem
        fresh = self.cluster.file(f"{name}.new", self.LEASE + "extenders:\n" + extenders)
        os.replace(fresh, self.cluster.folder / f"{name}.yaml")
        controller.process.process.send_signal(signal.SIGHUP)
        wait_until("the new configuration is in force", lambda: controller.process.require_alive()
                   and controller.metric("stowage_config_reloads_total") == 1)

    def add(self, name, percent, quarters):
        """A pod with this share of a card; 64 quarters of a GiB are the memory of one."""
        asks = {"tencent.com/vcuda-core": percent, "tencent.com/vcuda-memory": quarters}
        return self.call("POST", "/api/v1/namespaces/default/pods", pod(name, [asks]))

    def now(self, value):
        return self.call("GET", f"/api/v1/namespaces/default/pods/{value['metadata']['name']}")

    def cards(self, value):
        text = self.now(value)["metadata"].get("annotations", {}).get(GPUS)
        return sorted({share["id"] for shares in json.loads(text)["containers"].values()
                       for share in shares}) if text else []

    def bind(self, value):
        name = value["metadata"]["name"]
        self.call("POST", f"/api/v1/namespaces/default/pods/{name}/binding",
                  {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                   "target": {"apiVersion": "v1", "kind": "Node", "name": "n"}})

    def answered(self, extender, value):
        """Asks, as kube-scheduler does, until the pod has a node; returns its cards."""
        wait_until("there is an answer", lambda: extender.filter(self.now(value), ["n"]).nodes)
        return self.cards(value)

    def hold_writes_of(self, name, card=b"", refuse=False):
        def match(data):
            head = data.split(b"\r\n", 1)[0]
            return head.startswith(b"PATCH ") and f"/pods/{name}?".encode() in head and card in data
        self.proxy.match = match
        self.proxy.refuse = refuse

    def first_call(self, extender, value):
        first = Call(extender, value)
        self.assertTrue(self.proxy.met.wait(30))
        return first

    def check_apart(self, first, p, q, answered):
        """Both pods are bound with the cards of their last answers."""
        first.join(30)
        self.assertFalse(first.is_alive(), "the first call has no answer")
        self.assertEqual({"p": self.cards(p), "q": self.cards(q)}, answered)
        self.assertNotEqual(answered["p"], answered["q"])
        for each in (p, q):
            self.bind(each)

    def test_the_replica_ends_meanwhile(self):
        r1, first_extenders = self.start("r1", self.E1.format("binpack"), through_proxy=True)
        _, extenders = self.start("r2", self.E1.format("binpack"), through_proxy=False)
        p, q = self.add("p", 60, 32), self.add("q", 80, 48)
        self.known(first_extenders["e1"])
        self.hold_writes_of("p")
        first = self.first_call(first_extenders["e1"], p)
        r1.process.process.send_signal(signal.SIGTERM)
        answers = {"q": self.answered(extenders["e1"], q), "p": self.answered(extenders["e1"], p)}
        self.proxy.go.set()
        r1.process.process.wait(30)
        self.check_apart(first, p, q, answers)

    def test_the_configuration_changes_meanwhile(self):
        controller, extenders = self.start("r1", self.E1.format("binpack"), through_proxy=True)
        self.known(extenders["e1"])
        small = self.add("r", 20, 16)  # so that the two policies choose different cards
        self.assertEqual(self.answered(extenders["e1"], small), ["GPU-a"])
        self.bind(small)
        p = self.add("p", 60, 32)
        self.hold_writes_of("p", b"GPU-a", refuse=True)
        first = self.first_call(extenders["e1"], p)
        self.reload(controller, self.E1.format("spread"))
        answers = {"p": self.answered(extenders["e1"], p)}
        self.assertEqual(answers["p"], ["GPU-b"])
        q = self.add("q", 80, 48)
        answers["q"] = self.answered(extenders["e1"], q)
        self.proxy.go.set()
        self.check_apart(first, p, q, answers)
        self.assertNotEqual(first.answer["Error"], "")

    def test_another_extender_is_asked_meanwhile(self):
        _, extenders = self.start("r1", self.E1.format("binpack") + self.E2, through_proxy=True)
        self.known(extenders["e1"])
        small = self.add("r", 20, 16)
        self.answered(extenders["e1"], small)
        self.bind(small)
        p = self.add("p", 60, 32)
        self.hold_writes_of("p")
        first = self.first_call(extenders["e1"], p)
        second = extenders["e2"].filter(p, ["n"])
        answers = {"p": self.cards(p)} if second.nodes else {}
        self.proxy.go.set()
        first.join(30)
        answers = answers or {"p": self.answered(extenders["e2"], p)}
        q = self.add("q", 80, 48)
        answers["q"] = self.answered(extenders["e1"], q)
        self.check_apart(first, p, q, answers)

    def test_others_change_the_pod_meanwhile(self):
        """A label, and the condition that kube-scheduler writes: the call still succeeds."""
        _, extenders = self.start("r1", self.E1.format("binpack"), through_proxy=True)
        self.known(extenders["e1"])
        p = self.add("p", 60, 32)
        self.hold_writes_of("p")
        first = self.first_call(extenders["e1"], p)
        changed = self.now(p)
        changed["metadata"]["labels"] = {"team": "a"}
        self.call("PUT", "/api/v1/namespaces/default/pods/p", changed)
        self.proxy.go.set()
        first.join(30)
        self.assertEqual((first.answer["Error"], first.answer.nodes), ("", ["n"]))
        self.assertEqual(len(self.cards(p)), 1)
        self.assertEqual(self.now(p)["metadata"]["labels"], {"team": "a"})

    @staticmethod
    def known(extender):
        asks = pod("nobody", [{"tencent.com/vcuda-core": 10, "tencent.com/vcuda-memory": 4}])
        wait_until("the node is known", lambda: extender.dry_run(asks, ["n"]).nodes)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=1)
