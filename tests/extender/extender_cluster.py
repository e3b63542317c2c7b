"""A local cluster with extenders, as one process, and the calls of a kube-scheduler to it.

Standard library only. Everything is on loopback, on ports that the program chooses. Pods have a
schedulerName that is not ours, so they are external pods: only the extenders place them.
"""
import contextlib
import http.client
import itertools
import json
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
from local_cluster import Api, Process, wait_until  # noqa: E402  pylint: disable=C0413

PROGRAM = ""
GUEST = "kube-scheduler"  # the schedulerName of external pods
GPUS = "stowage.dev/gpus"
UNKNOWN = ("node is not known to Stowage yet", "node missing from cache")


# ---- objects ----------------------------------------------------------------------------------

def node(name, allocatable=None, annotations=None, labels=None):
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    amounts.update({key: str(value) for key, value in (allocatable or {}).items()})
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}},
            "status": {"capacity": amounts, "allocatable": amounts}}


def container(name, asks, **more):
    amounts = {key: str(value) for key, value in asks.items()}
    return {"name": name, "image": "none",
            "resources": {"limits": amounts, "requests": amounts}, **more}


def pod(name, asks, init=(), annotations=None, labels=None, namespace="default", priority=None,
        owner=None, on=None, scheduler=GUEST, names="c{}", selector=None):
    """Containers c0, c1, ... that ask for these amounts; init: (amounts, is a sidecar)."""
    spec = {"schedulerName": scheduler,
            "containers": [container(names.format(i), ask) for i, ask in enumerate(asks)]}
    if init:
        spec["initContainers"] = [
            container(f"i{i}", ask, **({"restartPolicy": "Always"} if sidecar else {}))
            for i, (ask, sidecar) in enumerate(init)]
    if priority is not None:
        spec["priorityClassName"] = priority_class(priority)
    if on:
        spec["nodeName"] = on
    if selector:
        spec["nodeSelector"] = selector
    meta = {"name": name, "namespace": namespace, "annotations": annotations or {},
            "labels": labels or {}}
    if owner:
        meta["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": owner, "name": "o",
                                    "uid": "owner", "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def priority_class(priority):
    return "system-cluster-critical" if priority == 2_000_000_000 else f"priority-{priority}"


def uid(value):
    return value["metadata"]["uid"]


def inventory(cards, links=()):
    """The annotation of a node. Each card is (id, model, MiB); a fourth element: unhealthy."""
    return {"stowage.dev/gpu-inventory": json.dumps({
        "version": 1,
        "cards": [{"id": card[0], "index": i, "model": card[1], "memoryMiB": card[2],
                   "healthy": len(card) < 4} for i, card in enumerate(cards)],
        **({"links": [list(link) for link in links]} if links else {})})}


# ---- answers ----------------------------------------------------------------------------------

class Answer(dict):
    """A filter's answer."""

    @property
    def nodes(self):
        if self["Nodes"] is None:  # both are null if there is an error
            return self["NodeNames"] or []
        return [item["metadata"]["name"] for item in self["Nodes"]["items"] or []]

    @property
    def failed(self):
        return self["FailedNodes"] or {}


class Extender:
    def __init__(self, port, tls=None):
        self.port = port
        self.tls = tls

    def send(self, method, path, body=None, headers=None, timeout=60):
        """(code, bytes)"""
        if self.tls is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        else:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout,
                                                     context=self.tls)
        with contextlib.closing(connection):
            connection.request(method, path, body,
                               headers or {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def post(self, path, value, want=200):
        code, text = self.send("POST", path, json.dumps(value))
        if code != want:
            raise AssertionError(f"POST {path}: {code} {text[:500]}")
        return json.loads(text) if want == 200 else text.decode()

    def filter(self, value, nodes, path="/stowage/filter"):
        """nodes: names, or whole objects."""
        if nodes and isinstance(nodes[0], dict):
            args = {"Pod": value, "Nodes": {"items": nodes}, "NodeNames": None}
        else:
            args = {"Pod": value, "Nodes": None, "NodeNames": list(nodes)}
        return Answer(self.post(path, args))

    def dry_run(self, value, nodes):
        return self.filter(value, nodes, "/stowage/filter-dryrun")

    def scores(self, value, nodes, path="/stowage/prioritize"):
        answer = self.post(path, {"Pod": value, "Nodes": None, "NodeNames": list(nodes)})
        return {row["Host"]: row["Score"] for row in answer}

    def bind(self, value, to, path="/stowage/bind", **other):
        """The error; empty if it is bound."""
        meta = value["metadata"]
        return self.post(path, {"PodName": meta["name"], "PodNamespace": meta["namespace"],
                                "PodUID": meta["uid"], "Node": to, **other})["Error"]

    def preempt(self, value, victims, form="meta", path="/stowage/preempt"):
        """victims: node -> (pods, PDB violations); the answer: node -> (uids, violations)."""
        args = {"Pod": value, "NodeNameToVictims": None, "NodeNameToMetaVictims": None}
        if form == "meta":
            args["NodeNameToMetaVictims"] = {
                on: {"Pods": [{"UID": each if isinstance(each, str) else uid(each)}
                              for each in pods], "NumPDBViolations": pdb}
                for on, (pods, pdb) in victims.items()}
        else:
            args["NodeNameToVictims"] = {on: {"Pods": pods, "NumPDBViolations": pdb}
                                         for on, (pods, pdb) in victims.items()}
        answer = self.post(path, args)["NodeNameToMetaVictims"] or {}
        return {on: ([each["UID"] for each in one["Pods"] or []], one["NumPDBViolations"])
                for on, one in answer.items()}


class Cluster:
    """`stowage local` without nodes, in its own folder, with these extenders."""

    def __init__(self, config):
        self.stack = contextlib.ExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(
            tempfile.TemporaryDirectory(prefix="stowage-extender-")))
        file = self.folder / "config.yaml"
        file.write_text("listen: 127.0.0.1:0\n" + config, encoding="utf-8")
        kubeconfig = self.folder / "kubeconfig"
        try:
            self.process = Process(self.folder, "stowage", PROGRAM, "local", "--nodes", "0",
                                   "--port", "0", "--config", file, "--kubeconfig", kubeconfig)
            self.stack.callback(self.process.close)
            wait_until("the local cluster is there",
                       lambda: self.process.require_alive() and "Ctrl-C" in self.log())
            found = re.search(r"http://127\.0\.0\.1:(\d+)", kubeconfig.read_text(encoding="utf-8"))
            self.api = Api(int(found[1]))
            self.stack.callback(self.api.close)
            self.controller = Extender(int(re.search(r"\slisten=127\.0\.0\.1:(\d+)",
                                                     self.log())[1]))
            wait_until("the controller is ready", lambda: self.controller.send("GET", "/readyz")
                       [0] == 200)
            self.ports = {name: int(port) for name, port in re.findall(
                r" extender name=(\S+) listen=https?://127\.0\.0\.1:(\d+)", self.log())}
        except BaseException:
            self.stack.close()
            raise

    def close(self):
        self.stack.close()

    def log(self):
        return self.process.log.read_text(errors="replace")

    def extender(self, name, tls=None):
        return Extender(self.ports[name], tls)

    def metric(self, name):
        text = self.controller.send("GET", "/metrics")[1].decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
        return float(found[1]) if found else 0.0

    # ---- the API
    def call(self, method, path, body=None, want=(200, 201)):
        code, value = self.api.request(method, path, body)
        if code not in want:
            raise AssertionError(f"{method} {path}: {code} {value}")
        return value

    def add_nodes(self, *nodes):
        for each in nodes:
            self.call("POST", "/api/v1/nodes", each)
        names = [each["metadata"]["name"] for each in nodes]
        wait_until("the nodes are known", lambda: not self.unknown(names))
        return names

    def unknown(self, names):
        asks = pod("nobody", [{"stowage.dev/gpu": 1}])
        failed = next(iter(self.plain_extenders())).dry_run(asks, names).failed
        return [name for name, why in failed.items() if why in UNKNOWN]

    def plain_extenders(self):
        return [Extender(port) for name, port in self.ports.items() if not name.endswith("-tls")]

    def add_pod(self, value):
        name = value["spec"].get("priorityClassName", "")
        if name.startswith("priority-"):  # the API server accepts only a class
            self.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
                      {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                       "metadata": {"name": name}, "value": int(name[9:])}, want=(201, 409))
        return self.call("POST", f"/api/v1/namespaces/{value['metadata']['namespace']}/pods",
                         value)

    def pod(self, value):
        meta = value["metadata"]
        return self.call("GET", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}")

    def delete_pod(self, value):
        meta = value["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        self.call("DELETE", path + "?gracePeriodSeconds=0")

    def bind(self, value, on):
        """As kube-scheduler binds without our bind."""
        meta = value["metadata"]
        self.call("POST", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/binding",
                  {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]},
                   "target": {"apiVersion": "v1", "kind": "Node", "name": on}})

    def set_status(self, value, status):
        now = self.pod(value)
        now["status"] = {**now.get("status", {}), **status}
        meta = value["metadata"]
        return self.call("PUT", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
                                "/status", now)

    def events(self, value):
        """(reason, note) of each event about this pod, from both APIs."""
        found = self.call("GET", "/apis/events.k8s.io/v1/events")["items"]
        return [(each.get("reason"), each.get("note", each.get("message")))
                for each in found
                if (each.get("regarding") or each.get("involvedObject", {})).get("uid")
                == uid(value)]

    # ---- the ledger
    def free(self, *names):
        """What is free on each card of these nodes: {node: [(percent, MiB), ...]}."""
        text = next(iter(self.plain_extenders())).send("GET", "/stowage/status")[1]
        cards = json.loads(json.loads(text)["elasticgpu.io/gpu-core"])
        return {name: [(card["CoreAvailable"], card["MemoryAvailable"])
                       for card in cards.get(name, [])] for name in names}

    def wait_free(self, expected):
        """Waits until the ledger has this state."""
        last = {}

        def check():
            last.clear()
            last.update(self.free(*expected))
            return last == expected
        try:
            wait_until("the cards", check, timeout=30)
        except Exception as error:
            raise AssertionError(f"cards: {last} instead of {expected}") from error


