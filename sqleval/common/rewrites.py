"""Rewrites what a dialect says differently and sqlglot passes on as it is."""

import re
from collections.abc import Callable, Mapping

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from sqleval.errors import RequestError

#: Functions that sqlglot has no node for.
FUNCTIONS = frozenset({"ISFINITE"})
#: The largest DOUBLE: the one test for numbers, neither NaN nor infinite, that all engines share.
_LARGEST = "1.7976931348623157e308"
#: Where IS NOT DISTINCT FROM exists and joins by hashing.
_NULL_SAFE = frozenset({"clickhouse", "duckdb", "snowflake", "sqlite"})
#: Where EQUAL_NULL does. Sail compares every pair of rows for IS NOT DISTINCT FROM.
_EQUAL_NULL = frozenset({"databricks", "spark"})
#: Where GREATEST and LEAST of NULL and a number are NULL.
_STRICT_GREATEST = frozenset({"bigquery", "snowflake", "sqlite", "trino"})
#: Where COVAR_POP is missing.
_NO_COVARIANCE = frozenset({"redshift", "sqlite", "tsql"})
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div)
#: Where a condition is no value.
_NO_BOOLEAN = frozenset({"tsql"})
#: Where a text without a length is cut short.
_SHORT_TEXT = frozenset({"redshift", "tsql"})
#: Where the text of an infinite number is "inf". BigQuery reads both, its emulator only this one.
_SHORT_INFINITY = frozenset({"bigquery", "snowflake"})
#: What encloses plain letters in the format of a time, which would be read as parts of it.
_LETTERS = {"databricks": "'", "postgres": '"', "redshift": '"', "spark": "'"}


def adapt(tree: exp.Expr, dialect: str) -> exp.Expr:
    """Return the syntax tree of a statement of DuckDB's as a dialect needs it."""
    if dialect == "tsql":
        _replace_pairs(tree)
    # From the innermost out, so that what is replaced holds what was replaced before.
    for node in reversed(list(tree.walk())):
        rewrite = _EVERYWHERE.get(type(node))
        if rewrite is None and dialect != "duckdb":
            rewrite = _ELSEWHERE.get(type(node))
        if rewrite is not None:
            rewrite(node, dialect)
    return tree


def put_nulls_last(tree: exp.Expr) -> None:
    """Order the rows of a result as DuckDB does, in place: NULLs last."""
    order = tree.args.get("order")
    for ordered in order.expressions if isinstance(order, exp.Order) else []:
        ordered.set("nulls_first", False)


def _order(node: exp.Expr, dialect: str) -> None:
    """Leave NULLs of an order where the engine puts them: what is ranked has none."""
    default = str(Dialect.get_or_raise(dialect).NULL_ORDERING)
    small = default == "nulls_are_small"
    node.set("nulls_first", default != "nulls_are_last" and small != bool(node.args.get("desc")))
    if dialect != "duckdb" and isinstance(node.this, exp.Case):
        _order_by_places(node.this)


def _order_by_places(case: exp.Case) -> None:
    """Put what has no place last, and give places the type that Polars asks for."""
    ifs = case.args["ifs"]
    for each in ifs:
        each.set("true", exp.cast(each.args["true"], "INT"))
    case.set("default", exp.cast(exp.Literal.number(len(ifs)), "INT"))


def _equal_keys(node: exp.Expr, dialect: str) -> None:
    """Compare slice keys by an equality, which every engine joins by hashing."""
    if not isinstance(node, exp.NullSafeEQ) or dialect in _NULL_SAFE:
        return
    if dialect in _EQUAL_NULL:
        node.replace(exp.Anonymous(this="EQUAL_NULL", expressions=[node.left, node.right]))
    else:
        sides = {"this": _marked(node.left, dialect), "expression": _marked(node.right, dialect)}
        node.replace(exp.EQ(**sides))


def _marked(side: exp.Expr, dialect: str) -> exp.Expr:
    """Return a key as text that no other key has: NULL is the empty one."""
    kind = exp.DataType.build("NVARCHAR(MAX)" if dialect == "tsql" else "TEXT", dialect=dialect)
    text = exp.cast(side.copy(), kind)
    marked = exp.DPipe(this=text, expression=exp.Literal.string("="))
    return exp.func("COALESCE", marked, exp.Literal.string(""))


def _largest(node: exp.Expr, dialect: str) -> None:
    """Keep a limit in force where the other value is NULL."""
    if dialect in _STRICT_GREATEST and len(node.expressions) == 1:
        limit = node.expressions[0]
        if isinstance(limit, exp.Literal):
            node.replace(exp.func("COALESCE", node.copy(), limit.copy()))


def _cast(node: exp.Expr, dialect: str) -> None:
    if isinstance(node.this, exp.Literal) and node.this.name.lower().endswith("infinity"):
        node.replace(_infinity(node, dialect))


