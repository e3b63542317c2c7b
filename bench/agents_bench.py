#!/usr/bin/env python3
"""Thousands of agents against one controller: what they cost, and whether pods feel them.

    agents_bench.py STOWAGE AGENTS_LOAD CHURN_LOAD [--agents 5000] [--seconds 120]

Starts `stowage local --no-controller` with a node for each agent, and the controller with its
agent server and the metrics API, over TLS. CHURN_LOAD (stowage_churn_load) creates and deletes
pods, first without agents, then, in a new cluster, with AGENTS_LOAD (stowage_agents_load)
connected. Measured: the time from a change in an agent to a watch of the metrics API, the
controller's memory over time, and waits and decisions of pods with and without agents.

Then one agent with eight cards and fifty pods: its memory and its share of a core.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "cluster"))
from local_cluster import Failed, LocalCluster, wait_until  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "agent"))

ACCOUNT = "system:serviceaccount:kube-system:stowage-agent"


def certificates(folder):
    """(certificate, key) of a server on this machine, self-signed."""
    certificate, key = folder / "tls.crt", folder / "tls.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                    "-out", certificate], check=True, stdin=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return certificate, key


def memory_mib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return round(int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) / 1024, 1)


class Bench:
    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.certificate, self.key = certificates(folder)

    def config(self):
        path = self.folder / "config.yaml"
        path.write_text(f"""apiVersion: stowage.dev/v1alpha1
