"""Defines what an inspection knows: a source, facts about its columns, and their roles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqleval.catalog.tasks import TASKS, TaskFacts
from sqleval.inspection.columns import Facts
from sqleval.inspection.findings import Finding, list_first
from sqleval.inspection.rules import Candidates, find
from sqleval.inspection.shape import Shape
from sqleval.sources.source import Source


class Auc(NamedTuple):
    """A ROC AUC with the upper end of its interval, or the reason why there is none."""

    value: float | None
    high: float | None
    error: str = ""


@dataclass
class Inspection:
    """A source, the facts about its columns, and the roles that are given or suggested.

    Attributes
    ----------
    options : mapping of str to object
        The arguments with which `scan` opens the source.
    lacking : frozenset of str
        The columns that some files lack, so that they cannot have a role.
    condition : str
        The condition of the rows that are inspected, as SQL over ``s``.
    given : mapping of str to mapping
        The columns of the roles that the user gives, by the name of their model.
    where : str, optional
        The condition of the rows to evaluate.
    task : str
        The task.
    other_task : str, optional
        Another task that labels and predictions would fit.
    scores, predictions : mapping of str to str
        The column of each model. With ``has_classes``, the column of each class, or of each
        MODEL.CLASS for several models.
    single : dict of str to str
        The column of each role that takes one column.
    classes : dict of object to int
        The values of the label and their rows, the most frequent first.
    shape : Shape, optional
        The shape of the rows, if roles are not a column each.
    listed, findings : list of Finding
        The roles as they are shown, and the roles that could not be decided.
    """

    source: Source
    rows: int
    columns: Mapping[str, Facts]
    options: Mapping[str, Any]
    lacking: frozenset[str] = frozenset()
    condition: str = "TRUE"
    given: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    positive: Any = None
    where: str | None = None
    task: str = "binary"
    other_task: str | None = None
    label: Facts | None = None
    scores: Mapping[str, str] = field(default_factory=dict[str, str])
    predictions: Mapping[str, str] = field(default_factory=dict[str, str])
    single: dict[str, str] = field(default_factory=dict[str, str])
    has_classes: bool = False
    is_counts: bool = False
    maybe_label: str | None = None
    classes: Mapping[Any, int] = field(default_factory=dict[Any, int])
    aucs: dict[str, Auc] = field(default_factory=dict[str, Auc])
    shape: Shape | None = None
    listed: list[Finding] = field(default_factory=list[Finding])
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def task_facts(self) -> TaskFacts:
        """The facts about the task."""
        return TASKS[self.task]

    @property
    def positive_value(self) -> Any:
        """The positive class of two, in the label's type."""
        if self.positive is None:
            return max(self.classes)
        return next((v for v in self.classes if str(v) == str(self.positive)), self.positive)

    def find(self, role: str, facts: Sequence[Facts]) -> Candidates:
        """Return the user's columns of a role, or the columns that probably have it."""
        if self.given.get(role):
            return Candidates([self.columns[name] for name in self.given[role].values()])
        return find(role, facts)

    def set_shape(self, shape: Shape) -> None:
        """Set the shape of the rows, and add it to the shown roles."""
        self.shape = shape
        value = f"{shape.name}: {shape.reason}"
        self.listed.append(Finding("shape", None, value, shape.advice or None, "role"))

    def add(self, role: str, column: str, reason: str, others: Sequence[str] = ()) -> None:
        """Add a role to the shown ones, with other columns that might have it."""
        advice = f"or {list_first(others, ' ... {} more')}" if others else None
        self.listed.append(Finding(role, column, reason, advice, "role"))


def list_named_columns(given: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the columns that the user has named."""
    return list(dict.fromkeys(name for each in given.values() for name in each.values()))


def list_nested(data: Inspection) -> list[str]:
    """Return the scores and predictions that are lists, structs and the like."""
    names = [*data.scores.values(), *data.predictions.values()]
    return [name for name in names if data.columns[name].column.kind == "nested"]
