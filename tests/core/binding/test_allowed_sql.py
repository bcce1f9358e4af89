"""A user's expressions can compare values, and reach nothing else of the engine."""

import random
import re

import duckdb
import polars as pl
import pytest
import sqlglot

import sqleval
from sqleval import RequestError, SqlevalError
from sqleval.binding import allowed_sql
from tests.support.tried import check_tried

FRAME = pl.DataFrame(
    {
        "y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.8, 0.7], "g": ["ab", "b", "a%", None],
        "d": ["2026-01-01", "2026-01-02", "2026-02-01", "2026-02-02"], "l": [[1], [2, 3], [], [1]],
        "j": ['{"a": 1}'] * 4,
    }
).with_columns(
    pl.col("d").str.to_date(), t=pl.col("d").str.to_datetime(), s=pl.struct("y", "p")
)  # fmt: skip

#: Conditions, and the number of rows that meet them.
ALLOWED = {
    "y = 1": 2,
    "y": 2,
    "p BETWEEN 0.2 AND 0.8 AND NOT (y <> 0)": 1,
    "g IN ('ab', 'b')": 2,
    "g LIKE 'a$%' ESCAPE '$' OR g ILIKE 'B'": 2,
    "g ~ 'a.*' AND g IS NOT NULL": 2,
    "regexp_matches(g, '^a') IS TRUE": 2,
    "lower(g) || 'x' = 'bx'": 1,
    "substring(g, 1, 1) = 'a' AND length(trim(g)) = 2": 2,
    "g IS DISTINCT FROM 'b'": 3,
    "COALESCE(g, 'z') = 'z'": 1,
    "CASE WHEN y > 0 THEN p ELSE -1 END > 0": 2,
    "CAST(p * 10 AS INTEGER) % 2 = 0": 1,
    "abs(p - 0.5) <= greatest(0.2, 0.1) + 1e-9": 1,
    "d >= DATE '2026-02-01'": 2,
    "d < current_date AND t < now() - INTERVAL 1 DAY": 4,
    "date_trunc('month', d) = DATE '2026-01-01'": 2,
    "extract(month FROM d) = 2 AND strftime(d, '%Y') = '2026'": 2,
    "t + INTERVAL '1 day' > TIMESTAMP '2026-02-02 12:00:00'": 1,
    "dayname(d) = 'Thursday'": 1,
    "list_contains(l, 1) AND len(l) = 1": 2,
    "l[1] = 2": 1,
    "s['p'] > 0.75": 2,
    "json_extract_string(j, '$.a') = '1' AND j ->> '$.a' = '1'": 4,
    "try_strptime(g, '%Y') IS NULL": 4,
}


@pytest.mark.parametrize("where", ALLOWED)
def test_conditions_on_values(where: str) -> None:
    found = sqleval.scan(FRAME, label="y", score="p", where=where).evaluate("prevalence").collect()
    assert found["n"].item() == ALLOWED[where]