kind: ControllerConfig
profiles: [{{name: stowage}}]
agents: {{listen: "127.0.0.1:0", certFile: {self.certificate}, keyFile: {self.key}}}
metricsApi: {{enabled: true, apiService: none, caConfigMap: none}}
""", encoding="utf-8")
        return path

    def churn(self, cluster, seconds):
        args = self.args
        return subprocess.Popen(
            [args.churn, str(cluster.kubeconfig), "--live", str(args.live), "--rate",
             str(args.rate), "--seconds", str(seconds)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def door(self, controller):
        log = controller.process.log.read_text(errors="replace")
        return re.search(r"listening for agents listen=(\S+)", log)[1]

    def decisions(self, controller):
        """(count, seconds) of decisions so far."""
        text = controller.get("/metrics")[1]
        return tuple(float(re.search(rf"^stowage_decision_seconds_{part} (\S+)$", text, re.M)[1])
                     for part in ("count", "sum"))

    def run_churn(self, cluster, controller, seconds):
        """The last line of the churn load, and the mean time of a decision meanwhile."""
        churn = self.churn(cluster, seconds)
        before = last = None
        for text in churn.stdout:
            line = json.loads(text)
            before = before or self.decisions(controller)  # the cluster is full by the first line
            if line["of"] == "all":
                last = line
                break
        churn.wait()
        if last is None:
            raise Failed("the churn has failed")
        after = self.decisions(controller)
        mean = (after[1] - before[1]) / max(1, after[0] - before[0]) * 1e6
        return {"p50_ms": last["p50_ms"], "p99_ms": last["p99_ms"], "decision_us": round(mean, 1)}

    def phase(self, with_agents):
        args = self.args
        with LocalCluster(args.program, "--nodes", args.agents, "--gpus", 8) as cluster:
            controller = cluster.controller("controller", "--config", self.config())
            wait_until("the controller is ready", controller.ready, every=0.05)
            if not with_agents:
                return self.run_churn(cluster, controller, args.seconds)
            return self.with_agents(cluster, controller)

    def with_agents(self, cluster, controller):
        args = self.args
        names, tokens = self.folder / "nodes.txt", self.folder / "tokens"
        tokens.mkdir()
        found, token = [], ""
        while True:
            page = cluster.api.get(f"/api/v1/nodes?limit=500&continue={token}")
            found += [each["metadata"]["name"] for each in page["items"]]
            token = page["metadata"].get("continue", "")
            if not token:
                break
        names.write_text("\n".join(found) + "\n", encoding="utf-8")
        pid = controller.process.process.pid
        before = memory_mib(pid)
        pool = concurrent.futures.ThreadPoolExecutor(1)
        load = subprocess.Popen(
            [args.load, "--controller", self.door(controller), "--ca", str(self.certificate),
             "--nodes", str(names), "--folder", str(tokens), "--seconds",
             str(2 * args.seconds + 60)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            text=True)
        try:
            connected = json.loads(load.stdout.readline())
            cpu = controller.process.cpu_seconds()
            churn, samples, last = None, [], None
            started = time.monotonic()
            for text in load.stdout:
                line = json.loads(text)
                if line["of"] == "all":
                    last = line
                    break
                samples.append({**line, "memory_mib": memory_mib(pid)})
                print(f"  {line['seconds']:.0f} s: p99 {line['p99_ms']} ms, "
                      f"{samples[-1]['memory_mib']} MiB", file=sys.stderr, flush=True)
                if len(samples) == 3:  # thirty seconds with agents only, then with pods too
                    quiet = (controller.process.cpu_seconds() - cpu) / (time.monotonic() - started)
                    churn = pool.submit(self.run_churn, cluster, controller, args.seconds)
        finally:
            if load.poll() is None:
                load.kill()
            load.wait()
        if last is None:
            raise Failed(f"the agents have failed; controller:\n{controller.process.tail()}")
        half = len(samples) // 2
        return {"connected_seconds": connected["seconds"], "news": last["told"],
                "p50_ms": last["p50_ms"], "p99_ms": last["p99_ms"], "max_ms": last["max_ms"],
                "never_told": last["waiting"], "streams_failed": last["failed"],
                "reports_per_second": round(last["reports"] / last["seconds"]),
                "kib_per_second": round(last["bytes"] / last["seconds"] / 1024),
                "memory_mib_without_agents": before,
                "memory_mib_first_half": max(each["memory_mib"] for each in samples[:half]),
                "memory_mib_second_half": max(each["memory_mib"] for each in samples[half:]),
                "cores_of_controller_for_agents_alone": round(quiet, 2), "pods": churn.result()}

    def one_agent(self):
        """Memory and CPU of a real agent: eight cards, fifty pods, idle."""
        import kubelet_double
        cards = self.folder / "cards.yaml"
        cards.write_text("count: 8\nmodel: NVIDIA H200\nmemoryMiB: 143771\nnvlinks: 18\ncards:\n"
                         + "".join(f"- {{index: {i}, id: GPU-{i}, utilisation: {10 * i}, "
                                   "memoryUsedMiB: 1000, powerWatts: 300, temperatureC: 40}\n"
                                   for i in range(8)), encoding="utf-8")
        with LocalCluster(self.args.program, "--nodes", 1, "--gpus", 8) as cluster:
            controller = cluster.controller("controller", "--config", self.config())
            wait_until("the controller is ready", controller.ready)
            node = cluster.api.get("/api/v1/nodes")["items"][0]["metadata"]["name"]
            kubelet = kubelet_double.Kubelet(kubelet_double.programs(True) / "kubelet", self.folder)
            kubelet.set([{"namespace": "d", "name": f"p{i}", "ended": False, "containers": [
                {"name": "main", "cpus": [], "devices": [
                    {"resource": "nvidia.com/gpu", "ids": [f"GPU-{i % 8}::{i}"], "numa": [0]}]}]}
                for i in range(50)])
            kubelet.start()
            token = cluster.file("agent.token", f"{ACCOUNT}@{node}")
            agent = cluster.process(
                "agent", self.args.program, "agent", "--node-name", node, "--cards",
                f"fake:{cards}", "--controller", self.door(controller), "--ca-file",
                self.certificate, "--token-file", token, "--podresources", kubelet.socket,
                "--kubeconfig", cluster.kubeconfig, "--listen", "127.0.0.1:0")
            try:
                time.sleep(10)
                agent.require_alive()
                heard = controller.metric('stowage_agents{state="reporting"}')
                cpu, began = agent.cpu_seconds(), time.monotonic()
                time.sleep(self.args.agent_seconds)
                took = agent.cpu_seconds() - cpu
                return {"memory_mib": memory_mib(agent.process.pid),
                        "memory_mib_peak": round(agent.peak_memory_mib(), 1),
                        "percent_of_a_core": round(100 * took / (time.monotonic() - began), 2),
                        "heard": heard}
            finally:
                kubelet.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("load")
    parser.add_argument("churn")
    parser.add_argument("--agents", type=int, default=5000)
    parser.add_argument("--live", type=int, default=30000)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--agent-seconds", type=int, default=60)
    parser.add_argument("--out")
    args = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix=f"stowage-agents-{os.getpid()}-") as folder:
            bench = Bench(args, pathlib.Path(folder))
            print("one agent", file=sys.stderr, flush=True)
            result = {"one_agent": bench.one_agent()}
            print("pods without agents", file=sys.stderr, flush=True)
            result["pods_without_agents"] = bench.phase(False)
            print("pods with agents", file=sys.stderr, flush=True)
            result["agents"] = {"number": args.agents, **bench.phase(True)}
    except Failed as error:
        print(f"agents_bench: {error}", file=sys.stderr)
        return 1
    print(json.dumps(result, indent=1))
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
