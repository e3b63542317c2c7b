#!/usr/bin/env python3
"""The agent's view of pods and devices, against a kubelet with the real gRPC and the real messages.

    podresources_test.py PROBE [--fetch] [TEST...]

Exit code 77 and one line where the kubelet can not be built. With --fetch what it is built from may
be downloaded, and a machine without Go is no failure.
"""
import json
import pathlib
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import kubelet_double

PROBE = ""
KUBELET = None
EVERY_MS = 100
DEADLINE_MS = 3000
PATIENCE_S = 30


def pod(name, *ids, ns="ml", numa=(0,), ended=False, resource="nvidia.com/gpu"):
    devices = [{"resource": resource, "ids": list(ids), "numa": list(numa)}] if ids else []
    return {"namespace": ns, "name": name, "ended": ended,
            "containers": [{"name": "main", "cpus": [1, 2], "devices": devices},
                           {"name": "side", "cpus": [], "devices": []}]}


def told(name, *ids, ns="ml", numa=(0,), resource="nvidia.com/gpu"):
    """What the probe prints about such a pod."""
    group = {"resource": resource, "ids": sorted(ids), "numa": list(numa)}
    return {"pod": f"{ns}/{name}", "containers": {"main": [group]}}


class Probe:
    """The program under test: the lines that it prints, and the state that its changes add up to.
    """

    def __init__(self, socket, every_ms=EVERY_MS, deadline_ms=DEADLINE_MS):
        self.process = subprocess.Popen([PROBE, str(socket), str(every_ms), str(deadline_ms)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        self.picture = {}  # the pods, from the changes alone
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def next(self, timeout=PATIENCE_S):
        line = self.lines.get(timeout=timeout)
        for each in line.get("gone", []):
            del self.picture[each]
        for each in line.get("changed", []):
            self.picture[each["pod"]] = each
        return line

    def changes(self):
        """The next changes, while the kubelet is connected: (changed, gone)."""
        line = self.next()
        while line.get("inTouch"):
            line = self.next()
        assert "changed" in line, line
        return line["changed"], line["gone"]

    def contact(self, in_touch):
        """Waits for that contact state, skips changes, and returns the reason."""
        while True:
            line = self.next()
            if line.get("inTouch") is in_touch:
                return line["why"]

    def until(self, check):
        end = time.monotonic() + PATIENCE_S
        while not check():
            if time.monotonic() > end:
                raise AssertionError(f"not in time; the picture is {str(self.picture)[:1000]}")
            try:
                self.next(timeout=1)
            except queue.Empty:
                pass

    def quiet(self, seconds):
        """Checks that nothing is printed for a while."""
        try:
            raise AssertionError(f"said: {self.next(timeout=seconds)}")
        except queue.Empty:
            pass

    def state(self):
        self.process.send_signal(signal.SIGUSR2)
        while True:
            line = self.next()
            if "version" in line:
                return line

    def nudge(self):
        self.process.send_signal(signal.SIGUSR1)

    def memory_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024

    def close(self):
        self.process.terminate()
        code = self.process.wait(20)
        self.process.stdout.close()
        return code


class PodResources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stowage-")
        self.addCleanup(folder.cleanup)
        self.kubelet = kubelet_double.Kubelet(KUBELET, folder.name)
        self.addCleanup(self.kubelet.stop)

    def probe(self, *arguments):
        probe = Probe(self.kubelet.socket, *arguments)
        self.addCleanup(lambda: self.assertEqual(probe.close(), 0))
        return probe

    def check_changes(self, probe):
        """Pods appear, change and vanish; unchanged pods are not reported."""
        numa = [0] if probe.state()["version"] == "v1" else []
        self.kubelet.set([pod("a", "GPU-0"), pod("b", "GPU-1", "GPU-2"), pod("none")])
        changed, gone = probe.changes()
        self.assertEqual(changed, [told("a", "GPU-0", numa=numa),
                                   told("b", "GPU-1", "GPU-2", numa=numa)])
        self.assertEqual(gone, [])
        probe.quiet(0.5)  # although every answer is in another order
        self.kubelet.set([pod("b", "GPU-1", "GPU-3"), pod("c", "GPU-0", ns="other")])
        changed, gone = probe.changes()
        self.assertEqual(changed, [told("b", "GPU-1", "GPU-3", numa=numa),
                                   told("c", "GPU-0", ns="other", numa=numa)])
        self.assertEqual(gone, ["ml/a"])
        self.kubelet.set([])
        self.assertEqual(probe.changes(), ([], ["ml/b", "other/c"]))

    def test_each_protocol(self):
        for protocols, version in (("v1", "v1"), ("v1,v1alpha1", "v1"), ("v1alpha1", "v1alpha1")):
            with self.subTest(protocols):
                self.kubelet.start("-protocols", protocols)
                probe = self.probe()
                self.assertEqual(probe.contact(True), "")
                self.assertEqual(probe.state()["version"], version)
                self.check_changes(probe)
                self.kubelet.stop()
                why = probe.contact(False)
                self.assertIn("the kubelet cannot be reached: UNAVAILABLE: ", why)

    def test_upgrades_and_downgrades(self):
        self.kubelet.start("-protocols", "v1alpha1")
        probe = self.probe()
        probe.contact(True)
        self.assertEqual(probe.state()["version"], "v1alpha1")
        # A newer kubelet replaces it, and later an older one again.
        for protocols, version in (("v1", "v1"), ("v1alpha1", "v1alpha1"),
                                   ("v1,v1alpha1", "v1")):
            self.kubelet.stop()
            self.kubelet.set([pod("on-" + version + str(len(protocols)), "GPU-0")])
            self.kubelet.start("-protocols", protocols)
            probe.until(lambda: f"ml/on-{version}{len(protocols)}" in probe.picture)
            probe.until(lambda: probe.state()["version"] == version)

    def test_restarts(self):
        """However the kubelet ends, the known state stays, and the next kubelet is found."""
        self.kubelet.set([pod("a", "GPU-0")])
        probe = self.probe()
        self.assertIn("no such file or directory", probe.contact(False))
        connections = 0
        for how, flags in ((signal.SIGTERM, []), (signal.SIGKILL, []),
                           (signal.SIGTERM, ["-graceful"])):
            self.kubelet.start(*flags)
            probe.contact(True)
            self.assertEqual(list(probe.picture), ["ml/a"])
            connections += 1
            self.assertEqual(probe.state()["connections"], connections)
            self.kubelet.stop(how)
            probe.contact(False)
            self.assertEqual([each["pod"] for each in probe.state()["pods"]], ["ml/a"])
        self.kubelet.socket.unlink(missing_ok=True)
        self.kubelet.set([pod("b", "GPU-0")])
        self.kubelet.start()
        probe.until(lambda: list(probe.picture) == ["ml/b"])

    def test_a_pod_recreated_under_its_name(self):
        """Only its devices distinguish it from its predecessor."""
        self.kubelet.set([pod("web-0", "GPU-0")])
        self.kubelet.start()
        probe = self.probe()
        self.assertEqual(probe.changes()[0], [told("web-0", "GPU-0")])
        self.kubelet.set([pod("web-0", "GPU-5")])
        self.assertEqual(probe.changes(), ([told("web-0", "GPU-5")], []))

    def test_pods_that_have_ended(self):
        """Kubelets before 1.34 list them beside their successors: both keep their devices."""
        self.kubelet.set([pod("web-0", "GPU-0", ended=True), pod("web-0", "GPU-1"),
                          pod("job", "GPU-2", ended=True)])
        for flags, expected in (([], [told("web-0", "GPU-1")]),
                                (["-terminated"], [told("job", "GPU-2"),
                                                   told("web-0", "GPU-0", "GPU-1")])):
            with self.subTest(flags):
                self.kubelet.start(*flags)
                probe = self.probe()
                self.assertEqual(probe.changes(), (expected, []))
                self.kubelet.stop()

    def test_devices_near_several_nodes(self):
        self.kubelet.set([pod("a", "GPU-0", "GPU-1", numa=(1, 0)), pod("b", "GPU-2", numa=())])
        self.kubelet.start()
        self.assertEqual(self.probe().changes()[0],
                         [told("a", "GPU-0", "GPU-1", numa=(0, 1)), told("b", "GPU-2", numa=())])

    def test_large_answers(self):
        """Five megabytes: 250 pods that hold 250 small shares each."""
        ids = [[f"GPU-{'0123456789abcdef' * 2}-{p:04}-{i:04}" for i in range(250)]
               for p in range(250)]
        pods = [pod(f"pod-{p:04}", *ids[p], resource="stowage.dev/gpu-core") for p in range(250)]
        self.kubelet.set(pods)
        self.kubelet.start()
        probe = self.probe(EVERY_MS, 30_000)
        changed, gone = probe.changes()
        self.assertEqual(len(changed), 250)
        self.assertEqual(changed[7], told("pod-0007", *ids[7], resource="stowage.dev/gpu-core"))
        probe.contact(True)
        self.kubelet.set(pods[1:])
        self.assertEqual(probe.changes(), ([], ["ml/pod-0000"]))
        probe.quiet(1)
        print(f"five megabytes: at most {probe.memory_mib():.0f} MiB")

    def test_a_list_that_is_too_large(self):
        ids = [f"{'x' * 900}-{i}" for i in range(20_000)]
        self.kubelet.set([pod("a", *ids)])
        self.kubelet.start()
        probe = self.probe(EVERY_MS, 30_000)
        self.assertIn("bytes is longer than 16777216", probe.contact(False))
        self.kubelet.set([pod("a", "GPU-0")])
        probe.contact(True)
        self.assertEqual(list(probe.picture), ["ml/a"])

    def test_the_limit_of_calls(self):
        """Other clients call the kubelet too often: lists wait."""
        self.kubelet.set([pod("a", "GPU-0")])
        self.kubelet.start("-qps", "2", "-burst", "1")
        probe = self.probe(50, 5000)
        self.assertEqual(probe.changes()[0], [told("a", "GPU-0")])
        probe.contact(True)
        for step in range(3):
            self.kubelet.set([pod("a", f"GPU-{step + 1}")])
            self.assertEqual(probe.changes()[0], [told("a", f"GPU-{step + 1}")])
        self.assertGreater(probe.state()["throttled"], 0)
        self.assertIn("limited", self.kubelet.said())
        # And a kubelet that always refuses.
        self.kubelet.stop()
        probe.contact(False)
        self.kubelet.start("-qps", "0.0001", "-burst", "1")
        probe.contact(True)  # the only call that it allows
        self.assertIn("RESOURCE_EXHAUSTED: rejected by rate limit", probe.contact(False))

    def test_a_slow_kubelet(self):
        self.kubelet.set([pod("a", "GPU-0")])
        self.kubelet.start("-slow", "500ms")
        probe = self.probe()
        self.assertEqual(probe.changes()[0], [told("a", "GPU-0")])
        self.kubelet.stop()
        probe.contact(False)
        self.kubelet.start("-slow", "1m")  # slower than any deadline
        self.wait_for_why(probe, "DEADLINE_EXCEEDED")
        probe.until(lambda: "nobody waits any more" in self.kubelet.said())

    def wait_for_why(self, probe, word):
        while word not in probe.contact(False):
            pass

    def test_a_kubelet_that_hangs(self):
        """Stopped, not ended: its socket accepts connections, but nothing answers."""
        self.kubelet.set([pod("a", "GPU-0")])
        self.kubelet.start()
        probe = self.probe(EVERY_MS, 20_000)
        probe.contact(True)
        self.kubelet.pause()
        self.wait_for_why(probe, "does not answer a ping")
        self.kubelet.set([pod("b", "GPU-0")])
        self.kubelet.resume()
        probe.until(lambda: list(probe.picture) == ["ml/b"])

    def test_a_nudge_does_not_wait(self):
        self.kubelet.start()
        probe = self.probe(60_000)
        probe.contact(True)
        self.kubelet.set([pod("a", "GPU-0")])
        probe.nudge()
        self.assertEqual(probe.changes()[0], [told("a", "GPU-0")])

    def test_a_file_that_is_no_socket(self):
        self.kubelet.socket.write_text("precious", encoding="utf-8")
        self.assertIn("connection refused", self.probe().contact(False))


def main():
    global PROBE, KUBELET
    arguments = sys.argv[1:]
    fetch = "--fetch" in arguments
    arguments = [each for each in arguments if each != "--fetch"]
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    PROBE = arguments.pop(0)
    KUBELET = kubelet_double.programs_or_exit(fetch) / "kubelet"
    program = unittest.main(argv=[sys.argv[0], *arguments], verbosity=1, exit=False)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
