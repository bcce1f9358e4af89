"""The command `sqleval`: its subcommands, its errors and its exit code."""

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from io import StringIO
from typing import Any, NoReturn, cast

import click

from sqleval.cli.catalogue import list_, macros, show
from sqleval.cli.checking import check
from sqleval.cli.comparison import compare, sample_size
from sqleval.cli.confinement import confine
from sqleval.cli.drift import drift
from sqleval.cli.exits import Exit, describe_error
from sqleval.cli.export import export
from sqleval.cli.group import Commands
from sqleval.cli.history import history
from sqleval.cli.inspection import inspect
from sqleval.cli.jobs import init, validate
from sqleval.cli.jobs import run as run_jobs
from sqleval.cli.options import (
    BINS,
    CI,
    CI_METHOD,
    EXPECTED,
    METRIC,
    OUTPUT,
    ROLES,
    SLICES,
    TOLERANCE,
    add_options,
    complete_dialect,
    complete_names,
    refuse_dialect,
    scan_source,
    show_progress,
    write_portable_sql,
)
from sqleval.cli.report import report
from sqleval.cli.screen import (
    LostOutput,
    prepare_streams,
    print_data,
    print_message,
    print_text,
)
from sqleval.cli.selection import bootstrap_632, resample, select
from sqleval.cli.signals import hide_interrupt, name_interrupt, stop_on_sigterm
from sqleval.cli.split import split
from sqleval.cli.state import state
from sqleval.cli.wrong_rows import rows, slices
from sqleval.common.imports import DISTRIBUTION
from sqleval.common.interrupts import exit_on_interrupt, raise_on_interrupt
from sqleval.errors import RequestError, UnmatchedRows


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name=DISTRIBUTION)
def sqleval(debug: bool) -> None:
    """Evaluate predictions in files and databases: exact metrics, by slice, at any size."""


@sqleval.command()
@add_options(*ROLES, METRIC, *EXPECTED, CI, *CI_METHOD, BINS, TOLERANCE, *SLICES, *OUTPUT)
def evaluate(
    metrics: tuple[str, ...],
    ci: float | None,
    ci_method: str | None,
    replicates: int,
    seed: int,
    cluster: str | None,
    bins: int | None,
    tolerance: float | None,
    min_rows: int,
    gap: bool,
    worst_first: bool,
    format_: str | None,
    output: str | None,
    **roles: Any,
) -> None:
    r"""Compute metrics: one row per metric and slice.

    \b
    Example:
      sqleval evaluate lake/preds --label delayed --score p --by carrier \
        -m roc_auc -m log_loss --nulls drop
      sqleval evaluate lake/july --score p --expected --checked-on lake/june \
        --label delayed
    """
    from sqleval.cli.output import write

    result = scan_source(roles).evaluate(
        list(metrics) or None, ci=ci, ci_method=ci_method, replicates=replicates, seed=seed,
        cluster=cluster, bins=bins, tolerance=tolerance, min_rows=min_rows, gap=gap,
        worst_first=worst_first,
    )  # fmt: skip
    write(result.collect(), format_, output)


@sqleval.command()
@click.argument("name", shell_complete=complete_names("curve"))
@add_options(*ROLES, *EXPECTED)
@click.option("--drop-intermediate", is_flag=True, help="Leave out points on a straight line.")
@click.option("--ci", type=float, metavar="LEVEL", help="Add bands of this level, such as 0.95.")
@click.option(
    "--points",
    type=int,
    metavar="N",
    help="Keep at most N rows of each curve, in equal steps along it; pictures use all.",
)
@click.option("--plot", metavar="FILE", help="Draw the curve: out.svg, out.png or out.html.")
@add_options(BINS, *CI_METHOD[1:], *OUTPUT)
def curve(
    name: str,
    drop_intermediate: bool,
    ci: float | None,
    replicates: int,
    seed: int,
    cluster: str | None,
    bins: int | None,
    points: int | None,
    plot: str | None,
    format_: str | None,
    output: str | None,
    **roles: Any,
) -> None:
    r"""Compute or draw a curve: roc, pr, cost ...

    \b
    Example:
      sqleval curve roc lake/preds --label delayed --score p --output roc.csv
      sqleval curve "cost(cost_fn=5)" lake/preds --label delayed \
        --score a=p_a --score b=p_b --plot cost.svg
      sqleval curve roc lake/preds --label delayed --score p --ci 0.95 \
        --plot roc.svg
    """
    from sqleval.cli.output import write

    params: dict[str, Any] = {"drop_intermediate": True} if drop_intermediate else {}
    params |= {} if bins is None else {"bins": bins}
    params |= {"ci": ci, "replicates": replicates, "seed": seed, "cluster": cluster}
    predictions = scan_source(roles)
    if plot is not None:
        predictions.plot(name, plot, **params)
        print_message(f"wrote {plot}")
    if plot is None or format_ is not None or output is not None:
        write(predictions.curve(name, points=points, **params).collect(), format_, output)


