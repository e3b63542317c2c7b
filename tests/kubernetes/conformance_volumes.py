"""Cases: bound and unbound volumes, their topology, limits, conflicts; device claims."""
from conformance_objects import (DRIVER, FIXED, HOST, NOW, WAITS, ZONE, claim, drivers,
                                 expression as ex, node, on, pod, required, storage_class, term,
                                 uses, volume)
from conformance_world import HOME, SELECTED_NODE, Row

NODES = [node("n1", "a", gpus=1), node("n2", "b", gpus=1), node("n3", "b")]
ALL = "n1 n2 n3"
LATE, DYNAMIC = storage_class(), storage_class(provisioner=DRIVER)
SHARED = ("ReadWriteMany",)
ALONE = ("ReadWriteOncePod",)


def rows():
    return [*bound(), *static(), *competing(), *dynamic(), *capacities(), *ephemeral(), *zones(),
            *limits(), *exclusive(), *disks(), *devices()]


def row(name, fits, *objects, claims=("data",), nodes=None, **spec):
    return Row(name, fits, nodes or NODES, pod(volumes=uses(*claims), **spec), list(objects))


def bound():
    now = storage_class(NOW, waits=False)
    here = volume(where=["n1", "n2"], claimed="data")
    zoned = volume(claimed="data", affinity=[term(ex(ZONE, "In", "b"))])
    terms = [term(ex(ZONE, "In", "a")), term(ex(HOST, "In", "n3"))]
    either = volume(claimed="data", affinity=terms)
    mine = claim(volume="v1")
    return [
        row("bound: a volume that is everywhere", ALL, LATE, volume(claimed="data"), mine),
        row("bound: a volume on two nodes", "n1 n2", LATE, here, mine),
        row("bound: a volume in a zone", "n2 n3", LATE, zoned, mine),
        row("bound: one of the terms is enough", "n1 n3", LATE, either, mine),
        row("bound: the node has no gpus left", "n2", LATE, here, mine, on("n1", "full", gpu="1"),
            gpu="1"),
        row("bound: a selector goes elsewhere", "", LATE, here, mine, nodeSelector={HOST: "n3"}),
        row("bound: two volumes on different nodes", "", LATE, here, mine,
            volume("v2", "n3", claimed="more"), claim("more", volume="v2"),
            claims=("data", "more")),
        row("bound: two volumes with one node in common", "n2", LATE, here, mine,
            volume("v2", ["n2", "n3"], claimed="more"), claim("more", volume="v2"),
            claims=("data", "more")),
        row("bound: the volume is not there", "", LATE, mine),
        row("bound: the volume is not there, at once", "", now, claim(kind=NOW, volume="v1")),
        row("claim: not there", "", LATE),
        row("claim: in another namespace", "", LATE, volume(claimed="data"),
            claim(volume="v1", namespace="two")),
        row("claim: being deleted", "", LATE, volume(claimed="data"),
            claim(volume="v1", finalizers=["example.com/keep"], terminating=True)),
        row("claim: lost its volume", "", LATE, volume(claimed="data"),
            claim(volume="v1", phase="Lost")),
        row("claim: to be bound at once, and is not", "", now, volume(kind=NOW), claim(kind=NOW)),
        row("claim: without a class, and not bound", "", volume(kind=""), claim(kind="")),
        row("claim: of a class that is not there", "", volume(kind=FIXED), claim(kind=FIXED)),
        row("claim: bound by half", "", LATE, volume(claimed="data"), claim(volumeName="v1")),
        row("claim: one bound, one at once and not", "", LATE, now, volume(claimed="data"), mine,
            claim("more", kind=NOW), claims=("data", "more")),
    ]


