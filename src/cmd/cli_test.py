#!/usr/bin/env python3
"""Runs the program as people do and checks exit codes, streams and results.

Usage: cli_test.py PATH_OF_STOWAGE
"""

import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,65536,4,T4\nn1,32000,65536,4,G2\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
    "a,1000,1024,1,500,\n"
    "b,1000,1024,1,1000,T4\n"
    "c,1000,1024,2,1000,T4|G2\n"
    "d,1000,1024,0,0,\n"
)
SEQUENCE = "2\nn0 1\nn1 0\n5\n0\n1\n2\n3\n2\n"


def run(*args, **kwargs):
    kwargs.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(
        [PROGRAM, *args], stderr=subprocess.PIPE, text=True, timeout=120, check=False, **kwargs
    )


class CliTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.nodes = self.write("nodes.csv", NODES)
        self.pods = self.write("pods.csv", PODS)
        self.trace = ["sim", "--nodes", self.nodes, "--pods", self.pods]

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def assert_bad_input(self, args, *words):
        """Exit code 2, nothing on stdout, one line on stderr that has all of the words."""
        result = run(*args)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertTrue(result.stderr.startswith("stowage: "), result.stderr)
        self.assertTrue(result.stderr.endswith("\n"))
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_version_and_help_go_to_stdout(self):
        for args, words in [
            (["--version"], ["stowage "]),
            (["--help"], ["sim"]),
            ([], ["Usage: stowage", "what-if", "Start here:"]),
            (["help"], ["Usage: stowage [OPTIONS] [SUBCOMMAND]", "what-if ", "Start here:"]),
            (["help", "sim"], ["Usage: stowage sim", "--nodes"]),
            (["help", "migrate", "scheduler-config"], ["Usage: stowage migrate scheduler-config"]),
            (["version"], ["stowage "]),
            (["sim", "--help"], ["Usage: stowage sim", "--nodes", "Examples:", "[dual-price]"]),
            (["sim", "--list-policies"], ["dual-price", "fgd"]),
        ]:
            result = run(*args)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stderr, "")
            for word in words:
                self.assertIn(word, result.stdout)

    def test_bad_flags_end_with_one_line(self):
        trace = self.trace
        for args, words in [
            (["smi"], ["smi", "did you mean sim?"]),
            (["help", "smi"], ["smi", "did you mean sim?"]),
            (["version", "7"], ["7"]),
            (["--verson"], ["--verson", "--version"]),
            (["sim"], ["no trace given"]),
            (trace + ["--polcy", "fgd"], ["--polcy", "did you mean --policy?"]),
            (trace + ["--policy=fdg"], ["fdg", "fgd"]),
            (trace + ["--policy", "fgd/sprad"], ["sprad", "spread"]),
            (trace + ["extra"], ["extra"]),
            (trace + ["--seed"], ["--seed"]),
            (trace + ["--seed", "-5"], ["--seed", "-5"]),
            (trace + ["--nodes", self.nodes], ["--nodes"]),
            (trace + ["--sequence", "s.txt", "--inflate", "1.3"], ["--sequence", "--inflate"]),
            (trace + ["--queue"], ["--queue", "--churn"]),
            (["agent", "--node-name", "n", "--controller", "http://192.0.2.1:10362"],
             ["--controller", "not encrypted", "https://"]),
            (["agent", "--device-plugin", "--injection", "links"],
             ["--injection", "links", "auto, cdi or runtime"]),
            (["agent", "--device-plugin", "--attachments", "0"], ["--attachments", "1 to 4096"]),
            (["agent", "--device-plugin", "--signing-keys", "x"], ["--signing-keys", "NAMESPACE"]),
            (trace + ["-o", "xml"], ["xml", "table, json or csv"]),
        ]:
            with self.subTest(args=args):
                self.assert_bad_input(args, *words)

    def test_bad_files_end_with_one_line(self):
        cases = [
            ("pods.csv", PODS + "e,1000,1024,1,-5,\n", ["pods.csv:6", "gpu_milli", '"-5"']),
            ("pods.csv", PODS + "e,1000\n", ["pods.csv:6", "2 fields"]),
            ("pods.csv", PODS.replace("gpu_spec", "colour"), ["pods.csv:1", '"colour"']),
            ("pods.csv", "", ["pods.csv", "empty"]),
            ("nodes.csv", NODES.replace("65536", "lots"), ["nodes.csv:2", "memory_mib", '"lots"']),
            ("nodes.csv", NODES + "n1,1,1,1,T4\n", ["nodes.csv:4", '"n1"', "line 3"]),
        ]
        for name, text, words in cases:
            with self.subTest(words=words):
                self.write("nodes.csv", NODES)
                self.write("pods.csv", PODS)
                self.write(name, text)
                self.assert_bad_input(self.trace, *words)

    def test_missing_files_are_named(self):
        missing = str(self.folder / "missing.csv")
        args = ["sim", "--nodes", missing, "--pods", self.pods]
        self.assert_bad_input(args, missing, "No such file")
        self.assert_bad_input(self.trace + ["--sequence", missing], missing, "No such file")

    def test_bad_input_leaves_no_report_behind(self):
        report = self.folder / "report"
        self.write("pods.csv", "junk\n")
        self.assert_bad_input(self.trace + ["--report", str(report)], "junk")
        self.assertFalse(report.exists())

    def test_one_run_is_an_object_and_several_a_list(self):
        sequence = self.write("tiny_42.txt", SEQUENCE)
        args = self.trace + ["--sequence", sequence, "--policy", "best-fit", "-o", "json"]
        result = run(*args)
        self.assertEqual(result.returncode, 0, result.stderr)
        one = json.loads(result.stdout)
        self.assertEqual(one["policy"], "best-fit")
        self.assertEqual(one["seed"], 42)
        self.assertEqual(set(one["allocated_percent"]), {"95", "100", "110", "120", "130"})
        self.assertEqual(set(one["refused"]), {"cpu", "share", "whole", "multi"})
        self.assertEqual(one["placed"], 5)
        self.assertIsNone(one["allocated_percent"]["100"])
        for key in ("decisions", "wall_seconds", "peak_rss_mib"):
            self.assertIn(key, one)
        many = run(*self.trace, "--seed", "1-2", "--policy", "best-fit,random", "-o", "json")
        labels = [(r["policy"], r["seed"]) for r in json.loads(many.stdout)]
        expected = [("best-fit", 1), ("best-fit", 2), ("random", 1), ("random", 2)]
        self.assertEqual(labels, expected)

    def test_churn_has_its_own_keys(self):
        args = ["--churn", "0.5,1.5", "--lifetimes", "2", "--warmup", "1", "-o", "json"]
        runs = json.loads(run(*self.trace, *args).stdout)
        self.assertEqual([r["load"] for r in runs], [0.5, 1.5])
        for key in ("allocated_percent_mean", "accepted_gpu_percent", "accepted_multi_percent"):
            self.assertIn(key, runs[0])
        queued = json.loads(run(*self.trace, *args, "--queue").stdout)
        self.assertIn("wait_p99", queued[0]["queue"])

    def test_the_same_flags_give_the_same_bytes(self):
        args = ["sim", "--synthetic", "30", "--policy", "dual-price,random", "-o", "csv"]
        args += ["--memory-share", "B"]

        def results(jobs):
            lines = run(*args, "--jobs", jobs).stdout.splitlines()
            drop = [i for i, name in enumerate(lines[0].split(",")) if name in noisy]
            rows = [line.split(",") for line in lines]
            return [[v for i, v in enumerate(row) if i not in drop] for row in rows]

        noisy = {"wall_seconds", "peak_rss_mib"}
        self.assertEqual(results("1"), results("3"))

    def test_a_recorded_decision_replays_to_the_same(self):
        file = str(self.folder / "decision.txt")
        result = run(*self.trace, "--inflate", "0", "--record", f"3:{file}")
        self.assertEqual(result.returncode, 0, result.stderr)
        replay = run("sim", "--replay", file)
        self.assertEqual(replay.returncode, 0, replay.stderr)
        self.assertIn("pod 2: bound to n", replay.stdout)
        self.assertIn("the same as recorded", replay.stdout)

    def test_a_decision_that_cannot_be_recorded_or_read_is_named(self):
        file = str(self.folder / "decision.txt")
        self.assert_bad_input([*self.trace, "--record", "0:" + file], "--record", '"0"')
        self.assert_bad_input([*self.trace, "--record", file], "--record")
        self.assert_bad_input([*self.trace, "--record", "1:" + file, "--seed", "1,2"], "single run")
        self.assert_bad_input([*self.trace, "--record", "999999:" + file], "999999")
        self.assert_bad_input(["sim", "--replay", self.nodes], "not a recorded decision")
        self.assert_bad_input(["sim", "--replay", file], "decision.txt")

    def test_the_report_stands_alone(self):
        report = self.folder / "deep" / "report"
        result = run("sim", "--synthetic", "20", "--report", str(report))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([p.name for p in report.iterdir()], ["index.html"])
        page = (report / "index.html").read_text(encoding="utf-8")
        self.assertIn("<svg", page)
        self.assertNotIn("<script", page)
        quiet = run("sim", "--synthetic", "20", "--report", str(report), "--quiet")
        self.assertEqual(quiet.stderr, "")

    def test_a_report_that_cannot_be_written_is_an_error(self):
        blocked = self.write("file", "")
        result = run("sim", "--synthetic", "20", "--report", blocked + "/report")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "")
        self.assertIn("cannot create the folder", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = run("sim", "--synthetic", "20", stdout=full)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write to the standard output: No space left", result.stderr)

    def test_a_closed_pipe_is_an_error(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            result = run("--help", stdout=pipe)
        self.assertEqual(result.returncode, 1)
        self.assertIn("Broken pipe", result.stderr)

    def test_a_short_run_shows_no_progress_on_a_terminal(self):
        main, side = pty.openpty()
        process = subprocess.Popen(
            [PROGRAM, "sim", "--synthetic", "20"], stdout=subprocess.DEVNULL, stderr=side
        )
        self.assertEqual(process.wait(timeout=120), 0)
        os.set_blocking(main, False)
        os.close(side)
        try:
            shown = os.read(main, 1000)
        except OSError:  # nothing was written
            shown = b""
        os.close(main)
        self.assertEqual(shown, b"")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
