"""The table of tasks: the labels, scores, default metrics and curves of each."""

from __future__ import annotations

from dataclasses import dataclass

from sqleval.common.names import find_nearest


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
    def has_one_score(self) -> bool:
        """Whether a score is one number by which rows can be sorted."""
        return self.has_two_classes or self.has_queries

    def list_defaults(self, *, has_score: bool) -> tuple[str, ...]:
        """Return the metrics that are evaluated by default.

        A ranking has the same metrics without a score: they report that it is missing.
        """
        first, second = self.scored_defaults, self.defaults
        return (first or second) if has_score else (second or first)


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
    "regression": TaskFacts(
        has_values=True,
        metrics=("regression",),
        defaults=("mse", "rmse", "mae"),
        headline="rmse",
    ),
    "ranking": TaskFacts(
        has_queries=True,
        may_be_null=frozenset({"label", "score"}),
        role="query",
        metrics=("ranking",),
        scored_defaults=("ndcg", "ndcg(k=10)"),
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
    ('two classes', 'classes', 'several classes', 'regression', 'ranking', 'value')
    """
    kinds = [kind for facts in TASKS.values() for kind in facts.metrics]
    return tuple(dict.fromkeys(kinds))


def find_tasks(kind: str) -> tuple[str, ...]:
    """Return the tasks in which a metric of a kind can be computed.

    Examples
    --------
    >>> find_tasks("two classes")
    ('binary', 'multiclass')
    """
    return tuple(name for name, facts in TASKS.items() if kind in facts.metrics)


def check_task(task: str) -> str:
    """Return the name of a task.

    Raises
    ------
    ValueError
        If there is no task of this name.
    """
    if task not in TASKS:
        raise ValueError(f"task: {task!r}{find_nearest(task, TASKS)}; one of: {', '.join(TASKS)}")
    return task


def may_have_two_classes(task: str | None) -> bool:
    """Whether a task has two classes, or is still unknown (None)."""
    return task is None or TASKS[task].has_two_classes


def has_several_classes(task: str | None) -> bool:
    """Whether a task is not None and has several classes."""
    return task is not None and TASKS[task].has_several_classes
