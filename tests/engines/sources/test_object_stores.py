"""Predictions in an object store: the bytes that are read, the credentials, and errors."""

import gzip
import io
import random
import re
from collections.abc import Generator
from datetime import datetime
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import sqleval
from sqleval import DataError, RequestError, SourceError
from sqleval.sources import stores
from tests.support.commands import run, run_process
from tests.support.comparison import assert_frame_equal
from tests.support.flights import FEW, FLIGHTS, ROLES, ROWS
from tests.support.iceberg_deletes import commit, write_deletes, write_rows
from tests.support.object_store import KEY, SECRET, TOKEN, ObjectStore

PREDICTIONS: dict[str, Any] = {"label": "delayed", "score": "p_boosted", "nulls": "drop"}
LAKE = "s3://lake/flights/predictions"


@pytest.fixture(scope="module")
def server() -> Generator[ObjectStore]:
    server = ObjectStore()
    server.put_folder(FLIGHTS / "predictions", "lake/flights/predictions")
    yield server
    server.close()


@pytest.fixture
def store(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server.refuse(0)
    server.delay(0)
    server.forget()
    return server


def parquet(frame: pl.DataFrame, **options: Any) -> bytes:
    content = io.BytesIO()
    frame.write_parquet(content, **options)
    return content.getvalue()


def evaluate(source: object, **options: Any) -> pl.DataFrame:
    return sqleval.scan(source, **ROLES, **options).evaluate(FEW).collect()


def test_the_lake_gives_what_the_local_files_give(store: ObjectStore) -> None:
    options: dict[str, Any] = {**PREDICTIONS, "by": ["month", "carrier"]}
    # Metrics of order, values and decisions. Replicates would read the columns once more.
    metrics = ["roc_auc", "log_loss", "precision"]
    found, local = (
        sqleval.scan(source, **options).evaluate(metrics, ci=0.95, replicates=0).collect()
        for source in (LAKE, FLIGHTS / "predictions")
    )
    assert_frame_equal(found, local)
    stored = sum(file.stat().st_size for file in (FLIGHTS / "predictions").rglob("*.parquet"))
    # Only three of nineteen columns, and the end of each file, are read.
    assert sum(store.read.values()) < 0.25 * stored


@pytest.mark.parametrize("by", [[], ["g"]])
def test_the_rows_are_requested_once(by: list[str], store: ObjectStore) -> None:
    rng = np.random.default_rng(58)
    label, score, group = (
        rng.integers(0, 2, 300_000),
        rng.random(300_000),
        rng.integers(0, 3, 300_000),
    )
    rows = pl.DataFrame({"y": label, "p": score, "g": group})
    store.put("lake/groups/rows.parquet", parquet(rows, row_group_size=50_000))
    scan = sqleval.scan("s3://lake/groups/rows.parquet", label="y", score="p", by=by)
    store.forget()
    found = scan.evaluate("roc_auc").collect()
    # Each of six row groups, and for the plan the scores of the first two.
    assert len(store.requests) <= 6 + 2
    local = sqleval.scan(rows, label="y", score="p", by=by).evaluate("roc_auc")
    assert_frame_equal(found, local.collect())


@pytest.mark.parametrize(
    "where",
    [
        "month = '08'",
        "month IN ('08') AND p_boosted > 0",
        "substr(month, 2) = '8'",
        "MONTH::INT = 8",
    ],
)
def test_a_month_reads_the_bytes_of_that_month_alone(where: str, store: ObjectStore) -> None:
    found = sqleval.scan(LAKE, **PREDICTIONS, where=where).evaluate("roc_auc").collect()
    assert list(store.read) == ["/lake/flights/predictions/month=08/part-0.parquet"]
    assert {r.path for r in store.requests if r.method == "HEAD"} <= {
        "/lake/flights/predictions",
        *store.read,
    }
    local = sqleval.scan(FLIGHTS / "predictions", **PREDICTIONS, where=where)
    assert found.equals(local.evaluate("roc_auc").collect())


def test_a_month_without_files_has_no_rows(store: ObjectStore) -> None:
    found = sqleval.scan(LAKE, **PREDICTIONS, where="month = '13'").evaluate("roc_auc").collect()
    assert found["n"].to_list() == [0]


@pytest.mark.parametrize(
    ("pattern", "months"),
    [("month=0[78]/*.parquet", 2), ("**/part-?.parquet", 6), ("month=1*/part-0.parquet", 3),
     ("*/*", 6), ("month=0[!7]/**", 2)],
)  # fmt: skip
def test_patterns(pattern: str, months: int, store: ObjectStore) -> None:
    found = sqleval.scan(f"{LAKE}/{pattern}", **PREDICTIONS, by="month").evaluate("roc_auc")
    assert found.collect().height == months
    assert len(store.read) == months


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("p[a!b].x", ["p!.x", "pa.x", "pb.x"]),
        ("p[!a!]*.x", ["p^.x", "pb.x"]),
        ("p[!b]c.x", []),
        ("p?c.x", []),
    ],
)
def test_sets_in_patterns(pattern: str, names: list[str], store: ObjectStore) -> None:
    for name in ("pa.x", "pb.x", "p!.x", "p^.x", "p/c.x"):
        store.put(f"lake/sets/{name}", b"1")
    url = f"s3://lake/sets/{pattern}"
    if not names:
        with pytest.raises(SourceError, match="no file matches"):
            stores.list_stored(url, {})
        return
    _, files, _ = stores.list_stored(url, {})
    assert [file.path.rpartition("/")[2] for file in files] == names


