"""Rewrites constructs that differ between dialects and that sqlglot leaves unchanged."""

import re
from collections.abc import Callable, Mapping

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from sqleval.common.products import widen_counts
from sqleval.common.sql_text import LARGEST
from sqleval.dialects.extremes import write_extremes
from sqleval.errors import RequestError

#: Functions that sqlglot has no node for.
FUNCTIONS = frozenset({"ISFINITE"})
#: Dialects with IS NOT DISTINCT FROM, whose engines hash the keys of such a join.
_NULL_SAFE = frozenset({"clickhouse", "duckdb", "snowflake", "sqlite"})
#: Dialects with EQUAL_NULL. For IS NOT DISTINCT FROM, Sail compares every pair of rows.
_EQUAL_NULL = frozenset({"databricks", "spark"})
#: Dialects where GREATEST and LEAST of NULL and a number are NULL.
_STRICT_GREATEST = frozenset({"bigquery", "snowflake", "sqlite", "trino"})
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div)
#: Dialects where an infinite number is the text "inf". BigQuery's emulator reads no other.
_SHORT_INFINITY = frozenset({"bigquery", "snowflake"})
#: Quotes around plain letters in the format of a time, which else would be parts of the time.
_LETTERS = {"databricks": "'", "postgres": '"', "spark": "'"}


def adapt(tree: exp.Expr, dialect: str) -> exp.Expr:
    """Rewrite the syntax tree of a DuckDB statement for a dialect, and return it."""
    write_extremes(tree, dialect)
    widen_counts(tree, dialect)
    if dialect != "duckdb":
        _rename_nested(tree)
    # Rewrite the innermost nodes first, so that the copy of a node contains their rewrites.
    for node in reversed(list(tree.walk())):
        rewrite = _FOR_ALL.get(type(node))
        if rewrite is None and dialect != "duckdb":
            rewrite = _FOR_OTHERS.get(type(node))
        if rewrite is not None:
            rewrite(node, dialect)
    return tree


def _rename_nested(tree: exp.Expr) -> None:
    """Give each CTE a name of its own, because Spark's text has nested ones at the top level."""
    taken = {cte.alias for cte in tree.find_all(exp.CTE) if cte.parent_select is tree}
    for query in [each.parent for each in tree.find_all(exp.With) if each.parent is not tree]:
        assert isinstance(query, exp.Query)
        for cte in query.ctes:
            name = unique = cte.alias
            while unique in taken:
                unique += "_"
            taken.add(unique)
            cte.set("alias", exp.TableAlias(this=exp.to_identifier(unique)))
            for table in query.find_all(exp.Table):
                if table.name == name != unique:
                    table.set("this", exp.to_identifier(unique))
                    if not table.alias:
                        table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))


def put_nulls_last(tree: exp.Expr) -> None:
    """Order the rows of a result with NULLs last, in place, as DuckDB does."""
    order = tree.args.get("order")
    for ordered in order.expressions if isinstance(order, exp.Order) else []:
        ordered.set("nulls_first", False)


def _set_null_order(node: exp.Expr, dialect: str) -> None:
    """Use the dialect's default order of NULLs, because ranked values are not NULL."""
    default = str(Dialect.get_or_raise(dialect).NULL_ORDERING)
    small = default == "nulls_are_small"
    node.set("nulls_first", default != "nulls_are_last" and small != bool(node.args.get("desc")))
    if dialect != "duckdb" and isinstance(node.this, exp.Case):
        _type_places(node.this)


def _type_places(case: exp.Case) -> None:
    """Put rows without a place last, and give places the type that Polars needs."""
    ifs = case.args["ifs"]
    for each in ifs:
        each.set("true", exp.cast(each.args["true"], "INT"))
    case.set("default", exp.cast(exp.Literal.number(len(ifs)), "INT"))


def _replace_null_safe_equality(node: exp.Expr, dialect: str) -> None:
    """Compare slice keys by an equality, for which every engine has a hash join."""
    if not isinstance(node, exp.NullSafeEQ) or dialect in _NULL_SAFE:
        return
    if dialect in _EQUAL_NULL:
        node.replace(exp.Anonymous(this="EQUAL_NULL", expressions=[node.left, node.right]))
    else:
        sides = {
            "this": _mark_key(node.left, dialect),
            "expression": _mark_key(node.right, dialect),
        }
        node.replace(exp.EQ(**sides))


