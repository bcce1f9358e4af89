"""Every metric against its reference, on data that breaks metrics; curves; worked answers."""

import json
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import binomtest, norm
from sklearn import config_context
from sklearn.metrics import confusion_matrix, precision_recall_curve, roc_auc_score, roc_curve

import sqleval
from sqleval import RequestError, catalog
from sqleval.catalog import request
from tests.support.cases import CASES, DATA, ROLES, Case, Data, Kind, Rows, drawn, rows_of

FILES = catalog.relations("metric")
BINARY = [data for data in DATA if data.kind == "binary"]


def predictions(data: Data, source: object = None) -> sqleval.Predictions:
    return sqleval.scan(
        data.frame if source is None else source, **ROLES[data.kind], **data.options
    )


@pytest.fixture(scope="session")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Data], Path]:
    """Return a function that writes a data set once and gives its path."""
    folder, written = tmp_path_factory.mktemp("data"), {}

    def path(data: Data) -> Path:
        if data not in written:
            written[data] = folder / f"{len(written)}.parquet"
            data.frame.write_parquet(written[data])
        return written[data]

    return path


@cache
def rows_by_slice(data: Data, threshold: float) -> dict[tuple[Any, ...], Rows]:
    """Return what the references of all metrics see of each slice."""
    groups = data.groups(data.known)
    return {
        key: rows_of(
            groups.get(key, data.known.clear()), data.kind, threshold=threshold, weight=data.weight
        )
        for key in data.groups(data.frame)
    }


@cache
def heights(data: Data) -> dict[tuple[Any, ...], int]:
    """Return how many rows of each slice count."""
    return {key: frame.height for key, frame in data.groups(data.known).items()}


@cache
def expected(case: Case, data: Data) -> dict[tuple[Any, ...], float | None]:
    """Return the reference's value of each slice, None where it is undefined."""
    threshold = case.threshold or data.options.get("threshold", 0.5)
    values: dict[tuple[Any, ...], float | None] = {}
    for key, rows in rows_by_slice(data, threshold).items():
        if not len(rows.label):
            values[key] = None
            continue
        # scikit-learn would look at every argument again, which the metrics share.
        unchecked = config_context(assume_finite=True, skip_parameter_validation=True)
        with warnings.catch_warnings(), unchecked:
            # scikit-learn warns of the very cases that are undefined here.
            warnings.simplefilter("ignore")
            value = case.reference(rows)
        values[key] = None if value is None or np.isnan(value) else float(value)
    return values


def check(case: Case, data: Data, result: list[dict[str, Any]]) -> None:
    """Compare the rows of one metric with the reference, slice by slice."""
    wanted = expected(case, data)
    rows = {tuple(row[key] for key in data.by): row for row in result}
    assert rows.keys() == wanted.keys()
    assert len(rows) == len(result)
    counts = heights(data)
    wrong: list[str] = []
    for key, row in rows.items():
        value, want = row["value"], wanted[key]
        assert row["n"] == counts.get(key, 0)
        if want is None or value is None:
            if value != want:
                wrong.append(f"{key}: {value} instead of {want} ({row['note']})")
            elif not row["note"]:
                wrong.append(f"{key}: undefined without a note")
        elif value != want and not abs(value - want) <= case.tolerance * max(1.0, abs(want)):
            wrong.append(f"{key}: {value} instead of {want}")
    assert not wrong, "; ".join(wrong)


#: Together the metrics see every data set. Alone a metric differs only in the twin that it may
#: take, so that the others see a few of each kind, and the oldest engines one.
ALONE = {"plain", "no rows", "weights and keys", "ties", "one class"}


def pairs() -> Iterator[Any]:
    for case in CASES:
        twins = len(catalog.files(case.name)) > 1
        # What takes no weights has its keys without them.
        names = ALONE if case.weighted else ALONE | {"by two keys"}
        for data in DATA:
            if case.fits(data) and (twins or data.name in names):
                newest = [] if twins or data.name == "plain" else [pytest.mark.slow]
                yield pytest.param(case, data, id=f"{case}-{data.name}", marks=newest)


@pytest.mark.parametrize(("case", "data"), list(pairs()))
def test_metric_equals_its_reference(case: Case, data: Data) -> None:
    check(case, data, predictions(data).evaluate(case.metric).collect().rows(named=True))


