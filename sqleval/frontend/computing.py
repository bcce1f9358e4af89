"""Computes the columns of slice keys and roles that are expressions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqleval.binding.binding import Binding
from sqleval.binding.expressions import (
    find_expression,
    list_names_read,
    list_texts,
    parse_role,
)
from sqleval.binding.lookup import Columns
from sqleval.binding.roles import bind
from sqleval.binding.slice_keys import SliceKey, add_slice_keys, parse_slice_keys
from sqleval.binding.where import check_condition, keep_nan
from sqleval.catalog.roles import list_arguments
from sqleval.dialects import portable
from sqleval.engines.base import Engine
from sqleval.errors import EngineError, RequestError, SourceError, SqlevalError
from sqleval.sources.source import Source


class Described(NamedTuple):
    """The sources of an input, with their columns.

    ``computed`` has the columns that are expressions, each with the columns that it reads.
    """

    source: Source
    columns: Columns
    labels: Source | None = None
    late: Columns | None = None
    computed: Mapping[str, tuple[str, ...]] = {}

    def bind(self, roles: Mapping[str, Any]) -> Binding:
        """Return the binding of roles."""
        return bind(self.source, self.columns, labels=self.labels, label_columns=self.late, **roles)


def describe(source: Source, labels: Source | None, engine: Engine) -> Described:
    """Return the sources with the columns that the engine finds in them."""
    source, columns = engine.describe(source)
    if labels is None:
        return Described(source, columns)
    labels, late = engine.describe(labels)
    return Described(source, columns, labels, late)


def find_reason(error: SqlevalError) -> str:
    """Return the engine's message, without the statement and the functions that may follow it."""
    text = error.reason or str(error.__cause__ or error).split("\n\n")[0]
    return text.partition("\n\tCandidate functions:")[0]


#: Arguments besides roles whose columns may be expressions.
_OTHERS = ("over", "cluster", "key", "time", "model", "groups")


def compute_roles(described: Described, roles: Mapping[str, Any], engine: Engine) -> Described:
    """Return the sources with the expressions of roles as columns, each named by its text.

    Raises
    ------
    RequestError
        If a text is neither a column nor one expression over existing columns.
    """
    keys: dict[bool, dict[str, SliceKey]] = {False: {}, True: {}}
    for argument in (*list_arguments(), *_OTHERS):
        for text in list_texts(roles.get(argument)):
            if (home := find_home(argument, text, described)) is None:
                continue
            if engine.dialect != "duckdb":
                portable.check_condition(text, engine.dialect, argument)
            columns, where = described.columns, described.source.label
            if home and described.labels is not None:
                columns, where = described.late or {}, described.labels.label
            keys[home][text] = parse_role(text, columns, where, argument)
    return add_computed(described, keys[False].values(), keys[True].values(), engine)


def find_home(argument: str, text: str, described: Described) -> bool | None:
    """Return whether an expression is over the late labels; None for the name of a column."""
    columns, late = described.columns, described.late
    if late is None or described.labels is None:
        return None if find_expression(text, columns) is None else False
    if text in late or text in columns:
        return None
    tree = find_expression(text, columns)
    if tree is None or argument == "label":
        return None if tree is None else True
    read = list_names_read(tree)
    ours, theirs = ({name.casefold() for name in each} for each in (columns, late))
    return read <= theirs and not read <= ours


def add_computed(
    described: Described, ours: Iterable[SliceKey], theirs: Iterable[SliceKey], engine: Engine
) -> Described:
    """Return the sources with computed columns of the rows, and of the late labels."""
    ours, theirs = [*ours], [*theirs]
    source, columns = _compute(described.source, described.columns, ours, engine)
    labels, late = described.labels, described.late
    if labels is not None:
        labels, late = _compute(labels, late or {}, theirs, engine)
    computed = {**described.computed, **{key.name: key.columns for key in [*ours, *theirs]}}
    return Described(source, columns, labels, late, computed)


def _compute(
    source: Source, columns: Columns, keys: Sequence[SliceKey], engine: Engine
) -> tuple[Source, Columns]:
    """Return a source with computed columns.

    Raises
    ------
    RequestError
        If the engine cannot compute one of them; the message names it.
    """
    if not keys:
        return source, columns
    try:
        described, computed = engine.describe(add_slice_keys(source, columns, keys, engine.dialect))
    except (EngineError, SourceError) as error:
        for key in keys if len(keys) > 1 else ():
            _compute(source, columns, [key], engine)  # The error then names one expression.
        text = keys[0].name
        raise RequestError(f"{text!r} cannot be computed: {find_reason(error)}") from error
    for key in keys:
        is_mixed = key.has_singles and computed[key.name].kind == "float64"
        computed[key.name] = computed[key.name]._replace(has_singles=is_mixed)
    # Notes about the other columns, such as those that files disagree about, are kept.
    return described, {**computed, **columns}


def compute_slice_keys(
    described: Described, by: Mapping[str, str], where: str | None, engine: Engine
) -> tuple[Described, tuple[tuple[str, str], ...]]:
    """Return the source with the expressions of ``by=`` as columns, and their SQL."""
    source, columns = described[:2]
    for name in by:
        if name not in columns and find_expression(name, columns) is not None:
            # A role may be the same expression, and would read the key.
            raise RequestError(f"by={name!r} is an expression; a key's name is a word")
    keys = [
        _find_edges(key, source, columns, where, engine) if key.intervals else key
        for key in parse_slice_keys(by, columns, source.label)
    ]
    try:
        described = add_computed(described, keys, [], engine)
    except RequestError as error:
        raise RequestError(f"by={dict(by)!r}: {error}") from error.__cause__
    return described, tuple((key.name, key.describe()) for key in keys)


def _find_edges(
    key: SliceKey, source: Source, columns: Columns, where: str | None, engine: Engine
) -> SliceKey:
    """Return a key with ends that divide the rows into intervals of about equal size."""
    if source.once:
        raise RequestError(
            f"by={key.name!r}: qcut() reads the rows to find its ends, but {source.label} can be "
            "read only once; give the ends with cut()"
        )
    condition, used = "TRUE", ()
    if where is not None:
        condition, used = check_condition(where, columns, source.label)
        condition = keep_nan(condition, columns) if engine.dialect == "duckdb" else condition
    shares = ", ".join(map(repr, key.shares))
    number = f"CAST({key.sql} AS DOUBLE)"
    finite = f"ISFINITE({number})"
    statement = (
        f"SELECT QUANTILE_DISC({number}, [{shares}]) FROM {source.relation} AS s "
        f"WHERE ({condition}) AND {finite}"
    )
    objects = source.objects(list(dict.fromkeys([*key.columns, *used])))
    ((edges,),) = engine.rows(statement, {}, [source], objects)
    if not edges:
        raise RequestError(f"by={key.name!r}: qcut() found no number in {source.label}")
    return key._replace(edges=tuple(dict.fromkeys(edges)))
