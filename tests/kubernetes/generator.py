"""Random cases: ten pods, one after the other, on each of many small random clusters.

Case N is pod N % 10 on cluster N // 10. Some of the pods stay, so that both schedulers see them. A
disagreement is reduced by leaving out rules, objects and nodes, and printed with those that are
left.
"""
import copy
import dataclasses
import json

from api import ApiError
from conformance_court import SETTLE_S, compare
from conformance_objects import pod
from conformance_world import KINDS, Row
from generator_parts import Dice, make_cluster, make_labels, make_parts, put_together

PODS_PER_CLUSTER = 10
SHRUNK_MOST = 5  # disagreements that are reduced; many have the same cause
SHRINK_SETTLE_S = 0.15


def first_of_cluster(seed):
    return seed - seed % PODS_PER_CLUSTER


@dataclasses.dataclass
class Case:
    """A pod in parts, so that some can be left out."""
    name: str
    labels: dict
    parts: list
    level: int = None
    nominated: list = dataclasses.field(default_factory=list)
    stays: bool = False

    def row(self, nodes=(), objects=(), parts=None):
        parts = self.parts if parts is None else parts
        needed = [value for part in parts for value in part.objects]
        return Row(self.name, None, list(nodes), put_together(self.labels, parts, self.level),
                   [*objects, *needed], self.nominated)


def make_case(seed, names):
    dice = Dice(f"pod {seed}")
    labels, parts = make_labels(dice), make_parts(dice, names)
    stays = dice.odds(0.4) and not any(part.objects for part in parts)
    case = Case(f"seed {seed}", labels, parts, stays=stays)
    if dice.odds(0.1):
        waiting = pod("waiting", make_labels(dice), level=10, cpu=str(dice.randint(1, 4)),
                      nodeSelector={"never": "yes"})
        case.nominated = [{**waiting, "promised": dice.choice(names)}]
        case.level = dice.choice([5, 10, 100])
        case.name += " with a promised node"
    return case


class Stage:
    """A cluster that exists while its pods are tried."""

    def __init__(self, court, number):
        self.court = court
        self.world = court.world
        self.nodes, self.objects = make_cluster(number)
        self.names = [value["metadata"]["name"] for value in self.nodes]
        self.build()

    def build(self):
        self.world.clear()
        for value in [*self.nodes, *self.objects]:
            self.world.add(value)

    def judge(self, case):
        """What is wrong, or ""."""
        row = case.row()
        trouble = ""
        for attempt, settle in enumerate(SETTLE_S):
            self.court.again += attempt > 0
            trouble = self.attempt(case, row, settle)
            if not trouble or "not support" in trouble:
                break
        return trouble

    def attempt(self, case, row, settle):
        made = None
        try:
            for value in row.objects:
                self.world.add(value)
            verdicts, made = self.court.ask(row, settle)
            trouble = compare(row, verdicts)
            if case.stays and not trouble and verdicts[-1].kind == "fits":
                self.keep(made, row, min(verdicts[-1].nodes))
                made = None
            return trouble
        except ApiError as error:
            return f"the case cannot be made: {error}"
        finally:
            self.remove(made, row)

    def keep(self, made, row, where):
        """Keeps the pod on its node; if no scheduler binds it, the test does."""
        meta = made["metadata"]
        value = copy.deepcopy(row.pod)
        seen = self.court.pods.by_uid.get(meta["uid"], made)
        value["metadata"].update(name=meta["name"],
                                 annotations=seen["metadata"].get("annotations", {}))
        value["spec"].update(nodeName=where, schedulerName=made["spec"]["schedulerName"])
        if len(self.court.judges) == 1:
            self.world.remove(made)
            self.world.add(value)
        self.objects.append(value)

    def remove(self, made, row):
        for value in [made] if made else []:
            self.world.remove(value)
        for value in row.objects:
            self.world.remove(value)
        if row.objects:
            path = KINDS["PersistentVolume"][0]
            for value in self.world.api.list(path):
                if value["metadata"]["name"].startswith("made-"):
                    self.world.api.delete(f"{path}/{value['metadata']['name']}")

    def shrink(self, case):
        """A smaller row that is still wrong, and its error; creates the cluster again afterwards.
        """
        parts, objects, nodes = list(case.parts), list(self.objects), list(self.nodes)
        trouble = ""
        for kept in (parts, objects, nodes):
            for value in list(kept):
                kept.remove(value)
                found = self.once(case.row(nodes, objects, parts))
                if found:
                    trouble = found
                else:
                    kept.append(value)
        row = case.row(nodes, objects, parts)
        self.build()
        return row, trouble

    def once(self, row):
        """Whether the row alone shows a disagreement."""
        self.world.clear()
        try:
            for value in [*row.nodes, *row.objects]:
                self.world.add(value)
            return compare(row, self.court.ask(row, SHRINK_SETTLE_S)[0])
        except ApiError:
            return ""
        finally:
            self.world.clear()


def describe(row):
    """The objects of a row, one per line."""
    values = [*row.nodes, *row.objects, *row.nominated, row.pod]
    return "\n".join(json.dumps(value, sort_keys=True) for value in values)


def run(court, seeds, take):
    """Tries the cases; passes the name of each and what is wrong to take."""
    stage, shrunk = None, 0
    for seed in seeds:
        if stage is None or seed % PODS_PER_CLUSTER == 0:
            stage = Stage(court, seed // PODS_PER_CLUSTER)
        case = make_case(seed, stage.names)
        trouble = stage.judge(case)
        known = "not support" in trouble or "cannot be made" in trouble
        if trouble and shrunk < SHRUNK_MOST and not known:
            shrunk += 1
            row, smaller = stage.shrink(case)
            trouble += f"\nsmaller: {smaller or 'it did not happen again'}\n{describe(row)}"
        elif trouble and not known:
            trouble += f"\nof the cluster, and:\n{describe(case.row())}"
        take(f"{case.name} ({', '.join(part.name for part in case.parts)})", trouble)
    if stage:
        court.world.clear()
