"""Rewrites one file's syntax tree for a statement: slices, relation names, parameters."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from sqlglot import exp

from sqleval.catalog.contract import Relation

SLICE = "slice"
Q = TypeVar("Q", bound=exp.Expr)


def write_sql(query: exp.Expr) -> str:
    """Return readable SQL without comments; the query is changed and cannot be used again."""
    return query.sql(
        dialect="duckdb", pretty=True, comments=False, normalize_functions=False, copy=False
    )


def _is_slice(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() == SLICE


def _expand_slice(
    items: Sequence[exp.Expr], keys: Sequence[str], home: str | None = None
) -> list[exp.Expr]:
    """Replace ``slice`` by the key columns, each qualified by its table, or else by ``home``."""
    spread: list[exp.Expr] = []
    for item in items:
        if _is_slice(item):
            table = item.text("table") or home
            spread += [exp.column(key, table=table) for key in keys]
        else:
            spread.append(item)
    return spread


def _expand_join(join: exp.Join, left: str, keys: Sequence[str]) -> None:
    """Turn USING into ON conditions; conditions on slice keys treat NULLs as equal."""
    columns: list[exp.Expr] = join.args.get("using") or []
    using = [column.name for column in columns]
    if not using:
        return
    right = join.this.alias_or_name
    conditions: list[exp.Expr] = []
    for name in using:
        safe = name.lower() == SLICE
        for key in keys if safe else (name,):
            pair = {"this": exp.column(key, table=left), "expression": exp.column(key, table=right)}
            conditions.append(exp.NullSafeEQ(**pair) if safe else exp.EQ(**pair))
    join.set("using", None)
    if conditions:
        join.set("on", exp.and_(*conditions, copy=False))
    else:
        join.set("kind", "CROSS")


def _rename_column(query: exp.Expr, old: str, new: str) -> None:
    """Rename a column of the relations that a query reads; its output keeps the old name."""
    for column in list(query.find_all(exp.Column)):
        if column.name == old:
            is_output = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
            renamed = exp.column(new, table=column.args.get("table"))
            column.replace(exp.alias_(renamed, old) if is_output else renamed)


def _guard_logarithm(node: exp.Ln) -> None:
    """Make the logarithm of a ratio of counts NULL if the count is 0.

    DuckDB 1 and PostgreSQL raise an error otherwise. Doing it here keeps the files simple.
    """
    ratio = node.this
    count = ratio.left if isinstance(ratio, exp.Div) else None
    if isinstance(count, exp.Cast) and isinstance(count.this, exp.Column):
        node.set("this", exp.Nullif(this=ratio.copy(), expression=exp.Literal.number("0e0")))


def bind_query(
    query: Q,
    keys: Sequence[str],
    tables: Mapping[str, str],
    parameters: Mapping[str, str],
    renamed: Mapping[str, str] | None = None,
) -> Q:
    """Return a copy of a file's query, or of an expression in it, for one place in a statement.

    Parameters
    ----------
    query : sqlglot.exp.Expr
        The file's query, or an expression; it is not changed.
    keys : sequence of str
        The columns that replace ``slice``; without any, ``slice`` is removed.
    tables : mapping of str to str
        Relation name in the file to the name of its CTE.
    parameters : mapping of str to str
        Parameter name in the file to its name in the statement.
    renamed : mapping of str to str, optional
        Column name in the file to its name in the statement.
    """
    bound = query.copy()
    for old, new in (renamed or {}).items():
        _rename_column(bound, old, new)
    for node in list(bound.walk()):
        if isinstance(node, exp.Select):
            left = node.args["from_"].this.alias_or_name
            joins: list[exp.Join] = node.args.get("joins") or []
            # USING leaves one column slice, ON leaves two, so the column must be qualified.
            home = left if joins else None
            node.set("expressions", _expand_slice(node.expressions, keys, home))
            group = node.args.get("group")
            if group:
                columns = _expand_slice(group.expressions, keys, home)
                node.set("group", exp.Group(expressions=columns) if columns else None)
            for join in joins:
                _expand_join(join, left, keys)
        elif isinstance(node, exp.Window):
            node.set("partition_by", _expand_slice(node.args.get("partition_by") or [], keys))
        elif isinstance(node, exp.Placeholder):
            node.set("this", parameters[node.name])
        elif isinstance(node, exp.Ln):
            _guard_logarithm(node)
        elif isinstance(node, exp.Table) and tables.get(node.name, node.name) != node.name:
            new = tables[node.name]
            alias = exp.TableAlias(this=exp.to_identifier(node.alias_or_name))
            node.set("alias", None if node.alias_or_name == new else alias)
            node.set("this", exp.to_identifier(new))
    return bound


class Place(NamedTuple):
    """The place of a file in a statement: the arguments of `bind_query`, as pairs."""

    keys: tuple[str, ...]
    tables: tuple[tuple[str, str], ...]
    parameters: tuple[tuple[str, str], ...]
    renamed: tuple[tuple[str, str], ...]

    def bind(self, relation: Relation) -> exp.Query:
        """Return a copy of a file's query that is bound to this place."""
        names = (dict(self.tables), dict(self.parameters), dict(self.renamed))
        return bind_query(relation.query, self.keys, *names)


