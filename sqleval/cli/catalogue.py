"""The commands that show the catalogue of metrics: list, show, macros."""

import click

from sqleval.cli.controls import SQL
from sqleval.cli.options import OUTPUT, add_options, complete_names
from sqleval.cli.screen import print_data, print_message
from sqleval.errors import RequestError


@click.command()
@add_options(SQL)
@click.option("--install", metavar="FILE", help="Create the macros in this DuckDB file.")
def macros(install: str | None) -> None:
    r"""Print the metrics as macros of DuckDB.

    With --install, create the macros in a database file.

    \b
    Example:
      sqleval macros > sqleval.sql
      sqleval macros --install preds.duckdb
      duckdb preds.duckdb "FROM sqleval.roc_auc('preds', label := y, score := p)"
    """
    from sqleval.export.macro_script import write_script

    if install is None:
        print_data([write_script()])
        return
    from sqleval.engines.duckdb_files import install as install_macros

    install_macros(write_script, install)
    print_message(f"wrote {install}; FROM sqleval.help() lists the macros")


@click.command("list")
@click.option("--task", help="Only what can be computed in this task: regression, ranking ...")
@click.option("--family", help="Only this family, a folder of SQL files: binary, cost ...")
@add_options(SQL, *OUTPUT)
def list_(task: str | None, family: str | None, format_: str | None, output: str | None) -> None:
    r"""List the metrics and curves by task and family.

    The table leaves out further spellings of a metric, such as roc_auc_pairs; other formats have
    them, with the metric that they equal in the column same_as.

    \b
    Example:
      sqleval list --task regression
      sqleval list --family cost
    """
    from sqleval.catalog.listing import group_by_task, metrics
    from sqleval.catalog.tasks import list_groups
    from sqleval.cli.output import show_list, to_frame, write
    from sqleval.common.names import find_nearest

    rows = metrics()
    families = sorted({row["family"] for row in rows})
    if family is not None and family not in families:
        raise RequestError(
            f"no family {family!r}{find_nearest(family, families)} ({', '.join(families)})"
        )
    tasks = list_groups(task)
    chosen = [row for row in rows if row["task"] in tasks and family in (None, row["family"])]
    if not chosen:
        raise RequestError(f"no metric of the family {family!r} can be computed in {task!r}")
    if format_ in (None, "table") and output is None:
        show_list(group_by_task(chosen))
        return
    shown = (
        "task", "family", "name", "same_as", "aliases", "params", "direction", "range", "interval",
        "summary",
    )  # fmt: skip
    write(to_frame([{k: row[k] for k in shown} for row in chosen]), format_, output)


@click.command()
@add_options(SQL)
@click.argument("name", shell_complete=complete_names("metric", "curve"))
def show(name: str) -> None:
    r"""Show the description of a metric and its SQL file.

    \b
    Example:
      sqleval show roc_auc
    """
    from sqleval.catalog.catalogue import builtin
    from sqleval.catalog.intervals import REASONS
    from sqleval.catalog.listing import describe
    from sqleval.catalog.request import find_name
    from sqleval.cli.output import show_metric

    relation = builtin().get(find_name(name))
    parts = (part for file in builtin().files(relation.name) for part in file.files)
    # The standard error of a mean over rows is no file of the metric.
    files = [part for part in parts if part.path.is_file()]
    described = describe(relation)
    if interval := described["interval"]:
        described["interval"] = (
            f"{interval}: {REASONS[interval]}" if interval in REASONS else interval
        )
    show_metric(described, [file.text for file in files])