#: What these break is broken by a plan: they see every one, the others take turns.
BREAKING = {
    "plain", "no rows", "no rows, by one key", "by two keys", "weights and keys",
    "no weight at all", "a slice without weight", "a slice without usable rows", "heavy ties",
    "heavy ties and weights", "heavy ties by key", "one class a slice", "only positives",
    "infinite scores",
}  # fmt: skip


def plans() -> Iterator[Any]:
    for kind in ROLES:
        for nth, data in enumerate(data for data in DATA if data.kind == kind):
            turns = {"rows"}
            # Only metrics with cutoffs have other plans, and read other files for an interval.
            if kind == "binary":
                turns.add(("rows", "groups", "interval")[nth % 3])
            if kind == "binary" and data.name in BREAKING:
                turns = {"rows", "groups", "interval"}
            if data.weight:
                turns.discard("groups")
            # The plans differ in their SQL, which the oldest engines see on what breaks it.
            newest = {plan for plan in turns if plan != "rows" and data.name not in BREAKING}
            for some, marks in ((turns - newest, []), (newest, [pytest.mark.slow])):
                if some:
                    listed = sorted(some)
                    yield pytest.param(data, listed, id=f"{data}-{'-'.join(listed)}", marks=marks)


@pytest.mark.slow
def test_only_unweighted_binary_metrics_have_a_plan_of_groups() -> None:
    # What is read by rows whatever the plan need not be compared once more.
    for kind in ROLES:
        for weight in (None, "count"):
            cases = [case for case in CASES if case.kind == kind and (case.weighted or not weight)]
            metrics = [case.metric for case in {case.request: case for case in cases}.values()]
            if metrics:
                bound = sqleval.scan(drawn(kind), **ROLES[kind], weight=weight)
                alike = bound.sql(metrics, plan="rows") == bound.sql(metrics, plan="groups")
                assert alike == (kind != "binary" or weight is not None)


#: Scores on both sides of where eight bytes hold a score and its label, and of each other.
_EDGES = [
    2.0**-10, np.nextafter(2.0**-10, 0), 1.0, np.nextafter(1.0, 0), np.nextafter(1.0, 2), 0.0,
    0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), 5e-324, 1e-300, -1.0, 2.0, np.inf, -np.inf,
    0.1, -0.0,
]  # fmt: skip


def sets_of_all_sizes(kind: Any) -> list[pl.DataFrame]:
    """Return 600 small sets, the first of which is that of no name."""
    rng = np.random.default_rng(7)
    sets: list[pl.DataFrame] = []
    for i in range(600):
        n = int(rng.integers(2, 60))
        near = rng.choice([1e-4, 2.0**-10, 0.01, 1.0, 3.0]) * rng.random(n)
        edges = rng.choice(_EDGES, n)
        drawn = (near, near.round(2), edges, np.where(rng.random(n) < 0.5, near, edges))[i % 4]
        score = np.clip(drawn, -3, 3) if kind.is_decimal() else drawn
        label = rng.integers(0, 2, n) if i % 7 else np.full(n, i // 7 % 2)
        sets.append(pl.DataFrame({"set": i if i else None, "y": label, "p": score},
                                 schema_overrides={"set": pl.Int64}))  # fmt: skip
    return [each.with_columns(pl.col("p").cast(kind)) for each in sets]


@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32, pl.Decimal(38, 30)])
def test_roc_auc_alone_on_scores_of_all_sizes(kind: Any, tmp_path: Path) -> None:
    # Alone it is sorted in a way of its own.
    sets = sets_of_all_sizes(kind)
    frame = pl.concat(sets)
    frame.write_parquet(tmp_path / "sets.parquet")
    expected: dict[int | None, float | None] = {}
    for (i,), part in frame.partition_by("set", as_dict=True).items():
        # Ranks tell scores apart that are one DOUBLE.
        ranks = part["p"].rank("dense")
        two = part["y"].n_unique() == 2
        expected[i] = float(roc_auc_score(part["y"], ranks)) if two else None
    found = sqleval.scan(tmp_path / "sets.parquet", label="y", score="p", by="set")
    result = found.evaluate("roc_auc").collect()
    assert dict(result.select("set", "value").iter_rows()) == pytest.approx(expected, abs=1e-15)
    for i in (0, 7, 14, 101, 102):
        (value,) = (
            sqleval.scan(sets[i], label="y", score="p").evaluate("roc_auc").collect()["value"]
        )
        assert value == pytest.approx(expected[i or None], abs=1e-15)


