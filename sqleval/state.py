"""States: what rows come to, by slice and period; metrics follow from them without the rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import polars as pl

from sqleval import bind, relations
from sqleval.binding import Binding, Column, Definition, Period
from sqleval.drafts import draft_of
from sqleval.engine import duckdb as engine
from sqleval.errors import RequestError, SourceError
from sqleval.names import literal, quote
from sqleval.periods import GRAINS, checked_grain
from sqleval.predictions import Predictions, bound_to
from sqleval.source import Source, is_remote, open_source
from sqleval.state_plan import RESERVED, VERSION, by_period

#: What of a state's rows must be the same in all that are added up.
_SAME = ("version", "task", "bits", "grain", "roles")


def _definitions(source: Source, columns: bind.Columns) -> list[tuple[Definition, int]]:
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
    for text, n in engine.few(statement, {}, [source], objects):
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


def common(source: Source, columns: bind.Columns) -> Definition:
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
    if not source.files or is_remote(source.relation):
        columns = engine.describe(source)
        return columns, common(source, columns)
    try:
        found = [Path(file).stat() for file in source.files]
    except OSError as error:
        raise SourceError(f"cannot read {error.filename!r}: {error.strerror}") from error
    stamps = tuple(
        (each.st_mtime_ns, each.st_ctime_ns, each.st_size, each.st_ino) for each in found
    )
    return _of_files(source.relation, source.label, source.files, stamps)


@lru_cache(maxsize=64)
def _of_files(
    relation: str, label: str, files: tuple[str, ...], _stamps: tuple[tuple[int, ...], ...]
) -> tuple[dict[str, Column], Definition]:
    source = Source(relation, files=files, label=label)
    columns = engine.describe(source)
    return columns, common(source, columns)


def _opened(states: object, con: Any = None) -> Source:
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
    if source.parquet:
        source.relation = source.relation.removesuffix(")") + ", union_by_name = TRUE)"
        source.parquet = ()
    return source


def write(frame: pl.DataFrame, path: str, metadata: dict[str, str] | None = None) -> None:
    """Write a state as Parquet, whole or not at all.

    Parameters
    ----------
    frame : polars.DataFrame
        The state.
    path : str
        The file, or a URL that Polars can write to.
    metadata : dict of str to str, optional
        What the file says of itself besides.

    Raises
    ------
    SourceError
        If the file cannot be written.
    """
    # A tenth larger than it could be, and read in three quarters of the time. A group of rows is
    # read by one thread, and not at all where its periods are not asked for.
    how: Any = {"compression": "snappy", "row_group_size": 20_480, "metadata": metadata}
    try:
        if is_remote(path):
            frame.write_parquet(path, **how)  # a store of objects puts them whole
            return
        with draft_of(path) as draft:
            frame.write_parquet(draft, **how)
    except (OSError, pl.exceptions.ComputeError) as error:
        raise SourceError(f"cannot write {path!r}: {str(error).splitlines()[0]}") from error


def in_database(path: str, table: str) -> pl.DataFrame:
    """Return the rows of a state that is a table of a DuckDB file.

    Raises
    ------
    SourceError
        If there is no such file or table.
    """
    return engine.table(path, table, pl.DataFrame)


def from_state(
    states: object,
    *,
    by: str | Sequence[str] = (),
    sets: str | Sequence[Sequence[str]] | None = None,
    grain: str | None = None,
    where: str | None = None,
    threshold: float | None = None,
    con: Any = None,
) -> Predictions:
    """Return the predictions whose states these are, to be evaluated without their rows.

    Counts, decisions at the thresholds that a state holds, and sums such as log loss are exact;
    what depends on the order of the scores has the bounds of the state's bins.

    Parameters
    ----------
    states : path, frame or table
        Paths, patterns and folders of Parquet files, a frame, an Arrow table, a DuckDB relation,
        or a table name with ``con=``: all their rows are added up.
    by : str or sequence of str
        Slice keys, of those that all states have; the others are added up.
    sets : str or sequence of sequence of str, optional
        As for `scan`.
    grain : {"hour", "day", "week", "month", "quarter", "year"}, optional
        Add up the periods to longer ones, under the key ``period``.
    where : str, optional
        A SQL condition over the slice keys and ``period``.
    threshold : float, optional
        Where a score becomes a positive prediction; at one that the states do not hold, bounds
        are given.
    con : duckdb.DuckDBPyConnection, optional
        The connection of a table name.

    Returns
    -------
    Predictions

    Raises
    ------
    SourceError
        If something is no state.
    RequestError
        If the states cannot be added up, or a key is not in all of them.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8], "g": ["a", "b"] * 2})
    >>> state = sqleval.scan(df, label="y", score="p", by="g").state("roc_auc").collect()
    >>> sqleval.from_state(state).evaluate("roc_auc").collect()["value"].item()
    0.75
    """
    return of_rows(
        _opened(states, con), by=by, sets=sets, grain=grain, where=where, threshold=threshold
    )


def of_rows(
    source: Source,
    *,
    by: str | Sequence[str] = (),
    sets: str | Sequence[Sequence[str]] | None = None,
    grain: str | None = None,
    where: str | None = None,
    threshold: float | None = None,
) -> Predictions:
    """Return the predictions of states that are open; see `from_state`."""
    bind.check_threshold(threshold)
    columns, definition = known(source)
    keys = {name: columns[name] for name in definition.keys if name in columns}
    names = bind.listed(by, "by")
    chosen = bind.sets_of(sets, names)
    _keep_apart(definition, chosen or [tuple(names)])
    for name in names:
        bind.find(keys, name, "by", f"all of {source.label}")
    period = _coarser(definition, grain, names, columns)
    condition = bind.condition(where, keys, source.label)[0] if where else None
    roles = {
        role: Column(role, columns[role].type)
        for role in ("label", "prediction", "score", "weight")
        if role in columns
    }
    said = dict(definition.roles)
    if "score" in roles:
        roles["score"] = Column("score", said.get("score type", "DOUBLE"))
    binding = Binding(
        relation=source.relation,
        task=definition.task,
        roles=tuple(roles.items()),
        by=tuple(keys[name] for name in names),
        sets=tuple(chosen),
        threshold=threshold,
        where=condition,
        where_columns=tuple(keys) if where else (),
        nulls="drop",
        period=period,
        state=definition,
    )
    return bound_to(binding, source, None)


def _keep_apart(definition: Definition, sets: Sequence[tuple[str, ...]]) -> None:
    """Raise `RequestError` if rows that stand for the same truth would be added up."""
    apart = ["model"] if definition.models else []
    apart += ["role"] if "role" in dict(definition.roles) else []
    for key in apart:
        if not all(key in keys for keys in sets):
            raise RequestError(
                f"these states tell rows apart by {key!r}, each of them with the same labels: "
                f"by= (and every set of sets=) needs {key!r}"
            )


def _coarser(
    definition: Definition, grain: str | None, by: Sequence[str], columns: bind.Columns
) -> Period | None:
    """Return the key of longer periods."""
    if grain is None:
        return None
    if "period" in by:
        raise RequestError("by= names 'period', which is the key that grain= adds")
    return Period(longer_periods(definition, grain), columns["period"])


def longer_periods(definition: Definition, grain: str) -> str:
    """Return the SQL of the longer period that one of a state's lies in, over the rows ``s``.

    Raises
    ------
    RequestError
        If the states have no periods, or theirs do not add up to these.
    """
    longer = checked_grain(grain)
    if not definition.grain:
        raise RequestError("these states have no periods: give grain= and time= when they are made")
    own = checked_grain(definition.grain)
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


def merged(states: object) -> pl.LazyFrame:
    """Return states added up: one row where several have the same keys, label and bin.

    Raises
    ------
    SourceError
        If something is no state.
    RequestError
        If they cannot be added up.
    """
    source = _opened(states)
    columns, definition = known(source)
    commons = [name for name in definition.columns if "INT" in columns[name].type]
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
    sql = relations.select(
        items, f"FROM {source.relation} AS s\nGROUP BY {', '.join(places)}", order
    )
    needed = [name for name in columns if name in {*keys, *sums, *RESERVED}]
    return engine.whole(sql, {}, [source], source.objects(needed), pl.DataFrame).lazy()