def _mark_key(side: exp.Expr, dialect: str) -> exp.Expr:
    """Return a key as text; NULL becomes '' and every other value ends in '='."""
    text = exp.cast(side.copy(), exp.DataType.build("TEXT", dialect=dialect))
    marked = exp.DPipe(this=text, expression=exp.Literal.string("="))
    return exp.func("COALESCE", marked, exp.Literal.string(""))


def _keep_limit(node: exp.Expr, dialect: str) -> None:
    """Make GREATEST or LEAST return the limit if the other value is NULL."""
    if dialect in _STRICT_GREATEST and len(node.expressions) == 1:
        limit = node.expressions[0]
        if isinstance(limit, exp.Literal):
            if dialect == "sqlite":
                # Otherwise sqlglot writes both values twice, and nested values four times.
                node.set("ignore_nulls", False)
            node.replace(exp.func("COALESCE", node.copy(), limit.copy()))


def _replace_infinity(node: exp.Expr, dialect: str) -> None:
    if isinstance(node.this, exp.Literal) and node.this.name.lower().endswith("infinity"):
        node.replace(_write_infinity(node, dialect))


def _write_infinity(node: exp.Expr, dialect: str) -> exp.Expr:
    if dialect == "sqlite":
        return exp.Literal.number("-9e999" if node.this.name.startswith("-") else "9e999")
    if dialect in _SHORT_INFINITY:
        text = node.this.name.lower().replace("infinity", "inf")
        return exp.cast(exp.Literal.string(text), "DOUBLE")
    return node


def _replace_type(node: exp.Expr, dialect: str) -> None:
    if node.this == exp.DataType.Type.TINYINT:
        node.set("this", exp.DataType.Type.INT)
    elif node.this == exp.DataType.Type.INT128 and dialect != "duckdb":
        # SQLite has no larger integers than BIGINT.
        node.replace(exp.DataType.build("DOUBLE" if dialect == "sqlite" else "DECIMAL(38, 0)"))


def _remove_alias(node: exp.Expr, _: str) -> None:
    """Remove an alias that is the name of its column."""
    inner = node.this
    same = isinstance(inner, exp.Column) and not inner.table and inner.name == node.alias
    if same and not node.find_ancestor(exp.Table):
        node.replace(inner)


def _remove_hint(node: exp.Expr, _: str) -> None:
    node.set("materialized", None)


def _replace_is_finite(node: exp.Expr, _: str) -> None:
    """Test for a finite number, so that neither NULL nor NaN passes."""
    if node.name.upper() != "ISFINITE":
        return
    (value,) = node.expressions
    size = exp.Abs(this=value.copy())
    node.replace(exp.paren(exp.LTE(this=size, expression=exp.Literal.number(LARGEST))))


def _replace_is_infinite(node: exp.Expr, dialect: str) -> None:
    endless = _write_infinity(exp.cast(exp.Literal.string("Infinity"), "DOUBLE"), dialect)
    node.replace(exp.paren(exp.EQ(this=exp.Abs(this=node.this.copy()), expression=endless)))


def _replace_is_true(node: exp.Expr, _: str) -> None:
    """Remove IS TRUE, which Sail cannot plan, from a condition, where NULL counts as false."""
    if not isinstance(node.expression, exp.Boolean) or not node.expression.this:
        return
    parent = node.parent
    while isinstance(parent, (exp.And, exp.Or, exp.Paren)):
        parent = parent.parent
    if isinstance(parent, (exp.Where, exp.If, exp.Join, exp.Having)):
        node.replace(node.this)
    else:
        node.replace(exp.func("COALESCE", node.this.copy(), exp.false()))


def _replace_values(node: exp.Expr, _: str) -> None:
    """Write a small table as one SELECT per row, because the aliases of VALUES differ."""
    alias = node.args["alias"]
    names = [column.name for column in alias.columns]
    rows = [
        exp.select(*(exp.alias_(v.copy(), n) for v, n in zip(row.expressions, names, strict=True)))
        for row in node.expressions
    ]
    query = rows[0] if len(rows) == 1 else exp.union(*rows, distinct=False, copy=False)
    node.replace(exp.Subquery(this=query, alias=exp.TableAlias(this=alias.this.copy())))


