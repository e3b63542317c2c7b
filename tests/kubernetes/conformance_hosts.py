"""Cases: what a pod requires of a node. Gates, taints, labels, ports, resources."""
from conformance_objects import (container, expression as ex, node, on, pod, port, required, taint,
                                 term)
from conformance_world import Row

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
PAIR = [node("n1"), node("n2")]


def rows():
    return [*gates_and_taints(), *labels(), *ports(), *amounts(), *containers(), *resized()]


def tolerates(name, fits, *tolerations, taints=None):
    """n1 has the taint gpu=yes:NoSchedule, n2 has gpu=no:NoExecute, n3 has both."""
    first, second = taint("gpu", value="yes"), taint("gpu", "NoExecute", "no")
    nodes = [node("n1", taints=[first]), node("n2", taints=[second]),
             node("n3", taints=[first, second])]
    return Row(f"taints: {name}", fits, taints or nodes, pod(tolerations=list(tolerations)))


def gates_and_taints():
    closed = [node("n1", unschedulable=True), node("n2", labels={"open": "yes"})]
    shut = [node("n1", unschedulable=True)]
    exists = {"key": UNSCHEDULABLE, "operator": "Exists"}
    soft = [node("n1", taints=[taint("busy", "PreferNoSchedule")])]
    odd = [node("n1", taints=[taint("a"), taint("b", value="1")])]
    return [
        Row("gates: a gated pod is not looked at", "", PAIR,
            pod(schedulingGates=[{"name": "example.com/wait"}]), gated=True),
        Row("unschedulable: such a node is left out", "n2", closed, pod()),
        Row("unschedulable: no other node", "", shut, pod()),
        Row("unschedulable: tolerated", "n1", shut, pod(tolerations=[exists])),
        Row("unschedulable: tolerated with its effect", "n1", shut,
            pod(tolerations=[{**exists, "effect": "NoSchedule"}])),
        Row("unschedulable: another effect is tolerated", "", shut,
            pod(tolerations=[{**exists, "effect": "NoExecute"}])),
        tolerates("no toleration", ""),
        tolerates("Exists on the key", "n1 n2 n3", {"key": "gpu", "operator": "Exists"}),
        tolerates("Equal with the value", "n1", {"key": "gpu", "value": "yes"}),
        tolerates("Equal with the value, spelled out", "n2",
                  {"key": "gpu", "operator": "Equal", "value": "no", "effect": "NoExecute"}),
        tolerates("Equal with another value", "", {"key": "gpu", "value": "maybe"}),
        tolerates("Equal with both values", "n1 n2 n3", {"key": "gpu", "value": "yes"},
                  {"key": "gpu", "value": "no"}),
        tolerates("Exists with one effect", "n1",
                  {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}),
        tolerates("an effect that no taint has", "",
                  {"key": "gpu", "operator": "Exists", "effect": "PreferNoSchedule"}),
        tolerates("empty key tolerates all", "n1 n2 n3", {"operator": "Exists"}),
        tolerates("empty key with an effect", "n2", {"operator": "Exists", "effect": "NoExecute"}),
        tolerates("tolerationSeconds does not matter", "n2",
                  {"key": "gpu", "operator": "Exists", "effect": "NoExecute",
                   "tolerationSeconds": 0}),
        tolerates("PreferNoSchedule refuses nothing", "n1", taints=soft),
        tolerates("every taint has to be tolerated", "", {"key": "a", "operator": "Exists"},
                  taints=odd),
        tolerates("an empty value equals an empty value", "n1", {"key": "a"},
                  {"key": "b", "value": "1"}, taints=odd),
    ]


