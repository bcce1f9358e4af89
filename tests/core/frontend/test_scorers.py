"""Scorers for scikit-learn's searches give what its own scorers give."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.svm import SVC

import sqleval
from sqleval import RequestError

TWO = make_classification(n_samples=240, weights=[0.7], random_state=0)
WORDS = TWO[0], np.where(TWO[1] == 1, "yes", "no")
THREE, NUMBERS = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
LINE = LogisticRegression(max_iter=1_000)


@pytest.mark.parametrize(
    ("model", "data", "metrics", "options", "theirs"),
    [
        (LINE, TWO, ["roc_auc", "log_loss", "f1"], {}, ["roc_auc", "neg_log_loss", "f1"]),
        (LINE, WORDS, ["neg_log_loss", "auc"], {}, ["neg_log_loss", "roc_auc"]),
        (LINE, THREE, ["accuracy", "log_loss", "f1_macro", "roc_auc_ovr"], {},
         ["accuracy", "neg_log_loss", "f1_macro", "roc_auc_ovr"]),
        (LinearRegression(), NUMBERS, ["rmse", "r2"], {},
         ["neg_root_mean_squared_error", "r2"]),
        (SVC(), TWO, ["roc_auc"], {}, ["roc_auc"]),
        (SVC(), TWO, ["precision"], {"response_method": "predict"}, ["precision"]),
    ],
)  # fmt: skip
def test_values_are_those_of_scikit_learn(
    model: Any, data: Any, metrics: list[str], options: dict[str, Any], theirs: list[str]
) -> None:
    scorer = pickle.loads(pickle.dumps(sqleval.make_scorer(metrics, **options)))
    found = cross_validate(model, *data, scoring=scorer, error_score="raise")
    expected = cross_validate(model, *data, scoring=theirs)
    losses = {"log_loss", "rmse"}
    for name, same in zip(metrics, theirs, strict=True):
        ours = f"test_neg_{name}" if name in losses else f"test_{name}"
        np.testing.assert_allclose(found[ours], expected[f"test_{same}"], rtol=1e-9)


def test_a_search_takes_the_greatest_number() -> None:
    for metric, theirs in (("brier_score", "neg_brier_score"), ("roc_auc", "roc_auc")):
        ours, known = (
            GridSearchCV(LINE, {"C": [0.001, 1.0]}, scoring=scoring).fit(*TWO)
            for scoring in (sqleval.make_scorer(metric), theirs)
        )
        assert ours.best_params_ == known.best_params_
        assert ours.best_score_ == pytest.approx(known.best_score_)


def test_weights_and_undefined_values() -> None:
    X, y = TWO  # noqa: N806
    model = LINE.fit(X, y)
    weight = np.arange(len(y)) % 3
    found = sqleval.make_scorer("accuracy")(model, X, y, sample_weight=weight)
    assert found == pytest.approx(model.score(X, y, sample_weight=weight))
    never = DummyClassifier(strategy="constant", constant=0).fit(X, y)
    undefined = sqleval.make_scorer("precision", response_method="predict")(never, X, y)
    assert isinstance(undefined, float)
    assert math.isnan(undefined)


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    [
        ("roc_auk", {}, "no metric called 'roc_auk'; did you mean 'roc_auc'"),
        ([], {}, "no metric is named"),
        ("prevalence", {}, "neither greater nor smaller is better"),
        ("f1", {"response_method": "proba"}, "must be one of predict_proba"),
    ],
)
def test_wrong_arguments_are_refused_at_once(
    metrics: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.make_scorer(metrics, **options)


def test_wrong_calls_are_refused() -> None:
    X, y = THREE  # noqa: N806
    model = LINE.fit(X, y)
    with pytest.raises(RequestError, match="with an average of the classes"):
        sqleval.make_scorer("f1(average=None)", task="multiclass")(model, X, y)
    with pytest.raises(RequestError, match="KMeans has none of predict_proba"):
        sqleval.make_scorer("f1", response_method="predict_proba")(type("KMeans", (), {})(), X, y)
