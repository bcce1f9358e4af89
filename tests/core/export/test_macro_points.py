"""``points :=`` keeps exact points of a curve, evenly along it, in macros as in the library."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_curve

import sqleval
from sqleval import RequestError
from sqleval.catalog import builtin
from tests.support.commands import run
from tests.support.macros import create_table, is_equal

THINNED = [each for each in builtin().relations("curve") if each.measured and each.has_labels]


def draw(n: int, *, levels: int, share: float, seed: int = 7) -> pl.DataFrame:
    """Return labels, scores with ties, weights (some 0), and three slices, one of one class."""
    rng = np.random.default_rng(seed)
    score = np.round(rng.beta(1, 3, n) * levels) / levels
    label = (rng.random(n) < share * (0.2 + score)).astype(int)
    slices = rng.integers(0, 3, n)
    label[slices == 2] = 1
    weight = rng.choice([0.0, 0.5, 1.0, 3.7], n)
    return pl.DataFrame({"y": label, "p": score, "w": weight, "g": slices})


CASES = {
    "few ties": draw(3000, levels=10**9, share=0.5),
    "many ties": draw(3000, levels=60, share=0.5),
    "few positives": draw(3000, levels=10**9, share=0.02),
    "one class": draw(400, levels=10**9, share=0.0).filter(pl.col("g") < 2),
    "two rows": draw(2, levels=10**9, share=0.5),
    "no rows": draw(3, levels=10**9, share=0.5).head(0),
}


def list_parts(rows: pl.DataFrame) -> Iterator[list[tuple[Any, ...]]]:
    for part in rows.partition_by("g", maintain_order=True):
        yield part.drop("g").rows()


def measure(points: list[tuple[Any, ...]], columns: list[str]) -> np.ndarray:
    """Return the length of a curve up to each of its points."""
    table = np.array(
        [[np.nan if x is None else float(x) for x in row] for row in points], dtype=float
    )
    steps = np.zeros(max(len(points) - 1, 0))
    for i, name in enumerate(columns):
        values = table[:, i]
        if name == "threshold" or np.isnan(values).all() or np.nanmax(values) == np.nanmin(values):
            continue
        change = np.abs(np.diff(values)) / (np.nanmax(values) - np.nanmin(values))
        steps += np.where(np.isnan(change), 0, change)
    return np.r_[0, np.cumsum(steps)]


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("case", CASES)
def test_points_that_are_kept(
    case: str, weight: str | None, console: duckdb.DuckDBPyConnection
) -> None:
    frame = CASES[case]
    create_table(console, frame, "thin")
    bound = sqleval.scan(frame, label="y", score="p", weight=weight, by="g")
    roles = "label := y, score := p, slice := g" + (", weight := w" if weight else "")
    for relation in THINNED:
        columns = [name for name in relation.columns if name != "slice"]
        whole = {
            part[0, "g"]: part.drop("g").rows()
            for part in bound.curve(relation.name).collect().partition_by("g")
        }
        for points in (2, 7, 40) if relation.name in ("roc_curve", "pr_curve") else (9,):
            kept = bound.curve(relation.name, points=points).collect()
            rows = console.execute(
                f"FROM sqleval.{relation.name}('thin', {roles}, points := {points})"
            ).fetchall()
            of_macro = [row for row in rows if row[0] is not None or not frame.is_empty()]
            if weight is None:
                # Weighted sums differ in the last digits, which may decide on a point.
                assert len(of_macro) == kept.height, (relation.name, points)
                for one, other in zip(of_macro, kept.rows(), strict=True):
                    assert all(map(is_equal, one, other))
            for key, part in ((key, [r[1:] for r in of_macro if r[0] == key]) for key in whole):
                check_part(part, whole[key], columns, points)
            for part in kept.partition_by("g"):
                check_part(part.drop("g").rows(), whole[part[0, "g"]], columns, points)


def check_part(
    kept: list[tuple[Any, ...]], whole: list[tuple[Any, ...]], columns: list[str], points: int
) -> None:
    """Check the number of points, their values and how much lies between two of them."""
    assert len(kept) <= points or len(kept) == len(whole) <= points
    places = []
    for row in kept:
        start = places[-1] + 1 if places else 0
        places.append(
            next(i for i in range(start, len(whole)) if all(map(is_equal, row, whole[i])))
        )
    assert places[0] == 0
    # Weighted sums may have two ends that are equal except for rounding.
    assert all(map(is_equal, kept[-1], whole[-1]))
    length = measure(whole, columns)
    for a, b in pairwise(places):
        if b > a + 1:
            assert length[b] - length[a] <= 2 / (points - 1) * length[-1] * (1 + 1e-9)


def test_reading_a_thinned_roc_curve(console: duckdb.DuckDBPyConnection) -> None:
    frame = draw(20_000, levels=10**9, share=0.05).filter(pl.col("g") < 2)
    create_table(console, frame, "thin")
    rows = console.execute(
        "SELECT fpr, tpr FROM sqleval.roc_curve('thin', label := y, score := p, points := 101)"
    ).fetchall()
    assert 90 <= len(rows) <= 101
    x, y = np.array(rows).T
    fpr, tpr, _ = roc_curve(frame["y"], frame["p"], drop_intermediate=False)
    # Off by at most the height of the box between two points: 4 / 100.
    inside = [(tpr[fpr == at].min(), tpr[fpr == at].max()) for at in np.unique(fpr)]
    low, high = np.array(inside).T
    read = np.interp(np.unique(fpr), x, y)
    assert ((read > low - 0.04) & (read < high + 0.04)).all()


def test_points_that_are_refused(console: duckdb.DuckDBPyConnection) -> None:
    create_table(console, CASES["two rows"], "thin")
    bound = sqleval.scan(CASES["many ties"], label="y", score="p")
    for points in ("1", "2.5", "-3"):
        with pytest.raises(duckdb.Error, match=f"whole number of 2 or more, not {points}"):
            console.execute(
                f"FROM sqleval.roc_curve('thin', label := y, score := p, points := {points})"
            )
    wrong: list[Any] = [1, 2.5, True, "9"]
    for each in wrong:
        with pytest.raises(RequestError, match="points must be a whole number of 2 or more"):
            bound.curve("roc", points=each)
    with pytest.raises(RequestError, match="points= is for curves with a row per score"):
        bound.curve("gain_table", points=9)
    with pytest.raises(RequestError, match="points= and ci= cannot be combined"):
        bound.curve("roc", points=9, ci=0.9)


def test_points_of_curves_per_class_and_model() -> None:
    frame = CASES["few ties"].with_columns(q=1 - pl.col("p"))
    bound = sqleval.scan(frame, label="y", score={"a": "p", "b": "q"}, by="g")
    found = bound.curve("roc", points=20).collect()
    sizes = found.group_by("model", "g").len()["len"]
    assert len(sizes) == 6
    assert sizes.is_between(2, 20).all()
    assert found.columns == bound.curve("roc").collect().columns
    frame = frame.with_columns(y=pl.col("g").replace_strict({0: "u", 1: "v", 2: "w"}))
    scores = {"u": "p", "v": "q", "w": "w"}
    bound = sqleval.scan(frame, label="y", score=scores, task="multiclass")
    sizes = bound.curve("roc", points=20).collect().group_by("class").len()["len"]
    assert len(sizes) == 3
    assert sizes.is_between(2, 20).all()


def test_points_on_the_command_line(tmp_path: Path) -> None:
    CASES["few ties"].write_parquet(tmp_path / "rows.parquet")
    roles = ["--label", "y", "--score", "p", "--points", "5", "--format", "csv"]
    result = run("curve", "roc", str(tmp_path / "rows.parquet"), *roles)
    assert len(result.stdout.strip().split("\n")) == 6