def labels():
    nodes = [node("n1", labels={"disk": "ssd", "size": "10", "gpu": ""}),
             node("n2", labels={"disk": "hdd", "size": "20"}),
             node("n3", labels={"size": "many"})]

    def affinity(name, fits, *terms, **spec):
        return Row(f"node affinity: {name}", fits, nodes, pod(affinity=required(*terms), **spec))

    def one(operator, *values, key="disk"):
        return term(ex(key, operator, *values))

    def named(operator, *values):
        return term(fields=[ex("metadata.name", operator, *values)])
    return [
        Row("node selector: one label", "n1", nodes, pod(nodeSelector={"disk": "ssd"})),
        Row("node selector: two labels", "", nodes,
            pod(nodeSelector={"disk": "ssd", "size": "20"})),
        Row("node selector: an empty value is not a missing label", "n1", nodes,
            pod(nodeSelector={"gpu": ""})),
        Row("node selector: a label that no node has", "", nodes, pod(nodeSelector={"x": "y"})),
        affinity("In", "n1 n2", one("In", "ssd", "hdd")),
        affinity("In with no such value", "", one("In", "tape")),
        affinity("NotIn has nodes without the label", "n2 n3", one("NotIn", "ssd")),
        affinity("Exists", "n1", one("Exists", key="gpu")),
        affinity("DoesNotExist", "n3", one("DoesNotExist")),
        affinity("Gt leaves out the same and what is no number", "n2", one("Gt", "10", key="size")),
        affinity("Lt", "n1", one("Lt", "20", key="size")),
        affinity("Gt of a smaller number", "n1 n2", one("Gt", "9", key="size")),
        affinity("expressions of a term are all needed", "n2",
                 term(ex("disk", "Exists"), ex("size", "Gt", "15"))),
        affinity("one of the terms is enough", "n1 n3", one("In", "ssd"), one("DoesNotExist")),
        affinity("an empty term matches nothing", "", term()),
        affinity("an empty term beside another", "n2", term(), one("In", "hdd")),
        affinity("field In", "n2", named("In", "n2")),
        affinity("field NotIn", "n1 n3", named("NotIn", "n2")),
        affinity("field of a node that is not there", "", named("In", "n9")),
        affinity("field and label in one term", "",
                 term(ex("disk", "In", "ssd"), fields=[ex("metadata.name", "In", "n2")])),
        affinity("field in one term, label in another", "n2 n3", named("In", "n2"),
                 one("DoesNotExist")),
        affinity("selector as well", "", one("In", "ssd"), nodeSelector={"size": "20"}),
        Row("node affinity: preferred refuses nothing", "n1 n2 n3", nodes, pod(affinity={
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "preference": one("In", "tape")}]}})),
    ]


def ports():
    def taken(name, fits, held, asked, **spec):
        """n1 has a pod with the ports held."""
        return Row(f"host ports: {name}", fits, PAIR, pod(ports=asked, **spec),
                   [on("n1", "old", ports=held)])
    init = [container("i", ports=[port(80)])]
    side = [container("i", ports=[port(80)], always=True)]
    plain = [container(ports=[{"containerPort": 80}])]
    return [
        taken("the same", "n2", [port(80)], [port(80)]),
        taken("another number", "n1 n2", [port(81)], [port(80)]),
        taken("another protocol", "n1 n2", [port(80, "UDP")], [port(80)]),
        taken("SCTP against SCTP", "n2", [port(80, "SCTP")], [port(80, "SCTP")]),
        taken("another address", "n1 n2", [port(80, host_ip="10.0.0.1")],
              [port(80, host_ip="10.0.0.2")]),
        taken("the same address", "n2", [port(80, host_ip="10.0.0.1")],
              [port(80, host_ip="10.0.0.1")]),
        taken("any address against one", "n2", [port(80, host_ip="10.0.0.1")], [port(80)]),
        taken("one address against any", "n2", [port(80, host_ip="0.0.0.0")],
              [port(80, host_ip="10.0.0.1")]),
        taken("any address of another protocol", "n1 n2", [port(80, "UDP")],
              [port(80, host_ip="10.0.0.1")]),
        taken("one of several", "n2", [port(80), port(81)], [port(82), port(81)]),
        taken("a container port is no host port", "n1 n2", [port(80)], [{"containerPort": 80}]),
        Row("host ports: of a sidecar", "n2", PAIR, pod(initContainers=side),
            [on("n1", "old", ports=[port(80)])]),
        Row("host ports: of an init container do not count", "n1 n2", PAIR,
            pod(initContainers=init), [on("n1", "old", ports=[port(80)])]),
        Row("host ports: of a sidecar on the node", "n2", PAIR, pod(ports=[port(80)]),
            [on("n1", "old", initContainers=side)]),
        Row("host ports: of an init container on the node do not count", "n1 n2", PAIR,
            pod(ports=[port(80)]), [on("n1", "old", initContainers=init)]),
        Row("host ports: the host's network takes container ports", "n2", PAIR,
            pod(containers=plain, hostNetwork=True),
            [on("n1", "old", containers=plain, hostNetwork=True)]),
        Row("host ports: of a pod that terminates", "n2", PAIR, pod(ports=[port(80)]),
            [on("n1", "old", ports=[port(80)], terminating=True)]),
        Row("host ports: of a pod that is done", "n1 n2", PAIR, pod(ports=[port(80)]),
            [on("n1", "old", ports=[port(80)], status={"phase": "Succeeded"})]),
    ]


