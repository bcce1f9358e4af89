"""Writes the comment lines above a printed statement."""

from collections.abc import Sequence
from importlib.metadata import version

from sqleval.binding.binding import Binding
from sqleval.catalog import request
from sqleval.catalog.request import Request
from sqleval.catalog.roles import must_be_finite
from sqleval.common.imports import DISTRIBUTION
from sqleval.common.visible import show_controls
from sqleval.compiler.rows import list_internal_columns


def _describe_unusable_rows(binding: Binding, *, bare: bool) -> str:
    """Return a sentence about unusable rows, which are left out, a problem, or not looked for."""
    names: dict[str, dict[str, None]] = {"NULL or NaN": {}, "NULL, NaN or infinite": {}}
    for _, role, column in list_internal_columns(binding):
        if binding.cells and role != "count":
            continue  # a table of counts has no other column that the user named
        name = " ".join(column.name.split())  # a comment ends with its line
        finite = binding.has_values or must_be_finite(role)
        names["NULL, NaN or infinite" if finite else "NULL or NaN"][name] = None
    bad = " or ".join(f"{' or '.join(each)} is {what}" for what, each in names.items() if each)
    valid = "The values are valid only where _problem is NULL: it says what"
    if binding.nulls == "drop":
        left_out = f"Rows where {bad} are left out and counted in n_dropped."
        return f"{left_out} {'Nothing else is checked' if bare else f'{valid} else is wrong'}."
    if bare:
        return "The rows are not checked."
    return f"{valid} is wrong with the rows, such as that {bad}."


def write_header(
    requests: Sequence[Request], binding: Binding, table: str, *, bare: bool = False
) -> str:
    """Return the comment lines above a printed statement: what it computes, of what, by whom."""
    roles = ", ".join(
        f"{role} = {' '.join(column.name.split())}" for role, column in binding.role.items()
    )
    of = f" ({roles})" if roles else ""
    what = f"-- From {show_controls(table)}{show_controls(of)}, by sqleval {version(DISTRIBUTION)}."
    return f"{write_comment(requests, binding, bare=bare)}{what}\n"


def write_comment(requests: Sequence[Request], binding: Binding, *, bare: bool) -> str:
    """Return comment lines that describe the metrics and the rows used."""
    lines: list[str] = []
    for each in requests:
        header = each.relation.header
        lines.append(f"{request.format_request(each)}: {' '.join(str(header['summary']).split())}")
        if header.get("formula"):
            lines.append(f"  {' '.join(str(header['formula']).split())}")
    lines.append(_describe_unusable_rows(binding, bare=bare))
    return "".join(f"-- {line}\n" for line in lines)
