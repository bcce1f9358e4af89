"""Arrays at hand are evaluated and compared as scikit-learn does, whatever library they are of."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    mean_absolute_error,
    ndcg_score,
    precision_score,
    roc_auc_score,
)

import sqleval
from sqleval import DataError, RequestError
from tests.support.comparison import assert_frame_equal

X, Y = load_breast_cancer(return_X_y=True)
MODEL = LogisticRegression(max_iter=10_000).fit(X[::2], Y[::2])
TEST_X, TEST_Y = X[1::2], Y[1::2]
P = MODEL.predict_proba(TEST_X)
IRIS = load_iris(as_frame=True)
FLOWERS = IRIS.target.map(dict(enumerate(IRIS.target_names)))
FOREST = RandomForestClassifier(20, random_state=0).fit(IRIS.data[::2], FLOWERS[::2])
LINEAR = LogisticRegression(C=0.1, max_iter=10_000).fit(IRIS.data[::2], FLOWERS[::2])
TEST_FLOWERS = FLOWERS[1::2]
Q, R = FOREST.predict_proba(IRIS.data[1::2]), LINEAR.predict_proba(IRIS.data[1::2])

LIBRARIES: dict[str, Callable[[Any], Any]] = {
    "numpy": np.asarray,
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "pandas": pd.Series,
    "pandas, another index": lambda a: pd.Series(a, index=np.arange(len(a)) + 7),
    "pandas, nullable": lambda a: pd.Series(a).convert_dtypes(),
    "pandas, of Arrow": lambda a: pd.Series(a).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, its array": lambda a: pd.Series(a).convert_dtypes().array,
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow, in chunks": lambda a: pa.chunked_array([a[:50], a[50:]]),
    "one column": lambda a: np.asarray(a)[:, None],
    "a frame of one column": lambda a: pd.DataFrame({"a": a}),
    "reversed twice": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "a matrix": lambda a: np.asarray(a)[:, None].view(np.matrix),
    "masked": lambda a: np.ma.array(a, mask=np.zeros(len(a), bool)),
}


def _values(found: pl.DataFrame) -> dict[str, float]:
    return dict(found.select("metric", "value").iter_rows())


@pytest.mark.parametrize("library", LIBRARIES)
def test_labels_and_probabilities_of_each_library(library: str) -> None:
    make = LIBRARIES[library]
    found = _values(sqleval.evaluate(make(TEST_Y), make(P[:, 1])))
    assert found["roc_auc"] == pytest.approx(roc_auc_score(TEST_Y, P[:, 1]), abs=1e-12)
    assert found["log_loss"] == pytest.approx(log_loss(TEST_Y, P), abs=1e-12)
    assert found["f1"] == pytest.approx(f1_score(TEST_Y, P[:, 1] >= 0.5), abs=1e-12)


def test_one_line_gives_a_table_with_intervals() -> None:
    found = sqleval.evaluate(TEST_Y, MODEL.predict_proba(TEST_X)[:, 1], ci=0.95)
    assert isinstance(found, pl.DataFrame)
    assert found["low"].null_count() == 0
    frame = pl.DataFrame({"y": TEST_Y, "p": P[:, 1]})
    assert_frame_equal(found, sqleval.scan(frame, label="y", score="p").evaluate(ci=0.95).collect())


@pytest.mark.parametrize("kind", ["numpy", "list", "pandas", "polars", "arrow", "lists of polars"])
def test_two_columns_are_the_score_of_the_positive_class(kind: str) -> None:
    make: dict[str, Callable[[], Any]] = {
        "numpy": lambda: P,
        "list": lambda: P.tolist(),
        "pandas": lambda: pd.DataFrame(P),
        "polars": lambda: pl.DataFrame(P),
        "arrow": lambda: pa.table({"0": P[:, 0], "1": P[:, 1]}),
        "lists of polars": lambda: pl.Series(P),
    }
    found = _values(sqleval.evaluate(TEST_Y, make[kind](), ["log_loss", "roc_auc"]))
    assert found["log_loss"] == pytest.approx(log_loss(TEST_Y, P), abs=1e-12)
    assert found["roc_auc"] == pytest.approx(roc_auc_score(TEST_Y, P[:, 1]), abs=1e-12)


@pytest.mark.parametrize(
    "labels", [(0, 1), (-1, 1), (False, True), ("no", "yes"), (1, 2), (0.0, 1.0)]
)
@pytest.mark.parametrize("first", [False, True], ids=["second", "first"])
def test_two_columns_and_classes(labels: tuple[Any, Any], *, first: bool) -> None:
    y = np.array(labels)[TEST_Y]
    model = LogisticRegression(max_iter=10_000).fit(X[::2], np.array(labels)[Y[::2]])
    probabilities = model.predict_proba(TEST_X)
    positive = {"positive": labels[0]} if first else {}
    truth, p = (TEST_Y == 0, probabilities[:, 0]) if first else (TEST_Y, probabilities[:, 1])
    found = _values(
        sqleval.evaluate(
            y, probabilities, ["brier_score", "recall"], classes=model.classes_, **positive
        )
    )
    assert found["brier_score"] == pytest.approx(brier_score_loss(truth, p), abs=1e-12)
    assert found["recall"] == pytest.approx((p[truth == 1] >= 0.5).mean(), abs=1e-12)
    if not first:
        single = sqleval.evaluate(
            y, probabilities[:, 1], ["brier_score", "recall"], classes=model.classes_
        )
        assert _values(single) == found


def test_columns_without_classes_follow_the_labels() -> None:
    for y in (np.where(TEST_Y, 1, -1), TEST_Y == 1, TEST_Y.astype(float)):
        found = _values(sqleval.evaluate(y, P, ["log_loss"]))
        assert found["log_loss"] == pytest.approx(log_loss(TEST_Y, P), abs=1e-12)
    found = _values(sqleval.evaluate(np.where(TEST_Y, 1, -1), P, ["log_loss"], positive=-1))
    assert found["log_loss"] == pytest.approx(log_loss(TEST_Y, P), abs=1e-12)
    with pytest.raises(
        RequestError, match=r"y holds labels from 1 to 2. p has 2 columns, and clas"
    ):
        sqleval.evaluate(TEST_Y + 1, P)


@pytest.mark.parametrize("kind", ["classes", "pandas", "polars", "categories", "objects"])
def test_three_classes_of_texts(kind: str) -> None:
    p: Any = Q
    y: Any = TEST_FLOWERS
    options: dict[str, Any] = {}
    if kind in ("classes", "categories", "objects"):
        options = {"classes": FOREST.classes_}
    if kind == "pandas":
        p = pd.DataFrame(Q, columns=FOREST.classes_, index=TEST_FLOWERS.index)
    if kind == "polars":
        p = pl.DataFrame(Q, schema=list(FOREST.classes_)).select(pl.all().reverse().reverse())
    if kind == "categories":
        y = TEST_FLOWERS.astype("category")
    if kind == "objects":
        y = TEST_FLOWERS.to_numpy(dtype=object)
    names = ["accuracy", "log_loss", "roc_auc_ovr", "f1_macro"]
    found = sqleval.evaluate(y, p, names, **options)["value"].to_list()
    predicted = FOREST.classes_[Q.argmax(axis=1)]
    assert found == pytest.approx(
        [
            accuracy_score(TEST_FLOWERS, predicted),
            log_loss(TEST_FLOWERS, Q),
            roc_auc_score(TEST_FLOWERS, Q, multi_class="ovr"),
            f1_score(TEST_FLOWERS, predicted, average="macro"),
        ],
        abs=1e-12,
    )


def test_columns_in_another_order_are_found_by_name() -> None:
    shuffled = pd.DataFrame(Q, columns=FOREST.classes_).iloc[:, [2, 0, 1]]
    for options in ({}, {"classes": FOREST.classes_}):
        found = sqleval.evaluate(TEST_FLOWERS, shuffled, "log_loss", **options)
        assert found["value"].item() == pytest.approx(log_loss(TEST_FLOWERS, Q), abs=1e-12)


def test_classes_are_numbered_without_names() -> None:
    codes = IRIS.target[1::2]
    for y in (codes, codes.astype(float)):
        for p in (Q, pl.DataFrame(Q), pd.DataFrame(Q)):
            found = sqleval.evaluate(y, p, "log_loss")
            assert found["value"].item() == pytest.approx(log_loss(codes, Q), abs=1e-12)
    with pytest.raises(RequestError, match=r"y holds labels from 1 to 3. p has 3 columns"):
        sqleval.evaluate(codes + 1, Q)
    with pytest.raises(RequestError, match=r"classes=model\.classes_"):
        sqleval.evaluate(TEST_FLOWERS, Q)


def test_models_are_compared_as_columns_are() -> None:
    other = np.round(P[:, 1], 1)
    found = sqleval.compare(TEST_Y, {"a": P[:, 1], "b": other}, ["roc_auc"])
    frame = pl.DataFrame({"y": TEST_Y, "a": P[:, 1], "b": other})
    bound = sqleval.scan(frame, label="y", score={"a": "a", "b": "b"})
    assert_frame_equal(found, bound.compare(["roc_auc"]).collect())
    values = sqleval.evaluate(TEST_Y, {"a": P, "b": other}, ["roc_auc"])
    assert dict(values.select("model", "value").iter_rows()) == pytest.approx(
        {"a": roc_auc_score(TEST_Y, P[:, 1]), "b": roc_auc_score(TEST_Y, other)}, abs=1e-12
    )
    decisions = sqleval.compare(TEST_Y, {"a": P[:, 1] > 0.5, "b": other > 0.5}, ["accuracy"])
    assert "McNemar" in decisions["method"].item()


def test_models_of_three_classes_are_compared() -> None:
    found = sqleval.compare(
        TEST_FLOWERS, {"forest": Q, "linear": R}, ["log_loss"], classes=FOREST.classes_
    )
    assert found.select("baseline_value", "value").row(0) == pytest.approx(
        (log_loss(TEST_FLOWERS, Q), log_loss(TEST_FLOWERS, R)), abs=1e-12
    )


def test_a_mapping_of_classes_is_one_model() -> None:
    truth, scores = TEST_Y.astype(float), {0: P[:, 0], 1: P[:, 1]}
    found = sqleval.evaluate(truth, scores, ["accuracy", "log_loss"], task="multiclass")
    want = [accuracy_score(TEST_Y, P.argmax(axis=1)), log_loss(TEST_Y, P)]
    assert found["value"].to_list() == pytest.approx(want, abs=1e-12)
    names = dict(zip(FOREST.classes_, Q.T, strict=True))
    found = sqleval.evaluate(TEST_FLOWERS.to_numpy(), names, "accuracy", task="multiclass")
    want = accuracy_score(TEST_FLOWERS, FOREST.classes_[Q.argmax(axis=1)])
    assert found["value"].item() == pytest.approx(want, abs=1e-12)


def test_groups_and_rows_of_models_are_arrays() -> None:
    groups = np.where(np.arange(len(TEST_Y)) % 3 == 0, "a", "b")
    found = sqleval.compare(TEST_Y, P[:, 1], ["accuracy"], groups=groups)
    frame = pl.DataFrame({"y": TEST_Y, "p": P[:, 1], "g": groups})
    bound = sqleval.scan(frame, label="y", score="p")
    assert_frame_equal(found, bound.compare(["accuracy"], groups="g").collect())
    y, p = np.tile(TEST_Y, 2), np.concatenate([P[:, 1], P[:, 0]])
    model, key = np.repeat(["a", "b"], len(TEST_Y)), np.tile(np.arange(len(TEST_Y)), 2)
    long = sqleval.compare(y, p, ["roc_auc"], model=model, key=key)
    wide = sqleval.compare(TEST_Y, {"a": P[:, 1], "b": P[:, 0]}, ["roc_auc"])
    assert long["difference"].item() == pytest.approx(wide["difference"].item(), abs=1e-12)


def test_roles_and_keys_are_arrays() -> None:
    rng = np.random.default_rng(1)
    rows = len(TEST_Y)
    weight, region = rng.random(rows), rng.choice(["north", "south"], rows)
    user = rng.integers(0, 40, rows)
    found = sqleval.evaluate(
        TEST_Y, P[:, 1], ["roc_auc"], weight=weight, by={"region": region}, cluster=user, ci=0.9,
        sets="overall",
    )  # fmt: skip
    frame = pl.DataFrame({"y": TEST_Y, "p": P[:, 1], "w": weight, "region": region, "user": user})
    bound = sqleval.scan(frame, label="y", score="p", weight="w", by="region", sets="overall")
    assert_frame_equal(found, bound.evaluate(["roc_auc"], ci=0.9, cluster="user").collect())
    overall = found.filter(pl.col("region").is_null())["value"].item()
    expected = roc_auc_score(TEST_Y, P[:, 1], sample_weight=weight)
    assert overall == pytest.approx(expected, abs=1e-12)
    for by in (pd.Series(region, name="region"), pl.DataFrame({"region": region})):
        named = sqleval.evaluate(TEST_Y, P[:, 1], ["roc_auc"], by=by)
        for name, value in named.select("region", "value").iter_rows():
            part = region == name
            expected = roc_auc_score(TEST_Y[part], P[part, 1])
            assert value == pytest.approx(expected, abs=1e-12)


def test_keys_may_have_the_names_of_arguments() -> None:
    found = sqleval.evaluate([0, 1, 0, 1], [0.1, 0.9, 0.8, 0.2], "roc_auc", by={"p": list("aabb")})
    assert dict(found.select("p", "value").iter_rows()) == {"a": 1.0, "b": 0.0}


def test_folds_are_an_array() -> None:
    fold = np.arange(len(TEST_Y)) % 3
    found = sqleval.evaluate(TEST_Y, P[:, 1], "roc_auc(average='macro')", over=fold)
    each = [roc_auc_score(TEST_Y[fold == i], P[fold == i, 1]) for i in range(3)]
    assert found["value"].item() == pytest.approx(np.mean(each), abs=1e-12)


def test_a_ranking() -> None:
    y, p, qid = [3, 2, 0, 1, 2, 0], [0.3, 0.9, 0.1, 0.2, 0.4, 0.8], [1, 1, 1, 2, 2, 2]
    found = sqleval.evaluate(y, p, "ndcg", qid=qid)["value"].item()
    expected = ndcg_score(np.reshape(y, (2, 3)), np.reshape(p, (2, 3)))
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_regression() -> None:
    x, y = load_diabetes(return_X_y=True)
    predicted = LinearRegression().fit(x, y).predict(x)
    for truth in (y, y.astype(int)):
        found = _values(sqleval.evaluate(truth, predicted))
        assert found["mae"] == pytest.approx(mean_absolute_error(y, predicted), abs=1e-9)


@pytest.mark.parametrize(
    ("y", "p", "metric"),
    [
        ([0, 1, 1], [0.2, 0.7, 0.9], "roc_auc"),
        ([0, 1, 1], [1, 7, 10], "roc_auc"),  # deciles
        ([0, 1, 1], [0.0, 1.0, 0.0], "roc_auc"),  # a tree that was grown fully
        ([0, 0, 0], [0.2, 0.1, 0.3], "log_loss"),
        ([-1, 1, 1], [-1.3, 0.2, 2.5], "roc_auc"),
        ([True, False, True], [0.3, 0.1, 0.7], "roc_auc"),
        ([0.0, 1.0, None], [0.3, 0.1, 0.7], "roc_auc"),
    ],
)
def test_scores(y: list[Any], p: list[Any], metric: str) -> None:
    by_value = sqleval.evaluate(y, p, metric, nulls="drop")
    assert_frame_equal(by_value, sqleval.evaluate(y, score=p, metrics=metric, nulls="drop"))
    assert by_value["n"].item() > 0


@pytest.mark.parametrize(
    ("y", "p", "task"),
    [
        ([0, 1, 1], [0, 1, 0], "binary"),
        ([0, 1, 1], [True, True, False], "binary"),
        ([True, False], [0, 1], "binary"),
        ([-1, 1, 1], [-1.0, 1.0, -1.0], "binary"),
        ([0, 2, 1], [0, 1, 2], "multiclass"),
        (["a", "b", "c"], ["a", "c", "c"], "multiclass"),
        ([1.5, 2.5, 3.5], [0.2, 0.4, 0.6], "regression"),
        ([3.0, 7.0], [0.2, 0.4], "regression"),
        ([1, 5, 3], [0.2, 0.4, 0.6], "regression"),
    ],
)
def test_predictions(y: list[Any], p: list[Any], task: str) -> None:
    metric = "mae" if task == "regression" else "accuracy"
    found = sqleval.evaluate(y, p, metric)["value"].item()
    if task == "regression":
        assert found == pytest.approx(mean_absolute_error(y, p), abs=1e-12)
    else:
        assert found == pytest.approx(np.mean(np.asarray(y) == np.asarray(p)), abs=1e-12)
    with pytest.raises(RequestError, match=r"score|the task is regression"):
        sqleval.evaluate(y, p, "ks")


def test_scores_and_predictions_together() -> None:
    found = _values(
        sqleval.evaluate(
            TEST_Y, metrics=["roc_auc", "accuracy"], score=P[:, 1], prediction=P[:, 1] > 0.9
        )
    )
    assert found["roc_auc"] == pytest.approx(roc_auc_score(TEST_Y, P[:, 1]), abs=1e-12)
    assert found["accuracy"] == pytest.approx(accuracy_score(TEST_Y, P[:, 1] > 0.9), abs=1e-12)


class _Tensor:
    """An array of another library, which only passes its memory on."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


