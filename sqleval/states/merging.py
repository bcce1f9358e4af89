"""Merges states by adding up rows with the same keys, label and bin."""

from __future__ import annotations

import json

import polars as pl

from sqleval.binding.binding import SQUARES, Definition
from sqleval.catalog.header import CENTRE, VARIANCE
from sqleval.catalog.tasks import TASKS
from sqleval.common.sql_text import quote, select, write_literal, write_squared_deviations
from sqleval.compiler.problems import DIVIDED
from sqleval.compiler.state_rows import CLASS
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError
from sqleval.sources.source import Source
from sqleval.states.making import RESERVED_COLUMNS, order_keys
from sqleval.states.reading import name_ending, open_states, read_definition


def _refuse_divided(source: Source, definition: Definition) -> None:
    """Raise `RequestError` if a query has several rows, because their values cannot be added up."""
    keys = [f"s.{quote(name)}" for name in definition.keys]
    groups = "\nGROUP BY " + ", ".join(keys) if keys else ""
    counted = f"SELECT COUNT(s.query) - COUNT(DISTINCT s.query) AS n\nFROM {source.relation} AS s"
    statement = f"SELECT SUM(n) AS n FROM ({counted}\nWHERE s.used{groups})"
    objects = source.objects([*definition.keys, "query", "used"])
    if divided := embedded().run(statement, {}, [source], objects, pl.DataFrame).item():
        raise RequestError(f"{divided} {DIVIDED}")


def merge_states(states: object, *, verify: bool = False) -> pl.LazyFrame:
    """Merge states into one row for each combination of keys, label and bin.

    ``verify`` checks the page checksums of local files before they are read.

    Raises
    ------
    SourceError
        If a source is not a state.
    RequestError
        If the states differ in their definition and cannot be merged.
    """
    source = open_states(states, verify=verify)
    source, columns, definition = read_definition(source)
    if TASKS[definition.task].has_queries:
        _refuse_divided(source, definition)
    # Integer columns have one value in all rows of a bin; the other columns are sums.
    shared = [name for name in definition.columns if columns[name].kind in ("integer", "hugeint")]
    roles = [role for role in ("label", "prediction", "score") if role in columns]
    roles += [CLASS] if TASKS[definition.task].has_many_labels else []
    keys = [*definition.keys, *roles, *definition.further, "used", *shared]
    items = {quote(name): f"s.{quote(name)}" for name in keys}
    if definition.bits:
        items |= {"score_low": "MIN(s.score_low)", "score_high": "MAX(s.score_high)"}
    items["n"] = "CAST(SUM(s.n) AS BIGINT)"
    items |= {"weight": "SUM(s.weight)"} if "weight" in columns else {}
    sums = [name for name in definition.columns if name not in shared]
    items |= {quote(name): f"SUM(s.{quote(name)})" for name in sums}
    weight = "s.weight" if "weight" in columns else "s.n"
    for name in sums:
        variance, centre = name_ending(name, VARIANCE), name_ending(name, CENTRE)
        if variance in sums:
            # With weights, deviations are weighted by squared weights, around the mean by these.
            has_centre = centre in sums and SQUARES in sums
            by, total = (f"s.{SQUARES}", centre) if has_centre else (weight, name)
            mean = f"(s.{quote(total)} / NULLIF({by}, 0))"
            items[quote(variance)] += f" + COALESCE({write_squared_deviations(by, mean)}, 0e0)"
    items["definition"] = write_literal(json.dumps(definition._asdict()))
    groups = [str(i) for i, _ in enumerate(keys, start=1)]
    # Rows of weight zero are kept apart, so that they do not widen the bounds of a bin.
    groups += ["SIGN(s.weight)"] if "weight" in columns else []
    order = [f"s.{quote(key)} NULLS LAST" for key in order_keys(definition.keys)]
    sql = select(items, f"FROM {source.relation} AS s\nGROUP BY {', '.join(groups)}", order)
    needed = [name for name in columns if name in {*keys, *sums, *RESERVED_COLUMNS}]
    return embedded().run(sql, {}, [source], source.objects(needed), pl.DataFrame).lazy()