def _replace_concat(node: exp.Expr, _: str) -> None:
    first, *others = (each.copy() for each in node.expressions)
    for each in others:
        first = exp.DPipe(this=first, expression=each)
    node.replace(exp.paren(first) if others else first)


def _replace_deviation(node: exp.Expr, dialect: str) -> None:
    if dialect == "sqlite":
        raise RequestError("SQLite has no STDDEV_SAMP, which the interval of a mean needs")
    if dialect == "clickhouse":
        # The deviation of one value is NaN in ClickHouse.
        several = exp.GT(this=exp.Count(this=node.this.copy()), expression=exp.Literal.number(1))
        node.replace(exp.Case(ifs=[exp.If(this=several, true=node.copy())]))


def _replace_covariance(node: exp.Expr, dialect: str) -> None:
    """Write the covariance in ClickHouse, and as a difference of means in SQLite."""
    if dialect == "clickhouse":
        # ClickHouse computes COVAR_POP as a difference of sums, which loses precision.
        parts = [node.this.copy(), node.expression.copy()]
        node.replace(exp.Anonymous(this="covarPopStable", expressions=parts))
    elif dialect == "sqlite":
        one, two = (exp.cast(part.copy(), "DOUBLE") for part in (node.this, node.expression))
        product = exp.Avg(this=exp.Mul(this=one, expression=two))
        means = exp.Mul(this=_write_mean(one, two), expression=_write_mean(two, one))
        node.replace(exp.paren(exp.Sub(this=product, expression=means)))


