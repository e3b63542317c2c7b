"""A place that looks like a machine of its own to the programs of a node.

It has private mounts for what a kubelet, a runtime and an agent write to fixed paths, its own
/dev, process ids of its own, and copies of the settings of the system that a kubelet changes. So
several nodes fit on one machine, beside other tests; and when the process that made it ends,
however that happens, the system ends all processes in it and its mounts are gone.
"""
import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kubernetes"))

import build  # noqa: E402
from api import wait_until  # noqa: E402
from cluster import Process  # noqa: E402

CLONE_NEWPID = 0x20000000
CLONE_NEWNS = 0x00020000
# Settings that a kubelet writes (pkg/kubelet/cm, setupKernelTunables).
SETTINGS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
            "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes")
# Mounts are private before this runs. /run is also /var/run.
PREPARE = """
set -e
for folder in /run /var/lib /var/log; do mount -t tmpfs -o mode=755 node $folder; done
mkdir -p /var/lib/kubelet /run/cdi /run/etc /run/settings
cp -a /etc/. /run/etc
mount --bind /run/etc /etc
mkdir -p /etc/cdi
mkdir /run/dev
mount -t tmpfs -o mode=755 node /run/dev
for node in null zero full random urandom tty kmsg fuse; do
  if [ -e /dev/$node ]; then cp -a /dev/$node /run/dev/$node; fi
done
for link in fd stdin stdout stderr; do ln -s /proc/self/fd /run/dev/$link; done
ln -sfn /proc/self/fd/0 /run/dev/stdin
ln -sfn /proc/self/fd/1 /run/dev/stdout
ln -sfn /proc/self/fd/2 /run/dev/stderr
mkdir /run/dev/pts /run/dev/shm
ln -s pts/ptmx /run/dev/ptmx
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 node /run/dev/pts
mount -t tmpfs -o mode=1777 node /run/dev/shm
mount --move /run/dev /dev
for name in $SETTINGS; do
  if [ -e /proc/sys/$name ]; then
    copy=/run/settings/$(basename $name)
    cat /proc/sys/$name > $copy
    mount --bind $copy /proc/sys/$name
  fi
done
touch /run/prepared
exec "$WORK" pause
"""
CGROUPS = pathlib.Path("/sys/fs/cgroup")
LIBC = ctypes.CDLL(None, use_errno=True)


def missing():
    """Why no such place can be made here, or None."""
    if os.geteuid() != 0:
        return "a kubelet needs root"
    for program in ("unshare", "mount", "cp"):
        if not shutil.which(program):
            return f"there is no program {program}"
    if not os.access("/dev/kmsg", os.R_OK):
        return "a kubelet needs /dev/kmsg"
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"],
                          check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return "no namespace can be made: " + " ".join(done.stderr.split())
    return None


def enter(number, kind):
    """Moves this thread, or for process ids its children, into a namespace."""
    if LIBC.setns(number, kind):
        error = ctypes.get_errno()
        raise OSError(error, f"setns: {os.strerror(error)}")


def remove_cgroups(name):
    """Control groups of that name, in every hierarchy, once their processes have ended."""
    for top in [*CGROUPS.glob(name), *CGROUPS.glob(f"*/{name}")]:
        for folder, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def remove_left_behind():
    """Control groups of killed runs: the only thing that a place leaves outside of itself."""
    for path in [*CGROUPS.glob("stowage-node-*"), *CGROUPS.glob("*/stowage-node-*")]:
        if not pathlib.Path("/proc", path.name.split("-")[2]).exists():
            remove_cgroups(path.name)


class Space:
    """root is a path under which all files of the place are seen from outside.

    cgroup is a name for the control groups of its containers; they are removed with it.
    """

    def __init__(self, name, folder, work):
        remove_left_behind()
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        self.cgroup = f"stowage-node-{os.getpid()}-{name}"
        self.closing = contextlib.ExitStack()
        self.closing.callback(self.remove_cgroup)
        self.holder = Process(
            "holder", ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL",
                       "--mount-proc", "--", "sh", "-c", PREPARE], self.folder,
            {"WORK": str(work), "SETTINGS": " ".join(SETTINGS)})
        self.closing.callback(self.holder.kill)
        try:
            self.open_namespaces()
        except BaseException:
            self.close()
            raise

    def open_namespaces(self):
        def first():
            self.holder.require_alive()
            pid = self.holder.child.pid
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            prepared = children and pathlib.Path(f"/proc/{children[0]}/root/run/prepared").exists()
            return children[0] if prepared else None
        pid = wait_until("the node's namespaces are there", first, timeout=20,
                         details=self.holder.tail)
        self.root = pathlib.Path(f"/proc/{pid}/root")
        self.mounts, self.pids, self.own_pids = (
            os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            for path in (f"/proc/{pid}/ns/mnt", f"/proc/{pid}/ns/pid", "/proc/self/ns/pid"))
        for number in (self.mounts, self.pids, self.own_pids):
            self.closing.callback(os.close, number)

    def path(self, inside):
        """Where a file of the place is seen from outside. /var/run is a link, which would lead to
        the /run of this machine."""
        inside = re.sub(r"^/var/run(?=/|$)", "/run", str(inside))
        return self.root / inside.lstrip("/")

    def enter_mounts(self):
        enter(self.mounts, CLONE_NEWNS)
        os.chdir(self.folder)

    def spawn(self, name, *command, env=None):
        """A process in the place. It dies with this one, and with the place."""
        enter(self.pids, CLONE_NEWPID)
        try:
            return Process(name, command, self.folder, env, prepare=self.enter_mounts)
        finally:
            enter(self.own_pids, CLONE_NEWPID)

    def run(self, *command, timeout=60):
        """Runs a program in the place; its output, or AssertionError with it."""
        enter(self.pids, CLONE_NEWPID)
        try:
            child = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                preexec_fn=lambda: (build.die_with_parent(), self.enter_mounts()))
        finally:
            enter(self.own_pids, CLONE_NEWPID)
        try:
            output, _ = child.communicate(timeout=timeout)
        except BaseException:
            child.kill()
            child.wait()
            raise
        if child.returncode:
            raise AssertionError(f"{' '.join(map(str, command))}: {output}")
        return output

    def make_cgroup(self):
        """Makes the control group that a kubelet puts those of its pods into."""
        for top in [CGROUPS, *CGROUPS.iterdir()]:
            if (top / "cgroup.procs").exists():
                group = top / self.cgroup
                group.mkdir(exist_ok=True)
                for name in ("cpuset.cpus", "cpuset.mems"):
                    if (group / name).exists() and not (group / name).read_text().strip():
                        (group / name).write_text((top / name).read_text())

    def remove_dead_cgroups(self):
        """Removes those of containers that have no process. A runtime whose call was cut off leaves
        them behind, and a new kubelet (cAdvisor) waits three seconds for each."""
        for top in [*CGROUPS.glob(self.cgroup), *CGROUPS.glob(f"*/{self.cgroup}")]:
            for folder, inside, _ in os.walk(top, topdown=False):
                if not inside and re.fullmatch("[0-9a-f]{64}", pathlib.Path(folder).name):
                    with contextlib.suppress(OSError):
                        os.rmdir(folder)

    def remove_cgroup(self):
        """The kernel empties a control group a little after its processes were killed."""
        def gone():
            remove_cgroups(self.cgroup)
            return not [*CGROUPS.glob(self.cgroup), *CGROUPS.glob(f"*/{self.cgroup}")]
        with contextlib.suppress(AssertionError):
            wait_until("the node's control groups are empty", gone, timeout=10)

    def close(self):
        self.closing.close()
