"""Cells: counts of rows with equal values, from which the bootstrap draws its replicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from sqleval.catalog.request import Request
from sqleval.common.columns import Column
from sqleval.common.counts import format_row_count
from sqleval.common.sql_text import Value, quote, select, write_with
from sqleval.compiler import rows
from sqleval.compiler.classes import write_class, write_predicted_class
from sqleval.compiler.requirements import collect_values
from sqleval.compiler.singles import write_decision
from sqleval.engines.base import Engine
from sqleval.errors import DataError
from sqleval.inputs.binding import Binding, list_columns_read
from sqleval.inputs.source import Source
from sqleval.resampling.rounding import write_number, write_rounded, write_score

#: Up to this many rows, scores are not rounded; above, to the first of these numbers of bits.
EXACT_ROWS = 2_000
BITS = (9, 7, 5)
#: Scores are rounded further until there are no more cells than this.
_MOST_CELLS = 200_000
#: The blocks into which clusters are hashed; a block is drawn whole.
BLOCKS = 1_000
#: Fewer blocks of clusters of equal size than this give intervals that are too narrow.
FEW_BLOCKS = 40


class Input(NamedTuple):
    """A binding, and what runs its statements.

    Attributes
    ----------
    binding : Binding
        Roles, slice keys and options.
    source, labels : Source
        Where the rows and the late labels come from.
    engine : Engine
        What runs the statements.
    cluster : Column or None
        What is drawn whole, such as the rows of a user.
    """

    binding: Binding
    source: Source
    labels: Source | None
    engine: Engine
    cluster: Column | None = None

    def run(self, sql: str, params: Mapping[str, Value] | None = None) -> pl.DataFrame:
        """Run a SELECT over the input."""
        ours, theirs = list_columns_read(self.binding)
        if self.cluster is not None and self.cluster.name not in ours:
            ours.append(self.cluster.name)
        objects = self.source.objects(ours)
        objects |= self.labels.objects(theirs) if self.labels else {}
        sources = [self.source, *([self.labels] if self.labels else [])]
        return self.engine.run(sql, params or {}, sources, objects, pl.DataFrame)


#: How many blocks of equal size the blocks of a slice count as: the squares add up row by row.
_EQUAL_BLOCKS = pl.col("factor").sum() ** 2 / (pl.col("factor") * pl.col("_size")).sum()


class Cells(NamedTuple):
    """Counts of rows with equal values.

    Attributes
    ----------
    frame : polars.DataFrame
        The keys, the values, ``unit`` (what is drawn: a cell, or a block of clusters), ``mean``
        (how often it is drawn on average), ``factor`` (the rows per draw) and ``_is_rounded``
        (whether its scores are rounded).
    keys : tuple of str
        The slice keys, then those of folds.
    roles : dict
        The roles of the values, as `inputs.roles.bind` takes them.
    bits : int
        The significant bits of the scores; 0 where they are exact.
    is_clustered : bool
        Whether blocks of clusters are drawn instead of rows.
    """

    frame: pl.DataFrame
    keys: tuple[str, ...]
    roles: Mapping[str, Any]
    bits: int = 0
    is_clustered: bool = False

    def count_units(self, by: Sequence[str]) -> pl.DataFrame:
        """Return the number of rows that can be drawn, or of blocks: ``by`` and ``size``.

        Blocks of unequal size count as fewer: (sum of sizes)^2 / (sum of their squares).
        """
        size, frame = pl.col("mean").sum().cast(pl.Float64), self.frame
        if self.is_clustered:
            frame = self._add_sizes(by)
            size = _EQUAL_BLOCKS
        return (
            frame.group_by(by, maintain_order=True).agg(size=size)
            if by
            else frame.select(size=size)
        )

    def _add_sizes(self, by: Sequence[str]) -> pl.DataFrame:
        """Return the frame with ``_size``, the rows of a block."""
        return self.frame.with_columns(_size=pl.col("factor").sum().over([*by, "unit"]))

    def describe(self, keys: Sequence[str]) -> pl.DataFrame:
        """Return, per slice, what is drawn in the words of ``method`` and a note on its number.

        Returns
        -------
        polars.DataFrame
            ``keys``, ``_how`` (such as ``, scores of 9 bits``, or empty), ``_bits`` (NULL unless
            scores are rounded), ``_few`` (NULL unless there are few clusters), ``_are_counts``
            (whether weights can be counts of rows) and ``_too_few`` (whether there are fewer than
            three clusters).
        """
        blocks = pl.col("unit").n_unique()
        bits = pl.when(pl.col("_is_rounded").any()).then(pl.lit(self.bits))
        parts = [pl.format(", scores of {} bits", bits).fill_null("")]
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
        are_counts = pl.lit(value=True)
        if not self.is_clustered:
            are_counts = pl.col("mean").sum() >= pl.col("_rows").sum() * (1 - 1e-9)
        items = {"_how": pl.concat_str(parts), "_bits": bits}
        items |= {"_few": few, "_are_counts": are_counts}
        # Of one or two, a replicate has none too often.
        items["_too_few"] = (blocks <= 2) & self.is_clustered
        if not keys:
            return frame.select(**items)
        return frame.group_by(keys, maintain_order=True).agg(**items)


class Values(NamedTuple):
    """The columns that cells tell apart, as SQL, their roles, and whether scores are rounded."""

    items: Mapping[str, str]
    roles: Mapping[str, Any]
    is_rounded: bool = False


def group_requests(
    binding: Binding, requests: Sequence[Request]
) -> Iterator[tuple[list[Request], Value, bool]]:
    """Yield metrics that share their cells, their threshold, and whether they read scores.

    The threshold is None for metrics without one.
    """
    groups: dict[tuple[Value, bool], list[Request]] = {}
    for request in requests:
        decided = request.depends_on("decisions")
        scored = not decided and (binding.has_score and binding.task != "regression")
        threshold: Value = None
        if decided and binding.task == "binary" and "prediction" not in binding.role:
            threshold = collect_values(binding, request).get("threshold", 0.5)
        groups.setdefault((threshold, scored), []).append(request)
    for (threshold, scored), group in groups.items():
        yield group, threshold, scored


def remove_threshold(request: Request) -> Request:
    """Return a request over cells that hold the decision instead of a score."""
    kept = tuple(pair for pair in request.parameters if pair[0] != "threshold")
    return replace(request, parameters=kept)


def write_rows(
    binding: Binding, predicate: str | None, cluster: Column | None = None
) -> dict[str, str]:
    """Return the CTEs of the rows under internal names, ``_usable_rows`` the last."""
    is_state = binding.state is not None
    also = {"_rows": "s.n", "_usable": "s.used"} if is_state else {}
    read = binding
    if cluster is not None and "cluster" not in binding.role:
        read = replace(binding, roles=(*binding.roles, ("cluster", cluster)))
    usable = "_usable" if is_state else rows.write_usable(binding)
    ctes = rows.write_source(read, predicate, also)
    return ctes | {"_usable_rows": f"SELECT * FROM _source\nWHERE {usable}"}


def write_weight(binding: Binding) -> str:
    """Return the SQL of how many rows a row stands for."""
    if binding.state is not None:
        return "weight" if binding.is_weighted else "_rows"
    if binding.has_counts:
        return f"CAST({rows.write_row_count(binding)} AS BIGINT)"
    return "weight" if binding.is_weighted else "1"


def write_cells(data: Input, values: Values, exact: Values | None, predicate: str | None) -> str:
    """Return the statement of the cells.

    Parameters
    ----------
    data : Input
        The bound input.
    values : Values
        The columns that cells tell apart.
    exact : Values or None
        The same without rounding, for slices of up to `EXACT_ROWS` rows.
    predicate : str or None
        A condition on the slice keys.
    """
    binding, cluster = data.binding, data.cluster
    keys = {key: key for key in (*binding.keys, *binding.folds)}
    block = {}
    if cluster is not None:
        block = {"unit": _write_block(_count_blocks(data, cluster))}
    ctes = write_rows(binding, predicate, cluster)
    home, value_columns, is_rounded = "_usable_rows", dict(values.items), "FALSE"
    if values.is_rounded:
        is_rounded = "TRUE"
    if values.is_rounded and exact is not None and binding.keys:
        # A slice has the same cells, whatever other slices there are.
        home, is_rounded = "_sized_rows", "_is_large"
        ctes |= _write_sizes(binding)
        value_columns = {
            name: sql
            if sql == exact.items[name]
            else f"CASE WHEN _is_large THEN {sql} ELSE {exact.items[name]} END"
            for name, sql in value_columns.items()
        }
    items = keys | block | value_columns | {"_is_rounded": is_rounded}
    places = ", ".join(str(i) for i in range(1, len(items) + 1))
    items |= {"mean": f"SUM({write_weight(binding)})", "_rows": "COUNT(*)"}
    condition = f"\nWHERE {write_weight(binding)} > 0"
    return write_with(ctes, select(items, f"FROM {home}{condition}\nGROUP BY {places}"))


def _write_sizes(binding: Binding) -> dict[str, str]:
    """Return the CTEs of the rows with ``_is_large``, whether their slice has many."""
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


def _write_block(blocks: int) -> str:
    """Return the SQL of the block that a cluster is hashed into, from 1 on."""
    # The first seven digits of the MD5 of its text, digit by digit: engines differ in how they
    # read hexadecimal.
    text = "MD5(CAST(cluster AS VARCHAR))"
    digits = " + ".join(
        f"(STRPOS('0123456789abcdef', SUBSTRING({text}, {i + 1}, 1)) - 1) * {16 ** (6 - i)}"
        for i in range(7)
    )
    return f"({digits}) % {blocks} + 1"


def _count_blocks(data: Input, cluster: Column) -> int:
    """Return the number of blocks: up to `BLOCKS` clusters have a block each."""
    name = f"s.{quote(cluster.name)}"
    statement = f"SELECT COUNT(DISTINCT {name}) AS n FROM {data.binding.relation} AS s"
    return BLOCKS if data.run(statement).item() > BLOCKS else 16**7


def count_rows(data: Input) -> int:
    """Return the number of rows that can be used."""
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
        To how many significant bits; to fewer as long as there are more than ``most`` cells.
    """
    binding = data.binding
    keys = (*binding.keys, *binding.folds)
    exact = get_values(0)
    coarser = iter(bits if is_large else (0,))
    used = next(coarser)
    values = get_values(used)
    frame = data.run(write_cells(data, values, exact, predicate))
    while frame["_is_rounded"].sum() > most and (fewer := next(coarser, 0)):
        used = fewer
        values = get_values(used)
        frame = data.run(write_cells(data, values, exact, predicate))
    frame = frame.with_columns(pl.col("mean").cast(pl.Float64))
    if data.cluster is not None:
        if missing := frame.filter(pl.col("unit").is_null())["_rows"].sum():
            raise DataError(
                f"cluster={data.cluster.name!r} is NULL in {format_row_count(int(missing))}; "
                "whole clusters are drawn, so that every row needs one"
            )
        frame = frame.rename({"mean": "factor"}).with_columns(mean=pl.lit(1.0))
        return Cells(frame, keys, values.roles, used, is_clustered=True)
    # Numbered within a slice, so that a slice alone gets the same replicates.
    frame = frame.sort([*values.items, *binding.folds], nulls_last=True)
    unit = pl.int_range(1, pl.len() + 1)
    unit = unit.over(list(binding.keys)) if binding.keys else unit
    frame = frame.with_columns(unit=unit, factor=pl.lit(1.0))
    return Cells(frame, keys, values.roles, used)


