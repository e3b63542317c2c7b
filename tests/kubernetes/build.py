#!/usr/bin/env python3
"""Builds a real Kubernetes control plane once, from Go modules, into a cache outside of the tree.

Usage: build.py [--write-module]
Prints the folder with etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kubectl.
Exit code 77 and one line on stderr where they can be neither found nor built.

KUBEBUILDER_ASSETS   a folder of ready binaries; nothing is built
KUBE_VERSION         another version than the pinned one, e.g. v1.36.3
STOWAGE_KUBE_CACHE   where the binaries are kept, default ~/.cache/stowage/kubernetes
GO                   the go program, default: go in PATH, then /usr/local/go/bin/go
"""
import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MODULE = pathlib.Path(__file__).resolve().parent / "controlplane"
PINNED = "v1.34.10"
SKIPPED = 77
PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kubelet": "k8s.io/kubernetes/cmd/kubelet",
}
NEEDED = ("etcd", "kube-apiserver", "kubectl")
# These programs need no debug information: a tenth of the time and a quarter of the space.
FLAGS = ("-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false")
# Both packages have to agree, or /version is v0.0.0 and kubectl cannot parse it.
VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
REPORT_EVERY_S = 15
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


class Unavailable(Exception):
    """This machine has no control plane; the message says how to get one."""

    def __str__(self):
        return " ".join(super().__str__().split())


class BuildFailed(Exception):
    pass


def die_with_parent():
    """For a child between fork and exec: the system kills it when this process ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def end_cleanly_on_signals():
    """Signals that would end the process raise KeyboardInterrupt, which no test swallows."""
    def leave(*_):
        raise KeyboardInterrupt
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, leave)


def say(text):
    print(f"kube: {text}", file=sys.stderr, flush=True)


def linker_flags(version):
    major, minor, _ = version[1:].split(".", 2)
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitCommit": "unknown",
              "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z"}
    flags = ["-s", "-w"]
    for package in VERSION_PACKAGES:
        flags += [f"-X {package}.{name}={value}" for name, value in values.items()]
    return " ".join(flags)


def environment(**more):
    """The caller's settings of module sources, without settings that change what is built."""
    kept = {name: value for name, value in os.environ.items()
            if name not in ("GOOS", "GOARCH", "GOEXPERIMENT", "GO111MODULE", "GODEBUG")}
    return {**kept, "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", "GOWORK": "off",
            "CGO_ENABLED": "0", **more}


def go_version(text):
    """(1, 26, 8) for go1.26.8; missing parts count as 0."""
    found = re.match(r"(?:go)?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(number or 0) for number in found.groups()) if found else (0, 0, 0)


def find_go():
    """The go program and its version."""
    named = os.environ.get("GO")
    for go in [named] if named else ["go", "/usr/local/go/bin/go"]:
        path = shutil.which(go)
        if path:
            out = subprocess.run([path, "env", "GOVERSION"], env=environment(), check=False,
                                 stdout=subprocess.PIPE, text=True).stdout
            return path, go_version(out)
    raise Unavailable("no Go toolchain found: install one, or set KUBEBUILDER_ASSETS to a folder "
                      "with kube-apiserver, etcd and kubectl")


def require_go(found, go_mod):
    wanted = go_version(re.search(r"^go (\S+)$", go_mod, re.M).group(1))
    if found < wanted:
        has, wants = (".".join(map(str, version)) for version in (found, wanted))
        raise Unavailable(f"Go {has} found, Go {wants} is needed: install it, or set "
                          "KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl")


def run_go(what, command, folder, env):
    """Runs a go command at low priority; prints a line from time to time if it takes long.

    Returns (exit code, output).
    """
    def prepare():
        die_with_parent()
        os.nice(10)
    start = time.monotonic()
    said_at = start
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        with subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=output, stderr=subprocess.STDOUT,
                              preexec_fn=prepare) as process:
            try:
                while process.poll() is None:
                    now = time.monotonic()
                    if now - said_at >= (2 if said_at == start else REPORT_EVERY_S):
                        say(f"{what}, {now - start:.0f} s so far")
                        said_at = now
                    time.sleep(0.05)
            except BaseException:
                process.terminate()
                raise
        output.seek(0)
        return process.returncode, output.read()


