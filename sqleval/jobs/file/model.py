"""The keys of a job file and their validation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path, PurePath
from typing import Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from sqleval.binding.binding import Definition, Task
from sqleval.binding.model_columns import has_classes_of_models
from sqleval.catalog.roles import list_arguments
from sqleval.catalog.tasks import has_several_classes, may_have_two_classes
from sqleval.jobs.file.fields import Environment, Span, allow_one, allow_text
from sqleval.jobs.file.gate_checks import check_gates
from sqleval.jobs.file.parts import (
    Arrival,
    Baseline,
    Gate,
    History,
    Notification,
    Outputs,
    Period,
    States,
)
from sqleval.jobs.file.row_keys import RowKeys
from sqleval.jobs.file.slices import check_slices, find_expressions, list_key_sets
from sqleval.sources.database.naming import find_database, write_sqlite_url
from sqleval.sources.stores import expand_home, is_remote, split_kind

#: Keys that describe rows, besides their roles; a job over states takes them from the states.
_ROW_KEYS = (
    "source", "query", "positive", "nulls", "task", "long", "key", "labels", "engine", "states",
    "rows", "csv",
)  # fmt: skip


class Job(RowKeys):
    """A job: the evaluation of predictions, period by period."""

    by: str | list[str] | dict[str, str] = Field(
        default_factory=list,
        description="Slice keys: one result per combination of values; or NAME: SQL expression.",
    )
    slices: list[list[str] | dict[str, str]] | None = Field(
        default=None,
        description="Several sets of slice keys: [[], [carrier], {long: distance > 1000}].",
    )
    period: Period = Field(description="How rows are assigned to periods.")
    metrics: list[str] | None = Field(
        default=None,
        min_length=1,
        description="Metrics; by default those of the task, and later those of the job's history.",
    )
    sql: list[str] = Field(default_factory=list, description="Folders of SQL files of your own.")
    ci: float | None = Field(
        default=None, gt=0, lt=1, description="Confidence level of intervals, such as 0.95."
    )
    ci_method: Literal["wilson", "clopper_pearson", "delong"] | None = Field(
        default=None,
        description="Interval of rates: Wilson's, or the exact one, which needs SciPy; or "
        "delong, that of ROC AUC without the scale of the logit.",
    )
    replicates: int = Field(
        default=0,
        ge=0,
        description="Samples of the bootstrap, 100 to 1,000,000, for metrics without an interval "
        "in closed form; 0 leaves them without one.",
    )
    states: States | None = Field(
        default=None,
        description="Where states are kept, for longer periods and later metrics: the folder, or "
        "a mapping with the folder and bins.",
        json_schema_extra=allow_text,
    )
    history: History = Field(
        description="Where results are kept: the URL, or a mapping with the URL and its options.",
        json_schema_extra=allow_text,
    )
    keep: Span | None = Field(
        default=None,
        description="How long results are kept, such as 2y: a run removes older periods, except "
        "those that gates need.",
    )
    baseline: Baseline | None = Field(
        default=None, description="Periods whose mean is the baseline of gates."
    )
    gates: list[Gate] = Field(
        default_factory=list[Gate],
        description="Conditions on results, each the text of a check or a mapping with a check.",
        json_schema_extra=allow_text,
    )
    missing: Literal["fail", "warn", "ignore"] = Field(
        default="fail", description="Gate on missing data: a period or a slice without rows."
    )
    report: str | None = Field(
        default=None,
        description="File for an HTML page about the job: its newest periods and gates.",
    )
    outputs: Outputs = Field(default_factory=Outputs, description="Files for other programs.")
    notify: list[Notification] = Field(
        default_factory=list[Notification],
        description="Who is told of a run: a mapping, or a list of them, with a command or a "
        "webhook, its headers, and on: fail, change or always.",
        json_schema_extra=allow_one,
    )

    _file: Path | None = PrivateAttr(default=None)
    _state_definition: Definition | None = PrivateAttr(default=None)
    _is_expectation: bool = PrivateAttr(default=False)
    _is_settled: bool = PrivateAttr(default=False)
    _has_probabilities: bool = PrivateAttr(default=True)
    _arrival: Arrival | None = PrivateAttr(default=None)

    def set_file(self, file: Path) -> Job:
        """Set the job file, in whose folder relative paths start, and return the job."""
        self._file = file
        return self

    @model_validator(mode="before")
    @classmethod
    def _expand_short_forms(cls, content: Any) -> Any:
        if not isinstance(content, Mapping):
            return content
        job: dict[str, Any] = dict(content)  # pyright: ignore[reportUnknownArgumentType]
        for name, first in (("history", "url"), ("states", "folder")):
            if isinstance(job.get(name), str):
                job[name] = {first: job[name]}
        if isinstance(job.get("long"), Mapping) and "class" in job["long"]:
            job.setdefault("task", "multiclass")
        is_by_label = isinstance(job.get("long"), Mapping) and "label" in job["long"]
        if is_by_label or isinstance(job.get("label"), Mapping):
            job.setdefault("task", "multilabel")
        gates = job.get("gates")
        if isinstance(gates, list):
            job["gates"] = [{"check": g} if isinstance(g, str) else g for g in gates]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(job.get("notify"), Mapping):
            job["notify"] = [job["notify"]]
        return job

    @model_validator(mode="after")
    def _check_consistency(self) -> Job:
        if self.from_state is None:
            self._check_state_folder()
        else:
            self._check_state_keys()
        check_slices(
            self.by, self.slices, has_models=self._has_models,
            has_states=self.from_state is not None,
        )  # fmt: skip
        self._check_keep()
        self._check_expected()
        self._check_ci()
        check_gates(
            self.gates, self.key_sets, has_baseline=self.baseline is not None,
            has_ci=self.ci is not None,
            has_states=self.states is not None or self.from_state is not None,
            is_expected=self.expected,
        )  # fmt: skip
        return self

    def _check_keep(self) -> None:
        maturity = self.labels.maturity if self.labels else timedelta(0)
        if self.keep is not None and self.keep <= maturity:
            raise ValueError(
                "keep must be longer than labels.maturity: no period would ever be evaluated"
                if maturity
                else "keep must be longer than 0: no period would ever be evaluated"
            )

    def _check_expected(self) -> None:
        if not self.expected:
            return
        if self.labels is None or not self.labels.maturity:
            raise ValueError(
                "expected: true is for labels that arrive later; write labels: "
                "{source: labels/, on: key, maturity: 7d}"
            )
        if self.score is None or self.qid is not None or not may_have_two_classes(self.task):
            raise ValueError("expected: true needs two classes and a score, their probability")

    def _check_ci(self) -> None:
        if self.ci_method is not None and self.ci is None:
            raise ValueError(f"ci_method: {self.ci_method} needs ci: 0.95")
        if self.replicates and self.ci is None:
            raise ValueError(f"replicates: {self.replicates} needs ci: 0.95")

    def _check_state_folder(self) -> None:
        paths = [self.source] if isinstance(self.source, str) else self.source or []
        folder = "" if self.states is None else self.states.folder
        for path in paths if folder else []:
            _, outer = split_kind(path)
            if PurePath(os.path.normpath(folder)).is_relative_to(os.path.normpath(outer)):
                raise ValueError(
                    f"states: {folder} is inside the source {path}; choose another folder"
                )

    def _check_state_keys(self) -> None:
        for name in (*_ROW_KEYS, *list_arguments()):
            if name in self.model_fields_set:
                raise ValueError(
                    f"{name} does not fit a job with from_state, which takes it from the states"
                )
        if self.period.column != "period":
            raise ValueError(
                f"period.column={self.period.column!r}: in a job with from_state it is 'period'"
            )

    def copy_with_state_definition(self, definition: Definition) -> Job:
        """Return a copy of this job with the definition of its states."""
        job = self.model_copy(update={"task": definition.task})
        job._state_definition = definition
        return job

    @property
    def state_definition(self) -> Definition | None:
        """The definition of the states of a job with ``from_state``, once one has been read."""
        return self._state_definition

    def settle(self, task: Task, *, has_probabilities: bool) -> Job:
        """Return a copy with a settled task and kind of scores; see `jobs.running.settling`."""
        job = self.model_copy(update={"task": task})
        job._is_settled = True
        job._has_probabilities = has_probabilities
        return job

    @property
    def is_settled(self) -> bool:
        """Whether the task and the kind of scores are settled."""
        return self._is_settled

    @property
    def has_probabilities(self) -> bool:
        """Whether scores may be probabilities; False once a period has shown that they are not."""
        return self._has_probabilities

    def expect(self, metrics: list[str]) -> Job:
        """Return a copy of this job that evaluates expected metrics, without labels."""
        left_out = dict.fromkeys(("label", "positive", "labels", "ci", "ci_method", "states"))
        same = {"metrics": metrics, "task": "binary", "replicates": 0}
        job = self.model_copy(update=left_out | same)
        job._is_expectation = True
        return job

    def arrive(self, metrics: tuple[str, ...], may_be_null: frozenset[str]) -> Job:
        """Return a copy of this job that checks rows before their labels.

        ``metrics`` are those that need scores from 0 to 1, and ``may_be_null`` the roles whose NULL
        is no missing value.
        """
        assert self.labels is not None
        left_out = dict.fromkeys(("label", "labels", "ci", "ci_method", "states", "qid"))
        job = self.model_copy(update=left_out | {"replicates": 0})
        job._arrival = Arrival(tuple(self.labels.keys), metrics, may_be_null)
        return job

    @property
    def arrival(self) -> Arrival | None:
        """The checks before labels, if this job is from `arrive`."""
        return self._arrival

    @property
    def is_expectation(self) -> bool:
        """Whether this job reads no labels, because it is from `expect` or `arrive`."""
        return self._is_expectation or self._arrival is not None

    @property
    def sources(self) -> str | list[str]:
        """The paths of the rows, or of the states."""
        paths = self.source if self.from_state is None else self.from_state
        assert paths is not None
        return paths

    @property
    def key_sets(self) -> list[list[str]]:
        """The sets of slice keys, by their names; each is evaluated on its own."""
        return list_key_sets(self.by, self.slices)

    @property
    def expressions(self) -> dict[str, str]:
        """The slice keys that are expressions, each with its SQL."""
        return find_expressions(self.by, self.slices)

    @property
    def _has_models(self) -> bool:
        """Whether results have the key ``model``, or would have it before late labels come."""
        if isinstance(self.label, dict):
            return has_classes_of_models(self.score) or has_classes_of_models(self.prediction)
        is_late = self.labels is not None and bool(self.labels.maturity)
        named = [self.prediction, self.value]
        named += [self.score] if is_late or not has_several_classes(self.task) else []
        return any(isinstance(each, dict) for each in named) or "model" in (self.long or {})

    @property
    def added_keys(self) -> frozenset[str]:
        """The keys of results that are not slice keys, for several models and for classes."""
        return frozenset({"model", "class"}).difference(*self.key_sets)

    @property
    def gate_names(self) -> list[str]:
        """The names of the gates; equal ones get a number."""
        names: list[str] = []
        for gate in self.gates:
            count = sum(name.partition(" #")[0] == gate.title for name in names)
            names.append(f"{gate.title} #{count + 1}" if count else gate.title)
        return names

    @property
    def secrets(self) -> list[Environment]:
        """The environment variables of the history."""
        values = [self.history.password, *self.history.options.values()]
        return [each for each in values if isinstance(each, Environment)]

    def resolve_path(self, text: str) -> str:
        """Return a path of the job file as this process opens it."""
        kind, path = split_kind(expand_home(text))
        return text if is_remote(path) else kind + os.path.normpath(self.folder / path)

    def resolve_paths(self, source: str | list[str]) -> str | list[str]:
        """Return the path or paths of a source as this process opens them."""
        if not isinstance(source, str):
            return [str(self.resolve_paths(path)) for path in source]
        database = find_database(source)
        if database is not None and database.kind == "sqlite" and is_remote(source):
            return write_sqlite_url(self.resolve_path(database.address), database.table)
        return self.resolve_path(source)

    @property
    def folder(self) -> Path:
        """The folder of the job file."""
        return Path() if self._file is None else self._file.parent

    @property
    def file(self) -> Path | None:
        """The job file."""
        return self._file
