"""Calls that stand in one module alone, which says once how they are made."""

import ast

import pytest

from . import imports

#: By the name of a function, the modules that may call it.
PLACES = {
    # What a terminal would obey is made visible, and a stream that takes nothing changes no code.
    "click.echo": set[str](),
    "print": set[str](),
    # No value is markup.
    "Console": {"cli.output"},
    "Environment": {"common.pages"},
    # Limits, and no extension that nobody asked for.
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
