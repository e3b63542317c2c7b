#!/usr/bin/env python3
"""The controller on a large local cluster, over real sockets.

    cluster_bench.py STOWAGE [--nodes 5000] [--pods 20000] [--out FILE]

Starts `stowage local --no-controller`, creates the pods, then starts the controller and measures,
from outside: how soon it is ready, how fast the waiting pods are bound, its peak memory and its
CPU time. API server, kubelets and controller share the machine.
"""
import argparse
import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "cluster"))
from local_cluster import Failed, LocalCluster, mixed_pods, wait_until  # noqa: E402


def measure(program, nodes, pods):
    flags = ("--nodes", str(nodes), "--gpus", "8")
    start = time.monotonic()
    with LocalCluster(program, *flags) as cluster:
        print(f"local cluster of {nodes} nodes up in {time.monotonic() - start:.1f} s", flush=True)
        start = time.monotonic()
        cluster.api.create_all("/api/v1/namespaces/default/pods", mixed_pods(pods))
        seconds = time.monotonic() - start
        print(f"{pods} pods created in {seconds:.1f} s ({pods / seconds:.0f}/s)", flush=True)

        local_before = cluster.local.cpu_seconds()
        start = time.monotonic()
        controller = cluster.controller()
        wait_until("the controller is ready", controller.ready, every=0.005)
        ready = time.monotonic()
        shown = ready
        while (bound := controller.bound()) < pods:
            now = time.monotonic()
            if now - ready > 300:
                raise Failed(f"only {bound} of {pods} pods were bound in 300 s:\n"
                             f"{controller.process.tail()}")
            if now - shown > 2:
                print(f"  {bound} bound", flush=True)
                shown = now
            time.sleep(0.01)
        end = time.monotonic()
        return {"nodes": nodes, "cards_per_node": 8, "pods": pods,
                "ready_seconds": round(ready - start, 3),
                "pods_per_second": round(pods / (end - ready)),
                "controller_peak_mib": round(controller.process.peak_memory_mib(), 1),
                "controller_cpu_seconds": round(controller.process.cpu_seconds(), 2),
                "local_cpu_seconds": round(cluster.local.cpu_seconds() - local_before, 2),
                "local_peak_mib": round(cluster.local.peak_memory_mib(), 1),
                "cores": os.cpu_count()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20000)
    parser.add_argument("--out")
    args = parser.parse_args()
    try:
        result = measure(args.program, args.nodes, args.pods)
    except Failed as error:
        print(f"cluster_bench: {error}", file=sys.stderr)
        return 1
    width = max(map(len, result))
    for key, value in result.items():
        print(f"{key:<{width}}  {value}")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
