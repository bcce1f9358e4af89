"""Finds the column of each role, in the source or in the late labels."""

from collections.abc import Mapping

from sqleval.binding.binding import Labels
from sqleval.binding.lookup import Columns, find_column
from sqleval.catalog.roles import name_argument
from sqleval.common.columns import Column
from sqleval.common.sql_text import quote
from sqleval.errors import RequestError
from sqleval.sources.source import Source


def _find_labels(
    labels: Source,
    on: str,
    names: Mapping[str, str | None],
    late: Columns,
    columns: Columns,
    about: str,
) -> Labels:
    """Return the join with the late labels, and the roles whose columns they have."""
    ours, of_labels = (
        find_column(columns, on, "on", about),
        find_column(late, on, "on", labels.label),
    )
    kinds = {ours.kind, of_labels.kind}
    if "instant" in kinds and kinds & {"date", "timestamp"}:
        raise RequestError(
            f"on={on!r} is {ours.type} in {about} and {of_labels.type} in {labels.label}: "
            "whether they are equal depends on a time zone; give both the same type, such as "
            f"{quote(on)} AT TIME ZONE 'UTC'"
        )
    theirs = {role for role, name in names.items() if name in late and name not in columns}
    roles = frozenset({"label"} | theirs)
    return Labels(labels.relation, ours, of_labels, roles, labels.stream)


def find_roles(
    names: Mapping[str, str | None],
    columns: Columns,
    about: str,
    labels: Source | None,
    late: Columns,
    on: str | None,
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
    joined = _find_labels(labels, on, names, late, columns, about)
    roles: dict[str, Column] = {}
    for role, name in names.items():
        if name is not None:
            at = (late, labels.label) if role in joined.roles else (columns, about)
            roles[role] = find_column(at[0], name, name_argument(role), at[1])
    return roles, joined
