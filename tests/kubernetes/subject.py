"""The scheduler under test: the controller, or kube-scheduler in its place."""
import http.client
import json
import os
import pathlib
import re
import subprocess

from api import wait_until

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
# schedulerNames that the tests use.
PROFILES = ("stowage", "toyscheduler", "alnair-cost-saving", "gpu-scheduler")
# Short, because tests kill it.
SHORT_LEASE = {"leaseDuration": "2s", "renewDeadline": "1500ms", "retryPeriod": "500ms"}
CONFIG = ("apiVersion: stowage.dev/v1alpha1\nkind: ControllerConfig\nprofiles:\n"
          + "".join(f"- name: {name}\n" for name in PROFILES)
          + f"leaderElection: {json.dumps(SHORT_LEASE)}\n")


def program():
    return os.environ.get("STOWAGE_BIN") or str(REPOSITORY / "build" / "release" / "stowage")


def has_command(*words):
    """Whether the help lists the command."""
    done = subprocess.run([program(), *words[:-1], "--help"], check=False, timeout=30, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return re.search(rf"^ +{words[-1]}\b", done.stdout, re.M) is not None


class Stowage:
    name = "stowage"
    chooses_cards = True

    def __init__(self, cluster):
        self.cluster = cluster
        self.process = None
        self.address = None
        self.log_start = 0
        self.default_config = cluster.folder / "config.yaml"
        self.default_config.write_text(CONFIG, encoding="utf-8")

    def start(self, kubeconfig=None, config=None, wait=True):
        """Starts it with the rights of deploy/, unless a kubeconfig is given."""
        kubeconfig = kubeconfig or self.cluster.service_account_config("kube-system", "stowage")
        self.address = None
        log = self.cluster.folder / f"{self.name}.log"
        self.log_start = log.stat().st_size if log.exists() else 0
        self.process = self.cluster.spawn(
            self.name, "controller", "--kubeconfig", kubeconfig, "--config",
            config or self.default_config, "--listen", "127.0.0.1:0", program=program())
        if wait:
            wait_until("the controller is ready", self.ready, timeout=60,
                       details=lambda: f"its log ends with:\n{self.process.tail()}")
        return self

    def said(self):
        """What it has logged since its last start."""
        with open(self.process.log, "rb") as file:
            file.seek(self.log_start)
            return file.read().decode(errors="replace")

    def get(self, path):
        """(code, text) from its own port; (0, "") while it does not listen yet."""
        if not self.address:
            found = re.search(r"listen\S*[^\n]*?127\.0\.0\.1:(\d+)", self.said())
            if not found:
                return 0, ""
            self.address = ("127.0.0.1", int(found.group(1)))
        connection = http.client.HTTPConnection(*self.address, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def ready(self):
        return self.process.require_alive() and self.get("/readyz")[0] == 200

    def kill(self):
        self.process.kill()

    def stop(self):
        """Sends SIGTERM; it must exit with status 0."""
        code = self.process.stop(timeout=20)
        if code != 0:
            raise AssertionError(f"the controller ended with {code}:\n{self.process.tail()}")

    def discard(self):
        if self.process:
            self.process.kill()
            self.process = None
            # The next one need not wait until the lease expires.
            self.cluster.api.raw(
                "DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/stowage",
                None, "application/json")

    def tail(self):
        return "\n".join(self.said().splitlines()[-30:]) if self.process else ""


class KubeScheduler:
    """Shows what the tests expect of any scheduler; it does not know cards."""

    name = "kube-scheduler"
    chooses_cards = False

    def __init__(self, cluster):
        self.cluster = cluster
        self.process = None

    def start(self):
        self.process = self.cluster.start_scheduler(PROFILES)
        return self

    def kill(self):
        self.process.kill()

    def stop(self):
        self.process.stop()

    def discard(self):
        if self.process:
            self.process.kill()
            self.process = None

    def tail(self):
        return self.process.tail(5) if self.process else ""
