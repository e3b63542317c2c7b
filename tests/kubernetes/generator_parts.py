"""Random clusters, and random pods of a few rules each. Everything depends only on the seed."""
import copy
import dataclasses
import random

from conformance_objects import (DRIVER, HOST, WAITS, ZONE, apart, away, claim, container, drivers,
                                 expression as ex, near, node, on, pod, port, selects, spread,
                                 storage_class, taint, term, together, uses, volume)
from conformance_world import AWAY, HOME

MADE = "made"  # the class whose volumes are provisioned
SHARED = ("ReadWriteMany",)
ZONES = ("a", "b", "c")
APPS = ("web", "db", "front")
TAINTS = (taint("gpu", value="yes"), taint("gone", "NoExecute"), taint("busy", "PreferNoSchedule"),
          taint("gpu", "NoExecute", "no"))
KEYS = (HOST, ZONE, ZONE, "rack")


@dataclasses.dataclass
class Part:
    """One rule of a pod: fields of its spec, of its only container, and objects that it needs."""
    name: str
    spec: dict = dataclasses.field(default_factory=dict)
    container: dict = dataclasses.field(default_factory=dict)
    objects: list = dataclasses.field(default_factory=list)


def merge(into, value):
    """Fields of both; lists and objects are joined."""
    for key, entry in value.items():
        if isinstance(entry, dict) and key in into:
            merge(into[key], entry)
        elif isinstance(entry, list) and key in into:
            into[key] = into[key] + entry
        else:
            into[key] = copy.deepcopy(entry)


def put_together(labels, parts, level=None):
    """A pod with these rules."""
    value = pod("random", labels, level=level)
    for part in parts:
        merge(value["spec"], part.spec)
        merge(value["spec"]["containers"][0], part.container)
    if "volumes" in value["spec"]:
        for index, entry in enumerate(value["spec"]["volumes"]):
            entry["name"] = f"v{index}"
    return value


class Dice(random.Random):
    def odds(self, chance):
        return self.random() < chance

    def some(self, values, least=1, most=2):
        values = list(values)
        return self.sample(values, min(len(values), self.randint(least, most)))


def make_cluster(number):
    """(nodes, objects) of a cluster."""
    dice = Dice(f"cluster {number}")
    zones = ZONES[:dice.randint(1, 3)]
    nodes = [make_node(dice, f"n{index}", zones) for index in range(1, dice.randint(3, 8) + 1)]
    names = [value["metadata"]["name"] for value in nodes]
    objects = [storage_class(), make_class(dice, zones)]
    objects += make_shared(dice, names, zones)
    objects += [drivers(name, dice.randint(1, 3)) for name in names if dice.odds(0.4)]
    objects += [make_bound(dice, f"old{index}", names) for index in range(dice.randint(2, 14))]
    return nodes, objects


def make_node(dice, name, zones):
    labels = {"size": str(dice.randint(1, 30))}
    if dice.odds(0.7):
        labels["disk"] = dice.choice(["ssd", "hdd"])
    if dice.odds(0.8):
        labels["rack"] = dice.choice(["r1", "r2"])
    more = {"ephemeral-storage": "20Gi"}
    if dice.odds(0.5):
        more["example.com/fpga"] = "2"
    if dice.odds(0.3):
        more["pods"] = str(dice.randint(2, 5))
    return node(name, dice.choice(zones) if dice.odds(0.85) else "", labels,
                gpus=dice.choice([0, 2, 4]), cpu=str(dice.randint(2, 8)),
                memory=f"{dice.randint(4, 16)}Gi", more=more,
                taints=dice.some(TAINTS) if dice.odds(0.25) else (),
                unschedulable=dice.odds(0.07))


def make_class(dice, zones):
    more = {}
    if dice.odds(0.4):
        more["allowedTopologies"] = [{"matchLabelExpressions": [
            {"key": ZONE, "values": dice.some(zones)}]}]
    return storage_class(MADE, DRIVER, **more)


def make_shared(dice, names, zones):
    """Bound claims that all pods may use, and one that one pod at a time may use."""
    objects = []
    for index in range(3):
        where = dice.some(names, 1, 4) if dice.odds(0.4) else ()
        labels = {ZONE: dice.choice(zones)} if dice.odds(0.3) else {}
        objects += [volume(f"shared{index}", where, claimed=f"shared{index}", labels=labels,
                           driver=DRIVER, modes=SHARED),
                    claim(f"shared{index}", volume=f"shared{index}", modes=SHARED)]
    alone = ("ReadWriteOncePod",)
    return [*objects, volume("alone", claimed="alone", driver=DRIVER, modes=alone),
            claim("alone", volume="alone", modes=alone)]


