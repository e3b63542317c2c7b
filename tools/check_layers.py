#!/usr/bin/env python3
"""Checks that code under src/ includes only what its layer may use.

The tables below are the layering rule: LAYERS says which folders a folder may include, THIRD_PARTY
which folders may include a library, PURE which folders have no I/O, clock, thread or randomness.
Exit status 0 when all files obey, 1 with one line per violation otherwise.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

DOORS = ["scheduler", "extender", "metricsapi"]
KUBE = ["base", "core", "dialect", "codec", "net", "kube"]

# Folder -> what it may include besides itself: a folder, or a part of one ("core/model").
LAYERS = {
    "base": [],
    "yaml": ["base"],
    "core": ["base"],
    "dialect": ["base", "core/model"],
    "codec": ["base", "core", "dialect"],
    "net": ["base"],
    "gpu": ["base", "yaml", "core/model"],
    "mps": ["base", "codec", "gpu", "net"],
    "grpc": ["base", "net"],
    "kube": ["base", "core", "dialect", "codec", "net"],
    "reports": KUBE,
    "scheduler": KUBE,
    "extender": KUBE + ["scheduler"],  # shares the cluster cache and the event queue
    "metricsapi": KUBE + ["reports", "scheduler", "extender"],
    "webhook": ["base", "core/model", "dialect", "codec"],
    "controller": KUBE + DOORS + ["reports", "webhook", "yaml"],
    "plugin": KUBE + ["grpc", "mps", "yaml"],
    "agent": KUBE + ["gpu", "grpc", "plugin"],
    "local": KUBE,
    "sim": ["base", "core"],
    "client": KUBE + ["scheduler"],
    "doctor": ["base", "plugin"],
}
LAYERS["cmd"] = list(LAYERS)

EVERYWHERE = list(LAYERS)

# Start of an <include> -> the folders (or parts) whose files may use it.
THIRD_PARTY = {
    "fmt/": ["base", "core/explain"] + [x for x in EVERYWHERE if x not in ("base", "core")],
    "tl/": ["base"],
    "CLI/": ["cmd"],
    "yaml-cpp/": ["yaml", "kube", "local", "client"],
    "simdjson": ["codec"],
    "boost/json": ["local"],
    "boost/": ["net"],
    "openssl/": ["net"],
    "gperftools/": ["controller"],
    "nghttp2/": ["grpc"],
    "toml++/": ["doctor"],
}
TEST_ONLY = ("gtest/", "gmock/", "rapidcheck")

# Third-party includes that our headers may have; every file that includes the header pays for them.
IN_HEADERS = {
    "fmt/core.h": ["base"],
    "fmt/format.h": ["base"],
    "tl/expected.hpp": ["base"],
    "boost/asio/executor_work_guard.hpp": ["net"],
    "boost/asio/generic/stream_protocol.hpp": ["net"],
    "boost/asio/io_context.hpp": ["net"],
    "boost/asio/ip/tcp.hpp": ["net"],
    "boost/asio/signal_set.hpp": ["net"],
    "boost/json.hpp": ["local"],
}

# Folders that may use headers of the operating system (<unistd.h>, <sys/socket.h>).
SYSTEM = ["net", "gpu", "mps", "plugin", "agent", "kube", "local", "controller", "client", "cmd",
          "doctor"]

PURE = ["core", "dialect"]
PURE_FORBIDDEN = {
    "thread", "mutex", "shared_mutex", "condition_variable", "atomic", "future", "stop_token",
    "semaphore", "latch", "barrier", "fstream", "iostream", "filesystem", "random", "ctime",
    "cstdio", "csignal", "syncstream",
}  # fmt: skip
PURE_ALLOWED_IN_TESTS = {"fstream", "iostream", "filesystem", "cstdio"}
PURE_TOKENS = [
    (re.compile(r"::now\s*\("), "reads a clock"),
    (re.compile(r"\bgetenv\s*\("), "reads the environment"),
    (re.compile(r"\brandom_device\b"), "draws randomness"),
    (re.compile(r"\bs?rand\s*\(\s*\)"), "draws randomness"),
    (re.compile(r"\bsocket\s*\("), "opens a socket"),
]
LOOKUP_ONLY = re.compile(r"//\s*lookup only\s*$")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def within(path, places):
    """True if path (from src/) lies in one of the places, each a folder from src/."""
    return any(path.startswith(place + "/") for place in places)


def check_project_include(path, layer, name):
    if "/" not in name:
        return f'"{name}": write includes from src/, such as "{layer}/{name}"'
    if within(name, [layer]) or within(name, LAYERS[layer]):
        return None
    allowed = ", ".join(LAYERS[layer]) or "nothing but itself"
    return f'"{name}": {layer} may include {allowed}'


def check_system_include(path, layer, name):
    test = path.endswith("_test.cc")
    if name.startswith(TEST_ONLY):
        if test or "/testing/" in path:
            return None
        return f"<{name}>: only for *_test.cc and testing/"
    for prefix, places in THIRD_PARTY.items():
        if not name.startswith(prefix):
            continue
        if not within(path, places) and not (test and prefix == "fmt/"):
            return f"<{name}>: allowed only in {', '.join(places)}"
        if path.endswith(".h") and not within(path, IN_HEADERS.get(name, [])):
            return f"<{name}>: not in a header; include it in the .cc"
        return None
    if layer in PURE and name in PURE_FORBIDDEN:
        if not (test and name in PURE_ALLOWED_IN_TESTS):
            return f"<{name}>: {layer} is pure"
        return None
    if "/" in name or name.endswith(".h"):
        system = name.endswith(".h") and (
            "/" not in name or name.startswith(("sys/", "netinet/", "arpa/", "net/", "linux/"))
        )
        if not system:
            return f"<{name}>: a library that tools/check_layers.py does not know"
        if layer not in SYSTEM:
            return f"<{name}>: {layer} may not use the operating system"
    return None


def check_pure_line(path, code, line):
    for pattern, what in PURE_TOKENS:
        if pattern.search(code):
            return what
    if "unordered_" in code and not path.endswith("_test.cc") and not LOOKUP_ONLY.search(line):
        return "unordered container: its order is not fixed; end the line with // lookup only"
    return None


def check_text(path, text):
    """Violations of one file. path is written from src/, such as core/model/node.h."""
    layer = path.split("/")[0]
    if layer not in LAYERS:
        return [(1, f"src/{layer} is not in the table of tools/check_layers.py")]
    found = []
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    for number, line in enumerate(text.splitlines(), start=1):
        match = INCLUDE.match(line)
        if match:
            check = check_project_include if match[1] == '"' else check_system_include
            problem = check(path, layer, match[2])
        elif layer in PURE:
            code = STRING.sub('""', line).split("//")[0]
            problem = check_pure_line(path, code, line)
        else:
            problem = None
        if problem:
            found.append((number, problem))
    return found


def check_tree(src):
    found = []
    for file in sorted(src.rglob("*")):
        if file.suffix in (".h", ".cc"):
            path = file.relative_to(src).as_posix()
            for number, problem in check_text(path, file.read_text(encoding="utf-8")):
                found.append(f"src/{path}:{number}: {problem}")
    return found


# (path, text, whether it must be refused)
SELF_TEST = [
    ("base/a.h", "#include <tl/expected.hpp>\n#include <fmt/core.h>\n", False),
    ("base/a.h", '#include "core/model/node.h"\n', True),
    ("base/a.cc", "#include <unistd.h>\n", True),
    ("core/a.h", '#include <vector>\n#include "base/result.h"\n#include "core/b.h"\n', False),
    ("core/a.h", '#include "sim/replay.h"\n', True),
    ("core/a.h", '#include "b.h"\n', True),
    ("core/a.cc", "#include <thread>\n", True),
    ("core/a.cc", "#include <chrono>\nusing Seconds = std::chrono::seconds;\n", False),
    ("core/a.cc", "auto t = std::chrono::steady_clock::now();\n", True),
    ("core/a.cc", "// std::chrono::steady_clock::now() is forbidden here\n", False),
    ("core/a.cc", 'auto s = "x::now()";\n', False),
    ("core/a.cc", "/* a\nsteady_clock::now()\n*/ int x;\n", False),
    ("core/a.cc", "#include <fstream>\n", True),
    ("core/a_test.cc", "#include <fstream>\n#include <gtest/gtest.h>\n", False),
    ("core/a_test.cc", "#include <thread>\n", True),
    ("core/a.cc", "#include <gtest/gtest.h>\n", True),
    ("core/a.cc", "#include <fmt/core.h>\n", True),
    ("core/explain/a.cc", "#include <fmt/core.h>\n", False),
    ("core/explain/a.h", "#include <fmt/core.h>\n", True),
    ("core/a.h", "#include <tl/expected.hpp>\n", True),
    ("core/a.cc", "#include <sys/socket.h>\n", True),
    ("core/a.h", "std::unordered_map<int, int> m;\n", True),
    ("core/a.h", "#include <unordered_map>\n", False),
    ("core/a.h", "std::unordered_map<int, int> m;  // lookup only\n", False),
    ("dialect/a.cc", '#include "core/model/pod.h"\n', False),
    ("dialect/a.cc", '#include "core/engine/engine.h"\n', True),
    ("net/a.cc", "#include <boost/asio.hpp>\n#include <sys/socket.h>\n", False),
    ("net/a.cc", '#include "core/model/pod.h"\n', True),
    ("sim/a.cc", '#include "core/model/pod.h"\n#include <fmt/core.h>\n#include <fstream>\n', False),
    ("sim/a.cc", "#include <CLI/CLI.hpp>\n", True),
    ("cmd/a.cc", '#include <CLI/CLI.hpp>\n#include "sim/replay.h"\n', False),
    ("sim/a.cc", "#include <absl/strings/str_cat.h>\n", True),
    ("misc/a.cc", "int x;\n", True),
]


def self_test():
    failures = 0
    for path, text, refused in SELF_TEST:
        if bool(check_text(path, text)) != refused:
            failures += 1
            wanted = "a violation" if refused else "no violation"
            print(f"self-test: expected {wanted} in {path}:\n{text}", file=sys.stderr)
    print(f"check_layers: self-test, {len(SELF_TEST)} examples, {failures} failed")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true", help="check the checker")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    found = check_tree(ROOT / "src")
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
