"""The job file: what may stand in it, and how it is read."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path, PurePath
from typing import Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from sqleval.common.periods import Grain
from sqleval.inputs.binding import Definition
from sqleval.jobs.file.fields import Date, Environment, Span, Strict, or_text
from sqleval.jobs.file.gate_text import Check, parse

_PERIOD = re.compile(r"\d{4}(-\d{2}(-\d{2}(T\d{2}:\d{2}Z?)?)?)?")

#: What says what rows are, and is known of states.
_OF_ROWS = (
    "source", "label", "score", "prediction", "weight", "counts", "qid", "positive", "nulls",
    "task", "labels",
)  # fmt: skip


class Labels(Strict):
    """Labels that arrive later, from another source."""

    source: str | list[str] = Field(description="Path, pattern or folder of the labels.")
    on: str = Field(description="Key that joins labels and predictions.")
    maturity: Span = Field(
        default=timedelta(0),
        description="A period is evaluated when this much time has passed since its end.",
    )


class Period(Strict):
    """What cuts the rows into periods."""

    column: str = Field(
        description="DATE, TIMESTAMP, TIMESTAMP WITH TIME ZONE or ISO text; of states: period."
    )
    grain: Grain = Field(default="day", description="How long a period is.")
    timezone: str | None = Field(
        default=None, description="Such as Europe/Paris; where a day begins."
    )

    @field_validator("timezone")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        try:
            if name is not None:
                ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"no time zone {name!r}; write Europe/Paris or UTC") from None
        return name


class States(Strict):
    """Where what the rows of each period come to is kept."""

    folder: str = Field(min_length=1, description="Folder of one Parquet file a period.")
    bins: int = Field(default=11, ge=1, le=30, description="Significant bits of a score.")

    @field_validator("folder")
    @classmethod
    def _local(cls, folder: str) -> str:
        if "://" in folder:
            raise ValueError(f"{folder!r} is a URL; states are kept in a folder of this machine")
        return folder


class History(Strict):
    """Where results are kept."""

    url: str = Field(
        description="A DuckDB file (history.duckdb), a Delta table (history.delta, s3://...) or "
        "a PostgreSQL server (postgresql://user@host/database)."
    )
    password: Environment | None = Field(default=None, description="PostgreSQL's password.")
    options: dict[str, str | Environment] = Field(
        default_factory=dict, description="Delta's storage options, such as AWS_REGION."
    )

    @field_validator("url")
    @classmethod
    def _no_secret(cls, url: str) -> str:
        if "://" in url and (urlsplit(url).password or "password=" in urlsplit(url).query.lower()):
            raise ValueError(
                "a password may not stand in the file; write history: "
                "{url: postgresql://user@host/database, password: {env: NAME}}"
            )
        return url


class Baseline(Strict):
    """The periods whose mean is the gates' ``baseline``."""

    first: Date = Field(alias="from", description="First period, such as 2013-07-01.")
    last: Date = Field(alias="to", description="Last period; 2013-07 is all of July.")

    @model_validator(mode="after")
    def _ordered(self) -> Baseline:
        for text in (self.first, self.last):
            if not _PERIOD.fullmatch(text):
                raise ValueError(f"{text!r} is no period; write 2013-07-01, 2013-07 or 2013")
        if self.first > self.last and not self.first.startswith(self.last):
            raise ValueError(f"from {self.first} is later than to {self.last}")
        return self


class Gate(Strict):
    """What must hold in every period that a run judges."""

    check: str = Field(
        description="roc_auc >= 0.75, log_loss <= baseline + 0.01, "
        "drop(roc_auc, previous 7) < 0.02, rows >= 1000, matured >= 0.9, age <= 1"
    )
    by: list[str] | None = Field(
        default=None, description="Judge only slices of these keys; [] is the whole period."
    )
    min_rows: int = Field(default=0, ge=0, description="Judge only slices with as many rows.")
    on: Literal["value", "low", "high"] = Field(
        default="value", description="The value, or (with ci) a bound of its interval."
    )
    in_a_row: int = Field(
        default=1, ge=1, description="Fail only when so many periods on end do not hold."
    )
    severity: Literal["fail", "warn"] = Field(
        default="fail", description="Whether the run fails with it."
    )

    @field_validator("check")
    @classmethod
    def _readable(cls, text: str) -> str:
        parse(text)
        return text

    @property
    def parsed(self) -> Check:
        """The check, read."""
        return parse(self.check)