def amounts():
    small = {"ephemeral-storage": "10Gi", "hugepages-2Mi": "100Mi", "example.com/fpga": "2"}
    nodes = [node("n1", gpus=2, more=small), node("n2", cpu="1", memory="1Gi")]

    def asks(name, fits, *held, where=None, **amount):
        return Row(f"resources: {name}", fits, where or nodes, pod(**amount),
                   [on("n1", f"old{index}", **each) for index, each in enumerate(held)])

    def pages(amount):
        return pod(containers=[container(cpu="1", limits={"hugepages-2Mi": amount})])
    few = [node("n1", more={"pods": "2"})]
    return [
        asks("cpu, exactly what is left", "n1", {"cpu": "1500m"}, cpu="2500m"),
        asks("cpu, a thousandth too much", "", {"cpu": "1500m"}, cpu="2501m"),
        asks("memory, exactly what is left", "n1", {"memory": "3Gi"}, memory="5Gi"),
        asks("memory, a byte too much", "", {"memory": "3Gi"}, memory=str(5 * 2**30 + 1)),
        asks("nothing fits always", "n1 n2", {"cpu": "4", "memory": "8Gi"}),
        asks("zero cpu on a full node", "n1 n2", {"cpu": "4"}, cpu="0"),
        asks("memory in other units", "n1", {"memory": "1G"}, memory="7589934592"),
        asks("memory in other units, a byte too much", "", {"memory": "1G"}, memory="7589934593"),
        asks("ephemeral storage", "n2", {"ephemeral": "6Gi"}, ephemeral="5Gi"),
        asks("extended", "n1", {"fpga": "1"}, fpga="1"),
        asks("extended, too many", "", {"fpga": "1"}, fpga="2"),
        asks("gpus", "n1", {"gpu": "1"}, gpu="1"),
        asks("gpus, too many", "", {"gpu": "1"}, gpu="2"),
        asks("gpus and cpu, one of them short", "", {"cpu": "3"}, gpu="2", cpu="2"),
        asks("pods that are done hold nothing", "n1", {"cpu": "4", "status": {"phase": "Failed"}},
             cpu="2"),
        asks("pods that terminate hold theirs", "", {"cpu": "4", "terminating": True}, cpu="2"),
        asks("number of pods, one left", "n1", {}, where=few),
        asks("number of pods, none left", "", {}, {}, where=few),
        asks("more on a node than it has", "n2", {"cpu": "5"}, cpu="1"),
        Row("resources: huge pages", "n1", nodes, pages("100Mi")),
        Row("resources: huge pages, too many", "", nodes, pages("102Mi")),
    ]


