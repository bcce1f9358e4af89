"""Replaces rows of many labels, in columns, lists or arrays, by one row per label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqleval.binding.binding import Binding
from sqleval.binding.labelled import LABEL_ROLES, Labelled, find_row, list_leaves
from sqleval.binding.long_rows import check_long
from sqleval.binding.lookup import list_unique_names
from sqleval.binding.many_labels import (
    LABEL,
    ROW,
    ManyLabels,
    Part,
    find_element,
    write_labels,
)
from sqleval.binding.model_columns import merge_columns
from sqleval.binding.whole_numbers import read_numbers_exactly
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import Column
from sqleval.common.sql_text import Scalar
from sqleval.engines.base import Engine
from sqleval.errors import RequestError
from sqleval.frontend.computing import Described
from sqleval.sources.order import PLACE
from sqleval.sources.source import Source


def has_many_labels(described: Described, roles: Mapping[str, Any]) -> bool:
    """Whether rows have many labels: by the task, or because the label is a mapping or a list."""
    task, label = roles.get("task"), roles.get("label")
    if task is not None:
        return task in TASKS and TASKS[task].has_many_labels
    if isinstance(label, Mapping):
        return True
    columns = described.columns if described.labels is None else described.late or {}
    column = columns.get(label) if isinstance(label, str) else None
    return column is not None and find_element(column) is not None


def expand_labels(
    described: Described, roles: Mapping[str, Any], engine: Engine
) -> tuple[Described, dict[str, Any]]:
    """Return the input with one row per row and label, and the roles that bind it.

    An input of another task is returned unchanged.

    Raises
    ------
    RequestError
        If the columns of label, score and prediction do not fit together.
    """
    roles = dict(roles)
    key = roles.pop("key", None)
    if not has_many_labels(described, roles):
        if key is not None:
            check_long(None, key)
        if isinstance(roles.get("label"), Mapping):
            raise RequestError(
                f"label= is a mapping, whose task is multilabel, and task={roles.get('task')!r} is "
                "given"
            )
        return described, roles
    _check_roles(described, roles)
    if engine.dialect != "duckdb":
        _refuse_lists(described, roles, engine.dialect)
    described = _read_exactly(described, roles, engine)
    late_home = None if described.labels is None else (described.labels, described.late or {})

    def run(statement: str, read: Sequence[tuple[Source, Column]]) -> Sequence[tuple[Any, ...]]:
        sources = list({source.name: source for source, _ in read}.values())
        objects: dict[str, object] = {}
        for each in sources:
            objects |= each.objects([column.name for source, column in read if source is each])
        return engine.rows(statement, {}, sources, objects)

    labelled = Labelled((described.source, described.columns), late_home, roles, run)
    names = labelled.find_names()
    parts = [part for role in LABEL_ROLES for part in labelled.list_parts(role, names)]
    late = [part for part in parts if described.labels is not None and part.role == "label"]
    ours = [part for part in parts if part not in late]
    # DuckDB numbers the rows; elsewhere, numbers would need all rows in one place.
    row = "ROW_NUMBER() OVER ()" if engine.dialect == "duckdb" else None
    source, columns = _expand(described.source, ours, names, row, engine)
    number = columns[ROW] if row else find_row(key, columns, source.label)
    many = ManyLabels(names, columns[LABEL], number)
    bound = {**labelled.name_roles(parts), "many": many}
    described = described._replace(source=source, columns=columns)
    if described.labels is not None:
        labels, columns = _expand(described.labels, late, names, None, engine)
        described = described._replace(labels=labels, late=columns)
        bound["on"] = [*list_unique_names(roles["on"], "on"), LABEL]
    return described, bound


def _expand(
    source: Source, parts: Sequence[Part], names: Sequence[Scalar], row: str | None, engine: Engine
) -> tuple[Source, dict[str, Column]]:
    """Return a source with one row per row and label, and its columns."""
    relation = write_labels(source.relation, parts, names, row)
    read = [column.name for part in parts for column in part.columns]
    added = [LABEL, *([ROW] if row else []), *(part.name for part in parts)]
    expanded = replace(source.add_columns(relation, added, read), select=None, text_reader="")
    expanded, found = engine.describe(replace(expanded, look=None))
    return expanded, {**found, **{part.name: _merge(part, found[part.name]) for part in parts}}


def _check_roles(described: Described, roles: Mapping[str, Any]) -> None:
    """Raise `RequestError` for a role or option that many labels do not go with."""
    if described.labels is not None and roles.get("on") == PLACE:
        raise RequestError(
            "by_position=True joins one label to a row; many labels are joined by a key, on="
        )
    for argument in ("value", "qid", "role", "counts"):
        if roles.get(argument) is not None:
            raise RequestError(f"task='multilabel' goes without {argument}=")
    if roles.get("expected"):
        raise RequestError("expected= is for two classes, and the task is multilabel")


def _refuse_lists(described: Described, roles: Mapping[str, Any], dialect: str) -> None:
    """Raise `RequestError` if a role is a list, whose functions differ between engines."""
    columns = {**described.columns, **(described.late or {})}
    for role in LABEL_ROLES:
        for name in list_leaves(roles.get(role)):
            column = columns.get(name)
            if column is not None and find_element(column) is not None:
                raise RequestError(
                    f"{role}={name!r} is {column.type}; {dialect} reads a column of 0 and 1 for "
                    "each label, as in a view, or an element of an array: "
                    f"{role}={{'a': '{name}[1]', 'b': '{name}[2]'}}"
                )


def _read_exactly(described: Described, roles: Mapping[str, Any], engine: Engine) -> Described:
    """Return sources that read the numbers of CSV and JSON files as they are."""
    source, columns, labels, late, computed = described
    source, columns = _read_numbers(source, columns, roles, computed, engine)
    if labels is not None:
        labels, late = _read_numbers(labels, late or {}, roles, computed, engine)
    return Described(source, columns, labels, late, computed)


def _read_numbers(
    source: Source,
    columns: Mapping[str, Column],
    roles: Mapping[str, Any],
    computed: Mapping[str, tuple[str, ...]],
    engine: Engine,
) -> tuple[Source, Mapping[str, Column]]:
    named = [
        (role, columns[text]) for role in LABEL_ROLES for text in list_leaves(roles.get(role))
        if text in columns
    ]  # fmt: skip
    used = {column.name for _, column in named}
    others = tuple(column for name, column in columns.items() if name not in used)
    binding = Binding(source.relation, "binary", tuple(named), by=others)
    exact = read_numbers_exactly(source, columns, binding, computed)
    return (source, columns) if exact is source else engine.describe(exact)


def _merge(part: Part, column: Column) -> Column:
    """Return the column of a part, which says whether some of its numbers were FLOAT."""
    if part.thresholds or part.form != "columns":
        return column
    return column._replace(has_singles=merge_columns(part.columns).has_singles)
