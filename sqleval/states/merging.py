"""Adds up states to one."""

from __future__ import annotations

import json

import polars as pl

from sqleval.common.sql_text import literal, quote, select
from sqleval.engines.embedded import embedded
from sqleval.states.making import RESERVED, by_period
from sqleval.states.reading import known, open_states


def merged(states: object) -> pl.LazyFrame:
    """Return states added up: one row where several have the same keys, label and bin.

    Raises
    ------
    SourceError
        If something is no state.
    RequestError
        If they cannot be added up.
    """
    source = open_states(states)
    columns, definition = known(source)
    commons = [name for name in definition.columns if columns[name].kind in ("integer", "hugeint")]
    alike = [*definition.keys, *(r for r in ("label", "prediction", "score") if r in columns)]
    keys = [*alike, "used", *commons]
    items = {quote(name): f"s.{quote(name)}" for name in keys}
    if definition.bits:
        items |= {"score_low": "MIN(s.score_low)", "score_high": "MAX(s.score_high)"}
    items["n"] = "CAST(SUM(s.n) AS BIGINT)"
    items |= {"weight": "SUM(s.weight)"} if "weight" in columns else {}
    sums = [name for name in definition.columns if name not in commons]
    items |= {quote(name): f"SUM(s.{quote(name)})" for name in sums}
    items["definition"] = literal(json.dumps(definition._asdict()))
    places = [str(i) for i, _ in enumerate(keys, start=1)]
    # What weighs nothing has no part in the ends of a bin.
    places += ["SIGN(s.weight)"] if "weight" in columns else []
    order = [f"s.{quote(key)} NULLS LAST" for key in by_period(definition.keys)]
    sql = select(items, f"FROM {source.relation} AS s\nGROUP BY {', '.join(places)}", order)
    needed = [name for name in columns if name in {*keys, *sums, *RESERVED}]
    return embedded().run(sql, {}, [source], source.objects(needed), pl.DataFrame).lazy()