def test_rows_are_as_good_as_groups_of_them(tmp_path: Path) -> None:
    # Runs of negatives are one unit; a threshold and Brier's parts look rows up, each its own way.
    metrics = [file.name for file in FILES if file.header.get("units") == "runs"]
    assert "roc_auc" in metrics
    metrics.append("break_even_threshold")
    brier = ["brier_reliability", "brier_resolution"]
    metrics += ["best_f_beta(beta=3)", "best_f_beta_threshold(beta=3)"]
    metrics += [f"precision_at_recall{more}(recall=0)" for more in ("", "_threshold")]
    metrics += [f"recall_at_precision{more}(precision=1)" for more in ("", "_threshold")]
    pl.concat(sets_of_all_sizes(pl.Float64)).write_parquet(tmp_path / "sets.parquet")
    probabilities = {"where": "p BETWEEN 0 AND 1"}
    for asked, sign, options in (
        (metrics, "is_run", {"by": "set"}),
        (metrics, "is_run", {}),
        (brier, "looked_up", {"by": "set", **probabilities}),
        (brier, "looked_up", probabilities),
    ):
        bound = sqleval.scan(tmp_path / "sets.parquet", label="y", score="p", **options)
        rows, groups = (bound.sql(asked, plan=plan) for plan in ("rows", "groups"))
        assert (sign in rows, sign in groups) == (True, False)
        found, exact = (pl.DataFrame(duckdb.sql(sql)).drop("method") for sql in (rows, groups))
        assert exact["value"].count() > 100 or not options.get("by")
        assert_frame_equal(found, exact, abs_tol=1e-13)


def parts(data: Data, cases: list[Case]) -> Iterator[tuple[str, ...]]:
    """Yield the metrics of each statement: all in one, or few that are planned in less time.

    The cases of a family stand together, and so do the steps that they share.
    """
    most = len(cases) if data.name == "plain" else 35
    for start in range(0, len(cases), most):
        yield tuple(case.metric for case in cases[start : start + most])


#: The statements over one file, by what they depend on beside its path.
_TEXTS: dict[tuple[object, ...], tuple[Path, str]] = {}


def text_of(data: Data, metrics: tuple[str, ...], plan: Any, path: Path) -> str:
    """Return a statement over a file; data that differ in their rows alone share its text."""
    key = (data.kind, str(data.options), str(data.frame.schema), metrics, plan)
    if key not in _TEXTS:
        bound = predictions(data, path)
        interval = plan == "interval"
        text = bound.sql(metrics, ci=0.95) if interval else bound.sql(metrics, plan=plan)
        _TEXTS[key] = path, text
    first, text = _TEXTS[key]
    return text.replace(str(first), str(path))


@pytest.fixture(scope="module")
def console() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        yield con


@pytest.mark.parametrize(("data", "turns"), list(plans()))
def test_metrics_together_equal_their_references(
    data: Data,
    turns: list[str],
    parquet: Callable[[Data], Path],
    console: duckdb.DuckDBPyConnection,
) -> None:
    # Together they share steps instead of taking twins, and each plan has its own units. An
    # interval takes the portable files.
    cases = [case for case in CASES if case.fits(data)]
    cases = list({case.request: case for case in cases}.values())
    if not cases:
        pytest.skip("no metric of this kind takes weights")
    problems: list[str] = []
    for plan in turns:
        rows: dict[str, list[dict[str, Any]]] = {}
        for metrics in parts(data, cases):
            result = console.execute(text_of(data, metrics, plan, parquet(data)))
            names = [column[0] for column in result.description or []]
            for row in result.fetchall():
                named = dict(zip(names, row, strict=True))
                rows.setdefault(named["metric"], []).append(named)
                assert named["_problem"] is None
        for case in cases:
            try:
                check(case, data, rows.get(request.label(case.request), []))
            except AssertionError as error:
                problems.append(f"{plan}: {case.metric}: {error}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.weighted and case.kind != "probabilities"], ids=str
)
def test_weights_are_refused_where_a_metric_cannot_use_them(case: Case) -> None:
    bound = sqleval.scan(drawn(case.kind), **ROLES[case.kind], weight="w")
    with pytest.raises(RequestError, match="cannot use weights"):
        bound.evaluate(case.metric)


