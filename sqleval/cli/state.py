"""The command ``sqleval state``: builds, merges and evaluates states."""

from __future__ import annotations

from typing import Any

import click

from sqleval.cli.confinement import allow_output, allow_sources
from sqleval.cli.controls import CONTROL
from sqleval.cli.formats import DATABASES
from sqleval.cli.options import CI, METRIC, OUTPUT, ROLES, SLICES, add_options, scan_source
from sqleval.cli.parsing import parse_names, parse_sets
from sqleval.cli.screen import print_message
from sqleval.common.counts import format_row_count
from sqleval.errors import RequestError


def _check_suffix(_: click.Context, __: click.Parameter, output: str) -> str:
    """Return the output, or raise for a wrong suffix before anything is computed."""
    if not output.endswith((".parquet", *DATABASES)):
        raise RequestError(f"--output {output}: the suffix must be .parquet or .duckdb")
    return output


_INTO = (
    click.option("--output", required=True, metavar="FILE", callback=_check_suffix,
        help="A Parquet file, or a DuckDB file in which a table is created."),
    click.option("--into", default="state", show_default=True, metavar="TABLE",
        help="Name of the table in a DuckDB file."),
)  # fmt: skip
_STATES = (
    click.argument("states", nargs=-1, required=True, metavar="STATE..."),
    click.option("--table", default="state", show_default=True, metavar="TABLE",
        help="Name of the table, if STATE is a DuckDB file."),
    click.option("--verify", is_flag=True,
        help="Check the page checksums of local Parquet files before they are read."),
)  # fmt: skip


@click.group()
def state() -> None:
    r"""Keep counts and sums of rows, and evaluate them later.

    \b
    Example:
      sqleval state build lake/day=2026-07-01 --label y --score p --by carrier \
        --grain day --time at --output states/2026-07-01.parquet
      sqleval state evaluate states/ --by carrier --grain month -m roc_auc
    """


def _open_states(states: tuple[str, ...], table: str, *, in_place: bool = False) -> Any:
    """Return the paths of states, or the rows of a state in a DuckDB file."""
    allow_sources(states, in_place=in_place)
    databases = [state for state in states if state.endswith(DATABASES)]
    if not databases:
        return list(states)
    if len(states) > 1:
        raise RequestError(
            f"{databases[0]}: a state in a DuckDB file cannot be read together with others"
        )
    from sqleval.states.files import read_state_table

    return read_state_table(databases[0], table)


def _write_state(lazy: Any, output: str, into: str) -> None:
    from sqleval.engines.embedded import embedded
    from sqleval.sources.opening import open_source
    from sqleval.states.files import write_state

    frame = lazy.collect()
    allow_output(output)
    if output.endswith(DATABASES):
        source = open_source(frame, name="_sqleval_state")
        statement = f"SELECT * FROM {source.relation}"
        embedded().write_table(statement, output, into, source, source.objects(frame.columns))
    else:
        write_state(frame, output)
    print_message(
        f"wrote {output}: {format_row_count(frame.height)}, of {frame['n'].sum():,} predictions"
    )


@state.command()
@add_options(*ROLES, METRIC)
@click.option("--bins", type=int, default=11, show_default=True, metavar="BITS",
    help="Significant bits to which scores are rounded.")  # fmt: skip
@click.option("--ci", is_flag=True,
    help="Keep the sums for intervals of log loss and other means.")  # fmt: skip
@click.option("--grain", help="Length of a period: hour, day, week, month, quarter or year.")
@click.option(
    "--time", metavar="COLUMN", help="Column of the date or time that determines the period."
)
@click.option("--timezone", metavar="ZONE", help="Time zone in which a day begins; by default UTC.")
@add_options(*_INTO)
def build(
    metrics: tuple[str, ...],
    bins: int,
    ci: bool,
    grain: str | None,
    time: str | None,
    timezone: str | None,
    output: str,
    into: str,
    **roles: Any,
) -> None:
    r"""Build a state: counts and sums per slice, period and score bin.

    \b
    Example:
      sqleval state build preds.parquet --label y --score p --by carrier \
        --grain day --time at --output state.parquet
    """
    frame = scan_source(roles).state(
        list(metrics) or None, grain=grain, time=time, timezone=timezone, bins=bins, ci=ci
    )
    _write_state(frame, output, into)


@state.command()
@add_options(*_STATES, *_INTO, *CONTROL)
def merge(states: tuple[str, ...], table: str, verify: bool, output: str, into: str) -> None:
    r"""Merge states: add up rows with the same keys, label and bin.

    \b
    Example:
      sqleval state merge states/2026-07-*.parquet --output july.parquet
    """
    from sqleval.states.merging import merge_states

    # The output may replace one of the states, because its sums are in the result.
    opened = _open_states(states, table, in_place=True)
    _write_state(merge_states(opened, verify=verify), output, into)


@state.command()
@add_options(*_STATES)
@click.option("--by", multiple=True, metavar="A,B", help="Slice keys, among those of the states.")
@click.option("--sets", metavar="SETS", help="As for evaluate: overall, rollup, cube, or 'a;a,b;'.")
@click.option("--grain", help="Merge periods to a day, week, month, quarter or year.")
@click.option(
    "--where",
    metavar="SQL",
    help="Condition on slice keys and period; with --grain, period means the merged one.",
)
@click.option("--threshold", type=float, help="Positive when score >= threshold; by default 0.5.")
@add_options(METRIC, CI, *SLICES, *OUTPUT, *CONTROL)
def evaluate(
    states: tuple[str, ...],
    table: str,
    verify: bool,
    by: tuple[str, ...],
    sets: str | None,
    grain: str | None,
    where: str | None,
    threshold: float | None,
    metrics: tuple[str, ...],
    ci: float | None,
    min_rows: int,
    gap: bool,
    worst_first: bool,
    format_: str | None,
    output: str | None,
) -> None:
    r"""Compute metrics from merged states, with guaranteed bounds.

    \b
    Example:
      sqleval state evaluate states/*.parquet --grain week -m roc_auc -m log_loss
    """
    from sqleval.cli.output import write
    from sqleval.frontend.from_state import from_state

    predictions = from_state(
        _open_states(states, table),
        by=parse_names(by), sets=parse_sets(sets), grain=grain, where=where, threshold=threshold,
        verify=verify,
    )  # fmt: skip
    result = predictions.evaluate(
        list(metrics) or None, ci=ci, min_rows=min_rows, gap=gap, worst_first=worst_first
    )
    write(result.collect(), format_, output)
