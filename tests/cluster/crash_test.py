#!/usr/bin/env python3
"""The controller is killed twice while it binds: all pods are placed, none twice.

crash_test.py STOWAGE [PODS]
"""
import sys
import time

from local_cluster import (SHORT_LEASE, Failed, LocalCluster, Watch, mixed_pods, overcommitted,
                           wait_until)


def check(program, count):
    nodes = max(4, count // 5)
    with LocalCluster(program, "--nodes", str(nodes), "--gpus", "8") as cluster:
        watch = Watch(cluster.port)
        config = cluster.file("config.yaml", SHORT_LEASE)
        cluster.api.create_all("/api/v1/namespaces/default/pods", mixed_pods(count))
        bound = 0
        for number, share in enumerate((0.25, 0.6)):
            controller = cluster.controller(f"controller-{number}", "--config", config)
            wanted = int(count * share) - bound
            wait_until(f"{wanted} binds", lambda: controller.bound() >= wanted, every=0.001)
            controller.process.kill()
            time.sleep(0.2)
            bound = sum(1 for states in watch.states.values() if states[-1][0])
            print(f"killed with {bound} of {count} bound", flush=True)
            if bound == count:
                raise Failed("it was killed too late to show anything")
        last = cluster.controller("controller-last", "--config", config)
        placed = lambda: sum(1 for states in watch.states.values() if states[-1][0]) == count
        wait_until("all pods are bound", lambda: last.process.require_alive() and placed(), 120)
        if watch.failure:
            raise Failed(f"the watch failed: {watch.failure}")
        for uid, states in watch.states.items():
            if sum(1 for state in states if state[0]) != 1:
                raise Failed(f"pod {uid} went through {states}")
        problems = overcommitted(cluster.api.pods())
        if problems:
            raise Failed("; ".join(problems[:5]))
        if last.process.stop() != 0:
            raise Failed(f"the controller did not end well:\n{last.process.tail()}")


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    try:
        check(program, count)
    except Failed as error:
        print(f"FAIL  {error}")
        print("0 passed, 1 failed")
        return 1
    print(f"all {count} pods are bound, each once, no card twice")
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
