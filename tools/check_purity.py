#!/usr/bin/env python3
"""Fails when an archive asks the linker for a clock, a thread, a socket, randomness or a file.

This is the layering rule at the level of object code: what check_layers.py cannot see in the text
(a call hidden behind a macro or an inline function) still appears as an undefined symbol.
"""

import argparse
import re
import subprocess
import sys

FORBIDDEN = [
    (r"(__)?clock_gettime(64)?|gettimeofday|time|clock|timespec_get", "a clock"),
    (r"_ZNSt6chrono.*_clock3nowEv", "a clock"),
    (r"nanosleep|clock_nanosleep|usleep|sleep", "sleeping"),
    (r"_ZNSt6thread15_M_start_thread.*|pthread_create|thrd_create", "a thread"),
    (r"pthread_mutex_lock|pthread_cond_.*|pthread_rwlock_.*", "a lock"),
    (r"socket|connect|accept4?|bind|listen|send(to|msg)?|recv(from|msg)?", "a socket"),
    (r"getrandom|getentropy|arc4random.*|s?rand|s?random|_ZNSt13random_device.*", "randomness"),
    (r"f?open(64|at|at64)?|fopen(64)?|freopen(64)?|creat(64)?|__open.*_2", "a file"),
    (r"_ZNSt1\d+basic_[io]?f(ile|stream).*|_ZNSt1\d+basic_filebuf.*", "a file"),
    (r"stdout|stderr|stdin|puts|putchar|(__)?printf(_chk)?|_ZSt4(cout|cerr|clog|cin)", "a stream"),
    (r"(secure_)?getenv|environ", "the environment"),
]
COMPILED = [(re.compile(pattern), what) for pattern, what in FORBIDDEN]


def judge(symbol):
    """What the symbol accesses, or None if it is harmless."""
    plain = symbol.split("@")[0]
    for pattern, what in COMPILED:
        if pattern.fullmatch(plain):
            return what
    return None


def check_archive(archive):
    listing = subprocess.run(
        ["nm", "-u", "-A", archive], capture_output=True, text=True, check=True
    ).stdout
    found = set()
    for line in listing.splitlines():
        fields = line.split()
        what = judge(fields[-1]) if fields else None
        if what:
            found.add(f"{fields[0].rstrip(':')}: uses {what}: {fields[-1]}")
    return sorted(found)


SELF_TEST = [
    ("clock_gettime", True),
    ("clock_gettime@GLIBC_2.17", True),
    ("_ZNSt6chrono3_V212steady_clock3nowEv", True),
    ("_ZNSt6chrono3_V212system_clock3nowEv", True),
    ("_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE", True),
    ("socket", True),
    ("getrandom", True),
    ("fopen", True),
    ("fopen64", True),
    ("open", True),
    ("open64", True),
    ("__open64_2", True),
    ("_ZSt4cout", True),
    ("_ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode", True),
    ("_ZNSt13basic_filebufIcSt11char_traitsIcEEC1Ev", True),
    ("getenv", True),
    ("_Znwm", False),
    ("memcpy", False),
    ("_ZN7stowage4core6Ledger4openEv", False),
    ("_ZN7stowage4core4timeEv", False),
    ("_ZSt20__throw_length_errorPKc", False),
    ("__stack_chk_fail", False),
]


def self_test():
    failed = [symbol for symbol, bad in SELF_TEST if (judge(symbol) is not None) != bad]
    for symbol in failed:
        print(f"self-test: wrong verdict for {symbol}", file=sys.stderr)
    print(f"check_purity: self-test, {len(SELF_TEST)} symbols, {len(failed)} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", nargs="?", default="build/release/src/core/libstowage_core.a")
    parser.add_argument("--self-test", action="store_true", help="check the checker")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    found = check_archive(args.archive)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
