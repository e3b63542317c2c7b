"""Cards of NVIDIA that are not there: device nodes, and the CDI file that their toolkit writes.

The nodes have the numbers of NVIDIA's driver, so a container shows by them which card it got;
nothing opens them. The file has what `nvidia-ctk cdi generate` writes for a driver: edits for all
containers (control devices, libraries, programs, hooks, an environment by which the nvidia runtime
adds nothing), and one device for each card by index, by uuid, and for all of them.
"""
import dataclasses
import hashlib

MAJOR = 195  # of nvidia-frontend
UVM_MAJOR = 511
DRM_MAJOR = 226
CONTROL = (("nvidiactl", MAJOR, 255), ("nvidia-modeset", MAJOR, 254),
           ("nvidia-uvm", UVM_MAJOR, 0), ("nvidia-uvm-tools", UVM_MAJOR, 1))
DRIVER = "570.124.06"
LIBRARIES = ("libcuda.so", "libnvidia-ml.so", "libnvidia-ptxjitcompiler.so", "libcudadebugger.so")
PROGRAMS = ("nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control",
            "nvidia-cuda-mps-server")
DRIVER_ROOT = "/run/nvidia/driver"
SPECIFICATION = "/var/run/cdi/nvidia.yaml"
HOOK_LOG = "/run/nvidia/toolkit/hooks.log"
HOOK = "/run/nvidia/toolkit/nvidia-cdi-hook"
MOUNT_OPTIONS = ("ro", "nosuid", "nodev", "rbind", "rprivate")


@dataclasses.dataclass(frozen=True)
class Card:
    index: int
    minor: int
    uuid: str


def cards(count, name):
    """Cards of one node. Minors run the other way than indexes, so that nobody can mix them up."""
    mark = hashlib.sha256(name.encode()).hexdigest()[:8]
    return [Card(index, count - 1 - index, f"GPU-{mark}-0000-4000-8000-{index:012x}")
            for index in range(count)]


def hook(*arguments):
    return ["    - hookName: createContainer", f"      path: {HOOK}", "      args:",
            "        - nvidia-cdi-hook", *(f"        - {word}" for word in arguments),
            "      env:", "        - NVIDIA_CTK_DEBUG=false"]


def mount(host, container):
    return [f"    - hostPath: {host}", f"      containerPath: {container}", "      options:",
            *(f"        - {option}" for option in MOUNT_OPTIONS)]


def device(name, members):
    lines = [f'  - name: "{name}"', "    containerEdits:", "      deviceNodes:"]
    for card in members:
        lines.append(f"        - path: /dev/nvidia{card.minor}")
        lines.append(f"        - path: /dev/dri/card{card.minor}")
        lines.append(f"        - path: /dev/dri/renderD{128 + card.minor}")
    return lines


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def driver_files(space):
    """(path on the node, path in containers) of the driver's files, as with a driver container."""
    files = [f"/usr/lib/x86_64-linux-gnu/{name}.{DRIVER}" for name in LIBRARIES]
    files += [f"/usr/bin/{name}" for name in PROGRAMS]
    for path in files:
        write_program(space.path(DRIVER_ROOT + path), f"a stand-in for {path}\n")
    return [(DRIVER_ROOT + path, path) for path in files]


def specification(members, files):
    """nvidia.yaml."""
    lines = ["---", "cdiVersion: 0.5.0", "kind: nvidia.com/gpu", "devices:"]
    for card in members:
        lines += device(card.index, [card])
    for card in members:
        lines += device(card.uuid, [card])
    lines += device("all", members)
    lines += ["containerEdits:", "  env:", "    - NVIDIA_VISIBLE_DEVICES=void", "  deviceNodes:"]
    lines += [f"    - path: /dev/{name}" for name, _, _ in CONTROL]
    lines.append("  hooks:")
    lines += hook("create-symlinks", "--link", "libcuda.so.1::/usr/lib/libcuda.so")
    lines += hook("update-ldcache", "--folder", "/usr/lib")
    lines += hook("disable-device-node-modification")
    lines.append("  mounts:")
    for host, container in files:
        lines += mount(host, container)
    return "\n".join(lines) + "\n"


def cards_file(members):
    """The same cards for `stowage agent --cards fake:FILE`."""
    return "model: NVIDIA H100 80GB HBM3\nmemoryMiB: 81559\ncards:\n" + "".join(
        f"- {{index: {card.index}, id: {card.uuid}, minor: {card.minor}}}\n" for card in members)


def install(space, members):
    """Makes the nodes, the driver's files and the CDI file in a node's space."""
    nodes = list(CONTROL)
    for card in members:
        nodes += [(f"nvidia{card.minor}", MAJOR, card.minor),
                  (f"dri/card{card.minor}", DRM_MAJOR, card.minor),
                  (f"dri/renderD{128 + card.minor}", DRM_MAJOR, 128 + card.minor)]
    space.run("sh", "-ec", "mkdir -p /dev/dri\n" + "\n".join(
        f"mknod -m 666 /dev/{name} c {major} {minor}" for name, major, minor in nodes))
    write_program(space.path(HOOK), f"#!/bin/sh\ncat > /dev/null\necho \"$@\" >> {HOOK_LOG}\n")
    space.path(SPECIFICATION).write_text(specification(members, driver_files(space)),
                                         encoding="utf-8")
