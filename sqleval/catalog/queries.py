"""Analyses the SQL of a file: the columns that it returns, and the columns that it reads."""

from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import TokenError

from sqleval.catalog.header import make_error
from sqleval.catalog.parameters import Param
from sqleval.catalog.relations import CONTRACT, list_contract_columns


def list_columns(query: exp.Query) -> tuple[str, ...]:
    """Return the names of the columns that a file returns."""
    return tuple(item.alias_or_name.lower() for item in query.selects)


def repeat_last_cte(query: exp.Query, times: int) -> None:
    """Write the last CTE of a query several times, each over the rows of the one before.

    Each is materialized: DuckDB 1.5 inlines the others into one another, and its optimizer then
    takes minutes for a statement with several fits.
    """
    if times < 2:
        return
    last = query.ctes[-1]
    source = next(table.name for table in last.find_all(exp.Table))
    tables = query.find_all(exp.Table)
    readers = [table for table in tables if table.find_ancestor(exp.CTE) is None]
    before = last.alias
    for i in range(2, times + 1):
        again = last.copy()
        again.set("materialized", True)
        again.set("alias", exp.TableAlias(this=exp.to_identifier(f"{last.alias}_{i}")))
        _rename_tables(again.find_all(exp.Table), source, before)
        query.args["with_"].append("expressions", again)
        before = again.alias
    _rename_tables(readers, last.alias, before)


def _rename_tables(tables: Iterable[exp.Table], old: str, new: str) -> None:
    for table in tables:
        if table.name == old:
            table.set("this", exp.to_identifier(new))


def is_mergeable(query: exp.Query) -> bool:
    """Whether it is one SELECT of keys and SUM, COUNT, MIN, MAX grouped by exactly those keys."""
    if not isinstance(query, exp.Select) or not query.args.get("group"):
        return False
    aggregates = (exp.Sum, exp.Count, exp.Min, exp.Max)
    keys = [item for item in query.selects if not isinstance(item.unalias(), aggregates)]
    grouped = {column.sql() for column in query.args["group"].expressions}
    return {item.unalias().sql() for item in keys} == grouped


def list_notes(query: exp.Query) -> tuple[str, ...]:
    """Return the texts of the column ``note``: the reasons for an undefined value."""
    for item in query.selects:
        if item.alias_or_name.lower() == "note":
            cases = item.find_all(exp.If)
            texts = [case.args["true"].name for case in cases if case.args["true"].is_string]
            return tuple(dict.fromkeys(texts))
    return ()


def find_text(query: exp.Query, name: str) -> exp.Expr | None:
    """Return the expression that makes a column of a file a text; None if no form shows it."""
    for item in query.selects:
        if item.alias_or_name == name:
            return next(filter(_is_text, _list_results(item.unalias())), None)
    return None


def _list_results(node: exp.Expr) -> list[exp.Expr]:
    """Return the expressions that a value may come from: the branches of a CASE, or itself."""
    if not isinstance(node, exp.Case):
        return [node]
    branches = [each.args["true"] for each in node.args["ifs"]]
    branches += [node.args["default"]] if node.args.get("default") else []
    return [result for branch in branches for result in _list_results(branch.unnest())]


def _is_text(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):
        return bool(node.to.this in exp.DataType.TEXT_TYPES)
    is_literal = isinstance(node, exp.Literal) and bool(node.args["is_string"])
    return is_literal or isinstance(node, (exp.Concat, exp.DPipe))


def find_tables(query: exp.Query) -> list[exp.Table]:
    """Return every place at which a file reads a relation."""
    ctes = {cte.alias for cte in query.find_all(exp.CTE)}
    return [table for table in query.find_all(exp.Table) if table.name not in ctes]


