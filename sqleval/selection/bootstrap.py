"""Computes the .632 and .632+ bootstrap estimates of an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from sqleval.binding.lookup import list_names
from sqleval.catalog.catalogue import builtin
from sqleval.catalog.request import list_metrics
from sqleval.errors import RequestError
from sqleval.selection.resample import evaluate_folds, list_slice_keys, refuse_names

#: Expected share of distinct rows in a bootstrap sample, 1 - 1/e.
_IN_BAG = 0.632
#: Names that no slice key may have.
_RESERVED = ("metric", "train", "out_of_bag", "no_information", "overfitting", "note")


def bootstrap_632(
    source: object,
    metrics: str | Sequence[str] = "error_rate",
    *,
    repeat: str = "repeat",
    role: str = "role",
    **roles: Any,
) -> pl.DataFrame:
    """Return the .632 and .632+ estimates of a bootstrap.

    The out-of-bag error is too high, because a model has learned from only 63.2 % of the rows. The
    training error is too low. Both estimates are weighted means of these errors. In .632+ the
    weight of the training error decreases with overfitting.

    Parameters
    ----------
    source : path, frame or table
        Predictions of each model for its out-of-bag rows and for its training rows.
    metrics : str or sequence of str
        ``error_rate``, ``accuracy`` or ``brier_score``.
    repeat, role : str
        The column that identifies a bootstrap sample, and the column with ``train`` and ``test``
        (out of bag).
    **roles
        The other options of `scan`.

    Returns
    -------
    polars.DataFrame
        The slice keys (with several models also ``model``), ``metric``, ``train``, ``out_of_bag``,
        ``no_information`` (the value if predictions and labels were independent), ``overfitting``
        (the relative rate, 0 .. 1), ``estimate_632``, ``estimate_632_plus`` and ``note`` (the
        reason if a slice has no estimate).

    Raises
    ------
    RequestError
        If a metric has no such estimate, or a role is missing.
    DataError
        If rows have no ``repeat``, unless ``nulls="drop"`` leaves them out.

    References
    ----------
    Efron and Tibshirani (1997), Improvements on cross-validation: the .632+ bootstrap method.
    """
    names = list_metrics(metrics)
    files = {each.name: each for each in builtin().relations("metric")}
    blind_of = {
        name: str(each.header["no_information"])
        for name, each in files.items()
        if "no_information" in each.header
    }
    for name in names:
        if name not in blind_of:
            allowed = ", ".join(sorted(blind_of))
            raise RequestError(f"{name!r} has no .632 estimate; metrics with one: {allowed}")
    refuse_names("by", list_names(roles.get("by"), "by"), _RESERVED)
    all_metrics = list(dict.fromkeys([*names, *(blind_of[name] for name in names)]))
    values = evaluate_folds(
        source, all_metrics, [repeat], [role], roles, {"repeat": [repeat], "role": [role]}
    )
    keys = list_slice_keys(values, [repeat, role])
    if not {"train", "test"} <= {*values[role]}:
        raise RequestError(f"role={role!r} needs rows with 'train' and with 'test'")
    groups = values.group_by([*keys, "metric", role], maintain_order=True)
    means = groups.agg(pl.col("value").mean())
    train, out_of_bag = (
        means.filter(pl.col(role) == side).select(*keys, "metric", pl.col("value").alias(name))
        for side, name in (("train", "train"), ("test", "out_of_bag"))
    )
    # A slice may lack training rows or out-of-bag rows. The constant key _one joins frames without
    # slice keys.
    slices = values.select(*keys, _one=1).unique(maintain_order=True)
    frames: list[pl.DataFrame] = []
    for name in names:
        frame = slices.with_columns(metric=pl.lit(name))
        blind = train.filter(metric=blind_of[name]).rename({"train": "no_information"})
        for other in (train.filter(metric=name), out_of_bag.filter(metric=name), blind):
            frame = frame.join(
                other.drop("metric").with_columns(_one=1), on=[*keys, "_one"], how="left",
                nulls_equal=True, maintain_order="left",
            )  # fmt: skip
        # Accuracy is 1 - error rate.
        is_complement = files[name].header["direction"] == "higher"
        frames.append(_add_estimates(frame.drop("_one"), is_complement=is_complement))
    return pl.concat(frames)


def _add_estimates(frame: pl.DataFrame, *, is_complement: bool) -> pl.DataFrame:
    """Add the estimates; ``is_complement`` if the values are 1 - error."""

    def read_error(name: str) -> pl.Expr:
        return 1 - pl.col(name) if is_complement else pl.col(name)

    train, out, blind = read_error("train"), read_error("out_of_bag"), pl.col("no_information")
    limited = pl.min_horizontal(out, blind)
    over = pl.when((out > train) & (blind > train)).then((limited - train) / (blind - train))
    has_all = train.is_not_null() & out.is_not_null()
    rate = pl.when(has_all).then(over.otherwise(0.0))
    weight = _IN_BAG / (1 - (1 - _IN_BAG) * rate)
    plain = (1 - _IN_BAG) * train + _IN_BAG * out
    plus = (1 - weight) * train + weight * limited
    return frame.with_columns(
        no_information=1 - blind if is_complement else blind,
        overfitting=rate,
        estimate_632=1 - plain if is_complement else plain,
        estimate_632_plus=1 - plus if is_complement else plus,
        note=pl.when(train.is_null())
        .then(pl.lit("no value of training rows"))
        .when(out.is_null())
        .then(pl.lit("no value of out-of-bag rows")),
    )
