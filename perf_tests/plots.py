#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the tables of perf_tests: one PNG per CSV file that run_all.sh wrote.

Usage: plots.py FOLDER [--output FOLDER]

A missing file is skipped (named on the console); a file without a column that its picture needs ends the program with
one line and exit code 1. Needs matplotlib.
"""

import argparse
import csv
import pathlib
import sys

# Blue, orange, green, vermillion, purple, sky, yellow, black (Okabe and Ito): told apart by any eye.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#B8A800", "#000000", "#7F7F7F"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h"]


class TableError(Exception):
    """A CSV file is not what its picture needs."""


class Table:
    """Rows of a CSV file; the columns asked for exist."""

    def __init__(self, path, columns):
        with open(path, newline="", encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            header = reader.fieldnames or []
            for column in columns:
                if column not in header:
                    raise TableError(f"{path}: no column '{column}' (it has {', '.join(header) or 'none'})")
            self.rows = list(reader)
        self.path = path

    def number(self, row, column):
        """The value, or None where the field is empty."""
        text = row[column]
        if text in (None, ""):
            return None
        try:
            return float(text)
        except ValueError as error:
            raise TableError(f"{self.path}: column '{column}' holds '{text}', no number") from error


def distinct(rows, *columns):
    """Values (or tuples) of the columns in the order of their first appearance."""
    keys = [tuple(row[c] for c in columns) for row in rows]
    unique = list(dict.fromkeys(keys))
    return [key[0] for key in unique] if len(columns) == 1 else unique


def styled(index):
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}


def grid(axes):
    axes.grid(True, which="both", alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def synthetic(plt, path):
    """Table 2: stages as stacked bars, fused kernels beside them, the source's figures as marks."""
    table = Table(path, ["size", "cells", "kernel", "precision", "microseconds", "source_microseconds"])
    sizes = distinct(table.rows, "size")
    value, source = {}, {}  # nanoseconds per cell, so that one linear axis serves all sizes
    for row in table.rows:
        scale = 1e3 / table.number(row, "cells")
        key = (row["size"], row["kernel"], row["precision"])
        value[key] = scale * table.number(row, "microseconds")
        source[key] = scale * (table.number(row, "source_microseconds") or 0)
    stages = [("gather", "fp64"), ("product", "fp64"), ("scatter", "fp64")]
    fused = [key for key in distinct(table.rows, "kernel", "precision")
             if key not in stages and key[0] not in ("gather", "product", "scatter") and key != ("three_stage", "fp64")]
    width = 0.8 / (len(fused) + 1)
    figure, axes = plt.subplots(figsize=(11, 5))
    for at, size in enumerate(sizes):
        below = 0.0
        for index, stage in enumerate(stages):
            height = value.get((size, *stage)) or 0.0
            axes.bar(at - 0.4 + width / 2, height, width, bottom=below, color=COLOURS[index], alpha=0.45,
                     label=f"stage {stage[0]} {stage[1]}" if at == 0 else None)
            below += height
        full = value.get((size, "three_stage", "fp64"))
        axes.plot([at - 0.4 + width / 2], [full], "k_", markersize=14, label="three stages fp64" if at == 0 else None)
        published = source.get((size, "three_stage", "fp64"))
        if published:
            axes.plot([at - 0.4 + width / 2], [published], "rx", label="source, RTX 4090" if at == 0 else None)
        for index, kernel in enumerate(fused):
            x = at - 0.4 + width * (index + 1.5)
            axes.bar(x, value.get((size, *kernel)) or 0.0, width, color=COLOURS[(index + 3) % len(COLOURS)],
                     label=" ".join(kernel) if at == 0 else None)
            published = source.get((size, *kernel))
            if published:
                axes.plot([x], [published], "rx")
    axes.set_xticks(range(len(sizes)), sizes)
    axes.set_ylabel("nanoseconds per cell and product")
    axes.set_title("Synthetic hot path, random connectivity (table 2)")
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    grid(axes)
    return figure


def kernels(plt, path):
    """Table 3: rate and share of the copy bandwidth over the size."""
    table = Table(path, ["cells", "kernel", "precision", "gcells_per_second", "share_of_copy"])
    figure, axes = plt.subplots(2, 3, figsize=(15, 9), sharex=True, sharey="row", squeeze=False)
    names = distinct(table.rows, "kernel")
    for column, precision in enumerate(["fp32", "fp64", "mixed"]):
        for index, name in enumerate(names):
            rows = [r for r in table.rows if r["kernel"] == name and r["precision"] == precision]
            for line, quantity in enumerate(["gcells_per_second", "share_of_copy"]):
                points = [(table.number(r, "cells"), table.number(r, quantity)) for r in rows]
                points = sorted((x, y) for x, y in points if y is not None)
                if points:
                    scale = 100 if line else 1
                    axes[line][column].plot(*zip(*((x, scale * y) for x, y in points)), label=name, **styled(index))
        axes[0][column].set_title(precision)
        axes[1][column].set_xlabel("cells")
        for line in range(2):
            axes[line][column].set_xscale("log")
            grid(axes[line][column])
        axes[0][column].set_yscale("log")
        axes[1][column].set_ylim(bottom=0)
        if axes[0][column].lines:
            axes[0][column].legend(fontsize=7, frameon=False)
    axes[0][0].set_ylabel("Gcells/s")
    axes[1][0].set_ylabel("% of copy bandwidth, by the kernel's own traffic")
    figure.suptitle("Elasticity kernels through the library (table 3, extended)")
    return figure


