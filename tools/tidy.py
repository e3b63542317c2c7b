#!/usr/bin/env python3
"""Checks the rules of style that neither the compiler nor clang-format checks.

100 columns, 500 lines per file, 70 lines per function, #pragma once, no tabs, no trailing blanks,
TODO only with the number of an issue, no std::cout in src/core, every .cc in a CMakeLists.txt.
Prints one line per violation; exit status 1 if there is any.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS_MAX = 100
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

TODO = re.compile(r"\b(TODO(?!\(#\d+\))|FIXME|XXX)\b")
TYPE_HEAD = re.compile(r"\b(namespace|class|struct|enum|union|extern|concept)\b")
# Longest first: raw strings, comments, strings, character literals (not the ' of 1'000).
OPAQUE = re.compile(
    r'R"([^ ()\\]*)\(.*?\)\1"|/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"'
    r"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'",
    re.S,
)


def blank_out(text):
    """The text with comments, strings and preprocessor lines replaced by blanks; lines are kept."""
    text = OPAQUE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    directive = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
    return directive.sub(lambda m: "\n" * m.group().count("\n"), text)


def is_function_head(head):
    """True if the text before a { outside of functions opens a function."""
    if "(" not in head or ")" not in head:
        return False
    bare = re.sub(r"operator\s*(\(\)|\[\]|[^\s\w(]+)", "operator", head)
    while True:  # ignore the contents of parentheses and angle brackets
        less = re.sub(r"\([^()]*\)|<[^<>]*>", "", bare)
        if less == bare:
            break
        bare = less
    return "=" not in bare and not TYPE_HEAD.search(bare)


def functions(text):
    """(first line, last line) of each function; lambdas and blocks belong to their function."""
    code = blank_out(text)
    found = []
    stack = []  # per open brace: the first line of the function that it opens, or None
    inside = 0
    head_start = 0
    line = 1
    for position, char in enumerate(code):
        if char == "\n":
            line += 1
        elif char == "{":
            head = code[head_start:position]
            start = None
            if not inside and is_function_head(head):
                start = line - head.lstrip().count("\n")
                inside += 1
            stack.append(start)
            head_start = position + 1
        elif char == "}":
            start = stack.pop() if stack else None
            if start is not None:
                inside -= 1
                found.append((start, line))
            head_start = position + 1
        elif char == ";":
            head_start = position + 1
    return found


def check_lines(path, text):
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > COLUMNS_MAX:
            found.append((number, f"{len(line)} columns, the limit is {COLUMNS_MAX}"))
        if "\t" in line and not path.endswith("Makefile"):
            found.append((number, "tab"))
        if line != line.rstrip():
            found.append((number, "trailing blank"))
        if TODO.search(line) and not path.startswith("tools/"):
            found.append((number, "TODO needs the number of an issue: TODO(#12)"))
    if text and not text.endswith("\n"):
        found.append((len(text.split("\n")), "no newline at the end of the file"))
    return found


def check_cxx(path, text):
    found = []
    lines = text.count("\n")
    if lines > FILE_LINES_MAX:
        found.append((lines, f"{lines} lines, the limit is {FILE_LINES_MAX}"))
    for first, last in functions(text):
        length = last - first + 1
        if length > FUNCTION_LINES_MAX:
            found.append((first, f"function of {length} lines, the limit is {FUNCTION_LINES_MAX}"))
    if path.endswith(".h") and not re.search(r"^#pragma once$", text, re.M):
        found.append((1, "header without #pragma once"))
    if path.startswith("src/core/") and "std::cout" in blank_out(text):
        found.append((1, "std::cout in src/core"))
    return found


def check_text(path, text):
    """Violations of one file as (line, message). path is written from the repository's root."""
    found = check_lines(path, text)
    if path.endswith((".h", ".cc")):
        found += check_cxx(path, text)
    return found


def listed_sources(path, text):
    """The .cc files that a CMakeLists.txt names, as paths from the root."""
    folder = pathlib.PurePosixPath(path).parent
    text = re.sub(r"#[^\n]*", "", text)
    return {(folder / name).as_posix() for name in re.findall(r"[\w./-]+\.cc\b", text)}


def check_listed(sources, lists):
    """Sources (paths) that no CMakeLists.txt (path -> text) names."""
    named = set()
    for path, text in lists.items():
        named |= listed_sources(path, text)
    return [(path, 1, "in no CMakeLists.txt") for path in sorted(sources) if path not in named]


def files():
    for folder in ("src", "tests", "bench", "fuzz", "tools", "cmake", ".ci"):
        for file in sorted((ROOT / folder).rglob("*")):
            text_file = file.suffix in (".h", ".cc", ".py", ".sh", ".cmake", ".in")
            if file.is_file() and (text_file or file.name in ("CMakeLists.txt", "run")):
                yield file
    yield from (ROOT / name for name in ("CMakeLists.txt", "Makefile"))


def check_tree():
    found = []
    sources = set()
    lists = {}
    for file in files():
        path = file.relative_to(ROOT).as_posix()
        text = file.read_text(encoding="utf-8")
        found += [(path, number, message) for number, message in check_text(path, text)]
        if path.endswith(".cc"):
            sources.add(path)
        elif file.name == "CMakeLists.txt":
            lists[path] = text
    return found + check_listed(sources, lists)


def long_function(head, lines):
    return head + " {\n" + "  f();\n" * (lines - 2) + "}\n"


# (path, text, how many violations)
SELF_TEST = [
    ("src/core/a.cc", "int x;\n", 0),
    ("src/core/a.cc", "int x;", 1),
    ("src/core/a.cc", "// " + "x" * 97 + "\n", 0),
    ("src/core/a.cc", "// " + "x" * 98 + "\n", 1),
    ("src/core/a.cc", "\tint x;\n", 1),
    ("src/core/a.cc", "int x; \n", 1),
    ("src/core/a.cc", "// TODO: later\n", 1),
    ("src/core/a.cc", "// TODO(#12): later\n", 0),
    ("src/core/a.h", "int x;\n", 1),
    ("src/core/a.h", "#pragma once\n", 0),
    ("src/core/a.cc", "void f() { std::cout << 1; }\n", 1),
    ("src/sim/a.cc", "void f() { std::cout << 1; }\n", 0),
    ("src/core/a.cc", "// std::cout is forbidden\n", 0),
    ("src/core/a.cc", "int x;\n" * 500, 0),
    ("src/core/a.cc", "int x;\n" * 501, 1),
    ("src/core/a.cc", long_function("void g()", 70), 0),
    ("src/core/a.cc", long_function("void g()", 71), 1),
    ("src/core/a.cc", long_function("template <class T>\nvoid g(T x,\n       int y = 2)", 69), 1),
    ("src/core/a.cc", "namespace a {\n" + long_function("X::X(int a) : a_(a)", 71) + "}\n", 1),
    ("src/core/a.cc", "namespace a {\n" + long_function("void g()", 60) * 2 + "}\n", 0),
    ("src/core/a.cc", "struct A {\n" + long_function("bool operator==(A b)", 71) + "};\n", 1),
    ("src/core/a.cc", "struct A {\n" + "  int f();\n" * 80 + "};\n", 0),
    ("src/core/a.cc", "const Row kRows[] = {\n" + "  {1, f(2)},\n" * 80 + "};\n", 0),
    ("src/core/a.cc", long_function("void g()", 71).replace("f();", 'f("}");', 1), 1),
    ("src/core/a.cc", long_function("void g()", 71).replace("f();", "f('}', 1'000);", 1), 1),
    ("src/core/a.cc", long_function("void g()", 71).replace("f();", "if (a) { b(); }", 1), 1),
]


def self_test():
    failures = 0
    for path, text, wanted in SELF_TEST:
        found = check_text(path, text)
        if len(found) != wanted:
            failures += 1
            print(f"self-test: {path}: wanted {wanted}, found {found}:", file=sys.stderr)
            print(text[:200], file=sys.stderr)
    lists = {"src/core/CMakeLists.txt": "stowage_module(NAME core SRCS a.cc model/b.cc) # c.cc\n"}
    sources = {"src/core/a.cc", "src/core/model/b.cc", "src/core/c.cc"}
    if [path for path, _, _ in check_listed(sources, lists)] != ["src/core/c.cc"]:
        failures += 1
        print("self-test: the check for unlisted sources is wrong", file=sys.stderr)
    print(f"tidy: self-test, {len(SELF_TEST) + 1} examples, {failures} failed")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true", help="check the checker")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    found = check_tree()
    for path, number, message in found:
        print(f"{path}:{number}: {message}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
