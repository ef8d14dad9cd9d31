# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the programs share: a small problem, running a program, counting cases."""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

CASES = []


def case(function):
    """Marks a function of one argument (a Bench) as a test case; its docstring is its name."""
    CASES.append(function)
    return function


class Run:
    """A finished program: its exit code and what it said."""

    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    def __str__(self):
        return "  %s\n  exit code %s\n  stdout: %s\n  stderr: %s" % (
            " ".join(self.command), self.code, self.out[-1500:].strip(), self.err[-1500:].strip())


def check(condition, *what):
    if not condition:
        raise AssertionError("\n".join(str(item) for item in what))


def close(a, b, relative):
    return abs(a - b) <= relative * max(abs(a), abs(b))


WALL = '[[support]]\nname = "wall"\nplane = {axis = "x", at = 0}\n'


def problem(cells=(8, 4, 4), lengths=(2, 1, 1), design="volume_fraction = 0.4", material="", supports=WALL,
            loads='[[load]]\nname = "tip"\nbox = {lower = [2, 0, 0], upper = [2, 1, 1]}\nforce = [0, -1, 0]\n',
            passive="", schedule='protocol = "constant"\nsteps = 3', solver="", output=""):
    """A small cantilever as TOML text; every part can be replaced."""
    return "\n".join(["[grid]", "cells = %s" % list(cells), "lengths = %s" % list(lengths), "[design]", design,
                      "[material]", material, "[schedule]", schedule, "[solver]", solver, "[output]", output,
                      supports, loads, passive, ""])


class Bench:
    """A scratch directory with the programs' folder and the sources' folder."""

    def __init__(self, binaries, sources, directory, program="brickwork-simp"):
        self.binaries, self.sources, self.directory, self.program = binaries, sources, directory, program
        self.count = 0
        # One thread, unless a case asks for more: tiny grids have nothing to share, and tests may run side by side.
        self.environment = dict(os.environ, OMP_PROC_BIND="false")

    def path(self, name):
        return os.path.join(self.directory, name)

    def fresh(self):
        self.count += 1
        return self.path("out%d" % self.count)

    def config(self, text, name=None):
        self.count += 1
        path = self.path(name or "problem%d.toml" % self.count)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def command(self, config, *arguments, output=None, threads=1):
        command = [os.path.join(self.binaries, "brickwork-simp"), config, "--threads", str(threads), *arguments]
        return command + (["--output", output] if output else [])

    def examples(self):
        """Paths of the example configurations of this program; those of others name theirs in the first lines."""
        folder = os.path.join(self.sources, "examples")
        paths = []
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if name.endswith(".toml"):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                named = [p for p in ("brickwork-homogenize", "brickwork-biharmonic") if p in text]
                if (named or ["brickwork-simp"])[0] == self.program:
                    paths.append(path)
        return paths

    def run(self, command, timeout=120):
        done = subprocess.run(command, cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, check=False)
        return Run(command, done.returncode, done.stdout, done.stderr)

    def simp(self, text, *arguments, threads=1):
        """Runs a problem given as text and expects success; returns (run, output directory)."""
        output = self.fresh()
        run = self.run(self.command(self.config(text), *arguments, output=output, threads=threads))
        check(run.code == 0, "exit code 0 expected", run)
        return run, output

    def refused(self, text, *words, code=2, arguments=()):
        """Runs a problem that must end in one line on stderr that holds all words, without a result."""
        output = self.fresh()
        run = self.run(self.command(self.config(text), *arguments, output=output))
        self.one_line(run, code, words)
        check(not os.path.exists(output), "refused, but '%s' was made" % output, run)
        return run

    def one_line(self, run, code, words):
        check(run.code == code, "exit code %d expected" % code, run)
        lines = run.err.strip().splitlines()
        check(len(lines) == 1, "one line on stderr expected", run)
        check(lines[0].startswith(self.program + ": "), "the line must begin with the program's name", run)
        for word in words:
            check(word in lines[0], "the message lacks '%s'" % word, run)


def history(output):
    with open(os.path.join(output, "history.csv"), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def summary(output):
    with open(os.path.join(output, "summary.json"), encoding="utf-8") as file:
        return json.load(file)


def density(output):
    """Densities of density.vti in file order, x fastest; by hand, so that no VTK is needed."""
    import base64
    import re
    import struct
    with open(os.path.join(output, "density.vti"), encoding="ascii") as file:
        text = file.read()
    check('header_type="UInt64"' in text and "compressor" not in text, "density.vti: unexpected encoding")
    array = re.search(r'<DataArray[^>]*Name="density"[^>]*>\s*([A-Za-z0-9+/=\s]+?)\s*</DataArray>', text)
    check(array is not None and 'type="Float32"' in array.group(0), "density.vti: no Float32 density")
    data = base64.b64decode("".join(array.group(1).split()))
    size = struct.unpack("<Q", data[:8])[0]
    return struct.unpack("<%df" % (size // 4), data[8:8 + size])


def content(directory):
    """Every file below a directory with its bytes."""
    files = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                files[os.path.relpath(os.path.join(folder, name), directory)] = file.read()
    return files


def main(program="brickwork-simp"):
    """PROGRAM BIN_DIR SOURCE_DIR [WORD...]: runs all cases, or those with a word in their name."""
    if len(sys.argv) < 3:
        print("usage: %s BIN_DIR SOURCE_DIR [WORD...]" % sys.argv[0])
        return 2
    binaries, sources = (os.path.abspath(path) for path in sys.argv[1:3])
    if not os.path.exists(os.path.join(binaries, program)):
        print("no %s in %s: skipped" % (program, binaries))
        return 77
    failed = 0
    chosen = [c for c in CASES if not sys.argv[3:] or any(word in c.__name__ for word in sys.argv[3:])]
    for function in chosen:
        directory = tempfile.mkdtemp(prefix="brickwork-test-")
        try:
            function(Bench(binaries, sources, directory, program))
            print("passed  %s" % function.__name__, flush=True)
        except (AssertionError, OSError, KeyError, ValueError, subprocess.TimeoutExpired) as problem_found:
            failed += 1
            print("FAILED  %s: %s" % (function.__name__, function.__doc__ or ""))
            if isinstance(problem_found, AssertionError):
                print(problem_found, flush=True)
            else:
                traceback.print_exc(file=sys.stdout)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    print("%d cases, %d failed" % (len(chosen), failed))
    return 1 if failed or not chosen else 0
