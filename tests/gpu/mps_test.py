#!/usr/bin/env python3
"""What the limits of `stowage mps` hold, on a real card.

Usage: mps_test.py STOWAGE [--json FILE]

Starts `stowage mps` with a folder of its own and programs with the environment that containers
with a share get (src/mps/client_limits.cc). Needs root, a card that nothing else uses, nvcc, and
the daemons of MPS; changes no setting of the card. Prints a table for docs/isolation.md. Exit
status 0 if everything is as that page says, 1 if not, 77 on a machine without these.
"""
import argparse
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

SKIPPED = 77
PATIENCE_S = 40
QUARTER = {"milli": 250, "mib": 3072}
HALF = {"milli": 500, "mib": 20480}


class Client:
    """The program of mps_client.cu with this environment."""

    def __init__(self, program, env, uid=0):
        command = [str(program)]
        if uid:
            command = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *command]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("CUDA_")}
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True, env={**kept, **env})
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.code = self.answer()["code"]

    def read(self):
        for line in self.child.stdout:
            self.lines.put(line)
        self.lines.put("")

    def answer(self, patience=PATIENCE_S):
        try:
            line = self.lines.get(timeout=patience)
        except queue.Empty:
            return {"code": "no answer"}
        return json.loads(line) if line else {"code": f"ended {self.child.wait()}"}

    def send(self, line):
        try:
            self.child.stdin.write(line + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            pass

    def ask(self, line):
        self.send(line)
        return self.answer()

    def end(self):
        try:
            self.child.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Bench:
    def __init__(self, stowage, folder):
        self.stowage = stowage
        self.folder = folder
        self.root = folder / "mps"
        self.program = folder / "client"
        self.rows = []
        self.wrong = []
        self.daemons = None
        self.card = ""

    def row(self, what, seen, good=True):
        self.rows.append((what, seen, good))
        print(f"{'ok   ' if good else 'WRONG'} {what}: {seen}", flush=True)
        if not good:
            self.wrong.append(what)

    # ---- daemons and clients

    def start_daemons(self):
        self.daemons = subprocess.Popen([self.stowage, "mps", "--root", str(self.root)],
                                        stdout=subprocess.DEVNULL, stderr=sys.stderr)
        self.wait_for(True)

    def state(self):
        for path in self.root.glob("*/state"):
            self.card = path.parent.name
            return json.loads(path.read_text())
        return {"running": False}

    def wait_for(self, running, patience=PATIENCE_S):
        start = time.monotonic()
        while self.state()["running"] != running:
            if time.monotonic() - start > patience:
                raise SystemExit(f"mps_test: the card's state stays {self.state()}")
            time.sleep(0.02)
        return time.monotonic() - start

    def pipe(self):
        return str(self.root / self.card / "pipe")

    def env(self, share):
        return {"CUDA_MPS_PIPE_DIRECTORY": self.pipe(),
                "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(share["milli"] // 10),
                "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"0={share['mib']}M"}

    def client(self, share=None, uid=0):
        # Without a share: a pipe directory without a daemon, as in a container without the mount.
        env = self.env(share) if share else {"CUDA_MPS_PIPE_DIRECTORY": str(self.folder / "none")}
        return Client(self.program, env, uid)

    def control(self, command, uid=0):
        words = ["nvidia-cuda-mps-control"]
        if uid:
            words = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *words]
        done = subprocess.run(words, input=command + "\n", capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False,
                              env={**os.environ, "CUDA_MPS_PIPE_DIRECTORY": self.pipe()})
        return (done.stdout + done.stderr).strip()

    def control_pid(self):
        return int((self.root / self.card / "pipe/nvidia-cuda-mps-control.pid").read_text())

    # ---- cases

    def limits(self):
        whole = self.client()
        everything = whole.ask("info")["processors"]
        a, b = self.client(QUARTER), self.client(HALF)
        infos = [each.ask("info") for each in (a, b)]
        self.row("multiprocessors at 25 % and 50 %",
                 f"{infos[0]['processors']} and {infos[1]['processors']} of {everything}",
                 0.2 * everything <= infos[0]["processors"] <= 0.25 * everything
                 and 0.45 * everything <= infos[1]["processors"] <= 0.5 * everything)
        self.row("memory free with 3 GiB and 20 GiB",
                 f"{infos[0]['freeMiB']} MiB and {infos[1]['freeMiB']} MiB",
                 infos[0]["freeMiB"] < 3072 and infos[1]["freeMiB"] < 20480)
        for how in ("malloc", "async", "create", "managed"):
            codes = [a.ask(f"alloc {how} 2048")["code"], a.ask(f"alloc {how} 5120")["code"],
                     b.ask(f"alloc {how} 5120")["code"], b.ask(f"alloc {how} 24576")["code"]]
            self.row(f"allocation by {how}: 2 and 5 GiB under 3; 5 and 24 GiB under 20",
                     ", ".join("given" if code == 0 else f"refused ({code})" for code in codes),
                     codes[0] == 0 and codes[1] != 0 and codes[2] == 0 and codes[3] != 0)
        alone = [each.ask("matmul 3")["gflops"] for each in (whole, a, b)]
        whole.end()
        for each in (a, b):
            each.send("matmul 6")
        both = [each.answer()["gflops"] for each in (a, b)]
        ratio = both[1] / both[0]
        self.row("matrix product alone: without MPS, 25 %, 50 %",
                 ", ".join(f"{value:.0f}" for value in alone) + " GFLOP/s")
        self.row("matrix product at the same time: 25 % and 50 %",
                 f"{both[0]:.0f} and {both[1]:.0f} GFLOP/s, 1 : {ratio:.2f}; "
                 f"{100 * both[0] / alone[1]:.0f} % and {100 * both[1] / alone[2]:.0f} % of alone",
                 1.6 <= ratio <= 2.4)
        a.end()
        b.end()

    def several_processes(self):
        a, b = self.client(QUARTER), self.client(QUARTER)
        codes = [a.ask("keep 2048")["code"], b.ask("keep 2048")["code"]]
        self.row("two processes of one container with 3 GiB, 2 GiB each",
                 "both given: the limit is one of each process" if codes == [0, 0]
                 else f"codes {codes}", codes == [0, 0])
        a.end()
        b.end()

    def users(self):
        a, b = self.client(QUARTER), self.client(HALF, uid=1000)
        done = [a.ask("matmul 1"), b.ask("matmul 1")]
        processors = b.ask("info").get("processors")
        self.row("another user at the same time", f"runs, with {processors} multiprocessors",
                 done[0]["code"] == 0 and done[1]["code"] == 0)
        a.end()
        b.end()

    def bypass(self):
        free = self.client()
        info = free.ask("info")
        code = free.ask("alloc malloc 24576")["code"]
        self.row("the variables unset, in compute mode DEFAULT",
                 f"no limit: {info['processors']} multiprocessors, 24 GiB "
                 f"{'given' if code == 0 else 'refused'}", code == 0)
        free.end()
        command = f"set_default_device_pinned_mem_limit {self.card} 1G"
        refused = self.control(command, uid=1000)
        self.row("another user changes the limits of the daemon", refused or "accepted",
                 bool(refused))
        accepted = self.control(command)
        self.row("root changes the limits of the daemon", accepted or "accepted", not accepted)

    def deaths(self):
        a = self.client(QUARTER)
        a.send("matmul 8")
        time.sleep(1)
        os.kill(self.control_pid(), signal.SIGKILL)
        noticed = self.wait_for(False)
        between = self.client(QUARTER)
        processors = between.ask("info").get("processors")
        between.end()
        old = a.answer()
        # CUDA_ERROR_MPS_CONNECTION_FAILED: its server ends with the daemon.
        self.row("the daemon is killed under load: the program that runs",
                 f"ends with error {old['code']}", old["code"] == 806)
        self.row("a program that starts without a daemon", f"{processors} multiprocessors: no "
                 f"limit; the card's state said so after {noticed:.1f} s", noticed < 3)
        a.end()
        again = self.wait_for(True)
        self.row("the daemon runs again", f"after {noticed + again:.1f} s", noticed + again < 10)
        b = self.client(QUARTER)
        after = b.ask("info").get("processors")
        self.row("a program started afterwards", f"{after} multiprocessors", after is not None
                 and after <= 33)
        b.end()

    def agent_restart(self):
        a = self.client(QUARTER)
        a.send("matmul 4")
        for _ in range(2):
            agent = subprocess.Popen([self.stowage, "agent", "--node-name", "n1", "--no-annotation",
                                      "--podresources", "", "--listen", "127.0.0.1:0"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(1)
            agent.kill()
            agent.wait()
        done = a.answer()
        self.row("the agent is killed twice under load", "the program goes on"
                 if done["code"] == 0 else f"error {done['code']}", done["code"] == 0)
        a.end()

    def stop(self):
        a = self.client(QUARTER)
        a.send("matmul 5")
        time.sleep(1)
        start = time.monotonic()
        self.daemons.terminate()
        self.daemons.wait(30)
        self.row("`stowage mps` is stopped under load", f"ends after "
                 f"{time.monotonic() - start:.1f} s; the program: code {a.answer()['code']}; "
                 f"state: {self.state().get('error')}", not self.state()["running"])
        a.end()


def missing():
    if os.geteuid() != 0:
        return "not root"
    for program in ("nvcc", "nvidia-cuda-mps-control", "setpriv"):
        if shutil.which(program) is None:
            return f"no {program}"
    return "" if pathlib.Path("/dev/nvidiactl").exists() else "no card"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("stowage")
    parser.add_argument("--json")
    given = parser.parse_args()
    if why := missing():
        print(f"mps_test: skipped: {why}")
        return SKIPPED
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stowage-mps-"))
    folder.chmod(0o755)
    bench = Bench(given.stowage, folder)
    try:
        source = pathlib.Path(__file__).with_name("mps_client.cu")
        subprocess.run(["nvcc", "-O2", "-arch=native", "-o", bench.program, source, "-lcuda"],
                       check=True, timeout=180)
        bench.start_daemons()
        for case in (bench.limits, bench.several_processes, bench.users, bench.agent_restart,
                     bench.deaths, bench.bypass, bench.stop):
            try:
                case()
            except (KeyError, TypeError, OSError) as error:
                bench.row(case.__name__, f"failed: {error!r}", False)
    finally:
        if bench.daemons is not None and bench.daemons.poll() is None:
            bench.daemons.terminate()
            bench.daemons.wait(30)
        if given.json:
            pathlib.Path(given.json).write_text(json.dumps(bench.rows, indent=1))
        shutil.rmtree(folder)
    print("\n| what | seen |\n|---|---|")
    print("\n".join(f"| {what} | {seen} |" for what, seen, _ in bench.rows))
    print(f"{len(bench.rows) - len(bench.wrong)} passed, {len(bench.wrong)} failed")
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