@pytest.mark.parametrize("relation", FILES, ids=lambda relation: relation.name)
def test_every_metric_file_has_a_case(relation: catalog.Relation) -> None:
    assert relation.name in {case.name for case in CASES}


@pytest.mark.parametrize(
    "relation", [*FILES, *catalog.relations("curve")], ids=lambda relation: relation.name
)
def test_reference_in_the_header_exists(relation: catalog.Relation) -> None:
    name = relation.header["reference"]
    if name.split(".")[0] not in ("sklearn", "scipy", "numpy"):
        pytest.skip(f"{name} is a paper or no dependency of the tests")
    module, _, function = name.rpartition(".")
    assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize("name", ["prediction column", "both columns", "words", "booleans"])
def test_hard_decisions_replace_the_threshold(name: str) -> None:
    frame = drawn("binary").with_columns(d=(pl.col("w") > 0.5).cast(pl.Int64))
    values = {0: "ham", 1: "spam"}
    options: dict[str, Any] = {"prediction": "d", "label": "y", "task": "binary"}
    bound = frame
    if name == "both columns":
        options["score"] = "p"
    if name == "words":
        bound = frame.with_columns(pl.col("y", "d").replace_strict(values))
        options["positive"] = "spam"
    if name == "booleans":
        bound = frame.with_columns(pl.col("y", "d") == 1)
    ((tn, fp), (fn, tp)) = confusion_matrix(frame["y"], frame["d"])
    result = sqleval.scan(bound, **options).evaluate(["precision", "recall", "accuracy"]).collect()
    wanted = [tp / (tp + fp), tp / (tp + fn), (tp + tn) / frame.height]
    assert result["value"].to_list() == pytest.approx(wanted, rel=1e-12)


def test_macro_auc_equals_one_versus_rest_of_scikit_learn() -> None:
    frame = drawn("probabilities", 300)
    scores = frame.select("p_a", "p_b", "p_c").to_numpy()
    # The order in which classes are named does not matter.
    roles = {**ROLES["probabilities"], "score": {"c": "p_c", "a": "p_a", "b": "p_b"}}
    bound = sqleval.scan(frame, **roles)
    for average in ("macro", "weighted"):
        want = roc_auc_score(frame["y"], scores, multi_class="ovr", average=average)
        got = bound.evaluate(f"roc_auc_ovr_{average}").collect()["value"].item()
        assert got == pytest.approx(want, rel=1e-12)


# -- the note of an average --------------------------------------------------------------------


def test_undefined_classes_leave_the_mean_and_are_counted() -> None:
    frame = pl.DataFrame({"y": ["a", "a", "b", "c"], "c": ["a", "b", "b", "a"]})
    bound = sqleval.scan(frame, label="y", prediction="c")
    row = bound.evaluate("precision(average='macro')").collect().row(0, named=True)
    assert row["value"] == pytest.approx(0.5)
    assert row["note"] == "undefined for 1 of 3 classes"


# -- intervals ---------------------------------------------------------------------------------

RATES = [row["name"] for row in sqleval.metrics() if row["interval"] == "wilson"]


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("weight", [None, "count"])
@pytest.mark.parametrize("name", RATES)
def test_wilson_interval_of_a_rate(name: str, weight: str | None, level: float) -> None:
    frame = drawn("binary", 200)
    bound = sqleval.scan(frame, label="y", score="p", weight=weight)
    row = bound.evaluate(name, ci=level).collect().row(0, named=True)
    rows = rows_of(frame, "binary", weight=weight)
    (tn, fp), (fn, tp) = confusion_matrix(rows.label, rows.prediction, sample_weight=rows.weight)
    successes, trials = {
        "precision": (tp, tp + fp),
        "recall": (tp, tp + fn),
        "specificity": (tn, tn + fp),
        "false_positive_rate": (fp, tn + fp),
        "negative_predictive_value": (tn, tn + fn),
        "jaccard": (tp, tp + fp + fn),
        "prevalence": (tp + fn, rows.weight.sum()),
        "accuracy": (tp + tn, rows.weight.sum()),
        "error_rate": (fp + fn, rows.weight.sum()),
    }[name]
    wanted = binomtest(int(successes), int(trials)).proportion_ci(level, method="wilson")
    assert (row["low"], row["high"]) == pytest.approx((wanted.low, wanted.high), rel=1e-12)
    assert "wilson" in row["method"]


