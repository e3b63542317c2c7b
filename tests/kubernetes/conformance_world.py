"""The objects of a case: created, updated as controllers would do it, and removed again."""
import copy
import dataclasses
import time

from api import MERGE_PATCH, ApiError, wait_until

HOME, AWAY = "one", "two"  # the namespaces of all cases
NAMESPACES = {HOME: {"team": "a"}, AWAY: {"team": "b"}}
PRIORITIES = (-10, 5, 10, 100)
KINDS = {  # kind: path with or without a namespace, whether the status needs a request of its own
    "Pod": ("/api/v1/{}pods", True),
    "Node": ("/api/v1/nodes", False),
    "PersistentVolume": ("/api/v1/persistentvolumes", True),
    "PersistentVolumeClaim": ("/api/v1/{}persistentvolumeclaims", True),
    "StorageClass": ("/apis/storage.k8s.io/v1/storageclasses", False),
    "CSINode": ("/apis/storage.k8s.io/v1/csinodes", False),
    "CSIDriver": ("/apis/storage.k8s.io/v1/csidrivers", False),
    "CSIStorageCapacity": ("/apis/storage.k8s.io/v1/{}csistoragecapacities", False),
    "VolumeAttachment": ("/apis/storage.k8s.io/v1/volumeattachments", False),
    "RuntimeClass": ("/apis/node.k8s.io/v1/runtimeclasses", False),
    "PodDisruptionBudget": ("/apis/policy/v1/{}poddisruptionbudgets", True),
    "ResourceClaim": ("/apis/resource.k8s.io/v1/{}resourceclaims", True),
    "ResourceSlice": ("/apis/resource.k8s.io/v1/resourceslices", False),
    "DeviceClass": ("/apis/resource.k8s.io/v1/deviceclasses", False),
}
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BOUND = "pv.kubernetes.io/bind-completed"
GATE = [{"name": "stowage.dev/conformance"}]


@dataclasses.dataclass
class Row:
    """One case. fits: the nodes that the filters allow, separated by blanks; "" for none.

    The reference must agree with fits, so that a case that tests nothing is noticed; None if
    unknown. objects has everything except the nodes and the pod. nominated are pods that wait and
    have a nominated node. ephemeral: claims that are created for the pod, by the name of the
    volume. unlike: a word of the reason why Stowage refuses what the reference allows.
    """
    name: str
    fits: str
    nodes: list
    pod: dict
    objects: list = dataclasses.field(default_factory=list)
    nominated: list = dataclasses.field(default_factory=list)
    ephemeral: dict = dataclasses.field(default_factory=dict)
    unlike: str = ""
    gated: bool = False


def collection(value):
    """The path of the objects of its kind, in its namespace."""
    path = KINDS[value["kind"]][0]
    return path.format(f"namespaces/{value['metadata'].get('namespace', HOME)}/")


def path_of(value):
    return f"{collection(value)}/{value['metadata']['name']}"


