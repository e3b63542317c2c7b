"""A local cluster and a controller, as processes, for tests and benchmarks.

Standard library only. Everything is on loopback, on ports that the programs choose.
"""
import contextlib
import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

GPUS = "stowage.dev/gpus"
# For tests that kill a controller: the next one need not wait long.
SHORT_LEASE = "leaderElection: {leaseDuration: 2s, renewDeadline: 1500ms, retryPeriod: 500ms}\n"


class Failed(Exception):
    pass


def wait_until(what, check, timeout=60.0, every=0.02):
    """The first true value of check(); raises Failed with the last value after the timeout."""
    end = time.monotonic() + timeout
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"not within {timeout:.0f} s: {what}; last: {value!r}")
        time.sleep(every)


class Process:
    def __init__(self, folder, name, *command):
        self.log = pathlib.Path(folder) / f"{name}.log"
        self.output = open(self.log, "ab")  # closed by close()
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                                        stdout=self.output, stderr=self.output)

    def alive(self):
        return self.process.poll() is None

    def tail(self, lines=20):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def require_alive(self):
        if not self.alive():
            raise Failed(f"{self.log.stem} ended with {self.process.returncode}:\n{self.tail()}")
        return True

    def peak_memory_mib(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"VmHWM:\s+(\d+) kB", text)[1]) / 1024

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        fields = fields.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, timeout=20):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def close(self):
        if self.alive():
            self.kill()
        self.output.close()


class Api:
    """Calls an API server over one kept connection. Not thread-safe."""

    def __init__(self, port):
        self.port = port
        self.connection = None

    def request(self, method, path, body=None, content_type="application/json"):
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                data = None if body is None else json.dumps(body)
                self.connection.request(method, path, data, {"Content-Type": content_type})
                answer = self.connection.getresponse()
                text = answer.read()
                return answer.status, json.loads(text) if text.startswith(b"{") else text
            except (http.client.HTTPException, OSError):
                self.connection = None
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def close(self):
        if self.connection is not None:
            self.connection.close()

    def get(self, path):
        status, value = self.request("GET", path)
        if status != 200:
            raise Failed(f"GET {path}: {status} {value}")
        return value

    def pods(self):
        """All pods of all namespaces, in pages."""
        found, token = [], ""
        while True:
            page = self.get(f"/api/v1/pods?limit=500&continue={token}")
            found += page["items"]
            token = page["metadata"].get("continue", "")
            if not token:
                return found

    def create_all(self, path, objects, batch=64):
        """Creates many objects fast: requests are sent in batches over one connection."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            reader = connection.makefile("rb")
            for start in range(0, len(objects), batch):
                part = objects[start:start + batch]
                text = b""
                for value in part:
                    body = json.dumps(value).encode()
                    text += (f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
                             f"Content-Type: application/json\r\n"
                             f"Content-Length: {len(body)}\r\n\r\n").encode() + body
                connection.sendall(text)
                for _ in part:
                    self.expect_created(reader)

    @staticmethod
    def expect_created(reader):
        status = int(reader.readline().split()[1])
        length = 0
        while True:
            line = reader.readline().strip().lower()
            if not line:
                break
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = reader.read(length)
        if status != 201:
            raise Failed(f"creating an object: {status} {body.decode(errors='replace')}")


class Watch(threading.Thread):
    """Watches all pods; records every pair (node, cards) that a pod has had."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.states = {}
        self.failure = None
        self.start()

    def run(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
            connection.request("GET", "/api/v1/pods?watch=1&resourceVersion=0")
            answer = connection.getresponse()
            for line in answer:
                event = json.loads(line)
                if event["type"] not in ("ADDED", "MODIFIED"):
                    continue
                pod = event["object"]
                state = (pod["spec"].get("nodeName", ""),
                         pod["metadata"].get("annotations", {}).get(GPUS, ""))
                seen = self.states.setdefault(pod["metadata"]["uid"], [])
                if not seen or seen[-1] != state:
                    seen.append(state)
        except Exception as error:  # pylint: disable=broad-except
            self.failure = error


class LocalCluster:
    """`stowage local --no-controller` in its own folder."""

    def __init__(self, program, *flags):
        self.program = program
        self.stack = contextlib.ExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(
            tempfile.TemporaryDirectory(prefix="stowage-cluster-")))
        self.kubeconfig = self.folder / "kubeconfig"
        try:
            self.local = self.process("local", program, "local", "--no-controller", "--port", "0",
                                      "--kubeconfig", self.kubeconfig, *flags)
            wait_until("the local cluster has written its kubeconfig",
                       lambda: self.local.require_alive() and self.kubeconfig.exists())
            text = self.kubeconfig.read_text(encoding="utf-8")
            self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", text)[1])
            self.api = Api(self.port)
            wait_until("the local cluster answers",
                       lambda: self.api.request("GET", "/readyz")[0] == 200)
            self.stack.callback(self.api.close)
        except BaseException:
            self.stack.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def process(self, name, *command):
        process = Process(self.folder, name, *command)
        self.stack.callback(process.close)
        return process

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def controller(self, name="controller", *flags):
        return Controller(self.process(name, self.program, "controller", "--kubeconfig",
                                       self.kubeconfig, "--listen", "127.0.0.1:0", *flags))


