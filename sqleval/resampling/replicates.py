"""Replicates: metrics of samples that are drawn from cells, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import md5
from typing import Any

import polars as pl

from sqleval.catalog.catalogue import builtin
from sqleval.catalog.request import Request
from sqleval.common.sql_text import quote
from sqleval.compiler.metrics import compile_metrics
from sqleval.compiler.rewrite import bind_query, write_sql
from sqleval.engines.base import Engine
from sqleval.engines.embedded import embedded
from sqleval.errors import DataError
from sqleval.inputs.opening import open_source
from sqleval.inputs.roles import bind
from sqleval.inputs.source import Source
from sqleval.resampling.cells import Cells

#: The replicate that is the sample itself.
SAMPLE = 0
#: The number of groups of units that the jackknife leaves out in turn.
GROUPS = 50
_PRIME = 2**31 - 1
#: So many drawn cells are evaluated at once; this bounds the memory.
_CELLS_AT_ONCE = 4_000_000
_JOINED = ("unit", "mean", "factor", "_rows")


def create_salts(seed: int, numbers: Sequence[int]) -> pl.DataFrame:
    """Return the random numbers of replicates, which depend on the seed and their number alone.

    Examples
    --------
    >>> create_salts(0, [1]).rows()
    [(1, 963955262, 583853541)]
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
    files = (builtin().get(name) for name in ("uniforms", "draws"))
    texts = {each.name: write_sql(bind_query(each.query, ("cell",), {}, {})) for each in files}
    return "WITH " + ",\n".join(f"{name} AS (\n{sql}\n)" for name, sql in texts.items())


def _list_values(cells: Cells) -> list[str]:
    return [name for name in cells.frame.columns if name not in _JOINED]


def _draw(cells: Cells, salts: pl.DataFrame, engine: Engine) -> Any:
    """Return the cells of each replicate, with the number of rows drawn as ``n``."""
    units = cells.frame.select("unit", "mean").unique() if cells.blocks else cells.frame
    units = units.select("unit", "mean").unique().with_row_index("cell")
    units = units.with_columns(pl.col("cell").cast(pl.Int64), pl.col("unit").cast(pl.Int64))
    joined = cells.frame.with_columns(pl.col("unit").cast(pl.Int64)).join(
        units, on=["unit", "mean"], how="left", maintain_order="left"
    )
    values = ", ".join(f"c.{quote(name)}" for name in _list_values(cells))
    number = "d.drawn * c.factor" if cells.blocks else "d.drawn"
    statement = (
        f"{_write_draws()}\nSELECT {values}, d.replicate, {number} AS n FROM draws AS d "
        "JOIN counted AS c ON c.cell = d.cell WHERE d.drawn > 0"
    )
    objects = {"cells": units, "replicates": salts, "counted": joined}
    sources = [Source(name, name, label=name) for name in objects]
    return engine.run(statement, {}, sources, objects, pl.DataFrame)


def _leave_out(cells: Cells) -> Iterator[pl.DataFrame]:
    """Yield the cells without each group of units in turn, numbered -1, -2 ... as replicates."""
    for group in range(GROUPS):
        rest = cells.frame.filter(pl.col("unit") % GROUPS != group)
        yield _with_number(rest, cells, -1 - group)


def _with_number(frame: pl.DataFrame, cells: Cells, number: int) -> pl.DataFrame:
    n = (pl.col("mean") * pl.col("factor")).alias("n")
    replicate = pl.lit(number, pl.Int64).alias("replicate")
    return frame.select(*map(pl.col, _list_values(cells)), replicate, n)


def evaluate_drawn(
    frame: pl.DataFrame, cells: Cells, requests: Sequence[Request], keys: Sequence[str]
) -> pl.DataFrame:
    """Return the metrics of drawn cells: the keys, ``replicate``, ``metric`` and ``value``.

    Parameters
    ----------
    frame : polars.DataFrame
        The cells of one or more replicates.
    cells : Cells
        What they were drawn from.
    requests : sequence of Request
        The metrics.
    keys : sequence of str
        The slice keys among the columns; the others tell folds apart.
    """
    engine = embedded()
    is_whole = bool((frame["n"] == frame["n"].round()).all())
    if is_whole:
        frame = frame.with_columns(pl.col("n").cast(pl.Int64))
    roles: dict[str, Any] = {**cells.roles, "counts" if is_whole else "weight": "n"}
    source, columns = engine.describe(open_source(frame, name="_sqleval_rows"))
    folds = [key for key in cells.keys if key not in keys]
    binding = bind(source, columns, **roles, by=[*keys, "replicate"], over=folds)
    statement = compile_metrics(binding, tuple(requests))
    result = engine.run(
        statement.sql, statement.params, [source], source.objects(frame.columns), pl.DataFrame
    )
    if result.height and (problem := result["_problem"][0]) is not None:
        raise DataError(problem)
    return result.drop("_problem", "_notice", "n", "n_dropped", "low", "high", "method", "note")


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

    The replicates of the jackknife are numbered -1, -2 ...; each leaves out a group of units.
    """
    found = [evaluate_drawn(_with_number(cells.frame, cells, SAMPLE), cells, requests, keys)]
    if jackknife:
        left = pl.concat(_leave_out(cells))
        found.append(evaluate_drawn(left, cells, requests, keys))
    engine = embedded()
    at_once = max(_CELLS_AT_ONCE // max(cells.frame.height, 1), 1)
    for first in range(1, replicates + 1, at_once):
        numbers = range(first, min(first + at_once, replicates + 1))
        drawn = _draw(cells, create_salts(seed, numbers), engine)
        found.append(evaluate_drawn(drawn, cells, requests, keys))
    return pl.concat(found)
