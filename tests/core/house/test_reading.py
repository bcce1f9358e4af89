"""One module determines the task from types and values; all other modules call it."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "sqleval"
READING = "binding/reading.py"
TASKS = {"binary", "multiclass", "regression", "ranking"}
#: Names that read the type of a column.
TYPES = {"is_float", "is_number", "is_integer", "find_type_kind", "kind", "kind_stored"}


def list_chosen(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the tasks that a function returns, sets or passes on, but not those it compares."""
    for node in ast.walk(function):
        is_passed = isinstance(node, ast.keyword) and node.arg == "task"
        if not (is_passed or isinstance(node, ast.Return | ast.Assign)):
            continue
        value = node.value
        parts = [value] if value is not None else []
        while parts:
            part = parts.pop()
            if isinstance(part, ast.Constant) and part.value in TASKS:
                yield str(part.value)
            elif not isinstance(part, ast.Compare | ast.Call):
                parts += ast.iter_child_nodes(part)


def looks_at_types(function: ast.FunctionDef) -> bool:
    """Whether a function reads the type or the kind of a column."""
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    return bool(names & TYPES)


def find_choices(text: str) -> list[str]:
    """Return the functions of a module that choose a task by types."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return [each.name for each in functions if looks_at_types(each) and [*list_chosen(each)]]


def test_no_other_module_chooses_a_task_by_types() -> None:
    found = {
        str(path.relative_to(PACKAGE)): choices
        for path in PACKAGE.rglob("*.py")
        if (choices := find_choices(path.read_text("utf-8")))
    }
    assert found.pop(READING)
    assert found == {}


def test_a_choice_is_found() -> None:
    text = "def f(column):\n    return 'binary' if column.kind == 'boolean' else 'multiclass'"
    assert find_choices(text) == ["f"]
    assert find_choices(text.replace("column.kind == 'boolean'", "column")) == []
    compared = "def f(column, task):\n    return column.kind == 'text' and task == 'binary'"
    assert find_choices(compared) == []
