"""Chooses a configuration of a model by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import polars as pl

from sqleval.binding.lookup import list_names
from sqleval.catalog.request import find_direction
from sqleval.errors import RequestError
from sqleval.selection.resample import evaluate_folds, list_slice_keys, refuse_names

_RESULT = (
    "rank", "mean", "std", "stderr", "n_folds", "chosen", "optimism", "test", "reason",
)  # fmt: skip
#: Names that no column of a configuration may have.
_RESERVED = ("metric", *_RESULT, "_undefined")
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
    """Rank configurations of a model by a metric over folds, and choose one.

    Parameters
    ----------
    source : path, frame or table
        A long table of predictions, with columns of the configuration and the fold, and the columns
        for `scan`.
    metric : str
        The metric to rank by, such as ``roc_auc`` or ``f_beta(beta=2)``.
    config : str or sequence of str
        The columns of a configuration: hyper-parameters, the name of an algorithm.
    fold : str or sequence of str
        The columns that identify a fold.
    role : str, optional
        A column with ``validation`` and ``test``: configurations are ranked on validation rows,
        and the chosen one is evaluated on test rows. By default they are ranked on all rows.
    rule : {"best", "one_standard_error"}
        Choose the best mean, or the simplest configuration within one standard error of it.
    simplest : str or sequence of str
        Columns of ``config`` that order configurations by complexity. Smaller values are simpler;
        with a minus before the name, larger values are. These columns also break ties.
    **roles
        The other options of `scan`, except ``by`` and ``sets``. Only one model is allowed.

    Returns
    -------
    polars.DataFrame
        One row per configuration, the best first: its columns, ``rank`` (ties share a rank),
        ``mean``, ``std`` and ``stderr`` over its ``n_folds`` folds, and ``chosen``. The chosen one
        also has ``optimism`` (the bias of its mean caused by choosing the best), ``test`` (its
        value on test rows) and ``reason``, with the configuration to train again on all rows.

    Raises
    ------
    RequestError
        If a column does not exist, the rule is unknown, a configuration has values of several
        models or classes, or no configuration has a value in every fold.
    DataError
        If rows have no fold, unless ``nulls="drop"`` leaves them out.

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
    search = _Search(
        metric, list_names(config, "config"), list_names(fold, "fold"), role, rule,
        list_names(simplest, "simplest"), find_direction(metric, roles.get("catalogue")),
    )  # fmt: skip
    _check_options(search, roles)
    sides = [role] if role is not None else []
    values = evaluate_folds(
        source, metric, [*search.configs, *search.folds], sides, roles,
        {"config": search.configs, "fold": search.folds, "role": sides},
    )  # fmt: skip
    _check_single_value(values, search)
    ranking = values
    if role is not None:
        ranking = values.filter(pl.col(role) == "validation")
        if ranking.is_empty():
            raise RequestError(f"role={role!r} has no row with 'validation'")
    table = _rank_configurations(ranking, search)
    chosen, criterion = _choose_configuration(table, search)
    reason = f"{criterion}; {_describe_grid(table, chosen, search)}"
    is_chosen = pl.all_horizontal(pl.col(n).eq_missing(chosen[n]) for n in search.configs)
    test = None
    if role is not None:
        test = values.filter(is_chosen, pl.col(role) == "test")["value"].mean()
    extra = {
        "optimism": pl.lit(_estimate_optimism(ranking, table, search, is_chosen)),
        "test": pl.lit(test, pl.Float64),
        "reason": pl.lit(reason),
    }
    return (
        table.with_columns(chosen=is_chosen)
        .with_columns(**{name: pl.when("chosen").then(value) for name, value in extra.items()})
        .select(*search.configs, *_RESULT)
    )


class _Search(NamedTuple):
    """The options of `select`; ``simplest`` may have a minus before a name."""

    metric: str
    configs: list[str]
    folds: list[str]
    role: str | None
    rule: str
    simplest: list[str]
    direction: str

    @property
    def is_higher_better(self) -> bool:
        return self.direction == "higher"

    @property
    def complexity(self) -> list[str]:
        """The columns that order configurations by complexity."""
        return [name.removeprefix("-") for name in self.simplest]

    @property
    def is_larger_simpler(self) -> list[bool]:
        """Whether larger values of each column of `complexity` are simpler."""
        return [name.startswith("-") for name in self.simplest]


