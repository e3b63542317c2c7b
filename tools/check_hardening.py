#!/usr/bin/env python3
"""Is the program built the way that makes attacks on it hard?

    check_hardening.py PROGRAM
    check_hardening.py --self-test

Asks readelf: position independent, relocations read-only and resolved at the start, no executable
stack, no relocations in code, stack protector, fortified calls.
"""
import re
import subprocess
import sys


def problems(header, segments, dynamic, symbols):
    """One line for each missing property; the arguments are outputs of readelf."""
    found = []
    if not re.search(r"Type:\s+DYN", header):
        found.append("not position independent (-fPIE -pie)")
    if "GNU_RELRO" not in segments:
        found.append("relocations stay writable (-z relro)")
    if not re.search(r"\(FLAGS(_1)?\).*\bNOW\b|\(BIND_NOW\)", dynamic):
        found.append("relocations are resolved late (-z now)")
    stack = re.search(r"GNU_STACK\s+\S+ \S+ \S+\s+\S+ \S+ ([RWE ]+?)\s+0x", segments)
    if not stack or "E" in stack[1]:
        found.append("the stack is executable (-z noexecstack)")
    if "TEXTREL" in dynamic:
        found.append("code has relocations")
    if "__stack_chk_fail" not in symbols:
        found.append("no stack protector (-fstack-protector-strong)")
    if not re.search(r"__\w+_chk\b(?<!__stack_chk)", symbols):
        found.append("no fortified calls (-D_FORTIFY_SOURCE)")
    return found


def readelf(flag, program):
    return subprocess.run(("readelf", "-W", flag, program), check=True, capture_output=True,
                          text=True).stdout


def self_test():
    good = ("  Type:   DYN (Position-Independent)\n  Machine:  Advanced X86-64",
            "  GNU_STACK      0x000000 0x0000 0x0000 0x000000 0x000000 RW  0x10\n  GNU_RELRO",
            " 0x1e (FLAGS) BIND_NOW\n 0x6ffffffb (FLAGS_1) Flags: NOW PIE",
            "__stack_chk_fail@GLIBC\n__memcpy_chk@GLIBC")
    assert problems(*good) == [], problems(*good)
    for place, old, new in ((0, "DYN", "EXEC"), (1, "GNU_RELRO", ""), (1, "RW ", "RWE"),
                            (3, "__stack_chk_fail", ""), (3, "__memcpy_chk", "memcpy")):
        bad = list(good)
        bad[place] = bad[place].replace(old, new)
        assert len(problems(*bad)) == 1, (old, problems(*bad))
    late = list(good)
    late[2] = " 0x1e (FLAGS)"
    assert problems(*late) == ["relocations are resolved late (-z now)"]


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    found = problems(*(readelf(flag, sys.argv[1]) for flag in ("-h", "-l", "-d", "-s")))
    for line in found:
        print(f"{sys.argv[1]}: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
