"""Opens states, and reads the definition that describes their rows."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

import polars as pl

from sqleval.binding.binding import KEY_PREFIX, SQUARES, Definition
from sqleval.binding.lookup import Columns
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import Column
from sqleval.common.counts import format_row_count
from sqleval.common.periods import GRAINS, parse_grain
from sqleval.common.sql_text import write_literal
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError, SourceError
from sqleval.sources.opening import open_source
from sqleval.sources.source import FileStamp, Source
from sqleval.sources.verify import verify_source
from sqleval.states.copies import refuse_copies
from sqleval.states.making import VERSION

#: Parts of the definition that must be equal in states that are merged.
_MUST_AGREE = ("version", "task", "bits", "grain", "roles")


def name_ending(column: str, ending: str) -> str:
    """Add an ending to the name of a state's sum, before its parameters.

    Examples
    --------
    >>> name_ending("log_losses.loss(eps=1e-15)", "_variance")
    'log_losses.loss_variance(eps=1e-15)'
    """
    name, paren, params = column.partition("(")
    return f"{name}{ending}{paren}{params}"


def _read_definitions(source: Source, columns: Columns) -> list[tuple[Definition, int]]:
    """Return the definitions in a source, and the number of rows of each."""
    for name in ("definition", "n", "used"):
        if name not in columns:
            raise SourceError(
                f"{source.label} is not a state: it has no column {name!r}; "
                "states are built by Predictions.state, or sqleval state build"
            )
    statement = f"SELECT definition, COUNT(*) FROM {source.relation} AS s GROUP BY 1 ORDER BY 1"
    definitions: list[tuple[Definition, int]] = []
    objects = source.objects(["definition"])
    for text, n in embedded().rows(statement, {}, [source], objects):
        try:
            fields = json.loads(text)
            pairs = tuple((str(name), str(value)) for name, value in fields.pop("roles"))
            keys, sums = (tuple(map(str, fields.pop(name))) for name in ("keys", "columns"))
            definitions.append((Definition(roles=pairs, keys=keys, columns=sums, **fields), n))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SourceError(
                f"{source.label}: {format_row_count(n)} with an unreadable definition: {text!r}"
            ) from error
    return definitions


def merge_definitions(source: Source, columns: Columns) -> Definition:
    """Return the definition that all rows of a source share.

    Raises
    ------
    SourceError
        If the source is not a state, or has no rows.
    RequestError
        If its states cannot be merged; the message names the difference.
    """
    definitions = [definition for definition, _ in _read_definitions(source, columns)]
    if not definitions:
        raise SourceError(f"{source.label} has no rows, so it has no definition of a state")
    first = definitions[0]
    if first.version != VERSION:
        raise RequestError(
            f"{source.label} has version {first.version} of the state format; "
            f"this sqleval reads version {VERSION}; build it from the rows with this sqleval"
        )
    for other in definitions[1:]:
        _check_agreement(first, other, source.label)
    keys = [key for key in first.keys if all(key in each.keys for each in definitions)]
    # Leave out keys whose expressions differ, because their slices are not the same.
    texts = {key: {each.expressions.get(key) for each in definitions} for key in keys}
    apart = {f"{KEY_PREFIX}{key}": "" for key in keys if len(texts[key]) > 1}
    sums = [name for name in first.columns if all(name in each.columns for each in definitions)]
    roles = tuple(sorted((dict(first.roles) | apart).items()))
    keys = tuple(key for key in keys if f"{KEY_PREFIX}{key}" not in apart)
    needed = [*keys, *sums, *(["label"] if TASKS[first.task].has_classes else [])]
    needed += ["weight", SQUARES] if "weight" in dict(first.roles) else []
    needed += ["score", "score_low", "score_high"] if first.bits else []
    if missing := [name for name in [*needed, *first.further] if name not in columns]:
        raise SourceError(f"{source.label} lacks a column of its states: {missing[0]!r}")
    return first._replace(keys=keys, columns=tuple(sums), roles=roles)


def _check_agreement(one: Definition, other: Definition, label: str) -> None:
    """Raise `RequestError` if two states differ in what must agree."""
    for name in _MUST_AGREE:
        first, second = getattr(one, name), getattr(other, name)
        if name == "roles":
            # The SQL of slice keys may differ, which are then left out.
            roles = [
                {pair for pair in each if not pair[0].startswith(KEY_PREFIX)}
                for each in (first, second)
            ]
            first, second = dict(roles[0] - roles[1]), dict(roles[1] - roles[0])
        if first != second:
            raise RequestError(
                f"these states cannot be merged: {name} is {first!r} in some of them and "
                f"{second!r} in others of {label}"
            )


def read_definition(source: Source) -> tuple[Source, dict[str, Column], Definition]:
    """Return states, their columns, and the definition that all their rows share.

    The definition of local files is cached until one of them changes.

    Raises
    ------
    SourceError
        If a source is not a state, or cannot be read.
    RequestError
        If the states cannot be merged; the message names the difference.
    """
    source, columns = embedded().describe(source)
    if source.check is not None:
        source.check(["definition"])
    version = source.version()
    if version is None:
        definition = merge_definitions(source, columns)
    else:
        files = source.files
        definition = _read_file_definition(source.relation, source.label, files, version)
    return source, columns, definition


@lru_cache(maxsize=64)
def _read_file_definition(
    relation: str, label: str, files: tuple[str, ...], _version: tuple[FileStamp, ...]
) -> Definition:
    """Return the definition of local files; ``_version`` is only part of the cache's key."""
    source, columns = embedded().describe(Source(relation, files=files, label=label))
    definition = merge_definitions(source, columns)
    if definition.grain and len(files) > 1:
        refuse_copies(files)
    return definition


