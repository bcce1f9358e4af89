"""Compares each group of rows with all other rows, such as for fairness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqleval.common.columns import Column
from sqleval.common.sql_text import quote, write_literal
from sqleval.comparison.long import check_keyed, find_model, list_models
from sqleval.comparison.pairs import Pairs
from sqleval.errors import RequestError
from sqleval.resampling.cells import Input

#: The baseline's name in the result.
OTHERS = "all other rows"
#: Name and values of the key that tells a group's rows from all other rows.
_SIDE, _GROUP, _REST = "_side_of_group", "group", "others"


def check_groups(data: Input, groups: str, others: Sequence[str]) -> None:
    """Raise `RequestError` if the groups of a column cannot be compared.

    ``others`` are the options for models (``baseline=``, ``model=``, ``key=``) that are set.
    """
    if others:
        shown = ", ".join(f"{name}= (--{name})" for name in others)
        raise RequestError(
            f"groups= compares each group with all other rows; leave out {shown}, which is for "
            "models: model='column', paired=False (--model COLUMN --unpaired) has a baseline"
        )
    if data.binding.models:
        raise RequestError("groups= is for one score; leave out the other models")
    if groups in [column.name for column in data.binding.by]:
        raise RequestError(f"by={groups!r} is the column of groups=, whose rows are compared")
    check_keyed(data.binding, "groups=")
    find_model(data, groups, "groups")


def divide_groups(data: Input, groups: str) -> dict[str, Pairs]:
    """Return, for each group, a pair of models: the group's rows, and all other rows as baseline.

    Two groups are one comparison: that of the first one.

    Raises
    ------
    DataError
        If some rows have no group, or there are fewer than two.
    """
    column = find_model(data, groups, "groups")
    binding, name = data.binding, f"r.{quote(column.name)}"
    divided: dict[str, Pairs] = {}
    names = list_models(data, column, "groups")
    for group in names[:1] if len(names) == 2 else names:
        side = (
            f"CASE WHEN CAST({name} AS VARCHAR) = {write_literal(group)} "
            f"THEN '{_GROUP}' ELSE '{_REST}' END AS {_SIDE}"
        )
        relation = f"(SELECT r.*, {side} FROM {binding.relation} AS r)"
        source = data.source.add_columns(relation, [_SIDE], [column.name])
        by = (*binding.by, Column(_SIDE, "VARCHAR"))
        keyed = data._replace(source=source, binding=replace(binding, relation=relation, by=by))
        divided[group] = Pairs(keyed, _REST, (_REST, _GROUP))
    return divided
