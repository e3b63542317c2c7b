"""A node with the real kubelet, in a place of its own, for tests of what happens on nodes.

    cluster = Cluster(build.binaries()).start()
    node = Node(cluster, "node-1").start()
    node.spawn("agent", program, *flags)      # sees the kubelet's fixed paths, and no other node's
    node.created("pod", "container")          # what the kubelet asked the runtime for
    node.kubelet.kill(); node.start_kubelet()
"""
import json
import pathlib
import socket
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kubernetes"))

import build  # noqa: E402
import programs  # noqa: E402
import runtimes  # noqa: E402
import space as spaces  # noqa: E402
from api import STRATEGIC_PATCH, ApiError, wait_until  # noqa: E402
from cluster import free_port  # noqa: E402

PLUGINS = "/var/lib/kubelet/device-plugins"
CHECKPOINT = f"{PLUGINS}/kubelet_internal_checkpoint"
RUNTIMES = {"recorder": runtimes.Recorder, "containerd": runtimes.Containerd}
# The kubelets' rights: kube-apiserver has no default binding for them.
KUBELETS = {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
    "metadata": {"name": "kubelets-of-the-tests"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                "name": "system:node"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group",
                  "name": "system:nodes"}],
}


def configuration(port, max_pods, cgroup):
    """The kubelet's. Nothing is evicted or collected, and it does not slow itself down.

    cgroup: pods have control groups within this one; None: pods have none.
    """
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": "127.0.0.1", "port": port, "healthzPort": 0, "readOnlyPort": 0,
        "containerRuntimeEndpoint": f"unix://{runtimes.SOCKET}",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs", "cgroupsPerQOS": cgroup is not None,
        "cgroupRoot": f"/{cgroup}" if cgroup else "", "enforceNodeAllocatable": [],
        "failCgroupV1": False, "failSwapOn": False, "makeIPTablesUtilChains": False,
        # Containers that end are started again after a second, not after 10, 20, 40...
        "featureGates": {"KubeletCrashLoopBackOffMax": True},
        "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
        "localStorageCapacityIsolation": False, "resolvConf": "", "clusterDNS": ["10.0.0.10"],
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        "maxPods": max_pods, "podsPerCore": 0, "serializeImagePulls": False,
        "kubeAPIQPS": 1000, "kubeAPIBurst": 2000, "eventRecordQPS": 0,
        "nodeStatusUpdateFrequency": "1s", "nodeStatusReportFrequency": "10s",
        "nodeLeaseDurationSeconds": 40, "syncFrequency": "1s", "oomScoreAdj": 0,
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "evictionHard": {name: "0%" for name in ("memory.available", "nodefs.available",
                                                 "nodefs.inodesFree", "imagefs.available",
                                                 "imagefs.inodesFree")},
    }


class Node:
    def __init__(self, cluster, name, runtime="recorder", max_pods=1200):
        """Raises build.Unavailable where this machine cannot carry a node."""
        reason = spaces.missing()
        if not reason and not cluster.has("kubelet"):
            reason = f"{cluster.binaries} has no kubelet"
        if reason:
            raise build.Unavailable(reason)
        self.cluster = cluster
        self.name = name
        self.max_pods = max_pods
        own = programs.own()
        self.space = spaces.Space(name, cluster.folder, own / "work")
        self.own = own
        self.runtime = RUNTIMES[runtime](self.space, own)
        self.kubelet = None

    def start(self):
        self.allow()
        self.runtime.start()
        user = self.cluster.certificates.sign(
            f"node-{self.name}", f"/O=system:nodes/CN=system:node:{self.name}", "clientAuth")
        self.kubeconfig = self.cluster.kubeconfig(f"node-{self.name}", certificate=user)
        self.start_kubelet()
        return self

    def allow(self):
        try:
            self.cluster.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                                    KUBELETS)
        except ApiError as error:
            if error.code != 409:
                raise

    def start_kubelet(self):
        """Starts it, and waits until it serves device plugins and says that the node is ready."""
        config = self.space.folder / "kubelet.json"
        cgroup = None
        if self.runtime.runs_programs:
            self.space.make_cgroup()
            self.space.remove_dead_cgroups()
            cgroup = self.space.cgroup
        config.write_text(json.dumps(configuration(free_port(), self.max_pods, cgroup)),
                          encoding="utf-8")
        self.kubelet = self.space.spawn(
            "kubelet", self.cluster.binaries / "kubelet", f"--config={config}",
            f"--kubeconfig={self.kubeconfig}", f"--hostname-override={self.name}",
            "--cert-dir=/var/lib/kubelet/pki", "--v=2")
        def ready():
            self.kubelet.require_alive()
            return self.serves_plugins() and self.is_ready()
        wait_until(f"{self.name} is ready", ready, timeout=120,
                   details=lambda: self.kubelet.tail(5))

    def object(self):
        return self.cluster.api.get(f"/api/v1/nodes/{self.name}")

    def is_ready(self):
        return any(entry["type"] == "Ready" and entry["status"] == "True"
                   for entry in self.object()["status"].get("conditions", ()))

    def serves_plugins(self):
        """Whether the kubelet listens on the socket where device plugins register."""
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(str(self.path(f"{PLUGINS}/kubelet.sock"))) == 0

    def allocatable(self, resource):
        text = self.object()["status"]["allocatable"].get(resource, "0")
        return int(text[:-1]) * 1000 if text.endswith("k") else int(text)

    def path(self, inside):
        return self.space.path(inside)

    def spawn(self, name, *command, env=None):
        return self.space.spawn(name, *command, env=env)

    def checkpoint(self):
        """The device manager's entries."""
        text = self.path(CHECKPOINT).read_text(encoding="utf-8")
        return json.loads(text)["Data"]["PodDeviceEntries"] or []

    def events(self, kind, pod=None, container=None):
        """Events of the runtime: create, start, end, remove."""
        return [event for event in self.runtime.events() if event["kind"] == kind
                and pod in (None, event["pod"]) and container in (None, event["container"])]

    def created(self, pod=None, container=None):
        """Calls of CreateContainer, failed ones too (those have an error)."""
        return self.events("create", pod, container)

    def close(self):
        self.space.close()


def pod(name, node, *containers, init=(), **spec):
    """A pod that is bound already. containers: see container()."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 1,
                     "automountServiceAccountToken": False, "enableServiceLinks": False,
                     "containers": list(containers), "initContainers": list(init), **spec}}


def container(name, limits=None, life=None, code=0, **more):
    """life: seconds until it ends with the code; otherwise it runs until it is stopped."""
    command = ["/work", "show"] + ([f"--for={life}s", f"--exit={code}"] if life else [])
    return {"name": name, "image": runtimes.IMAGE, "command": command,
            "resources": {"limits": dict(limits or {})}, **more}


def poke(api, path):
    """Changes a pod, so that its kubelet looks at it now.

    A kubelet that could not start a container, or waits before it does so again, looks after 10 to
    15 seconds otherwise.
    """
    api.patch(path, {"metadata": {"annotations": {"bed.test/poke": str(time.monotonic())}}})


def add_resource(cluster, node, **amounts):
    """Writes capacities into a node's status, as a controller does."""
    cluster.api.patch(f"/api/v1/nodes/{node}/status",
                      {"status": {"capacity": amounts, "allocatable": amounts}}, STRATEGIC_PATCH)
