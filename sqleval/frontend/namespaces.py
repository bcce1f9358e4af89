"""Defines the methods of predictions on Polars frames: `LazyFrame.sqleval`, `DataFrame.sqleval`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from sqleval.frontend.evaluations import Metrics
    from sqleval.frontend.predictions import Predictions


def _scan(frame: pl.LazyFrame | pl.DataFrame, roles: Mapping[str, Any]) -> Predictions:
    from sqleval.frontend.scan import scan  # late: `import sqleval` needs no parser of SQL

    return scan(frame, **roles)


@pl.api.register_lazyframe_namespace("sqleval")
class LazyFrameNamespace:
    """Methods of `Predictions` on a LazyFrame: ``lf.sqleval.evaluate("roc_auc", label=...)``."""

    def __init__(self, frame: pl.LazyFrame | pl.DataFrame) -> None:
        self._frame = frame

    def evaluate(
        self,
        metrics: Metrics = None,
        *,
        ci: float | None = None,
        ci_method: str | None = None,
        replicates: int = 500,
        seed: int = 0,
        cluster: str | None = None,
        bins: int | None = None,
        tolerance: float | None = None,
        min_rows: int = 0,
        gap: bool = False,
        worst_first: bool = False,
        **roles: Any,
    ) -> pl.LazyFrame:
        """Return the metrics of this frame; ``roles`` are arguments of `scan`.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> lf = pl.LazyFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
        >>> lf.sqleval.evaluate("roc_auc", label="y", score="p").collect()["value"].item()
        0.75
        """
        return _scan(self._frame, roles).evaluate(
            metrics, ci=ci, ci_method=ci_method, replicates=replicates, seed=seed, cluster=cluster,
            bins=bins, tolerance=tolerance, min_rows=min_rows, gap=gap, worst_first=worst_first,
        )  # fmt: skip

    def compare(
        self,
        metrics: Metrics = None,
        *,
        options: Mapping[str, Any] | None = None,
        **roles: Any,
    ) -> pl.LazyFrame:
        """Return `Predictions.compare` of this frame, with its ``options``.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> rows = {"y": [0, 0, 1, 1] * 25, "a": [0.1, 0.6, 0.4, 0.7] * 25}
        >>> lf = pl.LazyFrame({**rows, "b": [0.1, 0.3, 0.4, 0.7] * 25})
        >>> found = lf.sqleval.compare("roc_auc", label="y", score={"a": "a", "b": "b"})
        >>> found.collect()["difference"].item()
        0.25
        """
        return _scan(self._frame, roles).compare(metrics, **(options or {}))

    def curve(
        self, name: str, *, params: Mapping[str, Any] | None = None, **roles: Any
    ) -> pl.LazyFrame:
        """Return a curve of this frame; ``roles`` are arguments of `scan`."""
        return _scan(self._frame, roles).curve(name, **(params or {}))

    def plot(
        self,
        curve: str,
        output: str | PathLike[str] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        **roles: Any,
    ) -> Any:
        """Draw a curve of this frame; ``roles`` are arguments of `scan`."""
        return _scan(self._frame, roles).plot(curve, output, **(params or {}))

    def confusion(self, **roles: Any) -> pl.LazyFrame:
        """Return the confusion table of this frame; ``roles`` are arguments of `scan`."""
        return _scan(self._frame, roles).confusion()

    def sql(self, metrics: Metrics = None, *, ci: float | None = None, **roles: Any) -> str:
        """Return the statement that `evaluate` runs; ``roles`` are arguments of `scan`."""
        return _scan(self._frame, roles).sql(metrics, ci=ci)


@pl.api.register_dataframe_namespace("sqleval")
class DataFrameNamespace:
    """The methods of ``LazyFrame.sqleval`` on a DataFrame; results are computed at once."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def evaluate(self, metrics: Metrics = None, **arguments: Any) -> pl.DataFrame:
        """Return the metrics of this frame; the arguments are those of ``LazyFrame.sqleval``.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
        >>> df.sqleval.evaluate("roc_auc", label="y", score="p")["value"].item()
        0.75
        """
        return LazyFrameNamespace(self._frame).evaluate(metrics, **arguments).collect()

    def compare(self, metrics: Metrics = None, **arguments: Any) -> pl.DataFrame:
        """Return the comparison of models; the arguments are those of ``LazyFrame.sqleval``."""
        return LazyFrameNamespace(self._frame).compare(metrics, **arguments).collect()

    def curve(self, name: str, **arguments: Any) -> pl.DataFrame:
        """Return a curve of this frame; the arguments are those of ``LazyFrame.sqleval``."""
        return LazyFrameNamespace(self._frame).curve(name, **arguments).collect()

    def plot(self, curve: str, output: str | PathLike[str] | None = None, **arguments: Any) -> Any:
        """Draw a curve of this frame; the arguments are those of ``LazyFrame.sqleval``."""
        return LazyFrameNamespace(self._frame).plot(curve, output, **arguments)

    def confusion(self, **roles: Any) -> pl.DataFrame:
        """Return the confusion table of this frame; ``roles`` are arguments of `scan`."""
        return LazyFrameNamespace(self._frame).confusion(**roles).collect()

    def sql(self, metrics: Metrics = None, **arguments: Any) -> str:
        """Return the statement that `evaluate` runs."""
        return LazyFrameNamespace(self._frame).sql(metrics, **arguments)