def _check_options(search: _Search, roles: Mapping[str, Any]) -> None:
    if not search.configs or not search.folds:
        raise RequestError(
            "config= and fold= are needed: the columns of the configuration and of the fold"
        )
    refuse_names("config", search.configs, _RESERVED)
    if search.rule not in _RULES:
        raise RequestError(f"rule={search.rule!r} must be one of {', '.join(_RULES)}")
    for name in search.simplest:
        if name.removeprefix("-") not in search.configs:
            raise RequestError(f"simplest={name!r} must be one of config={search.configs}")
    if search.rule == "one_standard_error" and not search.simplest:
        raise RequestError(
            "rule='one_standard_error' needs simplest=: the columns that order configurations by "
            "complexity"
        )
    for option in ("by", "sets"):
        if roles.get(option):
            raise RequestError(f"select takes no {option}=; call it for each slice, with where=")
    if search.direction == "none":
        raise RequestError(
            f"{search.metric} cannot rank configurations: neither higher nor lower is better"
        )


def _check_single_value(values: pl.DataFrame, search: _Search) -> None:
    """Raise if a configuration has more than one value in a fold."""
    keys = [*search.configs, *search.folds, *([search.role] if search.role else [])]
    advice = {
        "model": "select ranks the configurations of one model; name one column in score= or "
        "prediction=",
        "class": f"select ranks by one number, and {search.metric} has one per class; name "
        "another average",
    }
    for key in list_slice_keys(values, keys):
        if values[key].n_unique() > 1:
            raise RequestError(advice[key])


def _rank_configurations(values: pl.DataFrame, search: _Search) -> pl.DataFrame:
    """Return mean, spread and rank of each configuration, the best first.

    A configuration without a value in some fold has no rank, because its mean is over other rows.
    """
    table = (
        values.group_by(search.configs, maintain_order=True)
        .agg(
            mean=pl.col("value").mean(),
            std=pl.col("value").std(),
            n_folds=pl.col("value").count().cast(pl.Int64),
        )
        .with_columns(stderr=pl.col("std") / pl.col("n_folds").sqrt())
    )
    is_complete = pl.col("n_folds") == values.select(search.folds).n_unique()
    # Round the means, because means of equal values may differ by a rounding error.
    mean = pl.when(is_complete).then(pl.col("mean").round_sig_figs(12))
    ranked = table.with_columns(rank=mean.rank("min", descending=search.is_higher_better))
    if table.filter(is_complete).is_empty():
        raise RequestError(f"no configuration has a value of {search.metric} in every fold")
    return ranked.sort(
        ["rank", *search.complexity],
        descending=[False, *search.is_larger_simpler],
        nulls_last=True,
        maintain_order=True,
    )


def _choose_configuration(table: pl.DataFrame, search: _Search) -> tuple[dict[str, Any], str]:
    """Return the row of the chosen configuration, and the criterion as text."""
    complete = table.filter(pl.col("rank").is_not_null())
    chosen = table.row(0, named=True)
    criterion = f"the best mean of {complete.height}"
    if search.rule == "one_standard_error":
        error = chosen["stderr"] or 0.0
        mean = pl.col("mean")
        near = complete.filter(
            mean >= chosen["mean"] - error
            if search.is_higher_better
            else mean <= chosen["mean"] + error
        )
        chosen = near.sort(
            search.complexity,
            descending=search.is_larger_simpler,
            nulls_last=True,
            maintain_order=True,
        ).row(0, named=True)
        criterion = f"the simplest of {near.height} within one standard error of the best mean"
    ties = table.filter(pl.col("rank") == 1).height
    return chosen, criterion + (f"; {ties} share the best mean" if ties > 1 else "")


def _describe_grid(table: pl.DataFrame, chosen: Mapping[str, Any], search: _Search) -> str:
    """Return a text with the size of the grid and the configuration to train again."""
    sizes = [table[name].n_unique() for name in search.configs]
    size = prod(sizes)
    incomplete = "" if size == table.height else f", of a grid of {size}"
    values = ", ".join(f"{name}={chosen[name]}" for name in search.configs)
    return (
        f"{' x '.join(map(str, sizes))} values, {table.height} configurations{incomplete}; "
        f"train again on all rows with {values}"
    )


def _estimate_optimism(
    values: pl.DataFrame, table: pl.DataFrame, search: _Search, is_chosen: pl.Expr
) -> float | None:
    """Return the mean by which the best of a fold is better than the chosen configuration."""
    complete = table.filter(pl.col("rank").is_not_null())
    comparable = values.join(complete, on=search.configs, how="semi", nulls_equal=True)
    best = pl.col("value").max() if search.is_higher_better else pl.col("value").min()
    best_values = comparable.group_by(search.folds).agg(best=best)
    chosen = comparable.filter(is_chosen).join(best_values, on=search.folds, nulls_equal=True)
    gap: Any = (chosen["best"] - chosen["value"]).mean()
    return None if gap is None else float(gap if search.is_higher_better else -gap)
