#!/usr/bin/env python3
"""The configuration changes while the controller runs.

reload_test.py STOWAGE
"""
import http.client
import json
import os
import re
import signal
import sys
import threading
import time
import unittest

from local_cluster import (SHORT_LEASE, LocalCluster, Watch, mixed_pods, overcommitted, pod,
                           wait_until)

PROGRAM = ""
PODS = "/api/v1/namespaces/default/pods"
GPU = {"cpu": 1, "memory": "1Gi", "nvidia.com/gpu": 1}
ONE = "profiles: [{name: stowage}]\n"
TWO = "profiles: [{name: stowage}, {name: other, policy: fgd}]\n"
EXTENDER = "extenders: [{preset: stowage, listen: '127.0.0.1:0'}]\n"


class Reload(unittest.TestCase):
    LEASE = SHORT_LEASE

    def setUp(self):
        self.cluster = LocalCluster(PROGRAM, "--nodes", "40", "--gpus", "8")
        self.addCleanup(self.cluster.stack.close)
        self.watch = Watch(self.cluster.port)

    def start(self, text):
        self.config = self.cluster.file("config.yaml", self.LEASE + text)
        self.controller = self.cluster.controller("controller", "--config", self.config)
        wait_until("it is ready", self.controller.ready)

    def write(self, text, signalled=True):
        """As a mounted ConfigMap changes: another file under the same name."""
        fresh = self.cluster.file("config.new", self.LEASE + text)
        os.replace(fresh, self.config)
        if signalled:
            self.controller.process.process.send_signal(signal.SIGHUP)

    def reloads(self, count):
        wait_until(f"{count} reloads", lambda: self.controller.process.require_alive() and
                   self.controller.metric("stowage_config_reloads_total") == count)

    def bound(self, name):
        wait_until(f"{name} is bound", lambda: self.cluster.api.get(
            f"{PODS}/{name}")["spec"].get("nodeName"))

    def add(self, *pods):
        self.cluster.api.create_all(PODS, list(pods))

    def said(self):
        return self.controller.process.log.read_text(errors="replace")

    def test_a_new_profile_serves_pods_that_waited_for_it(self):
        self.start(ONE)
        self.add(pod("a", GPU), pod("b", GPU, scheduler="other"))
        self.bound("a")
        self.assertNotIn("nodeName", self.cluster.api.get(f"{PODS}/b")["spec"])
        self.write(TWO, signalled=False)
        self.bound("b")
        self.reloads(1)
        self.assertEqual(self.controller.metric("stowage_config_loaded"), 1)
        self.assertEqual(overcommitted(self.cluster.api.pods()), [])

    def test_a_bad_one_keeps_the_old_one_in_force(self):
        self.start(ONE)
        self.write("profils: []\n")
        wait_until("it is counted", lambda: self.controller.metric(
            "stowage_config_reload_failures_total") == 1)
        self.assertEqual(self.controller.metric("stowage_config_loaded"), 0)
        self.assertIn('did you mean \\"profiles\\"', self.said())
        self.add(pod("a", GPU))
        self.bound("a")
        os.remove(self.config)
        wait_until("that is counted too", lambda: self.controller.metric(
            "stowage_config_reload_failures_total") == 2)
        self.add(pod("b", GPU))
        self.bound("b")
        self.write(TWO)
        self.reloads(1)
        self.assertEqual(self.controller.metric("stowage_config_loaded"), 1)
        self.write(TWO)
        wait_until("it says so", lambda: "the configuration has not changed" in self.said())

    def test_what_belongs_to_the_process_waits_for_a_restart(self):
        self.start(ONE)
        self.write("listen: 127.0.0.1:1\napi: {qps: 5}\nlog: {level: debug}\n" + ONE)
        self.reloads(1)
        self.assertRegex(self.said(), "takes effect after a restart of the process key=api")
        self.assertEqual(self.controller.get("/debug/log-level"), (200, "debug\n"))
        wait_until("it has read all pods once more", self.controller.ready)

    def test_many_reloads_while_pods_come(self):
        """Nothing is lost, nothing is given twice."""
        self.start(ONE)
        pods = mixed_pods(150)
        for number in range(5):
            self.add(*pods[30 * number:30 * number + 30])
            self.write(TWO if number % 2 == 0 else ONE)
            self.reloads(number + 1)
        for value in pods:
            self.bound(value["metadata"]["name"])
        self.assertIsNone(self.watch.failure)
        for uid, states in self.watch.states.items():
            self.assertLessEqual(sum(1 for state in states if state[0]), 1, f"{uid}: {states}")
        self.assertEqual(overcommitted(self.cluster.api.pods()), [])
        self.assertEqual(self.controller.process.stop(), 0)

    def test_questions_of_kube_scheduler_are_all_answered_meanwhile(self):
        self.start(ONE + EXTENDER)
        port = int(re.search(r" extender name=\S+ listen=http://127\.0\.0\.1:(\d+)",
                             self.said())[1])
        answers, stop = [], threading.Event()

        def ask():
            """Uses a kept connection, as kube-scheduler does; reopened when the server closes it.
            """
            connection, number = None, 0
            while not stop.is_set():
                number += 1
                guest = pod(f"g{number}", GPU, scheduler="theirs")
                guest["metadata"]["uid"] = f"guest-{number}"
                connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=9)
                connection.request("POST", "/stowage/filter", json.dumps(
                    {"Pod": guest, "NodeNames": ["no-such-node"]}))
                answer = connection.getresponse()
                answers.append((answer.status, json.loads(answer.read())))
                if answer.will_close:
                    connection.close()
                    connection = None
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        for number in range(4):
            self.write((TWO if number % 2 == 0 else ONE) + EXTENDER)
            self.reloads(number + 1)
        time.sleep(0.5)
        stop.set()
        thread.join(30)
        self.assertFalse(thread.is_alive())
        self.assertGreater(len(answers), 20)
        for status, answer in answers:
            self.assertEqual(status, 200)
            self.assertFalse(answer.get("Error"), answer)
        self.write(ONE)
        self.reloads(5)
        with self.assertRaises(OSError):
            http.client.HTTPConnection("127.0.0.1", port, timeout=9).connect()

    def test_an_address_that_is_taken_is_a_bad_configuration(self):
        self.start(ONE)
        self.write(ONE + f"extenders: [{{preset: stowage, listen: '127.0.0.1:"
                         f"{self.cluster.port}'}}]\n")
        wait_until("it is counted", lambda: self.controller.metric(
            "stowage_config_reload_failures_total") == 1)
        self.assertIn("cannot listen", self.said())


class Alone(Reload):
    LEASE = "leaderElection: {enabled: false}\n"


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