def static():
    """Claims that wait for their first consumer, and existing volumes."""
    def one(name, fits, volume_, *more, **options):
        return row(f"static: {name}", fits, LATE, volume_, claim(**options), *more)
    plain = claim()
    return [
        one("a volume that fits", "n2", volume(where="n2")),
        one("a volume that is everywhere", ALL, volume()),
        one("no volume", "", storage_class("other")),
        one("a larger volume", "n2", volume(where="n2", size="5Gi")),
        one("too small", "", volume(where="n2"), size="2Gi"),
        one("another class", "", volume(where="n2", kind="other")),
        one("another access mode", "", volume(where="n2"), modes=SHARED),
        one("more access modes than asked for", "n2",
            volume(where="n2", modes=("ReadWriteOnce", "ReadWriteMany"))),
        one("claimed by another", "", volume(where="n2", claimed="theirs")),
        one("kept for this claim", "n2", volume(where="n2", claimed="data", phase="Available")),
        one("kept for this claim, and another one is nearer", "n2",
            volume(where="n2", claimed="data", phase="Available"), volume("v2", "n1")),
        one("not available yet", "", volume(where="n2", phase="Pending")),
        one("released by another", "", volume(where="n2", claimed="theirs", phase="Released")),
        one("selected by a label", "n1", volume("v1", "n1", labels={"tier": "fast"}),
            volume("v2", "n2"), selector={"matchLabels": {"tier": "fast"}}),
        one("selected by a label that none has", "", volume(where="n2"),
            selector={"matchLabels": {"tier": "fast"}}),
        one("selected by an expression", "n2", volume("v1", "n1", labels={"tier": "fast"}),
            volume("v2", "n2"), selector={"matchExpressions": [ex("tier", "DoesNotExist")]}),
        one("a block device is no file system", "", volume(where="n2", volumeMode="Block")),
        one("a block device", "n2", volume(where="n2", volumeMode="Block"), volumeMode="Block"),
        row("static: and gpus, which are elsewhere", "", LATE, volume(where="n3"), plain, gpu="1"),
        row("static: and a selector", "n2", LATE, volume(), plain, nodeSelector={HOST: "n2"}),
        row("static: one that is bound decides", "n1", LATE, volume("v1", "n1", claimed="old"),
            claim("old", volume="v1"), volume("v2", "n1"), volume("v3", "n2"), plain,
            claims=("old", "data")),
    ]


def competing():
    def pair(name, fits, *volumes, first="1Gi", second="1Gi"):
        return row(f"two claims: {name}", fits, LATE, *volumes, claim(size=first),
                   claim("more", size=second), claims=("data", "more"))
    return [
        pair("one volume", "", volume("v1", "n1")),
        pair("one volume here, one there", "", volume("v1", "n1"), volume("v2", "n2")),
        pair("two volumes", "n2", volume("v1", "n1"), volume("v2", "n2"), volume("v3", "n2")),
        pair("the smaller one is left for the smaller claim", "n1", volume("v1", "n1", size="1Gi"),
             volume("v2", "n1", size="5Gi"), second="4Gi"),
        pair("the large claim comes first", "n1", volume("v1", "n1", size="1Gi"),
             volume("v2", "n1", size="5Gi"), first="4Gi"),
        pair("both are too large for one of them", "", volume("v1", "n1", size="1Gi"),
             volume("v2", "n1", size="5Gi"), first="4Gi", second="4Gi"),
    ]


def dynamic():
    def allowed(*terms):
        return storage_class(provisioner=DRIVER, allowedTopologies=[
            {"matchLabelExpressions": [{"key": key, "values": values} for key, values in each]}
            for each in terms])

    def chosen(where):
        value = claim()
        value["metadata"]["annotations"] = {SELECTED_NODE: where}
        return value
    plain = claim()
    return [
        row("dynamic: anywhere", ALL, DYNAMIC, plain),
        row("dynamic: with a gpu", "n1 n2", DYNAMIC, plain, gpu="1"),
        row("dynamic: two claims", ALL, DYNAMIC, plain, claim("more"), claims=("data", "more")),
        row("dynamic: a class that provisions nothing", "", LATE, plain),
        row("dynamic: where there is no volume yet", ALL, DYNAMIC, volume(where="n1"), plain),
        row("dynamic: a volume and a new one", "n1 n2", LATE, volume("v1", ["n1", "n2"]), plain,
            storage_class("made", DRIVER), claim("more", kind="made"), claims=("data", "more")),
        row("dynamic: allowed in a zone", "n2 n3", allowed([(ZONE, ["b"])]), plain),
        row("dynamic: allowed in one of two places", "n1 n3",
            allowed([(ZONE, ["a"])], [(HOST, ["n3"])]), plain),
        row("dynamic: allowed where both hold", "n3",
            allowed([(ZONE, ["b"]), (HOST, ["n3", "n1"])]), plain),
        row("dynamic: allowed nowhere", "", allowed([(ZONE, ["z"])]), plain),
        row("dynamic: on the node that was selected", "n2", DYNAMIC, chosen("n2")),
        row("dynamic: on a node that was selected and has no room", "", DYNAMIC, chosen("n2"),
            on("n2", "full", gpu="1"), gpu="1"),
    ]


