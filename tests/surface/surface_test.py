#!/usr/bin/env python3
"""docs/public-surface.txt has every name that users depend on, as in the code.

surface_test.py TABLES PROGRAM FILE [--write]

TABLES prints the tables of the code. Commands and flags come from PROGRAM's help, environment
variables from the source text, objects from the manifests in deploy/.
"""
import difflib
import pathlib
import re
import subprocess
import sys

HEADER = """\
# Names that users of Stowage depend on: commands, flags, environment variables, keys and values of
# files, resources, annotations and labels, objects, HTTP paths, reasons and metrics. Not listed:
# messages, fields of JSON answers and of --output json, and columns of CSV files. Made from the
# code by `make public-surface`; a test compares them.
"""

READ = re.compile(r"\b(?:getenv\(|environment\(|environment,)\s*\"([A-Z][A-Z0-9_]*)\"")

ADVICE = """
The public surface has changed. `make public-surface` writes {file} anew. Before you do:
- Something new: is it in the words of Kubernetes, and documented?
- A renamed or removed name: CHANGELOG.md says so, with old and new name.
- A renamed key of a file: the old one is read with a warning (yaml::StrictMap::renamed).
- Annotations, labels and resources stand on objects of clusters in use: do not rename them.
"""


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def subcommands(text):
    """Names in the section Subcommands of a help text."""
    section = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
    return re.findall(r"^  ([a-z][a-z-]*)", section.group(1), re.M) if section else []


def commands(program, path=()):
    """Lines for a command, its flags and its subcommands."""
    text = run(program, *path, "--help")
    body = re.split(r"^(?:Examples|Start here):", text, flags=re.M)[0]
    lines = [" ".join(("stowage", *path))] if path else []
    for flags, value in re.findall(r"^  ((?:-\w,)?--[a-z-]+)(?: ([A-Z|]+))?", body, re.M):
        if "--help" not in flags:
            lines.append(" ".join(["stowage", *path, flags] + ([value] if value else [])))
    for name in subcommands(body):
        lines += commands(program, (*path, name))
    return lines


def objects(folder):
    """Kind and name of the objects in the manifests, and our own labels."""
    lines = set()
    for file in sorted(folder.glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        for document in re.split(r"^---$", text, flags=re.M):
            kind = re.search(r"^kind: (\w+)", document, re.M)
            name = re.search(r"^metadata:\n(?:  .*\n)*?  name: (\S+)", document, re.M)
            if kind and name:
                lines.add(f"{kind.group(1)} {name.group(1)} ({file.name})")
        for label in re.findall(r"^ +((?:[\w.]+\.)?stowage\.dev/[\w-]+):", text, re.M):
            lines.add(f"label {label} ({file.name})")
        for label in re.findall(r"\{key: (stowage\.dev/[\w-]+),", text):
            lines.add(f"selected label {label} ({file.name})")
    return sorted(lines)


def variables(folder):
    """Environment variables that the source text reads by name, except in tests."""
    names = set()
    for file in folder.rglob("*.cc"):
        if file.name.endswith("_test.cc") or "testing" in file.parts:
            continue
        text = file.read_text(encoding="utf-8")
        names.update(READ.findall(text))
    return sorted(names)


def surface(tables, program):
    root = pathlib.Path(__file__).resolve().parents[2]
    sections = [HEADER.rstrip("\n"), run(tables).rstrip("\n")]
    for title, lines in [("Commands and flags", commands(program)),
                         ("Environment variables", variables(root / "src")),
                         ("Manifests in deploy/", objects(root / "deploy"))]:
        sections.append("\n".join(["", f"## {title}", *lines]))
    return "\n".join(sections) + "\n"


def main():
    tables, program, file = sys.argv[1:4]
    fresh = surface(tables, program)
    path = pathlib.Path(file)
    if sys.argv[4:] == ["--write"]:
        path.write_text(fresh, encoding="utf-8")
        return 0
    there = path.read_text(encoding="utf-8")
    if fresh != there:
        print("".join(difflib.unified_diff(there.splitlines(True), fresh.splitlines(True),
                                           path.name, "the code")))
        print(ADVICE.format(file=f"docs/{path.name}"))
        return 1
    names = [line for line in fresh.splitlines() if line and not line.startswith("#")]
    print(f"{len(names)} names")
    return 0


if __name__ == "__main__":
    sys.exit(main())
