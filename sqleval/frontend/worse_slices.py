"""Searches the slices in which a model is worse than in the other rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from sqleval.binding.arguments import check_level
from sqleval.binding.binding import list_columns_read
from sqleval.binding.lookup import find_column, list_unique_names
from sqleval.catalog import request
from sqleval.common.columns import NUMBERS, TEXTS, Column, is_float
from sqleval.common.sql_text import quote, write_present_test
from sqleval.compiler.slice_sums import Searched, compile_sums
from sqleval.engines.audit import remove_audit
from sqleval.errors import RequestError
from sqleval.frontend.bound import Bound, list_objects, list_sources
from sqleval.frontend.computing import compute_roles, describe
from sqleval.frontend.lazy import run_statement
from sqleval.frontend.rows import check_has_rows, check_number, find_loss
from sqleval.frontend.slice_choice import Options, find_worse
from sqleval.inference.libraries import load_library
from sqleval.resampling.deferred import defer_frame

#: Columns of numbers with more different values than this are divided into so many ranges.
_MOST_NUMBERS, _RANGES = 12, 8
#: Columns of texts with more different values are not searched unless they are named.
_MOST_TEXTS = 1_000
_SCHEMA = pl.Schema(
    {
        "metric": pl.String, "slice": pl.String, "n": pl.Int64, "share": pl.Float64,
        "value": pl.Float64, "rest": pl.Float64, "difference": pl.Float64, "low": pl.Float64,
        "high": pl.Float64, "p_adjusted": pl.Float64, "searched": pl.Int64,
    }
)  # fmt: skip


def slices(
    bound: Bound,
    search: Sequence[str] | str | None = None,
    metric: str | None = None,
    *,
    depth: int = 2,
    min_rows: int = 30,
    ci: float = 0.95,
    top: int = 10,
) -> pl.LazyFrame:
    """Return the slices in which a loss is larger than in the other rows, the clearest first.

    Every value of a column is a slice; so are eight ranges of a number with about equal numbers of
    rows, and all numbers below or above an end of them; and so are the combinations of two columns.
    A slice is returned if its mean loss is larger by both of two tests, Welch's t-test and the
    permutation test, after Holm's correction for all slices searched: the probability that any
    slice is returned from data without an effect is at most ``1 - ci``. The rows of the clearest
    slice are then left out, and the next slice must be worse among the rows that remain.

    Parameters
    ----------
    search : str or sequence of str, optional
        Columns, or SQL expressions over columns. By default all columns of texts, truth values and
        numbers that are no role; texts with more than 1,000 different values are left out.
    metric : str, optional
        A metric that is a mean of losses of rows, as ``by`` of `Predictions.rows`.
    depth : {1, 2, 3}
        The largest number of columns of a slice.
    min_rows : int
        The least number of rows of a slice, and of the other rows.
    ci : float
        One minus the probability of a false finding, and the level of the intervals.
    top : int
        The largest number of slices returned; the rows are read once for each.

    Returns
    -------
    polars.LazyFrame
        ``metric``, ``slice`` (a condition, which ``where=`` takes), ``n``, its ``share`` of all
        rows, ``value`` of the slice and of the ``rest``, their ``difference`` with ``low`` and
        ``high`` (by Welch, wide enough for all slices searched together), ``p_adjusted``, and
        ``searched``, the number of these slices. No row if no slice is worse.

    Raises
    ------
    RequestError
        At once, for a metric that is no mean of losses, an unknown column or a wrong option.
    DataError
        On ``collect``, for missing values, or scores that the metric cannot use.

    Notes
    -----
    NaN is a missing value. Rows whose loss is undefined, such as a percentage of 0, are left out.
    Rows count as independent of each other. If several rows belong to one user, evaluate a row per
    user, or check the slices on other data.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> wrong = [0] * 190 + [1] * 10 + [0] * 50 + [1] * 50
    >>> df = pl.DataFrame({"y": wrong, "p": [0.1] * 300, "city": ["A"] * 200 + ["B"] * 100})
    >>> found = sqleval.scan(df, label="y", score="p").slices("city").collect()
    >>> found.select("slice", "n", "searched").row(0)
    ("city = 'B'", 100, 2)
    """
    check_has_rows(bound, "slices()")
    if bound.binding.by or bound.binding.sets or bound.binding.over:
        raise RequestError("slices() searches all rows: leave out by=, sets= and over=")
    if bound.binding.models:
        raise RequestError("slices() searches the rows of one model: give one score or prediction")
    check_level(ci)
    if check_number("depth", depth) > 3:
        raise RequestError(f"depth={depth!r} must be 1, 2 or 3")
    if check_number("min_rows", min_rows) < 2:
        raise RequestError("min_rows=1 must be at least 2: one row has no variance")
    check_number("top", top)
    load_library("stats")  # a missing extra is an error before collect
    name = metric or find_loss(bound)
    loss = request.parse(name, bound.binding.task, catalogue=bound.catalogue)
    bound, columns = _choose_columns(bound, search)
    # So that a wrong request raises before collect.
    compile_sums(bound.binding, columns, loss, depth, min_rows, bound.catalogue)

    def compute() -> pl.DataFrame:
        searched = _divide(bound, columns, is_named=search is not None)

        def add_up(left_out: tuple[str, ...]) -> pl.DataFrame:
            statement = compile_sums(
                bound.binding, searched, loss, depth, min_rows, bound.catalogue, left_out
            )
            return remove_audit(run_statement(bound, statement))

        is_binary = "row_value" in loss.relation.header and not bound.binding.is_weighted
        options = Options(min_rows, 1 - ci, top, is_binary)
        found = find_worse(add_up, searched, depth, options)
        shown = pl.lit(request.format_request(loss)).alias("metric")
        return found.select(shown, pl.all()).select(_SCHEMA.names()).cast(_SCHEMA)

    return defer_frame(compute, _SCHEMA)


def _choose_columns(
    bound: Bound, search: Sequence[str] | str | None
) -> tuple[Bound, tuple[Searched, ...]]:
    """Return the rows with computed columns, and the columns to search."""
    computed: Mapping[str, tuple[str, ...]] = {}
    if search is None:
        _, columns = bound.engine.describe(bound.source)
        roles = {*list_columns_read(replace(bound.binding, where_columns=()))[0]}
        chosen = [c for name, c in columns.items() if name not in roles and _is_divisible(c)]
        if not chosen:
            raise RequestError(f"{bound.source.label} has no column to search besides the roles")
    else:
        names = list_unique_names(search, "search")
        if not names:
            raise RequestError("search= names no column; leave it out to search all")
        described = compute_roles(
            describe(bound.source, None, bound.engine), {"key": names}, bound.engine
        )
        label, computed = bound.source.label, described.computed
        chosen = [find_column(described.columns, each, "search", label) for each in names]
        for column in chosen:
            if not _is_divisible(column):
                raise RequestError(
                    f"search={column.name!r} is {column.type}; columns of texts, truth values and "
                    "numbers can be searched, or an expression such as month(at)"
                )
        if described.source is not bound.source:
            binding = replace(bound.binding, relation=described.source.relation)
            bound = replace(bound, source=described.source, binding=binding)
    read = dict.fromkeys([*bound.binding.where_columns, *(column.name for column in chosen)])
    bound = replace(bound, binding=replace(bound.binding, where_columns=tuple(read)))
    return bound, tuple(Searched(c, is_computed=c.name in computed) for c in chosen)


def _is_divisible(column: Column) -> bool:
    return column.kind in TEXTS | NUMBERS | {"boolean"} and not column.unusable


def _divide(bound: Bound, columns: Sequence[Searched], *, is_named: bool) -> tuple[Searched, ...]:
    """Return the columns with the ends of the ranges of numbers, without ids among the texts."""
    items = [sql for column, *_ in columns for sql in _write_facts(column, bound.engine.dialect)]
    where = f" WHERE ({bound.binding.where})" if bound.binding.where else ""
    listed = ", ".join(f"{sql} AS fact_{i}" for i, sql in enumerate(items))
    statement = f"SELECT {listed} FROM {bound.binding.relation} AS s{where}"
    sources = list_sources(bound)
    (row,) = bound.engine.rows(statement, {}, sources, list_objects(bound))
    values: list[Any] = [*row]
    searched: list[Searched] = []
    for each in columns:
        distinct: int = values.pop(0)
        if is_float(each.column.type):
            each = each._replace(has_nan=bool(values.pop(0)))
        if each.column.kind in NUMBERS:
            low, *edges = values[:_RANGES]
            del values[:_RANGES]
            ends: tuple[float, ...] = ()
            if distinct > _MOST_NUMBERS and low is not None:  # None: there is no finite number
                ends = _round_ends(low, edges)
            searched.append(each._replace(edges=ends))
        elif is_named or distinct <= _MOST_TEXTS:
            searched.append(each)
    return tuple(searched)


def _write_facts(column: Column, dialect: str) -> list[str]:
    """Return the SQL of the number of different values, and of the ends of a number's ranges."""
    sql = f"s.{quote(column.name)}"
    text = f"CAST({sql} AS VARCHAR)"
    is_exact = dialect == "postgres"
    facts = [f"COUNT(DISTINCT {text})" if is_exact else f"APPROX_COUNT_DISTINCT({text})"]
    if is_float(column.type):
        is_present = write_present_test(sql, column.type, finite=False, null=True)
        facts.append(f"MAX(CASE WHEN {is_present} THEN 0 ELSE 1 END)")
    if column.kind in NUMBERS:
        number = f"CASE WHEN ISFINITE(CAST({sql} AS DOUBLE)) THEN CAST({sql} AS DOUBLE) END"
        # Elsewhere the exact ones are not to be had in one aggregate, and near ones are as good.
        name = "QUANTILE_DISC" if dialect in ("duckdb", "postgres") else "APPROX_QUANTILE"
        facts.append(f"MIN({number})")
        facts += [f"{name}({number}, {i / _RANGES!r})" for i in range(1, _RANGES)]
    return facts


def _round_ends(low: float, edges: Sequence[float]) -> tuple[float, ...]:
    """Return different ends above the lowest number, with as many digits as their spread needs.

    Examples
    --------
    >>> _round_ends(18.02, [18.02, 31.4159, 39.9, 57.123])
    (31.4, 39.9, 57.1)
    >>> _round_ends(0, [2019, 2020, 2024])
    (2019, 2020, 2024)
    """
    spread = edges[-1] - edges[0]
    digits = 2 - math.floor(math.log10(spread)) if 0 < spread < math.inf else 17
    rounded = (edge if edge == int(edge) else round(edge, digits) for edge in edges)
    return tuple(dict.fromkeys(edge for edge in rounded if edge > low))
