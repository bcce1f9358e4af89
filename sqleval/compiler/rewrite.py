"""Rewrites one file's syntax tree for a statement: slices, relation names, parameters."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from sqlglot import exp

from sqleval.catalog.contract import Relation

SLICE = "slice"
Q = TypeVar("Q", bound=exp.Expr)


def write_sql(query: exp.Expr) -> str:
    """Return readable SQL, without the file's comments; the query cannot be used afterwards."""
    return query.sql(
        dialect="duckdb", pretty=True, comments=False, normalize_functions=False, copy=False
    )


def _is_slice(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() == SLICE


def _expand_slice(
    items: Sequence[exp.Expr], keys: Sequence[str], home: str | None = None
) -> list[exp.Expr]:
    """Put the key columns where ``slice`` stood, each with its table, or else with ``home``."""
    spread: list[exp.Expr] = []
    for item in items:
        if _is_slice(item):
            table = item.text("table") or home
            spread += [exp.column(key, table=table) for key in keys]
        else:
            spread.append(item)
    return spread


def _expand_join(join: exp.Join, left: str, keys: Sequence[str]) -> None:
    """Turn USING into conditions; those on slice keys are null-safe."""
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
    """Rename a column of the relations that a query reads; what it returns keeps its name."""
    for column in list(query.find_all(exp.Column)):
        if column.name == old:
            is_output = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
            renamed = exp.column(new, table=column.args.get("table"))
            column.replace(exp.alias_(renamed, old) if is_output else renamed)


def _guard_logarithm(node: exp.Ln) -> None:
    """Make the logarithm of a count by another NULL where the count is 0.

    DuckDB 1 and PostgreSQL raise an error. It is done here, so that no file has to say it.
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
        The file's query, or an expression; left as it is.
    keys : sequence of str
        Columns that ``slice`` stands for; none makes it disappear.
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
            # USING leaves one column slice; a condition leaves two, so one of them must be named.
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
            if not node.alias:
                node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name)))
            node.set("this", exp.to_identifier(tables[node.name]))
    return bound


class Place(NamedTuple):
    """Where a file stands in a statement: the arguments of `bind_query`, as pairs."""

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


# Many statements have the same files in the same places, and writing a file's SQL takes longer than
# all else that the compiler does.
@lru_cache(maxsize=4096)
def write_file(relation: Relation, place: Place) -> FileText:
    """Return the text of a file that is bound to a place."""
    query = place.bind(relation)
    has_window = query.find(exp.Window) is not None
    return FileText(write_sql(query), has_window)


#: Stands for the columns of a SELECT.
_COLUMNS = "_sqleval_columns"


class MetricText(NamedTuple):
    """The text of a metric: its columns, and the SELECT around them.

    Attributes
    ----------
    source : str
        Its FROM clause.
    items : dict of str to str
        The SQL of each column, without an alias.
    keys : dict of str to str
        The SQL of each column with its alias, where it has one.
    frame : str
        The rest, with a name in the place of the columns.
    """

    source: str
    items: Mapping[str, str]
    keys: Mapping[str, str]
    frame: str

    @classmethod
    def create(cls, source: str, items: Mapping[str, str], keys: Mapping[str, str]) -> "MetricText":
        """Return the text of a metric whose values are columns of a relation."""
        return cls(f"FROM {source}", items, keys, f"SELECT\n  {_COLUMNS}\nFROM {source}")

    def select(self, columns: Sequence[str]) -> str:
        """Return the SELECT of columns, which are SQL with their aliases."""
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


def find_fusion_key(query: exp.Query) -> tuple[str, bool] | None:
    """Return (relation, grouped) if the metric is one plain SELECT from it, else None.

    Metrics with the same key become one SELECT, and so one pass.
    """
    plain = {"expressions", "from_", "group"}
    if not isinstance(query, exp.Select) or {k for k, v in query.args.items() if v} - plain:
        return None
    source = query.args["from_"].this
    if not isinstance(source, exp.Table) or source.alias or query.find(exp.Window):
        return None
    group = query.args.get("group")
    if group is not None and not all(_is_slice(column) for column in group.expressions):
        return None
    return source.name, group is not None