#: Texts that read files, settings or sessions, wait, write, or are not a condition.
HOSTILE = [
    "current_setting('home_directory') = 'x'", "getvariable('x') = 'a'", "getenv('HOME') = 'x'",
    "current_query() = 'x'", "current_database() = 'x'", "current_schema() = 'x'",
    "version() = 'x'", "current_user = 'x'", "session_user = 'x'", "user = 'x'",
    "current_role = 'x'", "current_catalog = 'x'", "txid_current() = 1", "in_search_path('a', 'b')",
    "pg_sleep(5) IS NULL", "sleep_ms(5000) IS NULL", "write_log('x') IS NULL", "error('x') IS NULL",
    "TRY(error('x')) IS NULL", "nextval('s') = 1", "setseed(0.5) IS NULL", "random() < 0.5",
    "uuid() = 'x'", "read_text('/etc/passwd') = 'x'", "read_blob('/etc/passwd') = 'x'",
    "(SELECT content FROM read_text('/etc/passwd')) = 'x'", "EXISTS (SELECT 1)",
    "EXISTS (VALUES (1))", "y IN (VALUES (1))", "y IN (SELECT 1)", "y IN (FROM range(3))",
    "y IN unnest([1])", "unnest([1]) = 1", "generate_series(1, 1000000000) IS NULL",
    "query('SELECT 1') = 1", "query_table('t') = 1", "json_serialize_sql('SELECT 1') = 'x'",
    "json_serialize_plan('SELECT 1') = 'x'", "json_execute_serialized_sql('x') = 1",
    "list_transform([1], x -> x) = [1]", "list_reduce([1, 2], (x, y) -> x) = 1",
    "list_aggr([1], 'sum') = 1", "apply([1], lambda x: x) = [1]", "COLUMNS(*) > 1",
    "COLUMNS('p') > 1", "* = 1", "y = $1", "y = ?", "y = :y", "y; DROP TABLE t", "y = 1; SELECT 1",
    "sum(y) > 1", "count(*) > 1", "row_number() OVER () = 1", "nosuchfunction(y)",
    "main.lower(g) = 'a'", "system.main.getvariable('x') = 1", "x.y.z(g) = 1", "y AS b", "y, p",
    "SELECT 1", "(SELECT 1)", "FROM t", "PIVOT t ON y", "SUMMARIZE t", "ATTACH 'x'",
    "COPY t TO 'x'", "INSTALL httpfs", "LOAD httpfs", "SET threads = 1", "PRAGMA version",
    "CALL pragma_version()", "CREATE TABLE x (y INT)", "UPDATE t SET y = 1", "DELETE FROM t",
    "EXPORT DATABASE 'x'", "y = 1 /*", " ", ")", "(", "y =", "'", '"', "y = 'a", "1 +",
    "stats(y) = 'x'", "CAST(y AS nosuchtype) = 1", "y::", "{'a': y}.a = 1 OR getvariable('x') = 1",
    "[getvariable('x')]", "CASE WHEN getvariable('x') = 1 THEN TRUE END",
    "lower(getvariable('x')) = 'a'", "y IN (getvariable('x'))", "getvariable('x')[1] = 1",
    "p BETWEEN getvariable('a') AND 1", "CAST(getvariable('x') AS INT) = 1",
    "INTERVAL (getvariable('x')) DAY IS NULL",
]  # fmt: skip


#: Texts in the place of a name or unit, which sqlglot would write unchanged.
VERBATIM = [
    "g COLLATE 'nocase || (SELECT content FROM read_text(''/etc/passwd''))' = 'x'",
    "collate(g, 'nocase || getvariable(''x'')') = 'x'",
    """extract("day FROM d) = 0 OR getvariable('x') = 1 OR 1 = extract(day" FROM d) = 1""",
    "last_day(d, 'month), getvariable(''x'')') = d",
    "date_add(d, 1, 'day), getvariable(''x'')') = d",
    """CAST(g AS "main"."VARCHAR) IS NULL OR getvariable('x') = 1 OR CAST(g AS VARCHAR") = 'x'""",
    """TRY_CAST(g AS "oid) IS NULL OR getvariable('x') = CAST(1 AS oid") = 1""",
    "CAST(g AS nosuchtype) = 1", "datetime(g) IS NULL", "initcap() = 'x'", "j -> '$..a' = 1",
]  # fmt: skip


REFUSED = [*HOSTILE, *VERBATIM]


def test_the_page_counts_the_texts() -> None:
    what = (
        "texts for `where=` and `by=` that reach files, settings or the session, "
        "or are not an expression"
    )
    check_tried(what, len({*REFUSED}))


#: Refused before an engine sees them, with a message that names no class of sqlglot.
REASONS = (
    r".*(must be one|is not SQL: (?!.*class)|may not hold|has a function with wrong|"
    r"no such column|is empty: )"
)


