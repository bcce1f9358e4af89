"""The command: parses, calls, prints, and sets the exit code."""

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn, cast

import click

from sqleval.cli.exits import Exit, code_of
from sqleval.cli.jobs import history, init, validate
from sqleval.cli.jobs import run as run_jobs
from sqleval.cli.options import (
    BINS,
    CI,
    METRIC,
    OUTPUT,
    ROLES,
    SLICES,
    SOURCE,
    TOLERANCE,
    options,
    scan,
    statement_elsewhere,
    watched,
)
from sqleval.cli.split import split
from sqleval.cli.state import state
from sqleval.errors import RequestError, SqlevalError, UnmatchedRows, original


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="sqleval")
def sqleval(debug: bool) -> None:
    """Evaluate predictions where they lie: exact metrics, by slice, larger than memory."""


@sqleval.command()
@options(*ROLES, METRIC, CI, BINS, TOLERANCE, *SLICES, *OUTPUT)
def evaluate(
    metrics: tuple[str, ...],
    ci: float | None,
    bins: int | None,
    tolerance: float | None,
    min_rows: int,
    gap: bool,
    worst_first: bool,
    format_: str | None,
    output: str | None,
    **roles: Any,
) -> None:
    r"""Compute metrics, one row a metric and slice.

    \b
    Example:
      sqleval evaluate lake/preds --label delayed --score p --by carrier \
        -m roc_auc -m log_loss --nulls drop
    """
    from sqleval.cli.output import write

    found = scan(roles).evaluate(
        list(metrics) or None, ci=ci, bins=bins, tolerance=tolerance,
        min_rows=min_rows, gap=gap, worst_first=worst_first,
    )  # fmt: skip
    write(found.collect(), format_, output)


@sqleval.command()
@click.argument("name")
@options(*ROLES)
@click.option("--drop-intermediate", is_flag=True, help="Leave out points that move nothing.")
@click.option("--plot", metavar="FILE", help="Draw it: out.svg, out.png or out.html.")
@options(BINS, *OUTPUT)
def curve(
    name: str,
    drop_intermediate: bool,
    bins: int | None,
    plot: str | None,
    format_: str | None,
    output: str | None,
    **roles: Any,
) -> None:
    r"""Compute a curve (roc, pr, cost, calibration ...) with its own columns, or draw it.

    \b
    Example:
      sqleval curve roc lake/preds --label delayed --score p --output roc.csv
      sqleval curve "cost(cost_fn=5)" lake/preds --label delayed --score a=p_a --score b=p_b \
        --plot cost.svg
    """
    from sqleval.cli.output import write

    params: dict[str, Any] = {"drop_intermediate": True} if drop_intermediate else {}
    params |= {} if bins is None else {"bins": bins}
    bound = scan(roles)
    if plot is not None:
        bound.plot(name, plot, **params)
        click.echo(f"wrote {plot}", err=True)
    if plot is None or format_ is not None or output is not None:
        write(bound.curve(name, **params).collect(), format_, output)


@sqleval.command()
@options(*ROLES, *OUTPUT)
def confusion(format_: str | None, output: str | None, **roles: Any) -> None:
    r"""Count how often each label met each prediction.

    \b
    Example:
      sqleval confusion lake/preds --label delayed --score p --threshold 0.3 --nulls drop
    """
    from sqleval.cli.output import write

    write(scan(roles).confusion().collect(), format_, output)


@sqleval.command()
@click.argument("names", nargs=-1, metavar="[SOURCE | METRIC...]", callback=watched)
@options(*ROLES[1:], METRIC, CI, BINS)
@click.option(
    "--plan",
    type=click.Choice(["rows", "numbered", "groups"]),
    default="rows",
    show_default=True,
    help="Whether units are rows, with numbers for texts of slices, or distinct scores; the engine "
    "chooses when it runs.",
)
@click.option("--params", is_flag=True, help="Keep $parameters instead of their values.")
@click.option("--steps", is_flag=True, help="Run it step by step and show each step's rows.")
@click.option(
    "--table",
    metavar="NAME",
    help="A table such as db.schema.preds, in place of SOURCE; --labels names one there as well.",
)
@click.option("--dialect", metavar="NAME",
    help="With --table: duckdb, spark, postgres, clickhouse, snowflake, bigquery, trino, "
    "databricks, redshift, tsql or sqlite.")  # fmt: skip
def sql(
    names: tuple[str, ...],
    metrics: tuple[str, ...],
    ci: float | None,
    bins: int | None,
    plan: str,
    params: bool,
    steps: bool,
    table: str | None,
    dialect: str | None,
    **roles: Any,
) -> None:
    r"""Print the SQL of metrics (or of one curve), or run it step by step.

    With --table it is one statement for another engine, to paste: the same rows, and a column
    _problem with what evaluate would raise.

    \b
    Example:
      sqleval sql lake/preds --label delayed --score p -m roc_auc | duckdb
      sqleval sql roc_auc log_loss --dialect postgres --table db.preds --label y --score p --by a,b
      sqleval sql recall --dialect spark --table db.preds --label y --score p --ci 0.95 --nulls drop
    """
    from sqleval.cli.output import show_step

    if table is not None:
        own = {"ci": ci, "bins": bins, "params": params, "steps": steps, "plan": plan != "rows"}
        asked = [*names, *metrics]
        click.echo(statement_elsewhere(asked, dialect, table, roles, own), nl=False)
        return
    if dialect is not None:
        raise RequestError("--dialect goes with --table, the name of the table in that engine")
    if len(names) > 1:
        raise RequestError(
            f"one SOURCE is taken, not {len(names)}; metrics are named by -m, or by themselves "
            "beside --table"
        )
    predictions = scan({**roles, "source": names[0] if names else None})
    wanted: Any = metrics[0] if len(metrics) == 1 else list(metrics) or None
    if not steps:
        text = predictions.sql(wanted, ci=ci, bins=bins, plan=plan, params=params)
        click.echo(text + ("" if params else ";"))
        return
    for name, text, frame in predictions.steps(wanted, ci=ci, bins=bins, plan=plan):
        show_step(name, text, frame)


