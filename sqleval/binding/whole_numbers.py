"""Keeps fractions in CSV and JSON columns whose first rows are whole numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqleval.binding.binding import Binding
from sqleval.binding.lookup import Columns
from sqleval.catalog.roles import ROLES
from sqleval.common.columns import NUMBERS, Column
from sqleval.common.sql_text import quote, write_literal
from sqleval.sources.source import Source

#: Words in the error about a fraction.
WHOLE_BEFORE = "holds whole numbers in the first rows, and a fraction below them: "


def read_numbers_exactly(
    source: Source,
    columns: Columns,
    binding: Binding,
    computed: Mapping[str, Sequence[str]] | None = None,
) -> Source:
    """Return a source that reads the numbers of CSV and JSON files without rounding.

    If the first rows of a column hold whole numbers, the engine would round 0.7 to 1 in later rows.
    Scores are therefore read as DOUBLE. In a class, a key, a slice or an expression, a fraction is
    an error. ``computed`` has the columns that each expression reads.
    """
    computed = computed or {}
    bound = [(role, column) for role, column in binding.roles if not binding.cells]
    predicted = binding.predictions
    of_models = binding.mapped_columns[: len(binding.mapped_columns) - len(predicted)]
    bound += [(binding.model_role, column) for column in of_models]
    bound += [("prediction", column) for column in predicted]
    bound += [("count", column) for _, column in binding.cells]
    numeric = {role for role, facts in ROLES.items() if facts.value_facts.kinds >= NUMBERS}
    if not binding.has_several_classes:
        numeric |= {role for role, facts in ROLES.items() if facts.values == "label"}
    used = {column.name for _, column in bound}
    # These uses show or compare the column unchanged.
    others = {column.name for column in (*binding.by, *binding.over)} | {*binding.where_columns}
    others |= {column.name for role, column in bound if role not in numeric}
    others |= {name for read in computed.values() for name in read}
    whole = [
        column
        for name, column in columns.items()
        if name in used | others and name not in computed and column.kind == "integer"
    ]
    if not source.text_reader or not whole:
        return source
    checked = [column for column in whole if column.name in others]
    return _read_exactly(source, whole, checked)


def check_whole_numbers(source: Source, columns: Columns) -> Source:
    """Return a source of CSV or JSON files in which a fraction below whole numbers is an error.

    If the first rows of a column hold whole numbers, the engine would round 0.7 to 1 in later rows.
    """
    whole = [column for column in columns.values() if column.kind == "integer"]
    return _read_exactly(source, whole, whole) if source.text_reader and whole else source


def _read_exactly(source: Source, whole: Sequence[Column], checked: Sequence[Column]) -> Source:
    """Return a source that reads whole numbers as DOUBLE, or raises an error at a fraction."""
    if source.text_reader.startswith("read_csv"):
        types = {column.name: "VARCHAR" if column in checked else "DOUBLE" for column in whole}
        source = source.read_as(types)
    else:
        source = source.add_options("sample_size = -1, maximum_sample_files = 1000000")
    return _check_whole(source, checked) if checked else source


def _check_whole(source: Source, columns: Sequence[Column]) -> Source:
    """Return a source that raises an error if one of these columns has a fraction."""
    written = ", ".join(map(_write_check, columns))
    relation = f"(SELECT * REPLACE ({written}) FROM {source.text_reader})"
    return replace(source, relation=source.relation.replace(source.text_reader, relation))


def _write_check(column: Column) -> str:
    name = quote(column.name)
    number = f"TRY_CAST({name} AS DOUBLE)"
    text = f"column {column.name} {WHOLE_BEFORE}"
    return (
        f"CASE WHEN {number} <> TRUNC({number}) THEN ERROR({write_literal(text)} || {name}) "
        f"ELSE CAST({name} AS {column.type}) END AS {name}"
    )
