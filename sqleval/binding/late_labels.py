"""Finds the column of each role, in the source or in the late labels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqleval.binding.binding import Binding
from sqleval.binding.canonical import choose_key_form
from sqleval.binding.label_keys import Labels
from sqleval.binding.lookup import Columns, find_column, list_unique_names
from sqleval.catalog.roles import name_argument
from sqleval.common.columns import Column
from sqleval.common.sql_text import quote
from sqleval.errors import RequestError
from sqleval.sources.source import Source


def _find_labels(
    labels: Source,
    on: Sequence[str],
    names: Mapping[str, str | None],
    late: Columns,
    columns: Columns,
    about: str,
) -> Labels:
    """Return the join with the late labels, and the roles whose columns they have."""
    pairs = tuple(
        (find_column(columns, key, "on", about), find_column(late, key, "on", labels.label))
        for key in on
    )
    for ours, of_labels in pairs:
        kinds = {ours.kind, of_labels.kind}
        if "instant" in kinds and kinds & {"date", "timestamp"}:
            raise RequestError(
                f"on={ours.name!r} is {ours.type} in {about} and {of_labels.type} in "
                f"{labels.label}: whether they are equal depends on a time zone; give both the "
                f"same type, such as {quote(ours.name)} AT TIME ZONE 'UTC'"
            )
    theirs = {role for role, name in names.items() if name in late and name not in columns}
    roles = frozenset({"label"} | theirs)
    return Labels(labels.relation, pairs, roles, labels.stream)


def unify_added_keys(binding: Binding) -> Binding:
    """Return a binding whose query is read as text, if its types differ in rows and labels.

    Raises
    ------
    RequestError
        If another key of added items, such as a slice key, has types that cannot be compared.
    """
    if not binding.adds_items or binding.labels is None:
        return binding
    read = [*binding.by, *binding.over, *([binding.period.column] if binding.period else [])]
    names = {column.name for column in read} | {*binding.where_columns}
    for ours, theirs in binding.labels.pairs:
        if choose_key_form(ours, theirs) is None:
            continue
        if ours.name in names:
            raise RequestError(
                f"on={ours.name!r} is {ours.type} in the source and {theirs.type} in labels=, and "
                "is also a slice key or in where=: give both the same type"
            )
        if ours.name == binding.role["query"].name:
            roles = dict(binding.roles) | {"query": Column(ours.name, "VARCHAR")}
            binding = replace(binding, roles=tuple(roles.items()))
    return binding


def find_roles(
    names: Mapping[str, str | None],
    columns: Columns,
    about: str,
    labels: Source | None,
    late: Columns,
    on: str | Sequence[str] | None,
) -> tuple[dict[str, Column], Labels | None]:
    """Return the column of each bound role, and the join with late labels."""
    if labels is None or on is None:
        columns_by_role = {role: name for role, name in names.items() if name is not None}
        score = columns_by_role.get("score")
        if score is not None and score == columns_by_role.get("label"):
            raise RequestError(f"score={score!r} is the label itself; name the score")
        return {
            role: find_column(columns, name, name_argument(role), about)
            for role, name in columns_by_role.items()
        }, None
    joined = _find_labels(labels, list_unique_names(on, "on"), names, late, columns, about)
    roles: dict[str, Column] = {}
    for role, name in names.items():
        if name is not None:
            at = (late, labels.label) if role in joined.roles else (columns, about)
            roles[role] = find_column(at[0], name, name_argument(role), at[1])
    return roles, joined