class Controller:
    def __init__(self, process):
        self.process = process
        self.address = None

    def get(self, path):
        """(code, text); (0, "") while it does not listen."""
        if self.address is None:
            found = re.search(r"\blisten=127\.0\.0\.1:(\d+)",
                              self.process.log.read_text(errors="replace"))
            if not found:
                return 0, ""
            self.address = int(found[1])
        connection = http.client.HTTPConnection("127.0.0.1", self.address, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def ready(self):
        return self.process.require_alive() and self.get("/readyz")[0] == 200

    def metric(self, name):
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.get("/metrics")[1], re.M)
        return float(found[1]) if found else 0.0

    def bound(self):
        self.process.require_alive()
        return int(self.metric('stowage_binds_total{outcome="bound"}'))


def pod(name, resources, scheduler="stowage", namespace="default"):
    asked = {key: str(value) for key, value in resources.items()}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"schedulerName": scheduler,
                     "containers": [{"name": "main", "image": "none",
                                     "resources": {"requests": asked, "limits": asked}}]}}


def mixed_pods(count):
    """Fractions, whole cards, several cards and none, in fixed proportions."""
    kinds = ([{"cpu": 4, "memory": "16Gi", "nvidia.com/gpu": 1}] * 8
             + [{"cpu": 2, "memory": "8Gi", "stowage.dev/gpu-core": 50,
                 "stowage.dev/gpu-memory": 20480}] * 4
             + [{"cpu": 1, "memory": "4Gi", "stowage.dev/gpu-core": 25,
                 "stowage.dev/gpu-memory": 8192}] * 2
             + [{"cpu": 8, "memory": "32Gi", "nvidia.com/gpu": 2}] * 2
             + [{"cpu": 16, "memory": "64Gi", "nvidia.com/gpu": 4}]
             + [{"cpu": 32, "memory": "128Gi", "nvidia.com/gpu": 8}]
             + [{"cpu": 2, "memory": "4Gi"}] * 2)
    return [pod(f"p{number:05}", kinds[number * 7 % len(kinds)]) for number in range(count)]


def overcommitted(pods):
    """Cards whose pods' annotations add up to more than the card has: a list of sentences."""
    used = {}
    problems = []
    for value in pods:
        name = value["metadata"]["name"]
        node = value["spec"].get("nodeName")
        text = value["metadata"].get("annotations", {}).get(GPUS)
        asks = value["spec"]["containers"][0]["resources"].get("limits", {})
        if not any("gpu" in key for key in asks):
            continue
        if not text:
            problems.append(f"{name} is on {node} without cards")
            continue
        for shares in json.loads(text)["containers"].values():
            for share in shares:
                key = (node, share["id"])
                used[key] = used.get(key, 0) + share["milli"]
    problems += [f"{key[1]} on {key[0]}: {milli} of 1000" for key, milli in used.items()
                 if milli > 1000]
    return problems
