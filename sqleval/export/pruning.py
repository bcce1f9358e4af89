"""Leaves out of a statement what nothing in it reads: columns of its CTEs, and whole CTEs."""

from sqlglot import exp


def drop_unused(tree: exp.Expr) -> exp.Expr:
    """Return a statement without the columns of its CTEs, and without the CTEs, that are not read.

    A column counts as read if its name stands anywhere in a relation that reads the CTE. The number
    of rows of each CTE stays.

    Examples
    --------
    >>> import sqlglot
    >>> sql = "WITH a AS (SELECT x, y FROM t), b AS (SELECT x + 1 AS x, y FROM a) SELECT x FROM b"
    >>> drop_unused(sqlglot.parse_one(sql)).sql()
    'WITH a AS (SELECT x FROM t), b AS (SELECT x + 1 AS x FROM a) SELECT x FROM b'
    """
    ctes: list[exp.CTE] = list(tree.ctes) if isinstance(tree, exp.Query) else []
    if not ctes:
        return tree
    outermost = tree.copy()
    outermost.args.pop("with_", None)
    bodies: list[exp.Expr] = [outermost]  # those that follow the CTE
    for cte in reversed(ctes):
        readers = [body for body in bodies if _reads(body, cte.alias)]
        if not readers:
            cte.pop()
            continue
        if not any(_has_star(body) for body in readers):
            _drop_columns(cte.this, set[str]().union(*map(_list_names, readers)))
        bodies.append(cte.this)
    return tree


def _reads(body: exp.Expr, name: str) -> bool:
    return any(table.name == name for table in body.find_all(exp.Table))


def _has_star(body: exp.Expr) -> bool:
    """Whether all columns of a relation are selected; the star of COUNT(*) selects none."""
    return any(not isinstance(star.parent, exp.Count) for star in body.find_all(exp.Star))


def _list_names(body: exp.Expr) -> set[str]:
    return {each.name for each in body.find_all(exp.Identifier)}


def _drop_columns(body: exp.Expr, used: set[str]) -> None:
    """Remove the columns of a SELECT that are not used; a SELECT of other forms stays."""
    if not isinstance(body, exp.Select) or body.args.get("distinct") or _has_star(body):
        return
    items = body.expressions
    clauses = body.copy()
    clauses.set("expressions", [])
    inside = _list_names(clauses)
    for item in items:
        others = set[str]().union(*(_list_names(each) for each in items if each is not item))
        if item.alias_or_name in used | inside | others:
            continue
        rest = [each for each in items if each is not item]
        # Without its last aggregate, a SELECT without GROUP BY would have a row for each row.
        aggregates = (each.find(exp.AggFunc) for each in rest)
        if rest and (body.args.get("group") or not item.find(exp.AggFunc) or any(aggregates)):
            items = rest
    body.set("expressions", items)
