"""Cases: pods that need victims. Each scheduler has the same cluster to itself.

There are no kubelets, so the test removes terminating pods as kubelets do.
"""
import dataclasses
import time

from conformance_objects import (ZONE, apart, away, claim, near, node, on, pod, port, selects,
                                 spread, storage_class, together, uses, volume)
from conformance_court import SETTLE_S
from conformance_world import HOME, Row
from objects import condition, node_of

WEB = {"app": "web"}
GUARDED = {"guard": "yes"}
NOMINATED_S = 5  # time limit for the nomination
QUIET_S = 0.6  # how long to check that nothing happens
PLACED_S = 15


@dataclasses.dataclass
class Contest:
    """victims: the allowed sets of victims, names separated by blanks; empty: no victims.

    oversleeps: kube-scheduler evicts pods but does not notice for minutes that they are gone.
    """
    name: str
    victims: tuple
    nodes: list
    pod: dict
    objects: list
    oversleeps: bool = False


@dataclasses.dataclass
class Outcome:
    """What happened to the pod and to the others, and what was wrong."""
    node: str = ""
    promised: str = ""
    victims: set = dataclasses.field(default_factory=set)
    wrong: list = dataclasses.field(default_factory=list)

    def __str__(self):
        gone = " ".join(sorted(self.victims)) or "nobody"
        return f"node {self.node or 'none'}, gone: {gone}" + "".join(f"; {w}" for w in self.wrong)


def judge(court, contest):
    """What is wrong with the outcomes, or ""."""
    row = Row(contest.name, None, contest.nodes, contest.pod, contest.objects)
    outcomes, wrong = [], []
    recorder = court.judges[0].recorder
    recorder.passes = True
    try:
        for each in court.judges:
            sleeps = contest.oversleeps and each.is_kube
            outcome = hold(court, row, each, bool(contest.victims), sleeps)
            outcomes.append(f"{each.name}: {outcome}")
            allowed = [set(names.split()) for names in contest.victims] or [set()]
            placed = bool(outcome.node) or sleeps
            if outcome.victims not in allowed or placed != bool(contest.victims):
                wrong.append(f"{each.name}: allowed to go: {contest.victims or 'nobody'}")
            wrong += [f"{each.name}: {text}" for text in outcome.wrong]
    finally:
        recorder.passes = False
    court.asked += 1
    court.fitting += bool(contest.victims)
    if court.verbose:
        print(f"{contest.name}: " + "; ".join(outcomes), flush=True)
    return "\n".join([*wrong, *outcomes]) if wrong else ""


def hold(court, row, judge_, expected, sleeps):
    """Lets one scheduler place the pod, and watches; sleeps: until a victim is gone."""
    world, outcome = court.world, Outcome()
    try:
        for value in [*row.nodes, *row.objects]:
            world.add(value)
        time.sleep(SETTLE_S[0] * 3)
        made = world.add_subject(row, judge_.scheduler)
        uid, begin = made["metadata"]["uid"], time.monotonic()

        def look():
            mine = court.pods.by_uid.get(uid, made)
            outcome.promised = mine["status"].get("nominatedNodeName", "") or outcome.promised
            outcome.node = node_of(mine)
            if not expected and judge_.seen(uid) and time.monotonic() - begin > QUIET_S:
                return True
            return outcome.node or sleeps and outcome.victims and outcome.promised
        court.pods.wait(look, PLACED_S, lambda: end_victims(court, outcome, begin))
        end_victims(court, outcome, 0)
        check(outcome, expected)
    finally:
        world.clear()
    return outcome


def end_victims(court, outcome, begin):
    """Removes terminating pods once the nomination is visible, which comes at about the same time.
    """
    ending = [value for value in court.pods.values()
              if value["metadata"].get("deletionTimestamp")]
    outcome.victims |= {value["metadata"]["name"] for value in ending}
    if not outcome.promised and time.monotonic() - begin < NOMINATED_S:
        return
    for value in ending:
        name = value["metadata"]["name"]
        state = condition(value, "DisruptionTarget")
        says = state.get("status"), state.get("reason")
        if says != ("True", "PreemptionByScheduler"):
            outcome.wrong.append(f"{name} goes without DisruptionTarget: {says}")
        court.world.remove({**value, "kind": "Pod"})


def check(outcome, expected):
    if expected and not outcome.promised:
        outcome.wrong.append("nominatedNodeName was not set")
    if outcome.node and outcome.promised not in ("", outcome.node):
        outcome.wrong.append(f"promised {outcome.promised}")


def budget(name, allowed, **labels):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": HOME},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}},
            "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1,
                       "expectedPods": 1, "observedGeneration": 1}}


def wants(level=100, preempts=True, **options):
    return pod("wants", level=level, preempts=preempts, **options)


ONE = [node("n1", gpus=2)]
TWO = [node("n1", "a", gpus=2), node("n2", "b", gpus=2)]
LOW, MIDDLE, HIGH = -10, 5, 100
ALONE = ("ReadWriteOncePod",)


