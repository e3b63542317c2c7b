#!/usr/bin/env python3
"""Stowage judged against the real kube-scheduler: the same pods on the same objects.

Usage: conformance_test.py [-v] [-k WORD]... [--seeds N] [--seed N]
                           [--only kube-scheduler | --with kube-scheduler]
Stowage must agree with kube-scheduler on whether a pod is schedulable, and its node must be one
that kube-scheduler's filters allow. First the cases of the tables, then preemption, then random
ones: --seeds N of them (STOWAGE_CONFORMANCE_SEEDS, 500), or --seed N, that one and those of the
same cluster before it. -k runs only the cases whose names have one of the words, -v prints every
verdict. With --only, only kube-scheduler is asked, to check the cases; with --with, another
kube-scheduler replaces Stowage, to check the test.
README.md names the variables. The last line counts; exit code 1 on any disagreement.
"""
import argparse
import os
import sys
import time

import build
import conformance_hosts
import conformance_pods
import conformance_preemption
import conformance_volumes
import generator
import subject as subjects
from cluster import DEPLOY, Cluster
from conformance_judges import Pods, Reference, StandIn, Stowage
from conformance_world import World
from conformance_court import Court

TABLES = (conformance_hosts, conformance_pods, conformance_volumes)
SAY_EVERY_S = 10


class Report:
    """Counts, prints failures, and a progress line from time to time."""

    def __init__(self, total):
        self.total = total
        self.done = 0
        self.wrong = []
        self.begin = self.said = time.monotonic()

    def take(self, name, trouble):
        self.done += 1
        if trouble:
            self.wrong.append(name)
            print(f"FAIL  {name}\n      " + trouble.replace("\n", "\n      "), flush=True)
        now = time.monotonic()
        if now - self.said >= SAY_EVERY_S:
            self.said = now
            print(f"kube: {self.done} of {self.total} cases, {len(self.wrong)} wrong, "
                  f"{now - self.begin:.0f} s", flush=True)


def chosen(name, words):
    return not words or any(word in name for word in words)


def run(court, arguments):
    """Runs everything that was requested. True if all cases passed."""
    words = arguments.words
    court.verbose = arguments.verbose
    one = arguments.seed is not None
    rows = [row for table in TABLES for row in table.rows() if chosen(row.name, words) and not one]
    preemption = [row for row in conformance_preemption.ROWS
                  if chosen(row.name, words) and not one]
    seeds = range(0 if words and "seed" not in words else arguments.seeds)
    if one:
        seeds = range(generator.first_of_cluster(arguments.seed), arguments.seed + 1)
    report = Report(len(rows) + len(preemption) + len(seeds))
    for row in rows:
        report.take(row.name, court.judge(row))
    for row in preemption:
        report.take(row.name, conformance_preemption.judge(court, row))
    generator.run(court, seeds, report.take)
    took = time.monotonic() - report.begin
    print(f"conformance: {report.done} cases ({len(rows)} of tables, {len(preemption)} of "
          f"preemption, {len(seeds)} random), {len(report.wrong)} wrong, {court.again} asked "
          f"again, {court.fitting} of {court.asked} pods schedulable, {took:.0f} s", flush=True)
    return report.done > 0 and not report.wrong


def start(cluster, alone, stand_in):
    cluster.start()
    cluster.kubectl("apply", "--validate=strict", "-f", DEPLOY / "stowage.yaml")
    version = cluster.api.get("/version")["gitVersion"]
    print(f"kube: control plane {version}, program {subjects.program()}", flush=True)
    pods = Pods(cluster.api)
    judges = [Reference(cluster, pods)]
    if not alone:
        judges.append((StandIn if stand_in else Stowage)(cluster, pods))
    return Court(World(cluster.api), pods, judges)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", dest="words", action="append", default=[])
    parser.add_argument("--seeds", type=int,
                        default=int(os.environ.get("STOWAGE_CONFORMANCE_SEEDS") or 500))
    parser.add_argument("--seed", type=int)
    parser.add_argument("-v", dest="verbose", action="store_true", help="all verdicts")
    parser.add_argument("--only", choices=["kube-scheduler"])
    parser.add_argument("--with", dest="stand_in", choices=["kube-scheduler"])
    arguments = parser.parse_args()
    build.end_cleanly_on_signals()
    cluster = None
    try:
        cluster = Cluster(build.binaries())
        if not cluster.has("kube-scheduler"):
            raise build.Unavailable("there is no kube-scheduler to compare with")
        well = run(start(cluster, arguments.only, arguments.stand_in), arguments)
        if not well:
            cluster.keep_logs = True
            print(f"logs: {cluster.folder}")
        return 0 if well else 1
    except build.Unavailable as reason:
        print(f"kube: skipped: {reason}")
        return 0
    except (build.BuildFailed, FileNotFoundError) as reason:
        print(f"kube: {reason}")
        return 1
    except AssertionError as reason:
        cluster.keep_logs = True
        print(f"kube: {reason}\nlogs: {cluster.folder}")
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if cluster:
            cluster.close()


if __name__ == "__main__":
    sys.exit(main())