def capacities():
    def driver(counts=True):
        return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
                "metadata": {"name": DRIVER}, "spec": {"storageCapacity": counts}}

    def room(name, zone, size, kind=WAITS, **more):
        return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
                "metadata": {"name": name, "namespace": HOME}, "storageClassName": kind,
                "nodeTopology": {"matchLabels": {ZONE: zone}},
                **({"capacity": size} if size else {}), **more}
    plain = claim(size="2Gi")
    return [
        row("capacity: none is known", "", DYNAMIC, driver(), plain),
        row("capacity: it does not matter to the driver", ALL, DYNAMIC, driver(False), plain),
        row("capacity: enough in a zone", "n1", DYNAMIC, driver(), plain, room("a", "a", "2Gi"),
            room("b", "b", "1Gi")),
        row("capacity: of another class", "", DYNAMIC, driver(), plain,
            room("a", "a", "5Gi", "other")),
        row("capacity: enough, in pieces that are too small", "", DYNAMIC, driver(), plain,
            room("a", "a", "5Gi", maximumVolumeSize="1Gi")),
        row("capacity: pieces that are large enough", "n1", DYNAMIC, driver(), plain,
            room("a", "a", "1Gi", maximumVolumeSize="2Gi")),
        row("capacity: not said", "", DYNAMIC, driver(), plain, room("a", "a", "")),
        row("capacity: each claim is looked at alone", "n1", DYNAMIC, driver(), plain,
            claim("more", size="2Gi"), room("a", "a", "3Gi"), claims=("data", "more")),
    ]


def ephemeral():
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {
        "spec": claim()["spec"]}}}]

    def one(name, fits, *objects, claims=None):
        return Row(f"ephemeral: {name}", fits, NODES, pod(volumes=volumes), list(objects),
                   ephemeral=claims or {})
    return [
        one("its claim is not made yet", "", LATE, volume()),
        one("a volume that is there", "n2", LATE, volume(where="n2"), claims={"scratch": claim()}),
        one("a new volume", ALL, DYNAMIC, claims={"scratch": claim()}),
        one("a claim of that name that is not its own", "", DYNAMIC,
            claims={"scratch": {**claim(), "owned": False}}),
    ]


def zones():
    def one(name, fits, labels, nodes=None, **options):
        return row(f"zones: {name}", fits, LATE, volume(claimed="data", labels=labels, **options),
                   claim(volume="v1"), nodes=nodes)
    region = "topology.kubernetes.io/region"
    old = "failure-domain.beta.kubernetes.io/zone"
    return [
        one("of the volume", "n1", {ZONE: "a"}),
        one("several", ALL, {ZONE: "a__b"}),
        one("where there is no node", "", {ZONE: "z"}),
        one("region, which no node tells", "", {region: "r"}),
        one("by its old name", "n1", {old: "a"}),
        one("nodes that tell nothing", "n1 n4", {ZONE: "a"}, [*NODES, node("n4")]),
        one("region and zone", "n1", {ZONE: "a", region: "r"},
            [node("n1", "a", {region: "r"}), node("n2", "a", {region: "s"}), node("n3", "a")]),
        one("and affinity of the volume", "", {ZONE: "a"}, where="n2"),
    ]


def limits():
    def csi(name, owner, handle=""):
        """A volume of the driver, and its claim."""
        return [volume(name, claimed=owner, driver=DRIVER, handle=handle, modes=SHARED),
                claim(owner, volume=name, modes=SHARED)]
    first, second, third = csi("v1", "data"), csi("v2", "more"), csi("v3", "third")
    full = [LATE, *first, *second, on("n1", "old", volumes=uses("more"))]
    one = [drivers("n1", 1), drivers("n2", 9)]
    attached = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
                "metadata": {"name": "attached"},
                "spec": {"attacher": DRIVER, "nodeName": "n1",
                         "source": {"persistentVolumeName": "v2"}}}
    return [
        row("limits: room for another", ALL, *full, drivers("n1", 2)),
        row("limits: no room for another", "n2 n3", *full, *one),
        row("limits: of another driver", ALL, *full, drivers("n1", 1, "other.example.com")),
        row("limits: a volume that is there is not counted twice", ALL, *full, *one,
            claims=("more",)),
        row("limits: the same volume under two names", "n2 n3", LATE, *csi("v1", "data", "h"),
            *csi("v2", "more", "h"), *third, on("n1", "old", volumes=uses("more")),
            drivers("n1", 1), claims=("data", "third")),
        row("limits: one handle is one volume", ALL, LATE, *csi("v1", "data", "h"),
            *csi("v2", "more", "h"), on("n1", "old", volumes=uses("more")), drivers("n1", 1)),
        row("limits: two at once", "n2 n3", LATE, *first, *second, *one, claims=("data", "more")),
        row("limits: none at all", "n2 n3", LATE, *first, drivers("n1", 0)),
        row("limits: nobody tells", ALL, *full),
        row("limits: claims that wait count", "n2 n3", DYNAMIC, *second, claim("new"), *one,
            on("n1", "old", volumes=uses("more")), claims=("new",)),
        row("limits: a volume that is still attached", "n2 n3", LATE, *first, *second, *one,
            attached),
        row("limits: pods that terminate hold theirs", "n2 n3", LATE, *first, *second, *one,
            on("n1", "old", volumes=uses("more"), terminating=True)),
        row("limits: no csi volume, no limit", ALL, *full, volume("v9", claimed="plain"),
            claim("plain", volume="v9"), *one, claims=("plain",)),
    ]


