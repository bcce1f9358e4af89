"""Benchmark of ROC AUC against other libraries: one run, a process per library, equal repeats.

    python -m tests.bench                        1 and 10 million rows; 1, 20 and 5,000 slices
    python -m tests.bench --rows 100000000       so many rows alone
    python -m tests.bench --json ratios.json --chart docs/pictures/benchmark.svg

Every process reads the file anew each time; its median wall and CPU times and its peak memory are
kept. A value that differs from scikit-learn's ends the run. Sides without their library are listed
and left out: pip install -e ".[bench]" has all. Absolute times depend on the machine.
"""

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .sides import SIDES, TOLERANCES

#: Sides too slow for thousands of slices, or for more rows than this.
_SLOW = {"rapidstats", "torchmetrics", "chdb"}


def make(path: Path, rows: int, kind: str, slices: int) -> Path:
    """Write rows with logistic scores, 10 % of them positive."""
    writer = None
    rng = np.random.default_rng(20130701)
    for start in range(0, rows, 10_000_000):
        n = min(10_000_000, rows - start)
        label = (rng.random(n) < 0.1).astype(np.int8)
        score = 1 / (1 + np.exp(-(rng.standard_normal(n) + 1.5 * label - 2)))
        if kind == "tied":
            score = score.round(4)
        elif kind == "float32":
            score = score.astype(np.float32)
        columns: dict[str, Any] = {"label": label, "score": score}
        if slices > 1:
            columns["slice"] = rng.integers(0, slices, n).astype(np.int32)
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return path


def work(side: str, path: str, by: str | None, repeats: int) -> None:
    """Run one side in this process, and print its result."""
    times: list[float] = []
    cpu_times: list[float] = []
    value = math.nan
    for _ in range(repeats):
        start, cpu_start = time.perf_counter(), time.process_time()
        value = SIDES[side](path, by)
        times.append(time.perf_counter() - start)
        cpu_times.append(time.process_time() - cpu_start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, cpu_seconds = statistics.median(times), statistics.median(cpu_times)
    result = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_mb": peak, "value": value}
    print(json.dumps(result))


def measured(side: str, path: Path, by: str | None, repeats: int) -> dict[str, float] | None:
    """Run one side in a process of its own; None if its library is missing."""
    command = [sys.executable, "-m", "tests.bench", "--work", side, str(path), by or "-"]
    done = subprocess.run(
        [*command, "--repeats", str(repeats)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["?"])[-1]
        if "ModuleNotFoundError" in last:
            return None
        raise SystemExit(f"{side}: {done.stderr[-2000:]}")
    return dict(json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1]))


def compare(
    rows: int, kind: str, slices: int, sides: list[str], repeats: int, folder: Path
) -> dict[str, Any]:
    """Measure each side on one file."""
    path = make(folder / "rows.parquet", rows, kind, slices)
    by = "slice" if slices > 1 else None
    found: dict[str, dict[str, float]] = {}
    for side in sides:
        if side in _SLOW and (slices > 20 or rows > 10_000_000):
            continue
        result = measured(side, path, by, repeats)
        if result is None:
            print(f"  {side}: not installed", file=sys.stderr)
        else:
            found[side] = result
    first = next(iter(found.values()))
    exact = found.get("scikit-learn", found.get("sqleval", first))["value"]
    ours = found.get("sqleval", first)
    print(f"{rows:,} rows, {kind}, {slices:,} slices; seconds, and those of sqleval = 1: wall, CPU")
    for side, result in found.items():
        off = abs(result["value"] - exact)
        if off > TOLERANCES.get(side, 1e-5 if kind == "float32" else 1e-9):
            raise SystemExit(f"{side} says {result['value']!r}, and scikit-learn {exact!r}")
        times = result["times_sqleval"] = result["seconds"] / ours["seconds"]
        cpu_times = result["cpu_times_sqleval"] = result["cpu_seconds"] / ours["cpu_seconds"]
        spent = f"{result['seconds']:8.3f} s {result['cpu_seconds']:8.3f} s of CPU"
        print(f"  {side:24} {spent} {result['peak_mb']:7.0f} MB  {times:6.2f} {cpu_times:6.2f}")
    path.unlink()
    return {"rows": rows, "kind": kind, "slices": slices, "sides": found}


def chart(results: list[dict[str, Any]], path: str) -> None:
    """Draw the seconds of each side at the largest number of rows measured for all."""
    import altair as alt

    most = max(result["rows"] for result in results)
    points = [
        {"side": side, "seconds": values["seconds"], "scores": result["kind"]}
        for result in results
        if result["rows"] == most and result["slices"] == 1
        for side, values in result["sides"].items()
    ]
    order = sorted({p["side"] for p in points}, key=lambda s: min(
        p["seconds"] for p in points if p["side"] == s))  # fmt: skip
    base = alt.Chart(alt.Data(values=points)).encode(
        y=alt.Y("side:N", sort=order, title=None),
        x=alt.X("seconds:Q", scale=alt.Scale(type="log"), title="seconds, Parquet read included"),
        color=alt.Color("scores:N", title=None),
        shape=alt.Shape("scores:N", title=None),
    )
    title = f"ROC AUC of {most / 1e6:g} million rows"
    # Fonts differ between machines: a longer label must not be cut.
    base.mark_point(filled=True, size=70).properties(width=560, title=title, padding=24).save(path)


def main() -> None:
    """Measure all sides, or run one of them for a measurement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--kinds", nargs="*", default=["distinct", "tied", "float32"])
    parser.add_argument("--slices", type=int, nargs="*", default=[1, 20, 5_000])
    parser.add_argument("--sides", nargs="*", choices=SIDES, default=list(SIDES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", help="Write all figures there.")
    parser.add_argument("--chart", help="Draw them there, as SVG.")
    parser.add_argument("--work", nargs=3, metavar=("SIDE", "PATH", "BY"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        side, path, by = given.work
        work(side, path, None if by == "-" else by, given.repeats)
        return
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in given.rows:
            for kind in given.kinds:
                for slices in given.slices if kind == "distinct" else [1]:
                    results.append(
                        compare(rows, kind, slices, given.sides, given.repeats, Path(folder))
                    )
    if given.json:
        Path(given.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    if given.chart:
        chart(results, given.chart)


if __name__ == "__main__":
    main()