class World:
    def __init__(self, api):
        self.api = api
        self.made = set()  # collections that are not empty
        self.count = 0
        self.claims = False  # whether the test must act as the volume controllers
        for name, labels in NAMESPACES.items():
            api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        for value in PRIORITIES:
            for policy in ("Never", "PreemptLowerPriority"):
                api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {
                    "metadata": {"name": priority(value, policy == "Never")}, "value": value,
                    "preemptionPolicy": policy})

    def add(self, value):
        """Creates the object with its status. terminating: it is deleted, but stays."""
        value = dict(value)
        terminating = value.pop("terminating", False)
        status = value.get("status")
        self.made.add(collection(value))
        self.claims |= value["kind"] in ("PersistentVolume", "PersistentVolumeClaim")
        answer = self.api.create(collection(value), value)
        if status and KINDS[value["kind"]][1]:
            answer = self.api.patch(f"{path_of(answer)}/status", {"status": status}, MERGE_PATCH)
        if terminating:
            self.api.request("DELETE", path_of(value))
        return answer

    def add_subject(self, row, scheduler):
        """The pod of a row for a scheduler. The objects that it needs are created before it."""
        self.count += 1
        value = copy.deepcopy(row.pod)
        value["metadata"]["name"] = f"{value['metadata']['name']}-{self.count}"
        value["spec"]["schedulerName"] = scheduler
        if row.ephemeral:
            value["spec"]["schedulingGates"] = GATE
        made = self.add(value)
        for volume, claim in row.ephemeral.items():
            self.add_ephemeral(made, volume, claim)
        if row.ephemeral:
            time.sleep(0.05)
            self.api.patch(path_of(made), {"spec": {"schedulingGates": None}}, MERGE_PATCH)
        return made

    def add_ephemeral(self, pod, volume, claim):
        claim = copy.deepcopy(claim)
        meta = pod["metadata"]
        claim["metadata"]["name"] = f"{meta['name']}-{volume}"
        if claim.pop("owned", True):
            claim["metadata"]["ownerReferences"] = [{
                "apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"],
                "controller": True, "blockOwnerDeletion": True}]
        self.add(claim)

    def remove(self, value):
        try:
            self.api.delete(path_of(value))
        except ApiError as error:
            if error.code != 404:
                raise

    def clear(self):
        """Removes everything except the namespaces and priority classes."""
        for path in sorted(self.made, key=lambda path: not path.endswith("pods")):
            for value in self.api.request("DELETE", path, {
                    "kind": "DeleteOptions", "apiVersion": "v1",
                    "gracePeriodSeconds": 0}).get("items", ()):
                meta = value["metadata"]
                if meta.get("finalizers"):
                    self.api.patch(f"{path}/{meta['name']}", {"metadata": {"finalizers": None}})
        for path in self.made:
            wait_until(f"{path} is empty", lambda path=path: not self.api.list(path))
        self.made = set()
        self.claims = False

    def tend_volumes(self):
        """What the volume controllers do: complete bindings, provision on selected nodes."""
        path = KINDS["PersistentVolumeClaim"][0].format("")
        claims = {(value["metadata"]["namespace"], value["metadata"]["name"]): value
                  for value in self.api.list(path) if not value["spec"].get("volumeName")}
        if not claims:
            return
        for volume in self.api.list(KINDS["PersistentVolume"][0]):
            wanted = volume["spec"].get("claimRef") or {}
            claim = claims.pop((wanted.get("namespace"), wanted.get("name")), None)
            if claim:
                bind_volume(self.api, volume, claim)
        for claim in claims.values():
            where = claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
            if where:
                bind_volume(self.api, self.add(provisioned(claim, where)), claim)

    def wrong_claims(self, pod, where):
        """What is wrong with the claims of a pod that was bound to a node, or ""."""
        meta, seen = pod["metadata"], set()
        path = KINDS["PersistentVolumeClaim"][0].format(f"namespaces/{meta['namespace']}/")
        for entry in pod["spec"].get("volumes", ()):
            name = entry.get("persistentVolumeClaim", {}).get("claimName", "")
            if "ephemeral" in entry:
                name = f"{meta['name']}-{entry['name']}"
            if not name:
                continue
            chosen = self.api.get(f"{path}/{name}")["spec"].get("volumeName")
            if not chosen:
                return f"{where}, with claim {name} that is not bound"
            if chosen in seen:
                return f"{where}, with volume {chosen} for two claims"
            seen.add(chosen)
            volume = self.api.get(f"{KINDS['PersistentVolume'][0]}/{chosen}")
            if not usable(volume, where):
                return f"{where}, with volume {chosen} that is not there"
        return ""


def bind_volume(api, volume, claim):
    """What the volume controller does with a volume that is reserved for a claim."""
    claim["kind"], volume["kind"] = "PersistentVolumeClaim", "PersistentVolume"
    api.patch(f"{path_of(volume)}/status", {"status": {"phase": "Bound"}})
    api.patch(path_of(claim), {
        "metadata": {"annotations": {BOUND: "yes", "pv.kubernetes.io/bound-by-controller": "yes"}},
        "spec": {"volumeName": volume["metadata"]["name"]}})
    api.patch(f"{path_of(claim)}/status", {"status": {
        "phase": "Bound", "accessModes": claim["spec"]["accessModes"],
        "capacity": volume["spec"]["capacity"]}})


def usable(volume, where):
    """Whether the volume can be used on the node, if it names hosts."""
    needed = volume["spec"].get("nodeAffinity", {}).get("required", {})
    hosts = [expression["values"] for term in needed.get("nodeSelectorTerms", ())
             for expression in term.get("matchExpressions", ())
             if expression["key"] == "kubernetes.io/hostname"]
    return len(hosts) != 1 or len(needed["nodeSelectorTerms"]) != 1 or where in hosts[0]


def provisioned(claim, where):
    """A volume as a driver would make it for a claim, on one node."""
    meta = claim["metadata"]
    return {
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": f"made-{meta['uid']}"},
        "spec": {
            "capacity": claim["spec"]["resources"]["requests"],
            "accessModes": claim["spec"]["accessModes"],
            "storageClassName": claim["spec"].get("storageClassName", ""),
            "claimRef": {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "name": meta["name"],
                         "namespace": meta["namespace"], "uid": meta["uid"]},
            "csi": {"driver": "csi.example.com", "volumeHandle": meta["uid"]},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [where]}]}]}}}}


def priority(value, never=True):
    """The name of a priority class."""
    return f"p{value}".replace("-", "minus") + ("-never" if never else "")
