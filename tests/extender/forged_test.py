#!/usr/bin/env python3
"""Annotations that only the controller writes count if they are signed: pre-allocations and cards.

forged_test.py STOWAGE
"""
import base64
import json
import re
import subprocess
import time
import unittest

import extender_cluster
from extender_cluster import Extender, node, pod, uid, wait_until
from local_cluster import LocalCluster

CORE = "tencent.com/vcuda-core"
GPUS, SIGNATURE = "stowage.dev/gpus", "stowage.dev/signature"
FILTER = "/scheduler/predicates"
SECRET = "/api/v1/namespaces/kube-system/secrets/stowage-signing-key"
PUBLIC = "/api/v1/namespaces/kube-system/configmaps/stowage-signing-keys"
CONFIG = """
apiVersion: stowage.dev/v1alpha1
kind: ControllerConfig
leaderElection: {leaseDuration: 2s, renewDeadline: 1500ms, retryPeriod: 500ms}
profiles:
- name: stowage
extenders:
- {preset: gpu-admission, listen: "127.0.0.1:0"}
- {preset: stowage, listen: "127.0.0.1:0"}
"""


class Signed(LocalCluster):
    def __init__(self, config=CONFIG):
        super().__init__(extender_cluster.PROGRAM, "--nodes", "0")
        self.config = self.file("config.yaml", config)
        self.lives = 0
        self.ports = {}
        self.process_now = None
        try:
            # Signing began long ago, so the controller only has to make a key.
            self.call("POST", SECRET.rsplit("/", 1)[0], {
                "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                "metadata": {"name": "stowage-signing-key", "namespace": "kube-system"},
                "data": {"began": base64.b64encode(b"1790000000").decode()}})
            self.start()
        except BaseException:
            self.stack.close()
            raise

    def start(self):
        self.lives += 1
        now = self.controller(f"controller-{self.lives}", "--config", self.config)
        self.process_now = now
        wait_until("the controller decides",
                   lambda: now.ready() and now.metric("stowage_leader") == 1)
        log = now.process.log.read_text(errors="replace")
        self.ports = dict(re.findall(r" extender name=(\S+) listen=http://127\.0\.0\.1:(\d+)", log))

    def restart(self, between=lambda: None):
        self.process_now.process.stop()
        between()
        self.start()

    def extender(self, name="gpu-admission"):
        return Extender(int(self.ports[name]))

    def call(self, method, path, value=None, want=(200, 201)):
        code, answer = self.api.request(method, path, value)
        if code not in want:
            raise AssertionError(f"{method} {path}: {code} {answer}")
        return answer

    def add_node(self, name, amounts, **more):
        self.call("POST", "/api/v1/nodes", node(name, amounts, **more))
        asks = pod("nobody", [{"stowage.dev/gpu": 1}])
        wait_until("the node is known", lambda: name not in str(
            [each for each, why in self.extender("stowage").dry_run(asks, [name]).failed.items()
             if why in extender_cluster.UNKNOWN]))

    def add(self, value):
        return self.call("POST", "/api/v1/namespaces/default/pods", value)

    def find(self, name):
        return self.call("GET", f"/api/v1/namespaces/default/pods/{name}")

    def edit(self, name, annotations):
        """None removes an annotation."""
        value = self.find(name)
        notes = value["metadata"].setdefault("annotations", {})
        for key, text in annotations.items():
            if text is None:
                notes.pop(key, None)
            else:
                notes[key] = text
        return self.call("PUT", f"/api/v1/namespaces/default/pods/{name}", value)

    def bound(self, name):
        wait_until(f"{name} is bound", lambda: self.find(name)["spec"].get("nodeName"))
        return self.find(name)

    def waits(self, name):
        wait_until(f"{name} is refused", lambda: any(
            each["type"] == "PodScheduled" and each["status"] == "False"
            for each in self.find(name).get("status", {}).get("conditions", [])))

    def reported(self, value, reason="UntrustedAnnotation"):
        found = self.call("GET", "/apis/events.k8s.io/v1/events")["items"]
        return [each for each in found if each.get("reason") == reason and (
            each.get("regarding") or each.get("involvedObject", {})).get("uid") == uid(value)]


def card_of(value):
    cards = json.loads(value["metadata"]["annotations"][GPUS])["containers"]
    return next(iter(cards.values()))[0]["index"]


def promise(on, card, made=None):
    return {"tencent.com/predicate-node": on, "tencent.com/predicate-gpu-idx-0": str(card),
            "tencent.com/predicate-time": str(int((made or time.time()) * 1e9)),
            "tencent.com/gpu-assigned": "false"}