@pytest.mark.parametrize("prediction", [0.0, 1.0])
def test_wilson_interval_stays_in_0_to_1(prediction: float) -> None:
    frame = pl.DataFrame({"y": [1, 1, 1], "p": [prediction] * 3})
    row = sqleval.scan(frame, label="y", score="p").evaluate("recall", ci=0.95).collect()
    wanted = binomtest(int(3 * prediction), 3).proportion_ci(0.95, method="wilson")
    assert row["low"].item() == pytest.approx(wanted.low, abs=1e-12)
    assert row["high"].item() == pytest.approx(wanted.high, abs=1e-12)
    assert 0 <= row["low"].item() <= row["high"].item() <= 1


def row_losses(name: str, frame: pl.DataFrame) -> np.ndarray:
    label = frame["y"].to_numpy().astype(float)
    if name in ("mae", "mse"):
        error = frame["v"].to_numpy() - label
        return np.abs(error) if name == "mae" else error**2
    score = frame["p"].to_numpy()
    eps = np.finfo(float).eps
    own = np.clip(np.where(label == 1, score, 1 - score), eps, 1 - eps)
    return (score - label) ** 2 if name == "brier_score" else -np.log(own)


@pytest.mark.parametrize("weight", [None, "count"])
@pytest.mark.parametrize("name", ["mae", "mse", "log_loss", "brier_score"])
def test_normal_interval_of_a_mean(name: str, weight: str | None) -> None:
    kind: Kind = "regression" if name in ("mae", "mse") else "binary"
    frame = drawn(kind, 200)
    bound = sqleval.scan(frame, **ROLES[kind], weight=weight)
    row = bound.evaluate(name, ci=0.95).collect().row(0, named=True)
    losses = row_losses(name, frame)
    if weight:
        losses = np.repeat(losses, frame[weight].to_numpy())
    half = norm.ppf(0.975) * losses.std(ddof=1) / np.sqrt(len(losses))
    wanted = (losses.mean() - half, losses.mean() + half)
    assert (row["low"], row["high"]) == pytest.approx(wanted, rel=1e-10)
    assert row["method"] == "normal"


def test_normal_interval_over_queries() -> None:
    frame = drawn("ranking", 200)
    bound = sqleval.scan(frame, **ROLES["ranking"])
    row = bound.evaluate("ndcg", ci=0.95).collect().row(0, named=True)
    single = sqleval.scan(frame, **ROLES["ranking"], by="q").evaluate("ndcg").collect()["value"]
    half = norm.ppf(0.975) * single.std() / np.sqrt(len(single))
    assert row["low"] == pytest.approx(single.mean() - half, rel=1e-12)
    assert row["high"] == pytest.approx(single.mean() + half, rel=1e-12)
    assert row["method"] == "normal"


def delong(label: np.ndarray, score: np.ndarray) -> tuple[float, float]:
    """Return the area and its standard error from all pairs of a positive and a negative."""
    one, other = score[label == 1][:, None], score[label == 0][None, :]
    beats = (one > other) + 0.5 * (one == other)
    of_positives, of_negatives = beats.mean(axis=1), beats.mean(axis=0)
    variance = of_positives.var(ddof=1) / len(of_positives)
    variance += of_negatives.var(ddof=1) / len(of_negatives)
    return beats.mean(), np.sqrt(variance)


@pytest.mark.parametrize("weight", [None, "count"])
@pytest.mark.parametrize("digits", [17, 1, 0])
def test_delong_interval_of_roc_auc(digits: int, weight: str | None) -> None:
    frame = drawn("binary", 300, seed=7).with_columns(pl.col("p").round(digits))
    bound = sqleval.scan(frame, label="y", score="p", weight=weight)
    row = bound.evaluate("roc_auc", ci=0.9).collect().row(0, named=True)
    times = frame[weight].to_numpy() if weight else 1
    area, error = delong(np.repeat(frame["y"], times), np.repeat(frame["p"], times))
    half = norm.ppf(0.95) * error
    assert row["value"] == pytest.approx(area, rel=1e-12)
    assert (row["low"], row["high"]) == pytest.approx((area - half, area + half), rel=1e-10)
    assert "delong" in row["method"]


