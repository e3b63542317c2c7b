"""The real kube-scheduler with extenders, configured by the files that users have."""
import http.client
import json
import pathlib
import re
import ssl

from api import CONNECTION_ERRORS, wait_until
from cluster import DEPLOY, free_port

SHIPPED = DEPLOY / "extender"
KUBECONFIG = "/etc/kubernetes/scheduler.conf"
PKI = re.compile(r"/etc/kubernetes/pki/\S+\.(crt|key)")
# Back-off of a failed pod; 10 seconds in production.
BACKOFF_S = 2


def config(*extenders, profiles=("default-scheduler",), **more):
    """A configuration as text. JSON is YAML."""
    return json.dumps({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": KUBECONFIG}, "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": name} for name in profiles],
        "extenders": list(extenders), "podMaxBackoffSeconds": BACKOFF_S, **more}, indent=1)


def extender(address, *resources, **more):
    """An extender with all our own routes. resources: managed by the extender alone."""
    return {"urlPrefix": f"{address}/stowage", "filterVerb": "filter",
            "prioritizeVerb": "prioritize", "preemptVerb": "preempt", "bindVerb": "bind",
            "weight": 15, "httpTimeout": "10s", "nodeCacheCapable": True,
            "managedResources": [{"name": name, "ignoredByScheduler": True}
                                 for name in resources], **more}


def shipped(name, address):
    """A file of deploy/extender for an extender at this address."""
    text = (SHIPPED / f"{name}.yaml").read_text(encoding="utf-8")
    return moved(text, address)


def moved(text, address):
    """The configuration with another address and a shorter back-off, without leader election."""
    text, count = re.subn(r"(urlPrefix: \"?)https?://[^/\"\n]+", rf"\1{address}", text)
    if count != 1:
        raise AssertionError(f"{count} extenders in the configuration, not one")
    text = text.replace("leaderElect: true", "leaderElect: false")
    if "leaderElection:" not in text:
        text = f"{text}\nleaderElection:\n  leaderElect: false\n"
    return f"{text}\npodMaxBackoffSeconds: {BACKOFF_S}\n"


class KubeScheduler:
    """Successive runs of kube-scheduler with one configuration."""

    def __init__(self, cluster, text):
        self.cluster = cluster
        self.process = None
        self.port = None
        kubeconfig = cluster.kubeconfig("kube-scheduler",
                                        certificate=cluster.users["kube-scheduler"])
        if "clientConnection" not in text:  # in a pod, the API server's address is known
            text = f"{text}\nclientConnection:\n  kubeconfig: {KUBECONFIG}\n"
        text = text.replace(KUBECONFIG, str(kubeconfig))
        certificate, key = cluster.users["admin"]
        pairs = {"crt": certificate, "key": key}
        text = re.sub(r"/etc/kubernetes/pki/ca\.crt", str(cluster.certificates.ca), text)
        text = PKI.sub(lambda found: str(pairs[found.group(1)]), text)
        self.config = pathlib.Path(cluster.folder) / f"kube-scheduler-{free_port()}.yaml"
        self.config.write_text(text, encoding="utf-8")

    def spawn(self, *flags, name="kube-scheduler"):
        self.port = free_port()
        program = self.cluster.binaries / "kube-scheduler"
        self.process = self.cluster.spawn(
            name, f"--config={self.config}", "--bind-address=127.0.0.1",
            f"--secure-port={self.port}", f"--cert-dir={self.cluster.folder}", *flags,
            program=program)
        return self

    def start(self, name="kube-scheduler"):
        """Returns when it has read the cluster, so that results are deterministic. name: of its
        log."""
        self.spawn(name=name)
        wait_until("kube-scheduler is ready", self.ready, timeout=60,
                   details=lambda: self.process.tail(5))
        return self

    def ready(self):
        self.process.require_alive()
        context = ssl._create_unverified_context()  # its certificate is self-signed
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=5,
                                                 context=context)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except CONNECTION_ERRORS:
            return False
        finally:
            connection.close()

    def accepts(self):
        """Whether it starts with the configuration, and its output."""
        complete = self.config.with_suffix(".complete.yaml")
        self.spawn(f"--write-config-to={complete}")
        code = self.process.wait(timeout=60)
        return code == 0 and complete.exists(), self.process.tail(5)

    def kill(self):
        if self.process:
            self.process.kill()