class Forged(unittest.TestCase):
    def test_an_untrusted_pre_allocation_locks_no_card(self):
        with Signed() as cluster:
            cluster.add_node("n", {CORE: 200})
            forged = [cluster.add(pod(f"forged-{i}", [{CORE: 100}], annotations={
                **promise("n", i), "tencent.com/stuck-grace-period": "1h"})) for i in range(2)]
            for each in forged:
                wait_until("it is reported", lambda each=each: cluster.reported(each))
            self.assertEqual(cluster.process_now.metric("stowage_untrusted_annotations_total"), 2)
            honest = cluster.add(pod("honest", [{CORE: 200}]))
            answer = cluster.extender().filter(honest, ["n"], FILTER)
            self.assertEqual((answer["Error"], answer.nodes), ("", ["n"]), answer)

    def test_neither_does_one_with_the_words_of_another_pod(self):
        with Signed() as cluster:
            cluster.add_node("n", {CORE: 200})
            first = cluster.add(pod("first", [{CORE: 100}]))
            self.assertEqual(cluster.extender().filter(first, ["n"], FILTER).nodes, ["n"])
            notes = cluster.find("first")["metadata"]["annotations"]
            self.assertTrue(notes[SIGNATURE].startswith("v1:"), notes)
            self.assertIn(":promise:", notes[SIGNATURE])
            cluster.call("DELETE", "/api/v1/namespaces/default/pods/first?gracePeriodSeconds=0")
            copy = cluster.add(pod("copy", [{CORE: 100}], annotations=notes))
            wait_until("it is reported", lambda: cluster.reported(copy))
            honest = cluster.add(pod("honest", [{CORE: 200}]))
            wait_until("both cards are free", lambda: cluster.extender().filter(
                honest, ["n"], FILTER).nodes == ["n"])

    def test_a_pre_allocation_of_ours_is_kept_over_a_restart(self):
        with Signed() as cluster:
            cluster.add_node("n", {CORE: 200})
            first = cluster.add(pod("first", [{CORE: 100}]))
            self.assertEqual(cluster.extender().filter(first, ["n"], FILTER).nodes, ["n"])
            cluster.restart()
            both = cluster.add(pod("both", [{CORE: 200}]))
            self.assertEqual(cluster.extender().filter(both, ["n"], FILTER).nodes, [])
            cluster.call("POST", "/api/v1/namespaces/default/pods/first/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "first"},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "n"}})
            cluster.restart()
            one = cluster.add(pod("one", [{CORE: 100}]))
            answer = cluster.extender().filter(one, ["n"], FILTER)
            self.assertEqual(answer.nodes, ["n"], "the other card is known to be free")
            self.assertNotEqual(card_of(cluster.find("one")), card_of(cluster.find("first")))
            self.assertEqual(cluster.process_now.metric("stowage_untrusted_annotations_total"), 0)

    def test_it_is_held_though_the_author_edits_the_pod(self):
        with Signed() as cluster:
            cluster.add_node("n", {CORE: 100})
            first = cluster.add(pod("first", [{CORE: 100}]))
            self.assertEqual(cluster.extender().filter(first, ["n"], FILTER).nodes, ["n"])
            cluster.edit("first", {"nvidia.com/predicate-x": "y"})
            cluster.restart()
            wait_until("it is reported", lambda: cluster.reported(first))
            other = cluster.add(pod("other", [{CORE: 100}]))
            self.assertEqual(cluster.extender().filter(other, ["n"], FILTER).nodes, [])

    def test_a_standby_keeps_it_though_the_author_removes_the_signature(self):
        with Signed() as cluster:
            cluster.add_node("n", {CORE: 100})
            standby = cluster.controller("standby", "--config", cluster.config)
            wait_until("it stands by", lambda: standby.process.require_alive() and
                       "standing by" in standby.process.log.read_text())
            first = cluster.add(pod("first", [{CORE: 100}]))
            self.assertEqual(cluster.extender().filter(first, ["n"], FILTER).nodes, ["n"])
            time.sleep(1)  # the standby sees it
            cluster.edit("first", {SIGNATURE: None})
            cluster.process_now.process.kill()
            wait_until("it leads", lambda: standby.metric("stowage_leader") == 1 and
                       standby.ready())
            port = re.search(r" extender name=gpu-admission listen=http://127\.0\.0\.1:(\d+)",
                             standby.process.log.read_text()).group(1)
            other = cluster.add(pod("other", [{CORE: 100}]))
            self.assertEqual(Extender(int(port)).filter(other, ["n"], FILTER).nodes, [])

    def test_it_is_taken_off_when_its_index_is_that_of_another_card(self):
        def inventory(*ids):
            return {"stowage.dev/gpu-inventory": json.dumps({"version": 1, "cards": [
                {"id": each, "index": i, "memoryMiB": 40960} for i, each in enumerate(ids)]})}
        with Signed() as cluster:
            cluster.add_node("n", {CORE: 200}, annotations=inventory("GPU-a", "GPU-b"))
            first = cluster.add(pod("first", [{CORE: 100}]))
            self.assertEqual(cluster.extender().filter(first, ["n"], FILTER).nodes, ["n"])
            value = cluster.call("GET", "/api/v1/nodes/n")
            value["metadata"]["annotations"].update(inventory("GPU-b", "GPU-a"))
            cluster.call("PUT", "/api/v1/nodes/n", value)
            wait_until("it is taken off", lambda: GPUS not in cluster.find(
                "first")["metadata"]["annotations"])
            notes = cluster.find("first")["metadata"]["annotations"]
            self.assertIn(":withdrawn:", notes[SIGNATURE])
            self.assertNotIn("tencent.com/predicate-gpu-idx-0", notes)
            both = cluster.add(pod("both", [{CORE: 200}]))
            wait_until("both cards are free", lambda: cluster.extender().filter(
                both, ["n"], FILTER).nodes == ["n"])

    def test_an_edited_annotation_counts_no_more_after_a_restart(self):
        with Signed() as cluster:
            cluster.add_node("n", {"nvidia.com/gpu": 2})
            ask = [{"nvidia.com/gpu": 1}]
            cluster.add(pod("a", ask, scheduler="stowage"))
            a = cluster.bound("a")
            text = a["metadata"]["annotations"][GPUS]
            used = card_of(a)
            edited = text.replace(f'"index":{used}', f'"index":{1 - used}').replace(
                f'"n/{used}"', f'"n/{1 - used}"')
            self.assertNotEqual(edited, text)
            cluster.restart(lambda: cluster.edit("a", {GPUS: edited}))
            wait_until("it is reported", lambda: cluster.reported(a))
            half = {"stowage.dev/gpu-core": 50, "stowage.dev/gpu-memory": 1}
            cluster.add(pod("half", [half], scheduler="stowage"))
            cluster.waits("half")
            cluster.edit("a", {GPUS: text})
            cluster.add(pod("b", ask, scheduler="stowage"))
            self.assertEqual(card_of(cluster.bound("b")), 1 - used)

    def test_keys_are_kept_told_and_rotated(self):
        with Signed() as cluster:
            secret = cluster.call("GET", SECRET)["data"]
            public = cluster.call("GET", PUBLIC)["data"]
            self.assertEqual(sorted(secret), sorted(public))
            self.assertEqual(base64.b64decode(secret["began"]).decode(), public["began"])
            self.assertNotIn("PRIVATE", json.dumps(public))
            name = next(key for key in secret if key.endswith(".pem"))
            self.assertEqual(subprocess.run(
                ["openssl", "pkey", "-pubout"], input=base64.b64decode(secret[name]), check=True,
                capture_output=True).stdout.decode(), public[name])
            whole = cluster.call("GET", SECRET)
            whole["data"]["rotate"] = base64.b64encode(b"now").decode()
            cluster.call("PUT", SECRET, whole)
            cluster.restart()  # a replica reads the keys when it starts
            wait_until("there are two", lambda: len(cluster.call("GET", PUBLIC)["data"]) == 3)
            secret = cluster.call("GET", SECRET)["data"]
            self.assertEqual(len(secret), 3)
            self.assertNotIn("rotate", secret)
            cluster.add_node("n", {"nvidia.com/gpu": 2})
            cluster.add(pod("a", [{"nvidia.com/gpu": 1}], scheduler="stowage"))
            signature = cluster.bound("a")["metadata"]["annotations"][SIGNATURE]
            self.assertIn(signature.split(":")[1], cluster.process_now.process.log.read_text())

    def test_keys_may_be_in_a_file(self):
        key = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519"], check=True,
                             capture_output=True, text=True).stdout
        with Signed() as cluster:
            path = cluster.file("key.pem", key)
            cluster.config.write_text(
                CONFIG + f"signing: {{keyFile: {path}}}\n", encoding="utf-8")
            cluster.restart()
            cluster.add_node("n", {"nvidia.com/gpu": 2})
            cluster.add(pod("a", [{"nvidia.com/gpu": 1}], scheduler="stowage"))
            self.assertTrue(cluster.bound("a")["metadata"]["annotations"][SIGNATURE])

    def test_a_pre_allocation_of_an_older_scheduler_counts_if_it_is_older_than_signing(self):
        key = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519"], check=True,
                             capture_output=True, text=True).stdout
        for until, held in (("2100-01-01T00:00:00Z", True), ("2026-01-01T00:00:00Z", False)):
            with self.subTest(until), Signed() as cluster:
                path = cluster.file("key.pem", key)
                cluster.config.write_text(
                    CONFIG + f"signing: {{keyFile: {path}, unsignedUntil: \"{until}\"}}\n",
                    encoding="utf-8")
                cluster.restart()
                cluster.add_node("n", {CORE: 200})
                promised = cluster.add(pod("promised", [{CORE: 100}], annotations=promise("n", 1)))
                # Not by a filter that comes too early: it would hold the cards itself.
                if held:
                    wait_until("it is held",
                               lambda: cluster.process_now.metric("stowage_holds") == 1)
                else:
                    wait_until("it is reported", lambda: cluster.reported(promised))
                both = cluster.add(pod("both", [{CORE: 200}]))
                answer = cluster.extender().filter(both, ["n"], FILTER)
                self.assertEqual(answer.nodes, [] if held else ["n"])


if __name__ == "__main__":
    extender_cluster.main()
