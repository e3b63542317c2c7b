"""A machine with two cards, one of them divided, as a fake NVML and a fake nvidia-smi.

For the self-test of nvidia_smi_test.py. A change makes the two differ in one value.
"""

import contextlib
import json
import os
import sys

# Name of a change -> the value that must be reported as different.
CHANGES = {
    "uuid": ["cards"],
    "model": ["model"],
    "bus": ["busId"],
    "memory": ["memoryMiB"],
    "brand": ["brand"],
    "minor": ["minor"],
    "driver": ["driver"],
    "used": ["memoryUsedMiB"],
    "utilisation": ["utilisationPermille"],
    "power": ["powerMilliwatts"],
    "no power": ["powerMilliwatts"],
    "temperature": ["temperatureC"],
    "ecc": ["eccUncorrected"],
    "rows": ["rowRemapFailed"],
    "recovery": ["needsReset"],
    "pid": ["pids"],
    "memory of pid": ["memory of 4711"],
    "profile": ["profile"],
    "instance": ["instances"],
    "memory of instance": ["memoryMiB"],
}

TOPOLOGY = """\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m
GPU0\t X \tNV18\tSYS\tPIX\t0-47\t0
GPU1\tNV18\t X \tPIX\tSYS\t0-47\t0
GPU2\tSYS\tPIX\t X \tSYS\t48-95\t1
NIC0\tPIX\tSYS\tSYS\t X

Legend:

  X    = Self
"""

WAYS = [["X", "NV18", "SYS"], ["NV18", "X", "PIX"], ["SYS", "PIX", "X"]]

NVML = """driver 580.1
card GPU-11111111
name NVIDIA H200
number 0
brand 14
pci 0 1b 0
memory 143771 525 900
utilisation 95
power 700000
temperature 60
ecc 0
rows 0
recovery 0
events 108
process c 4711 800
process g 4712 -
card GPU-22222222
name NVIDIA H200
number 1
brand 14
pci 0 2b 0
memory 143771 525 0
ecc 0
events 108
mig MIG-33333333 7 0
name NVIDIA H200 MIG 1g.18gb
memory 16384 0 0
slices 1 1 16384
"""

SMI = r'''#!%(python)s
import json, sys
values = json.load(open(%(values)r))
v = values.__getitem__
args = sys.argv[1:]
if args == ["-q", "-x"]:
    print(f"""<nvidia_smi_log><driver_version>580.1</driver_version>
<gpu id="00000000:1B:00.0"><uuid>{v("uuid")}</uuid><product_brand>{v("brand")}</product_brand>
<minor_number>{v("minor")}</minor_number><gpu_recovery_action>{v("recovery")}</gpu_recovery_action>
<remapped_rows><remapped_row_failure>{v("rows")}</remapped_row_failure></remapped_rows>
<processes><process_info><pid>{v("pid")}</pid><used_memory>{v("memory of pid")}</used_memory>
</process_info><process_info><pid>4712</pid><used_memory>N/A</used_memory></process_info>
</processes>
</gpu><gpu id="00000000:2B:00.0"><uuid>GPU-22222222</uuid><mig_devices><mig_device>
<index>0</index><gpu_instance_id>7</gpu_instance_id><compute_instance_id>0</compute_instance_id>
<fb_memory_usage><total>{v("memory of instance")}</total></fb_memory_usage></mig_device>
</mig_devices>
</gpu></nvidia_smi_log>""")
elif args == ["-L"]:
    print(f"""GPU 0: NVIDIA H200 (UUID: {v("uuid")})
GPU 1: NVIDIA H200 (UUID: GPU-22222222)
  MIG {v("profile")}     Device  0: (UUID: {v("instance")})""")
elif args and args[0].startswith("--query-gpu="):
    first = {"uuid": v("uuid"), "name": v("model"), "index": "0", "pci.bus_id": v("bus"),
             "memory.total": v("memory"), "driver_version": v("driver"),
             "mig.mode.current": "Disabled", "utilization.gpu": v("utilisation"),
             "memory.used": v("used"), "power.draw": v("power"),
             "temperature.gpu": v("temperature"),
             "ecc.errors.uncorrected.volatile.total": v("ecc")}
    second = {name: "[N/A]" for name in first}
    second.update({"uuid": "GPU-22222222", "name": "NVIDIA H200", "index": "1",
                   "mig.mode.current": "Enabled", "driver_version": v("driver")})
    names = args[0].split("=")[1].split(",")
    for card in (first, second):
        print(", ".join(card[name] for name in names))
else:
    sys.exit(f"not asked like that: {args}")
'''

GOOD = {
    "uuid": "GPU-11111111",
    "model": "NVIDIA H200",
    "bus": "00000000:1B:00.0",
    "memory": "143771",
    "brand": "NVIDIA",
    "minor": "0",
    "driver": "580.1",
    "used": "900",
    "utilisation": "95",
    "power": "699.9",
    "temperature": "61",
    "ecc": "0",
    "rows": "No",
    "recovery": "None",
    "pid": "4711",
    "memory of pid": "800 MiB",
    "profile": "1g.18gb",
    "instance": "MIG-33333333",
    "memory of instance": "16384 MiB",
}
BAD = {
    "uuid": ("uuid", "GPU-44444444"),
    "model": ("model", "NVIDIA H100"),
    "bus": ("bus", "00000000:1C:00.0"),
    "memory": ("memory", "143770"),
    "brand": ("brand", "Tesla"),
    "minor": ("minor", "1"),
    "driver": ("driver", "580.2"),
    "used": ("used", "950"),
    "utilisation": ("utilisation", "70"),
    "power": ("power", "500"),
    "no power": ("power", "[N/A]"),
    "temperature": ("temperature", "70"),
    "ecc": ("ecc", "1"),
    "rows": ("rows", "Yes"),
    "recovery": ("recovery", "Reset"),
    "pid": ("pid", "4713"),
    "memory of pid": ("memory of pid", "700 MiB"),
    "profile": ("profile", "1g.20gb"),
    "instance": ("instance", "MIG-55555555"),
    "memory of instance": ("memory of instance", "16000 MiB"),
}


class Machine:
    """The files of the machine in a folder."""

    def __init__(self, folder, change):
        values = dict(GOOD)
        if change is not None:
            key, value = BAD[change]
            values[key] = value
        self.script = folder / "nvml.txt"
        self.script.write_text(NVML, encoding="ascii")
        (folder / "values.json").write_text(json.dumps(values), encoding="ascii")
        smi = folder / "nvidia-smi"
        smi.write_text(
            SMI % {"python": sys.executable, "values": str(folder / "values.json")},
            encoding="ascii",
        )
        smi.chmod(0o755)
        self.smi = str(smi)
        self.burn = "sleep 600"

    @contextlib.contextmanager
    def environment(self):
        os.environ["STOWAGE_FAKE_NVML"] = str(self.script)
        try:
            yield
        finally:
            del os.environ["STOWAGE_FAKE_NVML"]
