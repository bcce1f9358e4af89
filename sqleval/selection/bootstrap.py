"""The .632 and .632+ bootstrap estimates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from sqleval.errors import RequestError
from sqleval.inputs.lookup import names_of
from sqleval.selection.resample import by_fold, refuse_names

#: The share of rows that a bootstrap sample is expected to hold, 1 - 1/e.
_IN_BAG = 0.632
#: Errors in [0, 1] whose value without information is known, and the metric that is it.
_NO_INFORMATION = {
    "error_rate": "no_information_error_rate",
    "accuracy": "no_information_error_rate",
    "brier_score": "no_information_brier_score",
}


def bootstrap_632(
    source: object,
    metrics: str | Sequence[str] = "error_rate",
    *,
    repeat: str = "repeat",
    role: str = "role",
    **roles: Any,
) -> pl.DataFrame:
    """Return the .632 and .632+ estimates of a bootstrap.

    The out-of-bag error is too high, as a model has learned from 63.2 % of the rows; the error on
    training rows is too low. The estimates weigh the two; .632+ trusts the latter the less, the
    more a model overfits.

    Parameters
    ----------
    source : path, frame or table
        Predictions of each model: those of its out-of-bag rows, and of its training rows.
    metrics : str or sequence of str
        ``error_rate``, ``accuracy`` or ``brier_score``.
    repeat, role : str
        The columns of the bootstrap samples and of ``train`` and ``test`` (out of bag).
    **roles
        The other options of `scan`.

    Returns
    -------
    polars.DataFrame
        The slice keys, ``metric``, ``train``, ``out_of_bag``, ``no_information`` (the value if
        predictions and labels had nothing to do with each other), ``overfitting`` (the relative
        rate, 0 .. 1), ``estimate_632`` and ``estimate_632_plus``.

    Raises
    ------
    RequestError
        For another metric.

    References
    ----------
    Efron and Tibshirani (1997), Improvements on cross-validation: the .632+ bootstrap method.
    """
    named = names_of(metrics)
    for name in named:
        if name not in _NO_INFORMATION:
            known = ", ".join(_NO_INFORMATION)
            raise RequestError(f"{name!r} has no .632 estimate here; one of {known} has")
    keys = names_of(roles.get("by"))
    refuse_names("by", keys, ("metric", "train", "out_of_bag", "no_information", "overfitting"))
    wanted = list(dict.fromkeys([*named, *(_NO_INFORMATION[name] for name in named)]))
    each = by_fold(source, wanted, [repeat], [role], roles)
    if not {"train", "test"} <= {*each[role]}:
        raise RequestError(f"role={role!r} needs rows with 'train' and with 'test'")
    means = each.group_by([*keys, "metric", role]).agg(pl.col("value").mean())
    sides = {
        side: means.filter(pl.col(role) == side).select(
            *keys, "metric", pl.col("value").alias(name)
        )
        for side, name in (("train", "train"), ("test", "out_of_bag"))
    }
    frames: list[pl.DataFrame] = []
    for name in named:
        frame = sides["train"].filter(metric=name).with_columns(_one=1)
        blind = (
            sides["train"].filter(metric=_NO_INFORMATION[name]).rename({"train": "no_information"})
        )
        for other in (sides["test"].filter(metric=name), blind):
            frame = frame.join(
                other.drop("metric").with_columns(_one=1), on=[*keys, "_one"], nulls_equal=True,
                maintain_order="left",
            )  # fmt: skip
        # Accuracy is an error turned round, and so is its estimate.
        frames.append(_estimates(frame.drop("_one"), turned=name == "accuracy"))
    return pl.concat(frames)


def _estimates(frame: pl.DataFrame, *, turned: bool) -> pl.DataFrame:
    def error(name: str) -> pl.Expr:
        return 1 - pl.col(name) if turned else pl.col(name)

    train, out, blind = error("train"), error("out_of_bag"), pl.col("no_information")
    held = pl.min_horizontal(out, blind)
    over = pl.when((out > train) & (blind > train)).then((held - train) / (blind - train))
    rate = over.otherwise(0.0)
    weight = _IN_BAG / (1 - (1 - _IN_BAG) * rate)
    plain = (1 - _IN_BAG) * train + _IN_BAG * out
    plus = (1 - weight) * train + weight * held
    return frame.with_columns(
        no_information=1 - blind if turned else blind,
        overfitting=rate,
        estimate_632=1 - plain if turned else plain,
        estimate_632_plus=1 - plus if turned else plus,
    )