def create_values(binding: Binding, bits: int, threshold: Value, *, scored: bool) -> Values:
    """Return the values that metrics read from the rows of one model.

    Parameters
    ----------
    binding : Binding
        The bound input.
    bits : int
        The significant bits of the scores; 0 for exact scores.
    threshold : float or None
        Where a score becomes a prediction, for metrics of decisions without a ``prediction``.
    scored : bool
        Whether the metrics read scores; otherwise they read predictions.
    """
    if binding.task == "multiclass":
        return _create_class_values(binding, bits, scored=scored)
    if binding.task != "binary":
        items = {
            "label": write_rounded("label", bits),
            "prediction": write_number("prediction", "label", bits),
        }
        roles = {"label": "label", "prediction": "prediction", "task": "regression"}
        return Values(items, roles, bits > 0)
    items = {"label": rows.write_zero_or_one(binding, "label")}
    roles: dict[str, Any] = {"label": "label", "task": "binary"}
    if binding.state is not None:
        items["label"] = "label"
    if scored:
        items["score"] = write_score("score", bits)
        return Values(items, roles | {"score": "score"}, bits > 0)
    if "prediction" in binding.role:
        items["prediction"] = rows.write_zero_or_one(binding, "prediction")
    else:
        items["prediction"] = write_decision(binding, "score", threshold)
    return Values(items, roles | {"prediction": "prediction"})


def _create_class_values(binding: Binding, bits: int, *, scored: bool) -> Values:
    items = {"label": write_class(binding.role["label"], "label")}
    roles: dict[str, Any] = {"label": "label", "task": "multiclass"}
    if scored:
        names = [f"score_{i}" for i, _ in enumerate(binding.classes, start=1)]
        items |= {name: write_score(name, bits) for name in names}
        classes = (value for value, _ in binding.classes)
        return Values(items, roles | {"score": dict(zip(classes, names, strict=True))}, bits > 0)
    if "prediction" in binding.role:
        items["prediction"] = write_class(binding.role["prediction"], "prediction")
    else:
        items["prediction"] = write_predicted_class(binding)
    return Values(items, roles | {"prediction": "prediction"})


def replace_models(binding: Binding) -> Binding:
    """Return a binding in which the models' scores are columns of a row instead of further rows."""
    return replace(binding, models=(), classes=binding.models)
