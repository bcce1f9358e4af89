"""The command ``sqleval state``: make states, add them up, evaluate them."""

from __future__ import annotations

from typing import Any

import click

from sqleval.cli.options import (
    CONTROL,
    DATABASES,
    METRIC,
    OUTPUT,
    ROLES,
    SLICES,
    names_in,
    options,
    sets_in,
)
from sqleval.cli.options import scan as bound
from sqleval.errors import RequestError

_INTO = (
    click.option("--output", required=True, metavar="FILE",
        help="A Parquet file, or a DuckDB file, of which it becomes a table."),
    click.option("--into", default="state", show_default=True, metavar="TABLE",
        help="The table of a DuckDB file."),
)  # fmt: skip
_STATES = (
    click.argument("states", nargs=-1, required=True, metavar="STATE..."),
    click.option("--table", default="state", show_default=True, metavar="TABLE",
        help="The table, where a STATE is a DuckDB file."),
)  # fmt: skip


@click.group()
def state() -> None:
    r"""Keep what rows come to, and evaluate it without the rows.

    \b
    Example:
      sqleval state build lake/day=2026-07-01 --label y --score p --by carrier \
        --grain day --time at --output states/2026-07-01.parquet
      sqleval state evaluate states/ --by carrier --grain month -m roc_auc
    """


def _opened(states: tuple[str, ...], table: str) -> Any:
    """Return the paths of states, or the rows of one in a DuckDB file."""
    databases = [state for state in states if state.endswith(DATABASES)]
    if not databases:
        return list(states)
    if len(states) > 1:
        raise RequestError(f"{databases[0]}: a DuckDB file is read alone, and not with others")
    from sqleval.states.files import in_database

    return in_database(databases[0], table)


def _write(made: Any, output: str, into: str) -> None:
    from sqleval.engines.embedded import embedded
    from sqleval.inputs.opening import open_source
    from sqleval.states.files import write

    frame = made.collect()
    if output.endswith(DATABASES):
        source = open_source(frame, name="_sqleval_state")
        statement = f"SELECT * FROM {source.relation}"
        embedded().write_table(statement, output, into, source, source.objects(frame.columns))
    elif output.endswith(".parquet"):
        write(frame, output)
    else:
        raise RequestError(f"--output {output}: a state is written as .parquet or .duckdb")
    click.echo(f"{output}: {frame.height:,} rows, of {frame['n'].sum():,} rows", err=True)


@state.command()
@options(*ROLES, METRIC)
@click.option("--bins", type=int, default=11, show_default=True, metavar="BITS",
    help="Significant bits of a score that are kept.")  # fmt: skip
@click.option("--grain", help="How long a period is: hour, day, week, month, quarter or year.")
@click.option("--time", metavar="COLUMN", help="The date or time that is cut into periods.")
@click.option("--timezone", metavar="ZONE", help="Where the days begin; UTC if left out.")
@options(*_INTO)
def build(
    metrics: tuple[str, ...],
    bins: int,
    grain: str | None,
    time: str | None,
    timezone: str | None,
    output: str,
    into: str,
    **roles: Any,
) -> None:
    r"""Make a state: counts and sums by slice, period and bin of the score.

    \b
    Example:
      sqleval state build preds.parquet --label y --score p --by carrier \
        --grain day --time at --output state.parquet
    """
    made = bound(roles).state(
        list(metrics) or None, grain=grain, time=time, timezone=timezone, bins=bins
    )
    _write(made, output, into)


@state.command()
@options(*_STATES, *_INTO, *CONTROL)
def merge(states: tuple[str, ...], table: str, output: str, into: str) -> None:
    r"""Add up states: one row where several have the same keys, label and bin.

    \b
    Example:
      sqleval state merge states/2026-07-*.parquet --output july.parquet
    """
    from sqleval.states.merging import merged

    _write(merged(_opened(states, table)), output, into)


@state.command()
@options(*_STATES)
@click.option("--by", multiple=True, metavar="A,B", help="Slice keys, of those of the states.")
@click.option("--sets", metavar="SETS", help="As for evaluate: overall, rollup, cube, or 'a;a,b;'.")
@click.option("--grain", help="Add up the periods: day, week, month, quarter or year.")
@click.option("--where", metavar="SQL", help="Condition on the keys and the period.")
@click.option("--threshold", type=float, help="Positive when score >= threshold; 0.5.")
@options(METRIC, *SLICES, *OUTPUT, *CONTROL)
def evaluate(
    states: tuple[str, ...],
    table: str,
    by: tuple[str, ...],
    sets: str | None,
    grain: str | None,
    where: str | None,
    threshold: float | None,
    metrics: tuple[str, ...],
    min_rows: int,
    gap: bool,
    worst_first: bool,
    format_: str | None,
    output: str | None,
) -> None:
    r"""Compute metrics from states, which are added up; low and high are bounds.

    \b
    Example:
      sqleval state evaluate states/*.parquet --grain week -m roc_auc -m log_loss
    """
    from sqleval.cli.output import write
    from sqleval.frontend.from_state import from_state

    of = from_state(
        _opened(states, table),
        by=names_in(by), sets=sets_in(sets), grain=grain, where=where, threshold=threshold,
    )  # fmt: skip
    found = of.evaluate(list(metrics) or None, min_rows=min_rows, gap=gap, worst_first=worst_first)
    write(found.collect(), format_, output)
