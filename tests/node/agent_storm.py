#!/usr/bin/env python3
"""Pods of all shapes come and go on one node while its kubelet and its agent are killed.

Usage: agent_storm.py [--pods 200] [--seed 1] [--alive 20] [--runtime recorder|containerd]

Every container that the kubelet asks for has to have exactly the cards that were decided for it
(world.py, the judge), and in the end every pod runs, or was refused at admission in a gap while no
plugin was registered: those are counted. Exit code 1 if a container was wrong, or a pod is stuck.
"""
import argparse
import collections
import pathlib
import random
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kubernetes"))

import build  # noqa: E402
from api import ApiError, wait_until  # noqa: E402
from node import container  # noqa: E402
from objects import condition, node_of  # noqa: E402
from world import World, for_init, has_plugin, pod, share, whole  # noqa: E402

NAMESPACE = "storm"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
CALM_S = 180


def limits(rng):
    if rng.random() < 0.15:
        return whole(rng.choice((1, 1, 2)))
    return share(rng.choice((5, 10, 10, 20, 30, 50)), rng.choice((1000, 4000, 8000)))


def shape(rng, name):
    """A pod of one of the shapes that people write."""
    life = {} if rng.random() < 0.7 else {"life": rng.choice((0.2, 1, 3)),
                                          "code": rng.choice((0, 1))}
    containers = [container("main", limits(rng), **life)]
    if rng.random() < 0.3:
        containers.append(container("second", limits(rng)))
    if rng.random() < 0.2:
        containers.append(container("plain"))
    init = []
    if rng.random() < 0.25:
        init.append(container("init-1", for_init(limits(rng), 1), life=0.1))
        if rng.random() < 0.4:
            init.append(container("init-2", for_init(limits(rng), 2), life=0.1))
    if rng.random() < 0.2:
        init.append(container("side", share(5, 1000), restartPolicy="Always"))
    if rng.random() < 0.1:
        containers[0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    policy = "Never" if life and rng.random() < 0.4 else "Always"
    return pod(name, *containers, init=init, restartPolicy=policy)


class Storm:
    def __init__(self, world, rng, alive):
        self.world = world
        self.rng = rng
        self.alive = alive
        self.made = 0
        self.names = collections.OrderedDict()  # of pods that nobody has deleted
        self.done = collections.Counter()
        self.refused = set()
        self.reasons = collections.Counter()

    def pods(self):
        """The pods that nobody has deleted, as the watch has shown them."""
        self.world.decisions.catch_up()
        return [value for value in self.world.decisions.pods.values()
                if self.names.get(value["metadata"]["name"]) == value["metadata"]["uid"]]

    def add(self):
        # Names come again: a later pod of a name is another pod.
        name = f"pod-{self.made % (3 * self.alive)}"
        self.made += 1
        if name in self.names or not self.world.api.gone(f"{PODS}/{name}"):
            return
        self.names[name] = self.world.add(NAMESPACE, shape(self.rng, name))["metadata"]["uid"]
        self.done["pods"] += 1

    def delete(self, value):
        name = value["metadata"]["name"]
        self.names.pop(name, None)
        self.world.delete(f"{PODS}/{name}")
        self.done["deletions"] += 1

    def look(self):
        self.world.judge.look()
        for value in self.pods():
            status = value["status"]
            if status.get("phase") == "Failed" and status.get("reason"):
                if value["metadata"]["uid"] not in self.refused:
                    self.refused.add(value["metadata"]["uid"])
                    self.reasons[status["reason"]] += 1
                self.delete(value)

    def trouble(self):
        world = self.world
        action = self.rng.choice(("kubelet", "agent", "agent", "upgrade", "sockets", "end", "end",
                                  "end", "fail", "both"))
        self.done[action] += 1
        if action in ("kubelet", "both"):
            world.node.kubelet.kill()
        if action in ("agent", "both"):
            world.agent.kill()
        if action == "upgrade":
            world.agent.stop()
        if action == "both":
            time.sleep(self.rng.random())
        if action in ("kubelet", "both"):
            world.node.start_kubelet()
        if action in ("agent", "both", "upgrade"):
            world.agent.start()
        if action == "sockets":
            world.remove_sockets()
        if action == "fail":
            world.node.runtime.fail_next("main", self.rng.choice(("create", "start")), 2)
        if action == "end":
            self.end_one()

    def end_one(self):
        """A container that runs is ended, as by a crash."""
        runtime = self.world.node.runtime
        ended = {event["id"] for event in runtime.events() if event["kind"] == "end"}
        running = [event for event in runtime.events()
                   if event["kind"] == "start" and event["id"] not in ended]
        if running:
            try:
                runtime.end(self.rng.choice(running), 1)
            except AssertionError:
                pass  # it has ended by itself meanwhile

    def run(self, pods, calm):
        trouble_at = time.monotonic() + 2
        while self.done["pods"] < pods:
            self.look()
            now = time.monotonic()
            if now >= trouble_at and not calm:
                self.trouble()
                trouble_at = time.monotonic() + self.rng.uniform(0.2, 2)
            if len(self.names) < self.alive:
                self.add()
            else:
                oldest = [value for value in self.pods() if self.settled(value)]
                if oldest:
                    self.delete(self.rng.choice(oldest))
            time.sleep(0.02)

    @staticmethod
    def settled(value):
        """Whether it has got as far as it will: it runs, or has ended."""
        status = value["status"]
        if status.get("phase") in ("Succeeded", "Failed"):
            return True
        states = status.get("containerStatuses") or []
        return bool(states) and all("running" in one["state"] or one.get("restartCount")
                                    or "terminated" in one["state"] for one in states)

    def stuck(self):
        self.look()
        return [value for value in self.pods() if node_of(value) and not self.settled(value)]

    def calm_down(self):
        """Nothing is killed any more: every bound pod has to get going."""
        def describe():
            lines = []
            for value in self.stuck()[:5]:
                states = value["status"].get("containerStatuses") or []
                lines.append(f"{value['metadata']['name']}: {value['status'].get('phase')} "
                             f"{condition(value, 'Ready').get('message')} "
                             f"{[one['state'] for one in states]}")
            return "; ".join(lines)
        wait_until("all bound pods run", lambda: not self.stuck(), CALM_S, every=0.2,
                   details=describe)


def report(storm, took):
    judge = storm.world.judge
    print(f"node: {storm.done['pods']} pods in {took:.0f} s; {dict(storm.done)}")
    print(f"node: {dict(judge.counts)}; refused at admission: {dict(storm.reasons)}")
    for text, count in judge.errors.most_common(5):
        print(f"node: {count} times: {text}")
    for sentence in judge.wrong[:20]:
        print(f"WRONG {sentence}")
    print(f"{len(judge.wrong)} containers with wrong cards", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--alive", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calm", action="store_true", help="kill nothing")
    parser.add_argument("--runtime", choices=["recorder", "containerd"], default="recorder")
    arguments = parser.parse_args()
    build.end_cleanly_on_signals()
    world = None
    try:
        if not has_plugin():
            raise build.Unavailable("the program under test has no device plugin")
        world = World(arguments.runtime)
        world.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        storm = Storm(world, random.Random(arguments.seed), arguments.alive)
        begin = time.monotonic()
        try:
            storm.run(arguments.pods, arguments.calm)
            storm.calm_down()
        finally:
            report(storm, time.monotonic() - begin)
        world.cluster.keep_logs = bool(world.judge.wrong)
        return 1 if world.judge.wrong else 0
    except build.Unavailable as reason:
        print(f"node: skipped: {reason}")
        return 0
    except (AssertionError, ApiError, build.BuildFailed, FileNotFoundError) as reason:
        print(f"node: {reason}")
        if world:
            world.cluster.keep_logs = True
            print(f"logs: {world.cluster.folder}")
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if world:
            world.close()


if __name__ == "__main__":
    sys.exit(main())
