#!/usr/bin/env python3
"""Digests of everything that the engine decides: has a change left all decisions as they were?

Usage: digest.py PROGRAM [--quick] [--only WORD]... [--save FILE | --compare FILE]
       digest.py --self-test

PROGRAM is build/release/tests/decisions/stowage_decisions (`make digest` builds and runs it). For
each policy it is run over every trace of openb in the folder that STOWAGE_TRACES names: pods fill
the cluster, and on some traces come and go. It is also run over random scripts of all other events.
Each line of the output is a run and the SHA-256 of its log, which has each event with its time and
all resulting commands and sentences. The same code gives the same lines.

--compare says which runs differ from those that --save wrote; the exit status is 1 then, and
`stowage_decisions` with the words of the run prints the log to compare. --quick takes fewer traces.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRACES = pathlib.Path(os.environ.get("STOWAGE_TRACES", ROOT.parent / "shared" / "traces"))
SCRIPTS = 300
QUICK_SCRIPTS = 50
QUICK_TRACES = ("default", "multigpu50")
MEMORY_TRACE = "default"  # also with pods that ask for memory
CHURNED = ("default", "gpushare40", "multigpu50")
PIECE = 1 << 20


def policies(program):
    text = subprocess.run((program, "policies"), check=True, capture_output=True, text=True).stdout
    return text.split()


def runs(names, traces, quick):
    """(name, words of the program) of each run. traces are names of pod lists."""
    for policy in names:
        yield f"scripts {policy}", ("scripts", policy, str(QUICK_SCRIPTS if quick else SCRIPTS))
    for trace in traces:
        if quick and trace not in QUICK_TRACES:
            continue
        for policy in names:
            yield f"fill {trace} {policy}", ("fill", policy, trace)
            if trace in CHURNED:
                yield f"churn {trace} {policy}", ("churn", policy, trace)
    if MEMORY_TRACE in traces:
        for share in "AB":
            yield f"fill {MEMORY_TRACE}/{share} dual-price", ("fill", "dual-price", MEMORY_TRACE,
                                                              share)


def with_files(words):
    if words[0] == "scripts":
        return words
    kind, policy, trace, *rest = words
    folder = TRACES / "openb"
    return (kind, policy, str(folder / "openb_node_list_gpu_node.csv"),
            str(folder / f"openb_pod_list_{trace}.csv"), *rest)


def digest(command):
    """The SHA-256 of a command's output. Fails if the command fails."""
    made = hashlib.sha256()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        while piece := child.stdout.read(PIECE):
            made.update(piece)
    if child.returncode:
        raise SystemExit(f"digest: {' '.join(command)}: exit status {child.returncode}")
    return made.hexdigest()


def differences(old, new):
    """One line for each run that differs or that only one side has. Texts are "digest  name"."""
    def table(text):
        return {line.split("  ", 1)[1]: line.split("  ", 1)[0] for line in text.splitlines()}
    before, after = table(old), table(new)
    found = [f"{name}: {before[name]} before, {after[name]} now"
             for name in before if name in after and before[name] != after[name]]
    found += [f"{name}: only before" for name in before if name not in after]
    return found + [f"{name}: only now" for name in after if name not in before]


def self_test():
    assert digest(("printf", "abc")) == hashlib.sha256(b"abc").hexdigest()
    assert differences("1  a b\n2  c\n", "1  a b\n2  c\n") == []
    assert len(differences("1  a b\n2  c\n", "3  a b\n2  d\n")) == 3
    made = dict(runs(["x", "y"], ["default", "other"], False))
    assert len(made) == 2 + 2 * 2 + 2 + 2, made
    assert len(dict(runs(["x"], ["default", "other"], True))) == 1 + 2 + 2
    print("digest: self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", default=[], help="runs that have this word")
    parser.add_argument("--save", type=pathlib.Path)
    parser.add_argument("--compare", type=pathlib.Path)
    given = parser.parse_args()
    traces = sorted(path.stem.removeprefix("openb_pod_list_")
                    for path in (TRACES / "openb").glob("openb_pod_list_*.csv"))
    if not traces:
        print(f"digest: no traces in {TRACES}/openb, scripts only", file=sys.stderr)
    wanted = [(name, words) for name, words in runs(policies(given.program), traces, given.quick)
              if all(word in name.split() for word in given.only)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        digests = pool.map(lambda run: digest((given.program, *with_files(run[1]))), wanted)
        lines = []
        for (name, _), made in zip(wanted, digests):
            lines.append(f"{made}  {name}")
            print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    if given.save:
        given.save.write_text(text, encoding="utf-8")
    if not given.compare:
        return 0
    found = differences(given.compare.read_text(encoding="utf-8"), text)
    for line in found:
        print(f"digest: {line}", file=sys.stderr)
    print(f"digest: {len(wanted)} runs, {len(found)} differ from {given.compare}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
