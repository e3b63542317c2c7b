#!/usr/bin/env python3
"""Compiles every header under src/ alone, so that none depends on what was included before it."""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def compile_alone(header, compiler, includes):
    """The compiler's errors about one header (a path from src/), or an empty string."""
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra",
               "-Wno-missing-field-initializers", "-Werror", "-x", "c++"]
    for folder in includes:
        command += ["-I", str(folder)]
    # Included twice, to check the include guard.
    source = f'#include "{header}"\n#include "{header}"\n'
    done = subprocess.run(
        command + ["-"], input=source, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stderr or f"{compiler} failed\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--include", action="append", default=[], help="another include folder")
    args = parser.parse_args()
    src = ROOT / "src"
    includes = [src] + [pathlib.Path(x).resolve() for x in args.include]
    headers = sorted(x.relative_to(src).as_posix() for x in src.rglob("*.h"))
    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        results = pool.map(lambda x: compile_alone(x, args.compiler, includes), headers)
        for header, complaint in zip(headers, results):
            if complaint:
                failed.append(header)
                print(f"src/{header}: does not compile alone\n{complaint}", file=sys.stderr)
    print(f"check_headers: {len(headers)} headers, {len(failed)} failed")
    for header in failed:
        print(f"  src/{header}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