class Case(unittest.TestCase):
    """One program for a class of tests; each row uses its own nodes and pods."""
    CONFIG = ""
    maxDiff = None
    numbers = itertools.count()

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(cls.CONFIG)
        cls.addClassCleanup(cls.cluster.close)

    def tearDown(self):
        self.cluster.process.require_alive()

    def fresh(self):
        """A prefix for the names of this row."""
        return f"r{next(self.numbers)}"

    def annotations(self, value):
        return self.cluster.pod(value)["metadata"].get("annotations", {})

    def labels(self, value):
        return self.cluster.pod(value)["metadata"].get("labels", {})

    def on(self, value):
        return self.cluster.pod(value)["spec"].get("nodeName", "")

    def cards(self, value):
        """{container: [(index, milli, MiB)]} from our annotation."""
        text = self.annotations(value).get(GPUS)
        if text is None:
            return None
        return {name: [(card["index"], card["milli"], card["memoryMiB"]) for card in shares]
                for name, shares in json.loads(text)["containers"].items()}

    def indexes(self, value):
        return {name: [card[0] for card in shares]
                for name, shares in (self.cards(value) or {}).items()}


def main():
    global PROGRAM  # pylint: disable=global-statement
    PROGRAM = sys.argv.pop(1)
    unittest.main(module="__main__", verbosity=1)
