"""Makes rankings of two models, their values per query by scikit-learn, and draws of queries."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from sklearn.metrics import dcg_score

import sqleval


def draw_rankings(queries: int = 60, rows: int = 8, seed: int = 0) -> pl.DataFrame:
    """Return ranked rows with ties: query ``q``, user ``u`` of three queries, group, two scores."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), rows)
    label = rng.integers(0, 4, len(query)) * (rng.random(len(query)) < 0.5)
    label[::rows] += 1
    label[: 2 * rows] = 0  # NDCG is undefined for the first two queries alone
    noise = rng.normal(size=(2, queries))[:, query]
    return pl.DataFrame(
        {
            "k": np.arange(len(query)),
            "q": query,
            "u": query // 3,
            "g": np.where(query % 3 == 0, "s", "t"),
            "day": np.array(["2026-01-01", "2026-01-02"])[query % 2],
            "y": label,
            "a": np.round(0.3 * label + noise[0] + rng.normal(size=len(query)), 1),
            "b": np.round(0.8 * label + noise[1] + rng.normal(size=len(query)), 1),
        }
    )


RANKED = draw_rankings()
#: The same rows: a fifth of each model's scores, and of the labels, are NULL.
GAPS = RANKED.with_columns(
    **{
        name: pl.when(pl.Series(np.random.default_rng(seed).random(RANKED.height) > 0.2)).then(name)
        for seed, name in enumerate(("y", "a", "b"))
    }
)


def list_values(rows: pl.DataFrame, score: str, k: int | None = None) -> dict[int, float]:
    """Return NDCG by query, from the DCG of scikit-learn; queries without a relevant row have none.

    A row without a score has no place, and a row without a label has relevance 0.
    """
    values: dict[int, float] = {}
    for each in rows.with_columns(pl.col("y").fill_null(0)).partition_by("q", maintain_order=True):
        if each["y"].sum() > 0:
            listed = each.drop_nulls(score)
            gain = dcg_score([listed["y"]], [listed[score]], k=k) if listed.height else 0.0
            values[int(each["q"][0])] = gain / dcg_score([each["y"]], [each["y"]], k=k)
    return values


def list_differences(rows: pl.DataFrame = RANKED, k: int | None = None) -> np.ndarray:
    """Return the differences of both models by query."""
    a, b = (np.array([*list_values(rows, name, k).values()]) for name in "ab")
    return b - a


def draw_means(groups: Sequence[np.ndarray], n: int = 20_000, seed: int = 1) -> np.ndarray:
    """Return the means of samples of groups of values, such as users, by NumPy."""
    rng = np.random.default_rng(seed)
    sums, sizes = (np.array([f(each) for each in groups]) for f in (np.sum, np.size))
    drawn = rng.integers(0, len(groups), (n, len(groups)))
    return sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)


def scan(
    rows: pl.DataFrame = RANKED,
    score: str | Mapping[str, str] = "a",
    **roles: object,
) -> sqleval.Predictions:
    """Return the rows as a ranking."""
    return sqleval.scan(rows, label="y", score=score, qid="q", **roles)  # type: ignore[arg-type]
