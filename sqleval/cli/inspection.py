"""The command `inspect`: shows what a source holds."""

import shutil
import sys
from typing import Any

import click

from sqleval.cli.options import OUTPUT, SOURCE, add_options, check_source
from sqleval.cli.parsing import parse_columns, split_name
from sqleval.cli.screen import print_rendered
from sqleval.cli.stdin import open_stdin
from sqleval.inspection.lines import write_findings


def _make_bold(heading: str) -> str:
    return click.style(heading, bold=True)


def _find_width() -> int:
    """Return the width of lines: the terminal's, up to 100; 400 in a pipe."""
    return min(shutil.get_terminal_size().columns, 100) if sys.stdout.isatty() else 400


@click.command()
@click.option("--label", help="Column of the truth.", metavar="COLUMN")
@click.option("--score", multiple=True, metavar="COLUMN|NAME=COLUMN",
    help="Score; repeat NAME=COLUMN for several models.")  # fmt: skip
@click.option("--prediction", multiple=True, metavar="COLUMN|NAME=COLUMN",
    help="Predicted class or value.")  # fmt: skip
@click.option("--weight", help="Column of non-negative weights.", metavar="COLUMN")
@click.option("--key", help="Row key; counts duplicates.", metavar="COLUMN")
@click.option("--time", help="Date or time; shows days without labels.", metavar="COLUMN")
@click.option("--positive", metavar="VALUE", help="Positive value of the label.")
@click.option("--where", metavar="SQL", help="Condition on columns of the source.")
@add_options(*SOURCE, *OUTPUT)
def inspect(
    source: str | None, query: str | None, format_: str | None, output: str | None, **roles: Any
) -> None:
    r"""Show a source's columns, its problems, and a command to run.

    It suggests the label, the scores and other roles, with reasons; options replace a suggestion.

    \b
    Example:
      sqleval inspect lake/preds
      sqleval inspect lake/preds --label delayed --score p --key id
    """
    from sqleval.inspection.inspect import inspect as inspect_source

    check_source(source, query)
    for name in ("score", "prediction"):
        # Several columns without names are not models, but can be inspected.
        if any(split_name(text)[0] for text in roles[name]):
            roles[name] = parse_columns(roles[name], name)
    findings = inspect_source(open_stdin(source, roles), query=query, **roles)
    if format_ in (None, "table") and output is None:
        style = _make_bold if sys.stdout.isatty() else str
        for line in write_findings(source or "the query", findings, _find_width(), style):
            if not print_rendered(f"{line}\n"):
                break
        return
    from sqleval.cli.output import to_frame, write

    write(to_frame(findings), format_, output)
