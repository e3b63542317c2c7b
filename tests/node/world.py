"""Stowage on a node with the real kubelet: the controller decides, the agent's device plugin
carries out, and the judge compares every container that was made with what was decided for it.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kubernetes"))

import build  # noqa: E402
import nvidia  # noqa: E402
import subject as subjects  # noqa: E402
from api import ApiError, wait_until  # noqa: E402
from cluster import DEPLOY, Cluster, free_port  # noqa: E402
from node import Node, PLUGINS, container  # noqa: E402
from node import pod as bound_pod  # noqa: E402
from objects import GPUS, node_of  # noqa: E402

ATTACHMENT = "stowage.dev/attachment"
INIT_ATTACHMENT = "stowage.dev/init-attachment"
CARDS = 8
CONFIG = f"""apiVersion: stowage.dev/v1alpha1
kind: ControllerConfig
leaderElection: {json.dumps(subjects.SHORT_LEASE)}
profiles: [{{name: stowage}}]
metricsApi: {{enabled: true, checkEvery: 1s}}
"""


def has_plugin():
    """Whether the program under test has a device plugin."""
    done = subprocess.run([subjects.program(), "agent", "--help"], check=False, timeout=30,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "--device-plugin" in done.stdout


def pod(name, *containers, init=(), scheduler="stowage", **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"schedulerName": scheduler, "terminationGracePeriodSeconds": 1,
                     "automountServiceAccountToken": False, "enableServiceLinks": False,
                     "containers": list(containers), "initContainers": list(init), **spec}}


def share(percent, mib):
    return {"stowage.dev/gpu-core": percent, "stowage.dev/gpu-memory": mib, ATTACHMENT: 1}


def whole(count=1):
    return {"stowage.dev/gpu": count, ATTACHMENT: 1}


def for_init(limits, position=1):
    """The limits of the position-th plain init container with cards."""
    kept = {name: amount for name, amount in limits.items() if name != ATTACHMENT}
    return {**kept, INIT_ATTACHMENT: position}


CA_MAP = "/api/v1/namespaces/kube-system/configmaps/stowage-ca"
SYSTEM_PODS = "/api/v1/namespaces/kube-system/pods"


class Agent:
    """`stowage agent --device-plugin` in a node's place, with the rights that we ship."""

    def __init__(self, node, cards, port):
        self.node = node
        self.port = port  # of the controller
        self.process = None
        self.folder = node.space.folder / "agent"
        self.folder.mkdir()
        (self.folder / "cards.yaml").write_text(nvidia.cards_file(cards), encoding="utf-8")
        self.pod = node.cluster.api.create(SYSTEM_PODS, bound_pod(
            "stowage-agent", node.name, container("agent"), serviceAccountName="stowage-agent"))
        self.kubeconfig = node.cluster.kubeconfig("agent", token=self.token())
        (self.folder / "token").write_text(self.token("stowage.dev"), encoding="utf-8")

    def token(self, *audiences):
        """For the agent's pod."""
        api = self.node.cluster.api
        answer = api.create(
            "/api/v1/namespaces/kube-system/serviceaccounts/stowage-agent/token", {
                "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                "spec": {"expirationSeconds": 7200, "audiences": list(audiences),
                         "boundObjectRef": {"apiVersion": "v1", "kind": "Pod",
                                            "name": "stowage-agent",
                                            "uid": self.pod["metadata"]["uid"]}}})
        return answer["status"]["token"]

    def start(self, *more):
        authority = self.folder / "ca.crt"
        if not authority.exists():
            authority.write_text(self.node.cluster.api.get(CA_MAP)["data"]["ca.crt"])
        log = self.node.space.folder / "agent.log"
        self.log_start = log.stat().st_size if log.exists() else 0
        self.process = self.node.spawn(
            "agent", subjects.program(), "agent", "--node-name", self.node.name,
            "--cards", f"fake:{self.folder / 'cards.yaml'}", "--device-plugin",
            "--kubeconfig", self.kubeconfig, "--controller", f"https://localhost:{self.port}",
            "--server-name", "stowage-agents.kube-system.svc", "--ca-file", authority,
            "--token-file", self.folder / "token", "--listen", "127.0.0.1:0", *more)

    def said(self):
        """What it has logged since its last start."""
        with open(self.process.log, "rb") as file:
            file.seek(self.log_start)
            return file.read().decode(errors="replace")

    def is_registered(self):
        """Whether its last word on each resource is that the kubelet has registered it."""
        words = re.findall(r"(not registered|registered) with the kubelet resource=(\S+)",
                           self.said())
        last = {name: state for state, name in words}
        return [last.get(name) for name in (ATTACHMENT, INIT_ATTACHMENT)] == ["registered"] * 2

    def registered(self, timeout=30):
        """Waits until its devices can be allocated."""
        wait_until("the agent's devices are allocatable",
                   lambda: self.process.require_alive() and self.is_registered() and
                   self.node.allocatable(ATTACHMENT) > 0, timeout, details=self.tail)

    def tail(self):
        return self.process.tail(30) if self.process else ""

    def kill(self):
        self.process.kill()

    def stop(self):
        code = self.process.stop(timeout=20)
        if code != 0:
            raise AssertionError(f"the agent ended with {code}:\n{self.tail()}")


