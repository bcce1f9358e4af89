"""Pivots long tables: a row per model and key becomes a row per key with a score per model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqleval.binding.binding import Binding
from sqleval.binding.canonical import read_column
from sqleval.binding.lookup import Columns, find_column
from sqleval.binding.pivot import write_cases, write_chosen, write_test
from sqleval.binding.roles import bind
from sqleval.catalog.roles import name_argument
from sqleval.common.columns import Column
from sqleval.common.sql_text import quote, write_present_test
from sqleval.comparison.options import Options
from sqleval.errors import DataError, RequestError
from sqleval.resampling.cells import Input

#: A column with more values is taken for a key of rows, not for names of models.
_MOST_MODELS = 50


def _find(data: Input, name: str, option: str) -> tuple[Column, Columns]:
    _, columns = data.engine.describe(data.source)
    return find_column(columns, name, option, data.source.label), columns


def find_model(data: Input, name: str, option: str) -> Column:
    """Return the column that names the model, or the group, of each row."""
    column, _ = _find(data, name, option)
    if column.kind in ("interval", "nested"):
        when = "with paired=False " if option == "model" else ""
        raise RequestError(
            f"{option}={name!r} is {column.type}, and {when}it must be a text, a number or a date"
        )
    return column


def check_keyed(binding: Binding, option: str) -> None:
    """Raise `RequestError` if an input with sets of keys or periods is compared by a column."""
    if binding.sets or binding.period:
        raise RequestError(f"{option} goes with plain slice keys, not with sets=")


def list_models(data: Input, column: Column, option: str = "model") -> list[str]:
    """Return the values of a column of models, or groups, in alphabetical order."""
    binding = data.binding
    plural = "models" if option == "model" else option
    name = f"CAST(s.{quote(column.name)} AS VARCHAR)"
    where = f"\nWHERE ({binding.where})" if binding.where else ""
    statement = f"SELECT {name} AS model FROM {binding.relation} AS s{where}\nGROUP BY 1"
    models = _reading(data, column.name).run(statement)["model"].sort()
    if models.null_count():
        raise DataError(
            f"{option}={column.name!r} is NULL in some rows, and each row needs "
            "one; where= (--where) leaves these rows out"
        )
    if len(models) < 2:
        only = f" but {models.item()!r}" if len(models) else ""
        raise DataError(f"{option}={column.name!r} has no value{only}; two {plural} are compared")
    if len(models) > _MOST_MODELS:
        raise RequestError(
            f"{option}={column.name!r} has {len(models):,} values; up to {_MOST_MODELS} {plural} "
            "are compared"
        )
    return models.to_list()


def _reading(data: Input, *names: str) -> Input:
    """Return an input that also reads these columns."""
    source = data.source.add_columns(data.source.relation, [], names)
    return data._replace(source=source)


def key_by_model(data: Input, model: str) -> tuple[Input, list[str]]:
    """Make the column of models the last slice key; return the input and the models.

    Raises
    ------
    RequestError
        If the input has sets of keys or periods, or the column's type cannot be a slice key.
    """
    binding = data.binding
    check_keyed(binding, "model= with paired=False")
    column = find_model(data, model, "model")
    keyed = replace(binding, by=(*(c for c in binding.by if c != column), column))
    return data._replace(binding=keyed), list_models(data, column)


def check_long(binding: Binding) -> None:
    """Raise `RequestError` if the rows of an input cannot be matched by a key."""
    if binding.models or binding.labels or binding.has_counts or binding.cells:
        raise RequestError("model= is for one score in one table, without labels= or counts=")
    if binding.state is not None:
        raise RequestError("key= matches rows, and a state has none; paired=False goes without")
    if "score" in binding.role and "prediction" in binding.role:
        raise RequestError("key= is for a score or a prediction, not for both; leave out one")
    if "role" in binding.role:
        raise RequestError("role= does not go with key=, whose rows are matched; leave it out")


def match_by_cluster(data: Input, options: Options) -> tuple[Input, Options]:
    """Make the key a cluster if each class has a score: the input and options are returned.

    The rows of a key are then left out, or drawn, together, as if the models' scores were columns
    of one row.

    Raises
    ------
    RequestError
        If the key does not exist, or ``cluster=`` is set, too.
    """
    if options.key is None or not data.binding.classes:
        return data, options
    if data.cluster is not None:
        raise RequestError("cluster= does not go with key= where each class has a score")
    name, *others = options.key
    if others:
        joined = ", '/', ".join(options.key)
        raise RequestError(
            f"key={[*options.key]!r} is one column where each class has a score; an expression "
            f'joins them: key="concat({joined})"'
        )
    key, _ = _find(data, name, "key")
    return data._replace(cluster=key), options._replace(paired=False)


def keep_matched(data: Input, model: str, key: Sequence[str]) -> Input:
    """Set the scores of classes to NULL for keys that lack a row of some model.

    Raises
    ------
    DataError
        If a model has several rows of a key, or the models differ in its label or slice.
    """
    binding = data.binding
    model_column, _ = _find(data, model, "model")
    keys = [_find(data, name, "key")[0] for name in key]
    data = _reading(data, *key, model_column.name)
    models = list_models(data, model_column)
    _check_unique(data, model_column, keys)
    others = [column.name for column in (*binding.by, *binding.over)]
    others += [binding.role[name].name for name in _list_shared(binding)]
    _check_alike(data, keys, list(dict.fromkeys(others)))
    scores = [column.name for _, column in binding.classes]
    usable = [
        write_present_test(read_column(column, "s", binding.dialect), column.type, finite=False)
        for column in (binding.role["label"], *(column for _, column in binding.classes))
    ]
    usable += [f"({binding.where})"] if binding.where else []
    names = [f"s.{quote(name)}" for name in key]
    listed = ", ".join(f"{name} AS _key_{i}" for i, name in enumerate(names))
    matched = (
        f"SELECT {listed} FROM {binding.relation} AS s WHERE {' AND '.join(usable)} "
        f"GROUP BY {', '.join(names)} HAVING COUNT(*) = {len(models)}"
    )
    on = " AND ".join(f"{name} = k._key_{i}" for i, name in enumerate(names))
    kept = [*others, *key, model_column.name, *binding.where_columns]
    kept = [each for each in dict.fromkeys(kept) if each not in scores]
    listed = ", ".join(f"s.{quote(each)}" for each in kept)
    cases = ", ".join(
        f"CASE WHEN k._key_0 IS NOT NULL THEN s.{quote(each)} END AS {quote(each)}"
        for each in scores
    )
    relation = (
        f"(SELECT {listed}, {cases} FROM {binding.relation} AS s "
        f"LEFT JOIN ({matched}) AS k ON {on})"
    )
    source, _ = data.engine.describe(data.source.add_columns(relation, [], [*kept, *scores]))
    bound = replace(binding, relation=source.relation, nulls="drop")
    return data._replace(binding=bound, source=source)


def pivot_models(data: Input, model: str, key: Sequence[str]) -> Input:
    """Pivot the input: a row per key, and a column of scores per model.

    A key that lacks a row of some model has a missing score; it is dropped and counted.

    Raises
    ------
    RequestError
        If a column does not exist.
    DataError
        If a model has several rows of a key, or the models differ in its label or slice.
    """
    binding = data.binding
    model_column, _ = _find(data, model, "model")
    keys = [_find(data, name, "key")[0] for name in key]
    role = next(role for role in ("score", "prediction", "value") if role in binding.role)
    score = binding.role[role]
    data = _reading(data, *key, model_column.name)
    models = list_models(data, model_column)
    _check_unique(data, model_column, keys)
    shared = _list_shared(binding)
    others = [c.name for c in (*binding.by, *binding.over)]
    others += [binding.role[name].name for name in shared]
    others += [data.cluster.name] if data.cluster is not None else []
    _check_alike(data, keys, list(dict.fromkeys(others)))
    grouped = list(dict.fromkeys([*key, *others]))
    columns = {name: f"_model_{i}" for i, name in enumerate(models, start=1)}
    items = {name: f"s.{quote(name)}" for name in grouped}
    groups = [*items.values()]
    for name, column in columns.items():
        items[column] = write_chosen(score, write_test({"model": model_column}, {"model": name}))
    relation = write_cases(binding.relation, items, groups, binding.where)
    read = [*grouped, model_column.name, score.name, *binding.where_columns]
    source, source_columns = data.engine.describe(
        data.source.add_columns(relation, list(columns.values()), read)
    )
    roles: dict[str, Any] = {role: columns}
    roles |= {name_argument(name): binding.role[name].name for name in shared}
    pivoted = bind(
        source, source_columns, **roles, by=[column.name for column in binding.by],
        over=[column.name for column in binding.over],
        sets=[list(keys) for keys in binding.sets] or None, positive=binding.positive,
        threshold=binding.threshold, nulls="drop", task=binding.task,
    )  # fmt: skip
    pivoted = replace(pivoted, dialect=binding.dialect)
    return data._replace(binding=pivoted, source=source)


def _list_shared(binding: Binding) -> tuple[str, ...]:
    """Return the roles whose values all models share."""
    return tuple(name for name in ("label", "weight", *binding.kept) if name in binding.role)


def _check_unique(data: Input, model: Column, keys: Sequence[Column]) -> None:
    """Raise if a model has several rows of a key."""
    binding: Binding = data.binding
    names = [f"s.{quote(column.name)}" for column in (*keys, model)]
    items = ", ".join(f"CAST({name} AS VARCHAR) AS key_{i}" for i, name in enumerate(names))
    order = ", ".join(f"key_{i}" for i, _ in enumerate(names))
    where = f"\nWHERE ({binding.where})" if binding.where else ""
    statement = (
        f"SELECT {items}, COUNT(*) AS n FROM {binding.relation} AS s{where}\n"
        f"GROUP BY {', '.join(names)}\nHAVING COUNT(*) > 1\nORDER BY {order}\nLIMIT 1"
    )
    duplicates = data.run(statement)
    if duplicates.height:
        *texts, name, n = duplicates.row(0)
        raise DataError(
            f"{_show(keys, texts)} is in {n:,} rows of the model {name!r}; a key names one row of "
            "each model, and may have several columns: key=['id', 'attempt'] (--key id,attempt)"
        )


def _show(keys: Sequence[Column], texts: Sequence[object], begin: str = "") -> str:
    """Return the names of a key and its values in some row, as messages have them."""
    named, values = (", ".join(map(repr, each)) for each in ([c.name for c in keys], texts))
    return f"key={named}: {begin}{values}"


def _check_alike(data: Input, keys: Sequence[Column], others: Sequence[str]) -> None:
    """Raise if the rows of a key differ in a column that all models share, such as the label."""
    binding: Binding = data.binding
    if not others:
        return
    names = [f"s.{quote(column.name)}" for column in keys]
    conditions = [f"({binding.where})"] if binding.where else []
    if "label" in binding.role:
        conditions.append(f"s.{quote(binding.role['label'].name)} IS NOT NULL")
    shared = ", ".join(f"s.{quote(other)}" for other in others)
    where = f"\nWHERE {' AND '.join(conditions)}" if conditions else ""
    items = ", ".join(f"{name} AS key_{i}" for i, name in enumerate(names))
    order = ", ".join(f"key_{i}" for i, _ in enumerate(names))
    texts = ", ".join(f"CAST(r.key_{i} AS VARCHAR) AS key_{i}" for i, _ in enumerate(names))
    groups = ", ".join(f"r.key_{i}" for i, _ in enumerate(names))
    statement = (
        f"SELECT {texts} FROM (\nSELECT {items} FROM {binding.relation} AS s{where}\n"
        f"GROUP BY {', '.join(names)}, {shared}\n) AS r\nGROUP BY {groups}\n"
        f"HAVING COUNT(*) > 1\nORDER BY {order}\nLIMIT 1"
    )
    different = data.run(statement)
    if different.height:
        raise DataError(
            f"{_show(keys, different.row(0), 'the rows of ')} differ in {' or '.join(others)}, "
            "which all models share"
        )
