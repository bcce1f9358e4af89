"""Calls that may stand in one module only, so that their options are written once."""

import ast

import pytest

from . import imports

#: The modules that may call a function, by its name.
PLACES = {
    # Control characters are made visible, and a closed stream does not change the exit code.
    "click.echo": set[str](),
    # `Result.show` prints a table whose cells it has made visible.
    "print": {"frontend.results"},
    # No value is read as markup.
    "Console": {"cli.output"},
    "Environment": {"common.pages"},
    # Connections have limits, and load no extension unasked.
    "duckdb.connect": {"engines.duckdb_opening"},
}


@pytest.mark.parametrize("name", PLACES)
def test_a_call_stands_in_its_module(name: str) -> None:
    calling: set[str] = set()
    for path in imports.PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if f"{name}(" not in text:
            continue
        calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
        if any(ast.unparse(call.func) == name for call in calls):
            calling.add(".".join(path.relative_to(imports.PACKAGE).with_suffix("").parts))
    assert calling == PLACES[name]
