"""Adds the accessor ``sqleval`` to data frames of pandas: ``import sqleval.pandas``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqleval.frontend.scan import scan

if TYPE_CHECKING:
    from sqleval.frontend.predictions import Predictions

_pandas: Any = import_module("pandas")


@_pandas.api.extensions.register_dataframe_accessor("sqleval")
class PandasAccessor:
    """The methods of `Predictions` on a data frame of pandas, whose results pandas holds, too.

    Examples
    --------
    >>> import pandas as pd, sqleval.pandas
    >>> df = pd.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
    >>> float(df.sqleval.evaluate("roc_auc", label="y", score="p")["value"].item())
    0.75
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def scan(self, **roles: Any) -> Predictions:
        """Return the predictions; ``roles`` are arguments of `sqleval.scan`."""
        return scan(self._frame, **roles)

    def evaluate(self, metrics: Any = None, *, ci: float | None = None, **roles: Any) -> Any:
        """Return the metrics; `scan` gives all options of `Predictions.evaluate`."""
        return self.scan(**roles).evaluate(metrics, ci=ci).collect().to_pandas()

    def compare(self, metrics: Any = None, **roles: Any) -> Any:
        """Return the comparison of models; `scan` gives all options of `Predictions.compare`."""
        return self.scan(**roles).compare(metrics).collect().to_pandas()

    def curve(self, name: str, **roles: Any) -> Any:
        """Return the points of a curve; `scan` gives all options of `Predictions.curve`."""
        return self.scan(**roles).curve(name).collect().to_pandas()