def test_the_name_of_a_file_or_folder_may_look_like_a_pattern(store: ObjectStore) -> None:
    store.put("lake/run[1]/p*?.parquet", parquet(ROWS))
    # An existing key is not a pattern, even if another key matches it.
    store.put("lake/run1/part.parquet", parquet(ROWS.head(1)))
    for url in ("s3://lake/run[1]/p*?.parquet", "s3://lake/run[1]"):
        _, files, _ = stores.list_stored(url, {})
        assert [file.path for file in files] == ["lake/run[1]/p*?.parquet"]
    found, expected = (
        sqleval.scan(source, **ROLES).evaluate("prevalence").collect() for source in (url, ROWS)
    )
    assert_frame_equal(found, expected)


def test_row_groups_outside_of_a_condition_are_not_read(store: ObjectStore) -> None:
    rows = pl.concat([ROWS] * 20).with_columns(day=pl.int_range(pl.len()) // ROWS.height)
    rows = rows.with_columns(noise=pl.col("p").hash().cast(pl.Float64))
    store.put("lake/groups/rows.parquet", parquet(rows, row_group_size=ROWS.height))
    options: dict[str, Any] = {"label": "delayed", "score": "p", "nulls": "drop"}
    found = sqleval.scan("s3://lake/groups/rows.parquet", **options).evaluate("roc_auc").collect()
    whole = sum(store.read.values())
    store.forget()
    options["where"] = "day = 7"
    one = sqleval.scan("s3://lake/groups/rows.parquet", **options).evaluate("roc_auc").collect()
    assert found["n"].item() == 20 * one["n"].item()
    end = 65_536  # the metadata at the end of the file
    assert sum(store.read.values()) - end < 0.25 * (whole - end)


def test_keys_and_token_of_the_environment(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    sqleval.scan(f"{LAKE}/month=07", **PREDICTIONS).evaluate("roc_auc").collect()
    assert store.requests
    for request in store.requests:
        assert f"Credential={KEY}/" in request.headers["AUTHORIZATION"]
        assert "/eu-west-1/s3/" in request.headers["AUTHORIZATION"]
        assert request.headers["X_AMZ_SECURITY_TOKEN"] == TOKEN
        assert request.path.startswith("/lake")  # path style


def test_options_of_a_store(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    storage: dict[str, Any] = {"endpoint": store.url, "region": "ap-south-1"}
    source = f"{LAKE}/month=07/part-0.parquet"
    sqleval.scan(source, storage=storage, **PREDICTIONS).evaluate("roc_auc").collect()
    assert all("/ap-south-1/s3/" in r.headers["AUTHORIZATION"] for r in store.requests)
    store.forget()
    storage["anonymous"] = True
    sqleval.scan(source, storage=storage, **PREDICTIONS).evaluate("roc_auc").collect()
    assert store.requests
    assert not any("AUTHORIZATION" in request.headers for request in store.requests)
    with pytest.raises(RequestError, match=r"no option 'regoin'; did you mean 'region'\?"):
        sqleval.scan(source, storage={"regoin": "x"}, **PREDICTIONS)


def test_the_command_and_a_profile(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    (tmp_path / "config").write_text("[profile reader]\nregion = sa-east-1\n")
    (tmp_path / "keys").write_text(
        f"[reader]\naws_access_key_id = {KEY}2\naws_secret_access_key = {SECRET}\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
    monkeypatch.setenv("AWS_PROFILE", "reader")
    roles = ["--label", "delayed", "--score", "p_boosted", "--nulls", "drop", "-m", "roc_auc"]
    # A separate process, because the AWS SDK reads its files once.
    done = run_process(
        "evaluate", f"{LAKE}/month=07", *roles, "--format", "csv",
        "--storage", "endpoint=" + store.url,
    )  # fmt: skip
    assert pl.read_csv(io.StringIO(done.stdout))["value"].item() == pytest.approx(
        0.750689, abs=1e-6
    )
    for request in store.requests:
        assert f"Credential={KEY}2/" in request.headers["AUTHORIZATION"]
        assert "/sa-east-1/s3/" in request.headers["AUTHORIZATION"]


def test_a_busy_store_is_asked_again(store: ObjectStore) -> None:
    store.refuse(2)
    found = sqleval.scan(f"{LAKE}/month=07", **PREDICTIONS).evaluate("roc_auc").collect()
    assert store.left_to_refuse == 0
    assert found["n"].item() == 28_293


def test_a_store_that_stays_busy_is_an_error(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_ATTEMPTS", 2)
    monkeypatch.setenv("AWS_RETRY_TEST", "another connection")
    predictions = sqleval.scan(f"{LAKE}/month=07", **PREDICTIONS)
    store.refuse(10**6)
    with pytest.raises(SourceError, match=r"read s3://lake/.*month=07/part-0\.parquet: AWS Error"):
        predictions.evaluate("roc_auc").collect()
    with pytest.raises(
        SourceError, match=r"s3://lake/flights/predictions/month=08/part-0\.parquet"
    ):
        sqleval.scan(f"{LAKE}/month=08", **PREDICTIONS)


def test_a_slow_answer_is_asked_for_again(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_REQUEST_SECONDS", 1)
    monkeypatch.setenv("AWS_TIMEOUT_TEST", "another connection")
    store.delay(3)
    found = sqleval.scan(f"{LAKE}/month=07", **PREDICTIONS).evaluate("roc_auc").collect()
    assert found["n"].item() == 28_293


def write(name: str) -> bytes:
    """Return the rows in the format of a name."""
    content = io.BytesIO()
    if name.startswith("csv"):
        ROWS.write_csv(content)
    elif name.startswith("tsv"):
        ROWS.write_csv(content, separator="\t")
    elif name.startswith("jsonl"):
        ROWS.write_ndjson(content)
    elif name == "parquet":
        ROWS.write_parquet(content)
    else:
        ROWS.write_ipc(content)
    return gzip.compress(content.getvalue()) if name.endswith(".gz") else content.getvalue()


@pytest.mark.parametrize(
    "ending", ["csv", "csv.gz", "tsv", "jsonl", "jsonl.gz", "arrow", "parquet"]
)
def test_formats(ending: str, store: ObjectStore, few: pl.DataFrame) -> None:
    store.put(f"lake/formats/{ending}/rows.{ending}", write(ending))
    assert_frame_equal(evaluate(f"s3://lake/formats/{ending}").drop("method"), few)


def test_a_folder_of_shards(store: ObjectStore, tmp_path: Path, few: pl.DataFrame) -> None:
    # As in published data sets, files without data lie beside the rows.
    (tmp_path / "data").mkdir()
    for i in range(3):
        shard = ROWS.slice(i * 1000, 1000 if i < 2 else None)
        shard.write_parquet(tmp_path / "data" / f"train-{i:05}-of-00003.parquet")
    for name in ("README.md", ".gitattributes", "data/.gitkeep"):
        (tmp_path / name).write_text("---\nlicense: mit\n---\n")
    store.put_folder(tmp_path, "lake/shards")
    for folder in (str(tmp_path), "s3://lake/shards"):
        for source in (folder, f"{folder}/data", f"{folder}/data/train-*-of-00003.parquet"):
            assert_frame_equal(evaluate(source).drop("method"), few)


def test_types_that_differ_between_objects(store: ObjectStore) -> None:
    whole = pl.DataFrame({"y": [0, 1], "p": [0, 1], "g": ["a", "b"], "only": [1, 2]})
    parts = pl.DataFrame({"p": [0.6, 0.7, 0.1], "g": [1, 2, 3], "y": [0, 1, 1]})
    store.put("lake/drift/a.parquet", parquet(whole))
    store.put("lake/drift/b.parquet", parquet(parts))
    found = sqleval.scan("s3://lake/drift", label="y", score="p").evaluate("log_loss").collect()
    local = pl.concat([whole.select("y", "p"), parts.select("y", "p")], how="vertical_relaxed")
    assert_frame_equal(
        found, sqleval.scan(local, label="y", score="p").evaluate("log_loss").collect()
    )
    different = {
        "g": r"string\w* in s3://lake/drift/a.parquet, int64 in s3://",
        "only": "int64 in s3://lake/drift/a.parquet, none in s3://lake/drift/b",
    }
    for key, types in different.items():
        with pytest.raises(SourceError, match=types):
            sqleval.scan("s3://lake/drift", label="y", score="p", by=key)


def test_categories_and_halves(store: ObjectStore) -> None:
    table = pa.table({
        "y": [0, 1, 1, 0], "p": pa.array([0.5, 0.75, 0.25, 0.125], pa.float16()),
        "g": pa.array(["a", "b", "a", "b"]).dictionary_encode(),
    })  # fmt: skip
    with store.files.open_output_stream("lake/halves.parquet") as stream:
        pq.write_table(table, stream)
    found = sqleval.scan("s3://lake/halves.parquet", label="y", score="p", by="g")
    assert found.evaluate("roc_auc").collect()["value"].to_list() == [0.0, 1.0]
    rows = pl.DataFrame({"y": ["n", "y", "y", "n"], "p": [0.5, 0.7, 0.2, 0.1], "g": list("abab")})
    for i, kind in enumerate((pl.Categorical, pl.Enum(["b", "y", "a", "n"]))):
        rows.cast({"y": kind, "g": kind}).write_ipc(content := io.BytesIO())
        store.put(f"lake/categories/{i}.arrow", content.getvalue())
        found = sqleval.scan(
            "s3://lake/categories", label="y", positive="y", score="p", by="g", where="g <> 'c'"
        )
        result = found.evaluate("roc_auc").collect()
        assert result.select("g", "value", "n").rows() == [
            ("a", 0.0, 2 + 2 * i), ("b", 1.0, 2 + 2 * i),
        ]  # fmt: skip


def test_partitions_are_what_they_are_in_local_files(store: ObjectStore, tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.8, 0.7], "g": ["a", "b", "a", None]})
    local = tmp_path / "rows"
    for key in ("G=a%20b/k=1", "G=__HIVE_DEFAULT_PARTITION__/k=1", "G=c/k=2"):
        rows.write_parquet(local / key / "q=r.parquet", mkdir=True)
    store.put_folder(local, "lake/parts")
    cases: list[dict[str, Any]] = [
        {"by": "k"}, {"where": "g = 'a b'"}, {"where": "G IS NULL OR p > 0.8"},
        {"where": "k = 1 AND g IN ('c', 'a b')", "by": {"both": "k || g"}},
    ]  # fmt: skip
    for options in cases:
        found, expected = (
            sqleval.scan(source, label="y", score="p", **options).evaluate("prevalence").collect()
            for source in ("s3://lake/parts", local)
        )
        assert_frame_equal(found, expected)
    with pytest.raises(
        RequestError, match=r"where='k::DATE > today\(\)': Conversion Error: [^\n]*$"
    ):
        sqleval.scan("s3://lake/parts", label="y", score="p", where="k::DATE > today()")


def test_labels_of_rows_that_are_not_read_match_a_row(store: ObjectStore) -> None:
    rows = pl.DataFrame({"key": [1, 2, 3, 4], "p": [0.1, 0.9, 0.8, 0.7]})
    for part in ("a", "b"):
        store.put(f"lake/late/part={part}/rows.parquet", parquet(rows))
        rows = rows.with_columns(pl.col("key") + 4)
    labels = pl.DataFrame({"key": range(1, 9), "y": [0, 1] * 4})
    store.put("lake/labels.parquet", parquet(labels))
    for late in (labels, "s3://lake/labels.parquet"):
        found = sqleval.scan(  # without a warning of unmatched labels
            "s3://lake/late", label="y", score="p", labels=late, on="key", where="part = 'a'"
        )
        assert found.evaluate("roc_auc").collect()["n"].item() == 4
    lazy = rows.with_columns(pl.col("key") - 8).lazy()
    found = sqleval.scan(
        lazy, label="y", score="p", labels=labels[:4], on="key", where="key <= 2", nulls="drop"
    )
    assert found.evaluate("roc_auc").collect()["n"].item() == 2


@pytest.mark.parametrize(
    ("one", "other", "size"),
    [
        (pa.array(["a", "b"], pa.large_string()), pa.array(["a", "c"], pa.string_view()), 3),
        (pa.array(["a", "b"]).dictionary_encode(), pa.array(["a", "c"], pa.string_view()), 3),
        (pa.array([0, 1], pa.timestamp("us", "UTC")), pa.array([0, 2], pa.timestamp("ns", "Japan")),
         3),
        (pa.array([1, 2**63], pa.uint64()), pa.array([1, -1]), 3),
        (pa.nulls(2), pa.array([1, 2]), 3),
        (pa.array([1, 2], pa.decimal256(60, 2)), pa.array([1, 3]), 3),
    ],
)  # fmt: skip
def test_types_that_hold_the_same_values(
    one: pa.Array, other: pa.Array, size: int, store: ObjectStore
) -> None:
    for name, key in {"a": one, "b": other}.items():
        with store.files.open_output_stream(f"lake/alike/{name}.parquet") as stream:
            pq.write_table(pa.table({"y": [0, 1], "p": [0.5, 0.75], "g": key}), stream)
    found = sqleval.scan("s3://lake/alike", label="y", score="p", by="g").evaluate("prevalence")
    assert found.collect().height == size


def test_numbers_that_no_type_holds_are_an_error(store: ObjectStore) -> None:
    store.put("lake/wide/a.parquet", parquet(pl.DataFrame({"y": [0, 1], "p": [2**53, 2**53 + 1]})))
    store.put("lake/wide/b.parquet", parquet(pl.DataFrame({"y": [0, 1], "p": [0.5, 0.75]})))
    found = sqleval.scan("s3://lake/wide", label="y", score="p").evaluate("roc_auc")
    with pytest.raises(DataError, match="a value of s3://lake/wide cannot be used: Integer value"):
        found.collect()
    table = pa.table([pa.array([0, 1])] + [pa.array([0.5, 0.75])] * 3, ["y", "p", "g", "g"])
    with store.files.open_output_stream("lake/again.parquet") as stream:
        pq.write_table(table, stream)
    again = "s3://lake/again.parquet"
    assert sqleval.scan(again, label="y", score="p").evaluate("roc_auc").collect()["n"].item() == 2
    with pytest.raises(SourceError, match="several columns of this name in s3://lake/again"):
        sqleval.scan(again, label="y", score="g")


def test_an_object_that_vanishes_is_named(store: ObjectStore) -> None:
    store.put("lake/gone/a.parquet", parquet(ROWS))
    store.put("lake/gone/b.parquet", parquet(ROWS))
    predictions = sqleval.scan("s3://lake/gone", **ROLES)
    store.files.delete_file("lake/gone/b.parquet")
    with pytest.raises(SourceError, match=r"cannot read s3://lake/gone/b\.parquet: "):
        predictions.evaluate("roc_auc").collect()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("s3://lake/nosuch.parquet", "no such file: 's3://lake/nosuch.parquet'"),
        ("s3://nosuch/rows.parquet", "no such file: 's3://nosuch/rows.parquet'"),
        ("s3://lake/flights/q*.parquet", "no file matches 's3://lake/flights/q*.parquet'"),
        ("s4://lake/rows.parquet", "unknown scheme 's4'; known are s3://, s3a://, gs://"),
        (["s3://lake/flights/predictions", "rows.parquet"], "'rows.parquet' is a local path"),
        ("s3://lake/broken/rows.parquet", "cannot read s3://lake/broken/rows.parquet: "),
        ("s3://lake/table", "holds a table in the Delta format; write delta+s3://lake/table"),
        (
            "s3://lake/mixed",
            "'s3://lake/mixed/a.parquet' is Parquet and 's3://lake/mixed/b.csv' is",
        ),
    ],
)
def test_wrong_sources(source: Any, message: str, store: ObjectStore) -> None:
    store.put("lake/broken/rows.parquet", b"PAR1" + bytes(100))
    store.put("lake/table/_delta_log/00000000000000000000.json", b"{}")
    store.put("lake/mixed/a.parquet", parquet(ROWS))
    store.put("lake/mixed/b.csv", b"y,p\n0,0.5\n")
    with pytest.raises(sqleval.SqlevalError, match=re.escape(message)):
        sqleval.scan(source, **ROLES)


def test_no_secret_in_texts(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    predictions = sqleval.scan(f"{LAKE}/month=07", **PREDICTIONS)
    texts = [predictions.sql("roc_auc"), repr(predictions), repr(predictions.source)]
    for source in ("s3://lake/nosuch.csv", "s3://nosuch/x.csv"):
        with pytest.raises(SourceError) as raised:
            sqleval.scan(source, **PREDICTIONS)
        texts.append(str(raised.value))
    done = run("evaluate", "s3://lake/nosuch", "--label", "y", "--score", "p", code=2)
    texts += [done.stdout, done.stderr]
    assert not any(secret in text for text in texts for secret in (KEY, SECRET, TOKEN))


def test_a_job_reads_new_objects_alone(store: ObjectStore, tmp_path: Path) -> None:
    job = tmp_path / "job.yml"
    job.write_text(
        "name: nightly\nsource: s3://lake/nightly\nlabel: delayed\n"
        f"storage: {{endpoint: '{store.url}'}}\n"
        "score: p_boosted\nnulls: drop\nby: month\nperiod: {column: flight_date, grain: month}\n"
        "metrics: [roc_auc]\nmissing: ignore\nhistory: history.duckdb\n"
    )
    for month in ("07", "08"):
        file = FLIGHTS / "predictions" / f"month={month}" / "part-0.parquet"
        store.put(f"lake/nightly/month={month}/part-0.parquet", file.read_bytes())
        store.forget()
        run("run", str(job), "--as-of", "2014-01-01", "--backfill")
        assert list(store.read) == [f"/lake/nightly/month={month}/part-0.parquet"]
    store.forget()
    run("run", str(job), "--as-of", "2014-01-01", "--backfill")
    assert store.read == {}
    history = run("history", str(job), "--format", "csv").stdout
    values = pl.read_csv(io.StringIO(history))["value"].to_list()
    assert values == pytest.approx([0.750689, 0.717462], abs=1e-6)


def test_a_job_over_a_table_reads_a_new_day_alone(store: ObjectStore, tmp_path: Path) -> None:
    url, days = "s3://lake/nightly_table", {"2026-01-01": 0, "2026-01-02": 3}
    job = tmp_path / "job.yml"
    job.write_text(
        f"name: table\nsource: delta+{url}\nlabel: y\nscore: p\nmissing: ignore\n"
        f"storage: {{endpoint: '{store.url}'}}\nperiod: {{column: at}}\n"
        "metrics: [roc_auc]\nhistory: history.duckdb\n"
    )
    n = 20_000
    for day, part in days.items():
        frame = pl.DataFrame({
            "y": [0, 1] * (n // 2), "p": (pl.Series(range(n)).hash(part) % 1000) / 1000,
            "wide": [random.randbytes(100) for _ in range(n)],
        }).with_columns(at=pl.lit(datetime.fromisoformat(f"{day}T12:00+00:00")))  # fmt: skip
        deltalake.write_deltalake(
            url, frame.to_arrow(), mode="append", storage_options={"AWS_ALLOW_HTTP": "true"}
        )
        store.forget()
        run("run", str(job), "--as-of", "2026-02-01", "--backfill")
        # Besides the commits of the log.
        ((path, read),) = (each for each in store.read.items() if each[0].endswith(".parquet"))
        # The file is counted and evaluated, without its widest column.
        assert read < 0.15 * store.files.get_file_info([path[1:]])[0].size
    table = deltalake.DeltaTable(url, storage_options={"AWS_ALLOW_HTTP": "true"})
    for compact in (False, True):
        if compact:
            assert table.optimize.compact()["numFilesRemoved"] == 2
        store.forget()
        run("run", str(job), "--as-of", "2026-02-01", "--backfill")
        assert not any(path.endswith(".parquet") for path in store.read)
    history = run("history", str(job), "--format", "csv").stdout
    assert pl.read_csv(io.StringIO(history))["n"].to_list() == [n, n]


def test_equality_deletes_of_an_iceberg_table(store: ObjectStore, tmp_path: Path) -> None:
    catalog = SqlCatalog(
        "c", uri=f"sqlite:///{tmp_path}/c.db", warehouse="s3://lake/iceberg",
        **{"s3.endpoint": store.url, "s3.region": "eu-west-1"},
    )  # fmt: skip
    catalog.create_namespace("scores")
    rows = ROWS.with_columns(key=pl.int_range(pl.len()))
    table = catalog.create_table("scores.flights", schema=rows.to_arrow().schema)
    number = table.schema().find_field("key").field_id
    for start in (0, 2000):
        commit(table, *write_rows(table, rows[start : start + 2000]))
        commit(table, write_deletes(table, pl.DataFrame({"key": [5, 3000]}), [number]))
    columns = ["metric", "n", "value"]
    expected = evaluate(rows.filter(~pl.col("key").is_in([5, 3000]))).select(columns)
    for source in (table, f"iceberg+{table.location()}"):
        assert_frame_equal(evaluate(source).select(columns), expected)