def exclusive():
    mine = [LATE, volume(claimed="data", modes=ALONE, driver=DRIVER),
            claim(volume="v1", modes=ALONE)]
    late = [LATE, volume(modes=ALONE, driver=DRIVER, where="n2"), claim(modes=ALONE)]
    shared = [LATE, volume(claimed="data"), claim(volume="v1")]
    return [
        row("one pod only: free", ALL, *mine),
        row("one pod only: in use", "", *mine, on("n1", "old", volumes=uses("data"))),
        row("one pod only: in use by one that terminates", "", *mine,
            on("n1", "old", volumes=uses("data"), terminating=True)),
        row("one pod only: was in use by one that is done", ALL, *mine,
            on("n1", "old", volumes=uses("data"), status={"phase": "Succeeded"})),
        row("one pod only: not bound yet", "n2", *late),
        row("one node only is no rule of its own", ALL, *shared,
            on("n1", "old", volumes=uses("data"))),
    ]


def disks():
    """Volumes in the pod's spec that a node can mount once."""
    def one(name, fits, held, asked):
        return Row(f"disks: {name}", fits, NODES[:2],
                   pod(volumes=[{"name": "d", **asked}]),
                   [on("n1", "old", volumes=[{"name": "d", **held}])])

    def gce(name="d", only=False):
        return {"gcePersistentDisk": {"pdName": name, "readOnly": only}}

    def ebs(only=False):
        return {"awsElasticBlockStore": {"volumeID": "v", "readOnly": only}}

    def iscsi(iqn="iqn.2001-04.com.example:a", only=False, lun=0):
        return {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": iqn, "lun": lun,
                          "readOnly": only}}

    def rbd(*monitors, only=False, image="i", pool="p"):
        return {"rbd": {"monitors": monitors or ["m1", "m2"], "image": image, "pool": pool,
                        "readOnly": only}}
    both = "n1 n2"
    return [
        one("gce, twice", "n2", gce(), gce()),
        one("gce, both only read", both, gce(only=True), gce(only=True)),
        one("gce, one of them writes", "n2", gce(only=True), gce()),
        one("gce, another disk", both, gce(), gce("e")),
        one("ebs, twice", "n2", ebs(), ebs()),
        one("ebs, both only read", "n2", ebs(True), ebs(True)),
        one("iscsi, twice", "n2", iscsi(), iscsi()),
        one("iscsi, both only read", both, iscsi(only=True), iscsi(only=True)),
        one("iscsi, another name", both, iscsi(), iscsi("iqn.2001-04.com.example:b")),
        one("iscsi, another unit of the same name", "n2", iscsi(), iscsi(lun=1)),
        one("rbd, twice", "n2", rbd(), rbd()),
        one("rbd, a monitor in common", "n2", rbd("m1", "m2"), rbd("m2", "m3")),
        one("rbd, no monitor in common", both, rbd("m1"), rbd("m2")),
        one("rbd, another pool", both, rbd(), rbd(pool="q")),
        one("rbd, another image", both, rbd(), rbd(image="j")),
        one("rbd, both only read", both, rbd(only=True), rbd(only=True)),
        one("different kinds", both, gce("v"), ebs()),
    ]


def devices():
    """Device claims are refused, and named as the reason."""
    group = "resource.k8s.io/v1"
    objects = [
        {"apiVersion": group, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
        {"apiVersion": group, "kind": "ResourceSlice", "metadata": {"name": "slice"},
         "spec": {"driver": "gpu.example.com", "nodeName": "n1", "devices": [{"name": "d0"}],
                  "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1}}},
        {"apiVersion": group, "kind": "ResourceClaim",
         "metadata": {"name": "card", "namespace": HOME},
         "spec": {"devices": {"requests": [
             {"name": "one", "exactly": {"deviceClassName": "gpu"}}]}}}]
    asks = pod(resourceClaims=[{"name": "card", "resourceClaimName": "card"}],
               affinity=required(term(ex(HOST, "Exists"))))
    return [Row("devices: a claim is not supported", "n1", NODES, asks, objects,
                unlike="claim")]