class Outputs(Strict):
    """Files that a run writes beside the history; paths are relative to the job file."""

    json_: str | None = Field(default=None, alias="json", description="What a run did, as JSON.")
    junit: str | None = Field(default=None, description="The gates as JUnit XML.")
    prometheus: str | None = Field(default=None, description="The last values, for Prometheus.")
    openlineage: str | None = Field(
        default=None, description="Run events as JSON lines, or an OpenLineage server's URL."
    )
    mlflow: str | None = Field(default=None, description="MLflow tracking URI.")


class Job(Strict):
    """A job: predictions that are evaluated period by period."""

    name: str = Field(pattern=r"^[\w.-]+$", description="Name of the job in the history.")
    from_state: str | list[str] | None = Field(
        default=None,
        description="Path, pattern or folder of states, in the place of a source and its roles.",
    )
    source: str | list[str] | None = Field(
        default=None,
        validate_default=True,
        description="Path, pattern or folder of the predictions.",
    )
    label: str | None = Field(default=None, description="Column of the truth.")
    score: str | dict[str | int, str] | None = Field(
        default=None, description="Score's column, or name: column for several models."
    )
    prediction: str | dict[str | int, str] | None = Field(
        default=None, description="Predicted class or value, or name: column for several models."
    )
    weight: str | None = Field(default=None, description="Column of weights.")
    counts: str | dict[str, str] | None = Field(
        default=None, description="How often a row stands, or the columns of tp, fp, fn and tn."
    )
    qid: str | None = Field(default=None, description="Query of a ranked row.")
    positive: str | int | float | bool | None = Field(default=None, description="Positive label.")
    threshold: float | None = Field(default=None, description="Positive when score >= threshold.")
    where: str | None = Field(default=None, description="SQL condition on the source's columns.")
    nulls: Literal["error", "drop"] = Field(
        default="error", description="What happens to rows with a missing value."
    )
    task: Literal["binary", "multiclass", "regression", "ranking"] | None = Field(
        default=None, description="Follows from the columns if left out."
    )
    labels: Labels | None = Field(default=None, description="Labels that arrive later.")
    by: str | list[str] = Field(default_factory=list, description="Slice keys.")
    slices: list[list[str]] | None = Field(
        default=None, description="Several sets of slice keys: [[], [carrier], [carrier, origin]]."
    )
    period: Period = Field(description="What cuts the rows into periods.")
    metrics: list[str] | None = Field(
        default=None, min_length=1, description="Left out: the task's default set."
    )
    ci: float | None = Field(default=None, gt=0, lt=1, description="Level of the intervals.")
    states: States | None = Field(
        default=None,
        description="Where states are kept, for longer periods and later metrics: the folder "
        "alone, or with bins.",
        json_schema_extra=or_text,
    )
    history: History = Field(
        description="Where results are kept: the URL alone, or with what it needs.",
        json_schema_extra=or_text,
    )
    baseline: Baseline | None = Field(default=None, description="What gates call baseline.")
    gates: list[Gate] = Field(
        default_factory=list[Gate],
        description="What must hold: the check alone, or with these.",
        json_schema_extra=or_text,
    )
    missing: Literal["fail", "warn", "ignore"] = Field(
        default="fail", description="The gate of missing data: a period or a slice without rows."
    )
    report: str | None = Field(default=None, description="HTML page of the last run.")
    outputs: Outputs = Field(default_factory=Outputs, description="Files for programs.")

    _folder: Path = PrivateAttr(default_factory=Path)
    _made_of: Definition | None = PrivateAttr(default=None)

    def placed(self, folder: Path) -> Job:
        """Return this job as it stands in a folder, where its relative paths start."""
        self._folder = folder
        return self

    @field_validator("source")
    @classmethod
    def _needed(cls, given: str | list[str] | None, info: ValidationInfo) -> Any:
        if given is None and info.data.get("from_state") is None:
            raise PydanticCustomError("missing", "a job needs a source, or from_state")
        return given

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        job: dict[str, Any] = dict(given)  # pyright: ignore[reportUnknownArgumentType]
        for name, first in (("history", "url"), ("states", "folder")):
            if isinstance(job.get(name), str):
                job[name] = {first: job[name]}
        gates = job.get("gates")
        if isinstance(gates, list):
            job["gates"] = [{"check": g} if isinstance(g, str) else g for g in gates]  # pyright: ignore[reportUnknownVariableType]
        return job

    @model_validator(mode="after")
    def _fits(self) -> Job:
        self._fits_states()
        if self.by and self.slices is not None:
            raise ValueError("by and slices are two ways to say one thing; keep one")
        sets = [frozenset(keys) for keys in self.key_sets]
        if len({*sets}) < len(sets) or any(len({*k}) < len(k) for k in self.key_sets):
            raise ValueError(f"slices stand twice in {self.key_sets}")
        for key in ("model", "class"):
            if any(key in keys for keys in sets):
                raise ValueError(
                    f"{key!r} cannot be a slice key of a job: the history calls so what several "
                    "scores, or several classes, are told apart by; rename the column"
                )
        for gate in self.gates:
            if gate.parsed.reference == "baseline" and self.baseline is None:
                raise ValueError(
                    f"{gate.check!r} needs a baseline, such as "
                    "baseline: {from: 2013-07-01, to: 2013-07-31}"
                )
            if gate.on != "value" and self.ci is None:
                raise ValueError(f"{gate.check!r} is on {gate.on}, which needs ci: 0.95")
            if gate.by is not None and sorted(gate.by) not in map(sorted, self.key_sets):
                raise ValueError(
                    f"{gate.check!r} is by {gate.by}, and the job's slices are {self.key_sets}"
                )
        return self

    def _fits_states(self) -> None:
        if self.from_state is None:
            given = [self.source] if isinstance(self.source, str) else self.source or []
            folder = "" if self.states is None else self.states.folder
            for path in given if folder else []:
                if PurePath(os.path.normpath(folder)).is_relative_to(os.path.normpath(path)):
                    raise ValueError(f"states: {folder} lies in the source {path}")
            return
        for name in (*_OF_ROWS, "states"):
            if name in self.model_fields_set:
                raise ValueError(f"{name} is of rows; a job from_state takes it from the states")
        if self.period.column != "period":
            raise ValueError(
                f"period.column={self.period.column!r} is of rows; that of states is 'period'"
            )

    def of_states(self, made_of: Definition) -> Job:
        """Return this job with what its states were made of."""
        job = self.model_copy(update={"task": made_of.task})
        job._made_of = made_of
        return job

    @property
    def made_of(self) -> Definition | None:
        """What the job's states were made of, once one has been looked at."""
        return self._made_of

    @property
    def sources(self) -> str | list[str]:
        """Where the rows are, or the states."""
        given = self.source if self.from_state is None else self.from_state
        assert given is not None
        return given

    @property
    def key_sets(self) -> list[list[str]]:
        """Each set of slice keys that is evaluated."""
        if self.slices is not None:
            return self.slices
        return [[self.by] if isinstance(self.by, str) else self.by]

    @property
    def secrets(self) -> list[Environment]:
        """What the job takes from the environment."""
        given = [self.history.password, *self.history.options.values()]
        return [each for each in given if isinstance(each, Environment)]

    def path(self, text: str) -> str:
        """Return a path of the file's as it stands for this process."""
        return text if "://" in text else os.path.normpath(self._folder / text)

    def paths(self, source: str | list[str]) -> str | list[str]:
        """Return a source's path or paths as they stand for this process."""
        return self.path(source) if isinstance(source, str) else [self.path(s) for s in source]

    @property
    def folder(self) -> Path:
        """The folder of the job file."""
        return self._folder
