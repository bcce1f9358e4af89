"""Counts rows with equal values (cells), from which the bootstrap draws its replicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from sqleval.binding.binding import SQUARES, Binding, Definition, list_columns_read
from sqleval.common.columns import Column
from sqleval.common.sql_text import Value, quote, select, write_with
from sqleval.compiler import rows
from sqleval.compiler.buckets import Buckets
from sqleval.compiler.weights import LEAST_SHARE, WHOLE, WHOLE_WEIGHT
from sqleval.engines.base import Engine
from sqleval.errors import DataError
from sqleval.resampling.blocks import BLOCKS, describe_missing, write_block
from sqleval.resampling.values import Values
from sqleval.sources.source import Source

#: Up to this many rows, scores are exact; above, they are rounded to the first of these bits.
EXACT_ROWS = 2_000
BITS = (9, 7, 5)
#: Scores are rounded further until there are at most this many cells.
_MOST_CELLS = 200_000
#: With fewer blocks (of equal size), intervals are too narrow.
FEW_BLOCKS = 40


class Input(NamedTuple):
    """A binding, and the sources and engine that run its statements.

    Attributes
    ----------
    binding : Binding
        Roles, slice keys and options.
    source, labels : Source
        The rows, and the late labels.
    engine : Engine
        The engine that runs the statements.
    cluster : Column or None
        The column of clusters, which are drawn whole, such as users.
    fit_buckets : callable or None
        For an engine of several machines: returns ranges of the score, or None if one task can
        rank all rows.
    """

    binding: Binding
    source: Source
    labels: Source | None
    engine: Engine
    cluster: Column | None = None
    fit_buckets: Callable[[], Buckets | None] | None = None

    def run(self, sql: str, params: Mapping[str, Value] | None = None) -> pl.DataFrame:
        """Run a SELECT over the input."""
        return self.engine.run(sql, params or {}, *self._list_sources(), pl.DataFrame)

    def keep(self, sql: str) -> AbstractContextManager[Source]:
        """Run a SELECT over the input, and yield a table of its rows in the embedded engine."""
        from sqleval.engines.kept import keep_rows  # late: it imports DuckDB

        return keep_rows(self.engine, sql, *self._list_sources())

    def _list_sources(self) -> tuple[list[Source], dict[str, object]]:
        """Return the sources that a SELECT reads, and the objects to register for it."""
        ours, theirs = list_columns_read(self.binding)
        if self.cluster is not None and self.cluster.name not in ours:
            ours.append(self.cluster.name)
        objects = dict(self.source.objects(ours))
        objects |= self.labels.objects(theirs) if self.labels else {}
        return [self.source, *([self.labels] if self.labels else [])], objects


#: The effective number of rows with weights (Kish 1965): (sum w)^2 / sum w^2.
_EFFECTIVE_ROWS = (pl.col("mean") * pl.col("factor")).sum() ** 2 / (
    pl.col("mean") * pl.col("factor") ** 2
).sum()
#: The number of equal blocks that a slice's blocks count as; the squares are summed row by row.
_EQUAL_BLOCKS = pl.col("factor").sum() ** 2 / (pl.col("factor") * pl.col("_size")).sum()


class Cells(NamedTuple):
    """Counts of rows with equal values.

    Attributes
    ----------
    frame : polars.DataFrame
        The keys, the values, ``unit`` (the number of the cell or block of clusters that is drawn),
        ``mean`` (the mean number of draws), ``factor`` (the rows per draw, or their weight) and
        ``_is_rounded`` (whether its scores are rounded).
    keys : tuple of str
        The slice keys, then those of folds.
    roles : dict
        The roles of the values, as `binding.roles.bind` takes them; for a ranking, by model (None
        if there is only one), the column of its values by query.
    bits : int
        The significant bits of the scores; 0 where they are exact.
    is_clustered : bool
        Whether blocks of clusters are drawn instead of rows.
    is_weighted : bool
        Whether the rows have weights.
    definition : Definition or None
        For a ranking, the definition of the state that drawn queries form; None if rows are drawn.
    """

    frame: pl.DataFrame
    keys: tuple[str, ...]
    roles: Mapping[Any, Any]
    bits: int = 0
    is_clustered: bool = False
    is_weighted: bool = False
    definition: Definition | None = None

    def count_units(self, by: Sequence[str]) -> pl.DataFrame:
        """Return the number of rows, or of blocks, that can be drawn: ``by`` and ``size``.

        Blocks of unequal size count as fewer: (sum of sizes)^2 / (sum of squared sizes). Rows of
        unequal weight do the same.
        """
        size, frame = pl.col("mean").sum().cast(pl.Float64), self.frame
        if self.is_weighted:
            size = _EFFECTIVE_ROWS
        if self.is_clustered:
            frame = self._add_sizes(by)
            size = _EQUAL_BLOCKS
        return (
            frame.group_by(by, maintain_order=True).agg(size=size)
            if by
            else frame.select(size=size)
        )

    def _add_sizes(self, by: Sequence[str]) -> pl.DataFrame:
        """Add ``_size``, the number of rows of a block."""
        return self.frame.with_columns(_size=pl.col("factor").sum().over([*by, "unit"]))

    def describe(self, keys: Sequence[str]) -> pl.DataFrame:
        """Return, per slice, the words of ``method`` for the drawn units, and a note if few.

        Returns
        -------
        polars.DataFrame
            ``keys``, ``_how`` (such as ``, scores of 9 bits``, or empty), ``_bits`` (NULL unless
            scores are rounded), ``_few`` (NULL unless there are few clusters), ``_weights`` (the
            note on weights, or NULL) and ``_too_few`` (whether there are fewer than three
            clusters).
        """
        blocks = pl.col("unit").n_unique()
        bits = pl.when(pl.col("_is_rounded").any()).then(pl.lit(self.bits))
        what = "scores" if self.definition is None else "values"
        parts = [pl.format(f", {what} of {{}} bits", bits).fill_null("")]
        few, frame = pl.lit(None, pl.String), self.frame
        if self.is_clustered:
            words = pl.when(blocks == 1).then(pl.lit("block")).otherwise(pl.lit("blocks"))
            number = pl.format("{} {} of clusters", blocks, words)
            parts.append(pl.format(", {}", number))
            remark = pl.format(
                "{} count as {} of equal size: the interval may be too narrow",
                number,
                _EQUAL_BLOCKS.round(1),
            )
            few, frame = pl.when(_EQUAL_BLOCKS < FEW_BLOCKS).then(remark), self._add_sizes(keys)
        items = {"_how": pl.concat_str(parts), "_bits": bits}
        items |= {"_few": few, "_weights": self._describe_weights()}
        # With one or two clusters, many replicates draw none of them.
        items["_too_few"] = (blocks <= 2) & self.is_clustered
        if not keys:
            return frame.select(**items)
        return frame.group_by(keys, maintain_order=True).agg(**items)

    def _describe_weights(self) -> pl.Expr:
        if not self.is_weighted:
            return pl.lit(None, pl.String)
        rows = pl.col("_rows").sum()
        few = pl.format(
            "weights: effective number of rows {} of {}",
            (_EFFECTIVE_ROWS + 0.5).floor().cast(pl.Int64),
            rows.cast(pl.Int64),
        )
        is_whole = (pl.col("_least").min() >= 1) & (pl.col("_most").max() > 1)
        return (
            pl.when(is_whole)
            .then(pl.lit(WHOLE))
            .when(float(LEAST_SHARE) * rows > _EFFECTIVE_ROWS)
            .then(few)
        )


def write_rows(
    binding: Binding, predicate: str | None, cluster: Column | None = None
) -> dict[str, str]:
    """Return the CTEs of the rows under internal names; the last is ``_usable_rows``."""
    is_state = binding.state is not None
    also = {"_rows": "s.n", "_usable": "s.used"} if is_state else {}
    also |= {SQUARES: f"s.{SQUARES}"} if is_state and binding.is_weighted else {}
    read = binding
    if cluster is not None and "cluster" not in binding.role:
        read = replace(binding, roles=(*binding.roles, ("cluster", cluster)))
    usable = "_usable" if is_state else rows.write_usable(binding)
    ctes = rows.write_source(read, predicate, also)
    return ctes | {"_usable_rows": f"SELECT * FROM _source\nWHERE {usable}"}


def write_weight(binding: Binding) -> str:
    """Return the SQL of the number of rows that a row stands for."""
    if binding.state is not None:
        return "weight" if binding.is_weighted else "_rows"
    if binding.has_counts:
        return f"CAST({rows.write_row_count(binding)} AS BIGINT)"
    return "weight" if binding.is_weighted else "1"


def write_cells(
    data: Input, values: Values, exact: Values | None, predicate: str | None, *, is_large: bool
) -> str:
    """Return the statement of the cells.

    Parameters
    ----------
    data : Input
        The bound input.
    values : Values
        The columns by which rows are grouped into cells.
    exact : Values or None
        The same columns without rounding, for slices of up to `EXACT_ROWS` rows.
    predicate : str or None
        A condition on the slice keys.
    is_large : bool
        Whether there are more than `EXACT_ROWS` rows.
    """
    binding, cluster = values.binding or data.binding, data.cluster
    is_weighted = binding.is_weighted and cluster is None
    keys = {key: key for key in (*binding.keys, *binding.folds)}
    block = {}
    if cluster is not None:
        block = {"unit": write_block(_count_blocks(data, cluster))}
    ctes = dict(values.ctes) or write_rows(binding, predicate, cluster)
    home, value_columns = "_usable_rows", dict(values.items)
    is_rounded = "TRUE" if values.is_rounded else "FALSE"
    is_pooled = "TRUE" if is_large or binding.state is not None else "FALSE"
    varies = values.is_rounded or (is_weighted and is_large)
    if varies and exact is not None and binding.keys:
        # The size of each slice decides on rounding, so its cells do not depend on other slices.
        home = "_sized_rows"
        is_rounded = "_is_large" if values.is_rounded else is_rounded
        is_pooled = "_is_large" if binding.state is None else is_pooled
        ctes |= _write_sizes(binding)
        value_columns = _write_by_size(values, exact)
    items = keys | block | value_columns | {"_is_rounded": is_rounded}
    items |= {"_weight": f"CASE WHEN NOT {is_pooled} THEN weight END"} if is_weighted else {}
    places = ", ".join(str(i) for i in range(1, len(items) + 1))
    if is_weighted:
        items |= _write_weighted_draws(binding, items["_weight"])
    else:
        items |= {"mean": f"SUM({write_weight(binding)})", "_rows": "COUNT(*)"}
    condition = f"\nWHERE {write_weight(binding)} > 0"
    return write_with(ctes, select(items, f"FROM {home}{condition}\nGROUP BY {places}"))


def _write_by_size(values: Values, exact: Values) -> dict[str, str]:
    """Return the columns of values, rounded in large slices only."""
    return {
        name: sql
        if sql == exact.items[name]
        else f"CASE WHEN _is_large THEN {sql} ELSE {exact.items[name]} END"
        for name, sql in values.items.items()
    }


def _write_weighted_draws(binding: Binding, weight: str) -> dict[str, str]:
    """Return the mean number of draws of a cell of weighted rows, and the weight of a draw, as SQL.

    In small slices, all rows of a cell have one weight: the mean number of draws is the number of
    rows. In large slices, and in states, a cell has several weights w. Then each draw has the
    weight q = sum w^2 / sum w, and the number of draws is Poisson with mean sum w / q. This gives
    the mean (sum w) and the variance (sum w^2) of rows that are drawn one by one.
    """
    squares, rows = f"SUM({SQUARES})", "SUM(_rows)"
    if binding.state is None:
        squares, rows = "SUM(weight * weight)", "COUNT(*)"
    is_pooled, draw = f"COUNT({weight}) = 0", f"{squares} / SUM(weight)"
    return {
        "mean": f"CASE WHEN {is_pooled} THEN SUM(weight) / ({draw}) ELSE {rows} END",
        "factor": f"CASE WHEN {is_pooled} THEN {draw} ELSE MAX(weight) END",
        "_rows": rows,
        "_least": f"MIN({WHOLE_WEIGHT})" if binding.state is None else "0",
        "_most": "MAX(weight)",
    }


def _write_sizes(binding: Binding) -> dict[str, str]:
    """Return the CTEs that add ``_is_large`` to the rows: whether their slice has many rows."""
    size = "COUNT(*)"
    if binding.state is not None:
        size = "SUM(_rows)"
    elif binding.has_counts:
        size = f"SUM({write_weight(binding)})"
    named = {f"size_{key}": key for key in binding.keys}
    items = named | {"_is_large": f"{size} > {EXACT_ROWS}"}
    by = ", ".join(binding.keys)
    same = " AND ".join(f"r.{key} IS NOT DISTINCT FROM z.{name}" for name, key in named.items())
    joined = f"FROM _usable_rows AS r\nJOIN _sizes AS z ON {same}"
    return {
        "_sizes": select(items, f"FROM _usable_rows\nGROUP BY {by}"),
        "_sized_rows": f"SELECT r.*, z._is_large\n{joined}",
    }


def _count_blocks(data: Input, cluster: Column) -> int:
    """Return the number of blocks: one per cluster, and at most `BLOCKS`."""
    name = f"s.{quote(cluster.name)}"
    statement = f"SELECT COUNT(DISTINCT {name}) AS n FROM {data.binding.relation} AS s"
    return BLOCKS if data.run(statement).item() > BLOCKS else 16**7


def count_rows(data: Input, values: Values | None = None) -> int:
    """Return the number of usable rows; with the values of queries, the number of queries."""
    if values is not None and values.ctes:
        counted = write_with(values.ctes, "SELECT COUNT(*) AS n FROM _usable_rows")
        return int(data.run(counted, values.params).item())
    ctes = write_rows(data.binding, None)
    size = "COUNT(*)" if data.binding.state is None else "SUM(_rows)"
    counted = write_with(ctes, f"SELECT {size} AS n FROM _usable_rows")
    return int(data.run(counted).item() or 0)


def count_cells(
    data: Input,
    get_values: Callable[[int], Values],
    predicate: str | None,
    *,
    is_large: bool,
    bits: Sequence[int] = BITS,
    most: int = _MOST_CELLS,
) -> Cells:
    """Count the rows with equal values.

    Parameters
    ----------
    data : Input
        The bound input.
    get_values : callable
        Returns the `Values` for a number of significant bits of the scores.
    predicate : str or None
        A condition on the slice keys.
    is_large : bool
        Whether there are more than `EXACT_ROWS` rows, so that scores are rounded.
    bits : sequence of int
        Significant bits to round to. The next one is tried while there are more than ``most``
        cells.
    """
    exact = get_values(0)
    binding = exact.binding or data.binding
    keys = (*binding.keys, *binding.folds)
    if is_large and exact.ctes:
        is_large = count_rows(data, exact) > EXACT_ROWS
    coarser = iter(bits if is_large else (0,))
    used = next(coarser)
    values = get_values(used)
    frame = _run_cells(data, values, exact, predicate, is_large=is_large)
    while frame["_is_rounded"].sum() > most and (fewer := next(coarser, 0)):
        used = fewer
        values = get_values(used)
        frame = _run_cells(data, values, exact, predicate, is_large=is_large)
    frame = frame.with_columns(pl.col("mean").cast(pl.Float64))
    if data.cluster is not None:
        if missing := int(frame.filter(pl.col("unit").is_null())["_rows"].sum()):
            raise DataError(describe_missing(data.cluster, missing, of_queries=bool(values.ctes)))
        frame = frame.rename({"mean": "factor"}).with_columns(mean=pl.lit(1.0))
        return Cells(frame, keys, values.roles, used, True, definition=values.definition)
    # Units are numbered within a slice, so that it has the same replicates without other slices.
    is_weighted = binding.is_weighted
    weights = ["_weight"] if is_weighted else []
    frame = frame.sort([*values.items, *weights, *binding.folds], nulls_last=True)
    unit, factor = pl.int_range(1, pl.len() + 1), pl.lit(1.0)
    # Only ratios of weights matter; scaled by the largest one, the sum of draws cannot overflow.
    factor = pl.col("factor") / pl.col("factor").max() if is_weighted else factor
    columns = {"unit": unit, "factor": factor}
    if binding.keys:
        columns = {name: each.over(list(binding.keys)) for name, each in columns.items()}
    frame = frame.with_columns(**columns)
    return Cells(
        frame, keys, values.roles, used, is_weighted=is_weighted, definition=values.definition
    )


def _run_cells(
    data: Input, values: Values, exact: Values, predicate: str | None, *, is_large: bool
) -> pl.DataFrame:
    statement = write_cells(data, values, exact, predicate, is_large=is_large)
    return data.run(statement, values.params)
