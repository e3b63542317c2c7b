#!/usr/bin/env python3
"""Records what a version of Stowage writes to the API, for upgrade_test.py.

record.py STOWAGE FOLDER

Run it once with the program of a release, before any change; FOLDER is fixtures/VERSION. The
objects are stored as the local API server returns them.
"""
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
for each in ("cluster", "extender"):
    sys.path.insert(0, str(HERE.parent / each))
import objects as recorded  # noqa: E402
from extender_cluster import Extender  # noqa: E402
from local_cluster import LocalCluster, wait_until  # noqa: E402

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/stowage"


class Recording:
    def __init__(self, cluster, controller):
        self.cluster, self.api = cluster, cluster.api
        log = controller.process.log.read_text(errors="replace")
        self.extenders = {name: Extender(int(port)) for name, port in re.findall(
            r" extender name=(\S+) listen=http://127\.0\.0\.1:(\d+)", log)}

    def create(self, path, value):
        status, answer = self.api.request("POST", path, value)
        assert status == 201, answer
        return answer

    def find(self, value):
        return self.api.get(recorded.pod_path(value))

    def place(self, value):
        self.create("/api/v1/namespaces/default/pods", value)
        wait_until(f"{value['metadata']['name']} is bound",
                   lambda: self.find(value)["spec"].get("nodeName"), timeout=20)

    def ask(self, value, preset, on, route, bind):
        made = self.create("/api/v1/namespaces/default/pods", value)
        extender = self.extenders[preset]
        answer = wait_until("the extender knows the pod",
                            lambda: extender.filter(made, [on], route).nodes)
        assert answer == [on], answer
        if bind:
            assert extender.bind(made, on, bind) == ""
        return made

    def run(self):
        for value in recorded.PLACED:
            self.place(value)
        self.create("/api/v1/namespaces/default/pods", recorded.WAITING)
        wait_until("the refusal is on the pod", lambda: any(
            each["type"] == "PodScheduled"
            for each in self.find(recorded.WAITING).get("status", {}).get("conditions", [])))
        self.ask(*recorded.BOUND_BY_US)
        bound = self.ask(*recorded.BOUND_BY_THEM)
        self.create(recorded.pod_path(bound, "/binding"), {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": bound["metadata"]["name"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": recorded.BOUND_BY_THEM[2]}})
        self.ask(*recorded.PROMISED)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    out = recorded.Objects(folder)
    out.config.write_text(recorded.CONFIG, encoding="utf-8")
    with LocalCluster(program, "--nodes", "0") as cluster:
        for value in recorded.nodes():
            status, answer = cluster.api.request("POST", "/api/v1/nodes", value)
            assert status == 201, answer
        controller = cluster.controller("controller", "--config", out.config)
        wait_until("the controller is ready", controller.ready)
        recording = Recording(cluster, controller)
        recording.run()
        time.sleep(3)  # events are written last
        free = recording.extenders["stowage"].send("GET", "/stowage/status")[1].decode()
        out.write("free", free)
        out.write("nodes", cluster.api.get("/api/v1/nodes")["items"])
        out.write("pods", cluster.api.pods())
        out.write("lease", cluster.api.get(LEASE))
        out.write("events", cluster.api.get("/apis/events.k8s.io/v1/events")["items"])
    print(f"recorded in {folder} at {time.time():.0f}")


if __name__ == "__main__":
    main()
