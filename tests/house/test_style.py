"""Modules, functions and lines are short enough to be read in one sitting."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "sqleval").rglob("*.py")
    }
    assert {path: n for path, n in lengths.items() if n > 400} == {}


def test_no_comment_in_sql_is_longer_than_100_characters() -> None:
    comments = {
        f"{path.relative_to(ROOT)}:{number}": len(line)
        for folder in ("sql", "sqleval")
        for path in (ROOT / folder).rglob("*.sql")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.lstrip().startswith("--")
    }
    assert comments
    assert {place: n for place, n in comments.items() if n > 100} == {}


@pytest.mark.medium
def test_no_function_is_longer_than_60_lines() -> None:
    # The body without its docstring, whose length is that of the parameters.
    lengths = {
        f"{path.relative_to(ROOT)}: {node.name}": _body_lines(node)
        for path in (ROOT / "sqleval").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert lengths
    assert {name: n for name, n in lengths.items() if n > 60} == {}


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    statements = function.body[1:] if ast.get_docstring(function) else function.body
    if not statements:
        return 0
    return (statements[-1].end_lineno or 0) - statements[0].lineno + 1
