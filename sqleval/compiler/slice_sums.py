"""Compiles the sums of losses of all combinations of columns, for the search of bad slices."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from sqlglot.dialects.duckdb import DuckDB

from sqleval.binding.binding import Binding
from sqleval.catalog.catalogue import Catalogue
from sqleval.catalog.request import Request
from sqleval.common.columns import Column, is_float
from sqleval.common.sql_text import (
    quote,
    select,
    write_double,
    write_name,
    write_present_test,
)
from sqleval.compiler.builder import Builder
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.input_rows import RowRelations
from sqleval.compiler.row_losses import (
    check_loss,
    list_row_conditions,
    select_rows,
    write_row_loss,
)
from sqleval.compiler.rows import write_row_count
from sqleval.compiler.statement import Statement

#: The sums of a slice: rows, weights, squared weights, and the deviations of losses from their
#: mean with weights, with squared weights, squared with squared weights, and to the third power.
SUMS = {
    "n": "SUM(n_rows)",
    "weight": "SUM(CAST(weight AS DOUBLE))",
    "squares": "SUM(CAST(squares AS DOUBLE))",
    "deviation": "SUM(weight * deviation)",
    "squares_deviation": "SUM(squares * deviation)",
    "squared": "SUM(squares * deviation * deviation)",
    "cubed": "SUM(cubes * deviation * deviation * deviation)",
}


class Searched(NamedTuple):
    """A column that is searched.

    Attributes
    ----------
    column : Column
        The column.
    edges : tuple of float
        The ends of the ranges of a number; empty, if each value is a slice.
    is_computed : bool
        Whether its name is an expression.
    has_nan : bool
        Whether a value is NaN, which counts as missing.
    """

    column: Column
    edges: tuple[float, ...] = ()
    is_computed: bool = False
    has_nan: bool = False

    def write_name(self) -> str:
        """Return the column or expression in SQL; a name that is a keyword stands in quotes."""
        name = self.column.name
        if self.is_computed:
            return f"({name}\n)" if "--" in name else f"({name})"  # a comment ends with its line
        is_keyword = name.upper() in DuckDB.Tokenizer.KEYWORDS
        return quote(name) if is_keyword else write_name(name)

    def write_code(self) -> str:
        """Return the value of a row, or the number of its range, as a text over the source."""
        sql, is_present = f"s.{quote(self.column.name)}", ""
        if is_float(self.column.type):
            is_present = write_present_test(sql, self.column.type, finite=False)
            # A FLOAT is compared as DOUBLE, and -0.0 is 0.0, as in the condition that is printed.
            sql = f"CAST({sql} AS DOUBLE) + 0e0"
        if not self.edges:
            text = f"CAST({sql} AS VARCHAR)"
            return f"CASE WHEN {is_present} THEN {text} END" if is_present else text
        cases = " ".join(
            f"WHEN {sql} < {write_double(edge)} THEN '{i}'" for i, edge in enumerate(self.edges)
        )
        last = f"WHEN s.{quote(self.column.name)} IS NOT NULL THEN '{len(self.edges)}'"
        if is_present:
            # NaN is above all numbers in DuckDB, and a missing value here.
            cases = f"WHEN NOT ({is_present}) THEN NULL {cases}"
        return f"CASE {cases} {last} END"


def list_sets(columns: Sequence[str], depth: int) -> Iterator[tuple[str, ...]]:
    """Yield the sets of columns of which slices are made, the empty one first."""
    for size in range(depth + 1):
        yield from combinations(columns, size)


@lru_cache(maxsize=16)
def compile_sums(
    binding: Binding,
    searched: tuple[Searched, ...],
    loss: Request,
    depth: int,
    min_rows: int,
    catalogue: Catalogue,
    left_out: tuple[str, ...] = (),
) -> Statement:
    """Return the statement with the sums of each combination of values or ranges.

    ``left_out`` are conditions over the codes; rows that meet one of them are left out.

    Its columns are ``code_1`` ..., a text per searched column; ``is_all_1`` ..., 1 where a column
    does not divide the rows; ``mean``, the mean loss of all rows; and `SUMS`.

    Raises
    ------
    RequestError
        If the metric is no mean of the losses of rows, or a role is missing.
    """
    codes = {f"code_{i}": each for i, each in enumerate(searched, start=1)}
    also = {name: each.write_code() for name, each in codes.items()}
    builder = Builder(RowRelations(binding, also=also, dialect=binding.dialect), catalogue)
    builder.relations.place(builder, None)
    checks = DomainChecks()
    check_loss(builder, loss, checks)
    losses = builder.add_cte("_losses", _write_losses(builder, [*codes], loss, left_out))
    builder.relations.place_audit(builder, checks)
    mean = builder.add_cte(
        "_mean",
        "SELECT\n  CAST(SUM(weight * loss) AS DOUBLE) / NULLIF(SUM(weight), 0) AS mean\n"
        f"FROM {losses}",
    )
    # Deviations from the mean of all rows, because squares of losses would lose digits.
    kept = (*codes, "n_rows", "weight", "squares", "cubes")
    deviations = {name: f"l.{name}" for name in kept}
    deviations |= {"deviation": "l.loss - m.mean", "mean": "m.mean"}
    inner = select(deviations, f"FROM {losses} AS l\nCROSS JOIN {mean} AS m")
    sets = ", ".join(f"({', '.join(names)})" for names in list_sets([*codes], depth))
    flags = {f"is_all_{name.removeprefix('code_')}": f"GROUPING({name})" for name in codes}
    items = {name: name for name in codes} | flags | {"mean": "MIN(mean)"} | SUMS
    grouped = select(items, f"FROM (\n{inner}\n) AS d\nGROUP BY GROUPING SETS ({sets})")
    # Ranges are joined later, so only combinations of values can be too small already.
    whole = [flag for flag, each in zip(flags, searched, strict=True) if each.edges]
    large = [f"n >= {min_rows}", *(f"{flag} = 0" for flag in whole)]
    # The sums of all rows stay: they carry the audit.
    large.append(f"({' AND '.join(f'{flag} = 1' for flag in flags)})")
    names = {name: name for name in items}
    text = select(names, f"FROM (\n{grouped}\n) AS sums\nWHERE {' OR '.join(large)}")
    cte = builder.add_cte("_sums", text)
    return builder.build_statement({name: f"r.{name}" for name in items}, cte, ())


def _write_losses(
    builder: Builder, codes: Sequence[str], loss: Request, left_out: Sequence[str]
) -> str:
    """Return the codes, the loss and the weights of the usable rows that are not left out."""
    binding = builder.binding
    items = {name: name for name in codes}
    # A row of counts stands for equal rows of weight 1.
    rows = write_row_count(binding) if binding.has_counts else "1"
    weight = "weight" if binding.is_weighted else rows
    squares = "weight * weight" if binding.is_weighted else weight
    cubes = "weight * weight * weight" if binding.is_weighted else weight
    items |= {"n_rows": rows, "weight": weight, "squares": squares, "cubes": cubes}
    items["loss"] = write_row_loss(builder, loss)
    conditions = [*list_row_conditions(binding), *(f"NOT ({each})" for each in left_out)]
    inner = select_rows(items, conditions)
    names = {name: name for name in items}
    # A value of a row may be undefined, such as a percentage of 0.
    return select(names, f"FROM (\n{inner}\n) AS judged\nWHERE loss IS NOT NULL")
