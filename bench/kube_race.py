#!/usr/bin/env python3
"""The race: how fast pods get a node on a real Kubernetes control plane, by whom.

    kube_race.py STOWAGE LOAD [--nodes 1000,5000] [--pods 5000] [--only NAME,...] [--repeat 1]

Every contestant has a fresh control plane (etcd on tmpfs, kube-apiserver) on this machine, with
nodes of 8 cards and waiting pods of one card. STOWAGE and LOAD are the programs stowage and
stowage_kube_load. KUBE_VERSION picks another Kubernetes.

  ceiling         no scheduler: bindings are sent as fast as the API server takes them
  ceiling-events  the same, with a Scheduled event for each pod and one watch of pods open
  kube-scheduler  without client-side limits, and with its default number of nodes to score
  extender        the same with our extender, with the configuration in deploy/extender
  extender-bind   the same in mode bind: filter answers all nodes, prioritize scores them
  stowage         the standalone scheduler

Drain: the pods exist, then the scheduler starts; pods/s is counted from the first binding to the
last. Flow: afterwards pods come at a fixed rate; measured is the time from the reply to the
creation until a watch shows that the pod has a node. That watch of bound pods is open in every
drain and flow, in the encoding of the scheduler's own watch, so that the server encodes nothing
for it alone.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import statistics
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests" / "kubernetes"))
import build  # noqa: E402
from kube_race_field import Field  # noqa: E402
from kube_race_table import table  # noqa: E402

CONTESTANTS = ("ceiling", "ceiling-events", "kube-scheduler", "extender", "extender-bind",
               "stowage")
CLIENTS = (16, 32, 64)  # numbers of bindings in flight that the ceiling tries


def say(text):
    print(f"race: {text}", flush=True)


def ceiling(field, pods, *flags):
    """Bindings without a scheduler; the best number in flight counts."""
    tries = []
    for clients in CLIENTS:
        prefix = f"raw{clients}"
        field.create_pods(prefix, pods, "nobody")
        before = field.usage()
        figures = field.load("bind", "--prefix", prefix, "--count", pods, "--nodes", field.nodes,
                             "--clients", clients, *flags, user="binder")
        tries.append({**figures, "usage": field.usage(before)})
        say(f"  {clients} in flight: {figures['per_second']:.0f} pods/s")
        field.remove_pods()
    best = max(tries, key=lambda each: each["per_second"])
    return {"per_second": best["per_second"], "usage": best["usage"], "tries": tries}


def race(field, scheduler, pods, flow_pods, rate):
    """Drain and flow of one scheduler."""
    field.create_pods("drain", pods, scheduler.profile)
    scheduler.prepare()
    observer = field.observe("drain", pods, scheduler.encoding)
    before = field.usage()
    started = time.monotonic()
    scheduler.start()
    drain = observer.figures()
    result = {"per_second": drain["per_second"], "start_to_last_s": drain["last"] - started,
              "first_s": drain["first"] - started, "watch_reopened": drain["watch_reopened"],
              "usage": field.usage(before)}
    say(f"  drain: {drain['per_second']:.0f} pods/s, the first after {result['first_s']:.2f} s")
    events, seconds = field.settled_events(pods)
    result["events"] = events
    result["events_s"] = seconds
    say(f"  {events} events for {pods} pods, {seconds:.1f} s after the last binding")
    result["flow"] = field.load("flow", "--prefix", "flow", "--count", flow_pods, "--rate", rate,
                                "--scheduler", scheduler.profile, "--watch", scheduler.encoding)
    say(f"  flow at {rate}/s: p50 {result['flow']['p50_ms']:.1f} ms, "
        f"p99 {result['flow']['p99_ms']:.1f} ms")
    result["usage_end"] = field.usage()
    return result


def contest(name, nodes, args):
    with contextlib.closing(Field(args, nodes)) as field:
        version = field.version()
        field.warm_up(args.pods)
        if name == "ceiling":
            result = ceiling(field, args.pods)
        elif name == "ceiling-events":
            result = ceiling(field, args.pods, "--events", "--watch", "json")
        else:
            result = race(field, field.scheduler(name), args.pods, args.flow_pods, args.rate)
    return version, result


def median_run(runs):
    """The run with the median pods/s; keeps the rates of all runs."""
    rates = [run["per_second"] for run in runs]
    middle = min(runs, key=lambda run: abs(run["per_second"] - statistics.median(rates)))
    return {**middle, "all_per_second": rates}


def machine():
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return {"cpu": model, "cores": os.cpu_count(), "memory_gib": memory}


def take_priority(nice):
    """For this process and its children, also if the system shares CPU time by session."""
    with contextlib.suppress(PermissionError):  # it already leads its own group
        os.setsid()
    with contextlib.suppress(FileNotFoundError):
        pathlib.Path("/proc/self/autogroup").write_text(str(nice), encoding="utf-8")
    os.nice(nice)


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stowage", help="the program stowage")
    parser.add_argument("load", help="the program stowage_kube_load")
    parser.add_argument("--nodes", default="1000,5000", help="sizes, separated by commas")
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--flow-pods", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=100, help="pods per second in the flow")
    parser.add_argument("--only", default=",".join(CONTESTANTS), help="contestants, with commas")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--out", help="default: bench/results/kube_race-<version>.json")
    parser.add_argument("--nice", type=int, default=0,
                        help="of all that is measured; below 0 where others use the machine")
    parser.add_argument("--keep-logs", action="store_true")
    args = parser.parse_args()
    args.stowage, args.load = (str(pathlib.Path(path).resolve())
                               for path in (args.stowage, args.load))
    args.sizes = [int(size) for size in args.nodes.split(",")]
    args.names = args.only.split(",")
    unknown = set(args.names) - set(CONTESTANTS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(CONTESTANTS)}")
    return args


def main():
    build.end_cleanly_on_signals()
    args = options()
    try:
        args.binaries = build.binaries()
    except build.Unavailable as reason:
        print(f"kube-bench: skipped: {reason}")
        return 0
    if args.nice:
        take_priority(args.nice)
    results = {"machine": machine(), "date": datetime.date.today().isoformat(),
               "command": " ".join(["bench/kube_race.py", *sys.argv[1:]]), "pods": args.pods,
               "flow_pods": args.flow_pods, "rate": args.rate, "sizes": {}}
    for nodes in args.sizes:
        # In rounds, so that a slow hour of the machine affects all contestants.
        runs = {name: [] for name in args.names}
        for number in range(args.repeat):
            for name in args.names:
                say(f"{name}, {nodes} nodes, {args.pods} pods, run {number + 1} of {args.repeat}")
                results["version"], run = contest(name, nodes, args)
                runs[name].append(run)
                results["sizes"].setdefault(str(nodes), {})[name] = median_run(runs[name])
                save(results, args.out)
    print(table(results))
    say(f"saved as {save(results, args.out)}")
    return 0


def save(results, out):
    path = pathlib.Path(out) if out else (
        REPOSITORY / "bench" / "results" / f"kube_race-{results['version']}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (AssertionError, build.BuildFailed) as failed:
        sys.exit(f"kube_race: {failed}")
    except KeyboardInterrupt:
        sys.exit(130)
