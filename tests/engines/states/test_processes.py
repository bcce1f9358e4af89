"""The states that processes make of parts of a lake merge to the state of the whole lake."""

import os
import subprocess

import polars as pl
import pytest

import sqleval
from tests.support.commands import run, start_programs
from tests.support.comparison import assert_frame_equal
from tests.support.flights import FLIGHTS
from tests.support.object_store import KEY, SECRET, ObjectStore

MONTHS = ("07", "08")
ROLES = ["--label", "delayed", "--score", "p_boosted", "--by", "carrier", "--nulls", "drop"]


def test_parts_of_an_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore()
    try:
        for name, value in {
            "AWS_ENDPOINT_URL": store.url,
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            monkeypatch.setenv(name, value)
        for month in MONTHS:
            store.put_folder(FLIGHTS / f"predictions/month={month}", f"lake/preds/month={month}")
        processes = [
            subprocess.Popen(
                [start_programs() / "sqleval", "state", "build", f"s3://lake/preds/month={month}",
                 *ROLES, "--output", f"s3://lake/states/{month}.parquet"],
                env=os.environ, stderr=subprocess.PIPE, text=True,
            )
            for month in MONTHS
        ]  # fmt: skip
        ended = [process.communicate()[1] for process in processes]
        assert [process.returncode for process in processes] == [0, 0], ended
        states = "s3://lake/states/*.parquet"
        run("state", "merge", states, "--output", "s3://lake/both.parquet")
        shown = run(
            "state", "evaluate", "s3://lake/both.parquet", "--by", "carrier",
            "-m", "roc_auc", "-m", "log_loss", "--format", "csv",
        ).stdout  # fmt: skip
    finally:
        store.close()
    paths = [str(FLIGHTS / f"predictions/month={month}/*.parquet") for month in MONTHS]
    scan = sqleval.scan(paths, label="delayed", score="p_boosted", by="carrier", nulls="drop")
    expected = scan.evaluate(["roc_auc", "log_loss"], bins=11).collect()
    found = pl.read_csv(shown.encode(), schema_overrides=expected.schema)
    keys, numbers = ["carrier", "metric"], ["value", "low", "high", "n", "n_dropped"]
    assert_frame_equal(
        found.select(keys + numbers).sort(keys), expected.select(keys + numbers).sort(keys),
    )  # fmt: skip