def _infinity(node: exp.Expr, dialect: str) -> exp.Expr:
    if dialect == "tsql":
        raise RequestError(
            "T-SQL cannot say CAST('Infinity' AS DOUBLE): it has no infinite number, and a "
            "threshold above all scores is infinite"
        )
    if dialect == "sqlite":
        return exp.Literal.number("9e999")
    if dialect in _SHORT_INFINITY:
        text = node.this.name.lower().replace("infinity", "inf")
        return exp.cast(exp.Literal.string(text), "DOUBLE")
    return node


def _type(node: exp.Expr, dialect: str) -> None:
    if node.this == exp.DataType.Type.TINYINT:
        node.set("this", exp.DataType.Type.INT)
    elif node.this == exp.DataType.Type.VARCHAR and dialect in _SHORT_TEXT:
        node.set("this", exp.DataType.Type.TEXT)


def _alias(node: exp.Expr, _: str) -> None:
    """Leave out the alias of a column that has this name."""
    inner = node.this
    same = isinstance(inner, exp.Column) and not inner.table and inner.name == node.alias
    if same and not node.find_ancestor(exp.Table):
        node.replace(inner)


def _cte(node: exp.Expr, _: str) -> None:
    node.set("materialized", None)


def _replace_pairs(tree: exp.Expr) -> None:
    """Test for a number that may be infinite: where there is no NaN it is one that is not NULL."""
    for node in list(tree.find_all(exp.Or)):
        left, right = node.left, node.right
        pair = isinstance(left, exp.Anonymous) and isinstance(right, exp.IsInf)
        if pair and left.expressions == [right.this]:
            node.replace(exp.Is(this=right.this, expression=exp.Null()).not_())


def _function(node: exp.Expr, _: str) -> None:
    """Test for a finite number: neither NULL nor NaN passes."""
    (value,) = node.expressions
    size = exp.Abs(this=value.copy())
    node.replace(exp.paren(exp.LTE(this=size, expression=exp.Literal.number(_LARGEST))))


def _infinite(node: exp.Expr, dialect: str) -> None:
    if dialect == "tsql":
        node.replace(exp.false())
        return
    endless = _infinity(exp.cast(exp.Literal.string("Infinity"), "DOUBLE"), dialect)
    node.replace(exp.paren(exp.EQ(this=exp.Abs(this=node.this.copy()), expression=endless)))


def _is(node: exp.Expr, dialect: str) -> None:
    """Leave out IS TRUE in a condition, where NULL counts as false anyway; Sail cannot plan it."""
    if not isinstance(node.expression, exp.Boolean) or not node.expression.this:
        return
    around = node.parent
    while isinstance(around, (exp.And, exp.Or, exp.Paren)):
        around = around.parent
    if isinstance(around, (exp.Where, exp.If, exp.Join, exp.Having)):
        node.replace(node.this)
    elif dialect in _NO_BOOLEAN:
        raise RequestError(f"IS TRUE is not portable outside a condition: {node.sql()[:80]}")
    else:
        node.replace(exp.func("COALESCE", node.this.copy(), exp.false()))


def _values(node: exp.Expr, _: str) -> None:
    """Write a small table as a SELECT a row: how VALUES gets its names differs."""
    alias = node.args["alias"]
    names = [column.name for column in alias.columns]
    rows = [
        exp.select(*(exp.alias_(v.copy(), n) for v, n in zip(row.expressions, names, strict=True)))
        for row in node.expressions
    ]
    query = rows[0] if len(rows) == 1 else exp.union(*rows, distinct=False, copy=False)
    node.replace(exp.Subquery(this=query, alias=exp.TableAlias(this=alias.this.copy())))


def _concat(node: exp.Expr, _: str) -> None:
    first, *others = (each.copy() for each in node.expressions)
    for each in others:
        first = exp.DPipe(this=first, expression=each)
    node.replace(exp.paren(first) if others else first)


def _deviation(node: exp.Expr, dialect: str) -> None:
    if dialect == "sqlite":
        raise RequestError("SQLite has no STDDEV_SAMP, which the interval of a mean needs")
    if dialect == "tsql":
        node.replace(exp.Anonymous(this="STDEV", expressions=[node.this.copy()]))
    elif dialect == "clickhouse":
        # That of one value is NaN there.
        several = exp.GT(this=exp.Count(this=node.this.copy()), expression=exp.Literal.number(1))
        node.replace(exp.Case(ifs=[exp.If(this=several, true=node.copy())]))


def _covariance(node: exp.Expr, dialect: str) -> None:
    """Write the covariance as a difference of means where there is no such function."""
    if dialect == "clickhouse":
        # Its COVAR_POP is a difference of sums.
        parts = [node.this.copy(), node.expression.copy()]
        node.replace(exp.Anonymous(this="covarPopStable", expressions=parts))
    elif dialect in _NO_COVARIANCE:
        one, two = (exp.cast(part.copy(), "DOUBLE") for part in (node.this, node.expression))
        product = exp.Avg(this=exp.Mul(this=one, expression=two))
        means = exp.Mul(this=_mean_where(one, two), expression=_mean_where(two, one))
        node.replace(exp.paren(exp.Sub(this=product, expression=means)))


