"""A control plane with nodes for one contestant of the race, and the schedulers that run on it."""
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "kubernetes"))
import build  # noqa: E402
import kube_scheduler  # noqa: E402
import subject  # noqa: E402
from cluster import DEPLOY, Cluster, free_port  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events?limit=1"
# No client-side limit for calls to the API server.
UNLIMITED = 10000
QUIET_S = 5
EVENTS_LIMIT_S = 300
TICKS = os.sysconf("SC_CLK_TCK")


class RaceCluster(Cluster):
    """Every user has a token: verifying a certificate with every call costs the server more."""

    def make_users(self):
        super().make_users()
        groups = {"admin": "system:masters", "kube-scheduler": ""}
        users = {"admin": "admin", "kube-scheduler": "system:kube-scheduler"}
        self.race_tokens = {name: f"token-of-{name}" for name in users}
        with open(self.folder / "tokens.csv", "a", encoding="utf-8") as file:
            for name, user in users.items():
                file.write(f'{self.race_tokens[name]},{user},uid-{name},"{groups[name]}"\n')

    def kubeconfig(self, name, token=None, certificate=None):
        token = token or self.race_tokens.get(name)
        return super().kubeconfig(name, token, None if token else certificate)


class Kube:
    """kube-scheduler alone."""

    profile = "default-scheduler"
    encoding = "protobuf"  # of its own watch of pods

    def __init__(self, field):
        self.field = field

    def prepare(self):
        pass

    def config(self):
        return kube_scheduler.config(clientConnection={
            "kubeconfig": kube_scheduler.KUBECONFIG, "qps": UNLIMITED, "burst": UNLIMITED})

    def start(self):
        kube_scheduler.KubeScheduler(self.field.cluster, self.config()).spawn()


class KubeWithExtender(Kube):
    """kube-scheduler with our extender and the shipped configuration."""

    mode = "choose"  # the default of the preset

    def __init__(self, field):
        super().__init__(field)
        self.port = free_port()

    def prepare(self):
        path = self.field.cluster.folder / "extender.yaml"
        path.write_text("apiVersion: stowage.dev/v1alpha1\nkind: ControllerConfig\nextenders:\n"
                        f"- preset: stowage\n  listen: 127.0.0.1:{self.port}\n"
                        f"  mode: {self.mode}\n", encoding="utf-8")
        subject.Stowage(self.field.cluster).start(config=path)

    def config(self):
        text = kube_scheduler.shipped("stowage", f"http://127.0.0.1:{self.port}")
        # 0: kube-scheduler's own default for the size of the cluster.
        for old, new in (("percentageOfNodesToScore: 100", "percentageOfNodesToScore: 0"),
                         ("clientConnection:\n",
                          f"clientConnection:\n  qps: {UNLIMITED}\n  burst: {UNLIMITED}\n")):
            if text.count(old) != 1:
                raise AssertionError(f"deploy/extender/stowage.yaml has no {old.strip()}")
            text = text.replace(old, new)
        return text


class KubeWithBinder(KubeWithExtender):
    mode = "bind"


class Standalone:
    profile = "stowage"
    encoding = "protobuf"

    def __init__(self, field):
        self.field = field

    def prepare(self):
        self.program = subject.Stowage(self.field.cluster)

    def start(self):
        self.program.start(wait=False)


SCHEDULERS = {"kube-scheduler": Kube, "extender": KubeWithExtender,
              "extender-bind": KubeWithBinder, "stowage": Standalone}


class Observing:
    def __init__(self, process):
        self.process = process
        if process.stdout.readline().strip() != "ready":
            raise AssertionError("the watch of bound pods could not be opened")

    def figures(self):
        text, _ = self.process.communicate()
        if self.process.returncode:
            raise AssertionError("not all pods were bound")
        return json.loads(text)


def usage_of(pid):
    """Seconds of CPU time and peak memory in MiB."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return {"cpu_s": (int(fields[11]) + int(fields[12])) / TICKS,
            "peak_mib": int(peak.split()[1]) / 1024}


class Field:
    def __init__(self, args, nodes):
        os.environ["STOWAGE_BIN"] = args.stowage
        self.program = args.load
        self.nodes = nodes
        self.children = []
        self.cluster = RaceCluster(args.binaries)
        self.cluster.keep_logs = args.keep_logs
        try:
            self.cluster.start()
            self.cluster.kubectl("apply", "-f", DEPLOY / "stowage.yaml")
            self.users = {"admin": self.cluster.admin_config,
                          "binder": self.cluster.service_account_config("kube-system", "stowage")}
            self.load("nodes", "--count", nodes)
        except BaseException:
            self.close()
            raise

    def close(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        self.cluster.close()

    def version(self):
        return self.cluster.api.get("/version")["gitVersion"]

    def scheduler(self, name):
        return SCHEDULERS[name](self)

    def spawn(self, *flags, user="admin"):
        command = [self.program, self.users[user], *flags]
        child = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, text=True,
                                 preexec_fn=build.die_with_parent)
        self.children.append(child)
        return child

    def load(self, *flags, user="admin"):
        """Runs the load generator to its end and returns its figures."""
        child = self.spawn(*flags, user=user)
        text, _ = child.communicate()
        if child.returncode:
            raise AssertionError(f"{self.program} {' '.join(map(str, flags))} failed; "
                                 f"logs: {self.cluster.folder}")
        return json.loads(text)

    def create_pods(self, prefix, count, scheduler):
        self.load("pods", "--prefix", prefix, "--count", count, "--scheduler", scheduler)

    def warm_up(self, pods):
        """Lets the server bind and delete as many pods before, so that all contestants start alike.
        """
        self.create_pods("warm", pods, "nobody")
        self.load("bind", "--prefix", "warm", "--count", pods, "--nodes", self.nodes,
                  "--clients", 64, user="binder")
        self.remove_pods()

    def remove_pods(self):
        api = self.cluster.api
        while api.get(f"{PODS}?limit=1")["items"]:
            try:
                api.delete(PODS)
            except OSError:  # slower than a call may be; the server continues
                pass

    def observe(self, prefix, count, encoding):
        return Observing(self.spawn("observe", "--prefix", prefix, "--count", count, "--watch",
                                    encoding))

    def usage(self, before=None):
        """Usage by process, since `before` if given."""
        now = {name: usage_of(process.child.pid)
               for name, process in self.cluster.processes.items() if process.alive}
        for name, each in now.items():
            each["cpu_s"] -= (before or {}).get(name, {}).get("cpu_s", 0)
        return now

    def count_events(self):
        page = self.cluster.api.get(EVENTS)
        return len(page["items"]) + page["metadata"].get("remainingItemCount", 0)

    def settled_events(self, wanted):
        """(number, seconds from now) when all are there, or when no more have come for a while."""
        start = changed = time.monotonic()
        count = self.count_events()
        while count < wanted:
            time.sleep(0.25)
            now, more = time.monotonic(), self.count_events()
            if more != count:
                count, changed = more, now
            elif now - changed > QUIET_S or now - start > EVENTS_LIMIT_S:
                break
        return count, changed - start
