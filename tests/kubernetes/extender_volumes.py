"""Cases: cards of a pod that the real kube-scheduler binds late, because it waits for a volume."""
import re
import time

from api import wait_until
from conformance_objects import DRIVER, claim, storage_class, uses
from conformance_world import SELECTED_NODE, bind_volume, path_of, provisioned
from extender import THEIRS, ExtenderCase
from extender_life import vcuda, vcuda_node
from kube_scheduler import shipped
from objects import GPUS, MODEL, cards_of, node, node_of, pod

HOLD_S = 2    # of the extender: much shorter than the volume takes
LATE_S = 30   # how long the provisioner takes
EVERY_S = 3   # between competitors
OTHER = "other-scheduler"


class LateVolumes(ExtenderCase):
    """One card. The pod that was given it waits for its volume; others want the card meanwhile."""

    def start_two(self, name, scheduler):
        """Two kube-schedulers: the second does not know what the first has assumed."""
        text = shipped(name, self.start_stowage(name, holdSeconds=HOLD_S))
        self.start_scheduler(text)
        changed = text.replace(f"schedulerName: {scheduler}", f"schedulerName: {OTHER}")
        self.assertNotEqual(changed, text)
        self.start_scheduler(changed)

    def add_claim(self):
        kind = f"late-{self.namespace}"
        self.remove_later(self.api.create("/apis/storage.k8s.io/v1/storageclasses",
                                          storage_class(kind, DRIVER)), "StorageClass")
        value = claim(kind=kind, namespace=self.namespace)
        self.api.create(f"/api/v1/namespaces/{self.namespace}/persistentvolumeclaims", value)
        return value

    def remove_later(self, value, kind):
        self.addCleanup(self.api.delete, path_of({**value, "kind": kind}))

    def provision(self, value):
        """What a driver and the volume controllers do."""
        made = self.api.get(path_of(value))
        volume = self.api.create("/api/v1/persistentvolumes",
                                 provisioned(made, made["metadata"]["annotations"][SELECTED_NODE]))
        self.remove_later(volume, "PersistentVolume")
        bind_volume(self.api, volume, made)

    def selected(self, value):
        made = self.api.get(path_of(value))
        return made["metadata"].get("annotations", {}).get(SELECTED_NODE)

    def compete(self, make, schedulers):
        """Other pods ask for the card until the volume comes, and none gets it."""
        count, end = 0, time.monotonic() + LATE_S
        while time.monotonic() < end:
            self.add(make(f"other-{count}", scheduler=schedulers[count % len(schedulers)]))
            count += 1
            time.sleep(EVERY_S)
            self.assertEqual(self.bound_names(), [])
        return count

    def check(self, make, schedulers):
        late = self.add_claim()
        first, = self.add(make("late", scheduler=schedulers[0], volumes=uses("data")))
        wait_until("kube-scheduler waits for the volume", lambda: self.selected(late))
        count = self.compete(make, schedulers)
        self.provision(late)
        value = self.bound("late")
        self.assertEqual(value["metadata"]["uid"], first["metadata"]["uid"])
        time.sleep(2 * HOLD_S)
        self.assertEqual(self.bound_names(), ["late"])
        self.assertEqual(len(self.api.list(self.pods)), count + 1)
        text = self.subject.get("/metrics")[1]
        decided = re.search(r"^stowage_evictions_decided_total (\S+)$", text, re.M)
        self.assertEqual(float(decided.group(1)), 0)
        # Afterwards they get it.
        self.api.delete(f"{self.pods}/late")
        wait_until("one of the others has the card", lambda: len(self.bound_names()) == 1)
        return value

    def test_a_pre_allocation_lasts_until_the_volume_is_there(self):
        self.start_two("gpu-admission", "gpu-scheduler")
        self.add_nodes(vcuda_node("t1", 1))
        value = self.check(lambda name, **more: vcuda(name, 60, **more),
                           ("gpu-scheduler", OTHER, "stowage"))
        self.assertEqual([card[:2] for card in cards_of(value)["c0"]], [(0, 600)])
        self.over_committed()
        self.assertEqual(self.calls("bind"), 0)

    def test_a_counted_card_is_kept_until_the_volume_is_there(self):
        self.start_two("nvidia-gpu-scheduler", THEIRS)
        self.add_nodes(node("n1", gpus=1))
        # This preset leaves pods without a model to kube-scheduler.
        wish = {"nvidia.com/gpu.model": MODEL}
        value = self.check(lambda name, **more: pod(name, annotations=wish, **more),
                           (THEIRS, OTHER, "stowage"))
        self.assertEqual(node_of(value), "n1")
        self.assertNotIn(GPUS, value["metadata"].get("annotations", {}))