@sqleval.command()
@add_options(*ROLES, *EXPECTED)
@click.option(
    "--normalize",
    type=click.Choice(["true", "pred", "all"]),
    help="Add the share of a cell among the rows of its label, of its prediction, or all rows.",
)
@click.option("--plot", metavar="FILE", help="Draw the matrix: out.svg, out.png or out.html.")
@add_options(*OUTPUT)
def confusion(
    normalize: str | None, plot: str | None, format_: str | None, output: str | None, **roles: Any
) -> None:
    r"""Count rows per label and prediction.

    The counts form the confusion matrix; --plot draws it.

    \b
    Example:
      sqleval confusion lake/preds --label delayed --score p --threshold 0.3 \
        --nulls drop
      sqleval confusion lake/preds --label kind --prediction guess \
        --normalize true
    """
    from sqleval.cli.output import write

    predictions = scan_source(roles)
    if plot is not None:
        predictions.plot("confusion", plot, **({"normalize": normalize} if normalize else {}))
        print_message(f"wrote {plot}")
    if plot is None or format_ is not None or output is not None:
        write(predictions.confusion(normalize=normalize).collect(), format_, output)


@sqleval.command()
@click.argument("names", nargs=-1, metavar="[SOURCE | METRIC...]", callback=show_progress)
@add_options(*ROLES[1:], METRIC, CI, BINS)
@click.option(
    "--plan",
    type=click.Choice(["rows", "few", "numbered", "sorted", "groups"]),
    default="rows",
    show_default=True,
    help="The plan to print: rows, few rows, rows with an integer id per slice, rows sorted by one "
    "integer for slice, score and label, or groups of equal scores; evaluate chooses the plan "
    "itself.",
)
@click.option("--params", is_flag=True, help="Keep $parameters instead of their values.")
@click.option("--explain", is_flag=True, help="Print what each step is for, instead of its SQL.")
@click.option("--steps", is_flag=True, help="Run step by step and show the rows of each step.")
@click.option(
    "--table",
    metavar="NAME",
    help="Name of a table in another engine, such as db.preds, instead of SOURCE; --labels then "
    "names a table there, too.",
)
@click.option("--bare", is_flag=True, help="With --table: leave out the checks of the rows.")
@click.option("--dialect", metavar="NAME", shell_complete=complete_dialect,
    help="With --table: duckdb, spark, postgres, clickhouse, snowflake, bigquery, trino, "
    "databricks or sqlite.")  # fmt: skip