class Decisions:
    """The cards of each pod (by uid) as it was bound: its first annotation on a node."""

    def __init__(self, api):
        version = api.get("/api/v1/pods")["metadata"]["resourceVersion"]
        self.watch = api.watch("/api/v1/pods", version)
        self.read = 0
        self.first = {}
        self.pods = {}  # uid -> the last object that was seen
        self.mutex = threading.Lock()

    def catch_up(self):
        with self.mutex:
            events = self.watch.events
            while self.read < len(events):
                _, value = events[self.read]
                self.read += 1
                uid = value["metadata"]["uid"]
                self.pods[uid] = value
                text = value["metadata"].get("annotations", {}).get(GPUS)
                if node_of(value) and uid not in self.first:
                    containers = json.loads(text)["containers"] if text else {}
                    self.first[uid] = {name: sorted(card["id"] for card in cards)
                                       for name, cards in containers.items()}

    def of(self, uid):
        """Container -> ids of cards, of a pod that the kubelet has seen."""
        def known():
            self.catch_up()
            return uid in self.first
        wait_until(f"the watch has shown pod {uid}", known)
        return self.first[uid]


class Judge:
    """Looks at each event of the runtime once. wrong is a list of sentences: it has to stay empty.
    """

    def __init__(self, node, decisions, cards):
        self.node = node
        self.decisions = decisions
        self.by_minor = {card.minor: card.uuid for card in cards}
        self.read = 0
        self.wrong = []
        self.good = {}  # id of a container -> its event
        self.counts = collections.Counter()
        self.errors = collections.Counter()

    def look(self):
        events = self.node.runtime.events()
        while self.read < len(events):
            event = events[self.read]
            if event["kind"] == "create":
                self.created(event)
            elif event["kind"] == "start":
                self.started(event)
            self.read += 1

    def cards_in(self, event):
        """Ids of the cards whose device nodes the container gets."""
        found = []
        for entry in event["spec"].get("linux", {}).get("devices") or ():
            match = re.fullmatch(r"/dev/nvidia(\d+)", entry["path"])
            if match:
                minor = int(match.group(1))
                if entry.get("minor", minor) != minor:
                    self.wrong.append(f"{self.name(event)}: {entry} has another card's number")
                found.append(self.by_minor.get(minor, f"no card: minor {minor}"))
        return sorted(found)

    def created(self, event):
        if event.get("error"):
            self.counts["refused by the runtime"] += 1
            self.errors[re.sub(r"=\S+", "=...", event["error"])] += 1
            return
        wanted = self.decisions.of(event["uid"]).get(event["container"], [])
        given = self.cards_in(event)
        if given != wanted:
            self.wrong.append(f"{self.name(event)} got {given}, but {wanted} was decided")
        if wanted:
            self.check_environment(event)
            self.counts["created with cards"] += 1
        else:
            self.counts["created without cards"] += 1
        self.good[event["id"]] = event

    def check_environment(self, event):
        environment = dict(entry.split("=", 1) for entry in event["spec"]["process"]["env"])
        if environment.get("NVIDIA_VISIBLE_DEVICES") != "void":
            self.wrong.append(f"{self.name(event)}: NVIDIA_VISIBLE_DEVICES is "
                              f"{environment.get('NVIDIA_VISIBLE_DEVICES')}")
        paths = {entry["path"] for entry in event["spec"]["linux"]["devices"]}
        if "/dev/nvidiactl" not in paths:
            self.wrong.append(f"{self.name(event)} has no /dev/nvidiactl")

    def started(self, event):
        self.counts["started"] += 1
        if event["id"] not in self.good:
            self.wrong.append(f"{self.name(event)} started, and nobody saw it being made")

    @staticmethod
    def name(event):
        return (f"container {event['container']} (attempt {event['attempt']}) of pod "
                f"{event['namespace']}/{event['pod']}")


