"""The table of tasks: the labels, scores, default metrics and curves of each."""

from __future__ import annotations

from dataclasses import dataclass

from sqleval.common.names import find_nearest
from sqleval.errors import RequestError


class DefaultSet(list[str]):
    """Metrics that nobody asked for by name: where one does not fit the rows, it is NULL."""


@dataclass(frozen=True)
class TaskFacts:
    """The facts about a task.

    Attributes
    ----------
    has_two_classes : bool
        Whether labels are 1 and 0, and a score is one number that a threshold turns into a
        prediction.
    has_several_classes : bool
        Whether labels are classes, with a score per class.
    has_many_labels : bool
        Whether a row has any number of labels, each of which is a problem of two classes.
    has_values : bool
        Whether labels and predictions are finite numbers, whose sums bins and states hold.
    has_queries : bool
        Whether labels are relevances of rows that are grouped by query.
    may_be_null : frozenset of str
        The roles whose NULL is a statement instead of a missing value: a NULL score was not
        retrieved, a NULL label was not judged. NaN is missing all the same.
    has_labels : bool
        Whether rows have a label; otherwise a column is summarised by itself.
    role : str
        The role that makes this the task of its rows; empty if types and values decide.
    metrics : tuple of str
        The values of the header key ``task`` of metrics that can be computed.
    scored_defaults, defaults : tuple of str
        The metrics that are evaluated by default, with scores and without.
    headline : str, optional
        The metric by which slices and folds are compared.
    curves : tuple of str
        The curves in a report with scores.
    unscored_curves : tuple of str
        The curves in a report without scores.
    """

    has_two_classes: bool = False
    has_several_classes: bool = False
    has_many_labels: bool = False
    has_values: bool = False
    has_queries: bool = False
    may_be_null: frozenset[str] = frozenset()
    has_labels: bool = True
    role: str = ""
    metrics: tuple[str, ...] = ()
    scored_defaults: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    headline: str | None = None
    curves: tuple[str, ...] = ()
    unscored_curves: tuple[str, ...] = ()

    @property
    def has_classes(self) -> bool:
        """Whether labels and predictions are classes."""
        return self.has_two_classes or self.has_several_classes

    @property
    def takes_averages(self) -> bool:
        """Whether metrics of two classes have a value per class or label, and averages of them."""
        return self.has_several_classes or self.has_many_labels

    @property
    def has_one_score(self) -> bool:
        """Whether a score is one number by which rows can be sorted."""
        return self.has_two_classes or self.has_queries

    def list_defaults(self, *, has_score: bool) -> DefaultSet:
        """Return the metrics that are evaluated by default.

        A ranking has the same metrics without a score: they report that it is missing.
        """
        first, second = self.scored_defaults, self.defaults
        return DefaultSet((first or second) if has_score else (second or first))