def forms(plt, path):
    """Fused forms, separate passes, and the floor at the largest size."""
    table = Table(path, ["size", "cells", "form", "precision", "fused_microseconds", "separate_microseconds",
                         "floor_microseconds"])
    largest = max(table.rows, key=lambda r: table.number(r, "cells"))["size"] if table.rows else ""
    rows = [r for r in table.rows if r["size"] == largest]
    labels = [f"{r['form']}  {r['precision']}" for r in rows]
    figure, axes = plt.subplots(figsize=(10, 0.32 * len(rows) + 2))
    for offset, (column, colour, label) in enumerate([
            ("separate_microseconds", "#BBBBBB", "separate passes"), ("fused_microseconds", COLOURS[0], "fused")]):
        axes.barh([i + 0.4 * (0.5 - offset) for i in range(len(rows))], [table.number(r, column) for r in rows], 0.4,
                  color=colour, label=label)
    floors = [table.number(r, "floor_microseconds") for r in rows]
    axes.plot(floors, range(len(rows)), "|", color="#D55E00", markersize=12, markeredgewidth=2, label="floor: copy")
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("microseconds (several right-hand sides: per side)")
    axes.set_title(f"Forms of the kernel parity, {largest} cells")
    axes.legend(frameon=False)
    grid(axes)
    return figure


