"""The history in PostgreSQL: the tests of every store, its index and its password."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from sqleval.errors import EngineError, StoreBusy
from sqleval.history.opening import open_store
from sqleval.history.schema import VERSION, define_columns
from sqleval.history.store import NO_RESULTS, TABLES
from tests.core.history import test_history as stores
from tests.core.history import test_upgrades as upgrades
from tests.core.history.test_history import results
from tests.support.commands import run
from tests.support.engines import PostgreSQL
from tests.support.lake import Lake, rows


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    with PostgreSQL() as running:
        yield running


@pytest.fixture
def url(server: PostgreSQL) -> str:
    with psycopg.connect(server.url, autocommit=True) as con:
        con.execute("DROP TABLE IF EXISTS " + ", ".join(TABLES))
    return server.url


test_a_store_replaces_periods_and_nothing_else = (
    stores.test_a_store_replaces_periods_and_nothing_else
)
test_a_store_reads_what_is_selected = stores.test_a_store_reads_what_is_selected
test_old_periods_are_removed_from_one_job = stores.test_old_periods_are_removed_from_one_job
test_six_writers_at_one_time_lose_nothing = stores.test_six_writers_at_one_time_lose_nothing


class Hand:
    """Changes a history by hand, without a store."""

    def __init__(self, url: str) -> None:
        self.url = url

    def create(self) -> None:
        with psycopg.connect(self.url) as con:
            for table, frame in upgrades.list_old_tables().items():
                kinds = {"String": "TEXT", "Float64": "DOUBLE PRECISION", "Int64": "BIGINT"}
                columns = ", ".join(f"{n} {kinds[str(kind)]}" for n, kind in frame.schema.items())
                con.execute(f"CREATE TABLE {table} (ordinal BIGSERIAL PRIMARY KEY, {columns})")
                names, places = ", ".join(frame.columns), ", ".join(["%s"] * frame.width)
                insert = f"INSERT INTO {table} ({names}) VALUES ({places})"
                con.cursor().executemany(insert, frame.rows())

    def describe(self, text: str | None = None) -> str | None:
        with psycopg.connect(self.url) as con:
            if text is not None:
                con.execute(f"COMMENT ON TABLE sqleval_history IS '{text}'")
            query = "SELECT obj_description('sqleval_history'::regclass, 'pg_class')"
            return (con.execute(query).fetchone() or (None,))[0]

    def look(self) -> object:
        columns = "SELECT table_name, column_name FROM information_schema.columns"
        with psycopg.connect(self.url) as con:
            tables = con.execute(f"{columns} WHERE table_name LIKE 'sqleval%' ORDER BY 1, 2")
            rows = con.execute("SELECT xmin::TEXT, * FROM sqleval_history ORDER BY ordinal")
            return tables.fetchall(), rows.fetchall()


@pytest.fixture
def hand(url: str) -> Hand:
    return Hand(url)


test_an_older_history_is_read_as_it_is = upgrades.test_an_older_history_is_read_as_it_is
test_an_older_history_gets_what_it_lacks_when_a_run_writes = (
    upgrades.test_an_older_history_gets_what_it_lacks_when_a_run_writes
)
test_a_history_of_the_first_version_keeps_its_description = (
    upgrades.test_a_history_of_the_first_version_keeps_its_description
)
test_a_newer_history_is_refused_by_every_call = (
    upgrades.test_a_newer_history_is_refused_by_every_call
)
test_writers_that_upgrade_at_once_all_succeed = (
    upgrades.test_writers_that_upgrade_at_once_all_succeed
)
test_runs_that_upgrade_at_once_are_green = upgrades.test_runs_that_upgrade_at_once_are_green
test_run_and_validate_refuse_a_newer_history_alike = (
    upgrades.test_run_and_validate_refuse_a_newer_history_alike
)


def test_an_older_table_of_postgresql_gets_its_index(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(server.url, autocommit=True) as con:
        con.execute("DROP TABLE IF EXISTS " + ", ".join(TABLES))
        columns = define_columns("sqleval_history")
        con.execute(f"CREATE TABLE sqleval_history (ordinal BIGSERIAL PRIMARY KEY, {columns})")
        store = open_store(server.url)
        store.remove("a", ["2026-01"])  # older releases kept no replaced results
        days = [f"20{year:02d}-{month:02d}" for year in range(100) for month in range(1, 13)]
        store.replace("a", days, results("a", days), None)
        con.execute("ANALYZE sqleval_history")
        where = "job = 'a' AND period COLLATE \"C\" > '2098'"
        plan = con.execute(f"EXPLAIN SELECT * FROM sqleval_history WHERE {where}").fetchall()
        assert "sqleval_history_by_period" in str(plan)
        # A writer that waits too long for another one raises an error.
        monkeypatch.setattr("sqleval.history.postgres._LOCK_TIMEOUT", "200ms")
        con.execute("BEGIN")
        con.execute("SELECT pg_advisory_xact_lock(hashtext('sqleval'), hashtext(''))")
        with pytest.raises(StoreBusy, match="lock timeout"):
            store.replace("a", days[:1], results("a", days[:1]), None)
        con.execute("ROLLBACK")
        store.replace("a", days[:1], results("a", days[:1]), None)


def test_a_password_is_handed_over(server: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "another")
    with psycopg.connect(server.url, autocommit=True) as con:
        con.execute("CREATE ROLE pat SUPERUSER LOGIN PASSWORD 'p@s:s/w''o\\rd'")
        (hba,) = con.execute("SHOW hba_file").fetchone() or ("",)
        before = Path(hba).read_text(encoding="utf-8")
        try:
            Path(hba).write_text(f"local all pat scram-sha-256\n{before}", encoding="utf-8")
            con.execute("SELECT pg_reload_conf()")
            url = server.url.replace("postgres@", "pat@")
            with pytest.raises(EngineError, match="password authentication failed"):
                open_store(url, password="wrong").read("sqleval_history")
            right = "p@s:s/w'o\\rd"
            assert open_store(url, password=right).read("sqleval_files", "z").is_empty()
            unnamed = url.replace("pat@", "") + "&user=pat"
            assert (
                open_store(unnamed, password="p@s:s/w'o\\rd").read("sqleval_files", "z").is_empty()
            )
        finally:
            Path(hba).write_text(before, encoding="utf-8")
            con.execute("SELECT pg_reload_conf()")
    assert os.environ["PGPASSWORD"] == "another"


def test_rights_on_rows_are_enough(server: PostgreSQL, url: str) -> None:
    open_store(url).replace("a", ["2026-01"], results("a", ["2026-01"]), None)
    names = ", ".join(TABLES)
    with psycopg.connect(url, autocommit=True) as con:
        con.execute("DROP ROLE IF EXISTS writer")
        con.execute("CREATE ROLE writer LOGIN")
        con.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        con.execute(f"GRANT SELECT, INSERT, DELETE ON {names} TO writer")
        con.execute("COMMENT ON TABLE sqleval_history IS NULL")
        con.execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO writer")
        con.execute("DROP INDEX sqleval_history_by_period")
    writer = open_store(f"{url}{'&' if '?' in url else '?'}user=writer")
    writer.replace("a", ["2026-02"], results("a", ["2026-02"]), None)
    assert len(writer.read("sqleval_history")) == 2 * len(results("a", ["2026-01"]))
    writer.remove("a", ["2026-01", "2026-02"])
    with psycopg.connect(url, autocommit=True) as con:
        con.execute("ALTER TABLE sqleval_history DROP COLUMN matured")
    lacks = "the table sqleval_history is of an older version and lacks matured; a run by its owner"
    with pytest.raises(EngineError, match=lacks):
        writer.replace("a", ["2026-02"], results("a", ["2026-02"]), None)
    open_store(url).replace("a", ["2026-02"], results("a", ["2026-02"]), None)
    writer.replace("a", ["2026-02"], results("a", ["2026-02"]), None)
    assert Hand(url).describe() == f"schema version {VERSION}"
    with psycopg.connect(url, autocommit=True) as con:
        con.execute("DROP OWNED BY writer")
        con.execute(f"DROP TABLE {names}")
    grant = "GRANT CREATE ON SCHEMA public TO writer"
    with pytest.raises(EngineError, match=f"lacks CREATE on schema public. .*: {grant}$"):
        writer.remove("a", ["2026-01"])
    with psycopg.connect(url, autocommit=True) as con:
        con.execute("DROP ROLE writer")


RIGHTS = {
    **{right: f"{right} ON TABLE public.sqleval_files" for right in
       ("SELECT", "INSERT", "DELETE")},
    "USAGE": "USAGE ON SEQUENCE public.sqleval_history_ordinal_seq",
    "CREATE": "CREATE ON SCHEMA public",
    "schema": "USAGE ON SCHEMA public",
}  # fmt: skip


@pytest.fixture
def writer(url: str) -> Iterator[str]:
    """Return the URL of a user with all rights on a history, except to create tables."""
    open_store(url).replace("a", [], NO_RESULTS, None)
    with psycopg.connect(url, autocommit=True) as con:
        con.execute('CREATE ROLE "night writer" LOGIN')
        con.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        con.execute(f'GRANT SELECT, INSERT, DELETE ON {", ".join(TABLES)} TO "night writer"')
        con.execute('GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "night writer"')
    yield f"{url}{'&' if '?' in url else '?'}user=night%20writer"
    with psycopg.connect(url, autocommit=True) as con:
        con.execute('DROP OWNED BY "night writer"')
        con.execute('DROP ROLE "night writer"')
        con.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")


@pytest.mark.parametrize("right", RIGHTS)
def test_a_missing_right_is_named_with_the_statement_that_grants_it(
    right: str, url: str, writer: str, tmp_path: Path
) -> None:
    lake = Lake(tmp_path)
    lake.put(rows(2))
    lake.job(history=writer)
    job = str(tmp_path / "job.yml")
    commands = (["validate", job], ["run", job, "--as-of", lake.find_night().isoformat()])
    change = f'REVOKE {RIGHTS[right]} FROM PUBLIC, "night writer"'
    with psycopg.connect(url, autocommit=True) as con:
        con.execute("DROP TABLE sqleval_settled" if right == "CREATE" else change)
    grant = f'GRANT {RIGHTS[right]} TO "night writer"'
    what, _, where = RIGHTS[right].partition(" ON ")
    kind, _, name = where.partition(" ")
    for command in commands:
        message = run(*command, code=3).stderr
        assert f'the user "night writer" lacks {what} on {kind.lower()} {name}. ' in message
        assert message.strip().endswith(f": {grant}")
    with psycopg.connect(url, autocommit=True) as con:
        con.execute(grant)
    for command in commands:
        run(*command)