@sqleval.command()
@click.option("--install", metavar="FILE", help="Make them in this DuckDB file instead.")
def macros(install: str | None) -> None:
    r"""Print the metrics as DuckDB macros, or make them in a database file.

    \b
    Example:
      sqleval macros > sqleval.sql
      sqleval macros --install preds.duckdb
      duckdb preds.duckdb "FROM sqleval.roc_auc('preds', label := y, score := p)"
    """
    from sqleval.export.macro_script import bundle

    if install is None:
        click.echo(bundle(), nl=False)
        return
    from sqleval.engines.duckdb import install as install_macros

    install_macros(bundle(), install)
    click.echo(f"{install}: FROM sqleval.help() lists the macros", err=True)


@sqleval.command()
@options(*SOURCE)
@click.option("--label", help="Column of the truth: its classes are listed.", metavar="COLUMN")
@click.option("--score", multiple=True, help="Score: range and ROC AUC.", metavar="COLUMN")
@click.option("--key", help="Row key: repeats are counted.", metavar="COLUMN")
@click.option("--positive", metavar="VALUE", help="Positive value of the label.")
@options(*OUTPUT)
def inspect(
    source: str | None, query: str | None, format_: str | None, output: str | None, **roles: Any
) -> None:
    r"""Look at a source: what is in it, what is wrong, and the option that helps.

    \b
    Example:
      sqleval inspect lake/preds --label delayed --score p --key id
    """
    from sqleval.cli.output import frame_of, write
    from sqleval.frontend.inspection import inspect as look

    if (source is None) == (query is None):
        raise RequestError("give a SOURCE (path, pattern or folder) or --query, one of the two")
    write(frame_of(look(source, query=query, **roles)), format_, output)


@sqleval.command("list")
@click.option("--family", help="Only this family: binary, regression ...")
@options(*OUTPUT)
def list_(family: str | None, format_: str | None, output: str | None) -> None:
    r"""List the metrics and curves by family.

    \b
    Example:
      sqleval list --family binary
    """
    from sqleval.catalog.listing import metrics
    from sqleval.cli.output import frame_of, write
    from sqleval.common.names import nearest

    rows = metrics()
    families = {row["family"] for row in rows}
    if family is not None and family not in families:
        raise RequestError(
            f"no family {family!r}{nearest(family, families)} ({', '.join(sorted(families))})"
        )
    shown = ("family", "name", "params", "direction", "range", "summary")
    chosen = [{k: row[k] for k in shown} for row in rows if family in (None, row["family"])]
    write(frame_of(chosen), format_, output)


@sqleval.command()
@click.argument("name")
def show(name: str) -> None:
    r"""Show one metric: what it is, and its SQL file.

    \b
    Example:
      sqleval show roc_auc
    """
    from sqleval.catalog.catalogue import builtin
    from sqleval.catalog.listing import describe
    from sqleval.cli.output import show_metric

    catalogue = builtin()
    described = describe(catalogue.get(name))
    show_metric(described, [found.text for found in catalogue.files(name)])


for command in (init, validate, run_jobs, history, split, state):
    sqleval.add_command(command)
for command in (*sqleval.commands.values(), *split.commands.values(), *state.commands.values()):
    # In a raw docstring it is two characters; click wants the one that keeps an example's lines.
    command.help = (command.help or "").replace("\\b\n", "\b\n")


def _notice(message: Warning | str, *_: Any) -> None:
    click.echo(f"note: {message}", err=True)


def _refused(text: str, code: Exit) -> Exit:
    click.echo(f"error: {text}", err=True)
    return code


def run(arguments: Sequence[str]) -> Exit:
    """Run the command; an error becomes one line on stderr and its exit code."""
    debug = "--debug" in arguments
    given = [argument for argument in arguments if argument != "--debug"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UnmatchedRows)
            warnings.showwarning = cast(Any, _notice)
            # A command returns nothing; one that ends early returns its code.
            ended = sqleval.main(given, prog_name="sqleval", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return Exit.WRONG_INPUT
    except click.ClickException as error:
        error.show()
        return Exit.WRONG_INPUT
    except (BrokenPipeError, SystemExit):
        # Whoever reads has enough, for which alone click ends a process by itself; the interpreter
        # must not complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (click.Abort, KeyboardInterrupt):
        return _refused("interrupted", Exit.FAILED)
    except Exception as error:
        if debug:
            raise
        if "KeyboardInterrupt" in str(error):
            return _refused("interrupted", Exit.FAILED)  # as Polars 1 wraps it
        error = original(error)
        if isinstance(error, SqlevalError):
            return _refused(str(error), code_of(error))
        text = f"unexpected {type(error).__name__}: {error} (--debug shows where)"
        return _refused(text, Exit.FAILED)
    else:
        return Exit(ended or 0)
    return Exit.DONE


def main() -> NoReturn:
    """Run the command on the process's arguments and end the process."""
    code = run(sys.argv[1:])
    if "sqleval.engines.duckdb" in sys.modules:
        from sqleval.engines.embedded import embedded

        embedded().close()
    sys.stdout.flush()
    sys.stderr.flush()
    # DuckDB 2.0 reports its own objects as leaked when the interpreter is taken down.
    os._exit(code)


if __name__ == "__main__":
    main()
