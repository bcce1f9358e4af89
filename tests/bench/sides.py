"""ROC AUC from a Parquet file with each library, in the way that its documentation shows.

A side takes a path and the slice key, or None, and returns the AUC; with a key, the mean over
slices. It imports its library inside, so that a process loads no other library.
"""

from collections.abc import Callable
from typing import Any

Side = Callable[[str, str | None], float]


def _arrays(path: str) -> tuple[Any, Any]:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["label", "score"])
    return table["label"].to_numpy(), table["score"].to_numpy()


def _each(path: str, by: str, auc: Callable[[Any, Any], float]) -> float:
    """Take the mean of a function over slices, for a library without slices."""
    import polars as pl

    parts = pl.read_parquet(path).partition_by(by)
    values = [auc(part["label"].to_numpy(), part["score"].to_numpy()) for part in parts]
    return sum(map(float, values)) / len(values)


def _ours(**how: Any) -> Side:
    def side(path: str, by: str | None) -> float:
        import sqleval

        bound = sqleval.scan(path, label="label", score="score", by=by or ())
        return float(bound.evaluate("roc_auc", **how).collect()["value"].mean())  # type: ignore[arg-type]

    return side


def sklearn(path: str, by: str | None) -> float:
    """Call roc_auc_score."""
    from sklearn.metrics import roc_auc_score

    if by is not None:
        return _each(path, by, roc_auc_score)
    return float(roc_auc_score(*_arrays(path)))


def _by_hand(label: Any, score: Any) -> float:
    import numpy as np

    positives, negatives = np.sort(score[label == 1]), np.sort(score[label == 0])
    below = np.searchsorted(negatives, positives, "left").sum()
    reached = np.searchsorted(negatives, positives, "right").sum()
    return float((below + reached) / 2 / len(positives) / len(negatives))


def numpy(path: str, by: str | None) -> float:
    """Sort each class alone and search one in the other: the record in memory."""
    return _by_hand(*_arrays(path)) if by is None else _each(path, by, _by_hand)


def polars(path: str, by: str | None) -> float:
    """Take mean ranks in plain Polars."""
    import polars as pl

    positives = pl.col("label").sum().cast(pl.Float64)
    ranks = pl.col("score").rank("average").filter(pl.col("label") == 1).sum()
    auc = (ranks - positives * (positives + 1) / 2) / (positives * (pl.len() - positives))
    frame = pl.scan_parquet(path)
    if by is None:
        return float(frame.select(auc).collect().item())
    return float(frame.group_by(by).agg(auc=auc).select(pl.mean("auc")).collect().item())


def polars_ds(path: str, by: str | None) -> float:
    """Call query_roc_auc."""
    import polars as pl
    import polars_ds as pds  # pyright: ignore[reportMissingImports]

    frame = pl.scan_parquet(path)
    auc = pds.query_roc_auc("label", "score")
    if by is None:
        return float(frame.select(auc).collect().item())
    return float(frame.group_by(by).agg(auc=auc).select(pl.mean("auc")).collect().item())


def rapidstats(path: str, by: str | None) -> float:
    """Call roc_auc."""
    import rapidstats.metrics as rs  # pyright: ignore[reportMissingImports]

    return float(rs.roc_auc(*_arrays(path))) if by is None else _each(path, by, rs.roc_auc)


def torchmetrics(path: str, by: str | None) -> float:
    """Call binary_auroc on tensors that share the arrays' memory."""
    import torch  # pyright: ignore[reportMissingImports]
    from torchmetrics.functional.classification import (  # pyright: ignore[reportMissingImports]
        binary_auroc,
    )

    def auc(label: Any, score: Any) -> float:
        preds, target = torch.from_numpy(score.copy()), torch.from_numpy(label.astype("int64"))
        return float(binary_auroc(preds, target))

    return auc(*_arrays(path)) if by is None else _each(path, by, auc)


def chdb(path: str, by: str | None) -> float:
    """Call arrayROCAUC over the rows of the file."""
    import chdb as ch  # pyright: ignore[reportMissingImports]

    auc = "arrayROCAUC(groupArray(score), groupArray(label))"
    inner = f"SELECT {auc} AS auc FROM file('{path}', Parquet)" + (f" GROUP BY {by}" if by else "")
    return float(str(ch.query(f"SELECT avg(auc) FROM ({inner})", "CSV")))


def scan(path: str, by: str | None) -> float:
    """Only read the columns, in DuckDB: a lower limit for every side."""
    import duckdb

    duckdb.execute(f"SELECT SUM(score), SUM(label) FROM '{path}'").fetchall()
    return float("nan")


def sort(path: str, by: str | None) -> float:
    """Only sort the scores, in DuckDB."""
    import duckdb

    keys = f"{by}, score" if by else "score"
    inner = f"SELECT label, ROW_NUMBER() OVER (ORDER BY {keys}) AS n FROM '{path}'"
    duckdb.execute(f"SELECT SUM(label * n) FROM ({inner})").fetchall()
    return float("nan")


SIDES: dict[str, Side] = {
    "sqleval": _ours(),
    "sqleval, tolerance 1e-5": _ours(tolerance=1e-5),
    "sqleval, tolerance 1e-4": _ours(tolerance=1e-4),
    "scikit-learn": sklearn,
    "NumPy by hand": numpy,
    "Polars": polars,
    "polars-ds": polars_ds,
    "rapidstats": rapidstats,
    "torchmetrics": torchmetrics,
    "chdb": chdb,
    "DuckDB, bare scan": scan,
    "DuckDB, bare sort": sort,
}
#: The tolerance of each side against scikit-learn.
TOLERANCES = {
    "sqleval, tolerance 1e-5": 1e-5,
    "sqleval, tolerance 1e-4": 1e-4,
    "torchmetrics": 1e-4,
}
