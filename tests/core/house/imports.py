"""Reads the imports of `sqleval` from its syntax trees.

Every import counts: at the top of a module, late within a function, and under TYPE_CHECKING. The
lengths of functions are read from the same trees. ``python -m tests.core.house.imports [FOLDER]``
prints the counts.
"""

import ast
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[3] / "sqleval"
#: Modules of the package that are in no folder.
TOP = "(top)"
#: Functions that import a module named by a text.
_CALLS = ("import_module", "__import__", "import_optional")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Imports(NamedTuple):
    """The imports of a module: modules of the package, and libraries.

    ``texts`` are the names that it imports by a call; None is one that is put together at run time.
    ``lengths`` are the lines of its functions by their names, docstrings left out.
    """

    modules: set[str]
    libraries: set[str]
    texts: set[str | None]
    lengths: dict[str, int]


@cache
def read_imports(package: Path) -> dict[str, Imports]:
    """Return the imports of each module, by its dotted name below the package.

    The trees are not kept: their million objects would slow each garbage collection down.
    """
    paths = {
        path.relative_to(package).with_suffix("").as_posix().replace("/", "."): path
        for path in sorted(package.rglob("*.py"))
    }
    found: dict[str, Imports] = {}
    for name, path in paths.items():
        text = path.read_text(encoding="utf-8")
        has_calls = any(call in text for call in _CALLS)
        found[name] = find_imports(ast.parse(text), paths, has_calls=has_calls)
    return found


def find_imports(
    tree: ast.Module, known: Container[str] = (), *, has_calls: bool = True
) -> Imports:
    """Return the imports of a module; from the package only the ``known`` modules.

    Without calls of `_CALLS`, statements are all that is looked at: an eighth of the nodes.
    """
    nodes = [*(ast.walk(tree) if has_calls else _walk_statements(tree))]
    texts = {*_names_of_imports_by_text(nodes)}
    lengths: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, _FUNCTIONS):
            lengths[node.name] = max(_count_lines(node), lengths.get(node.name, 0))
    return Imports({*_imported(nodes, known)}, _libraries(nodes, texts), texts, lengths)


def _walk_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a module, also in functions, classes, branches and cases."""
    yield tree
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(tree, field, ()):
            yield from _walk_statements(statement)


def _count_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a function without its docstring."""
    statements = function.body[1:] if ast.get_docstring(function) else function.body
    if not statements:
        return 0
    return (statements[-1].end_lineno or 0) - statements[0].lineno + 1


def _libraries(nodes: Iterable[ast.AST], texts: set[str | None]) -> set[str]:
    """Return the packages that a module imports, except `sqleval`."""
    names = {text.split(".")[0] for text in texts if text}
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(str(node.module).split(".")[0])
    return names - {"sqleval"}


def _names_of_imports_by_text(nodes: Iterable[ast.AST]) -> Iterator[str | None]:
    """Yield the modules that function calls import; None if the name is not a constant."""
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in _CALLS:
            first = node.args[0]
            yield str(first.value) if isinstance(first, ast.Constant) else None


def _imported(nodes: Iterable[ast.AST], known: Container[str]) -> Iterator[str]:
    """Yield the modules of the package that a module imports."""
    for node in nodes:
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            named = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in named:
            parts = name.split(".")
            if parts[0] != "sqleval":
                continue
            # The longest prefix that is a module; the rest is a name in it.
            for end in range(len(parts), 0, -1):
                inside = ".".join(parts[1:end])
                package = f"{inside}.__init__".lstrip(".")
                found = next((each for each in (inside, package) if each in known), None)
                if found is not None:
                    yield found
                    break


def edges(package: Path = PACKAGE) -> dict[str, set[str]]:
    """Return the modules that each module imports."""
    return {name: found.modules - {name} for name, found in read_imports(package).items()}


def room(module: str) -> str:
    """Return the folder that a module lies in."""
    return module.split(".")[0] if "." in module else TOP


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the sets of nodes that reach each other (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def levels(graph: Mapping[str, set[str]]) -> int:
    """Return the number of nodes on the longest path; the nodes of a cycle count once."""
    together = {node: tuple(group) for group in circles(graph) for node in group}
    depth: dict[object, int] = {}

    def of(node: str) -> int:
        key = together.get(node, node)
        if key not in depth:
            depth[key] = 0  # while its own cycle is walked
            members = together.get(node, (node,))
            below = {other for member in members for other in graph.get(member, ())} - {*members}
            depth[key] = 1 + max(map(of, below), default=0)
        return depth[key]

    return max(map(of, graph), default=0)


def rooms(package: Path = PACKAGE) -> dict[str, set[str]]:
    """Return the folders that each folder imports from, except ``errors``, which all may use."""
    found: dict[str, set[str]] = {}
    for module, below in edges(package).items():
        here = found.setdefault(room(module), set())
        here |= {room(other) for other in below if other != "errors"} - {room(module)}
    return found


def main(package: Path) -> None:
    """Print the counts, and which folder imports from which."""
    between = edges(package)
    print(f"modules {len(between)}, imports {sum(map(len, between.values()))}, ", end="")
    print(f"levels {levels(between)}, circles {len(circles(between))}")
    for circle in circles(between):
        print(f"circle: {' <-> '.join(circle)}")
    folders = rooms(package)
    arrows = sum(map(len, folders.values()))
    print(f"rooms {len(folders)}, arrows {arrows}, levels {levels(folders)}")
    print("| room | modules | imports from |\n| --- | --- | --- |")
    for name in sorted(folders, key=lambda each: (len(folders[each]), each)):
        count = sum(room(module) == name for module in between)
        print(f"| {name} | {count} | {', '.join(sorted(folders[name])) or '-'} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE)
