"""The options that several commands share."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from sqleval.binding.arguments import CI_METHODS
from sqleval.catalog.roles import ROLES as TABLE
from sqleval.catalog.tasks import TASKS, has_several_classes
from sqleval.cli.confinement import allow_sources
from sqleval.cli.controls import CONTROL
from sqleval.cli.formats import choose_format
from sqleval.cli.parsing import (
    nest_columns,
    parse_columns,
    parse_long,
    parse_names,
    parse_sets,
    parse_slice_keys,
    parse_threshold,
)
from sqleval.cli.stdin import open_stdin
from sqleval.errors import RequestError


def _parse_pairs(example: str) -> Callable[..., dict[str, str]]:
    """Return a callback that makes a dict of several ``NAME=VALUE``."""

    def parse(_: click.Context, __: click.Parameter, value: Any) -> dict[str, str]:
        pairs = [text.partition("=") for text in value]
        for name in (name for name, separator, _ in pairs if not separator):
            raise click.BadParameter(f"{name!r} must be NAME=VALUE, such as {example}")
        return {name: text for name, _, text in pairs}

    return parse


def complete_names(*kinds: str) -> Callable[..., list[str]]:
    """Return a function that completes the names of metrics, curves or both."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        from sqleval.catalog.listing import metrics

        names = [row["name"] for row in metrics() if row["kind"] in kinds]
        return [name for name in names if name.startswith(incomplete)]

    return complete


