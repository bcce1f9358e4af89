"""Every metric and curve gives the same rows with any number of threads.

The rows are fifty row groups, which the threads read in any order. Most other tests use one
thread.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from tests.support.cases import CASES, ROLES, Kind, drawn
from tests.support.comparison import assert_frame_equal
from tests.support.curve_points import CURVES

SetThreads = Callable[[int], None]


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind, int], Path]:
    """Return a function that writes rows of a kind, with ties and distinct scores."""
    folder = tmp_path_factory.mktemp("rows")

    def path(kind: Kind, n: int) -> Path:
        file = folder / f"{kind}-{n}.parquet"
        if not file.exists():
            rows = drawn(kind, n)
            if kind == "regression":
                # Deviances and logarithms need numbers above 0.
                rows = rows.with_columns(pl.col("y", "v").abs() + 0.1)
            if kind == "binary":
                rows = rows.with_columns(
                    p=pl.when(pl.col("h") == 1).then(pl.col("p").round(2)).otherwise("p")
                )
            rows.write_parquet(file, row_group_size=n // 50)
        return file

    return path


def with_threads(
    set_threads: SetThreads, collect: Callable[[], pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    for threads in (1, 8):
        set_threads(threads)
        yield collect()


def list_metrics() -> Iterator[Any]:
    for kind in ROLES:
        for options in ({}, {"weight": "w", "by": ["g", "h"]}):
            fitting = [
                case for case in CASES if case.kind == kind and (case.weighted or not options)
            ]
            # Without weights, two classes use other files, and rankings have no weights.
            if fitting and (options or kind in ("binary", "ranking")):
                # Other parameters are other numbers in the same files.
                names = list({case.name: case.metric for case in reversed(fitting)}.values())
                if kind == "probabilities":
                    # Each class is evaluated like two classes, so a third of the metrics is enough.
                    names = names[::3]
                # Statements of few metrics are optimized in less time.
                for part, start in enumerate(range(0, len(names), 25), start=1):
                    some = names[start : start + 25]
                    yield pytest.param(kind, some, options, id=f"{kind}-{len(options)}-{part}")


@pytest.mark.parametrize(("kind", "names", "options"), list(list_metrics()))
def test_metrics(
    kind: Kind, names: list[str], options: dict[str, Any], write: Any, set_threads: SetThreads
) -> None:
    scan = sqleval.scan(write(kind, 1_000), **ROLES[kind], **options)
    one, eight = with_threads(set_threads, scan.evaluate(names).collect)
    assert one["metric"].n_unique() == len(names)
    # A share needs values of 0 and 1.
    defined = one.filter(pl.col("metric") != "share")
    assert defined["value"].count() > 0.9 * defined.height
    assert_frame_equal(eight, one)


@pytest.mark.parametrize(
    ("curve", "n"),
    [
        pytest.param(curve, n, id=f"{curve}-{n}")
        for curve in CURVES
        # A large file, and a small one, which the engine keeps in memory: curves do not see that.
        for n in (5_000, 10_000)
        if n == 10_000 or curve.name in ("roc_curve", "roc_hull", "gain_table")
    ],
)
def test_curves(curve: Any, n: int, write: Any, set_threads: SetThreads) -> None:
    scan = sqleval.scan(write(curve.kind, n), **ROLES[curve.kind], by="g")
    assert scan.source.has_at_most(20_000) == (n == 5_000)
    one, eight = with_threads(set_threads, scan.curve(curve.text).collect)
    assert one["g"].n_unique() == 3
    assert_frame_equal(eight, one)
