"""Describes the bound input for the compiler: the columns of the source, and their roles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from sqleval.binding.label_keys import Labels
from sqleval.binding.many_labels import ManyLabels
from sqleval.binding.model_columns import merge_models
from sqleval.catalog.roles import list_further
from sqleval.catalog.tasks import TASKS, TaskFacts
from sqleval.common.columns import Column
from sqleval.common.sql_text import Scalar

#: The name of a task: a key of `catalog.tasks.TASKS`.
Task = str
Nulls = Literal["error", "drop"]

#: The counts of a confusion matrix, each with the label and the prediction of its rows.
CELLS = {"tp": (1, 1), "fp": (0, 1), "fn": (1, 0), "tn": (0, 0)}

#: The column of a state with the sums of squared weights.
SQUARES = "squares"

#: The name of the set without slice keys: all rows.
OVERALL = "overall"


def name_set(keys: Sequence[str]) -> str:
    """Return the name of a set of slice keys: its value in the column ``by``."""
    return ", ".join(keys) or OVERALL


class Period(NamedTuple):
    """The key ``period``: its SQL over the source ``s``, and its column."""

    sql: str
    column: Column


#: In a definition, the prefix of the score of one of several models.
MODEL_PREFIX = "model "
#: In a definition, the prefix of roles other than label, score, prediction and weight.
ROLE_PREFIX = "role "
#: In a definition, the prefix of the SQL of a slice key.
KEY_PREFIX = "by "


class Definition(NamedTuple):
    """The definition of a state; states with the same definition can be merged.

    Attributes
    ----------
    version : int
        The version of the format.
    task : str
        The task.
    bits : int
        Significant bits of the scores; 0 without scores.
    roles : tuple of (str, str)
        Each role or option, and its column or value in the rows of which the state was built.
    grain : str
        The length of a period; empty without periods.
    keys : tuple of str
        The slice keys of the rows.
    columns : tuple of str
        Descriptions of the sums over rows, and of the values that a bin's rows share.
    """

    version: int
    task: Task
    bits: int
    roles: tuple[tuple[str, str], ...]
    grain: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def expressions(self) -> dict[str, str]:
        """The slice keys that are expressions, each with its SQL."""
        return {
            name.removeprefix(KEY_PREFIX): text
            for name, text in self.roles
            if name.startswith(KEY_PREFIX)
        }

    @property
    def further(self) -> tuple[str, ...]:
        """The roles other than label, score, prediction and weight."""
        return tuple(
            role.removeprefix(ROLE_PREFIX) for role, _ in self.roles if role.startswith(ROLE_PREFIX)
        )

    @property
    def models(self) -> tuple[str, ...]:
        """The values of the key ``model``; none if there is a single score."""
        return tuple(
            role.removeprefix(MODEL_PREFIX)
            for role, _ in self.roles
            if role.startswith(MODEL_PREFIX)
        )


@dataclass(frozen=True)
class Binding:
    """All facts about the input that shape a statement. Hashable, as statements are cached by it.

    Attributes
    ----------
    relation : str
        The text after FROM, such as ``read_parquet(...)``.
    roles : tuple of (str, Column)
        Each role and its column.
    by : tuple of Column
        The slice keys.
    expressions : tuple of (str, str)
        The names of slice keys that are expressions, each with its SQL.
    sets : tuple of tuple of str
        The sets of names of slice keys to group by; if empty, one set of all keys.
    over : tuple of Column
        The keys of data sets, folds or runs to average over.
    cells : tuple of (str, Column)
        The columns of all or some of the counts tp, fp, fn and tn, if the source has counts.
    models : tuple of (str, tuple of Column)
        If several models are compared, each model's name and its score or prediction column. With
        several classes, a score column for each of ``classes``.
    model_role : str
        The role that ``models`` fill.
    predictions : tuple of Column
        If each of ``models`` has scores and a prediction, their prediction columns in this order.
    thresholds : tuple of float
        If each of ``models`` has a threshold, their thresholds in this order; a prediction is then
        computed from the model's score.
    classes : tuple of (Scalar, Column)
        For a multi-class task, each class and its score column; with ``models``, a column that
        stands for the columns of all models (see `model_columns.merge_columns`).
    many : ManyLabels or None
        The names of the labels, if the relation has a row per label of each row.
    positive_as_written : str
        The positive value in messages. Statements are also cached by this text, because 1 and True
        are equal in Python, but differ in SQL.
    where : str or None
        A checked condition over the source's columns, in which ``s`` is the source.
    common : bool
        Whether a row that lacks the value of one model is left out for all models.
    reads_once : bool
        Whether a statement reads the source once: a stream, or many small files.
    period : Period or None
        The key ``period``, if there is one.
    state : Definition or None
        The definition of the state, if the source is a state.
    dialect : str
        The SQL dialect of the engine.
    is_expected : bool
        Whether there are no labels, and a row of score p counts as p positives and 1 - p negatives.
    is_numbered : bool
        Whether the first of `numbered_keys` is an integer id that replaces these keys.
    is_sorted : bool
        Whether ``predictions`` has the slice's number, for the plan ``sorted``.
    is_inferred : bool
        Whether the task follows from values, so that other rows may contradict it.
    is_settled : bool
        Whether the values decide on the task; False if there are fewer than two different ones.
    has_probabilities : bool
        Whether scores may be probabilities; False if other rows had scores outside 0 .. 1.
    notice : str
        A remark on the task for the user, usually empty.
    problems_by : str
        A slice key whose values have separate problems. If empty, one makes all results invalid.
    """

    relation: str
    task: Task
    roles: tuple[tuple[str, Column], ...]
    by: tuple[Column, ...] = ()
    expressions: tuple[tuple[str, str], ...] = ()
    sets: tuple[tuple[str, ...], ...] = ()
    over: tuple[Column, ...] = ()
    cells: tuple[tuple[str, Column], ...] = ()
    models: tuple[tuple[str, tuple[Column, ...]], ...] = ()
    model_role: str = "score"
    predictions: tuple[Column, ...] = ()
    thresholds: tuple[float, ...] = ()
    classes: tuple[tuple[Scalar, Column], ...] = ()
    many: ManyLabels | None = None
    positive: Scalar | None = None
    positive_as_written: str = ""
    threshold: float | None = None
    where: str | None = None
    where_columns: tuple[str, ...] = ()
    nulls: Nulls = "error"
    common: bool = False
    labels: Labels | None = None
    reads_once: bool = False
    period: Period | None = None
    state: Definition | None = None
    dialect: str = "duckdb"
    is_expected: bool = False
    is_numbered: bool = False
    is_sorted: bool = False
    is_inferred: bool = False
    is_settled: bool = True
    has_probabilities: bool = True
    notice: str = ""
    problems_by: str = ""

    @property
    def role(self) -> Mapping[str, Column]:
        """Each role and its column; with several models, the first one's name and all types."""
        models: dict[str, Column] = {}
        if self.models and not self.classes:
            models[self.model_role] = merge_models([column for _, (column,) in self.models])
        if self.predictions:
            models["prediction"] = merge_models(self.predictions)
        if self.thresholds:
            models["prediction"] = Column("prediction", "TINYINT")
        return {**dict(self.roles), **models}

    @property
    def key_names(self) -> tuple[str, ...]:
        """The slice keys by their names in the result."""
        names = tuple(column.name for column in self.by)
        names = (*names, "by") if self.sets else names
        names = (*names, "model") if self.models else names
        names = (*names, "role") if "role" in self.role else names
        return (*names, "period") if self.period else names

    @property
    def result_keys(self) -> tuple[str, ...]:
        """The slice keys by their reserved names, in the order of `key_names`."""
        return tuple(f"slice_{i}" for i, _ in enumerate(self.key_names, start=1))

    @property
    def numbered_keys(self) -> tuple[str, ...]:
        """The slice keys that one integer id may replace: texts; with sets or to sort, all."""
        columns = tuple(zip(self.result_keys, self.by, strict=False))
        if self.sets:
            return (*(key for key, _ in columns), self.set_key)
        return tuple(key for key, column in columns if self.is_sorted or column.kind == "text")

    @property
    def keys(self) -> tuple[str, ...]:
        """The slice keys by which a statement groups its rows."""
        replaced = self.numbered_keys[1:] if self.is_numbered else ()
        return tuple(key for key in self.result_keys if key not in replaced)

    @property
    def model_key(self) -> str:
        """The reserved name of the key ``model``."""
        return self.result_keys[len(self.by) + bool(self.sets)]

    @property
    def set_key(self) -> str:
        """The reserved name of the key ``by``, the name of a row's set of keys."""
        return self.result_keys[len(self.by)]

    @property
    def keys_in_order(self) -> tuple[str, ...]:
        """The slice keys in the order in which a result is sorted."""
        if not self.sets:
            return self.result_keys
        return (self.set_key, *(key for key in self.result_keys if key != self.set_key))

    @property
    def role_key(self) -> str:
        """The reserved name of the key ``role``."""
        return self.result_keys[-2 if self.period else -1]

    @property
    def folds(self) -> tuple[str, ...]:
        """The reserved names of the columns of ``over``."""
        return tuple(f"fold_{i}" for i, _ in enumerate(self.over, start=1))

    @property
    def label_keys(self) -> Mapping[str, Column]:
        """The keys ``label_key`` and ``query`` of rows of many labels: the label, and the row."""
        if self.many is None:
            return {}
        return {"label_key": self.many.label} | ({"query": self.many.row} if self.many.row else {})

    @property
    def facts(self) -> TaskFacts:
        """The facts about the task."""
        return TASKS[self.task]

    @property
    def has_two_classes(self) -> bool:
        """Whether labels are 1 and 0."""
        return self.facts.has_two_classes

    @property
    def has_several_classes(self) -> bool:
        """Whether labels are classes, with a score per class."""
        return self.facts.has_several_classes

    @property
    def has_classes(self) -> bool:
        """Whether labels are classes (two or several)."""
        return self.facts.has_classes

    @property
    def has_values(self) -> bool:
        """Whether labels and predictions are numbers, whose sums bins and states hold."""
        return self.facts.has_values

    @property
    def has_queries(self) -> bool:
        """Whether rows are grouped by query, as in a ranking."""
        return self.facts.has_queries

    @property
    def adds_items(self) -> bool:
        """Whether labels without a row are items of a ranking that were not retrieved.

        Their query must be a key of the labels.
        """
        query, on = self.role.get("query"), self.labels.on if self.labels else ()
        return self.has_queries and query is not None and query.name in on

    @property
    def is_weighted(self) -> bool:
        """Whether weights are bound."""
        return "weight" in self.role

    @property
    def has_counts(self) -> bool:
        """Whether a row of the source stands for a count of rows."""
        return "count" in self.role

    @property
    def has_fractions(self) -> bool:
        """Whether a row may count as a fraction, because of its weight or an expected label."""
        return self.is_weighted or self.is_expected

    @property
    def has_score(self) -> bool:
        """Whether there is a score, or a score per class."""
        return "score" in self.role or bool(self.classes)

    @property
    def score_columns(self) -> tuple[Column, ...]:
        """The columns of the score: one, one per model, or one per class."""
        if self.models and self.model_role == "score":
            return tuple(column for _, columns in self.models for column in columns)
        if self.classes:
            return self.mapped_columns
        return (self.role["score"],) if "score" in self.role else ()

    @property
    def mapped_columns(self) -> tuple[Column, ...]:
        """The user's columns of several models or classes; predictions beside scores are last."""
        if self.models:
            columns = (column for _, columns in self.models for column in columns)
            return (*columns, *self.predictions)
        return tuple(column for _, column in self.classes)

    @property
    def further(self) -> tuple[str, ...]:
        """The roles whose values ``predictions`` has unchanged; see `catalog.roles`."""
        return list_further(dict(self.roles))

    @property
    def kept(self) -> tuple[str, ...]:
        """The roles of `further` whose values cells, bins, states and pairs keep."""
        return list_further(dict(self.roles), kept=True)

    @property
    def score_names(self) -> tuple[str, ...]:
        """The names of `score_columns`; for a state, as in the rows that it was built from."""
        if self.state is None:
            return tuple(column.name for column in self.score_columns)
        roles = self.state.roles
        return tuple(of for role, of in roles if role == "score" or role.startswith(MODEL_PREFIX))


