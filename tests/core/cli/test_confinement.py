"""Commands and jobs touch no file but those that they name, no network and no extension."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import duckdb
import polars as pl
import pytest

import sqleval
from sqleval.engines.embedded import embedded
from tests.support.commands import run
from tests.support.flights import ROWS
from tests.support.tried import check_tried

ROLES = ("--label", "delayed", "--score", "p", "-m", "roc_auc", "--format", "csv")
SELECT = "SELECT delayed, p FROM read_parquet('{}')"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Write rows to two folders; the second one is secret."""
    for name in ("open", "openly"):
        ROWS.write_parquet(tmp_path / name / "part=a" / "rows.parquet", mkdir=True)
    ROWS.select("delayed", "p").write_csv(tmp_path / "secret.csv")
    return tmp_path


def test_files_that_a_command_names_can_be_read(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run("evaluate", str(lake / "open"), *ROLES).stdout
    monkeypatch.chdir(lake)
    file = "open/part=a/rows.parquet"
    for source in (
        "open",
        "./open/",
        "open/*/*.parquet",
        "**/rows.parquet",
        file,
        f"../{lake.name}/{file}",
    ):
        found = run("evaluate", source, *ROLES)
        assert "roc_auc" in found.stdout
        assert source == "**/rows.parquet" or found.stdout == expected
    query = "SELECT * FROM 'open/part=a/rows.parquet' -- 'it''s'"
    assert run("evaluate", "--query", query, *ROLES).stdout == expected
    (lake / "linked").mkdir()
    (lake / "linked" / "rows.parquet").symlink_to(lake / "openly" / "part=a" / "rows.parquet")
    assert run("evaluate", "linked", *ROLES).stdout == expected


#: Subqueries that read files, folders, the network or other databases.
HOSTILE = [
    "(SELECT 1 FROM read_csv('{}/secret' || '.csv'))",
    "(SELECT 1 FROM read_text(concat('{}', '/secret', '.csv')))",
    "(SELECT 1 FROM glob('{}/*'))",
    "(SELECT 1 FROM read_parquet('{}/open' || 'ly/*/*.parquet'))",
    "(SELECT 1 FROM read_parquet('{}/open/../open' || 'ly/part=a/rows.parquet'))",
    "(SELECT 1 FROM read_blob('/etc/host' || 'name'))",
    "(SELECT 1 FROM read_parquet('https://example.org/rows.parquet'))",
    "(SELECT 1 FROM read_parquet('s3://bucket/rows.parquet'))",
    "(SELECT 1 FROM sqlite_scan('{}/x' || '.db', 't'))",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_files_that_it_does_not_name_cannot_be_read(hostile: str, lake: Path) -> None:
    named = SELECT.format(lake / "open" / "part=a" / "rows.parquet")
    query = f"{named} WHERE EXISTS {hostile.format(lake)}"
    done = run("evaluate", "--query", query, *ROLES, code=2)
    assert "roc_auc" not in done.stdout
    assert "read only the files they name" in done.stderr or "sqlite_scan" in done.stderr


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_query_of_a_missing_file_is_told_so(end: str, tmp_path: Path) -> None:
    path = f"{tmp_path}/nowhere.{end}"
    done = run("evaluate", "--query", f"SELECT delayed, p FROM '{path}'", *ROLES, code=2)
    # DuckDB 1.5 words its errors differently.
    assert f"no such file: {path!r}" in done.stderr or "No files found" in done.stderr
    assert "query= is empty" in run("evaluate", "--query", " ", *ROLES, code=2).stderr


def test_a_query_cannot_change_settings_or_write(lake: Path) -> None:
    named = SELECT.format(lake / "open" / "part=a" / "rows.parquet")
    copied = f"COPY ({named}) TO '{lake}/out.csv'"
    changed = f"{named}); SET enable_external_access = true; SELECT (1"
    queries = (changed, copied, "ATTACH 'x.db'", "INSTALL httpfs", "LOAD httpfs")
    for query in queries:
        run("evaluate", "--query", query, *ROLES, code=2)
    assert not (lake / "out.csv").exists()
    what = "statements for a `--query` that change settings, write, attach or load"
    check_tried(what, len(queries))


def test_the_page_counts_the_subqueries() -> None:
    check_tried("subqueries of a `--query` that read what it does not name", len(HOSTILE))


def test_the_library_is_not_confined_by_a_command_before(lake: Path) -> None:
    run("evaluate", str(lake / "open"), *ROLES)
    found = sqleval.scan(lake / "secret.csv", label="delayed", score="p").evaluate("roc_auc")
    assert found.collect().height == 1


def test_a_job_reads_its_own_sources(lake: Path) -> None:
    ROWS.select("key", "delayed").write_parquet(lake / "labels.parquet")
    ROWS.drop("delayed").write_parquet(lake / "preds.parquet")
    (lake / "job.yml").write_text(
        "name: job\nsource: preds.parquet\nlabel: delayed\nscore: p\n"
        "labels: {source: labels.parquet, on: key}\n"
        "period: {column: flight_date, grain: year}\nmetrics: [roc_auc]\nmissing: ignore\n"
        "states: states\nhistory: history.duckdb\n"
    )
    run("validate", str(lake / "job.yml"))
    run("run", str(lake / "job.yml"), "--as-of", "2020-01-01", "--backfill")
    assert list((lake / "states").glob("*.parquet"))


def test_a_tilde_in_a_job_is_the_home_folder(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(lake))
    monkeypatch.setenv("USERPROFILE", str(lake))
    ROWS.write_parquet(lake / "preds.parquet")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "job.yml").write_text(
        "name: job\nsource: [~/preds.parquet]\nlabel: delayed\nscore: p\n"
        "period: {column: flight_date, grain: year}\nmetrics: [roc_auc]\nmissing: ignore\n"
        "states: ~/states\nhistory: ~/history.duckdb\n"
    )
    run("run", str(tmp_path / "jobs" / "job.yml"), "--as-of", "2020-01-01", "--backfill")
    assert list((lake / "states").glob("*.parquet"))
    assert (lake / "history.duckdb").exists()
    assert [each.name for each in (tmp_path / "jobs").iterdir() if each.suffix != ".yml"] == []


def test_a_command_writes_to_its_output(lake: Path) -> None:
    source = str(lake / "open")
    run("split", source, "--key", "key", "--output", str(lake / "a" / "split.parquet"))
    run("split", source, "--key", "key", "--output", str(lake / "split.duckdb"))
    run("split", source, "--key", "key", "--by", "role", "--output", str(lake / "parts"))
    assert pl.read_parquet(lake / "a" / "split.parquet").height == ROWS.height
    assert {file.name for file in (lake / "parts").iterdir()} == {"role=test", "role=train"}
    state = str(lake / "state.duckdb")
    run("state", "build", source, *ROLES[:4], "--ci", "--output", state)
    level = ("--ci", "0.9", "--format", "csv")
    found = pl.read_csv(StringIO(run("state", "evaluate", state, "-m", "log_loss", *level).stdout))
    known = sqleval.scan(source, label="delayed", score="p").evaluate("log_loss", ci=0.9).collect()
    for name in ("value", "low", "high"):
        assert found[name].item() == pytest.approx(known[name].item())
    run("split", "check", str(lake / "a" / "split.parquet"), source, "--key", "key")


def test_memory_may_spill_to_disk(lake: Path, set_threads: Callable[[int], None]) -> None:
    set_threads(1)
    sqleval.configure(memory_limit="60MB")
    try:
        query = (
            "SELECT CAST(i % 2 AS INT) AS delayed, HASH(i) / 1.8446744073709552e19 AS p "
            "FROM range(3000000) AS t(i)"
        )
        done = run("evaluate", "--query", query, *ROLES)
    finally:
        sqleval.configure(memory_limit="4GB")
    assert "roc_auc" in done.stdout
    embedded().close()


def test_a_database_that_a_command_names_can_be_read(lake: Path) -> None:
    file = lake / "rows.duckdb"
    with duckdb.connect(file) as con:
        con.execute(f"CREATE TABLE a AS FROM '{lake}/open/*/*.parquet'")
        con.execute("CREATE TABLE b AS FROM a")
    expected = run("evaluate", str(lake / "open"), *ROLES).stdout
    assert run("evaluate", f"{file}#a", *ROLES).stdout == expected
    assert run("evaluate", str(file), "--query", "SELECT * FROM b", *ROLES).stdout == expected
    other = f"SELECT * FROM b WHERE EXISTS (FROM read_text('{lake}/secret' || '.csv'))"
    run("evaluate", str(file), "--query", other, *ROLES, code=2)


def test_names_with_brackets_and_stars_can_be_read(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lake)
    file = "run[1]*?/rows.parquet"
    ROWS.with_row_index("i").write_parquet(file, mkdir=True)
    expected = run("evaluate", "open/part=a/rows.parquet", *ROLES).stdout
    for source in (file, "run[1]*?", str(lake / file)):
        assert run("evaluate", source, *ROLES).stdout == expected
        assert run("confusion", source, *ROLES[:4]).stdout
    assert "sqleval evaluate" in run("inspect", file, *ROLES[:4]).stdout
    run("split", file, "--key", "i", "--output", "run[1]*?/split.parquet")
    run("state", "build", file, *ROLES[:4], "--output", "state[1].parquet")
    assert "roc_auc" in run("state", "evaluate", "state[1].parquet", "-m", "roc_auc").stdout
    late = ("--labels", file, "--on", "i", *ROLES)
    assert run("evaluate", file, *late).stdout.splitlines()[1] == expected.splitlines()[1]


@pytest.mark.parametrize("source", ["rows.parquet", "r*.parquet", "../{0}", "query", "labels"])
def test_an_output_is_not_written_over_a_source(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ROWS.write_parquet("rows.parquet")
    before = Path("rows.parquet").read_bytes()
    sources = {
        "query": ["--query", SELECT.format("rows.parquet")],
        "labels": ["other.parquet", "--labels", "rows.parquet", "--on", "id"],
    }.get(source, [source.format(tmp_path.name)])
    output = ("--output", "./rows.parquet")
    for command in (["evaluate"], ["state", "build"]):
        done = run(*command, *sources, *ROLES[:6], *output, code=2)
        assert "error: --output './rows.parquet' would overwrite a file of '" in done.stderr
    assert Path("rows.parquet").read_bytes() == before


def test_a_state_is_not_written_over_the_table_that_it_is_built_from(tmp_path: Path) -> None:
    path = str(tmp_path / "lake.duckdb")
    with duckdb.connect(path) as con:
        con.from_arrow(ROWS.to_arrow()).create("preds")
    command = ("state", "build", f"{path}#preds", *ROLES[:6], "--output", path, "--into")
    assert "would overwrite a file of" in run(*command, "Preds", code=2).stderr
    run(*command, "state")
    run("state", "merge", path, "--output", path)
    done = run("split", f"{path}#preds", "--key", "key", "--output", path, "--into", "t", code=2)
    assert "the rows are read from this file; choose another one" in done.stderr
    with duckdb.connect(path) as con:
        assert con.execute("SELECT COUNT(*) FROM preds").fetchall() == [(ROWS.height,)]
