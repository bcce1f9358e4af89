"""The command `check`: tests the properties of the metrics and curves of a folder."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from sqleval.cli.controls import SQL
from sqleval.cli.exits import Exit
from sqleval.cli.options import OUTPUT, add_options
from sqleval.cli.screen import print_rendered
from sqleval.common.visible import show_controls

if TYPE_CHECKING:
    from sqleval.checking.check import Finding

_COLORS = {"holds": "green", "does not apply": "yellow", "fails": "red"}


@click.command()
@click.argument("folder")
@add_options(SQL, *OUTPUT)
def check(folder: str, format_: str | None, output: str | None) -> int:
    r"""Check your own metrics and curves on generated rows.

    FOLDER has a folder per family, with a SQL file per metric. Each metric is evaluated on
    generated rows with ties, weights, counts, slices, one class and no rows, from bins and states,
    in a comparison, and as SQL for other engines. The checks are properties of every metric; the
    exit code is 1 if one fails. They cannot tell whether a formula is right: compare some values
    with a function or a paper.

    \b
    Example:
      sqleval check metrics
      sqleval check metrics --format json
    """
    from sqleval.checking.check import check_folder
    from sqleval.cli.output import to_frame, write

    findings = check_folder(folder)
    if format_ in (None, "table") and output is None:
        is_styled = sys.stdout.isatty()
        lines = "".join(f"{line}\n" for line in _write_lines(findings))
        print_rendered(lines if is_styled else click.unstyle(lines))
    else:
        write(to_frame([each._asdict() for each in findings]), format_, output)
    has_failed = any(each.status == "fails" for each in findings)
    return Exit.GATE_FAILED if has_failed else Exit.DONE


def _write_lines(findings: Sequence["Finding"]) -> Iterator[str]:
    """Yield the lines of each file: checks that fail, do not apply (with the reason), and hold."""
    for file in dict.fromkeys(each.file for each in findings):
        here = [each for each in findings if each.file == file]
        yield click.style(show_controls(file), bold=True)
        for status in ("fails", "does not apply", "holds"):
            label = click.style(f"  {status:<16}", fg=_COLORS[status])
            of_status = [each for each in here if each.status == status]
            for each in of_status:
                if each.detail:
                    yield f"{label}{each.check}: {show_controls(each.detail)}"
            if plain := [each.check for each in of_status if not each.detail]:
                yield f"{label}{', '.join(plain)}"
