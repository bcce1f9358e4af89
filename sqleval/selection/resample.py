"""Computes metrics over folds of cross-validation: means, corrected intervals, pooled values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import polars as pl

from sqleval.binding.arguments import check_level
from sqleval.binding.binding import name_set
from sqleval.binding.key_sets import parse_sets
from sqleval.binding.lookup import list_names
from sqleval.catalog.catalogue import Catalogue
from sqleval.catalog.request import find_direction
from sqleval.common.counts import format_row_count
from sqleval.common.numbers import is_real_number
from sqleval.common.sql_text import quote
from sqleval.errors import DataError, RequestError
from sqleval.frontend.scan import scan
from sqleval.selection.student import find_t_quantile

#: Names that no slice key of `resample` may have.
_RESERVED = (
    "metric", "mean", "std", "stderr", "low", "high", "pooled", "n_folds", "n_undefined", "train",
    "gap", "note", "_ratio", "_all",
)  # fmt: skip


def refuse_names(option: str, names: Sequence[str], reserved: Sequence[str]) -> None:
    """Raise `RequestError` if a column has the name of a column of the result."""
    clash = [name for name in names if name in reserved]
    if clash:
        raise RequestError(
            f"{option}={clash[0]!r}: the result has a column of this name; rename the column of "
            "the source"
        )


def _refuse_patterns(options: Mapping[str, Sequence[str]]) -> None:
    """Raise `RequestError` if a column has a name that Polars takes for several columns."""
    for option, names in options.items():
        for name in names:
            if name == "*" or (name.startswith("^") and name.endswith("$")):
                raise RequestError(
                    f"{option}={name!r}: over folds a key must not have this name, which Polars "
                    "takes for a pattern of columns; rename the column, such as by "
                    f"query='SELECT *, {quote(name)} AS key_column FROM ...'"
                )


def _add_keys(
    by: str | Sequence[str] | Mapping[str, str] | None, names: Sequence[str]
) -> list[str] | dict[str, str]:
    """Return slice keys, which may be names and expressions, and further columns."""
    if not isinstance(by, Mapping):
        return [*list_names(by, "by"), *names]
    if twice := [name for name in names if name in by]:
        raise RequestError(f"by= names {twice[0]!r} twice")
    return {**by, **{name: quote(name) for name in names}}


def evaluate_folds(
    source: object,
    metrics: str | Sequence[str] | None,
    folds: Sequence[str],
    extra: Sequence[str],
    roles: Mapping[str, Any],
    options: Mapping[str, Sequence[str]],
) -> pl.DataFrame:
    """Return the metrics by slice, ``extra`` keys and fold: keys, ``metric``, ``value``, ``n``.

    Each of the ``sets`` in ``roles`` is also divided by the extra keys and folds, which its name in
    the key ``by`` leaves out. ``options`` maps the caller's options to the columns that they name,
    for errors.
    """
    others, added = dict(roles), [*extra, *folds]
    slice_keys = list_names(others.get("by"), "by")
    for option, names in options.items():
        list_names(names, option)  # raises unless they are texts
    _refuse_patterns({"by": slice_keys, **options})
    sets = parse_sets(others.pop("sets", None), slice_keys)
    by = _add_keys(others.pop("by", None), added)
    if sets:
        others["sets"] = [[*each, *added] for each in sets]
    try:
        predictions = scan(source, **others, by=by)
    except RequestError as error:
        # All these columns are slice keys here, so put the caller's option into the message.
        for option, names in options.items():
            for name in names:
                key, message = f"by={name!r}: ", str(error)
                if message.startswith(key):
                    raise RequestError(f"{option}={name!r}: {message.removeprefix(key)}") from error
        raise
    values = predictions.evaluate(metrics).collect()
    shared = [*(["by"] if sets else []), *(["model"] if predictions.binding.models else [])]
    for option in ("fold", "repeat"):
        for name in options.get(option, ()):
            if name in folds:
                values = _drop_missing_folds(values, option, name, shared, others.get("nulls"))
    if not sets:
        return values
    names = {name_set([*each, *added]): name_set(each) for each in sets}
    return values.with_columns(pl.col("by").replace_strict(names, return_dtype=pl.String))


def _drop_missing_folds(
    values: pl.DataFrame, option: str, name: str, shared: Sequence[str], nulls: object
) -> pl.DataFrame:
    """Return values of folds without the value of rows that have no fold, if rows may be dropped.

    ``shared`` are the keys for which each value covers all rows: sets of slice keys, and models.

    Raises
    ------
    DataError
        If rows without a fold exist and must not be dropped.
    """
    is_missing = pl.col(name).is_null()
    if values.schema[name].is_float():
        is_missing |= pl.col(name).is_nan()
    missing = values.filter(is_missing)
    if missing.is_empty():
        return values
    if nulls != "drop":
        counts = missing.group_by([*shared, "metric"]).agg(pl.col("n").sum())
        count = cast("int", counts["n"].max())
        raise DataError(
            f"{option}={name!r} is NULL or NaN in {format_row_count(count)}; each row "
            "needs a value, or nulls='drop' (--nulls drop) leaves it out"
        )
    return values.filter(~is_missing)


def _require_folds(roles: Mapping[str, Any], folds: Sequence[str]) -> dict[str, Any]:
    """Return roles whose condition leaves out rows without a fold, if rows may be dropped."""
    if roles.get("nulls") != "drop":
        return dict(roles)
    conditions = [f"({roles['where']})"] if roles.get("where") else []
    for name in map(quote, folds):
        # The second condition finds NaN in columns of any type.
        conditions += [f"{name} IS NOT NULL", f"LOWER(CAST({name} AS VARCHAR)) <> 'nan'"]
    return {**roles, "where": " AND ".join(conditions)}


def list_slice_keys(values: pl.DataFrame, others: Sequence[str]) -> list[str]:
    """Return the keys in the result of `evaluate_folds` that are not among ``others``.

    They are the keys in ``by=``, and the keys that `scan` adds: ``by`` (for ``sets=``), ``model``
    and ``class``. Values that differ in one of them are never averaged.
    """
    keys = values.columns[: values.columns.index("metric")]
    return [key for key in keys if key not in others]


def resample(
    source: object,
    metrics: str | Sequence[str] | None = None,
    *,
    fold: str | Sequence[str] = ("repeat", "fold"),
    role: str | None = None,
    ci: float | None = None,
    ratio: float | None = None,
    **roles: Any,
) -> pl.DataFrame:
    """Return metrics over the folds of a split: mean, spread, interval and pooled value.

    Parameters
    ----------
    source : path, frame or table
        Predictions, as for `scan`, with one row for each fold in which a row was tested.
    metrics : str or sequence of str, optional
        As for `Predictions.evaluate`.
    fold : str or sequence of str
        The columns that identify a fold. All except the last identify the repeat.
    role : str, optional
        A column with ``train`` and ``test``. Metrics are then computed on test rows, and the result
        also has ``train`` (the mean on training rows) and ``gap`` (by how much that is better).
    ci : float, optional
        Level of the interval, such as 0.95.
    ratio : float, optional
        Number of test rows divided by training rows, for the interval. By default 1 / (k - 1) for
        repeats of k folds. It is required for repeats of one fold.
    **roles
        The other options of `scan`.

    Returns
    -------
    polars.DataFrame
        The slice keys (with several models also ``model``, and with ``average=None`` ``class``),
        ``metric``, ``mean``, ``std`` and ``stderr`` over the folds, ``low`` and ``high`` (corrected
        for the training rows that folds share), ``pooled`` (the metric of all test rows at once),
        ``n_folds``, ``n_undefined`` (folds without a value) and ``note``.

    Raises
    ------
    RequestError
        If a column does not exist or a metric does not fit.
    DataError
        If rows have no fold, unless ``nulls="drop"`` leaves them out.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> rows = pl.DataFrame(
    ...     {"fold": [1, 1, 2, 2], "y": [0, 1, 0, 1], "q": [0, 1, 1, 1], "p": [0.2, 0.9, 0.6, 0.7]}
    ... )
    >>> got = sqleval.resample(rows, "accuracy", fold="fold", label="y", prediction="q", ci=0.95)
    >>> got["mean"].item(), got["pooled"].item()
    (0.75, 0.75)
    """
    folds = list_names(fold, "fold")
    _check_options(folds, list_names(roles.get("by"), "by"), ci, ratio)
    sides = [role] if role is not None else []
    options = {"fold": folds, "role": sides}
    values = evaluate_folds(source, metrics, folds, sides, roles, options)
    pooled = evaluate_folds(source, metrics, [], sides, _require_folds(roles, folds), options)
    slices = [*list_slice_keys(values, [*folds, *sides]), "metric"]
    training = values.clear()
    if role is not None:
        training = values.filter(pl.col(role) == "train")
        values = values.filter(pl.col(role) == "test").drop(role)
        pooled = pooled.filter(pl.col(role) == "test")
        if values.is_empty():
            raise RequestError(f"role={role!r} has no row with 'test'")
    means = _aggregate_folds(values, slices, folds[:-1]).with_columns(_write_interval(ci, ratio))
    join: Any = {"on": slices, "how": "left", "nulls_equal": True, "maintain_order": "left"}
    result = means.join(pooled.select(*slices, pooled="value"), **join)
    columns = [*slices, "mean", "std", "stderr", "low", "high", "pooled", "n_folds", "n_undefined"]
    if role is None:
        return result.select(*columns, "note")
    training_means = training.group_by(slices).agg(train=pl.col("value").mean())
    signs = _find_signs(result["metric"], roles.get("catalogue"))
    sign = pl.col("metric").replace_strict(signs, return_dtype=pl.Float64)
    gap = (pl.col("train") - pl.col("mean")) * sign
    return result.join(training_means, **join).select(*columns, "train", gap.alias("gap"), "note")


def _check_options(
    folds: Sequence[str], keys: Sequence[str], ci: float | None, ratio: float | None
) -> None:
    if not folds:
        raise RequestError("fold= is needed: the columns that identify a fold")
    refuse_names("by", keys, _RESERVED)
    check_level(ci)
    if ratio is not None and not (is_real_number(ratio) and 0 < ratio < float("inf")):
        raise RequestError(f"ratio={ratio!r} must be a number above 0, such as 1/9 for ten folds")


def _aggregate_folds(
    values: pl.DataFrame, slices: Sequence[str], repeat: Sequence[str]
) -> pl.DataFrame:
    """Return mean and spread over folds, and ``_ratio``, the mean of test to training rows."""
    # The folds of a repeat partition its rows, so the rows of all other folds train.
    sizes = values.with_columns(_all=pl.col("n").sum().over([*slices, *repeat]))
    sizes = sizes.with_columns(_ratio=pl.col("n") / (pl.col("_all") - pl.col("n")))
    means = sizes.group_by(slices, maintain_order=True).agg(
        mean=pl.col("value").mean(),
        std=pl.col("value").std(),
        n_folds=pl.col("value").count().cast(pl.Int64),
        n_undefined=pl.col("value").null_count().cast(pl.Int64),
        _ratio=pl.when((pl.col("_all") > pl.col("n")).all()).then(pl.col("_ratio").mean()),
    )
    return means.with_columns(stderr=pl.col("std") / pl.col("n_folds").sqrt())


def _write_interval(ci: float | None, ratio: float | None) -> list[pl.Expr]:
    """Return low, high and the note of the corrected resampled t interval.

    Values of folds are correlated, because folds share training rows. Nadeau and Bengio (2003),
    Inference for the generalization error, therefore add the ratio of test to training rows to the
    variance. Without it the interval is far too narrow.
    """
    if ci is None:
        empty = pl.lit(None, pl.Float64)
        return [empty.alias("low"), empty.alias("high"), pl.lit(None, pl.String).alias("note")]
    level = ci

    def find_t(freedom: int) -> float | None:
        return find_t_quantile(level, freedom) if freedom > 0 else None

    share = pl.lit(ratio, pl.Float64) if ratio is not None else pl.col("_ratio")
    spread = (1 / pl.col("n_folds") + share).sqrt() * pl.col("std")
    width = (pl.col("n_folds") - 1).map_elements(find_t, return_dtype=pl.Float64) * spread
    note = (
        pl.when(pl.col("n_folds") == 0)
        .then(pl.lit("undefined in all folds"))
        .when(pl.col("n_folds") + pl.col("n_undefined") < 2)
        .then(pl.lit("no interval: one fold"))
        .when(pl.col("n_folds") < 2)
        .then(pl.lit("no interval: undefined in all folds but one"))
        .when(share.is_null())
        .then(pl.lit("no interval: ratio= of test to training rows is needed"))
    )
    return [
        (pl.col("mean") - width).alias("low"),
        (pl.col("mean") + width).alias("high"),
        note.alias("note"),
    ]


def _find_signs(metrics: pl.Series, catalogue: Catalogue | None) -> dict[str, float]:
    """Return 1 for metrics for which higher is better, and -1 for the others."""
    signs = {"higher": 1.0, "lower": -1.0, "none": -1.0}
    return {name: signs[find_direction(name, catalogue)] for name in metrics.unique()}
