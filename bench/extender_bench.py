#!/usr/bin/env python3
"""The extender under load, over real sockets.

    extender_bench.py STOWAGE LOAD [--rounds 20000] [--clients 200] [--quick] [--out FILE]

STOWAGE is the program, LOAD the program stowage_extender_load. Three runs on local clusters of
8 cards per node: many clients that filter, score and bind; one client with the names of 5,000
nodes; one client with 1,000 full nodes in bodies of 12 MB. After the first run the shares of
every card are summed up from the pods: nothing may be given twice.
"""
import argparse
import collections
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "cluster"))
from local_cluster import Failed, LocalCluster, wait_until  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pod(number, percent):
    amounts = {"stowage.dev/gpu-core": str(percent)}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"load-{number}", "namespace": "default"},
            "spec": {"schedulerName": "elsewhere",
                     "containers": [{"name": "main", "image": "x",
                                     "resources": {"limits": amounts, "requests": amounts}}]}}


def check_cards(api, pods):
    """Sums up what every card was given; fails if that is more than the card has."""
    used = collections.Counter()
    bound = 0
    for item in api.get(PODS)["items"]:
        text = item["metadata"].get("annotations", {}).get("stowage.dev/gpus")
        if "nodeName" not in item["spec"]:
            continue
        bound += 1
        for cards in json.loads(text)["containers"].values():
            for card in cards:
                used[item["spec"]["nodeName"], card["id"]] += card["milli"]
    over = {card: milli for card, milli in used.items() if milli > 1000}
    if over:
        raise Failed(f"{len(over)} cards were given twice, e.g. {list(over.items())[:3]}")
    if bound != pods:
        raise Failed(f"{bound} of {pods} pods are bound")
    return len(used)


def run(program, load, *, nodes, pods, clients, percent=25, flags=(), bind=True):
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        config = os.path.join(folder, "config.yaml")
        pathlib.Path(config).write_text(
            f"listen: 127.0.0.1:0\nextenders:\n- preset: stowage\n  listen: 127.0.0.1:{port}\n")
        with LocalCluster(program, "--nodes", str(nodes), "--gpus", "8") as cluster:
            controller = cluster.controller("controller", "--config", config)
            wait_until("the controller is ready", controller.ready, every=0.05)
            cluster.api.create_all(PODS, [pod(n, percent) for n in range(pods)])
            by_name = {item["metadata"]["name"]: item["metadata"]["uid"]
                       for item in cluster.api.get(PODS)["items"]}
            uids = os.path.join(folder, "uids")
            pathlib.Path(uids).write_text(
                "".join(by_name[f"load-{n}"] + "\n" for n in range(pods)))
            before = controller.process.peak_memory_mib()
            cpu = controller.process.cpu_seconds()
            command = [load, f"http://127.0.0.1:{port}", "--uids", uids, "--nodes", str(nodes),
                       "--clients", str(clients), "--percent", str(percent), *flags]
            result = subprocess.run(command, capture_output=True, text=True, timeout=1200)
            if result.returncode != 0:
                raise Failed(f"{' '.join(command)}:\n{result.stderr}")
            figures = json.loads(result.stdout)
            if bind:
                figures["cards_used"] = check_cards(cluster.api, pods)
            figures.update(nodes=nodes, clients=clients, memory_before_mib=round(before, 1),
                           controller_peak_mib=round(controller.process.peak_memory_mib(), 1),
                           controller_cpu_seconds=round(controller.process.cpu_seconds() - cpu, 2))
            return figures


def show(title, figures):
    print(f"\n{title}: {figures['rounds']} rounds in {figures['seconds']:.1f} s, "
          f"{figures['retries']} tried again, {figures['bind_refusals']} binds refused, "
          f"{figures['unplaced']} not placed; controller {figures['controller_peak_mib']} MiB, "
          f"{figures['controller_cpu_seconds']} s of CPU")
    for verb in ("filter", "prioritize", "bind"):
        if verb in figures:
            each = figures[verb]
            print(f"  {verb:<11}{each['calls']:>8} calls   p50 {each['p50_us'] / 1000:8.2f} ms   "
                  f"p99 {each['p99_us'] / 1000:8.2f} ms   longest {each['max_us'] / 1000:8.2f} ms",
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("load")
    parser.add_argument("--rounds", type=int, default=20000)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="the first run alone, and a small one")
    parser.add_argument("--out")
    args = parser.parse_args()
    results = {"cores": os.cpu_count(), "at": time.strftime("%Y-%m-%d")}
    if args.quick:
        results["parallel"] = run(args.program, args.load, nodes=100, pods=1000, clients=50)
        show("50 clients, 100 nodes", results["parallel"])
    else:
        results["parallel"] = run(args.program, args.load, nodes=1000, pods=args.rounds,
                                  clients=args.clients)
        show(f"{args.clients} clients, 1,000 nodes, names", results["parallel"])
        results["names"] = run(args.program, args.load, nodes=5000, pods=1000, clients=1)
        show("one client, 5,000 nodes, names", results["names"])
        results["full"] = run(args.program, args.load, nodes=1000, pods=100, clients=1,
                              flags=("--full", "12000"))
        show("one client, 1,000 full nodes of 12 KB", results["full"])
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"extender_bench: {failed}")
