"""Chooses among configurations of a model by their folds, and says what the choice is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from sqleval.errors import RequestError
from sqleval.inputs.lookup import names_of
from sqleval.selection.resample import by_fold, direction_of, refuse_names

_OWN = (
    "metric", "rank", "mean", "std", "stderr", "n_folds", "chosen", "optimism", "test", "reason",
    "_undefined",
)  # fmt: skip
_RULES = ("best", "one_standard_error")


def select(
    source: object,
    metric: str,
    *,
    config: str | Sequence[str],
    fold: str | Sequence[str] = ("repeat", "fold"),
    role: str | None = None,
    rule: str = "best",
    simplest: str | Sequence[str] = (),
    **roles: Any,
) -> pl.DataFrame:
    """Rank configurations by a metric over the folds, choose one, and judge the choice.

    Parameters
    ----------
    source : path, frame or table
        A long table of predictions: the configuration's columns, the folds', and what `scan` takes.
    metric : str
        The metric that decides, such as ``roc_auc`` or ``f_beta(beta=2)``.
    config : str or sequence of str
        The columns of the configuration: hyper-parameters, the name of an algorithm.
    fold : str or sequence of str
        The columns that tell folds apart.
    role : str, optional
        A column with ``validation`` and ``test``: the first decides, the second judges the one
        chosen. Without it all rows decide.
    rule : {"best", "one_standard_error"}
        The best mean, or the simplest configuration within one standard error of it.
    simplest : str or sequence of str
        Columns of ``config`` by which one is simpler than another, the smaller the simpler;
        a name after a minus is the larger the simpler. Ties are broken by them as well.
    **roles
        The other options of `scan`, but ``by``.

    Returns
    -------
    polars.DataFrame
        One row a configuration, the best first: its columns, ``rank`` (ties share one), ``mean``,
        ``std`` and ``stderr`` over its ``n_folds`` folds, ``chosen``; for the one chosen
        ``optimism`` (how much of the mean comes from having picked the best of them), ``test``
        (its value on test rows) and ``reason``, which says what to train again on all rows.

    Raises
    ------
    RequestError
        If a column does not exist, a rule is unknown or no configuration has a value.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), section 3.4.3: the one-standard-error rule.
    Tibshirani and Tibshirani (2009), A bias correction for the minimum error rate in
    cross-validation: the optimism.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> rows = pl.DataFrame({
    ...     "depth": [1, 1, 1, 1, 2, 2, 2, 2], "fold": [1, 1, 2, 2] * 2,
    ...     "y": [0, 1] * 4, "q": [0, 1, 0, 0, 0, 1, 0, 1],
    ... })
    >>> got = sqleval.select(
    ...     rows, "accuracy", config="depth", fold="fold", label="y", prediction="q"
    ... )
    >>> got.filter("chosen")["depth"].item()
    2
    """
    configs, folds, order = names_of(config), names_of(fold), names_of(simplest)
    if not configs or not folds:
        raise RequestError("config= and fold= are needed: the columns of both")
    refuse_names("config", configs, _OWN)
    if rule not in _RULES:
        raise RequestError(f"rule={rule!r} is none of {', '.join(_RULES)}")
    for name in order:
        if name.removeprefix("-") not in configs:
            raise RequestError(f"simplest={name!r} is none of config={configs}")
    if rule == "one_standard_error" and not order:
        raise RequestError("rule='one_standard_error' needs simplest=: what makes one simpler")
    if roles.get("by"):
        raise RequestError("by= does not go with select: choose for each slice with where=")
    direction = direction_of(metric)
    if direction == "none":
        raise RequestError(f"{metric} points neither way, so that none is the best")
    higher = direction == "higher"
    each = by_fold(source, metric, [*configs, *folds], [role] if role else [], roles)
    judged = each
    if role is not None:
        judged = each.filter(pl.col(role) == "validation")
        if judged.is_empty():
            raise RequestError(f"role={role!r} has no row with 'validation'")
    table = (
        judged.group_by(configs, maintain_order=True)
        .agg(
            mean=pl.col("value").mean(),
            std=pl.col("value").std(),
            n_folds=pl.col("value").count().cast(pl.Int64),
        )
        .with_columns(stderr=pl.col("std") / pl.col("n_folds").sqrt())
    )
    # One that failed in a fold, or has none of its rows, is not compared by the others.
    whole = pl.col("n_folds") == judged.select(folds).n_unique()
    comparable = table.filter(whole)
    if comparable.is_empty():
        raise RequestError(f"no configuration has a {metric} in every fold")
    ranked = table.with_columns(
        # Equal values make means that differ by a rounding.
        rank=pl.when(whole).then(pl.col("mean").round_sig_figs(12)).rank("min", descending=higher)
    )
    simpler = [name.removeprefix("-") for name in order]
    turned = [name.startswith("-") for name in order]
    ranked = ranked.sort(
        ["rank", *simpler], descending=[False, *turned], nulls_last=True, maintain_order=True
    )
    best = ranked.row(0, named=True)
    chosen, reason = best, f"the best mean of {comparable.height}"
    if rule == "one_standard_error":
        reach = best["stderr"] or 0.0
        limit = best["mean"] - reach if higher else best["mean"] + reach
        near = ranked.filter(whole, pl.col("mean") >= limit if higher else pl.col("mean") <= limit)
        chosen = near.sort(simpler, descending=turned, nulls_last=True, maintain_order=True).row(
            0, named=True
        )
        reason = f"the simplest of {near.height} within one standard error of the best mean"
    ties = ranked.filter(pl.col("rank") == 1).height
    if ties > 1:
        reason += f"; {ties} share the best mean"
    this = pl.all_horizontal(pl.col(name).eq_missing(chosen[name]) for name in configs)
    grid = " x ".join(str(table[name].n_unique()) for name in configs)
    values = ", ".join(f"{name}={chosen[name]}" for name in configs)
    product = 1
    for name in configs:
        product *= table[name].n_unique()
    short = "" if product == table.height else f", of a grid of {product}"
    reason = (
        f"{reason}; {grid} values, {table.height} configurations{short}; "
        f"train again on all rows with {values}"
    )
    test = None
    if role is not None:
        test = each.filter(this, pl.col(role) == "test")["value"].mean()
    return (
        ranked.with_columns(chosen=this)
        .with_columns(
            optimism=pl.when("chosen").then(
                pl.lit(_optimism(judged, comparable, configs, folds, this, higher=higher))
            ),
            test=pl.when("chosen").then(pl.lit(test, pl.Float64)),
            reason=pl.when("chosen").then(pl.lit(reason)),
        )
        .select(
            *configs,
            "rank",
            "mean",
            "std",
            "stderr",
            "n_folds",
            "chosen",
            "optimism",
            "test",
            "reason",
        )
    )


def _optimism(
    each: pl.DataFrame,
    comparable: pl.DataFrame,
    configs: Sequence[str],
    folds: Sequence[str],
    this: pl.Expr,
    *,
    higher: bool,
) -> float | None:
    """Return the mean over the folds of what the fold's own best is better than the one chosen."""
    inside = each.join(comparable, on=configs, how="semi", nulls_equal=True)
    best = pl.col("value").max() if higher else pl.col("value").min()
    tops = inside.group_by(folds).agg(best=best)
    own = inside.filter(this).join(tops, on=folds, nulls_equal=True)
    gap: Any = (own["best"] - own["value"]).mean()
    return None if gap is None else float(gap if higher else -gap)
