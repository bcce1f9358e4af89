"""The macro script: its statements, its command, and the plans of the queries that use it."""

import re
from pathlib import Path

import duckdb
import polars as pl
import pytest

import sqleval
from sqleval.engines.duckdb_files import install
from sqleval.export.macro_script import write_script
from tests.support.cases import drawn
from tests.support.commands import run, run_process
from tests.support.macros import FILES, fetch_rows

MACROS = (
    "SELECT function_name, macro_definition FROM duckdb_functions() "
    "WHERE schema_name = 'sqleval' ORDER BY ALL"
)


def test_each_statement_ends_a_line_and_no_other_semicolon_stands() -> None:
    statements = write_script().split(";\n")
    assert statements.pop() == ""
    assert all(each.strip() and ";" not in each for each in statements)
    lines = write_script().splitlines()
    assert not [line for line in lines if line.startswith(".") or line.rstrip() != line]
    assert not re.search(r"\$\w|^/$", write_script(), re.MULTILINE)
    assert len(duckdb.extract_statements(write_script())) == len(statements)


def test_statements_one_by_one(console: duckdb.DuckDBPyConnection) -> None:
    with duckdb.connect() as con:
        for statement in write_script().split(";\n"):
            con.execute(statement)
        assert con.execute(MACROS).fetchall() == console.execute(MACROS).fetchall()


def test_each_call_of_the_help_runs(console: duckdb.DuckDBPyConnection) -> None:
    rows = fetch_rows(console, "FROM sqleval._pages()")
    of_two_models = {"roc_dominance", "roc_enclosure"}
    # A macro has one column of scores.
    of_class_scores = {
        "ranked_probability_score",
        "top_k_accuracy",
        "top_label_calibration_error",
    }
    names = {relation.name for relation in FILES} - of_two_models - of_class_scores
    assert {row["name"] for row in rows} >= names
    # Nor has it an item, and says so.
    of_items = {relation.name for relation in FILES if relation.is_of_all_queries}
    rows = [row for row in rows if row["name"] not in of_items]
    wrong: list[str] = []
    for row in rows:
        try:
            assert console.execute(row["call"]).fetchall()
        except (duckdb.Error, AssertionError) as error:
            wrong.append(f"{row['call']}: {error}")
    assert not wrong, "\n".join(wrong)


def test_every_macro_has_a_comment(console: duckdb.DuckDBPyConnection) -> None:
    sql = "FROM duckdb_functions() WHERE schema_name = 'sqleval' AND function_name[1] <> '_'"
    rows = console.execute(f"SELECT DISTINCT function_name, comment {sql}").fetchall()
    assert len(rows) > 60
    assert [name for name, comment in rows if not comment] == []


def test_a_table_without_rows_has_a_row_that_says_so(console: duckdb.DuckDBPyConnection) -> None:
    console.execute("CREATE OR REPLACE TEMP TABLE rowless (y INT, p DOUBLE, c VARCHAR, g VARCHAR)")
    calls = [
        "roc_auc('rowless', label := y, score := p)",
        "roc_auc('rowless', label := y, score := p, slice := g)",
        "f1('rowless', label := y, prediction := c, average := 'macro')",
        "rmse('rowless', label := y, prediction := p)",
        "evaluate('rowless', label := y, score := p, metrics := ['ks'])",
    ]
    for call in calls:
        (row,) = fetch_rows(console, f"FROM sqleval.{call}")
        assert (row["value"], row["n"], row["note"]) == (None, 0, "no rows"), call
    # A check that counts a missing value as a failure fails.
    check = "SELECT COUNT(*) FROM sqleval.{} WHERE (value >= 0.7) IS NOT TRUE"
    assert console.execute(check.format(calls[0])).fetchone() == (1,)


def test_metrics_may_be_a_text(console: duckdb.DuckDBPyConnection) -> None:
    console.execute(
        "CREATE OR REPLACE TEMP TABLE two AS FROM (VALUES (0, 0.1), (1, 0.8)) AS t(y, p)"
    )
    call = "FROM sqleval.evaluate('two', label := y, score := p, metrics := {})"
    listed = fetch_rows(console, call.format("['ks', 'roc_auc']"))
    assert [row["metric"] for row in listed] == ["ks", "roc_auc"]
    assert fetch_rows(console, call.format("'ks, roc_auc'")) == listed
    with pytest.raises(duckdb.Error, match="no metric is named"):
        console.execute(call.format("''"))