def write_module(go, version, folder):
    """Writes a go.mod for one version of Kubernetes into the folder.

    Kubernetes names its own parts as v0.0.0 and replaces them by folders of its tree; a module that
    requires it has to replace them by the published versions.
    """
    answer = subprocess.run([go, "mod", "download", "-json", f"k8s.io/kubernetes@{version}"],
                            cwd=folder, env=environment(GOSUMDB="off"), check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if answer.returncode:
        reason = json.loads(answer.stdout).get("Error") if answer.stdout else answer.stderr
        raise Unavailable(f"Kubernetes {version} cannot be fetched from the module proxy: {reason}")
    upstream = pathlib.Path(json.loads(answer.stdout)["GoMod"]).read_text(encoding="utf-8")
    staged = re.findall(r"^\s(k8s\.io/[a-z-]+) v0\.0\.0(?: .*)?$", upstream, re.M)
    language = re.search(r"^go (\S+)$", upstream, re.M).group(1)
    if go_version(language) < (1, 24, 0):
        language = "1.24.0"  # the first with tool directives
    lines = ["module stowage.dev/tests/kubernetes/controlplane", "", f"go {language}", ""]
    lines += re.findall(r"^godebug default=\S+$", upstream, re.M) + [""]
    lines += ["tool (", *(f"\t{package}" for package in sorted(PROGRAMS.values())), ")", ""]
    lines += [f"require k8s.io/kubernetes {version}", ""]
    part = "v0." + version.split(".", 1)[1]
    lines += ["replace (", *(f"\t{name} => {name} {part}" for name in staged), ")"]
    (folder / "go.mod").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tidy(go, version, folder)


def tidy(go, version, folder):
    """Resolves the module and writes its go.sum."""
    for sumdb in (os.environ.get("GOSUMDB"), "off"):
        env = environment(**({"GOSUMDB": sumdb} if sumdb else {}))
        code, output = run_go(f"{version}: resolving modules", [go, "mod", "tidy"], folder, env)
        if not code:
            return
        if sumdb == "off" or "verifying" not in output:
            raise Unavailable(f"modules of Kubernetes {version} cannot be resolved: "
                              f"{output.strip().splitlines()[-1] if output.strip() else code}")
        say(f"{version}: the checksum database does not answer for it; going on unchecked")


def fetch(what, go, folder, packages):
    """Downloads the modules, checked against go.sum."""
    command = [go, "list", "-mod=readonly", "-deps", "-f", "", *packages]
    code, output = run_go(f"{what}: fetching modules", command, folder, environment())
    if not code:
        return
    if "SECURITY ERROR" in output or "go.sum" in output or "updates to go.mod" in output:
        raise BuildFailed(f"modules do not agree with {folder}/go.sum:\n{output}")
    raise Unavailable("modules cannot be fetched (GOPROXY may name another proxy): "
                      + output.strip().splitlines()[-1])


def output_name(package):
    """The name that go build gives to a program: the last part of its package that is not a
    version."""
    parts = package.split("/")
    return parts[-2] if re.fullmatch(r"v\d+", parts[-1]) else parts[-1]


def build_all(go, version, folder, target):
    """One command for all programs, so that one is compiled while another is linked.

    Go caches what is compiled: an interrupted build continues.
    """
    command = [go, "build", "-mod=readonly", *FLAGS, "-ldflags", linker_flags(version),
               "-o", f"{target}/", *PROGRAMS.values()]
    code, output = run_go(f"{', '.join(PROGRAMS)} {version}: building", command, folder,
                          environment())
    if code:
        raise BuildFailed(f"Kubernetes {version} does not build:\n{output}")
    for name, package in PROGRAMS.items():
        (target / output_name(package)).rename(target / name)


@contextlib.contextmanager
def locked(path):
    """One build at a time; the system releases the lock of a builder that died."""
    with open(path, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is at work; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cache_root():
    named = os.environ.get("STOWAGE_KUBE_CACHE")
    if named:
        return pathlib.Path(named).resolve()
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home) / "stowage" / "kubernetes"


def cache_name(version):
    """A name that depends on everything that the binaries are made from."""
    digest = hashlib.sha256(repr((PROGRAMS, FLAGS, linker_flags(version))).encode())
    if version == PINNED:
        for name in ("go.mod", "go.sum"):
            digest.update((MODULE / name).read_bytes())
    return f"{version}-{digest.hexdigest()[:12]}"


def build(version):
    root = cache_root()
    done = root / cache_name(version)
    if done.is_dir():
        return done
    go, found = find_go()
    if version == PINNED:
        require_go(found, (MODULE / "go.mod").read_text(encoding="utf-8"))
    root.mkdir(parents=True, exist_ok=True)
    with locked(root / (done.name + ".lock")), tempfile.TemporaryDirectory() as scratch:
        if done.is_dir():
            return done
        say(f"one-time build of the Kubernetes {version} control plane into {done} (10 to 20 "
            "minutes on two cores)")
        start = time.monotonic()
        folder = MODULE
        if version != PINNED:
            folder = pathlib.Path(scratch)
            write_module(go, version, folder)
            require_go(found, (folder / "go.mod").read_text(encoding="utf-8"))
        fetch(version, go, folder, PROGRAMS.values())
        target = root / (done.name + ".partial")
        target.mkdir(exist_ok=True)
        build_all(go, version, folder, target)
        target.rename(done)
        say(f"control plane built in {time.monotonic() - start:.0f} s")
    return done


def module_programs(what, source, packages, ldflags=""):
    """A folder with programs (name -> package) of another module, built if they are missing.

    Raises Unavailable or BuildFailed.
    """
    digest = hashlib.sha256(repr((packages, FLAGS, ldflags)).encode())
    for path in sorted(source.rglob("*")):
        if path.suffix in (".go", ".mod", ".sum"):
            digest.update(path.relative_to(source).as_posix().encode() + path.read_bytes())
    target = cache_root() / f"{source.name}-{digest.hexdigest()[:12]}"
    if target.is_dir():
        return target
    go, found = find_go()
    require_go(found, (source / "go.mod").read_text(encoding="utf-8"))
    partial = pathlib.Path(f"{target}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    with locked(f"{target}.lock"):
        if target.is_dir():
            return target
        start = time.monotonic()
        fetch(what, go, source, packages.values())
        command = [go, "build", "-mod=readonly", *FLAGS, "-ldflags", f"-s -w {ldflags}".strip(),
                   "-o", f"{partial}/", *packages.values()]
        code, output = run_go(f"{what}: building", command, source, environment())
        if code:
            raise BuildFailed(f"{what} does not build:\n{output}")
        partial.rename(target)
        say(f"{what} built in {time.monotonic() - start:.0f} s")
    return target


def assets(folder):
    """A folder given by the caller."""
    path = pathlib.Path(folder).resolve()
    missing = [name for name in NEEDED if not os.access(path / name, os.X_OK)]
    if missing:
        raise BuildFailed(f"KUBEBUILDER_ASSETS is {folder}, which has no {', '.join(missing)}")
    return path


def binaries():
    """The folder with the programs. Raises Unavailable or BuildFailed."""
    named = os.environ.get("KUBEBUILDER_ASSETS")
    if named:
        return assets(named)
    version = os.environ.get("KUBE_VERSION") or PINNED
    if not re.fullmatch(r"v1\.\d+\.\d+", version):
        raise BuildFailed(f"KUBE_VERSION is {version}, it has to look like {PINNED}")
    try:
        return build(version)
    except Unavailable as reason:
        if version == PINNED:
            raise
        raise BuildFailed(reason) from None


def main():
    end_cleanly_on_signals()
    try:
        if sys.argv[1:] == ["--write-module"]:
            write_module(find_go()[0], PINNED, MODULE)
        elif sys.argv[1:]:
            print(__doc__, file=sys.stderr)
            return 2
        else:
            print(binaries())
    except Unavailable as reason:
        say(f"skipped: {reason}")
        return SKIPPED
    except BuildFailed as reason:
        say(reason)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
