"""Draws curves and confusion tables; Altair is imported when a picture is drawn."""

from os import PathLike, fspath
from typing import Any

from sqleval.common.sql_text import Value
from sqleval.frontend.bound import Bound


def plot(
    bound: Bound,
    curve: str,
    output: str | PathLike[str] | None = None,
    *,
    ci: float | None = None,
    replicates: int = 500,
    seed: int = 0,
    cluster: str | None = None,
    **params: Value,
) -> Any:
    """Draw a curve with one line per slice, model or class; needs the extra ``plot``.

    Parameters
    ----------
    curve : str
        As for `curve`: roc, pr, calibration, gain, ks, cost, cost_lines, gain_table ...
    output : path, optional
        A file to write as well, ending in ``.svg``, ``.png`` or ``.html``.
    ci, replicates, seed, cluster
        Options of the bands around the curve, as for `curve`.
    **params
        The curve's parameters.

    Returns
    -------
    altair.Chart
        Notebooks show it, and ``.save`` writes it to a file.

    Raises
    ------
    MissingExtra
        If Altair is not installed.
    RequestError
        If the curve cannot be drawn.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
    >>> sqleval.scan(df, label="y", score="p").plot("roc").to_dict()["$schema"][:36]
    'https://vega.github.io/schema/vega-l'
    """
    from sqleval.frontend.pictures import draw  # late: they load Altair
    from sqleval.plots.charts import check_suffix, save_chart

    if output is not None:
        check_suffix(output)
    bands = {"ci": ci, "replicates": replicates, "seed": seed, "cluster": cluster}
    chart = draw(bound, curve, params, bands)
    if output is not None:
        save_chart(chart, fspath(output))
    return chart
