"""Follows dependencies between SQL files, and checks them for circles."""

from collections.abc import Callable, Mapping

from sqleval.catalog.contract import Relation
from sqleval.catalog.header import find_key_line, make_error
from sqleval.catalog.parameters import Param
from sqleval.errors import LoadError

Resolve = Callable[[str], Relation | None]


def closure(name: str, resolve: Resolve) -> dict[str, Relation]:
    """Return ``name`` and every file below it, the deepest first.

    Raises
    ------
    LoadError
        If files read each other in a circle; the message shows the circle.
    """
    order: dict[str, Relation] = {}

    def visit(current: str, path: tuple[str, ...]) -> None:
        if current in order:
            return
        relation = resolve(current)
        if relation is None:
            return
        if current in path:
            circle = " -> ".join((*path[path.index(current) :], current))
            where = f"{relation.path.parent.name}/{relation.path.name}:1"
            raise LoadError(f"{where}: the relations read each other in a circle: {circle}")
        for below in relation.reads:
            visit(below, (*path, current))
        order[current] = relation

    visit(name, ())
    return order


def depends_on(name: str, step: str, resolve: Resolve) -> bool:
    """Whether the file called ``name`` reads ``step``, directly or through others.

    The search stops at the first match and reads no further files.
    """
    relation = resolve(name)
    if relation is None:
        return False
    return step in relation.reads or any(
        depends_on(below, step, resolve) for below in relation.reads
    )


def collect_parameters(name: str, resolve: Resolve) -> Mapping[str, Param]:
    """Return the parameters of ``name`` and of every step below it."""
    params: dict[str, Param] = {}
    files: dict[str, Relation] = {}
    for relation in reversed(closure(name, resolve).values()):
        for param, declared in relation.params.items():
            file = files.setdefault(param, relation)
            if params.setdefault(param, declared) != declared:
                step = f"{relation.path.parent.name}/{relation.path.name}"
                raise make_error(
                    file.path,
                    find_key_line(file.text, param),
                    f"parameter {param!r} must be declared as in {step}, which it reads: "
                    f"'{declared}', not '{params[param]}'",
                )
    return params
