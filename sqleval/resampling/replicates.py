"""Evaluates metrics of replicates: samples drawn from cells, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import md5
from typing import Any

import polars as pl

from sqleval.binding.binding import Binding
from sqleval.binding.roles import bind
from sqleval.catalog.catalogue import builtin
from sqleval.catalog.request import Request
from sqleval.common.sql_text import quote
from sqleval.compiler.metrics import compile_metrics
from sqleval.compiler.rewrite import bind_query, write_sql
from sqleval.compiler.statement import Statement
from sqleval.engines.audit import remove_audit
from sqleval.engines.base import Engine
from sqleval.engines.embedded import embedded
from sqleval.errors import DataError
from sqleval.resampling.cells import Cells
from sqleval.resampling.queries import bind_queries
from sqleval.sources.opening import open_source
from sqleval.sources.source import Source

#: The replicate that is the sample itself.
SAMPLE = 0
#: Up to this many units of a slice, the jackknife leaves out a row of each in turn.
_MOST_UNITS = 500
#: With more units, it leaves out each of this many random samples of the rows in turn.
_GROUPS = 100
_PRIME = 2**31 - 1
#: At most this many drawn cells are evaluated at once, which bounds the memory.
_CELLS_AT_ONCE = 4_000_000
#: The most rows that can be drawn: DOUBLE cannot count further by 1.
_MOST_DRAWN = 2.0**53
_JOINED = ("unit", "mean", "factor", "_rows", "_is_rounded", "_weight", "_least", "_most")


def create_salts(seed: int, numbers: Sequence[int]) -> pl.DataFrame:
    """Return the random numbers of replicates, which depend only on the seed and their number.

    Examples
    --------
    >>> create_salts(0, [1]).rows()
    [(1, 757014420, 405459132)]
    """
    salts: list[tuple[int, int, int]] = []
    for number in numbers:
        digest = md5(f"{seed}/{number}".encode(), usedforsecurity=False).digest()
        first, second = (int.from_bytes(digest[i : i + 4], "big") % _PRIME for i in (0, 4))
        salts.append((number, first, second))
    names = ("replicate", "first_salt", "second_salt")
    return pl.DataFrame(salts, schema=dict.fromkeys(names, pl.Int64), orient="row")


@cache
def _write_draws() -> str:
    """Return the CTEs that draw: ``uniforms`` and ``draws``, of `sql/base`."""
    uniforms, draws = (
        write_sql(bind_query(builtin().get(name).query, ("cell",), {}, {}))
        for name in ("uniforms", "draws")
    )
    # MATERIALIZED, because a condition on draws is pushed into the CTE, which then runs twice.
    return f"WITH uniforms AS (\n{uniforms}\n),\ndraws AS MATERIALIZED (\n{draws}\n)"


def _list_values(cells: Cells) -> list[str]:
    return [name for name in cells.frame.columns if name not in _JOINED]


def _draw(cells: Cells, salts: pl.DataFrame, engine: Engine, *, leave_out: bool = False) -> Any:
    """Return the cells of each replicate, with the number of rows drawn as ``n``.

    With ``leave_out``, one in `_GROUPS` rows is drawn, and ``n`` counts the other rows.
    """
    units = cells.frame.select("unit", "mean").unique().with_row_index("cell")
    units = units.with_columns(pl.col("cell").cast(pl.Int64), pl.col("unit").cast(pl.Int64))
    joined = cells.frame.with_columns(pl.col("unit").cast(pl.Int64)).join(
        units, on=["unit", "mean"], how="left", maintain_order="left"
    )
    values = ", ".join(f"c.{quote(name)}" for name in _list_values(cells))
    drawn = "d.drawn"
    if leave_out:
        units = units.with_columns(pl.col("mean") / _GROUPS)
        drawn = "GREATEST(c.mean - d.drawn, 0)"
    has_factor = cells.is_clustered or cells.is_weighted
    number = f"{drawn} * c.factor" if has_factor else drawn
    statement = (
        f"{_write_draws()}\nSELECT {values}, d.replicate, {number} AS n FROM draws AS d "
        f"JOIN counted AS c ON c.cell = d.cell WHERE {drawn} > 0"
    )
    objects = {"cells": units, "replicates": salts, "counted": joined}
    # A statement over few rows skips the optimizer and is planned once. A tenth of the pairs of a
    # cell and a replicate counts as rows, as up to 200,000 pairs take longer to plan than to draw.
    rows = units.height * salts.height // 10
    sources = [Source(name, name, label=name, rows=rows) for name in objects]
    return engine.run(statement, {}, sources, objects, pl.DataFrame)


def leave_out_units(
    cells: Cells, requests: Sequence[Request], keys: Sequence[str], over: Sequence[str]
) -> pl.DataFrame:
    """Return the metrics of the jackknife, which leaves out one row of each unit in turn.

    With clusters the whole unit is left out. The replicates of a slice are numbered -1, -2 ...;
    the result counts for each row of the unit, so ``weight`` is the unit's number of rows.

    Parameters
    ----------
    cells, requests, keys
        As for `evaluate_drawn`.
    over : sequence of str
        The slice keys within which units are numbered.
    """
    over = list(over)
    number = pl.col("unit").rank("dense").cast(pl.Int64)
    frame = cells.frame.with_columns(_number=number.over(over) if over else number)
    parts: list[pl.DataFrame] = []
    units = frame.select(*over, "_number", weight=pl.max_horizontal("mean", 1.0)).unique()
    units = units.rename({"_number": "_left"})
    step = max(_CELLS_AT_ONCE // max(frame.height, 1), 1)
    for first in range(1, int(frame["_number"].max() or 0) + 1, step):  # type: ignore[arg-type]
        chosen = units.filter(pl.col("_left").is_between(first, first + step - 1))
        pairs = frame.join(
            chosen, on=over or None, how="inner" if over else "cross", nulls_equal=bool(over)
        )
        is_left = (pl.col("_number") == pl.col("_left")).cast(pl.Float64)
        n = pl.max_horizontal(pl.col("mean") - is_left, 0.0) * pl.col("factor")
        drawn = pairs.select(*_list_values(cells), n=n, replicate=-pl.col("_left"))
        values = evaluate_drawn(drawn.filter(pl.col("n") > 0), cells, requests, keys)
        weights = chosen.select(*over, "weight", replicate=-pl.col("_left"))
        parts.append(_join_by_name(values, weights, [*over, "replicate"]))
    return pl.concat(parts)


def _leave_out(
    cells: Cells, requests: Sequence[Request], keys: Sequence[str], seed: int
) -> pl.DataFrame:
    """Return the metrics of the jackknife, numbered -1, -2 ..., and ``weight``, the rows of each.

    If a slice has few units, a row of each is left out in turn. Otherwise random samples of rows
    are left out: their third moments add up to those of single rows.
    """
    size = pl.col("unit").n_unique()
    is_few = (size.over(keys) if keys else size) <= _MOST_UNITS
    few, many = cells.frame.filter(is_few), cells.frame.filter(~is_few)
    parts: list[pl.DataFrame] = []
    if few.height:
        parts.append(leave_out_units(cells._replace(frame=few), requests, keys, keys))
    rest, engine = cells._replace(frame=many), embedded()
    step = max(_CELLS_AT_ONCE // max(many.height, 1), 1)
    for first in range(1, _GROUPS + 1 if many.height else 1, step):
        numbers = range(-first, -min(first + step, _GROUPS + 1), -1)
        drawn = _draw(rest, create_salts(seed, numbers), engine, leave_out=True)
        values = evaluate_drawn(drawn, cells, requests, keys)
        parts.append(values.with_columns(weight=pl.lit(1.0)))
    return pl.concat(parts)


def _join_by_name(values: pl.DataFrame, other: pl.DataFrame, on: Sequence[str]) -> pl.DataFrame:
    typed = other.with_columns(pl.col(name).cast(values.schema[name]) for name in on)
    return values.join(typed, on=on, how="left", nulls_equal=True, maintain_order="left")


def _number_replicate(frame: pl.DataFrame, cells: Cells, number: int) -> pl.DataFrame:
    n = (pl.col("mean") * pl.col("factor")).alias("n")
    replicate = pl.lit(number, pl.Int64).alias("replicate")
    return frame.select(*map(pl.col, _list_values(cells)), replicate, n)


def bind_drawn(
    frame: pl.DataFrame, cells: Cells, keys: Sequence[str], *, by_row: bool = False
) -> tuple[Source, Binding, pl.DataFrame]:
    """Return the source and the binding of drawn cells, whose last slice key is ``replicate``.

    Parameters
    ----------
    frame : polars.DataFrame
        The cells of one or more replicates.
    cells : Cells
        The cells that they were drawn from.
    keys : sequence of str
        The slice keys among the columns; other keys are folds.
    by_row : bool
        Whether a cell becomes as many rows as were drawn, instead of one row with a weight.
    """
    if cells.definition is not None:
        return bind_queries(frame, cells, keys)
    # Weights instead of counts: whole numbers stay exact, and sums of counts are slow (16 bytes).
    frame = frame.with_columns(pl.col("n").cast(pl.Float64))
    roles: dict[str, Any] = {**cells.roles} | ({} if by_row else {"weight": "n"})
    source = open_source(frame, name="_sqleval_rows")
    if by_row:
        copies = "UNNEST(RANGE(CAST(r.n AS BIGINT)))"
        relation = f"(SELECT r.* FROM {source.relation} AS r CROSS JOIN {copies})"
        source = source.add_columns(relation, [], ["n"])
    source, columns = embedded().describe(source)
    folds = [key for key in cells.keys if key not in keys]
    return source, bind(source, columns, **roles, by=[*keys, "replicate"], over=folds), frame


def run_drawn(statement: Statement, source: Source, frame: pl.DataFrame) -> pl.DataFrame:
    """Run a statement over drawn cells; return its rows without the audit."""
    result = embedded().run(
        statement.sql, statement.params, [source], source.objects(frame.columns), pl.DataFrame
    )
    return remove_audit(result)


def evaluate_drawn(
    frame: pl.DataFrame, cells: Cells, requests: Sequence[Request], keys: Sequence[str]
) -> pl.DataFrame:
    """Return the metrics of drawn cells: the keys, ``replicate``, ``metric`` and ``value``.

    Parameters
    ----------
    frame, cells, keys
        As for `bind_drawn`.
    requests : sequence of Request
        The metrics.
    """
    parts: list[pl.DataFrame] = []
    for by_row in (False, True):
        chosen = tuple(each for each in requests if _takes_rows(each) == by_row)
        if chosen:
            source, binding, rows = bind_drawn(frame, cells, keys, by_row=by_row)
            parts.append(run_drawn(compile_metrics(binding, chosen), source, rows))
    result = pl.concat(parts, how="diagonal")
    return result.drop("n", "n_dropped", "low", "high", "method", "note")


def _takes_rows(request: Request) -> bool:
    """Whether a metric cannot use weights, so that a row drawn twice must be two rows."""
    return request.header.get("weights") == "none"


def draw_replicates(cells: Cells, replicates: int, seed: int) -> Iterator[pl.DataFrame]:
    """Yield the cells of the sample (replicate 0) and of replicates 1 ..., in batches."""
    if not cells.is_clustered and (total := cells.frame["mean"].sum()) > _MOST_DRAWN:
        raise DataError(
            f"replicates draw rows, and the counts add up to {total:g}; up to {_MOST_DRAWN:g} rows "
            "can be drawn: divide the counts, or leave out the interval"
        )
    sample = _number_replicate(cells.frame, cells, SAMPLE)
    if not replicates:
        yield sample
    at_once = max(_CELLS_AT_ONCE // max(cells.frame.height, 1), 1)
    for first in range(1, replicates + 1, at_once):
        numbers = range(first, min(first + at_once, replicates + 1))
        drawn = _draw(cells, create_salts(seed, numbers), embedded())
        if first > 1:
            yield drawn
            continue
        # The first batch includes the sample: another statement takes longer to plan than to run.
        drawn = drawn.with_columns(pl.col("n").cast(pl.Float64))
        yield pl.concat([sample.cast(dict(drawn.schema)), drawn])


def evaluate_replicates(
    cells: Cells,
    requests: Sequence[Request],
    keys: Sequence[str],
    *,
    replicates: int,
    seed: int,
    jackknife: bool = False,
) -> pl.DataFrame:
    """Return the metrics of the sample (replicate 0), of replicates 1 ... and of the jackknife.

    The replicates of the jackknife are numbered -1, -2 ...; each counts for ``weight`` rows.
    """
    drawn = draw_replicates(cells, replicates, seed)
    values = pl.concat([evaluate_drawn(each, cells, requests, keys) for each in drawn])
    if not jackknife:
        return values
    weighed = values.with_columns(weight=pl.lit(1.0))
    return pl.concat([weighed, _leave_out(cells, requests, keys, seed)])