def make_labels(dice):
    labels = {"app": dice.choice(APPS)}
    if dice.odds(0.5):
        labels["rev"] = dice.choice(["1", "2"])
    return labels


def make_bound(dice, name, names):
    """A bound pod, whether its node fits or not."""
    options = {"cpu": f"{dice.randint(0, 20)}00m", "memory": f"{dice.randint(0, 3)}Gi"}
    if dice.odds(0.25):
        options["gpu"] = str(dice.randint(1, 2))
    if dice.odds(0.15):
        options["ports"] = [make_port(dice)]
    if dice.odds(0.12):
        options["affinity"] = apart(make_near(dice))
    if dice.odds(0.2):
        options["volumes"] = [make_disk(dice)]
    elif dice.odds(0.25):
        options["volumes"] = uses(f"shared{dice.randrange(3)}")
    if dice.odds(0.1):
        options["terminating"] = True
    elif dice.odds(0.07):
        options["status"] = {"phase": dice.choice(["Succeeded", "Failed"])}
    elsewhere = dice.odds(0.2) and "volumes" not in options
    return (away if elsewhere else on)(dice.choice(names), name, make_labels(dice), **options)


def make_port(dice):
    return port(dice.choice([80, 81]), dice.choice(["TCP", "TCP", "UDP"]),
                dice.choice(["", "", "0.0.0.0", "10.0.0.1", "10.0.0.2"]))


def make_disk(dice):
    name, only = dice.choice("de"), dice.odds(0.5)
    kinds = ({"gcePersistentDisk": {"pdName": name, "readOnly": only}},
             {"awsElasticBlockStore": {"volumeID": name, "readOnly": only}},
             {"rbd": {"monitors": dice.some(["m1", "m2", "m3"]), "image": name, "pool": "p",
                      "readOnly": only}})
    return {"name": "disk", **dice.choice(kinds)}


def make_selector(dice):
    roll = dice.random()
    if roll < 0.6:
        return selects(app=dice.choice(APPS))
    if roll < 0.7:
        return {}
    if roll < 0.85:
        return selects(ex("app", dice.choice(["In", "NotIn"]), *dice.some(APPS)))
    return selects(ex("rev", dice.choice(["Exists", "DoesNotExist"])))


def names_revision(chosen):
    """True if the selector has rev already: then matchLabelKeys cannot add it."""
    return any(entry["key"] == "rev" for entry in chosen.get("matchExpressions", ()))


def make_near(dice):
    more = {}
    if dice.odds(0.2):
        more["namespaces"] = dice.some([HOME, AWAY])
    if dice.odds(0.2):
        more["namespaceSelector"] = dice.choice([{}, selects(team="a"), selects(team="b")])
    chosen = make_selector(dice)
    if dice.odds(0.2) and not names_revision(chosen):
        more[dice.choice(["matchLabelKeys", "mismatchLabelKeys"])] = ["rev"]
    return near(chosen, dice.choice(KEYS), **more)


def amounts(dice, _):
    """cpu and memory, and sometimes resources that some nodes lack."""
    requests = {"cpu": f"{dice.randint(1, 40)}00m", "memory": f"{dice.randint(1, 8)}Gi"}
    if dice.odds(0.5):
        requests["nvidia.com/gpu"] = str(dice.randint(1, 3))
    if dice.odds(0.2):
        requests["example.com/fpga"] = str(dice.randint(1, 2))
    if dice.odds(0.2):
        requests["ephemeral-storage"] = f"{dice.randint(1, 25)}Gi"
    limits = {key: amount for key, amount in requests.items() if "/" in key}
    return Part("amounts", container={"resources": {"requests": requests, "limits": limits}})


def inits(dice, _):
    entries = [container(f"i{index}", always=dice.odds(0.5), cpu=f"{dice.randint(1, 30)}00m")
               for index in range(dice.randint(1, 3))]
    return Part("inits", {"initContainers": entries})


def whole_pod(dice, _):
    return Part("whole pod", {"resources": {"requests": {"cpu": f"{dice.randint(41, 60)}00m"}}})


