#!/usr/bin/env python3
"""A large cluster with pods that come and go, for a long time.

    scale_bench.py STOWAGE CHURN [--nodes 10000] [--live 100000] [--rate 500] [--minutes 30]

Starts `stowage local --no-controller`, the controller beside it, and CHURN (stowage_churn_load),
which fills the cluster and then creates and deletes pods at a fixed rate. Measured: memory of the
controller every ten seconds, the longest turns of its two threads in CPU time (everything else on
that thread waits meanwhile), and how long pods wait from the reply to their creation until a watch
shows their node: an upper bound for how far the ledger is behind the API.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "cluster"))
from local_cluster import Failed, LocalCluster, wait_until  # noqa: E402

PAUSES = ("stowage_engine_longest_event_seconds", "stowage_loop_longest_turn_seconds")
# The metric covers the last one or two minutes: after this time, the filling no longer counts.
SETTLED_S = 130


def memory_mib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) / 1024


def sample(controller, line):
    text = controller.get("/metrics")[1]
    pauses = {name: float(re.search(rf"^{name} (\S+)$", text, re.M)[1]) for name in PAUSES}
    return {"seconds": line["seconds"], "p50_ms": line["p50_ms"], "p99_ms": line["p99_ms"],
            "max_ms": line["max_ms"], "waiting": line["waiting"],
            "memory_mib": round(memory_mib(controller.process.process.pid), 1),
            "engine_pause_ms": round(pauses[PAUSES[0]] * 1e3, 3),
            "loop_pause_ms": round(pauses[PAUSES[1]] * 1e3, 3)}


def measure(args):
    with LocalCluster(args.program, "--nodes", args.nodes, "--gpus", 8) as cluster:
        controller = cluster.controller()
        wait_until("the controller is ready", controller.ready, every=0.05)
        churn = subprocess.Popen(
            [args.churn, str(cluster.kubeconfig), "--live", str(args.live), "--rate",
             str(args.rate), "--seconds", str(round(args.minutes * 60))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        samples, last = [], None
        started = time.monotonic()
        try:
            for text in churn.stdout:
                line = json.loads(text)
                if line["of"] == "all":
                    last = line
                    break
                samples.append(sample(controller, line))
                print(" ".join(f"{key} {value}" for key, value in samples[-1].items()), flush=True)
        finally:
            if churn.poll() is None and last is None:
                churn.kill()
            churn.wait()
        if last is None:
            raise Failed(f"the load has failed; controller:\n{controller.process.tail()}")
        settled = [each for each in samples if each["seconds"] >= SETTLED_S] or samples
        half = len(settled) // 2
        return {"nodes": args.nodes, "live_pods": args.live, "rate": args.rate,
                "minutes": args.minutes, "pods_bound": last["bound"],
                "never_bound": last["waiting"],
                "p50_ms": last["p50_ms"], "p99_ms": last["p99_ms"], "p999_ms": last["p999_ms"],
                "max_ms": last["max_ms"],
                "memory_mib_first_half": max(e["memory_mib"] for e in settled[:half or 1]),
                "memory_mib_second_half": max(e["memory_mib"] for e in settled[half:]),
                "memory_mib_peak": round(controller.process.peak_memory_mib(), 1),
                "engine_pause_ms": max(e["engine_pause_ms"] for e in settled),
                "loop_pause_ms": max(e["loop_pause_ms"] for e in settled),
                "controller_cpu_seconds": round(controller.process.cpu_seconds(), 1),
                "wall_seconds": round(time.monotonic() - started), "samples": samples}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("churn")
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--live", type=int, default=100000)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--out")
    args = parser.parse_args()
    try:
        result = measure(args)
    except Failed as error:
        print(f"scale_bench: {error}", file=sys.stderr)
        return 1
    for key, value in result.items():
        if key != "samples":
            print(f"{key:<24} {value}")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
