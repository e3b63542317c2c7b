"""Short forms of the objects in the cases."""
import objects
from conformance_world import AWAY, BOUND, HOME, priority

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
WAITS, FIXED, NOW = "waits", "fixed", "now"  # storage classes
DRIVER = "csi.example.com"


def node(name, zone="", labels=None, gpus=0, cpu="4", memory="8Gi", more=None, **options):
    """A small node; more: further resources."""
    labels = {**({ZONE: zone} if zone else {}), **(labels or {})}
    return objects.node(name, gpus, labels, **{"cpu": cpu, "memory": memory, **(more or {})},
                        **options)


def taint(key, effect="NoSchedule", value=""):
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def container(name="c", ports=(), always=False, limits=None, **amounts):
    """always: a sidecar, as an init container."""
    names = {"ephemeral": "ephemeral-storage", "gpu": "nvidia.com/gpu", "fpga": "example.com/fpga"}
    requests = {names.get(key, key): str(amount) for key, amount in amounts.items()}
    limits = dict(limits or {})
    limits.update({key: amount for key, amount in requests.items() if "/" in key})
    value = {"name": name, "image": "none", "resources": {"requests": requests, "limits": limits}}
    if ports:
        value["ports"] = list(ports)
    if always:
        value["restartPolicy"] = "Always"
    return value


def port(number, protocol="TCP", host_ip=""):
    value = {"containerPort": number, "hostPort": number, "protocol": protocol}
    return {**value, "hostIP": host_ip} if host_ip else value


def pod(name="pod", labels=None, containers=None, namespace=HOME, ports=(), level=None,
        preempts=False, **spec):
    """A pod. Amounts (cpu=, memory=, gpu=, ephemeral=, fpga=) go to its only container.

    level: its priority, by a class that preempts or, by default, does not.
    """
    amounts = {key: spec.pop(key) for key in ("cpu", "memory", "gpu", "ephemeral", "fpga")
               if key in spec}
    if level is not None:
        spec["priorityClassName"] = priority(level, not preempts)
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
            "spec": {"containers": containers or [container(ports=ports, **amounts)], **spec}}


def on(where, name, labels=None, terminating=False, status=None, **options):
    """A pod that is already bound to a node."""
    value = pod(name, labels, nodeName=where, schedulerName="someone", **options)
    if status:
        value["status"] = status
    return {**value, "terminating": True} if terminating else value


def away(where, name, labels=None, **options):
    return on(where, name, labels, namespace=AWAY, **options)


def expression(key, operator, *values):
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def required(*terms):
    """Node affinity with terms from term()."""
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": list(terms)}}}


def term(*expressions, fields=()):
    value = {"matchExpressions": list(expressions)} if expressions else {}
    return {**value, "matchFields": list(fields)} if fields else value


def selects(*expressions, **labels):
    value = {"matchLabels": labels} if labels else {}
    return {**value, "matchExpressions": list(expressions)} if expressions else value


def near(selector, key=HOST, **more):
    """A term of affinity between pods."""
    return {"labelSelector": selector, "topologyKey": key, **more}


def together(*terms):
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def apart(*terms):
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def spread(selector, key=ZONE, skew=1, **more):
    value = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **more}
    return {**value, "labelSelector": selector} if selector is not None else value


def storage_class(name=WAITS, provisioner="kubernetes.io/no-provisioner", waits=True, **more):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate", **more}


def claim(name="data", size="1Gi", kind=WAITS, modes=("ReadWriteOnce",), volume="", phase="",
          namespace=HOME, finalizers=(), **more):
    """A claim; bound if a volume is named."""
    terminating = more.pop("terminating", False)
    meta = {"name": name, "namespace": namespace}
    spec = {"accessModes": list(modes), "resources": {"requests": {"storage": size}},
            "storageClassName": kind, **more}
    if volume:
        meta["annotations"] = {BOUND: "yes"}
        spec["volumeName"] = volume
    if finalizers:
        meta["finalizers"] = list(finalizers)
    value = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec,
             "status": {"phase": phase or ("Bound" if volume else "Pending")}}
    return {**value, "terminating": True} if terminating else value


def volume(name="v1", where=(), size="1Gi", kind=WAITS, modes=("ReadWriteOnce",), claimed="",
           labels=None, phase="", driver="", handle="", affinity=None, **more):
    """A volume; where: hosts on which it can be used; claimed: the name of its claim."""
    spec = {"capacity": {"storage": size}, "accessModes": list(modes), "storageClassName": kind,
            "persistentVolumeReclaimPolicy": "Retain", **more}
    if driver:
        spec["csi"] = {"driver": driver, "volumeHandle": handle or name}
    elif not {"awsElasticBlockStore", "gcePersistentDisk", "csi"} & set(more):
        spec["hostPath"] = {"path": "/none"}
    if where or affinity:
        where = [where] if isinstance(where, str) else list(where)
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": affinity or [
            term(expression(HOST, "In", *where))]}}
    if claimed:
        spec["claimRef"] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                            "namespace": HOME, "name": claimed}
    return {"apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": labels or {}}, "spec": spec,
            "status": {"phase": phase or ("Bound" if claimed else "Available")}}


def uses(*claims):
    """volumes= of a pod that uses the claims."""
    return [{"name": f"v{index}", "persistentVolumeClaim": {"claimName": name}}
            for index, name in enumerate(claims)]


def drivers(where, count, driver=DRIVER):
    """A driver's limit of attached volumes on a node."""
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": where},
            "spec": {"drivers": [{"name": driver, "nodeID": where, "topologyKeys": [HOST],
                                  "allocatable": {"count": count}}]}}