def list_reads(
    query: exp.Query, params: Mapping[str, Param]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files or relations of the contract that a file reads, and its table parameters."""
    names = dict.fromkeys(table.name for table in find_tables(query))
    tables = {name for name in names if name in params and params[name].is_table}
    return tuple(name for name in names if name not in tables), tuple(sorted(tables))


def list_needs(query: exp.Query, ctes: set[str]) -> dict[str, frozenset[str]]:
    """Return, for each relation of the contract that a file reads, the columns that it uses."""
    needs: dict[str, set[str]] = {}
    for select in query.find_all(exp.Select):
        tables = [t for t in select.find_all(exp.Table) if t.parent_select is select]
        for table in tables:
            if table.name not in CONTRACT or table.name in ctes:
                continue
            used = {
                column.name
                for column in select.find_all(exp.Column)
                if column.parent_select is select
                and (column.table == table.alias_or_name or (len(tables) == 1))
            }
            needs.setdefault(table.name, set()).update(used & list_contract_columns(table.name))
    return {name: frozenset(columns) for name, columns in needs.items()}


def list_uses(query: exp.Query, others: Container[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each column read from other files or the contract, and the relations it may be from.

    ``others`` are the CTEs and parameters, whose columns the engine checks.
    """
    sources: dict[int, list[exp.Expr]] = {}
    for node in query.find_all(exp.Table, exp.Subquery, exp.Values):
        sources.setdefault(id(node.parent_select), []).append(node)
    aliases = {
        id(each): {item.alias for item in each.selects} for each in query.find_all(exp.Select)
    }
    uses: dict[tuple[str, tuple[str, ...]], None] = {}
    for column in query.find_all(exp.Column):
        select = column.parent_select
        places = [
            node for node in sources.get(id(select), ()) if column.table in ("", node.alias_or_name)
        ]
        is_checked = all(isinstance(node, exp.Table) and node.name not in others for node in places)
        # GROUP BY may name a column that the SELECT computes.
        is_alias = not column.table and column.name in aliases.get(id(select), ())
        is_alias = is_alias and column.find_ancestor(exp.Group) is not None
        if places and is_checked and not is_alias:
            uses[column.name.lower(), tuple(node.name for node in places)] = None
    return tuple(uses)


def may_repeat_slices(query: exp.Expr, find_query: Callable[[str], exp.Expr | None]) -> bool:
    """Whether a query, by its form, returns several rows per slice.

    False where the form does not tell: a WHERE may leave one row of several, and further columns of
    a GROUP BY may have one value per slice.

    Parameters
    ----------
    query : Expr
        The query of a file.
    find_query : callable
        Returns the query of another file; None for a relation that has many rows per slice.
    """
    ctes = {cte.alias: cte.this for cte in query.find_all(exp.CTE)}
    if isinstance(query, exp.Select) and query.args.get("group"):
        return False
    return not _has_one_row(query, ctes, find_query)


def _has_one_row(
    query: exp.Expr, ctes: Mapping[str, exp.Expr], find_query: Callable[[str], exp.Expr | None]
) -> bool:
    """Whether a query has, or may have, one row per slice."""
    if not isinstance(query, exp.Select):
        return False
    if group := query.args.get("group"):
        return {column.name for column in group.expressions} <= {"slice"}
    if any(item.find(exp.AggFunc) and not item.find(exp.Window) for item in query.selects):
        return True
    if query.args.get("where"):
        return True
    joins: list[exp.Join] = query.args.get("joins") or []
    for source in (query.args["from_"].this, *(join.this for join in joins)):
        inner, inner_ctes = source.this, ctes
        if isinstance(source, exp.Table):
            inner = ctes.get(source.name) or find_query(source.name)
            if inner is not None and source.name not in ctes:
                inner_ctes = {cte.alias: cte.this for cte in inner.find_all(exp.CTE)}
        if inner is None or not _has_one_row(inner, inner_ctes, find_query):
            return False
    return True


def parse_query(path: Path, text: str) -> exp.Query:
    """Parse the SELECT of a SQL file; raise `LoadError` unless it is one valid SELECT."""
    try:
        statements = [s for s in sqlglot.parse(text, dialect="duckdb") if s is not None]
    except sqlglot.ParseError as error:
        first = error.errors[0] if error.errors else {}
        line = text.count("\n", 0, len(text)) if "line" not in first else int(first["line"])
        near = f", at {first['highlight']!r}" if first.get("highlight") else ""
        what = str(first.get("description", error))
        near += "; a comma may be missing before it" * what.endswith("Unexpected token")
        raise make_error(path, line, f"not SQL: {what}{near}") from error
    except TokenError as error:
        raise make_error(path, 1, f"not SQL: {error}") from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise make_error(path, 1, "a file holds one SELECT statement and nothing else")
    return statements[0]