def sql(
    names: tuple[str, ...],
    metrics: tuple[str, ...],
    ci: float | None,
    bins: int | None,
    plan: str,
    params: bool,
    explain: bool,
    steps: bool,
    table: str | None,
    bare: bool,
    dialect: str | None,
    **roles: Any,
) -> None:
    r"""Print the SQL of metrics or of a curve.

    With --steps, run it step by step.

    With --table, print one statement for another engine. It returns the same rows, and a column
    _problem with the error that evaluate would raise.

    \b
    Example:
      sqleval sql lake/preds --label delayed --score p -m roc_auc | duckdb
      sqleval sql roc_auc log_loss --dialect postgres --table db.preds \
        --label y --score p --by a,b
      sqleval sql recall --dialect spark --table db.preds --label y --score p \
        --ci 0.95 --nulls drop
    """
    from sqleval.cli.output import show_step

    if table is not None:
        options = {
            "ci": ci,
            "bins": bins,
            "bare": bare,
            "explain": explain,
            "params": params,
            "steps": steps,
            "plan": plan != "rows",
        }
        metric_names = [*names, *metrics]
        print_data([write_portable_sql(metric_names, dialect, table, roles, options)])
        return
    refuse_dialect(dialect)
    if bare:
        raise RequestError("--bare needs --table, such as --table preds --dialect duckdb")
    if len(names) > 1:
        raise RequestError(
            f"give one SOURCE, not {len(names)}; name metrics with -m (or, with --table, as "
            "arguments)"
        )
    predictions = scan_source({**roles, "source": names[0] if names else None})
    chosen_metrics: Any = metrics[0] if len(metrics) == 1 else list(metrics) or None
    if explain:
        lines = predictions.statement(chosen_metrics, ci=ci, bins=bins, plan=plan).explain()
        print_data(f"{line}\n" for line in lines)
        return
    if not steps:
        from sqleval.export.comments import write_header
        from sqleval.frontend.statements import list_requests

        text = predictions.sql(chosen_metrics, ci=ci, bins=bins, plan=plan, params=params)
        requests = list_requests(predictions, chosen_metrics, ci)
        header = write_header(requests, predictions.binding, predictions.source.label)
        print_data([header, text, "\n" if params else ";\n"])
        return
    for name, text, frame in predictions.steps(chosen_metrics, ci=ci, bins=bins, plan=plan):
        if not show_step(name, text, frame):
            break


for command in (
    rows, slices, compare, sample_size, drift, report, inspect, split, resample, select,
    bootstrap_632, state, init, validate, run_jobs, history, export, macros, list_, show, check,
):  # fmt: skip
    sqleval.add_command(command)
for command in (
    *sqleval.commands.values(), *split.commands.values(), *state.commands.values(),
    *export.commands.values(), *history.commands.values(),
):  # fmt: skip
    # Raw docstrings hold a backslash and a b; click keeps line breaks after the character \b.
    command.help = (command.help or "").replace("\\b\n", "\b\n")


def _print_note(message: Warning | str, *_: Any) -> None:
    print_message(f"note: {message}")


def _print_error(text: str, code: Exit) -> Exit:
    print_message(f"error: {text}")
    return code


def _call(arguments: Sequence[str]) -> int | None:
    for each in arguments:
        if "\0" in each:
            raise RequestError(f"{each!r} holds the character NUL, which no path or name may have")
        if not each.isascii() and any("\ud800" <= char <= "\udfff" for char in each):
            raise RequestError(f"{each!r} is not UTF-8, which paths, names and values must be")
    try:
        return sqleval.main(arguments, prog_name="sqleval", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        print_text(error.format_message())
        return Exit.WRONG_INPUT


def run_command(arguments: Sequence[str]) -> Exit:
    """Run the command and return its exit code; an error becomes one line on stderr."""
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    sys.unraisablehook = hide_interrupt
    try:
        raise_on_interrupt()
        with warnings.catch_warnings():
            warnings.simplefilter("always", UnmatchedRows)
            warnings.showwarning = cast(Any, _print_note)
            with confine():
                # None, unless the command sets an exit code.
                code = _call(arguments)
    except click.ClickException as error:
        message = StringIO()
        error.show(file=message)
        print_message(message.getvalue().rstrip("\n"))
        return Exit.WRONG_INPUT
    except (click.Abort, KeyboardInterrupt):
        return _print_error(name_interrupt(), Exit.FAILED)
    except Exception as error:
        if debug:
            print_message("".join(traceback.format_exception(error)).rstrip("\n"))
        if "KeyboardInterrupt" in str(error):
            return _print_error(name_interrupt(), Exit.FAILED)  # as Polars 1 wraps it
        return _print_error(*describe_error(error))
    return Exit(code or 0)


def _flush(code: Exit) -> Exit:
    """Flush the streams, and return the exit code."""
    try:
        sys.stdout.flush()
    except LostOutput as error:
        code = _print_error(*describe_error(error))
    sys.stderr.flush()
    return code


def main() -> NoReturn:
    """Run the command with the arguments of the process, and exit."""
    prepare_streams()
    stop_on_sigterm()
    code = run_command(sys.argv[1:])
    exit_on_interrupt()
    if "sqleval.engines.duckdb" in sys.modules:
        from sqleval.engines.embedded import embedded

        embedded().close()
    code = _flush(code)
    # Skip the interpreter's shutdown, in which DuckDB 2.0 reports its objects as leaked.
    os._exit(code)


if __name__ == "__main__":
    main()