def simple():
    return [
        Contest("preemption: one lower pod goes", ("low",), ONE, wants(cpu="2"),
                [on("n1", "low", cpu="4", level=MIDDLE)]),
        Contest("preemption: policy Never", (), ONE, wants(preempts=False, cpu="2"),
                [on("n1", "low", cpu="4", level=MIDDLE)]),
        Contest("preemption: equal priority", (), ONE, wants(MIDDLE, cpu="2"),
                [on("n1", "same", cpu="4", level=MIDDLE)]),
        Contest("preemption: higher ones stay, lower ones elsewhere go", ("low",), TWO,
                wants(10, cpu="2"), [on("n1", "high", cpu="4", level=HIGH),
                                     on("n2", "low", cpu="4", level=MIDDLE)]),
        Contest("preemption: without a class, over a negative priority", ("low",), ONE,
                pod("wants", cpu="2"), [on("n1", "low", cpu="4", level=LOW)]),
        Contest("preemption: either of two", ("a", "b"), TWO, wants(cpu="2"),
                [on("n1", "a", cpu="4", level=MIDDLE), on("n2", "b", cpu="4", level=MIDDLE)]),
        Contest("preemption: the fewest", ("big",), TWO, wants(cpu="4"),
                [on("n1", "big", cpu="4", level=MIDDLE),
                 *(on("n2", f"small{index}", cpu="1", level=MIDDLE) for index in range(4))]),
        Contest("preemption: the least important node", ("low",), TWO, wants(cpu="2"),
                [on("n1", "middle", cpu="4", level=MIDDLE), on("n2", "low", cpu="4", level=LOW)]),
        Contest("preemption: the least important on a node", ("low",), ONE, wants(cpu="2"),
                [on("n1", "middle", cpu="2", level=MIDDLE), on("n1", "low", cpu="2", level=LOW)]),
        Contest("preemption: of another namespace", ("low",), ONE, wants(cpu="2"),
                [away("n1", "low", cpu="4", level=MIDDLE)]),
        Contest("preemption: the last place for a pod", ("low",), [node("n1", more={"pods": "1"})],
                wants(), [on("n1", "low", level=MIDDLE)]),
        Contest("preemption: does not help where a label is missing", (), ONE,
                wants(cpu="2", nodeSelector={"disk": "ssd"}),
                [on("n1", "low", cpu="4", level=MIDDLE)]),
        Contest("preemption: does not help where it stays too small", (), ONE, wants(cpu="5"),
                [on("n1", "low", cpu="4", level=MIDDLE)]),
    ]


def gpus():
    return [
        Contest("preemption: both cards", ("a b",), ONE, wants(gpu="2"),
                [on("n1", "a", gpu="1", level=MIDDLE), on("n1", "b", gpu="1", level=MIDDLE)]),
        Contest("preemption: one card of two", ("low",), ONE, wants(gpu="1"),
                [on("n1", "low", gpu="1", level=LOW), on("n1", "middle", gpu="1", level=MIDDLE)]),
        Contest("preemption: a pod without a card does not help", ("card",), ONE, wants(gpu="1"),
                [on("n1", "none", cpu="1", level=LOW), on("n1", "card", gpu="2", level=MIDDLE)]),
        Contest("preemption: cards of a higher one", (), ONE, wants(10, gpu="1"),
                [on("n1", "high", gpu="2", level=HIGH), on("n1", "low", cpu="1", level=LOW)]),
    ]


def budgets():
    return [
        Contest("preemption: a budget is spared where there is another", ("free",), TWO,
                wants(cpu="2"),
                [budget("guard", 0, **GUARDED), on("n1", "guarded", GUARDED, cpu="4", level=LOW),
                 on("n2", "free", cpu="4", level=MIDDLE)]),
        Contest("preemption: a budget is spared on the same node", ("free",), ONE, wants(cpu="2"),
                [budget("guard", 0, **GUARDED), on("n1", "guarded", GUARDED, cpu="2", level=LOW),
                 on("n1", "free", cpu="2", level=MIDDLE)]),
        Contest("preemption: a budget is overrun in the end", ("guarded",), ONE, wants(cpu="2"),
                [budget("guard", 0, **GUARDED),
                 on("n1", "guarded", GUARDED, cpu="4", level=MIDDLE)]),
        Contest("preemption: a budget that allows one", ("guarded",), TWO, wants(cpu="2"),
                [budget("guard", 1, **GUARDED), on("n1", "guarded", GUARDED, cpu="4", level=LOW),
                 on("n2", "free", cpu="4", level=MIDDLE)]),
    ]


def rules():
    """Victims free more than resources."""
    is_web = selects(**WEB)
    alone = [storage_class(), volume(claimed="data", modes=ALONE, driver="csi.example.com"),
             claim(volume="v1", modes=ALONE)]
    return [
        Contest("preemption: a host port", ("low",), ONE, wants(ports=[port(80)]),
                [on("n1", "low", ports=[port(80)], level=MIDDLE),
                 on("n1", "other", ports=[port(81)], level=LOW)]),
        Contest("preemption: a pod to keep away from", ("web",), ONE,
                wants(affinity=apart(near(is_web))),
                [on("n1", "web", WEB, level=MIDDLE), on("n1", "other", level=LOW)]),
        Contest("preemption: a pod that keeps away", ("hater",), ONE, wants(labels=WEB),
                [on("n1", "hater", affinity=apart(near(is_web)), level=MIDDLE),
                 on("n1", "other", level=LOW)], oversleeps=True),
        Contest("preemption: a pod to be near to does not go", (), ONE,
                wants(cpu="2", affinity=together(near(is_web))),
                [on("n1", "web", WEB, cpu="4", level=MIDDLE)]),
        Contest("preemption: a pod that counts for the spread", ("web",), TWO,
                wants(10, labels=WEB, cpu="2", topologySpreadConstraints=[spread(is_web, ZONE)]),
                [on("n1", "web", WEB, level=MIDDLE), on("n2", "high", cpu="4", level=HIGH)]),
        Contest("preemption: a volume for one pod only", ("low",), TWO,
                wants(volumes=uses("data")),
                [*alone, on("n1", "low", volumes=uses("data"), level=MIDDLE)]),
    ]


ROWS = [*simple(), *gpus(), *budgets(), *rules()]