def test_help_names_arguments_and_the_release(console: duckdb.DuckDBPyConnection) -> None:
    rows = {row["name"]: row["arguments"] for row in fetch_rows(console, "FROM sqleval.help()")}
    assert rows["f_beta"] == "label, score, prediction, beta, threshold"
    assert rows["roc_auc"] == "label, score"
    assert rows["help"] == "name"
    assert rows["roc_curve"] == "label, score, drop_intermediate, points"
    assert rows["evaluate_wide"] == "label, score, metrics"
    assert rows["confusion_counts"] == "label, score, threshold"
    lines = fetch_rows(console, "FROM sqleval.help('roc_curve')")
    page = " ".join(row["text"] for row in lines)
    assert "points" in {row["item"] for row in lines}
    assert "at most so many points of the curve" in page
    assert "change by less than 4 / (points - 1)" in page
    bins = {row["item"] for row in fetch_rows(console, "FROM sqleval.help('lorenz_curve')")}
    assert "points" not in bins
    assert console.execute("SELECT sqleval.version()").fetchone() == (sqleval.__version__,)


def test_help_fits_80_columns(
    console: duckdb.DuckDBPyConnection, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [row["name"] for row in fetch_rows(console, "FROM sqleval.help()")]
    con = console.cursor()
    shown = names[::4]
    for call in ("help()", *(f"help('{name}')" for name in shown)):
        con.sql(f"FROM sqleval.{call}").show(max_width=80)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["│", "name", "│", "about", "│", "arguments", "│"]
    assert len(lines) > 500
    heads = [line for line in lines if line.split()[1::2] == ["item", "text"]]
    assert len(heads) == len(shown)


def test_help_of_one_macro(console: duckdb.DuckDBPyConnection) -> None:
    page = fetch_rows(console, "FROM sqleval.help('F1_score')")
    assert page == fetch_rows(console, "FROM sqleval.help('f1')")
    texts = {row["item"]: row["text"] for row in page}
    assert texts["also called"] == "dice, f1_score"
    assert {"label", "score", "weight", "slice", "nulls", "threshold", "average"} <= {*texts}
    assert texts["undefined"] == "no positive labels and no predicted positives"
    assert fetch_rows(console, texts["example"].replace("y,", "1,").replace(":= p", ":= 0.5")) != []
    with pytest.raises(duckdb.Error, match="no macro called 'roc_auk', did you mean 'roc_auc'"):
        console.execute("FROM sqleval.help('roc_auk')")


def test_search_reads_all_texts(console: duckdb.DuckDBPyConnection) -> None:
    def search(word: str) -> set[str]:
        return {row["name"] for row in fetch_rows(console, f"FROM sqleval.search('{word}')")}

    assert {"expected_calibration_error", "calibration_curve", "pcoc"} <= search("Calibration")
    assert search("mcc") >= {"matthews_corrcoef"}
    assert search("no such word") == set()


def test_an_alias_gives_the_rows_of_its_macro(console: duckdb.DuckDBPyConnection) -> None:
    call = "FROM sqleval.{}('preds', label := y, score := p, slice := g)"
    for alias, name in {"f1_score": "f1", "auc": "roc_auc", "iou": "jaccard"}.items():
        expected = fetch_rows(console, call.format(name))
        assert fetch_rows(console, call.format(alias)) == expected
        assert len(expected) > 1
    aliases = {alias for each in FILES for alias in each.header.get("aliases", ())}
    made = {name for name, _ in console.execute(MACROS).fetchall()}
    assert len(aliases & made) > 130
    with pytest.raises(duckdb.Error, match="no metric called 'auc', did you mean 'roc_auc'"):
        fetch_rows(console, "FROM sqleval.evaluate('preds', label := y, score := p, "
                            "metrics := ['auc'])")  # fmt: skip


def test_an_upgrade_drops_what_a_release_no_longer_has(tmp_path: Path) -> None:
    file = str(tmp_path / "preds.duckdb")
    with duckdb.connect(file) as con:
        con.execute("CREATE SCHEMA sqleval")
        for name, body in (("gone", "1"), ("gone_too", "TABLE SELECT 1"), ("of_a_user", "1")):
            con.execute(f"CREATE MACRO sqleval.{name}() AS {body}")
        names = "(VALUES ('gone'), ('gone_too'), ('ks')) AS h(name)"
        con.execute(f"CREATE MACRO sqleval.help() AS TABLE SELECT h.name FROM {names}")
    install(lambda: "CREATE MACRO sqleval.ks() AS 2; CREATE OR REPLACE MACRO sqleval.help() AS "
            "TABLE SELECT 'ks' AS name", file)  # fmt: skip
    with duckdb.connect(file, read_only=True) as con:
        left = "SELECT function_name FROM duckdb_functions() WHERE schema_name = 'sqleval'"
        assert {name for (name,) in con.execute(left).fetchall()} == {"ks", "help", "of_a_user"}


def test_command_prints_the_script() -> None:
    assert run_process("macros").stdout == write_script()


def test_command_installs_into_a_file(tmp_path: Path, console: duckdb.DuckDBPyConnection) -> None:
    file = tmp_path / "own's preds.duckdb"
    made: list[list[tuple[str, str]]] = []
    for is_new in (True, False):
        run("macros", "--install", str(file))
        # The storage version of DuckDB 1.4, so every DuckDB since then opens the file.
        head = file.read_bytes()[:20]
        assert head[8:12] == b"DUCK"
        assert int.from_bytes(head[12:20], "little") == 67
        with duckdb.connect(file, read_only=not is_new) as con:
            if is_new:
                con.execute("CREATE TABLE t AS FROM (VALUES (0, 0.1), (1, 0.8)) AS v(y, p)")
            assert con.execute("SELECT COUNT(*) > 60 FROM sqleval.help()").fetchone() == (True,)
            made.append(con.execute(MACROS).fetchall())
            (row,) = fetch_rows(con, "FROM sqleval.roc_auc('t', label := y, score := p)")
            assert row["value"] == 1
    # A file formats numbers differently.
    there = [name for name, _ in console.execute(MACROS).fetchall()]
    assert [name for name, _ in made[0]] == there
    assert made[1] == made[0]


def test_command_refuses_an_empty_name() -> None:
    assert "--install: name the DuckDB file" in run("macros", "--install", "", code=2).stderr


@pytest.mark.parametrize("kind", ["text", "no folder", "folder"])
def test_command_refuses_a_file_that_is_not_a_database(kind: str, tmp_path: Path) -> None:
    path = {"text": tmp_path / "a.txt", "no folder": tmp_path / "none" / "a.duckdb"}.get(
        kind, tmp_path
    )
    if kind == "text":
        path.write_text("this is not a database\n" * 1000)
    done = run("macros", "--install", str(path), code=2)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert str(path) in done.stderr
    assert kind != "text" or path.read_text().startswith("this is not")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("wide") / "wide.parquet"
    frame = drawn("binary", 500).with_columns(**{f"x{i}": pl.lit(i) for i in range(20)})
    frame.write_parquet(path)
    return str(path)


def plan(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    return con.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()[0][1]


@pytest.mark.parametrize("metric", ["roc_auc", "log_loss", "f1", "roc_curve", "evaluate"])
def test_only_the_named_columns_are_read(
    metric: str, wide: str, console: duckdb.DuckDBPyConnection
) -> None:
    text = plan(console, f"FROM sqleval.{metric}('{wide}', label := y, score := p)")
    scans = re.findall(
        r'"name": "(?:READ_PARQUET|PARQUET_SCAN)\s*".*?"Projections": (\[.*?\]|".*?")',
        text,
        re.DOTALL,
    )
    assert scans
    assert {column for scan in scans for column in re.findall(r"\w+", scan)} == {"y", "p"}


@pytest.mark.parametrize(
    ("metrics", "weight"),
    [("NULL", ", weight := w"), ("['roc_auc', 'ks', 'f1', 'log_loss']", "")],
)
def test_many_metrics_scan_once(
    metrics: str, weight: str, wide: str, console: duckdb.DuckDBPyConnection
) -> None:
    roles = f"label := y, score := p{weight}, metrics := {metrics}"
    text = plan(console, f"FROM sqleval.evaluate('{wide}', {roles})")
    assert len(re.findall(r'"name": "(?:READ_PARQUET|PARQUET_SCAN)\s*"', text)) == 1


def test_metrics_share_their_sorts(wide: str, console: duckdb.DuckDBPyConnection) -> None:
    roles = f"'{wide}', label := y, score := p"
    alone, two, counted = (
        plan(console, f"FROM sqleval.evaluate({roles}, metrics := {metrics})").count('"WINDOW')
        for metrics in (["ks"], ["ks", "roc_auc"], ["log_loss", "f1", "brier_score"])
    )
    assert alone == two > 0
    assert counted == 0  # these metrics need no sorts, so none are computed