def test_delong_interval_by_slice_is_cut_at_1() -> None:
    frame = drawn("binary", 60).with_columns(p=pl.col("y") * 0.5 + pl.col("w") * 0.52)
    bound = sqleval.scan(frame, label="y", score="p", by=["g"])
    for row in bound.evaluate("roc_auc", ci=0.99).collect().iter_rows(named=True):
        part = frame.filter(pl.col("g").eq_missing(pl.lit(row["g"])))
        area, error = delong(part["y"].to_numpy(), part["p"].to_numpy())
        half = norm.ppf(0.995) * error
        assert row["low"] == pytest.approx(area - half, rel=1e-10)
        assert row["high"] == pytest.approx(min(area + half, 1.0), rel=1e-10)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_interval_is_there_or_its_absence_has_a_note(case: Case) -> None:
    frame = drawn(case.kind)
    bound = sqleval.scan(frame, **ROLES[case.kind])
    row = bound.evaluate(case.metric, ci=0.95).collect().row(0, named=True)
    if row["low"] is None:
        assert row["high"] is None
        assert row["value"] is None or "no interval" in row["note"]
    else:
        assert row["low"] <= row["value"] <= row["high"]
        assert row["method"]
        assert row["note"] is None


@pytest.mark.parametrize(
    ("metric", "frame"),
    [
        ("roc_auc", pl.DataFrame({"y": [1, 0, 0], "p": [0.9, 0.1, 0.95]})),
        ("log_loss", pl.DataFrame({"y": [1], "p": [0.9]})),
        ("brier_score", pl.DataFrame({"y": [1], "p": [0.9]})),
    ],
)
def test_too_few_rows_for_an_interval_is_noted(metric: str, frame: pl.DataFrame) -> None:
    row = sqleval.scan(frame, label="y", score="p").evaluate(metric, ci=0.95).collect()
    assert row["value"].item() is not None
    assert row["low"].item() is None
    assert row["high"].item() is None
    assert row["note"].item()


# -- curves ------------------------------------------------------------------------------------


def reference_curve(name: str, frame: pl.DataFrame, **options: Any) -> np.ndarray:
    """Return scikit-learn's points as (threshold, x, y), thresholds descending from infinity."""
    # Places stand for scores, which may be infinite; their thresholds are put back.
    distinct, places = np.unique(frame["p"].to_numpy().astype(float), return_inverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "roc_curve":
            x, y, thresholds = roc_curve(frame["y"], places, **options)
            own = thresholds[1:]
        else:
            x, y, own = precision_recall_curve(frame["y"], places, **options)
            x, y, own = x[::-1], y[::-1], own[::-1]
            if not (frame["y"] == 1).any():
                y = np.full_like(y, np.nan)  # scikit-learn says 1
    return np.column_stack([[np.inf, *distinct[own.astype(int)]], x, y])


CURVES = [
    pytest.param(name, data, drop, id=f"{name}-{data.name}-{'dropped' if drop else 'all'}")
    for name in ("roc_curve", "pr_curve")
    for data in BINARY
    for drop in (False, True)
    # Whether three points of real weights lie on one line is a matter of rounding.
    if not (drop and data.weight == "w")
]


@pytest.mark.parametrize(("name", "data", "drop"), CURVES)
def test_curve_equals_scikit_learn(name: str, data: Data, drop: bool) -> None:
    curve = predictions(data).curve(name, drop_intermediate=drop).collect()
    columns = (
        ["threshold", "fpr", "tpr"] if name == "roc_curve" else ["threshold", "precision", "recall"]
    )
    assert [column for column in curve.columns if column not in data.by] == columns
    points, known = data.groups(curve), data.groups(data.known)
    for key, frame in known.items():
        weight = frame[data.weight].to_numpy().astype(float) if data.weight else np.ones(len(frame))
        rows = frame.filter(pl.Series(weight > 0))
        if not rows.height:
            continue
        wanted = reference_curve(
            name, rows, drop_intermediate=drop, sample_weight=weight[weight > 0]
        )
        got = points[key].select(columns).to_numpy()
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["roc", "pr"])
def test_curve_of_no_rows_has_its_columns(name: str) -> None:
    curve = sqleval.scan(drawn("binary").clear(), label="y", score="p", by="g").curve(name)
    assert curve.collect().schema == curve.collect_schema()
    assert curve.collect().is_empty()