def make_expression(dice):
    return dice.choice([
        ex("disk", "In", *dice.some(["ssd", "hdd"])), ex("disk", "NotIn", dice.choice(["ssd",
                                                                                       "hdd"])),
        ex("disk", dice.choice(["Exists", "DoesNotExist"])), ex("rack", "In", "r1"),
        ex("size", dice.choice(["Gt", "Lt"]), str(dice.randint(5, 25))),
        ex(ZONE, "In", *dice.some(ZONES)), ex("rack", "DoesNotExist")])


def selector(dice, _):
    labels = dice.choice([{"disk": "ssd"}, {"disk": "hdd"}, {"rack": "r1"}, {ZONE: "a"}])
    return Part("selector", {"nodeSelector": labels})


def affinity(dice, names):
    terms = []
    for _ in range(dice.randint(1, 2)):
        fields = [ex("metadata.name", "In" if dice.odds(0.7) else "NotIn", dice.choice(names))]
        terms.append(term(*(make_expression(dice) for _ in range(dice.randint(1, 2))),
                          fields=fields if dice.odds(0.15) else ()))
    return Part("affinity", {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})


def tolerations(dice, _):
    entries = dice.some([{"key": "gpu", "value": "yes"}, {"key": "gpu", "operator": "Exists"},
                         {"key": "gone", "operator": "Exists", "effect": "NoExecute"},
                         {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
                         {"operator": "Exists"}, {"operator": "Exists", "effect": "NoSchedule"}])
    return Part("tolerations", {"tolerations": entries})


def ports(dice, _):
    return Part("ports", container={"ports": [make_port(dice)]})


def spreads(dice, _):
    constraints = []
    for key in dice.some([HOST, ZONE, "rack"]):
        more = {}
        if dice.odds(0.3):
            more["nodeAffinityPolicy"] = dice.choice(["Honor", "Ignore"])
        if dice.odds(0.3):
            more["nodeTaintsPolicy"] = dice.choice(["Honor", "Ignore"])
        if dice.odds(0.2):
            more["minDomains"] = dice.randint(1, 4)
        chosen = None if dice.odds(0.05) else make_selector(dice)
        if chosen and dice.odds(0.2) and not names_revision(chosen):
            more["matchLabelKeys"] = ["rev"]
        constraints.append(spread(chosen, key, dice.randint(1, 3), **more))
    return Part("spread", {"topologySpreadConstraints": constraints})


def near_others(dice, _):
    return Part("near", {"affinity": together(*(make_near(dice)
                                                for _ in range(dice.choice([1, 1, 2]))))})


def apart_from_others(dice, _):
    return Part("apart", {"affinity": apart(*(make_near(dice)
                                              for _ in range(dice.choice([1, 1, 2]))))})


def bound_claims(dice, _):
    names = dice.some(["shared0", "shared1", "shared2", "alone"])
    return Part("bound claims", {"volumes": uses(*names)})


def waiting_claims(dice, names):
    """One or two claims, and some volumes that may match them."""
    count = dice.choice([1, 1, 2])
    objects = [claim(f"wait{index}", f"{dice.randint(1, 4)}Gi") for index in range(count)]
    for index in range(dice.randint(1, 5)):
        where = dice.some(names, 1, 3) if dice.odds(0.8) else ()
        objects.append(volume(f"there{index}", where, f"{dice.randint(1, 6)}Gi",
                              WAITS if dice.odds(0.9) else "other",
                              modes=("ReadWriteOnce",) if dice.odds(0.9) else SHARED))
    return Part("waiting claims", {"volumes": uses(*(f"wait{index}" for index in range(count)))},
                objects=objects)


def new_claim(_, __):
    return Part("new claim", {"volumes": uses("new")}, objects=[claim("new", kind=MADE)])


def disk(dice, _):
    return Part("disk", {"volumes": [make_disk(dice)]})


# Weights of the rules.
RULES = {amounts: 6, inits: 2, whole_pod: 1, selector: 2, affinity: 3, tolerations: 4, ports: 2,
         spreads: 4, near_others: 3, apart_from_others: 3, bound_claims: 2, waiting_claims: 2,
         new_claim: 1, disk: 1}


def make_parts(dice, names):
    """One to four different rules."""
    rules = []
    for _ in range(dice.randint(1, 4)):
        rule = dice.choices(list(RULES), list(RULES.values()))[0]
        if rule not in rules:
            rules.append(rule)
    return [rule(dice, names) for rule in rules]
