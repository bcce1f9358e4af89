"""The commands that show the catalogue of metrics: list, show, macros."""

from typing import Any

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
@click.option("--family", help="Only this family: binary, regression ...")
@add_options(SQL, *OUTPUT)
def list_(family: str | None, format_: str | None, output: str | None) -> None:
    r"""List the metrics and curves by family.

    \b
    Example:
      sqleval list --family binary
    """
    from sqleval.catalog.listing import metrics
    from sqleval.cli.output import show_list, to_frame, write
    from sqleval.common.names import find_nearest

    families: dict[str, list[Any]] = {}
    for row in metrics():
        families.setdefault(row["family"], []).append(row)
    if family is not None and family not in families:
        raise RequestError(
            f"no family {family!r}{find_nearest(family, families)} ({', '.join(sorted(families))})"
        )
    chosen = families if family is None else {family: families[family]}
    if format_ in (None, "table") and output is None:
        show_list(chosen)
        return
    shown = ("family", "name", "aliases", "params", "direction", "range", "summary")
    write(
        to_frame([{k: row[k] for k in shown} for rows in chosen.values() for row in rows]),
        format_, output,
    )  # fmt: skip


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
    from sqleval.catalog.listing import describe
    from sqleval.cli.output import show_metric

    relation = builtin().get(name)
    files = (part for file in builtin().files(relation.name) for part in file.files)
    show_metric(describe(relation), [file.text for file in files])