def test_large_results_keep_their_order() -> None:
    rng = np.random.default_rng(5)
    n = 300_000
    frame = pl.DataFrame(
        {"y": rng.integers(0, 2, n), "p": rng.random(n), "g": rng.integers(0, 50_000, n)}
    )
    for name in ("roc", "pr", "gain"):
        curve = sqleval.scan(frame, label="y", score="p").curve(name).collect()
        assert curve.height > n
        assert curve["threshold"].is_sorted(descending=True)
    slices = sqleval.scan(frame, label="y", score="p", by="g").evaluate(["roc_auc", "prevalence"])
    assert slices.collect()["g"].is_sorted()


def test_dropping_points_keeps_the_area() -> None:
    bound = sqleval.scan(drawn("binary", 500), label="y", score="p")
    full = bound.curve("roc").collect()
    short = bound.curve("roc", drop_intermediate=True).collect()
    assert short.height < full.height
    areas = [np.trapezoid(curve["tpr"], curve["fpr"]) for curve in (full, short)]
    assert areas[0] == pytest.approx(areas[1], rel=1e-12)


@pytest.mark.parametrize(
    "data", [data for data in DATA if data.kind in ("binary", "multiclass")], ids=str
)
def test_confusion_equals_scikit_learn(data: Data) -> None:
    table = predictions(data).confusion().collect()
    assert table["n"].dtype == (pl.Float64 if data.weight else pl.Int64)
    tables = data.groups(table)
    threshold = data.options.get("threshold", 0.5)
    for key, frame in data.groups(data.known).items():
        rows = rows_of(frame, data.kind, threshold=threshold, weight=data.weight)
        if not len(rows.label):
            continue
        classes = rows.classes.tolist()
        with warnings.catch_warnings():
            # scikit-learn warns of a single class, even where labels= names it.
            warnings.simplefilter("ignore")
            wanted = confusion_matrix(
                rows.label, rows.prediction, sample_weight=rows.weight, labels=classes
            )
        cells = {
            (a, b): n for a, b, n in tables[key].select("label", "prediction", "n").iter_rows()
        }
        got = [[cells.get((a, b), 0) for b in classes] for a in classes]
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
        assert sum(cells.values()) == pytest.approx(rows.weight.sum())


def test_confusion_at_a_threshold() -> None:
    frame = drawn("binary")
    table = sqleval.scan(frame, label="y", score="p").confusion(threshold=0.3).collect()
    rows = rows_of(frame, "binary", threshold=0.3)
    wanted = confusion_matrix(rows.label, rows.prediction).ravel().tolist()
    assert table.sort("label", "prediction")["n"].to_list() == wanted


# -- worked answers ----------------------------------------------------------------------------

#: Small tables with answers that were derived by hand or published, each with its source.
WORKED = json.loads((Path(__file__).parents[1] / "support" / "worked.json").read_text())

#: The densities of the case under a density, on [0, 1].
DENSITIES = {"uniform": lambda x: np.ones_like(x), "p_2x": lambda x: 2 * x}


def worked_frame(case: dict[str, Any]) -> pl.DataFrame:
    """Return the rows of a worked case."""
    if case["name"] == "simulated_1000":
        return simulated()
    if case["name"] == "holdout_arithmetic":
        return pl.DataFrame({"label": [1] * 300, "prediction": [0] * 90 + [1] * 210})
    return pl.DataFrame({key: case[key] for key in ("label", "score", "prediction") if key in case})


def simulated() -> pl.DataFrame:
    """Follow the recipe of the teaching material, draw by draw."""
    random = np.random.RandomState(100)
    label = np.array([0, 1] * 500)
    random.shuffle(label)
    random = np.random.RandomState(20)
    weak, strong = random.rand(1000), []
    for one in label:
        high = random.rand() > 0.05 if one else not random.rand() > 0.3
        strong.append(random.rand() / 2 + (0.5 if high else 0.0))
    return pl.DataFrame({"label": label, "score": weak, "strong": strong})


