#!/usr/bin/env python3
"""The controller against a real Kubernetes control plane.

Usage: smoke_test.py [--with kube-scheduler] [-k WORD]...
With kube-scheduler in its place, cases about cards are skipped; the others show that Kubernetes
behaves as they expect. -k runs only the cases whose names have one of the words. README.md names
the variables. The last line counts; exit code 1 if a case failed.
"""
import argparse
import sys
import time
import unittest

import admission
import build
import extender
import extender_life
import extender_volumes
import metrics_api
import operating
import placement
import rights
import robustness
import subject as subjects
import webhook
from case import Case, Lines
from cluster import DEPLOY, Cluster


def run(cluster, words, compares_rights):
    suite = unittest.TestSuite()
    for module in (placement, robustness, operating, admission, extender, extender_life,
                   extender_volumes, metrics_api, webhook):
        for kind in vars(module).values():
            if not isinstance(kind, type) or not issubclass(kind, Case):
                continue
            for test in unittest.defaultTestLoader.loadTestsFromTestCase(kind):
                if not words or any(word in test.id() for word in words):
                    suite.addTest(test)
    if compares_rights:
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(rights.Rights))
    result = Lines()
    suite.run(result)
    # A case with several failed rows is one case.
    failed = result.testsRun - result.passed - len(result.skipped)
    if failed:
        cluster.keep_logs = True
        print(f"logs: {cluster.folder}")
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped", flush=True)
    return 1 if failed or not result.testsRun else 0


def start(cluster, stand_in):
    """The control plane with our manifests applied, and the scheduler under test."""
    begin = time.monotonic()
    cluster.start()
    cluster.kubectl("apply", "--validate=strict", "-f", DEPLOY / "stowage.yaml")
    version = cluster.api.get("/version")["gitVersion"]
    print(f"kube: control plane {version} up in {time.monotonic() - begin:.1f} s", flush=True)
    Case.cluster = cluster
    if stand_in == "kube-scheduler":
        Case.subject = subjects.KubeScheduler(cluster)
    else:
        Case.subject = subjects.Stowage(cluster)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--with", dest="stand_in", choices=["kube-scheduler"])
    parser.add_argument("-k", dest="words", action="append", default=[])
    arguments = parser.parse_args()
    build.end_cleanly_on_signals()
    cluster = None
    try:
        if not arguments.stand_in and not subjects.has_command("controller"):
            print(f"kube: {subjects.program()} has no command 'controller'")
            return 1
        cluster = Cluster(build.binaries())
        start(cluster, arguments.stand_in)
        everything = not arguments.stand_in and not arguments.words
        return run(cluster, arguments.words, compares_rights=everything)
    except build.Unavailable as reason:
        print(f"kube: skipped: {reason}\n0 passed, 0 failed, 1 skipped")
        return 0
    except (build.BuildFailed, FileNotFoundError) as reason:
        print(f"kube: {reason}")
        return 1
    except AssertionError as reason:
        cluster.keep_logs = True
        print(f"kube: the control plane does not start: {reason}\nlogs: {cluster.folder}")
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if cluster:
            cluster.close()


if __name__ == "__main__":
    sys.exit(main())
