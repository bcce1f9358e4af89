"""Reads the fields of DuckDB's types of structs."""

from collections.abc import Iterator, Mapping

from sqlglot import exp
from sqlglot.errors import SqlglotError


def list_fields(kind: str) -> dict[str, str]:
    """Return the fields of a DuckDB type and their types; none if they are not known.

    Examples
    --------
    >>> list_fields("STRUCT(score BIGINT, pass BOOLEAN)"), list_fields("BIGINT")
    ({'score': 'BIGINT', 'pass': 'BOOLEAN'}, {})
    """
    if not kind.startswith("STRUCT(") or not kind.endswith(")"):
        return {}
    try:
        fields = exp.DataType.build(kind, dialect="duckdb").expressions
    except SqlglotError:  # a type that it does not know, whose fields only the engine can check
        return {}
    named = [field for field in fields if isinstance(field, exp.ColumnDef)]
    return {field.name: field.args["kind"].sql(dialect="duckdb") for field in named}


def find_lists(types: Mapping[str, str]) -> list[str]:
    """Return the paths of lists of structs in some columns or fields, the outermost ones.

    Examples
    --------
    >>> find_lists({"id": "BIGINT", "payload": "STRUCT(events STRUCT(y BIGINT)[])"})
    ['payload.events']
    """
    return [*_find_lists(types)]


def _find_lists(types: Mapping[str, str], before: str = "") -> Iterator[str]:
    for name, kind in types.items():
        if kind.startswith("STRUCT(") and kind.endswith(")[]"):
            yield f"{before}{name}"
        else:
            yield from _find_lists(list_fields(kind), f"{before}{name}.")