#: The tasks by name. With several classes, metrics of two classes are computed per class.
TASKS: dict[str, TaskFacts] = {
    "binary": TaskFacts(
        has_two_classes=True,
        metrics=("two classes", "classes"),
        scored_defaults=(
            "roc_auc", "average_precision", "ks", "log_loss", "brier_score", "accuracy",
            "balanced_accuracy", "precision", "recall", "f1", "matthews_corrcoef", "prevalence",
        ),
        defaults=(
            "accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1",
            "matthews_corrcoef", "cohen_kappa", "prevalence",
        ),
        headline="roc_auc",
        curves=("roc", "pr", "calibration", "gain"),
    ),
    "multiclass": TaskFacts(
        has_several_classes=True,
        metrics=("two classes", "classes", "several classes"),
        scored_defaults=(
            "accuracy", "balanced_accuracy", "f1(average='macro')", "matthews_corrcoef",
            "cohen_kappa", "log_loss", "brier_score", "roc_auc(average='macro')",
        ),
        defaults=(
            "accuracy", "balanced_accuracy", "f1(average='macro')", "f1(average='weighted')",
            "matthews_corrcoef", "cohen_kappa",
        ),
        headline="accuracy",
        curves=("confusion", "roc", "calibration"),
        unscored_curves=("confusion",),
    ),
    "multilabel": TaskFacts(
        has_two_classes=True,
        has_many_labels=True,
        metrics=("two classes", "classes", "many labels"),
        scored_defaults=(
            "f1(average='macro')", "f1(average='micro')", "f1(average='samples')", "hamming_loss",
            "subset_accuracy", "label_ranking_average_precision", "roc_auc(average='macro')",
            "average_precision(average='macro')",
        ),
        defaults=(
            "f1(average='macro')", "f1(average='micro')", "f1(average='samples')", "hamming_loss",
            "subset_accuracy",
        ),
        headline="f1(average='macro')",
        curves=("roc", "pr"),
    ),
    "regression": TaskFacts(
        has_values=True,
        metrics=("regression",),
        defaults=("r2", "mae", "rmse", "mape", "mean_bias"),
        headline="rmse",
        unscored_curves=(
            "predicted_vs_actual", "residuals", "residual_histogram", "error_by_quantile",
            "rec_curve",
        ),
    ),
    "ranking": TaskFacts(
        has_queries=True,
        may_be_null=frozenset({"label", "score"}),
        role="query",
        metrics=("ranking",),
        scored_defaults=("ndcg", "map", "mrr", "recall_at_k(k=10)"),
    ),
    "value": TaskFacts(
        has_values=True,
        has_labels=False,
        role="value",
        metrics=("value",),
        defaults=("mean", "share"),
        headline="mean",
    ),
}  # fmt: skip


def list_kinds() -> tuple[str, ...]:
    """Return the values of the header key ``task`` of metrics and curves.

    Examples
    --------
    >>> list_kinds()
    ('two classes', 'classes', 'several classes', 'many labels', 'regression', 'ranking', 'value')
    """
    kinds = [kind for facts in TASKS.values() for kind in facts.metrics]
    return tuple(dict.fromkeys(kinds))


#: Tasks of the catalogue's groups, where the header key ``task`` has other words.
_GROUPS = {
    "two classes": "binary", "classes": "any classes", "several classes": "multiclass",
    "many labels": "multilabel",
}  # fmt: skip


def name_group(kind: str) -> str:
    """Return the group of the catalogue to which metrics with a header key ``task`` belong.

    Examples
    --------
    >>> name_group("two classes"), name_group("regression")
    ('binary', 'regression')
    """
    return _GROUPS.get(kind, kind)


def find_tasks(kind: str) -> tuple[str, ...]:
    """Return the tasks in which a metric of a kind can be computed.

    Examples
    --------
    >>> find_tasks("two classes")
    ('binary', 'multiclass', 'multilabel')
    """
    return tuple(name for name, facts in TASKS.items() if kind in facts.metrics)


def list_groups(task: str | None = None) -> tuple[str, ...]:
    """Return the groups of the catalogue whose metrics can be computed in a task, or all groups.

    Raises
    ------
    RequestError
        If there is no task of this name.

    Examples
    --------
    >>> list_groups("multiclass")
    ('binary', 'any classes', 'multiclass')
    """
    kinds = list_kinds() if task is None else TASKS[check_task(task)].metrics
    return tuple(map(name_group, kinds))


def check_task(task: str) -> str:
    """Return the name of a task.

    Raises
    ------
    RequestError
        If there is no task of this name.
    """
    if task not in TASKS:
        raise RequestError(f"task: {task!r}{find_nearest(task, TASKS)}; one of: {', '.join(TASKS)}")
    return task


def may_have_two_classes(task: str | None) -> bool:
    """Whether a task has two classes, or is still unknown (None)."""
    return task is None or TASKS[task].has_two_classes


def has_several_classes(task: str | None) -> bool:
    """Whether a task is not None and has several classes."""
    return task is not None and TASKS[task].has_several_classes