class World:
    """A cluster with one node, its agent and the controller."""

    def __init__(self, runtime="recorder", max_pods=1200):
        self.cluster = Cluster(build.binaries())
        self.node = None
        try:
            self.start(runtime, max_pods)
        except BaseException as reason:
            self.cluster.keep_logs = not isinstance(reason, (build.Unavailable, KeyboardInterrupt))
            if self.cluster.keep_logs:
                print(f"logs: {self.cluster.folder}")
            self.close()
            raise

    def start(self, runtime, max_pods):
        self.cluster.start()
        self.api = self.cluster.api
        self.cluster.kubectl("apply", "--validate=strict", "-f", DEPLOY / "stowage.yaml")
        self.apply_access_of_agents()
        self.node = Node(self.cluster, "node-1", runtime, max_pods)
        self.cards = nvidia.cards(CARDS, self.node.name)
        nvidia.install(self.node.space, self.cards)
        self.node.start()
        self.decisions = Decisions(self.api)
        port = free_port()
        config = self.cluster.folder / "controller.yaml"
        config.write_text(CONFIG + f"agents: {{listen: '127.0.0.1:{port}'}}\n", encoding="utf-8")
        self.controller = subjects.Stowage(self.cluster).start(config=config)
        wait_until("agents may know whom to trust", lambda: self.api.get(CA_MAP).get("data"))
        self.agent = Agent(self.node, self.cards, port)
        self.agent.start()
        self.agent.registered()
        self.judge = Judge(self.node, self.decisions, self.cards)

    def apply_access_of_agents(self):
        """deploy/agent.yaml without its API service, which nobody serves here."""
        parts = (DEPLOY / "agent.yaml").read_text(encoding="utf-8").split("\n---\n")
        kept = [part for part in parts if "\nkind: APIService" not in part]
        self.cluster.kubectl("apply", "--validate=strict", "-f", "-", text="\n---\n".join(kept))

    def tail(self):
        return f"{self.controller.tail()}\nthe agent's log ends with:\n{self.agent.tail()}"

    def add(self, namespace, value):
        return self.api.create(f"/api/v1/namespaces/{namespace}/pods", value)

    def delete(self, path, seconds=1):
        """As kubectl does: the kubelet ends the containers, then the object goes."""
        try:
            self.api.request("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1",
                                              "gracePeriodSeconds": seconds})
        except ApiError as error:
            if error.code != 404:
                raise

    def restart_kubelet(self):
        self.node.kubelet.kill()
        self.node.start_kubelet()

    def restart_agent(self, kill=True):
        if kill:
            self.agent.kill()
        else:
            self.agent.stop()
        self.agent.start()

    def remove_sockets(self):
        for path in self.node.path(PLUGINS).glob("*.sock"):
            if path.name != "kubelet.sock":
                path.unlink(missing_ok=True)

    def close(self):
        if self.node:
            self.node.close()
        self.cluster.close()


