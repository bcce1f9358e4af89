"""What the commands take: options, and how their texts are read."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from sqleval.errors import RequestError


def _configured(_: click.Context, param: click.Parameter, value: Any) -> None:
    if value is not None:
        from sqleval.engines.settings import configure

        configure(**{str(param.name): value})


def watched(_: click.Context, __: click.Parameter, value: Any) -> Any:
    """Show on a terminal how far the engine is; a callback of what every command takes."""
    if sys.stderr.isatty():
        from sqleval.cli.output import Bar
        from sqleval.engines.settings import configure

        configure(progress=Bar())
    return value


#: What a DuckDB file is called.
DATABASES = (".duckdb", ".ddb", ".db")
CONTROL = [
    click.option("--memory-limit", metavar="SIZE", expose_value=False, callback=_configured,
        help="Memory that the engine may fill, such as 4GB; the rest goes to disk."),
    click.option("--threads", type=int, metavar="N", expose_value=False, callback=_configured,
        help="Threads that the engine may use."),
    click.option("--temp-directory", metavar="FOLDER", expose_value=False, callback=_configured,
        help="Where to spill what does not fit."),
]  # fmt: skip
SOURCE = [
    click.argument("source", required=False, callback=watched),
    click.option("--query", metavar="SQL", help="A SELECT instead of a source."),
    *CONTROL,
]
ROLES = [
    *SOURCE,
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
    click.option("--sets", metavar="SETS",
        help="Sets of the keys: overall, rollup, cube, or 'a;a,b;' (the last is all rows)."),
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
OUTPUT = [
    click.option("--format", "format_", type=click.Choice(["table", "json", "csv", "parquet"]),
        help="table on the screen; otherwise what --output's ending says."),
    click.option("--output", metavar="FILE", help="Write there instead of the screen."),
]  # fmt: skip
METRIC = click.option(
    "--metric", "-m", "metrics", multiple=True, metavar="METRIC",
    help='Such as roc_auc or "f_beta(beta=2)"; repeat for several. Left out: a default set.',
)  # fmt: skip
BINS = click.option(
    "--bins", type=int, metavar="BITS",
    help="Take scores together that agree in so many significant bits; low and high are bounds.",
)  # fmt: skip
TOLERANCE = click.option(
    "--tolerance", type=float, metavar="WIDTH",
    help="Take scores together as far as high - low stays within this, such as 1e-5.",
)  # fmt: skip
SLICES = [
    click.option("--min-rows", type=int, default=0, metavar="N",
        help="Slices with fewer rows have no value."),
    click.option("--gap", is_flag=True, help="Add the difference to the value of all rows."),
    click.option("--worst-first", is_flag=True, help="Order each metric's slices from the worst."),
]  # fmt: skip
CI = click.option("--ci", type=float, metavar="LEVEL", help="Intervals, at 0.95 for example.")


def options(*several: Any) -> Callable[[Any], Any]:
    """Return a decorator that gives a command these options, in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(several):
            command = option(command)
        return command

    return decorate


def named(texts: Sequence[str], role: str) -> str | dict[Any, str] | None:
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


def names_in(texts: Sequence[str]) -> list[str]:
    """Return the names in ``--by a,b --by c``."""
    return [name.strip() for text in texts for name in text.split(",")]


def sets_in(text: str | None) -> Any:
    """Return the sets of keys in ``--sets``."""
    if text is None or text in ("overall", "rollup", "cube"):
        return text
    return [[key.strip() for key in each.split(",") if key.strip()] for each in text.split(";")]


def scan(roles: Mapping[str, Any]) -> Any:
    """Bind the source and its roles as a command was given them."""
    from sqleval.frontend import scan as frame

    if (roles["source"] is None) == (roles["query"] is None):
        raise RequestError("give a SOURCE (path, pattern or folder) or --query, one of the two")
    return frame.scan(**_read(roles))


def _read(roles: Mapping[str, Any]) -> dict[str, Any]:
    """Return the roles as `sqleval.scan` takes them."""
    texts = [part.strip() for text in roles["counts"] for part in text.split(",")]
    return {
        **roles,
        "by": names_in(roles["by"]),
        "over": names_in(roles["over"]),
        "sets": sets_in(roles["sets"]),
        "counts": named(texts, "counts"),
        "score": named(roles["score"], "score"),
        "prediction": named(roles["prediction"], "prediction"),
    }


#: Options of ``sqleval sql`` that a text for a table elsewhere cannot have, and why.
_NOT_ELSEWHERE: Mapping[str, str] = {
    "query": "make a view of the query there, and name it",
    "params": "engines write parameters differently, so that values stand in the text",
    "steps": "its steps are run by an engine that is connected",
    "plan": "the units are what that engine's own plan makes of them",
}


def statement_elsewhere(
    metrics: list[str],
    dialect: str | None,
    table: str,
    roles: Mapping[str, Any],
    options: Mapping[str, Any],
) -> str:
    """Return the text for a table in another engine."""
    from sqleval.export.statement import text

    given = {**_read(roles), **options}
    for name, why in _NOT_ELSEWHERE.items():
        if given.pop(name):
            raise RequestError(f"--{name} cannot be used with --table: {why}")
    if not metrics:
        raise RequestError("name a metric or a curve: sqleval sql roc_auc --table ...")
    return text(metrics, dialect or "duckdb", table, **given)
