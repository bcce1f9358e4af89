"""Replaces the rows of a table with many labels by one row per label, in a statement's text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from sqleval.binding.labelled import LABEL_ROLES, Labelled, find_row
from sqleval.binding.long_rows import check_long
from sqleval.binding.lookup import Columns, list_unique_names
from sqleval.binding.many_labels import LABEL, ManyLabels, Part, write_labels
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import Column
from sqleval.errors import RequestError
from sqleval.sources.source import Source


class Expanded(NamedTuple):
    """The tables of a statement with one row per row and label, and the roles that bind them.

    Attributes
    ----------
    table, labels : Source
        The table, and that of late labels.
    roles : dict of str to object
        The roles.
    read, added : frozenset of str
        The columns from which these tables are made, and those that they add.
    numbers : frozenset of str
        The added columns that hold numbers.
    """

    table: Source
    labels: Source | None
    roles: dict[str, Any]
    read: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()


def expand_table(
    table: Source, labels: Source | None, columns: Columns, roles: Mapping[str, Any]
) -> Expanded:
    """Return a table, of which each label has a column, with one row per row and label.

    A table of another task is returned unchanged.

    Raises
    ------
    RequestError
        If a role is a list, or names other labels.
    """
    roles = dict(roles)
    key = roles.pop("key", None)
    if not TASKS[roles["task"]].has_many_labels:
        if key is not None:
            check_long(None, key)
        return Expanded(table, labels, roles)
    _refuse_lists(roles)
    late = None if labels is None else (labels, columns)
    labelled = Labelled((table, columns), late, roles, _read_nothing)
    names = labelled.find_names()
    found = [part for role in LABEL_ROLES for part in labelled.list_parts(role, names)]
    parts = [_rename(part, place) for place, part in enumerate(found, start=1)]
    of_labels = [part for part in parts if labels is not None and part.role == "label"]
    ours = [part for part in parts if part not in of_labels]
    row = find_row(key, columns, table.label)
    bound = labelled.name_roles(parts)
    bound["many"] = ManyLabels(names, Column(LABEL, "VARCHAR"), row)
    table = replace(table, relation=write_labels(table.relation, ours, names, None))
    if labels is not None:
        bound["on"] = [*list_unique_names(cast("Any", roles.get("on")), "on"), LABEL]
        labels = replace(labels, relation=write_labels(labels.relation, of_labels, names, None))
    used = [column for part in parts for column in part.columns] + ([row] if row else [])
    read = frozenset(column.name for column in used)
    numbers = frozenset(part.name for part in parts if _is_number(part))
    added = frozenset(part.name for part in parts) | {LABEL}
    return Expanded(table, labels, bound, read, added, numbers)


def _refuse_lists(roles: Mapping[str, Any]) -> None:
    for role in LABEL_ROLES:
        named = roles.get(role)
        if named is not None and not isinstance(named, Mapping):
            raise RequestError(
                f"{role}={named!r}: in the text of a statement each label has a column, or an "
                f"element of an array: --{role} a=COLUMN --{role} b=COLUMN, or --{role} "
                f'a="{named}[1]" --{role} b="{named}[2]"'
            )


def _read_nothing(*_: object) -> list[tuple[Any, ...]]:
    raise AssertionError("a statement's text is written without reading the table")


def _rename(part: Part, place: int) -> Part:
    """Return a part whose name every engine can write: the words of its columns."""
    words = "_".join(re.findall(r"\w+", part.name))
    return part._replace(name=f"{words}_{place}")


def _is_number(part: Part) -> bool:
    return bool(part.thresholds) or {column.type for column in part.columns} == {"DOUBLE"}