def open_states(states: object, con: Any = None, *, verify: bool = False) -> Source:
    """Open states as one source; `sqleval.from_state` lists the kinds of ``states``."""
    if isinstance(states, pl.LazyFrame):
        states = states.collect()  # it is small, and read more than once
    if isinstance(states, pl.DataFrame) and states.schema.get("definition") == pl.String:
        # Every row repeats a long text. As an ENUM, DuckDB handles each distinct text once.
        texts = pl.Enum(states["definition"].drop_nulls().unique().sort())
        states = states.with_columns(pl.col("definition").cast(texts))
    source = open_source(states, con=con, name="_sqleval_state")
    if source.once:
        source = open_source(pl.DataFrame(cast("Any", states)), name="_sqleval_state")
    source = unify_columns(source)
    return verify_source(source) if verify else source


def unify_columns(source: Source) -> Source:
    """Match columns of several files by name, because some files may lack some sums."""
    if not source.several:
        return source
    relation = source.relation.removesuffix(")") + ", union_by_name = TRUE)"
    return replace(source, relation=relation, several=())


def write_longer_period_sql(definition: Definition, grain: str) -> str:
    """Return SQL for the longer period that contains a period of a state, over the rows ``s``.

    Raises
    ------
    RequestError
        If the states have no periods, or their periods do not add up to longer ones.
    """
    longer = parse_grain(grain)
    if not definition.grain:
        raise RequestError(
            "these states have no periods: give grain= and time= when they are built"
        )
    shorter = parse_grain(definition.grain)
    # Weeks do not add up to other periods, because a week may lie in two months.
    if GRAINS.index(longer) < GRAINS.index(shorter) or shorter == "week" != longer:
        raise RequestError(f"periods of one {shorter} cannot be added up to one {grain}")
    name = 's."period"'
    zone = dict(definition.roles).get("timezone", "")
    local = f"CAST(SUBSTR({name}, 1, 10) AS DATE)"
    if shorter == "hour" and zone:
        # The name of an hour is its start in UTC; DuckDB 1.5 cannot parse a time without seconds.
        start = f"CAST(REPLACE({name}, 'Z', ':00Z') AS TIMESTAMP WITH TIME ZONE)"
        local = f"({start} AT TIME ZONE {write_literal(zone)})"
    day = f"DATE_TRUNC('{grain}', {local})"
    return name if grain == shorter else f"CAST(CAST({day} AS DATE) AS VARCHAR)"