def containers():
    """A node with 4 cpus; which pods fit beside a pod that takes 1."""
    nodes, held = [node("n1", gpus=2)], [on("n1", "old", cpu="1")]

    def init(name, fits, *inits, cpu="1", **spec):
        return Row(f"containers: {name}", fits, nodes,
                   pod(initContainers=[container(f"i{index}", **each)
                                       for index, each in enumerate(inits)], cpu=cpu, **spec), held)

    def level(name, fits, requests, **spec):
        return Row(f"pod level: {name}", fits, nodes,
                   pod(resources={"requests": requests}, **spec), held)
    heavy = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "heavy"},
             "handler": "heavy", "overhead": {"podFixed": {"cpu": "1", "memory": "1Gi"}}}
    side = {"always": True}
    two = [container("a", cpu="2"), container("b", cpu="1500m")]
    return [
        Row("containers: are added up", "", nodes, pod(containers=two), held),
        init("an init container that is larger", "", {"cpu": "3500m"}),
        init("init containers run one by one", "n1", {"cpu": "3"}, {"cpu": "2"}, cpu="3"),
        init("a sidecar adds to the others", "", {"cpu": "1", **side}, cpu="2500m"),
        init("a sidecar fits beside", "n1", {"cpu": "1", **side}, cpu="2"),
        init("an init container after a sidecar", "", {"cpu": "1", **side}, {"cpu": "2500m"}),
        init("an init container before a sidecar", "n1", {"cpu": "2500m"}, {"cpu": "1", **side}),
        init("a large sidecar after a large init", "n1", {"cpu": "3"}, {"cpu": "2", **side}),
        init("gpus of an init container are used again", "n1", {"gpu": "2"}, gpu="2"),
        init("gpus of an init container, too many", "", {"gpu": "3"}, gpu="1"),
        init("a limit alone is a request", "", {"limits": {"cpu": "3500m"}}),
        Row("containers: init containers of pods on the node count", "", nodes, pod(cpu="2"),
            [on("n1", "old", cpu="1", initContainers=[container("i", cpu="3")])]),
        Row("overhead: fits", "n1", nodes, pod(cpu="2", runtimeClassName="heavy"), [heavy, *held]),
        Row("overhead: too much", "", nodes, pod(cpu="2500m", runtimeClassName="heavy"),
            [heavy, *held]),
        Row("overhead: of a pod on the node", "", nodes, pod(cpu="2500m"),
            [heavy, on("n1", "old", cpu="1", runtimeClassName="heavy")]),
        Row("overhead: on top of an init container", "", nodes,
            pod(runtimeClassName="heavy", initContainers=[container("i", cpu="2500m")]),
            [heavy, *held]),
        level("less than the containers may be said of the pod", "n1", {"cpu": "3"}, cpu="1"),
        level("too much", "", {"cpu": "3500m"}, cpu="1"),
        level("containers without requests", "", {"memory": "9Gi"}),
        level("gpus stay with the containers", "n1", {"cpu": "1"}, gpu="2"),
        Row("pod level: of a pod on the node", "", nodes, pod(cpu="2"),
            [on("n1", "old", cpu="1", resources={"requests": {"cpu": "3"}})]),
        Row("pod level: replaces what init containers ask", "n1", nodes,
            pod(cpu="1", initContainers=[container("i", cpu="2")],
                resources={"requests": {"cpu": "2500m"}}), held),
    ]


def resized():
    """A node with 4 cpus and a pod whose container is being resized; 2 are asked for."""
    def row(name, fits, spec, entry, *conditions):
        status = {"phase": "Running", "conditions": list(conditions), "containerStatuses": [
            {"name": "c", "image": "none", "imageID": "none", "ready": True, "restartCount": 0,
             "started": True, "state": {"running": {}}, **entry}]}
        return Row(f"resize: {name}", fits, [node("n1")], pod(cpu="2"),
                   [on("n1", "old", cpu=spec, status=status)])

    def actual(cpu):
        return {"resources": {"requests": {"cpu": cpu}}}

    def pending(reason):
        return {"type": "PodResizePending", "status": "True", "reason": reason}
    return [
        row("grows, and has less so far", "", "3", actual("1")),
        row("shrinks, and has more so far", "", "1", actual("3")),
        row("done", "n1", "1", actual("1")),
        row("allocated is more than the rest", "", "1",
            {**actual("1"), "allocatedResources": {"cpu": "3"}}),
        row("allocated is less", "", "1", {**actual("3"), "allocatedResources": {"cpu": "1"}}),
        row("infeasible, counts what it has", "n1", "9",
            {**actual("1"), "allocatedResources": {"cpu": "1"}}, pending("Infeasible")),
        row("deferred, counts what it wants", "", "9",
            {**actual("1"), "allocatedResources": {"cpu": "1"}}, pending("Deferred")),
        row("says nothing of resources", "n1", "2", {}),
    ]