def _write_mean(value: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Return the mean over rows in which another value is not NULL."""
    is_defined = exp.Is(this=other.copy(), expression=exp.Null()).not_()
    return exp.Avg(this=exp.Case(ifs=[exp.If(this=is_defined, true=value.copy())]))


def _replace_sign(node: exp.Expr, _: str) -> None:
    """Write SIGN as a CASE, because DataFusion has another name for it."""
    zero = exp.Literal.number(0)
    tests = {1: exp.GT, 0: exp.EQ, -1: exp.LT}
    ifs = [
        exp.If(
            this=test(this=node.this.copy(), expression=zero.copy()),
            true=exp.Literal.number(sign),
        )
        for sign, test in tests.items()
    ]
    node.replace(exp.Case(ifs=ifs))


def _unify_branches(node: exp.Expr, dialect: str) -> None:
    """Cast the branches of a CASE to one type, because ClickHouse cannot unify types of counts."""
    if dialect != "clickhouse":
        return
    branches = [each.args["true"] for each in node.args["ifs"]]
    branches += [node.args["default"]] if node.args.get("default") else []
    numbers = [each for each in branches if isinstance(each.unnest(), (exp.Column, *_ARITHMETIC))]
    fractions = [each for each in numbers if each.find(exp.Div, exp.Ln)]
    for each in numbers if fractions else []:
        if each not in fractions:
            each.replace(exp.cast(each.copy(), "DOUBLE"))


def _name_columns(node: exp.Expr, dialect: str) -> None:
    """Keep the names of columns in ClickHouse.

    A column that has the name of an alias is qualified, or ClickHouse would read the alias. A
    column of a join gets an alias, or its name would have that of its relation before it.
    """
    source = node.args.get("from_")
    assert isinstance(node, exp.Select)
    if dialect != "clickhouse" or source is None:
        return
    if node.args.get("joins"):
        columns = [each for each in node.selects if isinstance(each, exp.Column)]
        for column in [each for each in columns if not each.is_star]:
            column.replace(exp.alias_(column.copy(), column.this.copy()))
        return
    aliases = {item.alias for item in node.selects if isinstance(item, exp.Alias)}
    for column in list(node.find_all(exp.Column)):
        if column.name in aliases and not column.table and column.parent_select is node:
            column.set("table", exp.to_identifier(str(source.this.alias_or_name)))


def _quote_letters(node: exp.Expr, dialect: str) -> None:
    """Quote the plain letters in the format of a time, such as the T before the hours."""
    mark = _LETTERS.get(dialect)
    pattern = node.args["format"]
    if mark is not None and isinstance(pattern, exp.Literal):
        quoted = re.sub(
            r"(%-?[A-Za-z])|([A-Za-z]+)", lambda m: m[1] or f"{mark}{m[2]}{mark}", pattern.name
        )
        pattern.replace(exp.Literal.string(quoted))


def _convert_zone(node: exp.Expr, dialect: str) -> None:
    """Convert a time in Spark, whose session's zone decides the display of an instant.

    Two AT TIME ZONE convert a time without a zone from one zone to another. A single one converts
    an instant to a local time.
    """
    if dialect not in ("databricks", "spark") or _is_zoned(node.parent):
        return
    zones: list[exp.Expr] = []
    time: exp.Expr = node
    while isinstance(time, (exp.AtTimeZone, exp.Paren)):
        if isinstance(time, exp.AtTimeZone):
            zones.insert(0, time.args["zone"].copy())
        time = time.this
    time = time.copy()
    if len(zones) % 2:
        micros = exp.Anonymous(this="UNIX_MICROS", expressions=[time])
        seconds = exp.cast(
            exp.Div(this=micros, expression=exp.Literal.number("1e6"), typed=False),
            "DECIMAL(18, 6)",
        )
        zeros = [exp.Literal.number(0) for _ in range(3)]
        # Not TIMESTAMPADD, which in Sail uses the session's zone.
        interval = exp.Anonymous(this="MAKE_DT_INTERVAL", expressions=[*zeros, seconds])
        start = exp.cast(exp.Literal.string("1970-01-01"), "TIMESTAMPNTZ")
        time = exp.paren(exp.Add(this=start, expression=interval))
        zones = [exp.Literal.string("UTC"), *zones]
    for before, after in zip(zones[::2], zones[1::2], strict=True):
        time = exp.Anonymous(this="CONVERT_TIMEZONE", expressions=[before, after, time])
    node.replace(time)


def _is_zoned(parent: object) -> bool:
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return isinstance(parent, exp.AtTimeZone)


def _keep_fractions(node: exp.Expr, dialect: str) -> None:
    """Keep fractions of a second, which Spark's UNIX_TIMESTAMP drops."""
    if dialect in ("databricks", "spark"):
        micros = exp.Anonymous(
            this="UNIX_MICROS", expressions=[exp.cast(node.this.copy(), "TIMESTAMPTZ")]
        )
        node.replace(exp.Div(this=micros, expression=exp.Literal.number("1e6"), typed=False))


def _write_double(node: exp.Expr, dialect: str) -> None:
    """Write a decimal number that is compared as a DOUBLE.

    Spark converts it to DOUBLE anyway. Sail would round the DOUBLE to 15 decimal places.
    """
    parent = node.parent
    while isinstance(parent, (exp.Neg, exp.Paren)):
        parent = parent.parent
    if dialect not in ("databricks", "spark") or isinstance(parent, (*_ARITHMETIC, exp.Cast)):
        return
    if not node.args["is_string"] and "." in node.name and "e" not in node.name.lower():
        node.replace(exp.Literal.number(f"{node.name}e0"))


_Rewrite = Callable[[exp.Expr, str], None]
#: Rewrites for every dialect, by type of node.
_FOR_ALL: Mapping[type[exp.Expr], _Rewrite] = {
    exp.Ordered: _set_null_order,
    exp.NullSafeEQ: _replace_null_safe_equality,
    exp.Greatest: _keep_limit,
    exp.Least: _keep_limit,
    exp.Cast: _replace_infinity,
    exp.DataType: _replace_type,
    exp.Alias: _remove_alias,
}
#: Rewrites for every dialect except DuckDB's.
_FOR_OTHERS: Mapping[type[exp.Expr], _Rewrite] = {
    exp.CTE: _remove_hint,
    exp.Anonymous: _replace_is_finite,
    exp.IsInf: _replace_is_infinite,
    exp.Is: _replace_is_true,
    exp.Values: _replace_values,
    exp.Concat: _replace_concat,
    exp.StddevSamp: _replace_deviation,
    exp.CovarPop: _replace_covariance,
    exp.Sign: _replace_sign,
    exp.Case: _unify_branches,
    exp.Select: _name_columns,
    exp.TimeToStr: _quote_letters,
    exp.AtTimeZone: _convert_zone,
    exp.TimeToUnix: _keep_fractions,
    exp.Literal: _write_double,
}
