"""The positive value: what its column can hold, and how the two are compared."""

import datetime
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval import DataError, RequestError
from sqleval.binding.positive import convert_class
from sqleval.common.columns import Column


@pytest.mark.parametrize(
    ("value", "kind", "allowed"),
    [
        (1.7, "TINYINT", "an integer"),
        (300, "TINYINT", "an integer from -128 to 127"),
        (-1, "UTINYINT", "an integer from 0 to 255"),
        (math.nan, "INTEGER", "an integer"),
        (math.inf, "DOUBLE", "a number"),
        ("1_0", "DOUBLE", "a number"),
        (10**400, "DOUBLE", "a number of double precision"),
        (1e39, "FLOAT", "a number up to 3.4028235e+38"),
        (1.55, "DECIMAL(9,1)", "a number with 9 digits, 1 of them decimals"),
        (1000, "DECIMAL(4,1)", "a number with 4 digits, 1 of them decimals"),
        (5, "BOOLEAN", "a truth value"),
        ("x", "BOOLEAN", "a truth value"),
        ("20130701", "DATE", "a date such as '2013-07-01'"),
        ("2013-02-30", "DATE", "a date such as '2013-07-01'"),
        (datetime.datetime(2013, 7, 1, 3), "DATE", "a date such as '2013-07-01'"),
        (True, "TIMESTAMP", "a time such as '2013-07-01 14:30:00'"),
        (datetime.time(14), "TIME", "a time such as '14:30:00', as a text"),
        ("x", "UUID", "a UUID, as a text"),
        (b"x", "BLOB", "a text"),
    ],
    ids=str,
)
def test_a_positive_value_that_its_column_cannot_hold(value: Any, kind: str, allowed: str) -> None:
    sentence = f"positive={value!r} is not {allowed}, and 'y' is {kind}"
    with pytest.raises(RequestError, match=f"^{re.escape(sentence)}$"):
        convert_class(value, Column("y", kind), "positive")


@pytest.mark.parametrize(
    ("value", "other", "positive"),
    [
        ("'1'", "'0'", 1),
        ("'true'", "'false'", True),
        ("TRUE", "FALSE", "Yes"),
        ("TRUE", "FALSE", 1),
        ("CAST(1 AS UTINYINT)", "CAST(2 AS UTINYINT)", 1.0),
        ("CAST(1 AS HUGEINT)", "CAST(2 AS HUGEINT)", "1.0"),
        ("CAST(0.1 AS FLOAT)", "CAST(2 AS FLOAT)", 0.1),
        ("CAST(1.5 AS DECIMAL(4, 1))", "CAST(1 AS DECIMAL(4, 1))", Decimal("1.50")),
        ("CAST(999 AS DECIMAL(4, 1))", "CAST(1 AS DECIMAL(4, 1))", 999),
        ("CAST(1 AS DOUBLE)", "CAST(2 AS DOUBLE)", np.float64(1)),
        ("CAST(1 AS BIGINT)", "CAST(2 AS BIGINT)", np.int64(1)),
        ("TIMESTAMP '2013-07-01'", "TIMESTAMP '2013-07-02'", datetime.date(2013, 7, 1)),
        ("DATE '2013-07-01'", "DATE '2013-07-02'", datetime.datetime(2013, 7, 1)),
        ("TIMESTAMPTZ '2013-07-01 00:00:00+00'", "now()", "2013-07-01 02:00:00+02:00"),
        ("TIME '14:30'", "TIME '14:31'", "14:30:00"),
        (
            "UUID 'b5c4ca88-37c2-4a7c-9f5d-000000000001'",
            "uuid()",
            "B5C4CA88-37c2-4a7c-9f5d-000000000001",
        ),
    ],
    ids=str,
)
def test_a_positive_value_is_compared_in_the_type_of_its_column(
    value: str, other: str, positive: Any, tmp_path: Path
) -> None:
    path = tmp_path / "rows.parquet"
    rows = f"SELECT * FROM (VALUES ({value}, 0.9), ({other}, 0.1)) AS t(y, p)"
    duckdb.execute(f"COPY ({rows}) TO '{path}'")
    bound = sqleval.scan(path, label="y", score="p", positive=positive)
    assert bound.evaluate("roc_auc").collect()["value"].item() == 1


def test_true_and_1_are_different_values_of_a_text() -> None:
    """They are equal in Python, and must not share a statement."""
    frame = pl.DataFrame({"y": ["1", "0", "1"], "p": [0.9, 0.1, 0.8]})
    with pytest.raises(DataError, match="label='y' holds 0 and 1 beside positive=True: is that"):
        sqleval.scan(frame, label="y", score="p", positive=True).evaluate("roc_auc").collect()
    bound = sqleval.scan(frame, label="y", score="p", positive=1)
    assert bound.evaluate("roc_auc").collect()["value"].item() == 1


def test_the_positive_value_of_drift_is_checked_too() -> None:
    frame = pl.DataFrame({"y": [1, 2, 1]})
    with pytest.raises(RequestError, match=r"positive=1\.7 is not an integer, and 'y' is BIGINT"):
        sqleval.drift(frame, frame, "psi", label="y", positive=1.7)
    found = sqleval.drift(frame, frame.with_columns(y=2), "hellinger", label="y", positive="2.0")
    # All are positive instead of a third: 1 - sqrt(1 / 3) is the square of the distance.
    assert found["value"].item() == pytest.approx((1 - 3**-0.5) ** 0.5)
