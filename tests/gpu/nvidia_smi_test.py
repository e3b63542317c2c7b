#!/usr/bin/env python3
"""Compares what our source says about the cards of this machine with what nvidia-smi says.

Usage: nvidia_smi_test.py PROBE [--library NVML] [--smi PROGRAM] [--burn COMMAND] [--samples 10]
       nvidia_smi_test.py PROBE --self-test FAKE_NVML

PROBE is stowage_gpu_probe. First idle, then under load: by the command of --burn, which must keep
the cards busy until it is killed, or by a small program if nvcc exists. Constant values must be
equal. Changing values are read from both at the same time, several times, and the median of our
readings must be between the lowest and the highest of nvidia-smi's, within the tolerance in the
table. Exit status 0 if all agree, 1 if not, 77 on a machine without a card.
"""

import argparse
import csv
import io
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

import nvidia_smi_fake

SKIPPED = 77
PATIENCE_S = 120  # for any one command
LOAD_PATIENCE_S = 60  # until a load is visible

# Values that are read several times from nvidia-smi: our name, its name, the factor from its unit
# to ours, and the tolerance (absolute, relative). Sensors are not read at the same time as
# nvidia-smi's, and the driver averages utilisation and power over its own period.
CHANGING = [
    ("utilisationPermille", "utilization.gpu", 10, 150, 0.0),
    ("memoryUsedMiB", "memory.used", 1, 16, 0.005),
    ("powerMilliwatts", "power.draw", 1000, 10_000, 0.15),
    ("temperatureC", "temperature.gpu", 1, 4, 0.0),
    ("eccUncorrected", "ecc.errors.uncorrected.volatile.total", 1, 0, 0.0),
]
FIXED = [
    ("model", "name"),
    ("index", "index"),
    ("busId", "pci.bus_id"),
    ("memoryMiB", "memory.total"),
]
# PCIe paths, as `nvidia-smi topo -m` names them and as we count them.
WAYS = {"PIX": 50, "PXB": 40, "PHB": 30, "NODE": 20, "SYS": 10}

BURN = r"""
// Keeps every card busy, with 2 GiB of its memory in use, until it is killed.
#include <cstdio>
__global__ void burn(float* data, unsigned count) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    float x = data[i];
    for (int round = 0; round < 256; ++round) x = x * 1.000001f + 0.5f;
    data[i] = x;
  }
}
int main() {
  int cards = 0;
  if (cudaGetDeviceCount(&cards) != cudaSuccess || cards == 0) return 1;
  const unsigned count = 1u << 29;
  float* data[64] = {};
  if (cards > 64) cards = 64;
  for (int card = 0; card < cards; ++card) {
    cudaSetDevice(card);
    if (cudaMalloc(&data[card], size_t{count} * sizeof(float)) != cudaSuccess) return 1;
    cudaMemset(data[card], 0, size_t{count} * sizeof(float));
  }
  std::puts("burning");
  std::fflush(stdout);
  while (true) {
    for (int card = 0; card < cards; ++card) {
      cudaSetDevice(card);
      for (int i = 0; i < 8; ++i) burn<<<2048, 256>>>(data[card], count);
    }
    for (int card = 0; card < cards; ++card) {
      cudaSetDevice(card);
      if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    }
  }
}
"""


class Skip(Exception):
    """Nothing to compare on this machine."""


