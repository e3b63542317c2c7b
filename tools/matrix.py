#!/usr/bin/env python3
"""Runs one leg of the checks that are too long for every change.

Usage: matrix.py LEG [--seconds N] [--seed COMMIT]
       matrix.py --self-test

LEG is one of those that are printed without LEG, or "auto": chosen by the commit's hash.
Without --seconds a leg does all of its work, which takes from half an hour to hours. With it, a leg
does the part that fits: which modules, sources, seeds or inputs is drawn from the commit's hash, so
that each commit tries something else and a failure can be reproduced on the same commit. The last
lines name what was run and what was left out.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
JOBS = os.cpu_count() or 2
# Modules with threads, and those below them: small enough to build in some minutes.
TSAN_MODULES = ("agent", "controller", "grpc", "kube", "net", "reports", "scheduler")
KUBE_CASES = ("the_api_server_is_killed", "etcd_is_killed", "the_leader_is_killed",
              "the_standby_is_killed", "of_the_scheduler")
KUBE_VERSIONS = ("v1.34.10", "v1.36.3")  # of nodes; PINNED of tests/kubernetes/build.py first
FAULT_SEEDS = 40  # of one call
FUZZ_SECONDS = 20  # of one fuzzer, where time is short
FUZZ_SECONDS_LONG = 300


class OutOfTime(Exception):
    """The time of the leg is over."""


class Leg:
    """Commands with one time limit for all of them, and a list of what they did."""

    def __init__(self, seconds, seed):
        self.end = time.monotonic() + seconds if seconds else None
        self.seed = seed
        self.chance = random.Random(seed)
        self.failed = False
        self.checked = 0  # checks that were completed
        self.said = []

    def light(self):
        return self.end is not None

    def left(self):
        return self.end - time.monotonic() if self.end else None

    def say(self, text):
        self.said.append(text)
        print(f"matrix: {text}", flush=True)

    def fail(self, text):
        self.failed = True
        self.say(f"FAILED: {text}")

    def run(self, *command, quiet=False):
        """Exit status and output. Raises OutOfTime after it has ended what it started."""
        if self.light() and self.left() <= 0:
            raise OutOfTime
        print("matrix: $ " + " ".join(map(str, command)), flush=True)
        output = subprocess.PIPE if quiet else None
        with subprocess.Popen([str(word) for word in command], cwd=ROOT, stdout=output,
                              stderr=subprocess.STDOUT if quiet else None, text=True,
                              start_new_session=True) as child:
            try:
                text, _ = child.communicate(timeout=self.left())
            except subprocess.TimeoutExpired as late:
                os.killpg(child.pid, signal.SIGTERM)
                try:
                    child.wait(30)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGKILL)
                raise OutOfTime from late
        return child.returncode, text or ""

    def must(self, *command):
        """True if the command passed; otherwise the leg fails."""
        status, _ = self.run(*command)
        if status:
            self.fail(f"{' '.join(map(str, command))}: exit status {status}")
        return status == 0

    def build(self, preset, *targets, options=()):
        words = ("--target", *targets) if targets else ()
        return (self.must("cmake", "--preset", preset, "--log-level=WARNING", *options)
                and self.must("cmake", "--build", f"build/{preset}", "-j", JOBS, *words))

    def check(self, *command):
        """As must(); counts as a check."""
        passed = self.must(*command)
        self.checked += 1
        return passed

    def test(self, preset, *words):
        self.check("ctest", "--preset", preset, "-j", JOBS, *words)

    def outcome(self):
        if self.failed:
            return "FAILED"
        return f"passed {self.checked} checks" if self.checked else "CHECKED NOTHING in its time"


def asan(leg):
    """programs under sanitizers; all of it: everything with g++ and sanitizers"""
    if not leg.light():
        if leg.build("asan"):
            leg.test("asan")
            leg.say("asan: built everything with the preset asan and ran its tests")
        return
    # `make test` has already built most of the preset.
    if not leg.build("dev", "stowage_test_programs"):
        return
    status, text = leg.run("ctest", "--preset", "dev", "-N", "-LE", "^(unit|fuzz|trace)$",
                           quiet=True)
    names = re.findall(r"Test +#\d+: (\S+)", text)
    if status or not names:
        leg.fail("ctest lists no tests of programs")
        return
    leg.chance.shuffle(names)
    leg.say(f"asan: tests of programs with sanitizers, in this order: {' '.join(names)}")
    for name in names:
        leg.test("dev", "-R", f"^{re.escape(name)}$", "-Q")
        leg.say(f"asan: ran {name}")


def tsan(leg):
    """tests of modules with the thread sanitizer"""
    if not leg.light():
        if leg.build("tsan"):
            leg.test("tsan")
            leg.say("tsan: built everything with the preset tsan and ran its tests")
        return
    modules = list(TSAN_MODULES)
    leg.chance.shuffle(modules)
    leg.say(f"tsan: tests of modules in this order: {' '.join(modules)}")
    for module in modules:
        if leg.build("threads", f"{module}_test"):
            leg.check(f"build/threads/src/{module}/{module}_test", "--gtest_brief=1")
            leg.say(f"tsan: ran {module}_test")


def lint_deep(leg):
    """headers alone and clang-tidy"""
    if not leg.light():
        leg.check("make", "lint-deep")
        leg.say("lint-deep: all headers, and clang-tidy on all of src/")
        return
    if not leg.must("cmake", "--preset", "dev", "--log-level=WARNING"):
        return
    commands = json.loads((ROOT / "build/dev/compile_commands.json").read_text(encoding="utf-8"))
    sources = sorted({entry["file"] for entry in commands
                      if entry["file"].startswith(f"{ROOT}/src/")})
    leg.chance.shuffle(sources)
    done = 0
    try:
        for start in range(0, len(sources), JOBS):
            some = sources[start:start + JOBS]
            leg.check("run-clang-tidy-16", "-quiet", "-j", JOBS, "-p", "build/dev",
                      *(f"^{re.escape(path)}$" for path in some))
            done += len(some)
    finally:
        leg.say(f"lint-deep: clang-tidy on {done} of {len(sources)} sources")


def faults_long(leg):
    """seeds of the fault simulation that no other commit runs"""
    if not leg.build("release", "stowage_faults"):
        return
    first = 1_000_000 + leg.chance.randrange(10**9)
    rounds = 10**9 if leg.light() else 100
    done = 0
    try:
        for _ in range(rounds):
            # Failures are printed and do not fail the leg: see Known in docs/reliability.md.
            leg.run("build/release/tests/faults/stowage_faults", "--seeds", FAULT_SEEDS,
                    "--first", first + done)
            done += FAULT_SEEDS
            leg.checked += 1
    finally:
        leg.say(f"faults-long: {done} seeds from {first}")


def fuzz_long(leg):
    """more time for each fuzzer"""
    if not leg.build("dev", "stowage_fuzz"):
        return
    names = sorted(path.name for path in (ROOT / "fuzz/corpus").iterdir())
    leg.chance.shuffle(names)
    seconds = FUZZ_SECONDS if leg.light() else FUZZ_SECONDS_LONG
    done = []
    try:
        for start in range(0, len(names), JOBS):
            some = names[start:start + JOBS]
            leg.check("make", "fuzz-run", f"FUZZ_SECONDS={seconds}",
                      f"FUZZ_SEED={1 + leg.chance.randrange(2**31 - 1)}",
                      f"FUZZERS={' '.join(some)}")
            done += some
    finally:
        leg.say(f"fuzz-long: {seconds} s each for {len(done)} of {len(names)}: {' '.join(done)}")


def kube_faults(leg):
    """kills on a real control plane"""
    if not leg.build("release", "stowage_program"):
        return
    if not leg.light():
        leg.check("make", "kube-faults")
        leg.say("kube-faults: all cases")
        return
    cases = list(KUBE_CASES)
    leg.chance.shuffle(cases)
    for case in cases:
        leg.check(sys.executable, "tests/kubernetes/faults_test.py", "--rounds", 2, "--pods", 200,
                  "-k", case)
        leg.say(f"kube-faults: ran {case}, 2 rounds, 200 pods")


def node(leg):
    """a kubelet and an agent that are killed while pods come, with each Kubernetes"""
    if not leg.build("release", "stowage_program"):
        return
    if not leg.light():
        for version in KUBE_VERSIONS:
            leg.check("env", f"KUBE_VERSION={version}", "make", "node-test")
            leg.say(f"node: {version}: 1,000 pods, and 50 with containerd")
        return
    seed = leg.chance.randrange(2**31)
    leg.check(sys.executable, "tests/node/agent_storm.py", "--pods", 150, "--seed", seed)
    leg.say(f"node: 150 pods with seed {seed}")


LEGS = {"asan": asan, "tsan": tsan, "lint-deep": lint_deep, "faults-long": faults_long,
        "fuzz-long": fuzz_long, "kube-faults": kube_faults,
        "node": node}


def chosen(commit):
    """The leg of a commit, chosen by its hash: commits have no order for a rotation."""
    digest = hashlib.sha256(commit.encode()).digest()
    return list(LEGS)[int.from_bytes(digest[:8], "big") % len(LEGS)]


def head():
    done = subprocess.run(("git", "-C", str(ROOT), "rev-parse", "HEAD"), capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() or "no commit"


def self_test():
    assert chosen("a") == chosen("a")
    assert {chosen(str(number)) for number in range(100)} == set(LEGS)
    leg = Leg(60, "seed")
    assert leg.run("echo", "x", quiet=True) == (0, "x\n")
    assert leg.outcome().startswith("CHECKED NOTHING")
    assert leg.check("true") and leg.outcome() == "passed 1 checks"
    assert not leg.must("false") and leg.outcome() == "FAILED"
    late = Leg(0.2, "seed")
    begun = time.monotonic()
    try:
        late.run("sleep", "60")
        raise AssertionError("no limit")
    except OutOfTime:
        assert time.monotonic() - begun < 30
    print("matrix: self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("leg", nargs="?", choices=[*LEGS, "auto"])
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", default=None)
    parser.add_argument("--self-test", action="store_true")
    given = parser.parse_args()
    if given.self_test:
        return self_test()
    if not given.leg:
        print("\n".join(f"{name:<12} {run.__doc__}" for name, run in LEGS.items()))
        return 0
    commit = given.seed or head()
    name = chosen(commit) if given.leg == "auto" else given.leg
    leg = Leg(given.seconds, commit)
    print(f"matrix: leg {name} of {commit}"
          + (f", {given.seconds:.0f} s at most" if leg.light() else ", all of it"), flush=True)
    try:
        LEGS[name](leg)
    except OutOfTime:
        leg.say(f"{name}: stopped when its time was over")
    print(f"matrix: leg {name} {leg.outcome()}:")
    print("\n".join(f"  {line}" for line in leg.said))
    return 1 if leg.failed else 0


if __name__ == "__main__":
    sys.exit(main())