def list_columns_read(binding: Binding) -> tuple[list[str], list[str]]:
    """Return the columns that a statement reads from the source, and from the labels."""
    if binding.state is not None:
        read = [column.name for column in binding.by] + [*binding.where_columns]
        read += [binding.period.column.name] if binding.period else []
        fixed = ["n", "used", *(("score_low", "score_high") if binding.state.bits else ())]
        roles = [role for role, _ in binding.roles]
        roles += [column.name for column in binding.label_keys.values()]
        return list(dict.fromkeys([*read, *roles, *fixed, *binding.state.columns])), []
    joined_roles = binding.labels.roles if binding.labels else frozenset[str]()
    on = binding.labels.on if binding.labels else ()
    derived = ("label", "prediction", "count") if binding.cells else ()
    cells = (column for _, column in binding.cells)
    keys = (*binding.by, *binding.over, *binding.label_keys.values())
    names = [column.name for column in (*keys, *cells, *binding.mapped_columns)]
    names += [
        c.name for role, c in binding.roles if role not in joined_roles and role not in derived
    ]
    names += [binding.period.column.name] if binding.period else []
    label_names = [column.name for role, column in binding.roles if role in joined_roles]
    source_columns = dict.fromkeys([*names, *binding.where_columns, *on])
    return list(source_columns), list(dict.fromkeys([*label_names, *on]))
