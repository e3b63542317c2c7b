"""A fake kubelet (kubelet/main.go): built once with Go, and run as a process.

Standard library only.
"""
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "kubelet"
sys.path.insert(0, str(HERE.parent / "kubernetes"))

import build  # noqa: E402  (finds Go and the cache of what it builds)


def programs(fetch):
    """A folder with the programs kubelet and caller, built if they are missing.

    Raises build.Unavailable or build.BuildFailed. Without fetch nothing is downloaded: the modules
    must already be on this machine.
    """
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum", "main.go", "caller/main.go"):
        digest.update((SOURCE / name).read_bytes())
    target = build.cache_root() / f"kubelet-double-{digest.hexdigest()[:12]}"
    if target.is_dir():
        return target
    go, version = build.find_go()
    build.require_go(version, (SOURCE / "go.mod").read_text(encoding="utf-8"))
    env = build.environment() if fetch else build.environment(GOPROXY="off")
    unfinished = pathlib.Path(str(target) + ".partial")
    unfinished.mkdir(parents=True, exist_ok=True)
    with build.locked(str(target) + ".lock"):
        if target.is_dir():
            return target
        for name, package in (("kubelet", "."), ("caller", "./caller")):
            command = [go, "build", "-mod=readonly", *build.FLAGS, "-o", unfinished / name, package]
            code, output = build.run_go("the double of a kubelet: building", command, SOURCE, env)
            if code and "module lookup disabled" in output:
                raise build.Unavailable("the Go modules of the kubelet's API are not on this "
                                        "machine: make kube-test fetches them")
            if code:
                raise build.BuildFailed(f"the double of a kubelet does not build:\n{output}")
        unfinished.rename(target)
    return target


def programs_or_exit(fetch):
    """For tests: if the programs are not available, the process ends with a message."""
    try:
        return programs(fetch)
    except build.Unavailable as reason:
        print(f"agent: skipped: {reason}")
        sys.exit(0 if fetch else build.SKIPPED)
    except build.BuildFailed as reason:
        print(f"agent: {reason}")
        sys.exit(1)


class Kubelet:
    """A folder with a socket and a file of pods; the process may be stopped and started again."""

    def __init__(self, binary, folder):
        self.binary = binary
        self.socket = pathlib.Path(folder) / "kubelet.sock"
        self.pods = pathlib.Path(folder) / "pods.json"
        self.log = pathlib.Path(folder) / "kubelet.log"
        self.process = None
        self.set([])

    def set(self, pods):
        """Replaces the pods atomically."""
        fresh = self.pods.with_suffix(".new")
        fresh.write_text(json.dumps(pods), encoding="utf-8")
        fresh.rename(self.pods)

    def start(self, *flags):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "-socket", self.socket, "-pods", self.pods, *flags],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                preexec_fn=build.die_with_parent)
        if self.process.stdout.readline() != b"ready\n":
            raise AssertionError(f"the double does not start:\n{self.said()}")
        return self

    def stop(self, number=signal.SIGTERM):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        self.process.wait(20)
        self.process.stdout.close()
        self.process = None

    def pause(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def said(self):
        return self.log.read_text(encoding="utf-8", errors="replace")