def worked_answer(case: dict[str, Any], name: str) -> Any:
    """Return what sqleval says where the case names ``name``."""
    if name in DENSITIES:
        return under_density(name)
    if "tp" in case:
        metric = {"fpr": "false_positive_rate"}.get(name, name)
        return [counted_answer(case, i, metric) for i in range(len(case["tp"]))]
    frame = worked_frame(case)
    roles: dict[str, Any] = {"label": "label", "task": "binary"}
    roles |= {role: role for role in ("score", "prediction") if role in frame.columns}
    if name.endswith("_per_class"):
        return split_per_class(name.removesuffix("_per_class"))
    positives = int(frame["label"].sum())
    pairs = positives * (frame.height - positives)
    if name in ("roc_points_fpr_tpr", "roc_thresholds"):
        curve = sqleval.scan(frame, **roles).curve("roc").collect()
        return curve.select("fpr", "tpr").rows() if "points" in name else curve["threshold"]
    if name in ("precision", "recall") and isinstance(case["expect"][name], list):
        return sqleval.scan(frame, **roles).curve("pr").collect()[name][1:]
    if name in ("positive_rank_sum", "concordant_pairs", "tied_pairs"):
        # Both follow from the area: pairs won, ties as half.
        won = (
            sqleval.scan(frame, **roles).evaluate("roc_auc_pairs").collect()["value"].item() * pairs
        )
        tied = case["expect"]["tied_pairs"] / 2
        return {
            "positive_rank_sum": won + positives * (positives + 1) / 2,
            "concordant_pairs": won - tied,
            "tied_pairs": 2 * (won - case["expect"]["concordant_pairs"]),
        }[name]
    score = {"roc_auc_strong": "strong", "roc_auc_of_prediction_as_score": "prediction"}
    if name.startswith("roc_auc_"):
        bound = sqleval.scan(frame, label="label", score=score.get(name, "score"))
        return bound.evaluate("roc_auc").collect()["value"].item()
    return sqleval.scan(frame, **roles).evaluate(name).collect()["value"].item()


def split_per_class(role: str) -> int:
    """Split 1,000 rows of two classes by strata, and count a class's rows of a role."""
    frame = pl.DataFrame({"id": range(1000), "label": [0, 1] * 500})
    found = sqleval.split(frame, key="id", stratify="label", test_size=0.3).collect()
    chosen = found.filter(role=role).join(frame, on="id")
    return int(chosen.group_by("label").len()["len"].unique().item())


def under_density(name: str) -> float:
    """Integrate by Gauss and Legendre, whose sum is exact for a polynomial."""
    nodes, widths = np.polynomial.legendre.leggauss(8)
    x = (nodes + 1) / 2
    frame = pl.DataFrame({"y": x, "v": 0.0 * x, "w": DENSITIES[name](x) * widths / 2})
    bound = sqleval.scan(frame, label="y", prediction="v", weight="w", task="regression")
    return bound.evaluate("mse(normalize=False)").collect()["value"].item()


def counted_answer(case: dict[str, Any], i: int, metric: str) -> float:
    cells = {"tp": (1, 1), "fp": (0, 1), "fn": (1, 0), "tn": (0, 0)}
    rows = [(*pair, case[cell][i]) for cell, pair in cells.items()]
    frame = pl.DataFrame(rows, schema=["label", "prediction", "n"], orient="row")
    bound = sqleval.scan(frame, label="label", prediction="prediction", weight="n", task="binary")
    return bound.evaluate(metric).collect()["value"].item()


@pytest.mark.parametrize(
    ("case", "name"),
    [
        pytest.param(case, name, id=f"{case['name']}-{name}")
        for case in WORKED
        for name in case["expect"]
    ],
)
def test_worked_answer(case: dict[str, Any], name: str) -> None:
    got, want = worked_answer(case, name), case["expect"][name]
    if want is None:
        assert got is None
        return
    if isinstance(want, list):
        want = np.array(want, dtype=float)
        got = np.array(got, dtype=float)
    # The simulated areas are printed with six decimals.
    tolerance = {"abs": 5e-7} if case["name"] == "simulated_1000" else {"rel": 1e-12, "abs": 1e-12}
    assert got == pytest.approx(want, **tolerance)