def roofline(plt, path):
    """Table 1: ceilings as lines, kernels as points."""
    table = Table(path, ["kind", "name", "precision", "intensity", "tflop_per_second", "tb_per_second"])
    ceilings = [r for r in table.rows if r["kind"] == "ceiling"]
    points = [r for r in table.rows if r["kind"] == "kernel"]
    copy = [table.number(r, "tb_per_second") for r in ceilings if r["name"] == "copy"]
    if not copy:
        raise TableError(f"{path}: no row 'ceiling,copy'")
    intensities = [table.number(r, "intensity") for r in points] or [1.0]
    low, high = 0.5 * min(intensities), 4 * max(intensities)
    figure, axes = plt.subplots(figsize=(12, 7))
    peaks = [(r["name"], table.number(r, "tflop_per_second")) for r in ceilings
             if table.number(r, "tflop_per_second")]
    top = max((peak for _, peak in peaks), default=copy[0] * high)
    axes.plot([low, top / copy[0]], [low * copy[0], top], color="black", label=f"copy, {copy[0]:.3g} TB/s")
    for index, (name, peak) in enumerate(peaks):
        axes.plot([peak / copy[0], max(high, 2 * top / copy[0])], [peak, peak], linestyle="--", color=COLOURS[index],
                  label=f"{name}, {peak:.3g} TFLOP/s")
    names = distinct(points, "name")
    faces = {"fp32": COLOURS[0], "fp64": COLOURS[3], "mixed": COLOURS[2]}
    for row in points:
        axes.plot([table.number(row, "intensity")], [table.number(row, "tflop_per_second")], linestyle="none",
                  marker=MARKERS[names.index(row["name"]) % len(MARKERS)], color=faces.get(row["precision"], "grey"),
                  markersize=9, label=f"{row['name']} {row['precision']}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations per byte, by the kernel's own model")
    axes.set_ylabel("TFLOP/s")
    axes.set_title("Roofline with measured ceilings (table 1)")
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles))
    axes.legend(unique.values(), unique.keys(), fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    grid(axes)
    return figure


def precision(plt, path):
    """Residual and compliance after each correction of the refinements (table 7)."""
    table = Table(path, ["size", "density", "solver", "correction", "iterations", "true_residual", "compliance"])
    cases = distinct(table.rows, "size", "density")
    figure, axes = plt.subplots(2, max(len(cases), 1), figsize=(5 * max(len(cases), 1) + 1, 8), squeeze=False)
    solvers = distinct(table.rows, "solver")
    for column, case in enumerate(cases):
        for index, solver in enumerate(solvers):
            rows = [r for r in table.rows if (r["size"], r["density"]) == case and r["solver"] == solver]
            if not rows:
                continue
            iterations = [table.number(r, "iterations") for r in rows]
            axes[0][column].semilogy(iterations, [table.number(r, "true_residual") for r in rows], label=solver,
                                     **styled(index))
            later = [(x, table.number(r, "compliance")) for x, r in zip(iterations, rows)
                     if table.number(r, "compliance")]
            if later:
                axes[1][column].plot(*zip(*later), label=solver, **styled(index))
        axes[0][column].set_title(f"{case[0]}, {case[1]} density")
        axes[0][column].axhline(1e-5, color="grey", linewidth=0.8, linestyle=":")
        axes[1][column].set_xlabel("inner iterations")
        for line in range(2):
            grid(axes[line][column])
        if axes[0][column].lines:
            axes[0][column].legend(fontsize=7, frameon=False)
    axes[0][0].set_ylabel("true relative residual")
    axes[1][0].set_ylabel("compliance")
    figure.suptitle("Refinement by precision of the inner operator (table 7)")
    return figure


def energy(plt, path):
    """Joules per application and per solve."""
    table = Table(path, ["size", "kind", "kernel", "precision", "joules", "mean_watts"])
    cases = distinct(table.rows, "kind", "size")
    figure, axes = plt.subplots(1, max(len(cases), 1), figsize=(4.5 * max(len(cases), 1), 5), squeeze=False)
    for axis, case in zip(axes[0], cases):
        rows = [r for r in table.rows if (r["kind"], r["size"]) == case]
        names = [f"{r['kernel']}\n{r['precision']}" for r in rows]
        joules = [table.number(r, "joules") for r in rows]
        bars = axis.bar(range(len(rows)), joules, color=[COLOURS[i % len(COLOURS)] for i in range(len(rows))])
        for bar, row in zip(bars, rows):
            axis.annotate(f"{table.number(row, 'mean_watts'):.0f} W", (bar.get_x() + bar.get_width() / 2,
                                                                        bar.get_height()), ha="center", va="bottom",
                          fontsize=7)
        axis.set_yscale("log")
        axis.set_xticks(range(len(rows)), names, rotation=60, ha="right", fontsize=7)
        axis.set_ylabel("joules")
        axis.set_title(f"one {case[0]}, {case[1]} cells")
        grid(axis)
    return figure


def hermite(plt, path):
    """Rates of the cell-wise evaluations, and what smoothing costs in units of one."""
    table = Table(path, ["table", "name", "cells", "gcells_per_second", "deviation", "evaluations_or_bytes"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5))
    rows = [r for r in table.rows if r["table"] == "evaluation"]
    left.bar(range(len(rows)), [table.number(r, "gcells_per_second") for r in rows], color=COLOURS[0])
    for row in (r for r in table.rows if r["table"] == "copy"):
        left.axhline(table.number(row, "gcells_per_second"), color="#D55E00", label="device copy of 1024 bytes per cell")
        left.legend(frameon=False)
    left.set_xticks(range(len(rows)), [r["name"] for r in rows], rotation=45, ha="right", fontsize=8)
    left.set_ylabel("Gcells/s")
    left.set_title(f"Evaluations, {rows[0]['cells'] if rows else 0} cells")
    rows = [r for r in table.rows if r["table"] == "smoother"]
    right.barh(range(len(rows)), [table.number(r, "evaluations_or_bytes") for r in rows], color=COLOURS[2])
    right.set_yticks(range(len(rows)), [r["name"] for r in rows], fontsize=8)
    right.invert_yaxis()
    right.set_xlabel("evaluations")
    right.set_title(f"One application, {rows[0]['cells'] if rows else 0} cells")
    for axes in (left, right):
        grid(axes)
    return figure


# file, picture, how
PICTURES = [
    ("roofline.csv", "roofline.png", roofline),
    ("synthetic_hot_path.csv", "synthetic_hot_path.png", synthetic),
    ("elasticity_kernels.csv", "elasticity_kernels.png", kernels),
    ("elasticity_forms.csv", "elasticity_forms.png", forms),
    ("precision_study.csv.history.csv", "precision_study.png", precision),
    ("energy.csv", "energy.png", energy),
    ("hermite_operators.csv", "hermite_operators.png", hermite),
]


def main():
    parser = argparse.ArgumentParser(description="Draws the tables that perf_tests/run_all.sh wrote.")
    parser.add_argument("folder", type=pathlib.Path, help="folder with the CSV files")
    parser.add_argument("--output", type=pathlib.Path, help="folder for the pictures; default: the same")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        print(f"error: {arguments.folder} is no folder", file=sys.stderr)
        return 2
    try:
        import matplotlib
    except ImportError:
        print("error: matplotlib is missing (pip install matplotlib)", file=sys.stderr)
        return 1
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    output = arguments.output or arguments.folder
    output.mkdir(parents=True, exist_ok=True)
    drawn = 0
    for file, picture, draw in PICTURES:
        path = arguments.folder / file
        if not path.is_file():
            print(f"{file}: absent, no {picture}")
            continue
        try:
            figure = draw(plt, path)
        except TableError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        figure.tight_layout()
        figure.savefig(output / picture, dpi=130)
        plt.close(figure)
        print(output / picture)
        drawn += 1
    if drawn == 0:
        print(f"error: {arguments.folder} holds none of {', '.join(file for file, _, _ in PICTURES)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
