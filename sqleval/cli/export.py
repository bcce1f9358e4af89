"""The command ``sqleval export``: writes packages for other tools."""

from typing import Any

import click

from sqleval.cli.controls import SQL
from sqleval.cli.options import BINS, CI, COLUMNS, METRIC, add_options, read_roles
from sqleval.cli.screen import print_message
from sqleval.errors import RequestError


@click.group()
def export() -> None:
    r"""Write the metrics as a package for another tool: dbt.

    \b
    Example:
      sqleval export dbt metrics/ preds --dialect postgres --time day \
        --label y --score p -m ks
    """


@export.command()
@click.argument("folder", metavar="DIR")
@click.argument("predictions")
@click.option(
    "--dialect",
    required=True,
    metavar="NAME",
    help="The warehouse: duckdb, postgres, spark, snowflake, bigquery or trino.",
)
@click.option(
    "--time",
    required=True,
    metavar="COLUMN",
    help="Column of type DATE or TIMESTAMP that decides the period of a row.",
)
@click.option(
    "--grain",
    type=click.Choice(["day", "week", "month", "quarter", "year"]),
    default="day",
    show_default=True,
    help="Length of a period.",
)
@add_options(*COLUMNS, METRIC, CI, BINS, SQL)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="GATE",
    help='As in a job file: "roc_auc >= 0.7", or "{check: roc_auc >= 0.7, by: [carrier], severity: '
    'warn}"; repeat for several.',
)
@click.option(
    "--baseline",
    nargs=2,
    metavar="FROM TO",
    help="First and last period whose mean is the baseline of gates.",
)
@click.option(
    "--lookback",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    metavar="N",
    help="How many of the last periods a build checks again for late rows and labels.",
)
@click.option(
    "--name", default="sqleval", show_default=True, metavar="NAME", help="Name of the package."
)
def dbt(
    folder: str,
    predictions: str,
    dialect: str,
    time: str,
    grain: str,
    metrics: tuple[str, ...],
    ci: float | None,
    bins: int | None,
    gates: tuple[str, ...],
    baseline: tuple[str, str] | None,
    lookback: int,
    name: str,
    **roles: Any,
) -> None:
    r"""Write a dbt package: macros, a model of the history, gates as tests.

    PREDICTIONS is a model (preds) or a source (lake.preds) of dbt, or SQL that follows FROM.

    \b
    Example:
      sqleval export dbt metrics/ preds --dialect postgres --time flight_date \
        --grain month --label delayed --score p --by carrier --nulls drop \
        -m roc_auc --gate "roc_auc >= 0.7"
    """
    from sqleval.export.dbt.package import write_package

    arguments = read_roles(roles)
    if isinstance(arguments["by"], dict):
        raise RequestError("--by NAME=SQL cannot be used here: add the key to the dbt model")
    files = write_package(
        folder, predictions, metrics, arguments, dialect=dialect, time=time, grain=grain, name=name,
        gates=gates, baseline=baseline, lookback=lookback, ci=ci, bins=bins,
    )  # fmt: skip
    print_message(f"wrote {folder}: {len(files)} files")
