"""Several controllers on one control plane, and the Service in front of their extenders."""
import re
import select
import signal
import socket
import threading

from api import wait_until
from subject import SHORT_LEASE, Stowage

CONFIG = ("apiVersion: stowage.dev/v1alpha1\nkind: ControllerConfig\n"
          "profiles: [{{name: stowage}}]\n"
          "extenders: [{{preset: stowage, listen: '127.0.0.1:0'}}]\n"
          "leaderElection: {{{lease}}}\n")


class Replica(Stowage):
    """One replica, with its own names of log and process."""

    def __init__(self, cluster, name):
        super().__init__(cluster)
        self.name = name
        lease = ", ".join(f"{key}: {value}" for key, value in SHORT_LEASE.items())
        self.default_config = cluster.folder / "replicas.yaml"
        self.default_config.write_text(CONFIG.format(lease=lease), encoding="utf-8")

    def metric(self, name):
        """The value, or None while it does not answer."""
        try:
            code, text = self.get("/metrics")
        except OSError:
            return None
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M) if code == 200 else None
        return float(found[1]) if found else None

    def sum(self, family):
        """The sum over all samples of a family."""
        found = re.findall(rf"^{family}(?:{{.*}})? (\S+)$", self.get("/metrics")[1], re.M)
        return sum(map(float, found))

    def leads(self):
        return self.process.alive and self.metric("stowage_leader") == 1

    def extender_port(self):
        return int(re.findall(r" extender name=stowage listen=http://127\.0\.0\.1:(\d+)",
                              self.said())[-1])

    def freeze(self):
        self.process.child.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.child.send_signal(signal.SIGCONT)


class Replicas:
    def __init__(self, cluster, names=("a", "b")):
        self.cluster = cluster
        self.started = 0
        self.members = [self.start(name) for name in names]

    def start(self, name=None):
        self.started += 1
        return Replica(self.cluster, f"stowage-{name or self.started}").start()

    def leader(self):
        return wait_until("one leads", lambda: next(
            (each for each in self.members if each.leads()), None), details=self.tail)

    def standby(self):
        leader = self.leader()
        return next(each for each in self.members if each is not leader)

    def tail(self):
        return "\n".join(f"-- {each.name}:\n{each.tail()}" for each in self.members)

    def discard(self):
        for each in self.members:
            each.discard()


class Service:
    """Connections to one address, passed in turn to the replicas in `ports`."""

    def __init__(self):
        self.ports = []
        self.turn = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.closed = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        ports = list(self.ports)
        self.turn += 1
        with client:
            try:
                with socket.create_connection(
                        ("127.0.0.1", ports[self.turn % len(ports)])) as backend:
                    self.pump(client, backend)
            except (OSError, ZeroDivisionError):
                pass

    @staticmethod
    def pump(client, backend):
        for each in (client, backend):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        other = {client: backend, backend: client}
        while True:
            for ready in select.select([client, backend], [], [])[0]:
                data = ready.recv(1 << 16)
                if not data:
                    return
                other[ready].sendall(data)

    def close(self):
        self.closed = True
        self.listener.close()
