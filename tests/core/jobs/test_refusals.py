"""A run refuses every job that `validate` refuses, new or changed, before the first period."""

from typing import Any

import polars as pl
import pytest

from sqleval.errors import RequestError
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import run_job
from sqleval.jobs.running.validation import check_job
from tests.support.lake import Lake, rows

#: In the first job, a gate is on a metric that has another name for several classes.
WRONG = [
    (
        {"prediction": "p", "task": "multiclass", "metrics": ["f1"], "gates": ["f1 >= 0.99"]},
        "no metric 'f1'",
    ),
    ({"score": "q"}, "score='q': no such column"),
    ({"by": ["sex"]}, "no such column"),
    ({"replicates": 50, "ci": 0.9}, "replicates"),
    ({"engine": "sial"}, "engine='sial' must be one of"),
    ({"engine": "postgresql://me@host/db"}, "engine: a job does not evaluate in a database"),
    ({"states": "states", "by": ["squares"]}, "by='squares': a state has a column of that name"),
    ({"notify": {"webhook": {"env": "SQLEVAL_NOWHERE"}}}, "SQLEVAL_NOWHERE is not set"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_a_run_refuses_what_validate_refuses(
    changes: dict[str, Any], message: str, lake: Lake
) -> None:
    lake.put(rows().with_columns(p=pl.col("y"), squares=pl.col("seg")))
    lake.backfill()
    # Either the job has changed and no period is due, or it has not run yet.
    for history in ("history.duckdb", "other.duckdb"):
        score = None if "prediction" in changes else "p"
        job = lake.job(**{"score": score, **changes, "history": history})
        with pytest.raises(RequestError, match=message):
            check_job(job)
        for dry in (True, False):
            with pytest.raises(RequestError, match=message):
                run_job(job, RunOptions(as_of=lake.find_night()), dry=dry)
