"""Options that configure the engine, and name folders of SQL files."""

from collections.abc import Sequence
from typing import Any

import click


def _configure(_: click.Context, param: click.Parameter, value: Any) -> None:
    if value is not None:
        from sqleval.engines.settings import configure

        configure(**{str(param.name): value})


def _add_sql(_: click.Context, __: click.Parameter, value: Sequence[str]) -> None:
    if value:
        from sqleval.catalog.catalogue import add_folder

        for folder in value:
            add_folder(folder)


SQL = click.option(
    "--sql", multiple=True, metavar="FOLDER", expose_value=False, is_eager=True, callback=_add_sql,
    help="Folder of your own SQL files; the variable SQLEVAL_SQL names such folders, too.",
)  # fmt: skip
CONTROL = [
    SQL,
    click.option("--memory-limit", metavar="SIZE", expose_value=False, callback=_configure,
        help="Memory limit of the engine, such as 4GB; beyond it the engine spills to disk."),
    click.option("--threads", type=int, metavar="N", expose_value=False, callback=_configure,
        help="Threads of the engine."),
    click.option("--temp-directory", metavar="FOLDER", expose_value=False, callback=_configure,
        help="Folder for data that the engine spills to disk."),
]  # fmt: skip
