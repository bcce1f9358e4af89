"""The command `split`: makes and checks splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sqleval.binding.arguments import SOURCE_OPTIONS
from sqleval.cli.confinement import allow_output, allow_sources
from sqleval.cli.exits import Exit
from sqleval.cli.formats import DATABASES, choose_format
from sqleval.cli.group import DefaultCommand
from sqleval.cli.options import (
    ANY_OUTPUT,
    ENGINE,
    OUTPUT,
    SOURCE,
    add_options,
    check_source,
    refuse_dialect,
)
from sqleval.cli.screen import print_data, print_message
from sqleval.cli.stdin import open_stdin
from sqleval.common.counts import format_row_count
from sqleval.errors import RequestError, SourceError
from sqleval.splits.methods import DEFAULTS, METHODS

if TYPE_CHECKING:
    from sqleval.sources.source import Source
    from sqleval.splits.statement import Split

F = TypeVar("F", bound=Callable[..., Any])

_ROLES = (
    click.option("--key", multiple=True, required=True, metavar="COLUMN",
        help="Column that identifies a row; repeat for several."),
    click.option("--stratify", multiple=True, metavar="COLUMN",
        help="Column with equal shares in training and test."),
    click.option("--group", multiple=True, metavar="COLUMN",
        help="Column whose values are kept together."),
    click.option("--time", metavar="COLUMN", help="Column of a time: later rows are tested."),
)  # fmt: skip


class _Span(click.ParamType[float | str]):
    """A number, or a span of time such as 7d."""

    name = "span"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        try:
            return float(value)
        except ValueError:
            return str(value)


def _add_number(name: str, kind: type, text: str) -> Callable[[F], F]:
    """Return a numeric option with the default of the methods."""
    default = DEFAULTS[name.strip("-").replace("-", "_")]
    return click.option(name, type=kind, default=default, show_default=True, help=text)


@click.group(cls=DefaultCommand, default="make")
def split() -> None:
    r"""Split rows into training and test, or check a split.

    `sqleval split SOURCE` makes a split (`sqleval split make --help` has its options).

    \b
    Example:
      sqleval split lake/rows --key id --stratify y --test-size 0.2 \
        --output split.parquet
      sqleval split lake/rows --key id --method kfold --group person \
        --output folds/ --by fold
      sqleval split check split.parquet lake/rows --key id --group person
    """


@split.command()
@add_options(*SOURCE, ENGINE, *_ROLES)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="holdout",
    show_default=True,
    metavar="METHOD",
    help=f"Method of splitting: {', '.join(METHODS)}.",
)
@_add_number("--test-size", float, "Share of test rows.")
@_add_number("--n-splits", int, "Number of folds or time windows.")
@click.option("--repeats", type=int, help="Number of random splits.")
@_add_number("--seed", int, "Seed of the random order.")
@click.option(
    "--gap",
    type=_Span(),
    default=DEFAULTS["gap"],
    help="Time between training and test: 7d, 36h; a number if --time is a number.",
)
@click.option(
    "--window",
    type=_Span(),
    help="Length of the training window: 90d; a number if --time is a number.",
)
@_add_number("--p", int, "Number of groups that are left out together.")
@click.option("--where", metavar="SQL", help="Condition on columns of the source.")
@click.option(
    "--role",
    multiple=True,
    type=click.Choice(["train", "validation", "test", "gap"]),
    help="Only rows of this role; repeat for several.",
)
@click.option("--by", multiple=True, metavar="COLUMN",
    help="With a folder as --output: one folder per value, such as fold.")  # fmt: skip
@click.option(
    "--into",
    metavar="NAME",
    default="split",
    show_default=True,
    help="With a DuckDB file as --output (splits.duckdb): the table to create or replace.",
)
@click.option(
    "--table",
    metavar="NAME",
    help="Print the statement for a table of another engine, instead of SOURCE.",
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="With --table: bigquery, clickhouse, databricks, duckdb, postgres, "
    "snowflake, spark or trino.",
)
@add_options(*ANY_OUTPUT)
def make(
    source: str | None,
    query: str | None,
    engine: str | None,
    table: str | None,
    dialect: str | None,
    role: tuple[str, ...],
    by: tuple[str, ...],
    into: str,
    format_: str | None,
    output: str | None,
    **options: Any,
) -> None:
    r"""Assign rows to training and test, by key and seed alone.

    \b
    Example:
      sqleval split lake/rows --key id --stratify y --output split.parquet
    """
    from sqleval.export.split import export_split
    from sqleval.splits.split import open_split

    if table is not None:
        of_rows = {"SOURCE": source, "--query": query, "--engine": engine}
        of_rows |= {f"--{name}": options.pop(name) for name in SOURCE_OPTIONS}
        of_output = {"--role": role, "--by": by, "--into": into != "split", "--output": output,
            "--format": format_}  # fmt: skip
        if wrong := [name for name, value in {**of_rows, **of_output}.items() if value]:
            raise RequestError(
                "--table replaces SOURCE and prints a statement; leave out " + ", ".join(wrong)
            )
        print_data([export_split(table, dialect or "duckdb", options)])
        return
    refuse_dialect(dialect)
    _check_output(by, format_, output)
    if engine in (None, "duckdb"):
        check_source(source, query)
        source = open_stdin(source, options)
    of_source = {name: options.pop(name) for name in SOURCE_OPTIONS}
    assigned = open_split(source, query, engine, of_source, {**options, "roles": role})
    if by:
        _check_partitions(by, assigned, output)
    _write_split(assigned, by, into, format_, output)


def _check_output(by: tuple[str, ...], format_: str | None, output: str | None) -> None:
    """Raise if ``--output``, ``--format`` and ``--by`` contradict each other."""
    is_database = output is not None and output.endswith(DATABASES)
    if by:
        if output is None or format_ or is_database or output.endswith(".parquet"):
            raise RequestError("--by needs --output FOLDER, and writes Parquet")
    elif is_database:
        if format_:
            raise RequestError("--format does not fit a DuckDB file as --output")
    else:
        choose_format(format_, output)


def _check_partitions(by: tuple[str, ...], assigned: Split, output: str | None) -> None:
    """Raise if the split has no column of ``--by``, or the folder is not empty."""
    for column in by:
        if column not in assigned.schema:
            raise RequestError(f"--by {column!r} must be one of {', '.join(assigned.schema)}")
    if output is not None and Path(output).is_dir() and any(Path(output).iterdir()):
        raise SourceError(f"the folder {output!r} is not empty")


def _write_split(
    assigned: Split, by: tuple[str, ...], into: str, format_: str | None, output: str | None
) -> None:
    """Write a split to the screen, a file, a folder or a table of a DuckDB file."""
    from sqleval.cli.output import write
    from sqleval.engines.embedded import embedded
    from sqleval.splits.split import to_lazy_frame

    if output is not None:
        allow_output(output)
    if output is not None and output.endswith(DATABASES):
        sql, source, objects = _read_rows(assigned)
        rows = embedded().write_table(sql, output, into, source, objects)
        print_message(f"wrote {output}, table {into}: {format_row_count(rows)}")
    elif output is not None and (
        by or format_ == "parquet" or (format_ is None and output.endswith(".parquet"))
    ):
        sql, source, objects = _read_rows(assigned)
        rows = embedded().write_parquet(sql, output, by, source, objects)
        print_message(f"wrote {output}: {format_row_count(rows)}")
    else:
        write(to_lazy_frame(assigned).collect(), format_, output)


def _read_rows(assigned: Split) -> tuple[str, Source, Mapping[str, object]]:
    """Return DuckDB's statement for the rows of a split, its source and its objects.

    DuckDB writes the files, so Python does not hold the rows unless another engine assigns them.
    """
    from sqleval.engines.embedded import embedded
    from sqleval.sources.opening import open_source
    from sqleval.splits.split import to_lazy_frame
    from sqleval.splits.units import check_units

    if assigned.engine is embedded():
        check_units(assigned)
        source = assigned.source
        return assigned.statement.inline(), source, source.objects(assigned.columns)
    source = open_source(to_lazy_frame(assigned).collect(), name="_sqleval_split")
    return f"SELECT * FROM {source.relation} AS s", source, source.objects([*assigned.schema])


@split.command()
@click.argument("assignment", metavar="SPLIT")
@add_options(*SOURCE, ENGINE, *_ROLES)
@click.option("--content", multiple=True, metavar="COLUMN",
    help="Columns in which duplicates are equal; by default all but the key.")  # fmt: skip
@add_options(*OUTPUT)
@click.pass_context
def check(
    ctx: click.Context,
    assignment: str,
    source: str | None,
    query: str | None,
    engine: str | None,
    content: tuple[str, ...],
    format_: str | None,
    output: str | None,
    **roles: Any,
) -> None:
    r"""Check a split against its rows: leaks, sizes, balance. Exit code 1 means a leak.

    With --engine, the engine reads both SPLIT and SOURCE.

    \b
    Example:
      sqleval split check split.parquet lake/rows --key id --group person \
        --time day
    """
    from sqleval.cli.output import write
    from sqleval.splits.check import check_split

    if engine in (None, "duckdb"):
        check_source(source, query)
        source = open_stdin(source, roles)
    allow_sources([assignment])
    problems = check_split(
        open_stdin(assignment), source, query=query, engine=engine, content=content or None,
        **roles,
    )  # fmt: skip
    if problems.is_empty() and output is None and format_ in (None, "table"):
        print_message("no problems found")
    else:
        write(problems, format_, output)
    ctx.exit(Exit.GATE_FAILED if problems["leak"].any() else Exit.DONE)
