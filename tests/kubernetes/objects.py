"""Nodes and pods as the tests create them, and the cards in their annotations."""
import collections
import json

GPUS = "stowage.dev/gpus"  # written with the binding: which cards
MODEL = "NVIDIA-A100-SXM4-80GB"
CARD_MIB = 81920
VCUDA_MIB = 256
ALNAIR_CHUNK_MIB = 1024


def node(name, gpus=8, labels=None, taints=(), unschedulable=False, annotations=None, **resources):
    """A ready node. resources: more of status.allocatable, / and . and - written as they are."""
    amounts = {"cpu": "96", "memory": "1000Gi", "pods": "110", "ephemeral-storage": "1000Gi",
               **resources}
    more = {}
    if gpus:
        amounts["nvidia.com/gpu"] = str(gpus)
        more = {"nvidia.com/gpu.product": MODEL, "nvidia.com/gpu.memory": str(CARD_MIB),
                "nvidia.com/gpu.count": str(gpus)}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "annotations": annotations or {},
                     "labels": {"kubernetes.io/hostname": name, **more, **(labels or {})}},
        "spec": {"taints": list(taints), "unschedulable": unschedulable},
        "status": {"capacity": amounts, "allocatable": amounts,
                   "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]},
    }


def pod(name, *limits, scheduler="stowage", annotations=None, **spec):
    """A pod with one container per given limits, or one that asks for one GPU."""
    containers = [{"name": f"c{index}", "image": "none", "resources": {"limits": dict(amounts)}}
                  for index, amounts in enumerate(limits or ({"nvidia.com/gpu": "1"},))]
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"schedulerName": scheduler, "containers": containers, **spec},
    }


def node_of(value):
    return value["spec"].get("nodeName", "")


def condition(value, kind="PodScheduled"):
    """The condition of that type, or {}."""
    for entry in value.get("status", {}).get("conditions", ()):
        if entry["type"] == kind:
            return entry
    return {}


def gpus_text(where, **containers):
    """An annotation as the controller would write it; containers: name=[index, ...]."""
    return json.dumps({"version": 1, "node": where, "containers": {
        name: [{"id": f"{where}/{index}", "index": index, "milli": 1000, "memoryMiB": CARD_MIB}
               for index in cards] for name, cards in containers.items()}})


def cards_of(value):
    """Container -> its cards from the annotation of a bound pod: index, milli, memoryMiB."""
    text = value["metadata"].get("annotations", {}).get(GPUS)
    if not text:
        return {}
    try:
        says = json.loads(text)
        if says["version"] != 1 or says["node"] != node_of(value):
            raise ValueError(f"version or node is wrong, the pod is on {node_of(value)}")
        return {name: [(card["index"], card["milli"], card["memoryMiB"]) for card in cards]
                for name, cards in says["containers"].items()}
    except (ValueError, KeyError, TypeError) as error:
        raise AssertionError(f"{value['metadata']['name']}: {GPUS} is {text!r}: {error}") from None


def whole_number(text):
    """Of an extended resource. The API server writes 20000 as 20k."""
    zeros = {"k": 3, "M": 6, "G": 9}.get(text[-1])
    return int(text[:-1]) * 10**zeros if zeros else int(text)


def share_of(container):
    """(cards, milli of each, MiB of each) that a container asks for."""
    limits = {name: whole_number(amount)
              for name, amount in container["resources"]["limits"].items() if "/" in name}
    whole = limits.get("nvidia.com/gpu", 0) + limits.get("stowage.dev/gpu", 0)
    if whole:
        return whole, 1000, CARD_MIB
    core, memory = limits.get("stowage.dev/gpu-core", 0), limits.get("stowage.dev/gpu-memory", 0)
    if "tencent.com/vcuda-core" in limits:
        core = limits["tencent.com/vcuda-core"]
        memory = limits.get("tencent.com/vcuda-memory", 0) * VCUDA_MIB
        if core >= 100:
            return core // 100, 1000, CARD_MIB
    memory += limits.get("alnair/vgpu-memory", 0) * ALNAIR_CHUNK_MIB
    return (1, core * 10, memory) if core or memory else (0, 0, 0)


def wrong_cards(pods, cards_per_node, card_mib=CARD_MIB):
    """What is wrong with the cards of all bound pods, in sentences; empty if nothing is."""
    wrong = []
    milli, memory = collections.Counter(), collections.Counter()
    for value in pods:
        name, where = value["metadata"]["name"], node_of(value)
        if not where:
            continue
        chosen = cards_of(value)
        for container in value["spec"]["containers"]:
            count, each_milli, each_memory = share_of(container)
            cards = chosen.pop(container["name"], [])
            indices = [index for index, _, _ in cards]
            if len(set(indices)) != count or len(cards) != count:
                wrong.append(f"{name}: {container['name']} asks for {count} cards, has {cards}")
            for index, given_milli, given_memory in cards:
                if not 0 <= index < cards_per_node:
                    wrong.append(f"{name}: {where} has no card {index}")
                wanted = each_milli, min(each_memory, card_mib)
                if (given_milli, given_memory) != wanted:
                    wrong.append(f"{name}: asks for {wanted} of a card, has {cards}")
                milli[where, index] += given_milli
                memory[where, index] += given_memory
        if chosen:
            wrong.append(f"{name}: cards for containers that it has not: {chosen}")
    wrong += [f"{where} card {card}: {used} of 1000 milli given out"
              for (where, card), used in sorted(milli.items()) if used > 1000]
    wrong += [f"{where} card {card}: {used} of {card_mib} MiB given out"
              for (where, card), used in sorted(memory.items()) if used > card_mib]
    return wrong
