"""Two schedulers that judge the same pod: kube-scheduler, as the reference, and Stowage.

kube-scheduler shows only the node that it takes. With an extender it shows all nodes that its
filters allow, because it sends them before it chooses. Our extender records them and answers with
an error, so that the reference never binds anything and changes nothing, for example volumes.
"""
import collections
import dataclasses
import http.server
import json
import threading
import time

import kube_scheduler
import subject as subjects
from api import Watch
from objects import condition, node_of

REFERENCE = "reference"  # schedulerName of pods for kube-scheduler
# Answers take milliseconds; a minute is for busy machines.
ANSWER_S = 60


@dataclasses.dataclass
class Verdict:
    """A scheduler's verdict on a pod. nodes: the allowed ones, or the one that it was bound to.

    kind: "fits", "refused", "gated", or "none" if there was no answer.
    """
    kind: str
    nodes: frozenset = frozenset()
    message: str = ""

    def __str__(self):
        if self.kind == "fits":
            return "fits " + " ".join(sorted(self.nodes))
        return f"{self.kind} ({self.message})" if self.message else self.kind


class Pods(Watch):
    """The latest state of every pod, and a condition variable that is notified of changes."""

    def __init__(self, api):
        self.changed = threading.Condition()
        self.by_uid = {}
        version = api.get("/api/v1/pods")["metadata"]["resourceVersion"]
        super().__init__(api, "/api/v1/pods", version)

    def take(self, event):
        super().take(event)
        self.events.clear()
        value = event["object"]
        if event["type"] not in ("ADDED", "MODIFIED", "DELETED"):
            return
        with self.changed:
            if event["type"] == "DELETED":
                self.by_uid.pop(value["metadata"]["uid"], None)
            else:
                self.by_uid[value["metadata"]["uid"]] = value
            self.changed.notify_all()

    def values(self):
        with self.changed:
            return list(self.by_uid.values())

    def wait(self, answer, timeout=ANSWER_S, meanwhile=None):
        """The first true answer(), or None. Calls meanwhile() repeatedly until then."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while True:
                value = answer()
                left = deadline - time.monotonic()
                if value or left <= 0:
                    return value
                self.changed.wait(min(left, 0.03) if meanwhile else left)
                if meanwhile:
                    self.changed.release()
                    try:
                        meanwhile()
                    finally:
                        self.changed.acquire()


class Recorder:
    """The extender: which nodes the filters allowed, per pod. passes: whether they may be used."""

    def __init__(self, pods):
        self.pods = pods
        self.calls = collections.defaultdict(list)
        self.passes = False
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                text = json.dumps(recorder.answer(asked)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, asked):
        names = asked["NodeNames"]
        with self.pods.changed:
            self.calls[asked["Pod"]["metadata"]["uid"]].append(frozenset(names))
            self.pods.changed.notify_all()
        return {"NodeNames": names} if self.passes else {"Error": "asked for the nodes only"}


class Judge:
    """A running scheduler. scheduler: the schedulerName of its pods."""

    def __init__(self, pods):
        self.pods = pods

    def verdict(self, uid, meanwhile=None, gated=False, timeout=ANSWER_S):
        """gated: whether a gate is an answer; otherwise the gate will be removed soon."""
        def answer():
            found = self.seen(uid)
            return found if found and (gated or found.kind != "gated") else None
        found = self.pods.wait(answer, timeout, meanwhile)
        return found or Verdict("none", message=f"no answer in {timeout} s; {self.tail()}")

    def seen(self, uid):
        value = self.pods.by_uid.get(uid)
        state = condition(value) if value else {}
        if state.get("status") == "False":
            if state["reason"] == "SchedulingGated":
                return Verdict("gated")
            if state["reason"]:
                return Verdict("refused", message=state["message"])
        return None


class Reference(Judge):
    name = "kube-scheduler"
    scheduler = REFERENCE
    is_kube = True

    def __init__(self, cluster, pods):
        super().__init__(pods)
        self.recorder = Recorder(pods)
        extender = {"urlPrefix": self.recorder.address, "filterVerb": "filter",
                    "nodeCacheCapable": True, "httpTimeout": "30s"}
        connection = {"kubeconfig": kube_scheduler.KUBECONFIG, "qps": 5000, "burst": 5000}
        text = kube_scheduler.config(
            extender, profiles=(self.scheduler,), clientConnection=connection,
            percentageOfNodesToScore=100, podInitialBackoffSeconds=1, podMaxBackoffSeconds=1)
        self.process = kube_scheduler.KubeScheduler(cluster, text).start()

    def seen(self, uid):
        if uid in self.recorder.calls:
            return Verdict("fits", self.recorder.calls[uid][0])
        return super().seen(uid)

    def tail(self):
        return self.process.process.tail(5)


class Binder(Judge):
    """A scheduler that binds. process: must be alive."""

    scheduler = "stowage"

    def seen(self, uid):
        self.process.require_alive()
        value = self.pods.by_uid.get(uid)
        if value and node_of(value):
            return Verdict("fits", frozenset([node_of(value)]))
        return super().seen(uid)


class StandIn(Binder):
    """kube-scheduler instead of Stowage: a disagreement is then an error of the test."""

    name = "stand-in"
    is_kube = True

    def __init__(self, cluster, pods):
        super().__init__(pods)
        connection = {"kubeconfig": kube_scheduler.KUBECONFIG, "qps": 5000, "burst": 5000}
        text = kube_scheduler.config(profiles=(self.scheduler,), clientConnection=connection,
                                     podInitialBackoffSeconds=1, podMaxBackoffSeconds=1)
        self.kube = kube_scheduler.KubeScheduler(cluster, text)
        self.kube.start("stand-in")
        self.process = self.kube.process

    def tail(self):
        return self.process.tail(5)


class Stowage(Binder):
    name = "stowage"
    is_kube = False

    def __init__(self, cluster, pods):
        super().__init__(pods)
        self.subject = subjects.Stowage(cluster).start()
        self.process = self.subject.process

    def tail(self):
        return self.subject.tail()