class FileText(NamedTuple):
    """The text of a file in a statement."""

    sql: str
    has_window: bool


# Many statements have the same files in the same places, and writing SQL is the slowest part of
# the compiler.
@lru_cache(maxsize=4096)
def write_file(relation: Relation, place: Place) -> FileText:
    """Return the text of a file that is bound to a place."""
    query = place.bind(relation)
    has_window = query.find(exp.Window) is not None
    return FileText(write_sql(query), has_window)


#: The placeholder of a SELECT's columns.
_COLUMNS = "_sqleval_columns"


class MetricText(NamedTuple):
    """The text of a metric: its columns, and the SELECT around them.

    Attributes
    ----------
    source : str
        The FROM clause.
    items : dict of str to str
        The SQL of each column, without an alias.
    keys : dict of str to str
        The SQL of each column with its alias, where it has one.
    frame : str
        The rest of the SELECT, with a placeholder for the columns.
    """

    source: str
    items: Mapping[str, str]
    keys: Mapping[str, str]
    frame: str

    @classmethod
    def create(cls, source: str, items: Mapping[str, str], keys: Mapping[str, str]) -> "MetricText":
        """Return the text of a metric whose values a relation already holds."""
        return cls(f"FROM {source}", items, keys, f"SELECT\n  {_COLUMNS}\nFROM {source}")

    def select(self, columns: Sequence[str]) -> str:
        """Return the SELECT of these columns (SQL with aliases)."""
        lines = ",\n".join(columns).replace("\n", "\n  ")
        return self.frame.replace(_COLUMNS, lines)


@lru_cache(maxsize=4096)
def write_metric(relation: Relation, place: Place) -> MetricText:
    """Return the text of a metric that is bound to a place, in parts."""
    query = place.bind(relation)
    assert isinstance(query, exp.Select)
    source = query.args["from_"].sql()
    selects = {item.alias_or_name: item for item in query.selects}
    items = {name: write_sql(item.unalias()) for name, item in selects.items()}
    keys = {
        name: f"{items[name]} AS {name}" if isinstance(item, exp.Alias) else items[name]
        for name, item in selects.items()
    }
    query.set("expressions", [exp.column(_COLUMNS)])
    return MetricText(source, items, keys, write_sql(query))


def is_plain(query: exp.Query) -> bool:
    """Whether a metric is a plain SELECT from one relation, with a row per slice.

    Plain metrics that differ only in their columns become one SELECT, and so one pass.
    """
    plain = {"expressions", "from_", "where", "group"}
    if not isinstance(query, exp.Select) or {k for k, v in query.args.items() if v} - plain:
        return False
    source = query.args["from_"].this
    if not isinstance(source, exp.Table) or query.find(exp.Window):
        return False
    group = query.args.get("group")
    return group is None or all(_is_slice(column) for column in group.expressions)
