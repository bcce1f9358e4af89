"""Finds the rows with the largest loss, of a cell of the confusion matrix, or near a threshold."""

import math
from collections.abc import Container
from dataclasses import replace

import polars as pl

from sqleval.binding.binding import CELLS
from sqleval.catalog import request
from sqleval.common.columns import fits_frame
from sqleval.common.numbers import convert_scalar, is_real_number
from sqleval.compiler.chosen_rows import Choice, compile_rows
from sqleval.compiler.late_labels import list_late_columns
from sqleval.compiler.scope import Plan
from sqleval.compiler.statement import Statement
from sqleval.engines.types import find_polars_types
from sqleval.errors import RequestError
from sqleval.frontend.bound import Bound, refuse_many_labels
from sqleval.frontend.lazy import create_frame

#: Losses by default: the first that the task has, and whether it needs a score.
_LOSSES = {"log_loss": True, "error_rate": False, "mae": False}
#: The number of rows by default.
_ROWS = 20


def rows(
    bound: Bound,
    worst: int | None = None,
    *,
    by: str | None = None,
    cell: str | None = None,
    nearest: int | None = None,
    to: float | None = None,
) -> pl.LazyFrame:
    """Return rows that show where the model is wrong, with all columns of the source.

    Parameters
    ----------
    worst : int, optional
        The number of rows of each slice with the largest loss; 20 if ``nearest`` is not given.
    by : str, optional
        The metric whose loss of a row decides, such as ``brier_score`` or
        ``pinball_loss(alpha=0.9)``: a metric that is a mean over rows, and lower is better. By
        default ``log_loss`` of classes with scores, ``error_rate`` of classes without scores, and
        ``mae`` of a regression.
    cell : {"tp", "fp", "fn", "tn"}, optional
        Only rows of this cell of the confusion matrix: true and false positives and negatives.
    nearest : int, optional
        Instead of ``worst``: the number of rows of each slice whose score is nearest to ``to``.
    to : float, optional
        With ``nearest``: the score; the threshold by default.

    Returns
    -------
    polars.LazyFrame
        The slice keys, the loss under the name of the metric (or the ``distance`` of the score),
        then the other columns of the source; intervals and unions are texts. Rows whose loss is
        undefined, such as a percentage of 0, are left out. The largest loss (the least distance)
        comes first; the order of equal rows is not defined. From Parquet without slice keys, the
        other columns are read only where the chosen rows lie.

    Raises
    ------
    RequestError
        At once, for a metric that is no mean of losses, a missing role, or a wrong option.
    DataError
        On ``collect``, for missing values, or scores that the metric cannot use.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"id": [1, 2, 3, 4], "y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
    >>> wrong = sqleval.scan(df, label="y", score="p").rows(worst=2, by="brier_score")
    >>> wrong.collect()["id"].to_list()
    [3, 2]
    """
    check_has_rows(bound, "rows()")
    if nearest is not None and (worst is not None or by is not None):
        raise RequestError("nearest= sorts by the distance of the score: leave out worst= and by=")
    if nearest is None and to is not None:
        raise RequestError("to= needs nearest=, the number of rows")
    n = check_number("worst", _ROWS if worst is None else worst)
    loss = place = None
    if nearest is not None:
        n = check_number("nearest", nearest)
        place = _find_place(bound, to)
    else:
        loss = request.parse(by or find_loss(bound), bound.binding.task, catalogue=bound.catalogue)
    decisions = _check_cell(bound, cell)
    threshold = dict(loss.parameters).get("threshold") if loss is not None else None
    if decisions is not None and threshold is not None:
        decisions = replace(decisions, parameters=(("threshold", threshold),))
    _, ours = bound.engine.describe(bound.source)
    late = list_late_columns(bound.binding)
    columns = {**late, **ours, **late}  # late labels first, and of their own type
    shown_as = [c if fits_frame(c.type) else c._replace(type="VARCHAR") for c in columns.values()]
    types = find_polars_types(shown_as, bound.engine)
    name = _find_name("distance" if loss is None else loss.name, types)
    choice = Choice(n, loss, place, cell, decisions, name)
    # The columns are read, and joined with late labels, as those of a condition are.
    read = tuple(dict.fromkeys([*bound.binding.where_columns, *ours]))
    bound = replace(bound, binding=replace(bound.binding, where_columns=read))

    def statement(_: Plan, predicate: str | None) -> Statement:
        shown_columns = tuple(columns.values())
        return compile_rows(bound.binding, shown_columns, choice, bound.catalogue, predicate)

    statement("rows", None)  # so that a wrong request raises before collect
    shown = {key: kind for key, kind in types.items() if key not in bound.key_types}
    schema = pl.Schema({**bound.key_types, name: pl.Float64(), **shown})
    return create_frame(bound, statement, schema)


def check_has_rows(bound: Bound, what: str) -> None:
    """Raise `RequestError` for an input without rows of its own."""
    refuse_many_labels(bound, what)
    binding = bound.binding
    if binding.state is not None:
        raise RequestError(f"{what}: a state holds no rows; scan the rows themselves")
    if binding.cells:
        raise RequestError(f"{what}: a table of counts holds no rows")
    if binding.is_expected:
        raise RequestError(f"{what}: expected= has no labels, so that no row is right or wrong")


def check_number(name: str, value: object) -> int:
    """Return a number of rows; raise `RequestError` if it is not a whole number from 1 on."""
    whole = convert_scalar(value)
    if isinstance(whole, int) and not isinstance(whole, bool) and whole >= 1:
        return whole
    raise RequestError(f"{name}={value!r} must be a whole number from 1 on")


def find_loss(bound: Bound) -> str:
    """Return the default metric whose loss decides."""
    kinds, binding = bound.binding.facts.metrics, bound.binding
    for name, needs_score in _LOSSES.items():
        if bound.catalogue.get(name).task in kinds and (binding.has_score or not needs_score):
            return name
    raise RequestError(f"the task {binding.task!r} has no metric that is a mean of losses")


def _find_place(bound: Bound, to: object) -> float:
    """Return the score from which distances are measured."""
    binding = bound.binding
    if not (binding.has_two_classes and "score" in binding.role):
        raise RequestError("nearest= needs one score, of two classes")
    if to is None:
        return 0.5 if binding.threshold is None else binding.threshold
    if not is_real_number(to) or not math.isfinite(to):
        raise RequestError(f"to={to!r} must be a finite number")
    return float(to)


def _check_cell(bound: Bound, cell: str | None) -> request.Request | None:
    """Return the request whose decisions make the cells; None without a cell."""
    if cell is None:
        return None
    if cell not in CELLS:
        raise RequestError(f"cell={cell!r} is not known; use one of {', '.join(CELLS)}")
    if not bound.binding.has_two_classes:
        raise RequestError(
            "cell= is for two classes; with others give where=, such as "
            "where=\"label = 'a' AND prediction = 'b'\""
        )
    return request.parse("error_rate", bound.binding.task, catalogue=bound.catalogue)


def _find_name(name: str, taken: Container[str]) -> str:
    """Return the name of the new column, with underscores if the source has it."""
    while name in taken:
        name += "_"
    return name
