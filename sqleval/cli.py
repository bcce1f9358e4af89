"""The command: parses, calls, prints, and sets the exit code."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NoReturn, cast

import click

from sqleval.errors import EngineError, RequestError, SqlevalError, UnmatchedRows

_WRAPPED = re.compile(
    r"execution of a Python source, exception: (DataError|SourceError|EngineError): (.*)",
    re.DOTALL,
)


class Exit(IntEnum):
    """Exit codes."""

    DONE = 0
    GATE_FAILED = 1
    WRONG_INPUT = 2
    FAILED = 3


_SOURCE = [
    click.argument("source", required=False),
    click.option("--query", metavar="SQL", help="A SELECT instead of a source."),
]
_ROLES = [
    *_SOURCE,
    click.option("--label", help="Column of the truth.", metavar="COLUMN"),
    click.option(
        "--score", multiple=True, metavar="COLUMN|NAME=COLUMN",
        help="Score; NAME=COLUMN, repeated, compares models (or names classes).",
    ),
    click.option(
        "--prediction", multiple=True, metavar="COLUMN|NAME=COLUMN",
        help="Predicted class or value; NAME=COLUMN, repeated, compares models.",
    ),
    click.option("--weight", help="Column of non-negative weights.", metavar="COLUMN"),
    click.option("--counts", multiple=True, metavar="COLUMN|CELL=COLUMN,...",
        help="A table of counts: how often a row stands, or tp=, fp=, fn= and tn=."),
    click.option("--qid", help="Column of the query of a ranked row.", metavar="COLUMN"),
    click.option("--by", multiple=True, metavar="A,B", help="Slice keys: one result a group."),
    click.option("--over", multiple=True, metavar="A,B",
        help="Keys of data sets, folds or runs, to average over."),
    click.option("--role", metavar="COLUMN",
        help="Column with train, validation and test: a result a role, and the gap."),
    click.option("--positive", metavar="VALUE", help="Positive value of the label."),
    click.option("--threshold", type=float, help="Positive when score >= threshold; 0.5."),
    click.option("--where", metavar="SQL", help="Condition on the source's columns."),
    click.option("--nulls", type=click.Choice(["error", "drop"]), default="error",
        help="What to do with NULL and NaN in a bound column.", show_default=True),
    click.option("--labels", metavar="SOURCE", help="Second source, which holds the label."),
    click.option("--on", metavar="KEY", help="Key that joins --labels."),
    click.option("--task", type=click.Choice(["binary", "multiclass", "regression", "ranking"]),
        help="Follows from the columns if left out."),
]  # fmt: skip
_OUTPUT = [
    click.option("--format", "format_", type=click.Choice(["table", "json", "csv", "parquet"]),
        help="table on the screen; otherwise what --output's ending says."),
    click.option("--output", metavar="FILE", help="Write there instead of the screen."),
]  # fmt: skip
_METRIC = click.option(
    "--metric", "-m", "metrics", multiple=True, metavar="METRIC",
    help='Such as roc_auc or "f_beta(beta=2)"; repeat for several. Left out: a default set.',
)  # fmt: skip
_CI = click.option("--ci", type=float, metavar="LEVEL", help="Intervals, at 0.95 for example.")


def _with(*options: Any) -> Callable[[Any], Any]:
    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _named(texts: Sequence[str], role: str) -> str | dict[Any, str] | None:
    """Read COLUMN, or several NAME=COLUMN."""
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    pairs = [text.partition("=") for text in texts]
    if not all(separator for _, separator, _ in pairs):
        raise RequestError(
            f"several --{role} need names: --{role} NAME=COLUMN --{role} NAME=COLUMN"
        )
    return {name: column for name, _, column in pairs}


def _scan(roles: Mapping[str, Any]) -> Any:
    from sqleval.frame import scan

    given = dict(roles)
    if (given["source"] is None) == (given["query"] is None):
        raise RequestError("give a SOURCE (path, pattern or folder) or --query, one of the two")
    by, over = (
        [key.strip() for text in given.pop(option) for key in text.split(",")]
        for option in ("by", "over")
    )
    texts = [part.strip() for text in given.pop("counts") for part in text.split(",")]
    counts = _named(texts, "counts")
    score = _named(given.pop("score"), "score")
    prediction = _named(given.pop("prediction"), "prediction")
    return scan(**given, by=by, over=over, counts=counts, score=score, prediction=prediction)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="sqleval")
def sqleval(debug: bool) -> None:
    """Evaluate predictions where they lie: exact metrics, by slice, larger than memory."""


@sqleval.command()
@_with(*_ROLES, _METRIC, _CI, *_OUTPUT)
def evaluate(
    metrics: tuple[str, ...],
    ci: float | None,
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
    from sqleval.output import write

    write(_scan(roles).evaluate(list(metrics) or None, ci=ci).collect(), format_, output)


@sqleval.command()
@click.argument("name")
@_with(*_ROLES)
@click.option("--drop-intermediate", is_flag=True, help="Leave out points that move nothing.")
@click.option("--plot", metavar="FILE", help="Draw it: out.svg, out.png or out.html.")
@_with(*_OUTPUT)
def curve(
    name: str,
    drop_intermediate: bool,
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
    from sqleval.output import write

    params = {"drop_intermediate": True} if drop_intermediate else {}
    bound = _scan(roles)
    if plot is not None:
        bound.plot(name, plot, **params)
        click.echo(f"wrote {plot}", err=True)
    if plot is None or format_ is not None or output is not None:
        write(bound.curve(name, **params).collect(), format_, output)


@sqleval.command()
@_with(*_ROLES, *_OUTPUT)
def confusion(format_: str | None, output: str | None, **roles: Any) -> None:
    r"""Count how often each label met each prediction.

    \b
    Example:
      sqleval confusion lake/preds --label delayed --score p --threshold 0.3 --nulls drop
    """
    from sqleval.output import write

    write(_scan(roles).confusion().collect(), format_, output)


@sqleval.command()
@_with(*_ROLES, _METRIC, _CI)
@click.option("--plan", type=click.Choice(["rows", "groups"]), default="rows", show_default=True,
    help="Whether units are rows or distinct scores; the engine chooses when it runs.")  # fmt: skip
@click.option("--params", is_flag=True, help="Keep $parameters instead of their values.")
@click.option("--steps", is_flag=True, help="Run it step by step and show each step's rows.")
def sql(
    metrics: tuple[str, ...], ci: float | None, plan: str, params: bool, steps: bool, **roles: Any
) -> None:
    r"""Print the SQL of metrics (or of one curve), or run it step by step.

    \b
    Example:
      sqleval sql lake/preds --label delayed --score p -m roc_auc | duckdb
    """
    from sqleval.output import show_step

    predictions = _scan(roles)
    asked: Any = metrics[0] if len(metrics) == 1 else list(metrics) or None
    if not steps:
        click.echo(
            predictions.sql(asked, ci=ci, plan=plan, params=params) + ("" if params else ";")
        )
        return
    for name, text, frame in predictions.steps(asked, ci=ci):
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
    from sqleval.macros import bundle

    if install is None:
        click.echo(bundle(), nl=False)
        return
    from sqleval.engine import duckdb as engine

    engine.install(bundle(), install)
    click.echo(f"{install}: FROM sqleval.help() lists the macros", err=True)


@sqleval.command()
@_with(*_SOURCE)
@click.option("--label", help="Column of the truth: its classes are listed.", metavar="COLUMN")
@click.option("--score", multiple=True, help="Score: range and ROC AUC.", metavar="COLUMN")
@click.option("--key", help="Row key: repeats are counted.", metavar="COLUMN")
@click.option("--positive", metavar="VALUE", help="Positive value of the label.")
@_with(*_OUTPUT)
def inspect(
    source: str | None, query: str | None, format_: str | None, output: str | None, **roles: Any
) -> None:
    r"""Look at a source: what is in it, what is wrong, and the option that helps.

    \b
    Example:
      sqleval inspect lake/preds --label delayed --score p --key id
    """
    from sqleval.inspection import inspect as look
    from sqleval.output import frame_of, write

    if (source is None) == (query is None):
        raise RequestError("give a SOURCE (path, pattern or folder) or --query, one of the two")
    write(frame_of(look(source, query=query, **roles)), format_, output)


@sqleval.command("list")
@click.option("--family", help="Only this family: binary, regression ...")
@_with(*_OUTPUT)
def list_(family: str | None, format_: str | None, output: str | None) -> None:
    r"""List the metrics and curves by family.

    \b
    Example:
      sqleval list --family binary
    """
    from sqleval.listing import metrics
    from sqleval.names import nearest
    from sqleval.output import frame_of, write

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
    from sqleval import catalog
    from sqleval.listing import describe
    from sqleval.output import show_metric

    relation = catalog.get(name)
    show_metric(describe(relation), [found.text for found in catalog.files(name)])


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
            sqleval.main(given, prog_name="sqleval", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return Exit.WRONG_INPUT
    except click.ClickException as error:
        error.show()
        return Exit.WRONG_INPUT
    except BrokenPipeError:
        # Whoever reads has enough; the interpreter must not complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (click.Abort, KeyboardInterrupt):
        return _refused("interrupted", Exit.FAILED)
    except Exception as error:
        if debug:
            raise
        # Polars 1 wraps what a lazy source raises in an error of its own, as text.
        wrapped = _WRAPPED.search(str(error))
        if wrapped:
            failed = wrapped[1] == "EngineError"
            return _refused(wrapped[2], Exit.FAILED if failed else Exit.WRONG_INPUT)
        if isinstance(error, SqlevalError):
            failed = isinstance(error, EngineError)
            return _refused(str(error), Exit.FAILED if failed else Exit.WRONG_INPUT)
        text = f"unexpected {type(error).__name__}: {error} (--debug shows where)"
        return _refused(text, Exit.FAILED)
    return Exit.DONE


def main() -> NoReturn:
    """Run the command on the process's arguments and end the process."""
    code = run(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # DuckDB 2.0 reports its own objects as leaked when the interpreter is taken down.
    os._exit(code)


if __name__ == "__main__":
    main()
