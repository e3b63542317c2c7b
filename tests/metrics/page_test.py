#!/usr/bin/env python3
"""docs/metrics.md agrees with the code.

page_test.py PROGRAM PAGE
"""
import difflib
import pathlib
import re
import subprocess
import sys


def main():
    program, page = sys.argv[1:]
    fresh = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    there = pathlib.Path(page).read_text(encoding="utf-8")
    if fresh != there:
        print("".join(difflib.unified_diff(there.splitlines(True), fresh.splitlines(True), page,
                                           "the code")))
        print("make metrics-page writes it anew")
        return 1
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", fresh, re.M)
    names = [name for name, _ in rows]
    wrong = sorted({name for name in names if names.count(name) > 1})
    wrong += [name for name, kind in rows if (kind == "counter") != name.endswith("_total")]
    wrong += [name for name in re.findall(r"stowage_\w+", fresh.split("## Questions")[1])
              if re.sub("_bucket$", "", name) not in names]
    print(f"{len(names)} metrics" if not wrong else f"names: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
