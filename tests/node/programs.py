"""The programs of a node that are not Kubernetes', built once with Go into the tests' cache.

programs/ has our own: a recording runtime, a small device plugin, what runs in containers.
containerd/ pins containerd; runc is a package of Debian.
"""
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kubernetes"))

import build  # noqa: E402

OWN = {name: f"./{name}" for name in ("plugin", "recorder", "work")}
CONTAINERD = {name: f"github.com/containerd/containerd/v2/cmd/{name}"
              for name in ("containerd", "containerd-shim-runc-v2", "ctr")}


def own():
    """The folder with the programs of programs/."""
    return build.module_programs("programs of the node tests", HERE / "programs", OWN)


def containerd():
    """The folder with containerd, its shim and ctr."""
    if not shutil.which("runc"):
        raise build.Unavailable("containerd needs runc: install Debian's package runc")
    return build.module_programs("containerd", HERE / "containerd", CONTAINERD)
