#!/usr/bin/env python3
"""Finds what compiles only in its batch, or means something else there.

Usage: changed_test.py COMPILER
Creates a small project that uses cmake/module.cmake, in its own git repository.
"""
import pathlib
import subprocess
import sys
import tempfile

from batches_test import REPOSITORY, Small, check


def found(small):
    """(exit status, output of tools/check_changed.py)."""
    done = subprocess.run(
        (sys.executable, REPOSITORY / "tools/check_changed.py", "--root", small.folder,
         "-p", small.build_folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    return done.returncode, done.stdout


def commit(small, text):
    small.run("git", "-C", small.folder, "add", "-A")
    small.run("git", "-C", small.folder, "-c", "user.name=test", "-c", "user.email=test@localhost",
              "commit", "-q", "-m", text)


def test(small):
    small.run("git", "init", "-q", "-b", "trunk", small.folder)
    small.write(".gitignore", "build/\n")
    small.write("wide.h", "#pragma once\nlong twice(long x);\n")
    small.write("narrow.h", "#pragma once\nint twice(int x);\n")
    small.write("a.cc", '#include "narrow.h"\nint twice(int x) { return 2 * x; }\n')
    small.write("b.cc", '#include "wide.h"\nlong twice(long x) { return 2 * x; }\n')
    small.write("c.cc", "int unrelated() { return 0; }\n")
    small.list_sources("a.cc", "b.cc", "c.cc")
    commit(small, "first")
    small.configure()
    small.build()
    status, text = found(small)
    check(status == 0 and " 5 sources and headers" in text, "without a base everything is checked")

    small.write("c.cc", '#include "narrow.h"\nint four() { return twice(2); }\n')
    commit(small, "second")
    status, text = found(small)
    check(status == 0 and " 1 sources and headers" in text, "only what changed is compiled")

    small.write("c.cc", "int four() { return twice(2); }\n")
    status, text = found(small)
    check(status == 1 and "c.cc: does not compile alone" in text, "a missing include is found")

    # Nothing else in the batch uses twice(long), so its absence is visible.
    small.write("b.cc", "int other() { return 1; }\n")
    small.write("c.cc", '#include "wide.h"\nlong four() { return twice(2); }\n')
    small.build()
    status, text = found(small)
    check(status == 1 and "twice(long)" in text, "a call that means another overload is found")

    small.write("wide.h", "#pragma once\nvoid hear(Sound sound);\n")
    status, text = found(small)
    check(status == 1 and "wide.h: does not compile alone" in text, "so is a header")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        test(Small(pathlib.Path(made), sys.argv[1]))
