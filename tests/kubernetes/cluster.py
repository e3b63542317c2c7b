#!/usr/bin/env python3
"""A Kubernetes control plane on loopback for one run of the tests.

Usage: cluster.py [--scheduler] [--controller-manager]   runs one until Ctrl-C

etcd and kube-apiserver, with kube-scheduler and kube-controller-manager on request, on free ports,
with real certificates and RBAC. Data is on tmpfs. All started processes are killed when this
process ends, however it ends; the logs are removed unless keep_logs was set.
"""
import atexit
import base64
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import build
from api import Api, wait_until

DEPLOY = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy"
TMPFS = pathlib.Path("/dev/shm")
# Useless without kubelets and controllers: nothing creates service accounts, marks nodes as ready
# or removes the finalizers of volumes.
ADMISSION_OFF = "ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection"
# Records the requests of the accounts that we ship (rights.py).
AUDIT = """apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users:
  - system:serviceaccount:kube-system:stowage
  - system:serviceaccount:kube-system:stowage-agent
- level: None
"""
CONTROLLERS = ("deployment-controller,replicaset-controller,job-controller,"
               "garbage-collector-controller")


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def remove_left_behind():
    """Frees the memory of data that killed runs left behind."""
    for path in TMPFS.glob("stowage-kube-*-*"):
        pid = path.name.split("-")[2]
        if not pathlib.Path("/proc", pid).exists():
            shutil.rmtree(path, ignore_errors=True)


class Process:
    """A child process with a log. It dies with this one, even if this one is killed."""

    def __init__(self, name, command, folder, env=None, prepare=lambda: None):
        """prepare is called in the child before the program is."""
        def before():
            build.die_with_parent()
            prepare()
        self.name = name
        self.log = pathlib.Path(folder) / f"{name}.log"
        self.started = time.monotonic()
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **(env or {})}, cwd=folder, preexec_fn=before)

    @property
    def alive(self):
        return self.child.poll() is None

    def text(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def tail(self, lines=20):
        return "\n".join(self.text().splitlines()[-lines:])

    def kill(self):
        if self.alive:
            self.child.kill()
        return self.child.wait()

    def stop(self, timeout=10):
        """Sends SIGTERM, and SIGKILL after the timeout. Returns the exit code."""
        if self.alive:
            self.child.terminate()
            try:
                self.child.wait(timeout)
            except subprocess.TimeoutExpired:
                self.child.kill()
        return self.child.wait()

    def wait(self, timeout):
        """The exit code once it has ended without a signal from us."""
        try:
            return self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {timeout} s") from None

    def require_alive(self):
        if not self.alive:
            raise AssertionError(f"{self.name} ended with {self.child.returncode}:\n{self.tail()}")
        return True


class Certificates:
    """Our own CA and the certificates that it signs, in PEM files of one folder."""

    def __init__(self, folder, name="ca"):
        self.folder = folder
        self.ca = folder / f"{name}.crt"
        self.ca_key = folder / f"{name}.key"
        self.openssl("req", "-x509", *self.new_key(name), "-out", self.ca, "-days", "2",
                     "-subj", f"/CN=stowage-test-{name}")

    def openssl(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder)

    def new_key(self, name):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                self.folder / f"{name}.key")

    def sign(self, name, subject, usage, names=""):
        """(certificate, key) for a subject such as /O=system:masters/CN=admin."""
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(f"extendedKeyUsage={usage}\n"
                              + (f"subjectAltName={names}\n" if names else ""), encoding="utf-8")
        self.openssl("req", "-new", *self.new_key(name), "-out", request, "-subj", subject)
        certificate = self.folder / f"{name}.crt"
        self.openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey",
                     self.ca_key, "-CAcreateserial", "-out", certificate, "-days", "2",
                     "-extfile", extensions)
        return certificate, self.folder / f"{name}.key"


