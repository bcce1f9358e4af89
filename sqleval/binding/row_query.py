"""Checks a query that makes the rows of a source row by row, and wraps the source in it.

A query may hold expressions, UNNEST and WHERE. Whatever lets one row depend on another is refused:
jobs evaluate each period by itself, so that a period would depend on the rows of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqleval.binding.allowed_sql import find_forbidden
from sqleval.binding.lookup import Columns, find_column
from sqleval.binding.where import describe_syntax, keep_nan
from sqleval.binding.whole_numbers import check_whole_numbers
from sqleval.common.sql_text import quote
from sqleval.errors import RequestError
from sqleval.sources.source import Source

#: The name of the source in a query.
SOURCE = "source"
_FORM = "SELECT *, UNNEST(items) AS item FROM source WHERE split = 'test'"
_WHY = (
    "each row must follow from one row of the source, because each period is evaluated by itself "
    "and would depend on others"
)
#: The parts of a SELECT that let rows depend on each other or on other tables, in words.
_REFUSED: Mapping[str, str] = {
    "with_": "WITH (a common table expression)",
    "joins": "a join",
    "laterals": "a lateral join",
    "distinct": "DISTINCT",
    "group": "GROUP BY",
    "having": "HAVING",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "sample": "a sample",
    "into": "INTO",
    "locks": "FOR UPDATE",
    "pivots": "PIVOT or UNPIVOT",
    "when": "a version of a table",
}


@dataclass(frozen=True)
class RowQuery:
    """A query over one source, taken apart.

    Attributes
    ----------
    has_star : bool
        Whether it passes on all columns of the source.
    left_out : tuple of str
        The columns that ``*`` leaves out, as EXCLUDE, REPLACE and RENAME say.
    items : tuple of (str, exp.Expr)
        The name and the expression of each other column.
    where : exp.Expr or None
        The condition.
    alias : str
        The name of the source in it.
    """

    has_star: bool
    left_out: tuple[str, ...]
    items: tuple[tuple[str, exp.Expr], ...]
    where: exp.Expr | None
    alias: str


def parse_query(text: str) -> RowQuery:
    """Take a query apart; the columns are still to be checked.

    Raises
    ------
    RequestError
        If it is not one SELECT over ``source`` that makes its rows row by row.

    Examples
    --------
    >>> parse_query("SELECT *, p / 100 AS q FROM source WHERE p > 0").items[0][0]
    'q'
    >>> parse_query("SELECT day, AVG(p) AS p FROM source GROUP BY day")
    Traceback (most recent call last):
    sqleval.errors.RequestError: query: GROUP BY is not allowed: each row must follow from one ...
    """
    try:
        return _parse(text)
    except RecursionError:
        raise RequestError("query: it is nested too deeply; write it with fewer brackets") from None


def _parse(text: str) -> RowQuery:
    try:
        statements = sqlglot.parse(text, dialect="duckdb")
    except (SqlglotError, TypeError, ValueError) as error:  # the last two are sqlglot's own too
        raise RequestError(f"query: not SQL: {describe_syntax(error)}") from error
    trees = [each for each in statements if each is not None]
    if len(trees) != 1:
        raise RequestError(f"query: it must be one statement, such as {_FORM}")
    tree = trees[0]
    if isinstance(tree, exp.SetOperation):
        raise _refuse(f"{type(tree).__name__.upper()}")
    if not isinstance(tree, exp.Select):
        raise RequestError(f"query: it must be a SELECT, such as {_FORM}")
    _check_clauses(tree)
    alias = _check_table(tree)
    has_star = False
    left_out: list[str] = []
    items: list[tuple[str, exp.Expr]] = []
    for each in tree.expressions:
        if _is_star(each, alias):
            has_star = True
            left_out += _read_star(each, items)
        else:
            items.append((_name(each), each.unalias()))
    where = tree.args.get("where")
    condition = None if where is None else where.this
    for each in [*(item for _, item in items), *([] if condition is None else [condition])]:
        _check_expression(each, may_unnest=each is not condition)
    names = [name.casefold() for name, _ in items]
    if twice := next((name for name, _ in items if names.count(name.casefold()) > 1), None):
        raise RequestError(f"query: it names the column {twice!r} twice")
    return RowQuery(has_star, tuple(left_out), tuple(items), condition, alias)


def _refuse(what: str) -> RequestError:
    return RequestError(f"query: {what} is not allowed: {_WHY}")


def _check_clauses(tree: exp.Select) -> None:
    """Raise `RequestError` for a clause besides SELECT, FROM and WHERE."""
    for name, value in tree.args.items():
        if value and name not in ("expressions", "from_", "where"):
            if name == "joins" and isinstance(value[0].this, exp.Unnest):
                raise RequestError(
                    "query: UNNEST stands in the list after SELECT, as in UNNEST(items) AS item, "
                    "not after FROM"
                )
            raise _refuse(_REFUSED.get(name, name.rstrip("_").upper()))


def _check_table(tree: exp.Select) -> str:
    """Return the alias of the source; raise `RequestError` for any other table."""
    source = tree.args.get("from_")
    table = exp.Table() if source is None else source.this
    is_named = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    if not is_named or table.name.casefold() != SOURCE or table.args.get("db"):
        shown = "" if source is None else f", not {table.sql(dialect='duckdb')[:60]}"
        raise RequestError(
            f"query: it reads FROM source, the files or the table of the job{shown}; other tables "
            "are not allowed"
        )
    for name, value in table.args.items():
        if value and name not in ("this", "alias"):
            raise _refuse(_REFUSED.get(name, name.upper()))
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise RequestError("query: the columns of source have their own names; rename with AS")
    return table.alias or SOURCE


def _is_star(each: exp.Expr, alias: str) -> bool:
    if isinstance(each, exp.Column) and isinstance(each.this, exp.Star):
        return each.table.casefold() == alias.casefold()
    return isinstance(each, exp.Star)


def _read_star(each: exp.Expr, items: list[tuple[str, exp.Expr]]) -> list[str]:
    """Return the columns that a star leaves out; add those that it replaces or renames."""
    star = each.this if isinstance(each, exp.Column) else each
    replaced = [*(star.args.get("replace") or ()), *(star.args.get("rename") or ())]
    items += [(one.alias, one.this) for one in replaced]
    left_out = [one.name for one in star.args.get("except_") or ()]
    left_out += [one.alias for one in star.args.get("replace") or ()]
    return left_out + [one.this.name for one in star.args.get("rename") or ()]


def _name(each: exp.Expr) -> str:
    """Return the name of a column of the result."""
    name = each.alias_or_name if isinstance(each, (exp.Alias, exp.Column)) else ""
    if isinstance(each, exp.Dot) and isinstance(each.expression, exp.Identifier):
        name = each.expression.name
    if not name:
        shown = each.sql(dialect="duckdb")[:60]
        raise RequestError(f"query: {shown} needs a name: {shown} AS name")
    if name.casefold().startswith("_sqleval"):
        raise RequestError(f"query: the name {name!r} is reserved; choose another one")
    return name


def _check_expression(tree: exp.Expr, *, may_unnest: bool) -> None:
    """Raise `RequestError` if an expression reads more than one row, or more than its columns."""
    if tree.find(exp.Query):
        raise _refuse("a subquery")
    if tree.find(exp.Window):
        raise _refuse("a window")
    if (aggregate := tree.find(exp.AggFunc)) is not None:
        raise _refuse(f"the aggregate {aggregate.sql(dialect='duckdb')[:60]}")
    if tree.find(exp.Placeholder, exp.Parameter):
        raise RequestError("query: it cannot have parameters")
    plain = exp.paren(tree.copy())
    for unnest in list(plain.find_all(exp.Explode)):
        if unnest.expressions or not may_unnest or unnest.find_ancestor(exp.Explode):
            raise RequestError(
                "query: UNNEST takes one list, and stands in the list after SELECT, as in "
                "UNNEST(items) AS item"
            )
    for unnest in list(plain.find_all(exp.Explode)):
        unnest.replace(exp.paren(unnest.this))
    try:
        forbidden = find_forbidden(plain)
    except (SqlglotError, TypeError, ValueError, AttributeError, IndexError) as error:
        # An error of sqlglot: a function has arguments that it cannot write.
        raise RequestError("query: it has a function with wrong arguments") from error
    if forbidden is not None:
        raise RequestError(
            f"query: it may not hold {forbidden}: allowed are operators, and functions of values "
            "such as lower() and date_trunc()"
        )


def apply_query(
    query: RowQuery, source: Source, columns: Columns, kept: str, dialect: str
) -> Source:
    """Return a source whose rows are the results of a query.

    Parameters
    ----------
    query : RowQuery
        The query.
    source : Source
        The source, as its engine described it.
    columns : mapping of str to Column
        Its columns.
    kept : str
        A column that is passed on in any case, if the source has it.
    dialect : str
        The dialect of the engine.

    Raises
    ------
    RequestError
        If there is no such column, or two columns of the result have one name.
    """
    visible = {name: each for name, each in columns.items() if name != kept}
    resolve = _Resolver(query.alias, visible, source.label)
    items = {resolve.spell(name, each): resolve.write(each) for name, each in query.items}
    left_out = {resolve.find(name) for name in query.left_out}
    star = [name for name in visible if name not in left_out] if query.has_star else []
    folded = {name.casefold() for name in star}
    if twice := next((name for name in items if name.casefold() in folded), None):
        raise RequestError(
            f"query: the source has a column {twice!r} already: write * EXCLUDE ({twice}), "
            f"* REPLACE (... AS {twice}), or another name"
        )
    # Other engines may lack EXCLUDE, and leave out unread columns themselves.
    is_listed = bool(left_out) and dialect != "duckdb"
    selected = [f"{sql} AS {quote(name)}" for name, sql in items.items()]
    if is_listed:
        selected = [*(f"s.{quote(name)}" for name in star), *selected]
    elif query.has_star:
        excluded = f" EXCLUDE ({', '.join(map(quote, sorted(left_out)))})" if left_out else ""
        selected.insert(0, f"s.*{excluded}")
    if kept in columns and (is_listed or not query.has_star):
        selected.append(f"s.{quote(kept)}")
    where = "" if query.where is None else resolve.write(query.where)
    if where:
        where = f"\nWHERE {keep_nan(where, columns) if dialect == 'duckdb' else where}"
    read = [name for name in columns if is_listed or name in {*resolve.used, kept}]
    exact = check_whole_numbers(source, visible)
    relation = f"(SELECT {', '.join(selected)}\nFROM {exact.relation} AS s{where})"
    return _describe_result(query, source, star, exact.add_columns(relation, [*items], read))


def _describe_result(query: RowQuery, source: Source, star: Sequence[str], added: Source) -> Source:
    """Return a source with the facts that hold for the columns of the result."""
    passed = {name.casefold() for name in star}
    renamed = {
        name.casefold()
        for name, each in query.items
        if isinstance(each, exp.Column) and each.name.casefold() in source.singles
    }
    result = replace(
        added,
        # The reader's options are settled, and not those of the columns of the result.
        text_reader="",
        several=(),
        partitions=None,
        rows=None,
        unusable={name: why for name, why in source.unusable.items() if name in passed},
        singles=(source.singles & passed) | renamed,
        unreadable=source.unreadable if query.has_star else {},
    )
    select = added.select

    def choose(condition: str) -> Source:
        assert select is not None
        tree = exp.paren(sqlglot.parse_one(condition, dialect="duckdb"))
        # A condition on computed columns is none on the source.
        is_on_source = all(column.name in star for column in tree.find_all(exp.Column))
        return select(condition) if is_on_source else result

    return replace(result, select=select and choose)


class _Resolver:
    """Writes expressions over the columns of a source, and notes the columns."""

    def __init__(self, alias: str, columns: Columns, where: str) -> None:
        self._alias = alias.casefold()
        self._columns = columns
        self._folded = {name.casefold(): name for name in columns}
        self._where = where
        self.used: set[str] = set()

    def find(self, name: str) -> str:
        """Return a column as the source spells it."""
        name = name if name in self._columns else self._folded.get(name.casefold(), name)
        self.used.add(find_column(self._columns, name, "query", self._where).name)
        return name

    def spell(self, name: str, tree: exp.Expr) -> str:
        """Return the name of a column of the result; one that is passed on keeps its spelling."""
        is_passed = isinstance(tree, exp.Column) and name == tree.name
        return self._folded.get(name.casefold(), name) if is_passed else name

    def write(self, tree: exp.Expr) -> str:
        """Return the SQL of an expression, with columns qualified by ``s``."""
        whole = exp.paren(tree.copy())
        for column in list(whole.find_all(exp.Column)):
            column.replace(self._resolve(column))
        return whole.this.sql(dialect="duckdb", comments=False)

    def _resolve(self, column: exp.Column) -> exp.Expr:
        """Return a column, or a field of a struct, such as ``probability.values``."""
        parts = [each.name for each in column.parts]
        is_qualified = len(parts) > 1 and parts[0].casefold() == self._alias
        if is_qualified and parts[0].casefold() not in self._folded:
            parts = parts[1:]
        found: exp.Expr = exp.column(
            exp.to_identifier(self.find(parts[0]), quoted=True), table=exp.to_identifier("s")
        )
        for field in parts[1:]:
            found = exp.Dot(this=found, expression=exp.to_identifier(field, quoted=True))
        return found
