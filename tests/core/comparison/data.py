"""Rows with three models, wide and long, and a row of a comparison."""

from typing import Any

import numpy as np
import polars as pl

import sqleval

MODELS = {"a": "a", "b": "b", "c": "c"}


def draw_models(n: int = 400, seed: int = 1) -> pl.DataFrame:
    """Return rows with ties in the scores, a slice key that is sometimes NULL, and folds."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)

    def score(shift: float) -> np.ndarray:
        return np.round(np.clip(rng.normal(0.4 + shift * label, 0.2), 0.01, 0.99), 2)

    return pl.DataFrame(
        {
            "k": np.arange(n),
            "y": label,
            "a": score(0.2),
            "b": score(0.1),
            "c": score(0.22),
            "g": pl.Series(rng.choice(["s", "t", ""], n)),
            "fold": rng.integers(1, 7, n),
            "user": rng.integers(0, 80, n),
            "w": rng.integers(0, 4, n),
        }
    ).with_columns(g=pl.when(pl.col("g") != "").then("g"))


ROWS = draw_models()
LONG = ROWS.unpivot(
    ["a", "b", "c"], index=["k", "y", "g", "fold", "user", "w"], variable_name="m",
    value_name="p",
)  # fmt: skip


def compare(
    source: Any = ROWS, metrics: Any = "roc_auc", scan: Any = None, **options: Any
) -> pl.DataFrame:
    """Return a comparison, collected, whose schema is the one announced."""
    roles = {"label": "y", "score": MODELS} | (scan or {})
    lazy = sqleval.scan(source, **roles).compare(metrics, **{"replicates": 100} | options)
    found = lazy.collect()
    assert found.schema == lazy.collect_schema()
    # Every row without a test has a note that says why.
    assert found.filter(pl.col("p_value").is_null())["note"].null_count() == 0
    assert found["method"].null_count() == 0
    assert found["verdict"].null_count() == 0
    return found


def compare_one(source: Any = ROWS, metrics: Any = "roc_auc", **options: Any) -> dict[str, Any]:
    """Return the only row of a comparison of the models b and a."""
    scan = {"score": {"a": "a", "b": "b"}} | options.pop("scan", {})
    found = compare(source, metrics, scan, **options)
    assert found.height == 1
    return found.row(0, named=True)