class Cluster:
    def __init__(self, binaries):
        self.binaries = pathlib.Path(binaries)
        self.keep_logs = False
        self.processes = {}
        self.ports = {}
        prefix = f"stowage-kube-{os.getpid()}-"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
        remove_left_behind()
        fast = TMPFS if os.access(TMPFS, os.W_OK) else None
        self.data = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=fast))
        atexit.register(self.close)
        self.certificates = Certificates(self.folder)
        self.make_users()

    def make_users(self):
        sign = self.certificates.sign
        self.serving = sign("apiserver", "/CN=kube-apiserver", "serverAuth",
                            "IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc")
        self.users = {
            "admin": sign("admin", "/O=system:masters/CN=admin", "clientAuth"),
            "kube-scheduler": sign("scheduler", "/CN=system:kube-scheduler", "clientAuth"),
            "kube-controller-manager": sign(
                "manager", "/CN=system:kube-controller-manager", "clientAuth"),
        }
        # The CA of the API server's proxy client, whose user headers count.
        self.front_proxy = Certificates(self.folder, "front-proxy-ca")
        self.proxy = self.front_proxy.sign("front-proxy", "/CN=front-proxy-client", "clientAuth")
        self.service_account_key = self.folder / "service-accounts.key"
        self.certificates.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
                                  self.service_account_key)
        # A user that is authenticated but has no rights.
        self.tokens = {"nobody": "token-of-nobody"}
        lines = [f'{token},{user},uid-{user},""\n' for user, token in self.tokens.items()]
        (self.folder / "tokens.csv").write_text("".join(lines), encoding="utf-8")

    def start(self):
        """Starts etcd and the API server. Chooses another port if one was taken meanwhile."""
        for attempt in (1, 2, 3):
            self.ports = {name: free_port() for name in ("client", "peer", "api")}
            try:
                self.start_etcd()
                self.start_api_server()
                break
            except AssertionError:
                self.kill("kube-apiserver", "etcd")
                in_use = any("address already in use" in path.read_text(errors="replace")
                             for path in self.folder.glob("*.log"))
                if not in_use or attempt == 3:
                    raise
                shutil.rmtree(self.data / "etcd", ignore_errors=True)
        self.api = self.api_as(certificate=self.users["admin"])
        self.admin_config = self.kubeconfig("admin", certificate=self.users["admin"])
        wait_until("namespace kube-system exists",
                   lambda: self.api.get("/api/v1/namespaces/kube-system"))
        return self

    def start_etcd(self):
        client, peer = (f"http://127.0.0.1:{self.ports[name]}" for name in ("client", "peer"))
        etcd = self.spawn("etcd", "--name", "test", "--data-dir", self.data / "etcd",
                          "--listen-client-urls", client, "--advertise-client-urls", client,
                          "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                          "--initial-cluster", f"test={peer}", "--unsafe-no-fsync",
                          "--log-level", "warn")
        wait_until("etcd listens", lambda: etcd.require_alive() and self.listens("client"))

    def start_api_server(self):
        certificate, key = self.serving
        account_key = self.service_account_key
        audit = self.folder / "audit.yaml"
        audit.write_text(AUDIT, encoding="utf-8")
        server = self.spawn(
            "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.ports['client']}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            f"--secure-port={self.ports['api']}", f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}", f"--client-ca-file={self.certificates.ca}",
            f"--token-auth-file={self.folder / 'tokens.csv'}", "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={account_key}",
            f"--service-account-signing-key-file={account_key}",
            f"--requestheader-client-ca-file={self.front_proxy.ca}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={self.proxy[0]}", f"--proxy-client-key-file={self.proxy[1]}",
            "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
            f"--disable-admission-plugins={ADMISSION_OFF}", "--profiling=false",
            f"--audit-policy-file={audit}", f"--audit-log-path={self.folder / 'audit.json'}",
            "--audit-log-maxsize=1024")
        api = self.api_as(certificate=self.users["admin"])
        wait_until("kube-apiserver is ready",
                   lambda: server.require_alive() and api.raw("GET", "/readyz")[0] == 200,
                   timeout=90, details=lambda: server.tail(5))

    def start_scheduler(self, profiles=("default-scheduler",)):
        """kube-scheduler, serving pods of all of the names."""
        config = self.folder / "kube-scheduler.yaml"
        kubeconfig = self.kubeconfig("kube-scheduler", certificate=self.users["kube-scheduler"])
        names = "".join(f"- schedulerName: {name}\n" for name in profiles)
        config.write_text("apiVersion: kubescheduler.config.k8s.io/v1\n"
                          "kind: KubeSchedulerConfiguration\n"
                          f"clientConnection: {{kubeconfig: {kubeconfig}, qps: 5000, burst: 5000}}"
                          f"\nleaderElection: {{leaderElect: false}}\nprofiles:\n{names}",
                          encoding="utf-8")
        port = free_port()
        process = self.spawn("kube-scheduler", f"--config={config}", "--bind-address=127.0.0.1",
                             f"--secure-port={port}", f"--cert-dir={self.folder}")
        self.ports["kube-scheduler"] = port
        wait_until("kube-scheduler listens",
                   lambda: process.require_alive() and self.listens("kube-scheduler"), timeout=60)
        return process

    def start_controller_manager(self):
        """kube-controller-manager with only the controllers that create pods."""
        user = "kube-controller-manager"
        kubeconfig = self.kubeconfig(user, certificate=self.users[user])
        port = free_port()
        process = self.spawn(user, f"--kubeconfig={kubeconfig}", "--leader-elect=false",
                             "--use-service-account-credentials",
                             f"--controllers={CONTROLLERS}", "--bind-address=127.0.0.1",
                             f"--secure-port={port}", f"--cert-dir={self.folder}")
        self.ports[user] = port
        wait_until(f"{user} listens", lambda: process.require_alive() and self.listens(user),
                   timeout=60)
        return process

    def spawn(self, name, *flags, program=None, env=None):
        """Starts a program, by default one of the binaries. It is killed with the cluster."""
        command = [program or self.binaries / name, *flags]
        self.processes[name] = Process(name, command, self.folder, env)
        return self.processes[name]

    def has(self, program):
        return os.access(self.binaries / program, os.X_OK)

    def listens(self, port):
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", self.ports[port])) == 0

    def kill(self, *names):
        for name in names:
            process = self.processes.pop(name, None)
            if process:
                process.kill()

    def api_as(self, token=None, certificate=None):
        return Api(self.ports["api"], self.certificates.ca, token, certificate)

    def kubeconfig(self, name, token=None, certificate=None):
        """Writes NAME.kubeconfig in the form that kubectl writes."""
        def encoded(path):
            return base64.b64encode(pathlib.Path(path).read_bytes()).decode()
        if token:
            user = f"    token: {token}\n"
        else:
            user = (f"    client-certificate-data: {encoded(certificate[0])}\n"
                    f"    client-key-data: {encoded(certificate[1])}\n")
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(
            "apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: test\n"
            "clusters:\n- name: test\n  cluster:\n"
            f"    certificate-authority-data: {encoded(self.certificates.ca)}\n"
            f"    server: https://127.0.0.1:{self.ports['api']}\n"
            "contexts:\n- name: test\n  context:\n    cluster: test\n"
            f"    user: {name}\nusers:\n- name: {name}\n  user:\n{user}", encoding="utf-8")
        path.chmod(0o600)
        return path

    def service_account_config(self, namespace, name):
        """A kubeconfig with a token of a service account, as a pod would get it."""
        answer = self.api.create(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"expirationSeconds": 7200}})
        return self.kubeconfig(f"{namespace}-{name}", token=answer["status"]["token"])

    def kubectl(self, *arguments, text=None):
        """Runs kubectl as admin; returns its output, or raises AssertionError with it."""
        command = [self.binaries / "kubectl", f"--kubeconfig={self.admin_config}",
                   f"--cache-dir={self.folder / 'kubectl-cache'}", *arguments]
        done = subprocess.run([str(part) for part in command], input=text, check=False, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise AssertionError(f"kubectl {' '.join(map(str, arguments))}: {done.stdout}")
        return done.stdout

    def healthy(self):
        """Starts the API server if a failed test left it stopped."""
        if not self.processes["etcd"].alive:
            raise AssertionError(f"etcd ended:\n{self.processes['etcd'].tail()}")
        server = self.processes.get("kube-apiserver")
        if not server or not server.alive:
            self.start_api_server()

    def close(self):
        for name in list(self.processes):
            self.kill(name)
        shutil.rmtree(self.data, ignore_errors=True)
        if not self.keep_logs:
            shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)


def main():
    build.end_cleanly_on_signals()
    cluster = Cluster(build.binaries())
    try:
        cluster.start()
        cluster.kubectl("apply", "--validate=strict", "-f", DEPLOY / "stowage.yaml")
        if "--scheduler" in sys.argv:
            cluster.start_scheduler()
        if "--controller-manager" in sys.argv:
            cluster.start_controller_manager()
        print(f"{cluster.binaries}/kubectl --kubeconfig {cluster.admin_config}\n"
              "rights of the controller: "
              f"{cluster.service_account_config('kube-system', 'stowage')}\n"
              f"logs: {cluster.folder}\nCtrl-C ends it", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        return 0
    finally:
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())
