"""Asks both schedulers about a pod and compares their answers."""
import time

from api import ApiError
from conformance_judges import Verdict
from conformance_world import path_of

# Both learn of objects by watches. A disagreement counts if it remains after more time.
SETTLE_S = (0.03, 0.3, 1.5)
GATED_S = 0.3


def compare(row, verdicts, stand_in=False):
    """What is wrong, in words; "" if nothing is. stand_in: the second one is kube-scheduler."""
    reference = verdicts[0]
    if row.fits is not None:
        kind = "gated" if row.gated else "fits" if row.fits else "refused"
        if reference.kind != kind or reference.nodes != frozenset(row.fits.split()):
            return f"the case says {kind} {row.fits!r}, kube-scheduler: {reference}"
    if reference.kind == "none":
        return f"kube-scheduler: {reference}"
    if len(verdicts) == 1:
        return ""
    stowage = verdicts[1]
    both = f"kube-scheduler: {reference}\nstowage: {stowage}"
    if row.unlike and not stand_in:
        right = stowage.kind == "refused" and row.unlike in stowage.message
        return "" if right else f"not refused with {row.unlike!r}\n{both}"
    if stowage.kind != reference.kind:
        return both
    if not stowage.nodes <= reference.nodes:
        return f"a node that is not allowed\n{both}"
    if "not support" in stowage.message:
        return f"refused for the wrong reason\n{both}"
    return ""


class Court:
    def __init__(self, world, pods, judges):
        self.world = world
        self.pods = pods
        self.judges = judges
        self.verbose = False
        self.again = 0
        self.asked = 0
        self.fitting = 0

    def judge(self, row):
        """Creates the cluster of a row and asks. Returns what is wrong, or ""."""
        trouble = ""
        for attempt, settle in enumerate(SETTLE_S):
            self.again += attempt > 0
            try:
                for value in [*row.nodes, *row.objects]:
                    self.world.add(value)
                trouble = compare(row, self.ask(row, settle)[0], self.judges[-1].is_kube)
            except ApiError as error:
                trouble = f"the case cannot be made: {error}"
            finally:
                self.world.clear()
            if not trouble or "not support" in trouble:
                break
        return trouble

    def ask(self, row, settle):
        """(verdicts, the pod of the scheduler that was asked last); only that pod is left."""
        time.sleep(settle)
        verdicts = []
        for judge in self.judges:
            last = judge is self.judges[-1]
            waiting = [self.nominate(value, judge) for value in row.nominated]
            if waiting:
                time.sleep(settle)
            value = self.world.add_subject(row, judge.scheduler)
            verdicts.append(self.verdict(row, judge, value))
            for made in waiting + ([] if last else [value]):
                self.world.remove(made)
        self.asked += 1
        self.fitting += verdicts[0].kind == "fits"
        if self.verbose:
            print(f"{row.name}: " + "; ".join(map(str, verdicts)), flush=True)
        return verdicts, value

    def verdict(self, row, judge, value):
        uid = value["metadata"]["uid"]
        if row.gated:
            time.sleep(GATED_S)
        tends = self.world.claims and judge is not self.judges[0]
        meanwhile = self.world.tend_volumes if tends else None
        found = judge.verdict(uid, meanwhile, row.gated)
        if tends and found.kind == "fits":
            wrong = self.world.wrong_claims(value, min(found.nodes))
            return Verdict("bound", found.nodes, wrong) if wrong else found
        return found

    def nominate(self, value, judge):
        """A pod that its scheduler cannot place now, with a nominated node."""
        value = {**value, "spec": {**value["spec"], "schedulerName": judge.scheduler}}
        promised = value.pop("promised")
        made = self.world.add(value)
        judge.verdict(made["metadata"]["uid"])
        self.world.api.patch(f"{path_of(made)}/status",
                             {"status": {"nominatedNodeName": promised}})
        return made