class Smi:
    """Calls nvidia-smi."""

    def __init__(self, program):
        self.program = program

    def ask(self, *args):
        result = subprocess.run(
            [self.program, *args], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        if result.returncode != 0:
            words = (result.stdout + result.stderr).strip().splitlines()
            raise Skip(f"{self.program} fails: {words[0] if words else result.returncode}")
        return result.stdout

    def cards(self, *names):
        """uuid -> {name: text or None}"""
        query = ["uuid", *names]
        text = self.ask("--query-gpu=" + ",".join(query), "--format=csv,noheader,nounits")
        found = {}
        for row in csv.reader(io.StringIO(text), skipinitialspace=True):
            if len(row) == len(query):
                found[row[0]] = {k: known(v) for k, v in zip(names, row[1:])}
        return found

    def details(self):
        """uuid -> element of the long report"""
        root = ElementTree.fromstring(self.ask("-q", "-x"))
        return {gpu.findtext("uuid", "").strip(): gpu for gpu in root.iter("gpu")}

    def instances(self):
        """uuid of an instance -> (index of its card, profile), by `nvidia-smi -L`"""
        found = {}
        card = None
        for line in self.ask("-L").splitlines():
            if match := re.match(r"GPU (\d+):", line):
                card = int(match[1])
            elif match := re.match(r"\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-\S+)\)", line):
                found[match[2]] = (card, match[1])
        return found

    def ways(self):
        return ways_of(self.ask("topo", "-m"))


def ways_of(text):
    """Rows of the matrix of `nvidia-smi topo -m`, for cards only."""
    rows = []
    for line in text.splitlines():
        words = re.sub(r"\x1b\[[0-9;]*m", "", line).split()
        if words and re.fullmatch(r"GPU\d+", words[0]) and "X" in words:
            rows.append(words[1:])
    return [row[: len(rows)] for row in rows]


def known(text):
    """The text of a value, or None for the texts by which nvidia-smi marks a missing value."""
    text = (text or "").strip()
    absent = text.strip("[]").lower() in ("", "n/a", "not supported", "unknown error", "none")
    return None if absent else text


def number(text, scale=1):
    """"12.5 W" as a number, multiplied by scale; None stays None."""
    match = re.match(r"-?\d+(\.\d+)?", known(text) or "")
    return None if match is None else float(match[0]) * scale


class Table:
    """The comparisons and their results."""

    def __init__(self):
        self.rows = []

    def add(self, phase, card, what, theirs, ours, allowed=""):
        self.rows.append((phase, card, what, theirs, ours, allowed, None))

    def judge(self, good, *row):
        self.add(*row)
        self.rows[-1] = (*self.rows[-1][:6], good)

    def same(self, phase, card, what, theirs, ours):
        self.judge(theirs == ours, phase, card, what, theirs, ours, "same")

    def bad(self):
        return [row for row in self.rows if not row[6]]

    def show(self):
        head = ("phase", "card", "value", "nvidia-smi", "ours", "allowed", "")
        lines = [head]
        for row in self.rows:
            lines.append((*[str(cell) for cell in row[:6]], "" if row[6] else "DISAGREE"))
        widths = [min(44, max(len(line[i]) for line in lines)) for i in range(7)]
        for line in lines:
            print("  ".join(f"{c[:44]:<{w}}" for c, w in zip(line, widths)).rstrip())
        print(f"{len(self.rows)} values compared, {len(self.bad())} disagree", flush=True)


class Probe:
    """Runs the probe and reads its lines."""

    def __init__(self, args):
        self.command = [args.probe, "--nvml", *([args.library] if args.library else [])]

    def start(self, samples, every_ms):
        return subprocess.Popen(
            [*self.command, "--samples", str(samples), "--every", str(every_ms)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @staticmethod
    def finish(process):
        out, err = process.communicate(timeout=PATIENCE_S)
        if process.returncode != 0:
            raise AssertionError(f"the probe fails: {err.strip()}")
        lines = [json.loads(line) for line in out.splitlines()]
        samples = [line for line in lines if line["kind"] == "samples"]
        return lines[0], samples

    def inventory(self):
        return self.finish(self.start(0, 0))[0]


def measure(probe, smi, samples, every_ms):
    """Samples of both, taken at the same time."""
    process = probe.start(samples, every_ms)
    theirs = []
    names = [row[1] for row in CHANGING]
    end = time.monotonic() + samples * every_ms / 1000
    while not theirs or time.monotonic() < end:
        theirs.append(smi.cards(*names))
    _, ours = probe.finish(process)
    faults = [fault for line in ours for fault in line["faults"]]
    took = [line["tookMicros"] for line in ours]
    if took:
        usual, most = statistics.median(took) / 1000, max(took) / 1000
        print(f"one sample of all cards takes {usual:.1f} ms, at most {most:.1f} ms")
    return theirs, ours, faults


def compare_changing(table, phase, theirs, ours, whole):
    """Compares changing values of undivided cards (ids)."""
    for card in whole:
        mine = [c for line in ours for c in line["cards"] if c["id"] == card]
        for name, smi_name, scale, absolute, share in CHANGING:
            told = [number(t[card][smi_name], scale) for t in theirs if card in t]
            told = [value for value in told if value is not None]
            said = [c[name] for c in mine if c[name] is not None]
            if not told or not said:
                nobody = not told and not said
                row = (phase, card[:12], name, told or None, said or None, "both or none")
                table.judge(nobody, *row)
                continue
            middle = statistics.median(said)
            slack = max(absolute, share * max(abs(max(told)), abs(middle)))
            good = min(told) - slack <= middle <= max(told) + slack
            between = f"{min(told):g}..{max(told):g}"
            table.judge(good, phase, card[:12], name, between, f"{middle:g}", f"+-{slack:g}")


def compare_processes(table, phase, details, ours, whole):
    for card in whole:
        said = [c["processes"] for line in ours[-1:] for c in line["cards"] if c["id"] == card]
        if not said or said[0] is None:
            continue
        mine = {p["pid"]: p["memoryMiB"] for p in said[0]}
        told = {}
        for process in details[card].iter("process_info"):
            told[int(process.findtext("pid"))] = number(process.findtext("used_memory"))
        table.same(phase, card[:12], "pids", sorted(told), sorted(mine))
        for pid in sorted(set(told) & set(mine)):
            near = told[pid] == mine[pid] or (
                None not in (told[pid], mine[pid])
                and abs(told[pid] - mine[pid]) <= max(16, 0.01 * told[pid])
            )
            row = (phase, card[:12], f"memory of {pid}", told[pid], mine[pid], "+-16, 1%")
            table.judge(near, *row)


def compare_fixed(table, smi, inventory, details):
    """Compares constant values. Returns the ids of the cards that are not divided."""
    cards = {card["id"]: card for card in inventory["cards"]}
    fixed = smi.cards(*[row[1] for row in FIXED], "driver_version", "mig.mode.current")
    divided = {uuid for uuid, row in fixed.items() if row["mig.mode.current"] == "Enabled"}
    whole = sorted(set(fixed) - divided)
    ours = sorted(id for id, card in cards.items() if card["mig"] is None)
    table.same("inventory", "all", "cards", whole, ours)
    for card in whole:
        if card not in cards:
            continue
        mine, told, long = cards[card], fixed[card], details[card]
        same = lambda what, theirs, my: table.same("inventory", card[:12], what, theirs, my)
        same("driver", told["driver_version"], inventory["driver"])
        same("model", told["name"], mine["model"])
        same("index", int(told["index"]), mine["index"])
        same("busId", told["pci.bus_id"], mine["busId"])
        same("memoryMiB", int(number(told["memory.total"]) or 0), mine["memoryMiB"])
        same("brand", long.findtext("product_brand", "Unknown"), mine["brand"])
        minor = number(long.findtext("minor_number"))
        same("minor", None if minor is None else int(minor), mine["minor"])
        same("numa", numa_of(mine["busId"]), mine["numa"])
    compare_instances(table, smi, inventory, details)
    compare_links(table, smi, inventory)
    return [card for card in whole if card in cards]


def numa_of(bus_id):
    """From the kernel, as our source does: nvidia-smi has it only in `topo -m`, and not always."""
    short = bus_id.lower()[4:]
    file = pathlib.Path("/sys/bus/pci/devices") / short / "numa_node"
    try:
        return max(-1, int(file.read_text(encoding="ascii")))
    except (OSError, ValueError):
        return -1


def compare_instances(table, smi, inventory, details):
    instances = {card["id"]: card for card in inventory["cards"] if card["mig"] is not None}
    told = smi.instances()
    if not told and not instances:
        return
    table.same("inventory", "all", "instances", sorted(told), sorted(instances))
    for uuid in sorted(set(told) & set(instances)):
        mine = instances[uuid]
        card, profile = told[uuid]
        table.same("inventory", uuid[:12], "card", card, mine["index"])
        table.same("inventory", uuid[:12], "profile", profile, mine["mig"]["profile"])
        for device in details[mine["mig"]["parent"]].iter("mig_device"):
            ids = [int(device.findtext(f"{kind}_instance_id")) for kind in ("gpu", "compute")]
            if ids == [mine["mig"]["gpuInstance"], mine["mig"]["computeInstance"]]:
                total = number(device.findtext("fb_memory_usage/total"))
                table.same("inventory", uuid[:12], "memoryMiB", int(total or 0), mine["memoryMiB"])


def compare_links(table, smi, inventory):
    whole = [i for i, card in enumerate(inventory["cards"]) if card["mig"] is None]
    if len(whole) < 2 or len(whole) != len(inventory["cards"]):
        return
    ways = smi.ways()
    for a in whole:
        for b in whole[a + 1 :]:
            way = ways[a][b]
            score = inventory["links"][a][b] if inventory["links"] else 0
            if match := re.fullmatch(r"NV(\d+)", way):
                good = score // 100 == int(match[1])
            else:
                good = score == WAYS.get(way, 0)
            table.judge(good, "inventory", f"{a}-{b}", "links", way, score, "same")


def compare_errors(table, details, ours, whole):
    """Compares values that only the long report has. Missing parts are not compared."""
    for card in whole:
        mine = next(c for c in ours[-1]["cards"] if c["id"] == card)
        failed = known(details[card].findtext("remapped_rows/remapped_row_failure"))
        if failed is not None:
            row = ("inventory", card[:12], "rowRemapFailed", failed == "Yes")
            table.same(*row, mine["rowRemapFailed"])
        action = details[card].findtext("gpu_recovery_action")
        if action is not None and action.strip() not in ("N/A", ""):
            wants = action.strip() not in ("None", "Drain P2P")
            table.same("inventory", card[:12], "needsReset", wants, mine["needsReset"])


def start_burn(args, folder):
    """A process that keeps the cards busy, or None."""
    if args.burn:
        return subprocess.Popen(["/bin/sh", "-c", "exec " + args.burn], stdout=subprocess.DEVNULL)
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        print("no load: there is neither --burn nor nvcc")
        return None
    source, program = folder / "burn.cu", folder / "burn"
    source.write_text(BURN, encoding="ascii")
    built = subprocess.run(
        [nvcc, "-O2", "-o", str(program), str(source)],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    if built.returncode != 0:
        print(f"no load: nvcc fails: {built.stderr.strip()[-300:]}")
        return None
    return subprocess.Popen([str(program)], stdout=subprocess.DEVNULL)


def under_load(args, table, probe, smi, whole):
    with tempfile.TemporaryDirectory() as folder:
        burn = start_burn(args, pathlib.Path(folder))
        if burn is None:
            return
        try:
            end = time.monotonic() + LOAD_PATIENCE_S
            while True:
                told = smi.cards("utilization.gpu").values()
                if any((number(row["utilization.gpu"]) or 0) >= 60 for row in told):
                    break
                if burn.poll() is not None or time.monotonic() > end:
                    raise AssertionError("the load does not show in nvidia-smi")
                time.sleep(0.5)
            time.sleep(args.settle)  # the driver's averages must no longer include the idle time
            theirs, ours, _ = measure(probe, smi, args.samples, args.every)
            compare_changing(table, "load", theirs, ours, whole)
            compare_processes(table, "load", smi.details(), ours, whole)
            said = [c["utilisationPermille"] or 0 for line in ours for c in line["cards"]]
            most = max(said, default=0)
            table.judge(most >= 500, "load", "all", "is seen", ">= 500", most, "")
        finally:
            burn.kill()
            burn.wait()


def compare(args):
    program = args.smi or shutil.which("nvidia-smi")
    if not program:
        raise Skip("there is no nvidia-smi")
    smi = Smi(program)
    details = smi.details()
    if not details:
        raise Skip("nvidia-smi knows of no card")
    table = Table()
    probe = Probe(args)
    inventory = probe.inventory()
    whole = compare_fixed(table, smi, inventory, details)
    theirs, ours, faults = measure(probe, smi, args.samples, args.every)
    table.same("rest", "all", "faults", [], faults)
    compare_changing(table, "rest", theirs, ours, whole)
    compare_processes(table, "rest", smi.details(), ours, whole)
    compare_errors(table, details, ours, whole)
    under_load(args, table, probe, smi, whole)
    table.show()
    return table


def self_test(args):
    """Both sides are fake: equal first, then with one changed value, which must be found."""
    failures = 0
    if ways_of(nvidia_smi_fake.TOPOLOGY) != nvidia_smi_fake.WAYS:
        failures += 1
        print("self-test: the matrix of ways is read wrongly")
    for change in [None, *nvidia_smi_fake.CHANGES]:
        with tempfile.TemporaryDirectory() as folder:
            machine = nvidia_smi_fake.Machine(pathlib.Path(folder), change)
            made = argparse.Namespace(
                probe=args.probe, library=args.self_test, smi=machine.smi, burn=machine.burn,
                samples=3, every=100, settle=0,
            )  # fmt: skip
            with machine.environment():
                table = compare(made)
            found = sorted({row[2] for row in table.bad()})
            wanted = [] if change is None else nvidia_smi_fake.CHANGES[change]
            if found != wanted:
                failures += 1
                print(f"self-test: {change}: expected {wanted} to disagree, found {found}")
    cases = len(nvidia_smi_fake.CHANGES) + 2
    print(f"nvidia_smi_test: self-test, {cases} cases, {failures} failed")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("probe")
    parser.add_argument("--library", help="NVML; default: the system's")
    parser.add_argument("--smi", help="nvidia-smi; default: the one on the path")
    parser.add_argument("--burn", help="a command that keeps the cards busy until it is killed")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--every", type=int, default=1000, help="milliseconds between samples")
    parser.add_argument("--settle", type=int, default=5, help="seconds of load before samples")
    parser.add_argument("--self-test", help="check the comparison, with this fake NVML")
    args = parser.parse_args()
    if args.self_test:
        return self_test(args)
    try:
        return 1 if compare(args).bad() else 0
    except Skip as reason:
        print(f"skipped: {reason}")
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
