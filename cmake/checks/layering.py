#!/usr/bin/env python3
"""Checks that data flows from left to right: a file includes only headers of its own stage or of stages to its left.

usage: layering.py [ROOT]
"""
import pathlib
import re
import sys

STAGES = ["core", "parallel", "mesh", "fem", "operators", "solvers", "design", "io", "drivers"]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]brickwork/([^/">]+)/([^">]+)[">]')


def check(path, stage, root):
    wrong = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        other = match.group(1)
        where = f"{path.relative_to(root)}:{number}"
        if other not in STAGES:
            wrong.append(f"{where}: '{other}' is no stage; stages are {' '.join(STAGES)}")
        elif STAGES.index(other) > STAGES.index(stage):
            wrong.append(f"{where}: {stage} must not include {other}/{match.group(2)}")
        elif match.group(2) != "config.hpp" and not (root / "include/brickwork" / other / match.group(2)).is_file():
            wrong.append(f"{where}: no header brickwork/{other}/{match.group(2)}")
    return wrong


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    wrong, count = [], 0
    for base in ("include/brickwork", "src"):
        for path in sorted((root / base).rglob("*")):
            if path.suffix not in (".hpp", ".cpp", ".cuh", ".cu", ".h"):
                continue
            stage = path.relative_to(root / base).parts[0]
            if stage not in STAGES:
                wrong.append(f"{path.relative_to(root)}: '{stage}' is no stage; stages are {' '.join(STAGES)}")
                continue
            count += 1
            wrong += check(path, stage, root)
    print("\n".join(wrong + [f"layering: {count} files, {len(wrong)} wrong includes"]))
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