def _mean_where(value: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Return the mean over the rows in which another value is not NULL."""
    is_there = exp.Is(this=other.copy(), expression=exp.Null()).not_()
    return exp.Avg(this=exp.Case(ifs=[exp.If(this=is_there, true=value.copy())]))


def _sign(node: exp.Expr, _: str) -> None:
    """Write out a function that DataFusion calls otherwise."""
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


def _group(node: exp.Expr, dialect: str) -> None:
    """Write what a place in GROUP BY stands for, where places are no names."""
    select = node.parent
    if dialect != "tsql" or not isinstance(select, exp.Select):
        return
    items = select.expressions
    for each in list(node.expressions):
        if isinstance(each, exp.Literal) and not each.is_string:
            each.replace(items[int(each.name) - 1].unalias().copy())


def _case(node: exp.Expr, dialect: str) -> None:
    """Give the branches of a number one type, which ClickHouse does not find for counts."""
    if dialect != "clickhouse":
        return
    branches = [each.args["true"] for each in node.args["ifs"]]
    branches += [node.args["default"]] if node.args.get("default") else []
    numbers = [each for each in branches if isinstance(each.unnest(), (exp.Column, *_ARITHMETIC))]
    broken = [each for each in numbers if each.find(exp.Div, exp.Ln)]
    for each in numbers if broken else []:
        if each not in broken:
            each.replace(exp.cast(each.copy(), "DOUBLE"))


def _select(node: exp.Expr, dialect: str) -> None:
    """Tell a column from an alias of its name, which ClickHouse would take for it."""
    source = node.args.get("from_")
    assert isinstance(node, exp.Select)
    if dialect != "clickhouse" or source is None or node.args.get("joins"):
        return
    made = {item.alias for item in node.selects if isinstance(item, exp.Alias)}
    for column in list(node.find_all(exp.Column)):
        if column.name in made and not column.table and column.parent_select is node:
            column.set("table", exp.to_identifier(str(source.this.alias_or_name)))


def _format(node: exp.Expr, dialect: str) -> None:
    """Quote the plain letters in the format of a time, such as the T before the hours."""
    mark = _LETTERS.get(dialect)
    pattern = node.args["format"]
    if mark is not None and isinstance(pattern, exp.Literal):
        quoted = re.sub(
            r"(%-?[A-Za-z])|([A-Za-z]+)", lambda m: m[1] or f"{mark}{m[2]}{mark}", pattern.name
        )
        pattern.replace(exp.Literal.string(quoted))


def _zone(node: exp.Expr, dialect: str) -> None:
    """Convert a time in Spark, where it depends on the session's zone how an instant is shown.

    A time without a zone is converted from a zone to another by two AT TIME ZONE, an instant to
    that of a zone by one.
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
        none = [exp.Literal.number(0) for _ in range(3)]
        # Not TIMESTAMPADD, which Sail counts in the session's zone.
        passed = exp.Anonymous(this="MAKE_DT_INTERVAL", expressions=[*none, seconds])
        start = exp.cast(exp.Literal.string("1970-01-01"), "TIMESTAMPNTZ")
        time = exp.paren(exp.Add(this=start, expression=passed))
        zones = [exp.Literal.string("UTC"), *zones]
    for before, after in zip(zones[::2], zones[1::2], strict=True):
        time = exp.Anonymous(this="CONVERT_TIMEZONE", expressions=[before, after, time])
    node.replace(time)


def _is_zoned(parent: object) -> bool:
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return isinstance(parent, exp.AtTimeZone)


def _epoch(node: exp.Expr, dialect: str) -> None:
    """Keep the fractions of a second, which Spark's UNIX_TIMESTAMP leaves out."""
    if dialect in ("databricks", "spark"):
        micros = exp.Anonymous(
            this="UNIX_MICROS", expressions=[exp.cast(node.this.copy(), "TIMESTAMPTZ")]
        )
        node.replace(exp.Div(this=micros, expression=exp.Literal.number("1e6"), typed=False))


_Rewrite = Callable[[exp.Expr, str], None]
_EVERYWHERE: Mapping[type[exp.Expr], _Rewrite] = {
    exp.Ordered: _order,
    exp.NullSafeEQ: _equal_keys,
    exp.Greatest: _largest,
    exp.Least: _largest,
    exp.Cast: _cast,
    exp.DataType: _type,
    exp.Alias: _alias,
}
_ELSEWHERE: Mapping[type[exp.Expr], _Rewrite] = {
    exp.CTE: _cte,
    exp.Anonymous: _function,
    exp.IsInf: _infinite,
    exp.Is: _is,
    exp.Values: _values,
    exp.Concat: _concat,
    exp.StddevSamp: _deviation,
    exp.CovarPop: _covariance,
    exp.Sign: _sign,
    exp.Case: _case,
    exp.Group: _group,
    exp.Select: _select,
    exp.TimeToStr: _format,
    exp.AtTimeZone: _zone,
    exp.TimeToUnix: _epoch,
}