def complete_dialect(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the dialects that begin with the text."""
    from sqleval.export.dialects import DIALECTS

    return [name for name in DIALECTS if name.startswith(incomplete)]


def show_progress(context: click.Context, _: click.Parameter, value: Any) -> Any:
    """Show a progress bar on a terminal; a callback that returns its argument unchanged."""
    if sys.stderr.isatty():
        from sqleval.cli.output import ProgressBar
        from sqleval.engines.settings import configure

        bar = ProgressBar()
        configure(progress=bar)
        # The bar goes before an error is printed, however the command ends.
        context.call_on_close(bar.stop)
    return value


def _check_output(context: click.Context, param: click.Parameter, value: Any) -> Any:
    """Return the value, or raise for a wrong format or suffix before anything is computed."""
    values = {**context.params, str(param.name): value}
    if {"format_", "output"} <= values.keys():
        choose_format(values["format_"], values["output"])
    return value


#: Options for how files are read.
READING = [
    click.option(
        "--rows",
        metavar="FIELD",
        help="Field of JSON documents that holds the rows, such as samples or results.rows.",
    ),
    click.option(
        "--csv",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_parse_pairs("separator=';'"),
        help="Option of CSV files: header, separator, decimal, quote, escape, comment, skip, na, "
        "encoding, date_format or types, such as decimal=, or na='NA|-'.",
    ),
]
SOURCE = [
    click.argument("source", required=False, callback=show_progress),
    click.option(
        "--query",
        metavar="SQL",
        help="A SELECT statement instead of SOURCE, or on the tables of SOURCE, a database.",
    ),
    click.option(
        "--storage",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_parse_pairs("anonymous=true"),
        help="Option of an object store, such as anonymous=true or region=eu-west-1; keys come "
        "from the environment.",
    ),
    click.option(
        "--version",
        metavar="VERSION",
        help="Version of a Delta or Lance table; snapshot of a DuckLake; snapshot, branch or tag "
        "of an Iceberg table.",
    ),
    click.option("--timestamp", metavar="TIME", help="Read a table as it was at this time."),
    click.option(
        "--verify",
        is_flag=True,
        help="Check the page checksums of local Parquet files before they are read.",
    ),
    *READING,
    *CONTROL,
]
ENGINE = click.option(
    "--engine",
    metavar="ENGINE",
    help="Engine that has the table, path or query SOURCE: spark, sc://host:port, sail or "
    "postgresql://user@host/database; DuckDB by default.",
)


def _create_role_options(*, is_key: bool) -> list[Any]:
    """Return the options that bind roles: roles that are keys, or the other roles."""
    return [
        click.option(
            f"--{facts.argument}",
            metavar=facts.metavar,
            help=facts.help,
            multiple=not facts.is_single,
        )
        for facts in TABLE.values()
        if facts.is_bound and facts.is_key == is_key
    ]


#: Options for the columns and for the rows that are used.
COLUMNS = [
    *_create_role_options(is_key=False),
    click.option("--classes", metavar="A,B,C",
        help="Class at each place of a list or array of scores; needless if labels are places."),
    click.option("--by", multiple=True, metavar="A,B|NAME=SQL",
        help="Slice keys: one result per combination of values. NAME=SQL is an expression, such as "
        "month=\"date_trunc('month', day)\", \"age_group=cut(age, [18, 65])\" or "
        "\"size=qcut(n, 4)\"."),
    click.option("--sets", metavar="SETS",
        help="Sets of the keys: overall, rollup, cube, or 'a;a,b;' (the empty set is all rows)."),
    click.option("--over", multiple=True, metavar="A,B",
        help="Keys to average over (data sets, folds or runs), or groups to compare (reduce=)."),
    *_create_role_options(is_key=True),
    click.option("--positive", metavar="VALUE", help="Positive value of the label."),
    click.option("--threshold", multiple=True, metavar="NUMBER|NAME=NUMBER",
        help="Positive when score >= threshold; by default 0.5. Repeat NAME=NUMBER for several "
        "models."),
    click.option("--where", metavar="SQL", help="Condition on columns of the source."),
    click.option("--nulls", type=click.Choice(["error", "drop"]), default="error",
        help="What to do with NULL and NaN in a bound column.", show_default=True),
    click.option("--task", type=click.Choice([*TASKS]),
        help="What is predicted; by default it follows from the columns."),
]  # fmt: skip
ROLES = [
    *SOURCE,
    ENGINE,
    *COLUMNS,
    click.option("--labels", metavar="SOURCE", help="Second source, which has the labels."),
    click.option("--on", multiple=True, metavar="KEY,...",
        help="Key columns that join --labels, separated by commas."),
    click.option("--by-position", is_flag=True,
        help="Join --labels by place: row 1 has label 1; files must be named one by one."),
    click.option("--long", multiple=True, metavar="model=COLUMN|class=COLUMN|label=COLUMN",
        help="Several rows per case (--key): the column of the model, class or label of each "
        "row; --score (or --value) is the column of the values."),
    click.option("--key", multiple=True, metavar="A,B",
        help="With --long: column, or columns, that the rows of a case share. With many labels on "
        "another engine: column that tells rows apart."),
    click.option("--common", is_flag=True,
        help="With --nulls drop: keep only rows that all models have."),
]  # fmt: skip
EXPECTED = [
    click.option("--expected", is_flag=True,
        help="Before labels come: a row with score p counts as p positives, 1 - p negatives."),
    click.option("--checked-on", metavar="SOURCE",
        help="With --expected: labelled rows, to note how well calibrated the scores were there; "
        "--label, --labels and --on then apply to these rows."),
]  # fmt: skip


def _create_output(callback: Callable[..., Any] | None) -> list[Any]:
    """Return the options for the place and format of a result."""
    return [
        click.option("--format", "format_", type=click.Choice(["table", "json", "csv", "parquet"]),
            callback=callback,
            help="By default a table on the screen; for a file, its suffix decides."),
        click.option("--output", metavar="FILE", callback=callback,
            help="Write to this file, or table (delta+PATH, postgresql://HOST/DB#TABLE)."),
    ]  # fmt: skip


OUTPUT = _create_output(_check_output)
#: For a command that also writes folders and databases.
ANY_OUTPUT = _create_output(None)
METRIC = click.option(
    "--metric", "-m", "metrics", multiple=True, metavar="METRIC",
    shell_complete=complete_names("metric"),
    help='Metric, such as roc_auc or "f_beta(beta=2)"; repeat for several. By default the '
    "default metrics of the task.",
)  # fmt: skip
BINS = click.option(
    "--bins", type=int, metavar="BITS",
    help="Round scores to this many significant bits; low and high are guaranteed bounds.",
)  # fmt: skip
TOLERANCE = click.option(
    "--tolerance", type=float, metavar="WIDTH",
    help="Bin scores so that high - low is at most this, such as 1e-5.",
)  # fmt: skip
SLICES = [
    click.option("--min-rows", type=int, default=0, metavar="N",
        help="No values for slices with fewer rows."),
    click.option("--gap", is_flag=True, help="Add the difference from the value of all rows."),
    click.option("--worst-first", is_flag=True,
        help="Sort the slices of each metric, the worst first."),
]  # fmt: skip
CI = click.option(
    "--ci", type=float, metavar="LEVEL", help="Confidence level of intervals, such as 0.95."
)
CI_METHOD = [
    click.option(
        "--ci-method",
        type=click.Choice(CI_METHODS),
        help="For rates Wilson's interval or the exact one (clopper_pearson); for ROC AUC "
        "DeLong's without the logit scale (delong); the other methods use the bootstrap for all "
        "metrics.",
    ),
    click.option("--replicates", type=int, default=500, show_default=True, metavar="N",
        help="Number of bootstrap samples: 100 to 1,000,000, or 0 for none."),
    click.option("--seed", type=int, default=0, show_default=True, metavar="N",
        help="Seed of the random draws; equal seeds give equal intervals."),
    click.option("--cluster", metavar="COLUMN", help=TABLE["cluster"].help),
]  # fmt: skip


def add_options(*options: Any) -> Callable[[Any], Any]:
    """Return a decorator that adds options to a command in this order, options of SOURCE last.

    So the help begins with the options that are needed most.
    """
    ordered = sorted(options, key=lambda option: option in [*SOURCE[1:], ENGINE])

    def decorate(command: Any) -> Any:
        for option in reversed(ordered):
            command = option(command)
        return command

    return decorate


def check_source(source: str | None, query: str | None) -> None:
    """Raise `RequestError` unless there is either a source or a query, or a query on a database.

    The files that they name may be read from then on.
    """
    from sqleval.sources.database.naming import find_database

    has_both = source is not None and query is not None
    if (source is None) == (query is None) and not (has_both and find_database(source) is not None):
        raise RequestError(
            "give either a SOURCE (path, pattern or folder) or --query; both only if SOURCE is a "
            "database"
        )
    allow_sources([source], query)


def refuse_dialect(dialect: str | None) -> None:
    """Raise `RequestError` if a command without ``--table`` has a dialect."""
    if dialect is not None:
        raise RequestError("--dialect needs --table, the name of a table in that engine")


def read_roles(roles: Mapping[str, Any]) -> dict[str, Any]:
    """Return the roles as `sqleval.scan` takes them."""
    texts = parse_names(roles["counts"])
    label = _read_label(roles["label"])
    score, prediction = (parse_columns(roles[each], each) for each in ("score", "prediction"))
    task = roles["task"]
    has_many_labels = isinstance(label, dict) or (task and TASKS[task].has_many_labels)
    if has_several_classes(task) or has_many_labels:
        score = nest_columns(score, "score", label)
    if has_many_labels:
        prediction = nest_columns(prediction, "prediction", label)
    return {
        **roles,
        "label": label,
        "by": parse_slice_keys(roles["by"]),
        "over": parse_names(roles["over"]),
        "on": parse_names(roles["on"]) or None if "on" in roles else None,
        "sets": parse_sets(roles["sets"]),
        "counts": parse_columns(texts, "counts"),
        "classes": parse_names([roles["classes"]]) if roles["classes"] is not None else None,
        "score": score,
        "prediction": prediction,
        "threshold": parse_threshold(roles["threshold"]),
        "value": parse_columns(roles["value"], "value"),
        **parse_long(roles),
    }


def _read_label(texts: Sequence[str]) -> str | dict[Any, str] | None:
    """Return the label, which may be an expression such as y=1; or a column per label."""
    return texts[0] if len(texts) == 1 else parse_columns(texts, "label")


def read_source(roles: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a command's source and roles; the source may be read from then on."""
    arguments = read_roles(roles)
    source = arguments.pop("source")
    if roles["engine"] not in (None, "duckdb"):
        return source, arguments  # The engine reads it, not DuckDB.
    check_source(source, roles["query"])
    allow_sources([roles["labels"]])
    return open_stdin(source, roles), arguments


#: Options that select the rows of SOURCE.
_OF_SOURCE = {"query", "version", "timestamp"}


def scan_source(roles: Mapping[str, Any]) -> Any:
    """Return the predictions of a command's source and roles."""
    from sqleval.frontend.scan import scan

    roles = dict(roles)
    expected, checked_on = roles.pop("expected", False), roles.pop("checked_on", None)
    if checked_on is not None and not expected:
        raise RequestError("--checked-on needs --expected")
    source, arguments = read_source(roles)
    if not expected:
        return scan(source, **arguments)
    labelled: Any = True
    of_labels = {name: arguments.pop(name) for name in ("label", "labels", "on", "by_position")}
    if checked_on is not None:
        allow_sources([checked_on])
        # The options of SOURCE do not apply to the labelled rows.
        others = {name: arguments[name] for name in arguments.keys() - _OF_SOURCE}
        labelled = scan(checked_on, **others, **of_labels)
    elif any(of_labels.values()):
        raise RequestError(
            "--expected reads no label: leave out --label, --labels and --on, or name labelled "
            "rows with --checked-on"
        )
    return scan(source, **arguments, expected=labelled)


#: Options of ``sqleval sql`` that a statement for another engine cannot have, and why.
_UNSUPPORTED: Mapping[str, str] = {
    "query": "create a view of the query in that engine, and name it",
    "params": "engines write parameters differently, so the statement has their values",
    "storage": "sqleval does not connect to that engine",
    "version": "name a view of it",
    "timestamp": "name a view of it",
    "long": "create a view with a row per case",
    "by_position": "the rows of a table have no order",
    "steps": "sqleval does not connect to that engine to run them",
    "plan": "only DuckDB has plans",
    "engine": "sqleval does not connect to that engine; --dialect names its SQL",
    "verify": "it checks local Parquet files",
    "rows": "name a view of the rows",
    "csv": "it is for files",
}


def write_portable_sql(
    metrics: list[str],
    dialect: str | None,
    table: str,
    roles: Mapping[str, Any],
    options: Mapping[str, Any],
) -> str:
    """Return the statement of metrics for another engine; ``options`` are not roles."""
    from sqleval.export.statement import export_statement

    arguments = {**read_roles(roles), **options}
    for name, why in _UNSUPPORTED.items():
        if arguments.pop(name):
            raise RequestError(f"--{name} cannot be used with --table: {why}")
    if isinstance(arguments["by"], dict):
        raise RequestError("--by NAME=SQL cannot be used with --table: create a view with the key")
    if not metrics:
        raise RequestError("name a metric or a curve: sqleval sql roc_auc --table ...")
    return export_statement(metrics, dialect or "duckdb", table, **arguments)
