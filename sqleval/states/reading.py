"""States: what rows come to, by slice and period; metrics follow from them without the rows."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

import polars as pl

from sqleval.common.columns import Column
from sqleval.common.periods import GRAINS, parse_grain
from sqleval.common.sql_text import literal
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError, SourceError
from sqleval.inputs.binding import Definition
from sqleval.inputs.lookup import Columns
from sqleval.inputs.opening import open_source
from sqleval.inputs.source import FileStamp, Source
from sqleval.states.making import VERSION

#: What of a state's rows must be the same in all that are added up.
_SAME = ("version", "task", "bits", "grain", "roles")


def _definitions(source: Source, columns: Columns) -> list[tuple[Definition, int]]:
    """Return what the rows of the sources are, and how many there are of each."""
    for name in ("definition", "n", "used"):
        if name not in columns:
            raise SourceError(
                f"{source.label} is no state: it has no column {name!r}; "
                "states are made by Predictions.state, or sqleval state build"
            )
    statement = f"SELECT definition, COUNT(*) FROM {source.relation} AS s GROUP BY 1 ORDER BY 1"
    found: list[tuple[Definition, int]] = []
    objects = source.objects(["definition"])
    for text, n in embedded().rows(statement, {}, [source], objects):
        try:
            said = json.loads(text)
            pairs = tuple((str(name), str(value)) for name, value in said.pop("roles"))
            keys, sums = (tuple(map(str, said.pop(name))) for name in ("keys", "columns"))
            found.append((Definition(roles=pairs, keys=keys, columns=sums, **said), n))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SourceError(
                f"{source.label}: {n:,} rows have a definition that is none: {text!r}"
            ) from error
    return found


def common(source: Source, columns: Columns) -> Definition:
    """Return what all rows of the sources are.

    Raises
    ------
    RequestError
        If they cannot be added up; the message says in what they differ.
    """
    found = [definition for definition, _ in _definitions(source, columns)]
    if not found:
        raise SourceError(f"{source.label} has no rows, and so nothing says what they would be")
    first = found[0]
    if first.version != VERSION:
        raise RequestError(
            f"{source.label} is of version {first.version} of the format, and {VERSION} is known"
        )
    for other in found[1:]:
        for name in _SAME:
            one, two = getattr(first, name), getattr(other, name)
            if name == "roles" and one != two:
                one, two = (dict(set(a) - set(b)) for a, b in ((one, two), (two, one)))
            if one != two:
                raise RequestError(
                    f"these states cannot be added up: {name} is {one!r} in some of them and "
                    f"{two!r} in others of {source.label}"
                )
    keys = [key for key in first.keys if all(key in each.keys for each in found)]
    sums = [name for name in first.columns if all(name in each.columns for each in found)]
    needed = [*keys, *sums, *(["label"] if first.task != "regression" else [])]
    needed += ["score", "score_low", "score_high"] if first.bits else []
    if lacking := [name for name in needed if name not in columns]:
        raise SourceError(f"{source.label} has lost a state's column: it lacks {lacking[0]!r}")
    return first._replace(keys=tuple(keys), columns=tuple(sums))


def known(source: Source) -> tuple[dict[str, Column], Definition]:
    """Return the columns of states, and what all their rows are.

    Files are asked again when they have changed.

    Raises
    ------
    SourceError
        If something is no state, or cannot be read.
    RequestError
        If they cannot be added up; the message says in what they differ.
    """
    source, columns = embedded().describe(source)
    version = source.version()
    if version is None:
        return columns, common(source, columns)
    return columns, _of_files(source.relation, source.label, source.files, version)


@lru_cache(maxsize=64)
def _of_files(
    relation: str, label: str, files: tuple[str, ...], _version: tuple[FileStamp, ...]
) -> Definition:
    """Return what the rows of files are; it is read again when one of them has changed."""
    source, columns = embedded().describe(Source(relation, files=files, label=label))
    return common(source, columns)


def open_states(states: object, con: Any = None) -> Source:
    """Return the source of states; see `sqleval.from_state` for what they may be."""
    if isinstance(states, pl.LazyFrame):
        states = states.collect()  # it is read more than once, and it is not large
    if isinstance(states, pl.DataFrame) and states.schema.get("definition") == pl.String:
        # The same long text in every row: DuckDB would read each of them.
        texts = pl.Enum(states["definition"].drop_nulls().unique().sort())
        states = states.with_columns(pl.col("definition").cast(texts))
    source = open_source(states, con=con, name="_sqleval_state")
    if source.once:
        source = open_source(pl.DataFrame(cast("Any", states)), name="_sqleval_state")
    return by_name(source)


def by_name(source: Source) -> Source:
    """Return the source of states of which some may hold sums that others do not."""
    if not source.several:
        return source
    relation = source.relation.removesuffix(")") + ", union_by_name = TRUE)"
    return replace(source, relation=relation, several=())


def longer_periods(definition: Definition, grain: str) -> str:
    """Return the SQL of the longer period that one of a state's lies in, over the rows ``s``.

    Raises
    ------
    RequestError
        If the states have no periods, or theirs do not add up to these.
    """
    longer = parse_grain(grain)
    if not definition.grain:
        raise RequestError("these states have no periods: give grain= and time= when they are made")
    own = parse_grain(definition.grain)
    # A week may lie in two months.
    if GRAINS.index(longer) < GRAINS.index(own) or own == "week" != longer:
        raise RequestError(f"periods of a {own} cannot be added up to a {grain}")
    name = 's."period"'
    zone = dict(definition.roles).get("timezone", "")
    local = f"CAST(SUBSTR({name}, 1, 10) AS DATE)"
    if own == "hour" and zone:
        # An hour is called by its start in UTC; DuckDB 1.5 reads no time without seconds.
        start = f"CAST(REPLACE({name}, 'Z', ':00Z') AS TIMESTAMP WITH TIME ZONE)"
        local = f"({start} AT TIME ZONE {literal(zone)})"
    day = f"DATE_TRUNC('{grain}', {local})"
    return name if grain == own else f"CAST(CAST({day} AS DATE) AS VARCHAR)"
