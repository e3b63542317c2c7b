"""The cluster whose objects are recorded, and how they are created on another API server."""
import json
import pathlib
import time

NODES = ("card-a", "card-b", "counted", "vgpu", "vcuda", "elastic")
HELD = "kube-scheduler"  # the scheduler of external pods
# Cards for all dialects at once: described by the annotation, offered by allocatable.
AMOUNTS = {"cpu": "64", "memory": "256Gi", "pods": "110"}
CONFIG = """\
apiVersion: stowage.dev/v1alpha1
kind: ControllerConfig
listen: 127.0.0.1:0
leaderElection: {leaseDuration: 2s, renewDeadline: 1500ms, retryPeriod: 500ms}
profiles:
- name: stowage
- name: tight
  policy: tightest
extenders:
- {preset: stowage, listen: "127.0.0.1:0"}
- {preset: elastic-gpu-scheduler, listen: "127.0.0.1:0"}
- {preset: gpu-admission, listen: "127.0.0.1:0"}
"""


def inventory(node, count, model="NVIDIA A100-SXM4-80GB", memory=81920):
    return {"stowage.dev/gpu-inventory": json.dumps({"version": 1, "cards": [
        {"id": f"GPU-{node}-{i}", "index": i, "model": model, "memoryMiB": memory}
        for i in range(count)]})}


def node(name, amounts, annotations=None):
    amounts = {**AMOUNTS, **{key: str(value) for key, value in amounts.items()}}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": annotations or {},
                         "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": amounts, "allocatable": amounts}}


def nodes():
    vgpu = [{"id": i, "uuid": f"GPU-vgpu-{i}", "type": "NVIDIA T4", "memory": 15109, "core": 100,
             "number": 10, "numa": 0, "mig": False, "capability": 75, "healthy": True}
            for i in range(2)]
    config = {"deviceSplit": 10, "coresScaling": 1, "memoryFactor": 1, "memoryScaling": 1}
    return [
        node("card-a", {"nvidia.com/gpu": 4, "alnair/vgpu-memory": 320, "alnair/vgpu-compute": 400},
             inventory("card-a", 4)),
        node("card-b", {"stowage.dev/gpu": 2}, inventory("card-b", 2, "NVIDIA L4", 23034)),
        node("counted", {"nvidia.com/gpu": 4}),
        node("vgpu", {"nvidia.com/vgpu-number": 20, "nvidia.com/vgpu-cores": 200,
                      "nvidia.com/vgpu-memory": 30218},
             {"nvidia.com/node-device-register": json.dumps(vgpu),
              "nvidia.com/node-config-info": json.dumps(config)}),
        node("vcuda", {"tencent.com/vcuda-core": 200, "tencent.com/vcuda-memory": 64}),
        node("elastic", {"elasticgpu.io/gpu-core": 200, "elasticgpu.io/gpu-memory": 32768}),
    ]


def pod(name, asks, scheduler="stowage", on=None, namespace="default"):
    """One container for each set of amounts."""
    containers = [{"name": f"c{i}", "image": "none",
                   "resources": {kind: {key: str(value) for key, value in each.items()}
                                 for kind in ("limits", "requests")}}
                  for i, each in enumerate(asks)]
    spec = {"schedulerName": scheduler, "containers": containers}
    if on:
        spec["nodeSelector"] = {"kubernetes.io/hostname": on}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace}, "spec": spec}


# Placed by the scheduler: one pod or more of each dialect.
PLACED = [
    pod("whole", [{"stowage.dev/gpu": 1}], on="card-b"),
    pod("share", [{"stowage.dev/gpu-core": 30, "stowage.dev/gpu-memory": 4096}], on="card-b"),
    pod("share-of-compute", [{"stowage.dev/gpu-core": 20}], on="card-b"),
    pod("share-of-memory", [{"stowage.dev/gpu-memory": 2048}], on="card-b"),
    pod("two-containers", [{"stowage.dev/gpu-core": 10, "stowage.dev/gpu-memory": 1024},
                           {"stowage.dev/gpu-core": 15, "stowage.dev/gpu-memory": 512}],
        on="card-a"),
    pod("devices", [{"nvidia.com/gpu": 2}], on="card-a"),
    pod("counted", [{"nvidia.com/gpu": 1}], on="counted"),
    pod("alnair", [{"alnair/vgpu-memory": 8, "alnair/vgpu-compute": 10}], on="card-a"),
    pod("vgpu", [{"nvidia.com/vgpu-number": 1, "nvidia.com/vgpu-cores": 25,
                  "nvidia.com/vgpu-memory": 4000}], on="vgpu"),
    pod("vcuda", [{"tencent.com/vcuda-core": 20, "tencent.com/vcuda-memory": 4}], "tight",
        on="vcuda"),
    pod("elastic", [{"elasticgpu.io/gpu-core": 25, "elasticgpu.io/gpu-memory": 4096}],
        on="elastic"),
    pod("no-cards", [{"cpu": 1}]),
]
WAITING = pod("too-large", [{"stowage.dev/gpu": 9}])
# External pods: (pod, preset, node, route of filter, route of bind, or None if kube-scheduler binds
# it or it is not bound yet).
BOUND_BY_US = (pod("extender-bound", [{"elasticgpu.io/gpu-core": 30,
                                       "elasticgpu.io/gpu-memory": 2048}], HELD),
               "elastic-gpu-scheduler", "elastic", "/scheduler/filter", "/scheduler/bind")
BOUND_BY_THEM = (pod("promised-bound", [{"tencent.com/vcuda-core": 30,
                                         "tencent.com/vcuda-memory": 8}], HELD),
                 "gpu-admission", "vcuda", "/scheduler/predicates", None)
PROMISED = (pod("promised", [{"tencent.com/vcuda-core": 60, "tencent.com/vcuda-memory": 8}], HELD),
            "gpu-admission", "vcuda", "/scheduler/predicates", None)


def pod_path(value, rest=""):
    meta = value["metadata"]
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}{rest}"


class Objects:
    """Objects that a version wrote, in a folder."""
    FILES = ("nodes", "pods", "lease", "events", "free")

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def write(self, name, value):
        text = json.dumps(value, indent=1, sort_keys=True)
        (self.folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")

    def read(self, name):
        return json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))

    @property
    def config(self):
        return self.folder / "config.yaml"


def told_again(value, since):
    """The pod for another API server, with its times moved to the present."""
    value = json.loads(json.dumps(value))
    meta = value["metadata"]
    for key in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"):
        meta.pop(key, None)
    for key, text in meta.get("annotations", {}).items():
        if key.endswith("/predicate-time"):
            age = since - int(text) / 1e9
            meta["annotations"][key] = str(int((time.time() - age) * 1e9))
    return value
