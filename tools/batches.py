#!/usr/bin/env python3
"""Writes sources that include several others, so that headers are read once for all of them.

Usage: batches.py --size N --root FOLDER --out FOLDER SOURCE...
       batches.py --size N --root FOLDER --out FILE --plan PLAN
Prints the files to compile, separated by semicolons: those written into --out, which include up to
N of the sources each, by their paths from --root, and the sources that are left alone.
With --plan, which has one line "target<tab>source<tab>source..." per target, writes into FILE which
sources of each target belong together, and does not touch FILE if it is up to date; FILE.d is a
depfile that names all sources.

A name that is private to one source (in its unnamed namespace, or a macro) may mean something else
in another. Such sources go to different batches.
"""

import argparse
import pathlib
import re
import sys

TYPE = re.compile(r"(?:enum class|enum|struct|class|union|concept)\s+(?:\[\[\w+\]\]\s*)?(\w+)")
ALIAS = re.compile(r"using\s+(\w+)\s*=|using\s+(?:[\w:]+::)?(\w+);")
CONSTANT = re.compile(r"(\w+)(?:\[\w*\])?\s*(?:=(?!=)|\{|;)")
FUNCTION = re.compile(r"(::~?)?(operator[^\s\w(]+|\w+)\s*\(")  # 1: it is a member of a class
MACRO = re.compile(r"#\s*define\s+(\w+)")
# Lines of tests that look like functions but declare no names.
TEST = re.compile(r"(TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_\w+|INSTANTIATE_\w+|static_assert)\(")


def declared(line):
    """The name that a line without indent declares, or None."""
    if TEST.match(line) or line.startswith("using namespace"):
        return None
    for pattern in (TYPE, ALIAS):
        found = pattern.match(line)
        if found:
            return next(name for name in found.groups() if name)
    while (bare := re.sub(r"<[^<>]*>", "", line)) != line:  # no arguments of templates
        line = bare
    function = FUNCTION.search(line)
    constant = CONSTANT.search(line)
    if constant and (not function or constant.start() < function.start()):
        return constant.group(1)
    if function and not function.group(1):
        return function.group(2)
    return None


def own_names(text):
    """Names that are private to a source, and what each means there.

    The sources are formatted by clang-format: the contents of a namespace have no indent.
    """
    names = {}
    inside = False
    for line in text.split("\n"):
        macro = MACRO.match(line)
        if macro:
            names[macro.group(1)] = None
        elif line == "namespace {":
            inside = True
        elif line == "}  // namespace":
            inside = False
        elif (inside or line.startswith("static ")) and line and line[0] not in " \t}#/)":
            name = declared(line)
            if name:
                # Equal aliases mean the same; two functions of one name never do.
                names[name] = line if line.startswith("using ") else None
    return names


def clash(some, others):
    return any(name in others and (meaning is None or others[name] != meaning)
               for name, meaning in some.items())


def batches(sources, size):
    """Each source goes to the first batch with space for it. Takes (path, text) pairs in order."""
    found = []  # (paths, names)
    for path, text in sources:
        names = own_names(text)
        for paths, taken in found:
            if len(paths) < size and not clash(names, taken):
                paths.append(path)
                taken.update(names)
                break
        else:
            found.append(([path], dict(names)))
    return [paths for paths, _ in found]


def write(path, text):
    """Does not touch a file that is up to date, so nothing is compiled again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def arrangement(plan, size, root):
    """What --plan writes, and the sources that it was made from."""
    lines = []
    seen = []
    for line in plan.splitlines():
        target, *paths = line.split("\t")
        paths = [pathlib.Path(path) for path in paths]
        seen += paths
        # A removed source is skipped: the text changes, and CMake runs again.
        pairs = [(path, path.read_text(encoding="utf-8")) for path in paths if path.exists()]
        lines += [target + ": " + " ".join(str(path.relative_to(root)) for path in batch)
                  for batch in batches(pairs, size)]
    return "\n".join(lines) + "\n", seen


def write_arrangement(given):
    text, seen = arrangement(given.plan.read_text(encoding="utf-8"), given.size, given.root)
    write(given.out, text)
    names = " ".join(str(path).replace(" ", "\\ ") for path in sorted(set(seen)))
    write(pathlib.Path(f"{given.out}.d"), f"{given.out}: {names}\n")


def self_test():
    lines = ["int a;", "namespace {", "int b;", "int c() {", "  int d;", "}", "}  // namespace"]
    assert own_names("\n".join([*lines, "int e;"])) == {"b": None, "c": None}
    cases = {
        "constexpr std::size_t kMost = 4;": "kMost",
        "constexpr std::string_view kNames[] = {\"a\"};": "kNames",
        "const std::map<int, int> kTable{": "kTable",
        "struct Claim {": "Claim",
        "class Diary : public ReflectorSink {": "Diary",
        "enum class Kind { a, b };": "Kind",
        "using Reply = tl::expected<ApiReply, CallError>;": "Reply",
        "using core::Card;": "Card",
        "using namespace std::chrono_literals;": None,
        "std::string quoted(std::string_view text) {": "quoted",
        "bool operator==(const A& a, const B& b) {": "operator==",
        "void Reader::read(YamlFields& fields) {": None,
        "std::vector<Event> after(std::size_t piece, Ask asked = ask()) {": "after",
        "TEST(Engine, Binds) {": None,
        "template <typename T>": None,
        "Result<int> read(Limit limit = net::Duration(1)) {": "read",
        "std::function<void(int)> counted(int& n) {": "counted",
        "Reader::Reader(std::string_view text) : text_(text) {}": None,
        "auto find(const Table& table) -> const Row* {": "find",
    }
    for line, name in cases.items():
        assert declared(line) == name, f"{line}: {declared(line)}"

    def text(*lines):
        return "\n".join(["namespace {", *lines, "}  // namespace"])
    put = text("void put(int x) {")
    pairs = [("a", put), ("b", put), ("c", ""), ("d", text("using core::Card;")),
             ("e", text("using core::Card;")), ("f", text("using net::Card;")), ("g", "#define X")]
    assert batches(pairs, 8) == [["a", "c", "d", "e", "g"], ["b", "f"]], batches(pairs, 8)
    assert batches(pairs, 2) == [["a", "c"], ["b", "d"], ["e", "g"], ["f"]], batches(pairs, 2)
    print("batches: self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--plan", type=pathlib.Path)
    parser.add_argument("sources", type=pathlib.Path, nargs="*")
    given = parser.parse_args()
    if given.plan:
        write_arrangement(given)
        return
    pairs = [(path, path.read_text(encoding="utf-8")) for path in given.sources]
    compiled = []
    for number, paths in enumerate(batches(pairs, given.size)):
        if len(paths) == 1:
            compiled.append(paths[0])
            continue
        written = given.out / f"batch_{number}.cc"
        write(written, "".join(f'#include "{path.relative_to(given.root)}"\n' for path in paths))
        compiled.append(written)
    print(";".join(map(str, compiled)), end="")


if __name__ == "__main__":
    main()
