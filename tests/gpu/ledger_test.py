#!/usr/bin/env python3
"""The cards of this machine in the ledger, and a policy that goes by their real load.

Usage: ledger_test.py STOWAGE [--burn COMMAND]

Two nodes of a local cluster: one with the real card of this machine, read by an agent through NVML,
and one with a card from a file that is 30 percent busy. A pod of policy `load` goes to the real
card while that is idle; while it is kept busy (--burn, or a small program if nvcc exists) the pod
goes to the other. The ledger's data about the real card is compared with nvidia-smi. Exit status 77
on a machine without a card.
"""
import argparse
import http.client
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import nvidia_smi_test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cluster"))
from local_cluster import GPUS, LocalCluster, pod, wait_until  # noqa: E402

INVENTORY = "stowage.dev/gpu-inventory"
ACCOUNT = "system:serviceaccount:kube-system:stowage-agent"
CONFIG = """apiVersion: stowage.dev/v1alpha1
kind: ControllerConfig
agents: {listen: "127.0.0.1:0"}
profiles:
- {name: by-load, policy: load}
"""


class Machine:
    def __init__(self, cluster, program):
        self.cluster, self.program = cluster, program
        self.controller = cluster.controller("controller", "--config",
                                             cluster.file("config.yaml", CONFIG))
        wait_until("the controller is ready", self.controller.ready)
        names = [each["metadata"]["name"] for each in cluster.api.get("/api/v1/nodes")["items"]]
        self.real, self.other = sorted(names)
        self.agents = {}

    def agent(self, node, cards):
        door = re.search(r"listening for agents listen=(\S+)",
                         self.controller.process.log.read_text(errors="replace"))[1]
        token = self.cluster.file(f"{node}.token", f"{ACCOUNT}@{node}")
        self.agents[node] = self.cluster.process(
            f"agent-{node}", self.program, "agent", "--node-name", node, "--cards", cards,
            "--controller", door, "--token-file", token, "--podresources", "", "--kubeconfig",
            self.cluster.kubeconfig, "--listen", "127.0.0.1:0")

    def inventory(self, node):
        found = self.cluster.api.get(f"/api/v1/nodes/{node}")["metadata"].get("annotations", {})
        return json.loads(found.get(INVENTORY, "{}")).get("cards", [])

    def metrics(self, node):
        """Samples of the agent's own metrics, by name and card."""
        log = self.agents[node].log.read_text(errors="replace")
        host, port = re.search(r"starting .*listen=([\d.]+):(\d+)", log).groups()
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return {(name, card): float(value) for name, card, value in
                re.findall(r'^(\w+)\{card="([^"]+)"\} (\S+)$', text, re.M)}

    def place(self, name):
        """(node, id of the card) of a pod that wants a tenth of a card."""
        api = self.cluster.api
        api.create_all("/api/v1/namespaces/default/pods",
                       [pod(name, {"stowage.dev/gpu-core": "10", "stowage.dev/gpu-memory": "64"},
                            "by-load")])
        path = f"/api/v1/namespaces/default/pods/{name}"
        node = wait_until(f"{name} has a node", lambda: api.get(path)["spec"].get("nodeName"))
        answer = json.loads(api.get(path)["metadata"]["annotations"][GPUS])
        api.request("DELETE", path)
        return node, answer["containers"]["main"][0]["id"]


def smi_cards():
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=uuid,name,memory.total",
                               "--format=csv,noheader,nounits"], check=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [tuple(part.strip() for part in line.split(",")) for line in done.stdout.splitlines()]


def check(what, good, found):
    print(f"{'ok   ' if good else 'WRONG'} {what}: {found}", flush=True)
    return good


def run(args, cards, folder):
    with LocalCluster(args.program, "--nodes", "2", "--gpus", str(len(cards))) as cluster:
        machine = Machine(cluster, args.program)
        fake = "".join(f"- {{index: {i}, utilisation: 30, memoryUsedMiB: 100}}\n"
                       for i in range(len(cards)))
        path = cluster.file("fake.yaml", f"model: {cards[0][1]}\nmemoryMiB: {cards[0][2]}\n"
                            f"cards:\n{fake}")
        machine.agent(machine.real, "nvml")
        machine.agent(machine.other, f"fake:{path}")
        wait_until("both are heard",
                   lambda: machine.controller.metric('stowage_agents{state="reporting"}') == 2)
        wait_until("the nodes say what they have",
                   lambda: machine.inventory(machine.real) and machine.inventory(machine.other))
        good = True
        told = [(each["id"], each["model"]) for each in machine.inventory(machine.real)]
        good &= check("the node has nvidia-smi's cards", told == [card[:2] for card in cards], told)
        wait_until("the ledger has them", lambda: machine.controller.metric(
            f'stowage_cards_measured{{model="{cards[0][1]}"}}') == 2 * len(cards), timeout=30)
        time.sleep(2)
        node, card = machine.place("at-rest")
        good &= check("at rest the pod goes to the real card",
                      node == machine.real and card in [each[0] for each in cards], (node, card))
        burn = nvidia_smi_test.start_burn(args, folder)
        if burn is None:
            return 0 if good else 1
        try:
            name = ("stowage_agent_card_utilization_ratio", cards[0][0])
            busy = wait_until("the card is busy",
                              lambda: machine.metrics(machine.real).get(name, 0) > 0.9, timeout=60)
            good &= check("the agent sees the load", busy, machine.metrics(machine.real)[name])
            time.sleep(3)  # reported with the next beats
            node, _ = machine.place("under-load")
            good &= check("under load the pod goes to the other node", node == machine.other, node)
        finally:
            burn.kill()
            burn.wait()
        wait_until("the card is idle again",
                   lambda: machine.metrics(machine.real)[name] < 0.1, timeout=60)
        time.sleep(3)
        node, _ = machine.place("afterwards")
        good &= check("afterwards it goes to the real card again", node == machine.real, node)
        told = machine.metrics(machine.real)[("stowage_agent_card_memory_bytes", cards[0][0])]
        good &= check("memory of the card, MiB", told / 2**20 == float(cards[0][2]), told / 2**20)
        return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--burn")
    args = parser.parse_args()
    cards = smi_cards()
    if not cards:
        print("skipped: nvidia-smi shows no card")
        return nvidia_smi_test.SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        return run(args, cards, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
