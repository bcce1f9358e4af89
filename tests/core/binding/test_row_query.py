"""A query over a source is taken apart; what makes rows depend on each other is refused by name."""

import pytest

from sqleval import RequestError
from sqleval.binding.row_query import parse_query

REFUSED = {
    "SELECT p FROM source JOIN labels USING (key)": "a join is not allowed: each row must follow",
    "SELECT p FROM source, labels": "a join is not allowed",
    "SELECT p FROM source, UNNEST(items) AS t(item)": "UNNEST stands in the list after SELECT",
    "SELECT DISTINCT p FROM source": "DISTINCT is not allowed",
    "SELECT day, p FROM source GROUP BY ALL": "GROUP BY is not allowed",
    "SELECT day FROM source HAVING p > 0": "HAVING is not allowed",
    "SELECT AVG(p) AS p FROM source": r"the aggregate AVG\(p\) is not allowed",
    "SELECT MAX(p) OVER () AS p FROM source": "a window is not allowed",
    "SELECT ROW_NUMBER() OVER (ORDER BY p) AS i FROM source": "a window is not allowed",
    "SELECT p FROM source QUALIFY ROW_NUMBER() OVER () = 1": "QUALIFY is not allowed",
    "SELECT p FROM source WINDOW w AS (ORDER BY p)": "WINDOW is not allowed",
    "SELECT p FROM source ORDER BY p": "ORDER BY is not allowed",
    "SELECT p FROM source LIMIT 5": "LIMIT is not allowed",
    "SELECT p FROM source OFFSET 5": "OFFSET is not allowed",
    "SELECT p FROM source USING SAMPLE 10%": "a sample is not allowed",
    "SELECT p FROM source TABLESAMPLE (10%)": "a sample is not allowed",
    "SELECT p FROM source PIVOT (SUM(p) FOR day IN (1))": "PIVOT or UNPIVOT is not allowed",
    "SELECT p INTO other FROM source": "INTO is not allowed",
    "WITH a AS (SELECT 1) SELECT p FROM source": r"WITH \(a common table expression\) is not allow",
    "SELECT p FROM source UNION ALL SELECT p FROM source": "UNION is not allowed",
    "SELECT p FROM source EXCEPT SELECT p FROM source": "EXCEPT is not allowed",
    "SELECT (SELECT 1) AS p FROM source": "a subquery is not allowed",
    "SELECT p FROM source WHERE p IN (SELECT p FROM labels)": "a subquery is not allowed",
    "SELECT p FROM (SELECT * FROM source)": r"it reads FROM source.*, not \(SELECT",
    "SELECT p FROM labels": "it reads FROM source.*, not labels; other tables are not allowed",
    "SELECT p FROM main.source": "it reads FROM source",
    "SELECT p FROM 'other.parquet'": "it reads FROM source",
    "SELECT p FROM read_text('/etc/hostname')": "it reads FROM source",
    "SELECT 1 AS p": "it reads FROM source",
    "SELECT p FROM source; SELECT p FROM source": "it must be one statement",
    "": "it must be one statement",
    "DELETE FROM source": "it must be a SELECT",
    "COPY source TO 'other.parquet'": "it must be a SELECT",
    "SELECT p FROM": "not SQL",
    "SELECT 'p FROM source": "not SQL: a quote or a comment is not closed",
    "SELECT p + 1 FROM source": r"p \+ 1 needs a name: p \+ 1 AS name",
    "SELECT UNNEST(items) FROM source": "needs a name",
    "SELECT UNNEST(items, recursive := true) AS item FROM source": "UNNEST takes one list",
    "SELECT UNNEST(UNNEST(items)) AS item FROM source": "UNNEST takes one list",
    "SELECT p FROM source WHERE UNNEST(items) > 0": "UNNEST takes one list",
    "SELECT random() AS p FROM source": r"it may not hold the function",
    "SELECT getenv('HOME') AS p FROM source": "it may not hold the function getenv",
    "SELECT COLUMNS('p.*') FROM source": "needs a name",
    "SELECT $1 AS p FROM source": "it cannot have parameters",
    "SELECT p AS _sqleval_file FROM source": "the name '_sqleval_file' is reserved",
    "SELECT p, q AS P FROM source": "it names the column 'p' twice",
    "SELECT p FROM source AS s(a, b)": "the columns of source have their own names",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_query_that_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match=f"^query: .*{REFUSED[text]}"):
        parse_query(text)


def test_a_query_nested_too_deeply() -> None:
    with pytest.raises(RequestError, match="query: "):
        parse_query(f"SELECT {'(' * 5000}p{')' * 5000} AS p FROM source")


@pytest.mark.parametrize(
    ("text", "has_star", "left_out", "names"),
    [
        ("SELECT * FROM source", True, (), []),
        ("FROM source", True, (), []),
        ("from SOURCE select source.*, P / 100 as p2 -- percent", True, (), ["p2"]),
        ("SELECT * EXCLUDE (a, b), day FROM source", True, ("a", "b"), ["day"]),
        ("SELECT * REPLACE (p / 100 AS p) FROM source", True, ("p",), ["p"]),
        ("SELECT * RENAME (p AS score) FROM source;", True, ("p",), ["score"]),
        ("SELECT q.*, q.a.b FROM source AS q WHERE q.p > 0", True, (), ["b"]),
        ("SELECT UNNEST(items).p AS p, lower(seg) AS seg FROM source", False, (), ["p", "seg"]),
    ],
)
def test_a_query_taken_apart(
    text: str, *, has_star: bool, left_out: tuple[str, ...], names: list[str]
) -> None:
    found = parse_query(text)
    assert (found.has_star, found.left_out) == (has_star, left_out)
    assert [name for name, _ in found.items] == names
