#!/usr/bin/env python3
"""Builds that compile sources in batches detect when the batches have to change.

Usage: batches_test.py COMPILER
Creates a small project that uses cmake/module.cmake, and changes its sources between builds.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(STOWAGE_PYTHON /usr/bin/python3)
set(STOWAGE_BATCH 8)
include({cmake}/warnings.cmake)
include({cmake}/module.cmake)
stowage_module(NAME small SRCS {sources})
target_compile_definitions(stowage_small PRIVATE SMALL=1)
stowage_check_batches()
"""


class Small:
    """The project in a folder, and its builds."""

    def __init__(self, folder, compiler):
        self.folder = folder
        self.build_folder = folder / "build"
        self.compiler = compiler

    def write(self, name, text):
        path = self.folder / name
        # Edits in one test follow each other closely, and a build compares file times.
        newest = max((entry.stat().st_mtime_ns for entry in self.files()), default=0)
        path.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
        while path.stat().st_mtime_ns <= newest:
            time.sleep(0.001)
            os.utime(path)

    def files(self):
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def list_sources(self, *sources):
        self.write("CMakeLists.txt",
                   PROJECT.format(cmake=REPOSITORY / "cmake", sources=" ".join(sources)))

    def configure(self):
        self.run("cmake", "-G", "Ninja", "-S", self.folder, "-B", self.build_folder,
                 f"-DCMAKE_CXX_COMPILER={self.compiler}")

    def build(self):
        """What the build printed. Fails if a step fails."""
        return self.run("cmake", "--build", self.build_folder)

    def run(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode:
            raise SystemExit(f"{command} failed:\n{done.stdout}")
        return done.stdout

    def batches(self):
        return sorted(self.build_folder.joinpath("batches.txt").read_text().split("\n")[:-1])

    def commands(self):
        """File -> command, from compile_commands.json."""
        text = self.build_folder.joinpath("compile_commands.json").read_text()
        return {pathlib.Path(entry["file"]).name: entry["command"] for entry in json.loads(text)}


def own(name, value):
    return f"""
        namespace {{
        int {name}() {{ return SMALL + {value}; }}
        }}  // namespace
        int call_{name}_{value}() {{ return {name}(); }}
        """


def check(holds, what):
    if not holds:
        raise SystemExit(f"FAIL  {what}")
    print(f"ok    {what}", flush=True)


def test(small):
    small.write("a.cc", own("one", 1))
    small.write("b.cc", own("two", 2))
    small.list_sources("a.cc", "b.cc")
    small.configure()
    small.build()
    check(small.batches() == ["stowage_small: a.cc b.cc"], "two sources are compiled as one")
    commands = small.commands()
    check(sorted(commands) == ["a.cc", "b.cc"], "compile_commands.json names the sources")
    check(all("-DSMALL=1" in command and "-Wshadow" in command for command in commands.values()),
          "with the flags of their target")
    check("-Wno-subobject-linkage" not in "".join(commands.values()), "and all warnings on")
    check("no work to do" in small.build(), "a second build does nothing")

    small.write("b.cc", own("two", 3))
    check("Re-running CMake" not in small.build(), "a change inside a function only compiles")
    check(small.batches() == ["stowage_small: a.cc b.cc"], "in the same batch")

    small.write("b.cc", own("one", 2))
    check("Re-running CMake" in small.build(), "a name that clashes configures again")
    check(small.batches() == ["stowage_small: a.cc", "stowage_small: b.cc"], "and parts the two")
    check("no work to do" in small.build(), "once")

    small.write("c.cc", own("three", 3))
    small.list_sources("a.cc", "b.cc", "c.cc")
    small.build()
    check(small.batches() == ["stowage_small: a.cc c.cc", "stowage_small: b.cc"], "a new source")
    small.folder.joinpath("b.cc").unlink()
    small.list_sources("a.cc", "c.cc")
    small.build()
    check(small.batches() == ["stowage_small: a.cc c.cc"], "a source that was removed")
    check(sorted(small.commands()) == ["a.cc", "c.cc"], "and its command")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        test(Small(pathlib.Path(made), sys.argv[1]))
