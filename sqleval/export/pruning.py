"""Leaves out of a statement what nothing in it reads: columns of its CTEs, and whole CTEs."""

from collections import Counter
from typing import NamedTuple

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
    readers = [_Reader.create(outermost)]  # the relations that follow a CTE
    for cte in reversed(ctes):
        mine = [each for each in readers if cte.alias in each.tables]
        if not mine:
            cte.pop()
            continue
        if not any(each.has_star for each in mine):
            _drop_columns(cte.this, set[str]().union(*(each.names for each in mine)))
            cte.set("this", _unwrap(cte.this))
        readers.append(_Reader.create(cte.this))
    return tree


class _Reader(NamedTuple):
    """What a relation reads: names of tables, all names, and whether it selects all columns."""

    tables: set[str]
    names: set[str]
    has_star: bool

    @staticmethod
    def create(body: exp.Expr) -> "_Reader":
        tables = {table.name for table in body.find_all(exp.Table)}
        return _Reader(tables, {*_count_names(body)}, _has_star(body))


def _has_star(body: exp.Expr) -> bool:
    """Whether all columns of a relation are selected; the star of COUNT(*) selects none."""
    return any(not isinstance(star.parent, exp.Count) for star in body.find_all(exp.Star))


def _has_places(body: exp.Select) -> bool:
    """Whether a SELECT groups or sorts by places of its columns, such as GROUP BY 1 or ALL."""
    clauses = [body.args[name] for name in ("group", "order") if body.args.get(name)]
    terms = [term for clause in clauses for term in clause.expressions]
    values = (term.this if isinstance(term, exp.Ordered) else term for term in terms)
    is_by_all = any(clause.args.get("all") for clause in clauses)
    return is_by_all or any(isinstance(value, exp.Literal) for value in values)


def _count_names(body: exp.Expr) -> Counter[str]:
    return Counter(each.name for each in body.find_all(exp.Identifier))


def _drop_columns(body: exp.Expr, used: set[str]) -> None:
    """Remove the columns of a SELECT, or of SELECTs under UNION ALL, that are not used."""
    branches = _list_branches(body)
    if any(each.args.get("distinct") or _has_star(each) or _has_places(each) for each in branches):
        return
    names = [item.alias_or_name for item in branches[0].expressions] if branches else []
    sources = [_get_derived_table(branch) for branch in branches]
    # The derived table in FROM cannot read the columns of the SELECT around it.
    read = [
        _count_names(branch) - (_count_names(source) if source is not None else Counter[str]())
        for branch, source in zip(branches, sources, strict=True)
    ]
    # From the last column on, because a column may read those before it.
    for place in reversed(range(len(names))):
        items = [branch.expressions[place] for branch in branches]
        own = [_count_names(item) for item in items]
        if names[place] not in used and all(map(_may_drop, branches, items, read, own)):
            for item in items:
                item.pop()
            read = [left - lost for left, lost in zip(read, own, strict=True)]
    for source, left in zip(sources, read, strict=True):
        # Of a derived table without aggregates, DataFusion 55 does not accept every selection of
        # columns: "physical input schema should be the same".
        if source is not None and source.find(exp.AggFunc):
            _drop_columns(source, {*left})


def _unwrap(body: exp.Expr) -> exp.Expr:
    """Return the derived table of a SELECT that does no more than to list its columns."""
    source = _get_derived_table(body) if isinstance(body, exp.Select) else None
    is_alone = {name for name, value in body.args.items() if value} == {"expressions", "from_"}
    if not isinstance(source, exp.Select) or not is_alone:
        return body
    columns = [each.unalias() for each in body.expressions]
    is_same = all(
        isinstance(column, exp.Column) and column.name == item.alias_or_name == inner.alias_or_name
        for column, item, inner in zip(columns, body.expressions, source.expressions, strict=False)
    )
    if not is_same or len(columns) != len(source.expressions):
        return body
    source.comments = body.comments
    return source


def _list_branches(body: exp.Expr) -> list[exp.Select]:
    """Return the SELECTs of a query; none if it drops rows that are equal."""
    if isinstance(body, exp.Union) and not body.args.get("distinct"):
        parts = [_list_branches(part) for part in (body.left, body.right)]
        return [*parts[0], *parts[1]] if all(parts) else []
    return [body] if isinstance(body, exp.Select) else []


def _get_derived_table(body: exp.Select) -> exp.Expr | None:
    """Return the query in the FROM of a SELECT, if it is one."""
    start = body.args.get("from_")
    return start.this.this if start is not None and isinstance(start.this, exp.Subquery) else None


def _may_drop(body: exp.Select, item: exp.Expr, read: Counter[str], own: Counter[str]) -> bool:
    """Whether a SELECT has the same rows without an item, which nothing else in it reads."""
    name, rest = item.alias_or_name, [each for each in body.expressions if each is not item]
    if not rest or read[name] > own[name]:
        return False
    # Without its last aggregate, a SELECT without GROUP BY would have a row for each row.
    is_last = item.find(exp.AggFunc) and not any(each.find(exp.AggFunc) for each in rest)
    return not is_last or bool(body.args.get("group"))
