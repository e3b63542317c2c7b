#!/usr/bin/env python3
"""Compiles what a change touches one by one, although the build compiles sources in batches.

Usage: check_changed.py -p BUILD [--base COMMIT] [--seconds 240] [--list]
       check_changed.py --self-test

Looks at the sources and headers that differ from --base, committed or not. Without --base that is
where the branch left the main one, or on the main branch the previous commit.

- A header must compile alone, twice in a row.
- A source must compile alone, with the flags of its target in BUILD/compile_commands.json: its
  batch gives it the headers that its neighbours include.
- Every function and variable that a source defines or uses alone must be in its batch too. If it
  is not, a call means something else there, because a neighbour or one of its headers has a better
  overload.

Names the sources that it did not check in time. Exit status 1 if a check failed.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

import check_headers

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAIN = ("origin/main", "main", "origin/master", "master")
# Neither changes what a name means, and both make objects larger.
DROPPED = ("-fsanitize", "-fno-sanitize", "-O", "-g", "-D_FORTIFY_SOURCE", "-U_FORTIFY_SOURCE")


def git(root, *words):
    """What git prints, or None if it fails."""
    done = subprocess.run(("git", "-C", str(root), *words), capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def find_base(root):
    """The commit to compare with; None for the first commit."""
    head = git(root, "rev-parse", "HEAD")
    for name in MAIN:
        base = git(root, "merge-base", "HEAD", name)
        if base and base != head:
            return base
    return git(root, "rev-parse", "--verify", "--quiet", "HEAD^")


def changed(root, base):
    """Paths from the root of sources and headers that differ from base, or all without a base."""
    if base:
        names = git(root, "diff", "--name-only", "--diff-filter=d", base) or ""
    else:
        names = git(root, "ls-files") or ""
    untracked = git(root, "ls-files", "--others", "--exclude-standard") or ""
    found = {name for text in (names, untracked) for name in text.split("\n")}
    return sorted(name for name in found if name.endswith((".cc", ".h")))


def plain(command):
    """The compiler and its flags in a command of compile_commands.json, without files."""
    words = iter(shlex.split(command))
    kept = []
    for word in words:
        if word == "-o":
            next(words)
        elif word == "-c":
            next(words)
        elif not word.startswith(DROPPED):
            kept.append(word)
    return kept


def symbols(nm_text):
    """Names that are visible to other objects, from the output of `nm -P`."""
    found = set()
    for line in nm_text.split("\n"):
        name, _, rest = line.partition(" ")
        if rest[:1].isupper() or rest[:1] in ("u", "v", "w"):
            found.add(name)
    return found


class Build:
    """Flags of sources, and the batches that they are in."""

    def __init__(self, folder, root):
        self.folder = folder.resolve()
        self.root = root
        commands = json.loads((self.folder / "compile_commands.json").read_text(encoding="utf-8"))
        self.entries = {}
        for entry in commands:
            self.entries.setdefault(os.path.relpath(entry["file"], root), entry)
        self.batches = {}
        for batch in self.folder.rglob("*_batches/batch_*.cc"):
            for line in batch.read_text(encoding="utf-8").split("\n")[:-1]:
                path = line.split('"')[1]
                if path in self.entries and batch.parent == self.batch_folder(path):
                    self.batches[path] = batch

    def batch_folder(self, path):
        """The folder of the batches of the target whose flags a source has."""
        entry = self.entries[path]
        made = shlex.split(entry["command"])
        folder, _, rest = made[made.index("-o") + 1].partition("CMakeFiles/")
        target = rest.split(".dir/")[0].removesuffix("_alone")
        return pathlib.Path(entry["directory"]) / folder / f"{target}_batches"

    def compile(self, path, flags, scratch):
        """(the compiler's errors, names in the object). flags are of this path of a source."""
        entry = self.entries[flags]
        made = pathlib.Path(scratch) / (str(path).replace("/", "_") + ".o")
        done = subprocess.run([*plain(entry["command"]), "-O0", "-c", str(path), "-o", str(made)],
                              cwd=entry["directory"], capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr or "the compiler failed\n", set()
        listed = subprocess.run(("nm", "-P", str(made)), capture_output=True, text=True, check=True)
        made.unlink()
        return "", symbols(listed.stdout)


def readable(names):
    done = subprocess.run(("c++filt",), input="\n".join(sorted(names)), capture_output=True,
                          text=True, check=True)
    return "".join(f"    {name}\n" for name in done.stdout.split("\n"))


def check_source(path, build, batch_names, scratch):
    """What is wrong with a source, or an empty string."""
    if path not in build.entries:
        return f"{path}: no target has it, or {build.folder.name} was not configured since\n"
    complaint, alone = build.compile(build.root / path, path, scratch)
    if complaint:
        return f"{path}: does not compile alone\n{complaint}"
    if path not in build.batches:
        return ""
    complaint, together = batch_names(build.batches[path], path)
    if complaint:
        return f"{path}: its batch does not compile\n{complaint}"
    missing = alone - together
    if missing:
        return (f"{path}: means something else in its batch, where these are not used\n"
                + readable(missing))
    return ""


class Batches:
    """Names in each batch. Each is compiled once, on first use."""

    def __init__(self, build, scratch):
        self.build = build
        self.scratch = scratch
        self.found = {}

    def names(self, batch, path):
        if batch not in self.found:
            self.found[batch] = self.build.compile(batch, path, self.scratch)
        return self.found[batch]


def check_header(path, build):
    includes = (build.root / "src", build.root, build.folder / "generated")
    complaint = check_headers.compile_alone(path.removeprefix("src/"), "c++", includes)
    return f"{path}: does not compile alone\n{complaint}" if complaint else ""


def groups(paths, build):
    """Sources of one batch are one piece of work, so that the batch is compiled once."""
    found = {}
    for path in paths:
        found.setdefault(build.batches.get(path, path), []).append(path)
    return list(found.values())


def check(paths, build, seconds):
    """(errors, paths that were not checked in time)."""
    end = time.monotonic() + seconds
    complaints, late = [], []

    def work(group):
        batches = Batches(build, scratch)
        for path in group:
            if time.monotonic() > end:
                late.append(path)
            elif path.endswith(".h"):
                complaints.append(check_header(path, build))
            else:
                complaints.append(check_source(path, build, batches.names, scratch))

    with tempfile.TemporaryDirectory() as scratch:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            list(pool.map(work, groups(paths, build)))
    return sorted(filter(None, complaints)), sorted(late)


def self_test():
    command = "/usr/bin/c++ -DA=\\\"b\\\" -I/x -O1 -g1 -fsanitize=address -Wall -o a.o -c /x/a.cc"
    assert plain(command) == ["/usr/bin/c++", '-DA="b"', "-I/x", "-Wall"], plain(command)
    assert symbols("_Zf T 0 4\n_Zg U\n_Zl t 0 4\n_Zw W 0 1\n") == {"_Zf", "_Zg", "_Zw"}
    print("check_changed: self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-p", "--build", type=pathlib.Path)
    parser.add_argument("--base")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--list", action="store_true", help="only say what would be checked")
    parser.add_argument("--self-test", action="store_true")
    given = parser.parse_args()
    if given.self_test:
        return self_test()
    base = given.base or find_base(given.root)
    paths = changed(given.root, base)
    print(f"check_changed: {len(paths)} sources and headers differ from {base or 'nothing'}")
    if given.list:
        print("\n".join(paths))
        return 0
    complaints, late = check(paths, Build(given.build, given.root), given.seconds)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if late:
        print(f"check_changed: no time was left for {len(late)}: {' '.join(late)}")
    print(f"check_changed: {len(paths) - len(late)} compiled alone, {len(complaints)} failed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
