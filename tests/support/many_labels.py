"""Rows of many labels, with a column for each label."""

from typing import Any

import numpy as np
import polars as pl

ROLES: dict[str, Any] = {
    "label": {name: f"y_{name}" for name in "abc"},
    "score": {name: f"p_{name}" for name in "abc"},
}
#: A metric of each average, and each ranking of the labels of a row.
METRICS = [
    "f1_macro", "f1_micro", "f1_samples", "f1(average=None)", "hamming_loss", "subset_accuracy",
    "label_ranking_average_precision", "coverage_error", "label_ranking_loss", "roc_auc_macro",
]  # fmt: skip


def make_rows(n: int = 120) -> pl.DataFrame:
    """Return rows with tied scores; some have no label, or all."""
    rng = np.random.default_rng(31)
    labels = rng.random((n, 3)) < [0.3, 0.6, 0.2]
    scores = np.clip(0.3 * labels + rng.random((n, 3)), 0, 1).round(1)
    columns: dict[str, Any] = {"id": np.arange(n), "g": ["north", "south"] * (n // 2)}
    columns |= {f"y_{name}": labels[:, i].astype(np.int32) for i, name in enumerate("abc")}
    return pl.DataFrame(columns | {f"p_{name}": scores[:, i] for i, name in enumerate("abc")})
