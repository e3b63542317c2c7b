"""The container runtimes of a node: a recording one, and containerd with runc behind it.

Both are seen by the tests through the recorder's control socket (programs/recorder).
"""
import http.client
import io
import json
import os
import pathlib
import socket
import sys
import tarfile
import hashlib
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kubernetes"))

import programs  # noqa: E402
from api import wait_until  # noqa: E402

IMAGE = "bed.test/work:1"
SOCKET = "/run/recorder/runtime.sock"
CONTROL = "/run/recorder/control.sock"
CONTAINERD = "/run/containerd/containerd.sock"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Recorder:
    """A runtime whose containers are entries of a table."""

    forward = ()
    runs_programs = False

    def __init__(self, space, own):
        self.space = space
        self.own = own
        self.process = None
        self.known = []

    def start(self):
        self.space.path(SOCKET).parent.mkdir(exist_ok=True)
        self.process = self.space.spawn("recorder", self.own / "recorder", "--listen", SOCKET,
                                        "--control", CONTROL, *self.forward)
        wait_until("the runtime listens",
                   lambda: self.process.require_alive() and self.space.path(SOCKET).exists())

    def ask(self, method, path, **parameters):
        connection = UnixConnection(self.space.path(CONTROL))
        try:
            connection.request(method, path + "?" + urllib.parse.urlencode(parameters))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise AssertionError(f"the recorder's {path}: {answer.status} {text.decode()}")
        return json.loads(text) if text else None

    def events(self):
        """All events so far (journal.go), in order."""
        self.known += self.ask("GET", "/events", **{"from": len(self.known)})
        return self.known

    def end(self, container, code=0):
        """Ends a container, given the event of its start."""
        self.ask("POST", "/end", id=container["id"], code=code)

    def fail_next(self, container, call="create", times=1):
        """The next calls for containers of that name fail; containerd's only when they are made."""
        self.ask("POST", "/fail", container=container, at=call, times=times)


CONFIG = """version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "{snapshotter}"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{image}"
[plugins."io.containerd.cri.v1.runtime"]
  enable_cdi = true
  enable_unprivileged_ports = false
  enable_unprivileged_icmp = false
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{folder}/cni"]
    conf_dir = "/etc/cni/net.d"
    use_internal_loopback = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd]
  default_runtime_name = "runc"
[plugins."io.containerd.server.v1.grpc"]
  tcp_address = ""
"""
# Pods have a network of their own that leads nowhere.
CNI_PLUGIN = """#!/bin/sh
cat > /dev/null
case $CNI_COMMAND in
VERSION) echo '{"cniVersion": "1.0.0", "supportedVersions": ["0.4.0", "1.0.0"]}' ;;
ADD) echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.64.0.2/32"}]}' ;;
esac
"""
CNI_LIST = {"cniVersion": "1.0.0", "name": "nowhere", "plugins": [{"type": "nowhere"}]}


def image_archive(program, name):
    """An image of one program, /work, as an archive in Docker's format."""
    def add(archive, path, content, mode=0o644):
        entry = tarfile.TarInfo(path)
        entry.size, entry.mode = len(content), mode
        archive.addfile(entry, io.BytesIO(content))
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        add(archive, "work", pathlib.Path(program).read_bytes(), 0o755)
    layer = layer.getvalue()
    config = json.dumps({
        "architecture": "amd64" if os.uname().machine == "x86_64" else "arm64", "os": "linux",
        "config": {"Entrypoint": ["/work"], "Cmd": ["pause"], "Env": ["PATH=/"]},
        "rootfs": {"type": "layers",
                   "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        add(archive, "layer.tar", layer)
        add(archive, "config.json", config)
        add(archive, "manifest.json", json.dumps(
            [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode())
    return whole.getvalue()


class Containerd(Recorder):
    """containerd and runc; the recorder sits between them and the kubelet and takes notes."""

    forward = ("--forward", CONTAINERD)
    runs_programs = True

    def __init__(self, space, own):
        super().__init__(space, own)
        self.folder = programs.containerd()
        self.daemon = None

    def start(self):
        space = self.space
        for folder in ("/etc/cni/net.d", "/run/containerd"):
            space.path(folder).mkdir(parents=True, exist_ok=True)
        space.path("/etc/cni/net.d/10-nowhere.conflist").write_text(json.dumps(CNI_LIST))
        plugin = space.folder / "cni" / "nowhere"
        plugin.parent.mkdir(exist_ok=True)
        plugin.write_text(CNI_PLUGIN)
        plugin.chmod(0o755)
        config = space.folder / "containerd.toml"
        config.write_text(CONFIG.format(image=IMAGE, folder=space.folder, snapshotter="overlayfs"))
        self.start_daemon()
        archive = space.folder / "work.tar"
        archive.write_bytes(image_archive(self.own / "work", IMAGE))
        self.ctr("images", "import", archive)
        super().start()

    def end(self, container, code=137):
        """Kills it: the code cannot be chosen."""
        self.ctr("tasks", "kill", "--signal", "SIGKILL", container["id"])

    def start_daemon(self):
        path = f"{self.folder}:{os.environ['PATH']}"
        self.daemon = self.space.spawn("containerd", self.folder / "containerd", "--config",
                                       self.space.folder / "containerd.toml", env={"PATH": path})
        def serves():
            self.daemon.require_alive()
            return self.space.path(CONTAINERD).exists() and self.ctr("version")
        wait_until("containerd serves", serves, timeout=60, details=lambda: self.daemon.tail(5))

    def ctr(self, *arguments):
        return self.space.run(self.folder / "ctr", "--address", CONTAINERD, "--namespace",
                              "k8s.io", *arguments)
