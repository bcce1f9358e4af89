"""The command `inspect`: shows what a source holds."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from sqleval.cli.options import OUTPUT, SOURCE, add_options, check_source
from sqleval.cli.parsing import parse_columns, split_name
from sqleval.cli.screen import print_rendered
from sqleval.cli.stdin import open_stdin
from sqleval.common.visible import show_controls

if TYPE_CHECKING:
    from sqleval.inspection.findings import Finding

#: Number of columns that are listed on the screen; the other formats have all.
_MOST = 20
#: Findings that the lines of roles already show.
_IN_ROLES = ("roc_auc", "duplicate keys", "classes")
_LONGEST_NAME = 20


def _find_width() -> int:
    """Return the width of lines: the terminal's, up to 100; 400 in a pipe."""
    return min(shutil.get_terminal_size().columns, 100) if sys.stdout.isatty() else 400


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 30), break_long_words=False, break_on_hyphens=False)


def _write_rows(rows: Sequence[tuple[str, str, str, str]], width: int) -> Iterator[str]:
    """Yield lines of two short columns and a long, wrapped one with its advice below."""
    lengths = ([len(row[i]) for row in rows if len(row[i]) <= _LONGEST_NAME] for i in (0, 1))
    first, second = (max(each, default=0) for each in lengths)
    indent = " " * (4 + first + (second + 2 if second else 0))
    for row in rows:
        name, column, text, advice = map(show_controls, row)
        if len(column) > _LONGEST_NAME:
            text, column = f"{column}: {text}", ""
        head = f"  {name:<{first}}  " + (f"{column:<{second}}  " if second else "")
        if len(head) > len(indent):
            yield head.rstrip()
            head = indent
        for line in [*_wrap(text, width - len(indent)), *_wrap(advice, width - len(indent))]:
            yield head + line
            head = indent


def _write_section(heading: str, findings: Sequence["Finding"], width: int) -> Iterator[str]:
    if findings:
        yield ""
        yield click.style(heading, bold=True)
        arrow = "" if heading == "Roles" else "-> "
        advice = [f"{arrow}{each.advice}" if each.advice else "" for each in findings]
        rows = [(f.check, f.column or "", f.value) for f in findings]
        yield from _write_rows(
            [(*row, more) for row, more in zip(rows, advice, strict=True)], width
        )


def write_findings(name: str, findings: Sequence["Finding"], width: int) -> Iterator[str]:
    """Yield the lines of an inspection: problems, roles, columns, commands to run."""
    sizes = [
        f"{f.value} {f.check.removesuffix('s') if f.value == '1' else f.check}"
        for f in findings
        if f.check in ("rows", "files")
    ]
    columns = [f for f in findings if f.check == "column"]
    size = f"{', '.join(sizes)}, {len(columns)} column{'s' * (len(columns) != 1)}"
    yield f"{show_controls(name)}: {size}"
    problems = [f for f in findings if f.section == "problem"]
    yield from _write_section("Look at first", problems, width)
    roles = [f for f in findings if f.section == "role" and f.check not in _IN_ROLES]
    yield from _write_section("Roles", roles, width)
    yield ""
    yield click.style("Columns", bold=True)
    yield from _write_rows([(f.column or "", "", f.value, "") for f in columns[:_MOST]], width)
    if len(columns) > _MOST:
        yield f"  ... {len(columns) - _MOST} more: --format csv"
    if commands := [f for f in findings if f.section == "command"]:
        yield ""
        yield click.style("Run", bold=True)
        for each in commands:
            yield f"  # {show_controls(each.advice or '')}"
            yield f"  {show_controls(each.value)}"  # on one line, to be copied


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
        for line in write_findings(source or "the query", findings, _find_width()):
            shown = line if sys.stdout.isatty() else click.unstyle(line)
            if not print_rendered(f"{shown}\n"):
                break
        return
    from sqleval.cli.output import to_frame, write

    write(to_frame(findings), format_, output)
