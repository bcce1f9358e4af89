"""The page on SQL consoles: every query gives its table, also by macros of an attached file."""

import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

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


def with_results(con: duckdb.DuckDBPyConnection, folder: Path) -> str:
    """Return the page with the tables that its queries give; other statements are only run."""
    page = PAGE.read_text(encoding="utf-8")
    for query, table in _queries()[1:]:
        run = query.replace("'archive.duckdb'", f"'{folder / 'archive.duckdb'}'")
        if table:
            made = _table(con.sql(run))
            page = page.replace(f"{query}```\n\n{table}", f"{query}```\n\n{made}")
        else:
            con.execute(run)
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


def test_an_upgrade_in_one_transaction() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE SCHEMA sqleval")
        con.execute(
            "CREATE MACRO sqleval.gone() AS 1; CREATE MACRO sqleval.ks() AS TABLE SELECT 1 a"
        )
        con.execute("CREATE VIEW seen AS FROM sqleval.ks()")
        script = "CREATE SCHEMA sqleval; CREATE MACRO sqleval.ks() AS TABLE SELECT 2 a"
        con.execute(f"BEGIN; DROP SCHEMA sqleval CASCADE; {script}; COMMIT")
        assert con.execute("FROM seen").fetchall() == [(2,)]
        with pytest.raises(duckdb.CatalogException, match="gone does not exist"):
            con.execute("SELECT sqleval.gone()")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("FROM (VALUES ('t')) AS v(name), ks(v.name)", "does not support lateral join column"),
        ("FROM ks((FROM t))", "cannot contain subqueries"),
        ("CREATE VIEW v AS PIVOT t ON y USING first(p)", "cannot be used in views"),
    ],
)
def test_what_the_page_says_duckdb_refuses(query: str, message: str) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS FROM (VALUES (1, 0.5)) AS t(y, p)")
        con.execute("CREATE MACRO ks(tbl) AS TABLE FROM query_table(tbl)")
        with pytest.raises(duckdb.Error, match=message):
            con.execute(query)


@cache
def _run_page(folder: Path) -> tuple[str, float]:
    """Create the macros once; return the page with its tables, and the value of the shell."""
    with duckdb.connect(str(folder / "preds.duckdb")) as con:
        con.execute(write_script())
        call = read_lines("DuckDB's shell")[-1]
        ((value,),) = con.sql(f"SELECT value {call.rstrip(';')}").fetchall()
        return with_results(con, folder), value


def find_value(folder: Path) -> float:
    _, value = _run_page(folder)
    assert 0.5 < value < 1
    return value


if __name__ == "__main__":
    with TemporaryDirectory() as name, duckdb.connect() as con:
        con.execute(_queries()[0][0])
        con.execute(write_script())
        sys.stdout.write(with_results(con, Path(name)))