def test_tensors_are_read_by_their_memory() -> None:
    found = sqleval.evaluate(_Tensor(TEST_Y), _Tensor(P), "roc_auc")["value"].item()
    assert found == pytest.approx(roc_auc_score(TEST_Y, P[:, 1]), abs=1e-12)


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 1, 1], [0.1, 0.2], r"p has 2 rows and y has 3 rows; arrays are matched by position"),
        ("delayed", [0.1], r"y='delayed' is a text, not a NumPy array.*DataFrame.sqleval"),
        ([0, 1], np.zeros((2, 2, 2)), r"p has the shape \(2, 2, 2\); it must have one value"),
        ([0, 1], np.float64(0.5), r"p has the shape \(\); it must have one value"),
        ([0, 1], [[0.1, 0.9], [0.2]], r"p has 2 values in one row and 1 in row 1"),
        ([[0, 1], [1, 0]], [0.1, 0.9], r"y has 2 columns; it must have one value per row"),
        ([0, "a"], [0.1, 0.9], r"cannot read y, of list: .* give numbers .*, texts or"),
        (np.array([0, 1j]), [0.1, 0.9], r"cannot read y, of complex128: "),
        ({0, 1}, [0.1, 0.9], r"y is a builtins.set; it must be a NumPy array, a list"),
        ((i for i in range(2)), [0.1, 0.9], r"y is a builtins.generator; it must be a NumPy"),
        (pl.LazyFrame({"y": [0, 1]}), [0.1, 0.9], r"LazyFrame \(collect it first\)"),
        (["no", "yes"], [True, False], r"p holds truth values, and y String: compare y with"),
        (["no", "yes"], [0.1, 0.9], r"label='y' is VARCHAR: name the positive value"),
        ([0, 1], {"a": [0.1, 0.9], "b": [0, 1]}, r"'a' a score, 'b' a prediction: give score="),
        ([0, 1], None, r"give score= or prediction="),
        (None, [0.1, 0.9], r"p needs y, the truth of each row"),
        ([0, 1], pl.DataFrame(), r"p has no columns"),
        (pd.Series([0, 1, 1], index=[3, 1, 2]), pd.Series([0.1, 0.2, 0.3], index=[1, 2, 3]),
         r"the same index in another order, and arrays are matched by position"),
    ],
)  # fmt: skip
def test_wrong_arrays(y: object, p: object, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.evaluate(y, p)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "w"}, "weight='w' is a text"),
        ({"weight": [1.0]}, "weight has 1 row and y has 2 rows"),
        ({"by": ["a", "b"]}, "by= has no name: give a mapping of names to arrays"),
        ({"by": {"value": ["a", "b"]}}, "the result has a column of that name"),
        ({"classes": ["a", "b", "c"]}, "classes= has 3 classes, and p is one column, of scores"),
        ({"score": [0.1, 0.2]}, "p stands beside score= or prediction="),
        ({"ci": 95}, "ci=95 must be a number between 0 and 1"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.evaluate([0, 1], [0.1, 0.9], **options)


def test_wrong_classes() -> None:
    with pytest.raises(RequestError, match="classes= has 2 classes, and p has 3 columns"):
        sqleval.evaluate(TEST_FLOWERS, Q, classes=["a", "b"])
    with pytest.raises(RequestError, match="names a class twice"):
        sqleval.evaluate(TEST_FLOWERS, Q, classes=["a", "b", "a"])
    with pytest.raises(RequestError, match="positive='maybe' is none of the classes"):
        sqleval.evaluate(["no", "yes"], P[:2], classes=["no", "yes"], positive="maybe")
    with pytest.raises(RequestError, match="prediction has 3 columns; a prediction is one value"):
        sqleval.evaluate(TEST_FLOWERS, prediction=Q)
    with pytest.raises(DataError, match="a class without a score column"):
        sqleval.evaluate(TEST_FLOWERS, Q, classes=["x", "y", "z"])


def test_missing_values_are_reported() -> None:
    p = np.array([0.1, np.nan, 0.9])
    with pytest.raises(DataError, match="score='p' is NULL or NaN in 1 of 3 rows"):
        sqleval.evaluate([0, 1, 1], p)
    found = sqleval.evaluate([0, 1, 1], p, "roc_auc", nulls="drop")
    assert found.select("value", "n", "n_dropped").row(0) == (1.0, 2, 1)
    masked = np.ma.array([0, 1, 1], mask=[False, True, False])
    found = sqleval.evaluate(masked, [0.1, 0.2, 0.9], "roc_auc", nulls="drop")
    assert found.select("value", "n", "n_dropped").row(0) == (1.0, 2, 1)


def test_no_rows() -> None:
    found = sqleval.evaluate([], [], ["roc_auc"])
    assert found.select("value", "n", "note").row(0) == (None, 0, "no rows")


def test_a_data_frame_has_the_methods_of_a_lazy_frame() -> None:
    frame = pl.DataFrame({"y": TEST_Y, "a": P[:, 1], "b": np.round(P[:, 1], 1)})
    lazy: Any = frame.lazy()
    eager: Any = frame
    roles = {"label": "y", "score": "a"}
    found = eager.sqleval.evaluate(["roc_auc"], ci=0.95, **roles)
    assert_frame_equal(found, lazy.sqleval.evaluate(["roc_auc"], ci=0.95, **roles).collect())
    models = {"label": "y", "score": {"a": "a", "b": "b"}, "options": {"baseline": "b"}}
    compared = eager.sqleval.compare(["roc_auc"], **models)
    assert_frame_equal(compared, lazy.sqleval.compare(["roc_auc"], **models).collect())
    curve = eager.sqleval.curve("roc", **roles)
    assert_frame_equal(curve, lazy.sqleval.curve("roc", **roles).collect())
    assert_frame_equal(eager.sqleval.confusion(**roles), lazy.sqleval.confusion(**roles).collect())
    assert "FROM" in eager.sqleval.sql("roc_auc", **roles)
    assert eager.sqleval.plot("roc", **roles) is not None
    names = {name for name in dir(lazy.sqleval) if not name.startswith("_")}
    assert names == {name for name in dir(eager.sqleval) if not name.startswith("_")}


def test_a_decision_per_model() -> None:
    other = np.round(P[:, 1], 1)
    metrics = ["roc_auc", "precision"]
    scores = {"a": P[:, 1], "b": other}
    by_threshold = sqleval.evaluate(TEST_Y, scores, metrics, threshold={"a": 0.3, "b": 0.5})
    decisions = {"a": P[:, 1] >= 0.3, "b": other >= 0.5}
    together = sqleval.evaluate(TEST_Y, score=scores, prediction=decisions, metrics=metrics)
    assert_frame_equal(by_threshold, together)
    for model, value in together.filter(metric="precision").select("model", "value").iter_rows():
        expected = precision_score(TEST_Y, decisions[model])
        assert value == pytest.approx(expected, abs=1e-12)


def test_counts_of_a_confusion_matrix() -> None:
    counts = {"tp": [30, 10], "fp": [5, 2], "fn": [7, 9], "tn": [58, 79]}
    found = sqleval.evaluate(counts=counts, by={"site": ["a", "b"]}, metrics="precision")
    assert found["value"].to_list() == pytest.approx([30 / 35, 10 / 12], abs=1e-12)


def test_a_second_array_and_swapped_axes_are_named() -> None:
    y, p = [0, 1, 2] * 5, np.random.default_rng(1).dirichlet(np.ones(3), 15)
    with pytest.raises(RequestError, match=r"compare\(y, \{'a': p, 'b': q\}\)") as raised:
        sqleval.compare(y, p, p)
    assert len(str(raised.value)) < 200
    with pytest.raises(RequestError, match=r"3 rows and 15 columns, .* may be swapped; pass p\.T"):
        sqleval.evaluate(y, p.T)
    found = sqleval.evaluate(y, p, np.array(["accuracy"]))["value"].item()
    assert found == np.mean(p.argmax(axis=1) == y)