@pytest.mark.parametrize("text", REFUSED)
def test_texts_beyond_the_values_of_a_row_are_refused(text: str) -> None:
    with pytest.raises(RequestError, match=f"^where={REASONS}"):
        sqleval.scan(FRAME, label="y", score="p", where=text)
    with pytest.raises(RequestError, match=f"^by={REASONS}"):
        sqleval.scan(FRAME, label="y", score="p", by={"k": text})


def _functions() -> dict[str, set[tuple[str | None, str]]]:
    """Return all functions of the engine, with how stable they are and their kind."""
    rows = duckdb.sql(
        "SELECT DISTINCT function_name, stability, function_type, parameter_types::VARCHAR "
        "FROM duckdb_functions() WHERE regexp_full_match(function_name, '[a-z]\\w*')"
    ).fetchall()
    found: dict[str, set[tuple[str | None, str]]] = {}
    for name, stability, kind, types in rows:
        # Parts of a time with a zone depend on the zone of the session, which does not change.
        is_part = stability == "CONSISTENT_WITHIN_QUERY" and re.search("TIME ZONE|TZ", types)
        found.setdefault(name, set()).add(("CONSISTENT" if is_part else stability, kind))
    return found


def test_no_other_function_of_the_engine_is_allowed() -> None:
    functions = _functions()
    assert len(functions) > 500
    allowed: set[str] = set()
    for name in functions:
        for arguments in ("", "y", "y, 'x'", "'x', y, 2"):
            try:
                tree = sqlglot.parse_one(f"{name}({arguments})", dialect="duckdb")
            except sqlglot.ParseError:
                continue
            if allowed_sql.find_forbidden(tree) is None:
                allowed.add(name)
    # Some names mean an allowed function: sqlglot reads array_indexof as array_position.
    for name in allowed:
        assert {kind for _, kind in functions[name]} & {"scalar", "macro"}, name
    assert {name for name in allowed if ("VOLATILE", "scalar") in functions[name]} == set()
    within = {name for name in allowed if ("CONSISTENT_WITHIN_QUERY", "scalar") in functions[name]}
    # The time of the statement, and times in the zone of the session.
    assert within <= {
        "current_date", "current_localtimestamp", "get_current_time", "get_current_timestamp",
        "make_timestamptz", "now", "timezone", "today", "transaction_timestamp",
    }  # fmt: skip


def test_the_message_says_what_is_allowed() -> None:
    message = (
        r"where=.* may not hold the function getvariable: allowed are operators, and functions of "
        r"values such as lower\(\) and date_trunc\(\)"
    )
    with pytest.raises(RequestError, match=message):
        sqleval.scan(FRAME, label="y", score="p", where="getvariable('secret') = 'x'")


SEEDS = range(4)
TOKENS = [
    *FRAME.columns, "=", "<", "AND", "OR", "NOT", "IN", "(", ")", "(", ")", ",", "'a'", "1", "0.5",
    "NULL", "IS", "BETWEEN", "CASE", "WHEN", "THEN", "END", "lower", "abs", "date_trunc", "'month'",
    "::", "DATE", "INTERVAL", "DAY", "+", "-", "*", "%", "||", "[", "]", ".", ";", "--", "/*", "*/",
    "$1", "?", "SELECT", "FROM", "VALUES", "EXISTS", "COLUMNS", "x -> x", "{", "}", ":", "LIKE",
    '"', "OVER", "FILTER", "AS", "TRY_CAST", "\x00", "\n", "ü", "getvariable", "UNION",
]  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_random_texts_are_answered_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    answered = refused = 0
    for _ in range(250):
        text = " ".join(rng.choices(TOKENS, k=rng.randint(1, 9)))
        try:
            bound = sqleval.scan(FRAME, label="y", score="p", where=text)
            found = bound.evaluate("prevalence").collect()
        except SqlevalError:
            refused += 1
        else:
            answered += 1
            assert found.height == 1
            assert found["n"].item() <= 4
    assert answered
    assert refused
    check_tried("random texts for `where=`", len(SEEDS) * (answered + refused))
