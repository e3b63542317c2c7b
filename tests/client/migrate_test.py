#!/usr/bin/env python3
"""Runs `stowage migrate scheduler-config` on the files of migrate/ and compares the results.

Usage: migrate_test.py PATH_OF_STOWAGE [--update]

NAME.in.json or NAME.in.yaml becomes NAME.out.yaml. With --update the results are written again.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""
UPDATE = False
FOLDER = pathlib.Path(__file__).resolve().parent / "migrate"


def migrate(*args, **kwargs):
    return subprocess.run(
        [PROGRAM, "migrate", "scheduler-config", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        cwd=FOLDER,
        **kwargs,
    )


class MigrateTest(unittest.TestCase):
    maxDiff = None

    def test_each_file_becomes_what_it_should(self):
        files = sorted(FOLDER.glob("*.in.*"))
        self.assertGreaterEqual(len(files), 9)
        for file in files:
            with self.subTest(file.name):
                wanted = FOLDER / (file.name.split(".in.")[0] + ".out.yaml")
                result = migrate(file.name)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("changes, each with a comment", result.stderr)
                if UPDATE:
                    wanted.write_text(result.stdout, encoding="utf-8")
                self.assertEqual(result.stdout, wanted.read_text(encoding="utf-8"))

    def test_the_result_is_stable(self):
        """Migrating a migrated file changes nothing."""
        for file in sorted(FOLDER.glob("*.out.yaml")):
            with self.subTest(file.name):
                once = file.read_text(encoding="utf-8")
                again = migrate(file.name).stdout
                keep = [line for line in once.splitlines() if not line.lstrip().startswith("#")]
                same = [line for line in again.splitlines() if not line.lstrip().startswith("#")]
                self.assertEqual(keep, same)

    def test_to_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "new.yaml"
            result = migrate("elastic.in.json", "-o", str(path))
            self.assertEqual((result.returncode, result.stdout), (0, ""))
            self.assertIn("kubescheduler.config.k8s.io/v1\n", path.read_text(encoding="utf-8"))

    def test_the_controller_takes_its_configuration(self):
        for file in sorted(FOLDER.glob("*.in.*")):
            with self.subTest(file.name), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "controller.yaml"
                result = migrate(file.name, "--controller-config", str(path))
                if not path.exists():
                    self.assertIn("no controller configuration to write", result.stderr)
                    continue
                self.assertEqual(result.returncode, 0, result.stderr)
                check = subprocess.run(
                    [PROGRAM, "controller", "--config", str(path), "--check"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                    check=False)
                self.assertEqual(check.returncode, 0, check.stderr)
                self.assertIn("/stowage/filter", check.stdout)
                self.assertNotIn("warning", check.stdout)

    def test_other_files_are_refused(self):
        for text, words in (
            ("", "no Policy and no KubeSchedulerConfiguration"),
            ("kind: Pod\n", "no Policy and no KubeSchedulerConfiguration"),
            ("kind: Policy\n---\nkind: Policy\n", "several configurations"),
            ("kind: [", "line 1"),
            ('{"kind": "Policy"', "malformed JSON"),
            ("just words", "expected an object"),
            ("kind: KubeSchedulerConfiguration\napiVersion: a/v9\n", '"a/v9" is not known'),
        ):
            with self.subTest(text):
                result = migrate("-", input=text)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(words, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    UPDATE = "--update" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--update"]
    unittest.main()
