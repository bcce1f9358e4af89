"""Makes scorers for scikit-learn's searches and cross-validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqleval.catalog import builtin, request
from sqleval.errors import RequestError
from sqleval.frontend.arrays import evaluate

#: The methods of a model, in the order in which a scorer looks for them.
_METHODS = ("predict_proba", "decision_function", "predict")
#: The tasks of models that scikit-learn scores.
_TASKS = ("binary", "multiclass", "regression")


def make_scorer(
    metrics: str | Sequence[str], *, response_method: str | None = None, **options: Any
) -> Scorer:
    """Return a scorer for ``scoring=`` of scikit-learn's `cross_validate` and `GridSearchCV`.

    Parameters
    ----------
    metrics : str or sequence of str
        Names from `sqleval.metrics`. Of one name, the scorer returns a number, and of several a
        dict of numbers by name. As scikit-learn takes greater scores for better ones, losses have
        a minus sign, and in the dict the name ``neg_log_loss``.
    response_method : {"predict_proba", "decision_function", "predict"}, optional
        The method of the model that is evaluated; the first of these that it has if left out.
    **options
        The options of `sqleval.evaluate`, the same for all rows: ``positive``, ``threshold``,
        ``task``, ``catalogue``.

    Returns
    -------
    Scorer
        A function of a model, ``X``, ``y`` and optionally ``sample_weight``. A value that is
        undefined is NaN.

    Raises
    ------
    RequestError
        If a name is unknown, no metric is named, or ``response_method`` is another word.

    Examples
    --------
    >>> import sqleval
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> scorer = sqleval.make_scorer(["roc_auc", "log_loss"])
    >>> found = cross_validate(LogisticRegression(), X, y, scoring=scorer)
    >>> [*found], found["test_roc_auc"].shape
    (['fit_time', 'score_time', 'test_roc_auc', 'test_neg_log_loss'], (5,))
    """
    names = [metrics] if isinstance(metrics, str) else [*metrics]
    if not names:
        raise RequestError("no metric is named")
    if response_method is not None and response_method not in _METHODS:
        raise RequestError(
            f"response_method={response_method!r} must be one of {', '.join(_METHODS)}"
        )
    # scikit-learn turns an error of a scorer into NaN, so that names are checked here.
    for name in names:
        _check_name(name, options)
    return Scorer(tuple(names), isinstance(metrics, str), response_method, options)


def _check_name(name: str, options: dict[str, Any]) -> None:
    """Raise `RequestError` for an unknown metric, or one without a better direction."""
    tasks = [options["task"]] if options.get("task") else list(_TASKS)
    for task in tasks:
        try:
            asked = request.parse(name, task, catalogue=options.get("catalogue"))
        except RequestError:
            if task == tasks[-1]:
                raise
            continue
        if asked.header["direction"] == "none":
            raise RequestError(f"{name} is no score: neither greater nor smaller is better")
        return


@dataclass(frozen=True)
class Scorer:
    """Evaluates a model for scikit-learn; `make_scorer` describes it.

    Attributes
    ----------
    metrics : tuple of str
        The metrics as they were named.
    is_single : bool
        Whether a call returns a number instead of a dict.
    response_method : str or None
        The method of the model that is evaluated.
    options : dict
        The options of `sqleval.evaluate`.
    """

    metrics: tuple[str, ...]
    is_single: bool
    response_method: str | None = None
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def __call__(
        self,
        estimator: Any,
        X: object,  # noqa: N803
        y: object,
        sample_weight: object = None,
    ) -> float | dict[str, float]:
        """Return the values of the metrics for a model's answers to ``X``.

        Raises
        ------
        RequestError
            If the model lacks the method, or a metric has a value per class.
        DataError
            For rows that the metrics cannot use.
        """
        methods = (self.response_method,) if self.response_method else _METHODS
        method = next((name for name in methods if hasattr(estimator, name)), None)
        if method is None:
            raise RequestError(f"{type(estimator).__name__} has none of {', '.join(methods)}")
        said = getattr(estimator, method)(X)
        answers: dict[str, Any] = {"prediction" if method == "predict" else "score": said}
        if method == "predict_proba":
            answers["classes"] = estimator.classes_
        answers |= {"weight": sample_weight} | self.options
        found = evaluate(y, metrics=[*self.metrics], **answers)
        if found.height != len(self.metrics):
            raise RequestError(
                f"{', '.join(self.metrics)}: a scorer returns one value for each metric; name each "
                "metric once, with an average of the classes"
            )
        catalogue = self.options.get("catalogue") or builtin()
        values: dict[str, float] = {}
        for name, metric, value in zip(self.metrics, found["metric"], found["value"], strict=True):
            number = math.nan if value is None else float(value)
            header = catalogue.get(request.parse_call(metric)[0]).header
            if header["direction"] == "lower":
                values[f"neg_{name.removeprefix('neg_')}"] = -number
            else:
                values[name] = number
        return next(iter(values.values())) if self.is_single else values
