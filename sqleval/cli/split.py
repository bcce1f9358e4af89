"""The command `split`: makes splits, and checks them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sqleval.cli.options import DATABASES, OUTPUT, SOURCE, options
from sqleval.errors import RequestError, SourceError
from sqleval.splits.methods import DEFAULTS, METHODS

F = TypeVar("F", bound=Callable[..., Any])

_ROLES = (
    click.option("--key", multiple=True, required=True, metavar="COLUMN",
        help="Tells rows apart; several make one key."),
    click.option("--stratify", multiple=True, metavar="COLUMN", help="Shared out alike."),
    click.option("--group", multiple=True, metavar="COLUMN", help="Never parted."),
    click.option("--time", metavar="COLUMN", help="What is later is tested."),
)  # fmt: skip


class _Span(click.ParamType[float | str]):
    """A number, or a span of time such as 7d, which the split reads."""

    name = "span"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        try:
            return float(value)
        except ValueError:
            return str(value)


def _number(name: str, kind: type, text: str) -> Callable[[F], F]:
    """Return an option whose default is the method's."""
    default = DEFAULTS[name.strip("-").replace("-", "_")]
    return click.option(name, type=kind, default=default, show_default=True, help=text)


class _Default(click.Group):
    """A group whose command need not be named: `sqleval split SOURCE`, `sqleval split check`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = ["make", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Default)
def split() -> None:
    r"""Split rows into training and test, or check a split.

    `sqleval split SOURCE` makes a split (`sqleval split make --help` has its options).

    \b
    Example:
      sqleval split lake/rows --key id --stratify y --test-size 0.2 --output split.parquet
      sqleval split lake/rows --key id --method kfold --group person --output folds/ --by fold
      sqleval split check split.parquet lake/rows --key id --group person
    """


@split.command()
@options(*SOURCE, *_ROLES)
@click.option(
    "--method", type=click.Choice(list(METHODS)), default="holdout", show_default=True, help="How."
)
@_number("--test-size", float, "Share to test on.")
@_number("--n-splits", int, "Folds, or windows of time.")
@click.option("--repeats", type=int, help="Random splits.")
@_number("--seed", int, "Another one, another split.")
@click.option(
    "--gap", type=_Span(), default=DEFAULTS["gap"], help="Between training and test: 7d, 36h."
)
@click.option("--window", type=_Span(), help="Of training rows: 90d.")
@_number("--p", int, "Groups that are left out together.")
@click.option("--where", metavar="SQL", help="Condition over the source's columns.")
@click.option(
    "--role",
    multiple=True,
    type=click.Choice(["train", "validation", "test", "gap"]),
    help="Only these: test alone is short.",
)
@click.option("--by", multiple=True, metavar="COLUMN",
    help="With a folder as --output: a folder a value, such as fold.")  # fmt: skip
@click.option(
    "--into",
    metavar="NAME",
    default="split",
    show_default=True,
    help="With a DuckDB file as --output (splits.duckdb): the table that is made or replaced.",
)
@click.option(
    "--table", metavar="NAME", help="Print the statement for a table elsewhere, in place of SOURCE."
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="With --table: bigquery, clickhouse, databricks, duckdb, postgres, redshift, "
    "snowflake, spark or trino.",
)
@options(*OUTPUT)
def make(
    source: str | None,
    query: str | None,
    table: str | None,
    dialect: str | None,
    role: tuple[str, ...],
    by: tuple[str, ...],
    into: str,
    format_: str | None,
    output: str | None,
    **given: Any,
) -> None:
    r"""Say which rows train and which test, by key and seed alone.

    \b
    Example:
      sqleval split lake/rows --key id --stratify y --output split.parquet
    """
    from sqleval.cli.output import write
    from sqleval.engines.embedded import embedded
    from sqleval.export.split import text
    from sqleval.inputs.opening import open_source
    from sqleval.splits.split import lazy
    from sqleval.splits.statement import judge, plan

    if table is not None:
        if source is not None or query is not None or role or by or output or format_:
            raise RequestError("--table stands in place of SOURCE, and prints a statement alone")
        click.echo(text(table, dialect or "duckdb", given), nl=False)
        return
    if dialect is not None:
        raise RequestError("--dialect goes with --table, the name of the table in that engine")
    if (source is None) == (query is None):
        raise RequestError("give a SOURCE (path, pattern or folder) or --query, one of the two")
    opened = open_source(source, query=query, name="_sqleval_rows")
    found = plan(opened, {**given, "roles": role})
    parquet = output is not None and (
        by or format_ == "parquet" or (format_ is None and output.endswith(".parquet"))
    )
    if by and (output is None or format_ or output.endswith((".parquet", *DATABASES))):
        raise RequestError("--by goes with --output FOLDER, and writes Parquet")
    for column in by:
        if column not in found.schema:
            raise RequestError(f"--by {column!r} is none of {', '.join(found.schema)}")
    if by and output is not None and Path(output).is_dir() and any(Path(output).iterdir()):
        raise SourceError(f"the folder {output!r} is not empty")
    if output is not None and output.endswith(DATABASES):
        if format_:
            raise RequestError("--format does not go with a DuckDB file as --output")
        judge(found)
        rows = embedded().write_table(
            found.statement.inlined(), output, into, opened, opened.objects(found.columns)
        )
        click.echo(f"wrote {output}, table {into}: {rows:,} rows", err=True)
        return
    if parquet and output is not None:
        # From the engine to the file: as many rows as there are never pass through Python.
        judge(found)
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        objects = opened.objects(found.columns)
        rows = embedded().write_parquet(found.statement.inlined(), output, by, opened, objects)
        click.echo(f"wrote {output}: {rows:,} rows", err=True)
        return
    write(lazy(found).collect(), format_, output)


@split.command()
@click.argument("assignment", metavar="SPLIT")
@options(*SOURCE, *_ROLES)
@click.option("--content", multiple=True, metavar="COLUMN",
    help="The columns that make two rows the same; all but the key if left out.")  # fmt: skip
@options(*OUTPUT)
@click.pass_context
def check(
    ctx: click.Context,
    assignment: str,
    source: str | None,
    query: str | None,
    content: tuple[str, ...],
    format_: str | None,
    output: str | None,
    **given: Any,
) -> None:
    r"""Check a split beside its rows: leaks, sizes, balance. Exit code 1 says that it leaks.

    \b
    Example:
      sqleval split check split.parquet lake/rows --key id --group person --time day
    """
    from sqleval.cli.output import write
    from sqleval.splits.check import check_split

    if (source is None) == (query is None):
        raise RequestError("give a SOURCE (path, pattern or folder) or --query, one of the two")
    found = check_split(assignment, source, query=query, content=content or None, **given)
    if found.is_empty() and output is None and format_ in (None, "table"):
        click.echo("nothing found", err=True)
    else:
        write(found, format_, output)
    ctx.exit(int(found["leak"].any()))
