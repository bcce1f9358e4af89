"""Writes the findings of an inspection as lines of text, for the screen and for notebooks."""

import textwrap
from collections.abc import Callable, Iterator, Sequence

from sqleval.common.visible import escape_html, show_controls
from sqleval.inspection.findings import Finding

#: Makes a heading bold.
Style = Callable[[str], str]
#: Number of columns that are listed on the screen; the other formats have all.
_MOST = 20
#: Findings that the lines of roles already show.
_IN_ROLES = ("roc_auc", "duplicate keys", "classes")
_LONGEST_NAME = 20


_WIDTH = 100


class Findings(list[Finding]):
    """The findings of an inspection, which consoles and notebooks show as the command does."""

    def __init__(self, findings: Sequence[Finding], name: str) -> None:
        super().__init__(findings)
        self._name = name

    def __repr__(self) -> str:
        """Return the lines of `sqleval inspect`."""
        return "\n".join(write_findings(self._name, self, _WIDTH))

    def _repr_html_(self) -> str:
        """Return the lines for notebooks."""
        return f"<pre>{escape_html(repr(self), keep=chr(10))}</pre>"


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


def _write_section(
    heading: str, findings: Sequence[Finding], width: int, style: Style
) -> Iterator[str]:
    if findings:
        yield ""
        yield style(heading)
        arrow = "" if heading == "Roles" else "-> "
        advice = [f"{arrow}{each.advice}" if each.advice else "" for each in findings]
        rows = [(f.check, f.column or "", f.value) for f in findings]
        yield from _write_rows(
            [(*row, more) for row, more in zip(rows, advice, strict=True)], width
        )


def write_findings(
    name: str, findings: Sequence[Finding], width: int, style: Style = str
) -> Iterator[str]:
    """Yield the lines of an inspection: problems, roles, columns, commands to run.

    Parameters
    ----------
    name : str
        The name of the source.
    findings : sequence of Finding
        The findings.
    width : int
        The width of lines.
    style : callable
        Makes a heading bold.
    """
    sizes = [
        f"{f.value} {f.check.removesuffix('s') if f.value == '1' else f.check}"
        for f in findings
        if f.check in ("rows", "files")
    ]
    columns = [f for f in findings if f.check == "column"]
    size = f"{', '.join(sizes)}, {len(columns)} column{'s' * (len(columns) != 1)}"
    yield f"{show_controls(name)}: {size}"
    problems = [f for f in findings if f.section == "problem"]
    yield from _write_section("Look at first", problems, width, style)
    roles = [f for f in findings if f.section == "role" and f.check not in _IN_ROLES]
    yield from _write_section("Roles", roles, width, style)
    yield ""
    yield style("Columns")
    yield from _write_rows([(f.column or "", "", f.value, "") for f in columns[:_MOST]], width)
    if len(columns) > _MOST:
        yield f"  ... {len(columns) - _MOST} more: --format csv"
    if commands := [f for f in findings if f.section == "command"]:
        yield ""
        yield style("Run")
        for each in commands:
            yield f"  # {show_controls(each.advice or '')}"
            yield f"  {show_controls(each.value)}"  # on one line, to be copied
