"""Many labels on Sail: the frames that DuckDB gives, and errors about lists."""

import warnings
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval import RequestError
from sqleval.engines.opening import open_engine
from sqleval.frontend import plan
from tests.support.comparison import assert_same_result
from tests.support.many_labels import METRICS, ROLES, make_rows


@pytest.fixture(scope="module")
def session() -> Any:
    engine: Any = open_engine("sail")
    rows = make_rows()
    lists = rows.select("id", y=pl.concat_list("^y_.$"), p=pl.concat_list("^p_.$"))
    lists = lists.with_columns(names=pl.Series([["a"]] * rows.height))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark 4.2 about pandas 3
        for name, frame in {"labelled": rows, "lists": lists}.items():
            engine.session.createDataFrame(frame.to_pandas()).createOrReplaceTempView(name)
    return engine.session


@pytest.mark.parametrize("of_one_task", [None, 50])
def test_a_column_for_each_label(
    of_one_task: int | None, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if of_one_task is not None:
        monkeypatch.setattr(plan, "ROWS_OF_ONE_TASK", of_one_task)  # AUC then ranks in buckets
    scan = sqleval.scan("labelled", **ROLES, by="g", key="id", engine=session)
    want = sqleval.scan(make_rows(), **ROLES, by="g").evaluate(METRICS)
    assert_same_result(scan.evaluate(METRICS), want)


def test_elements_of_an_array(session: Any) -> None:
    roles: dict[str, Any] = {
        "label": {name: f"y[{i}]" for i, name in enumerate("abc", start=1)},
        "score": {name: f"p[{i}]" for i, name in enumerate("abc", start=1)},
    }
    scan = sqleval.scan("lists", **roles, key="id", engine=session)
    want = sqleval.scan(make_rows(), **ROLES).evaluate("f1_samples")
    assert_same_result(scan.evaluate("f1_samples"), want)


@pytest.mark.parametrize("label", ["y", "names"])
def test_lists_are_refused(label: str, session: Any) -> None:
    message = "spark reads a column of 0 and 1 for each label, as in a view, or an element of an"
    with pytest.raises(RequestError, match=f"label='{label}' is .*; {message}"):
        sqleval.scan("lists", label=label, prediction=label, key="id", engine=session)


def test_means_over_rows_need_a_key(session: Any) -> None:
    scan = sqleval.scan("labelled", **ROLES, engine=session)
    with pytest.raises(RequestError, match="f1 needs the key of each row: key=COLUMN"):
        scan.evaluate("f1_samples").collect()
    wrong = sqleval.scan("labelled", **ROLES, key="g", engine=session)
    with pytest.raises(sqleval.DataError, match="key='g' has a value that several rows"):
        wrong.evaluate("f1_samples").collect()
