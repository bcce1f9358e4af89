"""The page on SQL consoles: every query gives its table, also by macros of an attached file."""

import re
import sys
from functools import cache
from pathlib import Path

import duckdb
import pytest

from sqleval.engines.duckdb_files import install
from sqleval.export.macro_script import write_script

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "guide" / "console.md"
#: A query, and the table below it if there is one.
_QUERY = re.compile(r"^```sql\n(.*?)^```\n(?:\n(\| .*?)\n\n)?", re.MULTILINE | re.DOTALL)


def read_lines(console: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8").split(f"### {console}\n")[1]
    return re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0].strip().split("\n")


def _table(relation: duckdb.DuckDBPyRelation) -> str:
    rows = [relation.columns, ["---"] * len(relation.columns)]
    rows += [[str(cell) for cell in row] for row in relation.fetchall()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("console")
    (path / "sqleval.sql").write_text(write_script(), encoding="utf-8")
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{path / 'preds.duckdb'}' AS f (STORAGE_VERSION 'v1.4.0'); USE f")
        con.execute(_queries()[0][0].replace("'data/", f"'{ROOT}/data/"))
    return path


def _queries() -> list[tuple[str, str]]:
    return [(query, table) for query, table in _QUERY.findall(PAGE.read_text(encoding="utf-8"))]


def with_results(con: duckdb.DuckDBPyConnection) -> str:
    """Return the page with the tables that its queries give."""
    page = PAGE.read_text(encoding="utf-8")
    for query, table in _queries()[1:]:
        page = page.replace(f"{query}```\n\n{table}", f"{query}```\n\n{_table(con.sql(query))}")
    return page


def test_every_query_gives_the_table_below_it(folder: Path) -> None:
    assert len(_queries()) >= 9
    assert _run_page(folder)[0] == PAGE.read_text(encoding="utf-8")


def test_macros_of_an_attached_file(folder: Path) -> None:
    install(write_script, str(folder / "sqleval.duckdb"))
    attach, search, query = read_lines("One file of macros for a team")
    attach = attach.replace("'sqleval", f"'{folder}/sqleval")
    expected = find_value(folder)
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{folder / 'preds.duckdb'}' AS p (READ_ONLY)")
        con.execute("CREATE TABLE preds AS FROM p.preds")
        con.execute(attach)
        with pytest.raises(duckdb.CatalogException, match="name _metric does not exist"):
            con.sql(query)
        con.execute(search)
        for call in (query, query.replace("macros.", "", 1)):
            ((*_, value, _, _, _),) = con.sql(call).fetchall()
            assert value == pytest.approx(expected, abs=1e-12)
        ((area,),) = con.sql(
            "SELECT macros.sqleval.auc(delayed, p_boosted) FROM preds "
            "WHERE delayed IS NOT NULL AND p_boosted IS NOT NULL"
        ).fetchall()
        assert area == pytest.approx(expected, abs=1e-3)
        # New objects are created in the user's database; the file is read-only.
        con.execute("CREATE TABLE made AS SELECT 1")
        assert con.sql("FROM memory.main.made").fetchall() == [(1,)]


def test_a_macro_of_an_attached_file_does_not_find_its_neighbours() -> None:
    # The smallest statements that show why the page sets the search path.
    with duckdb.connect() as con:
        con.execute("ATTACH ':memory:' AS m; CREATE SCHEMA m.s; USE m")
        con.execute("CREATE MACRO s.one() AS 1; CREATE MACRO s.two() AS s.one() + 1; USE memory")
        with pytest.raises(duckdb.CatalogException, match="name one does not exist"):
            con.sql("SELECT m.s.two()")
        con.execute("SET search_path = 'main,m.s'")
        assert con.sql("SELECT m.s.two()").fetchall() == [(2,)]


@cache
def _run_page(folder: Path) -> tuple[str, float]:
    """Create the macros once; return the page with its tables, and the value of the shell."""
    with duckdb.connect(str(folder / "preds.duckdb")) as con:
        con.execute(write_script())
        call = read_lines("DuckDB's shell")[-1]
        ((value,),) = con.sql(f"SELECT value {call.rstrip(';')}").fetchall()
        return with_results(con), value


def find_value(folder: Path) -> float:
    _, value = _run_page(folder)
    assert 0.5 < value < 1
    return value


if __name__ == "__main__":
    with duckdb.connect() as con:
        con.execute(_queries()[0][0])
        con.execute(write_script())
        sys.stdout.write(with_results(con))
