"""The mappings within a job file, such as ``period:`` and ``gates:``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator

from sqleval.common.periods import Grain
from sqleval.jobs.file.fields import Date, Environment, Span, Strict
from sqleval.jobs.file.gate_text import Check, parse_check

#: The name of a period.
PERIOD_NAME = re.compile(r"\d{4}(-\d{2}(-\d{2}(T\d{2}:\d{2}Z?)?)?)?")


class Labels(Strict):
    """Labels from a second source, which may arrive later."""

    source: str | list[str] = Field(
        description="Path, pattern or folder of the labels, or a Delta or Iceberg table."
    )
    on: str = Field(description="Key column that joins labels and predictions.")
    maturity: Span = Field(
        default=timedelta(0),
        description="How long after its end a period is evaluated, such as 7d.",
    )


class Period(Strict):
    """How rows are assigned to periods."""

    column: str = Field(
        description="Column of type DATE, TIMESTAMP, TIMESTAMP WITH TIME ZONE or ISO text; with "
        "from_state: period."
    )
    grain: Grain = Field(default="day", description="Length of a period.")
    timezone: str | None = Field(
        default=None, description="Time zone in which a day begins, such as Europe/Paris."
    )

    @field_validator("timezone")
    @classmethod
    def _check_timezone(cls, name: str | None) -> str | None:
        try:
            if name is not None:
                ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"unknown time zone {name!r}; write Europe/Paris or UTC") from None
        return name


class States(Strict):
    """Where the states of periods are kept."""

    folder: str = Field(min_length=1, description="Folder with one Parquet file per period.")
    bins: int = Field(
        default=11, ge=1, le=30, description="Significant bits that are kept of a score."
    )

    @field_validator("folder")
    @classmethod
    def _check_local(cls, folder: str) -> str:
        if "://" in folder:
            raise ValueError(f"{folder!r} is a URL; states are kept in a local folder")
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
    def _check_no_secret(cls, url: str) -> str:
        if "://" in url and (urlsplit(url).password or "password=" in urlsplit(url).query.lower()):
            raise ValueError(
                "a job file must not contain a password; write history: "
                "{url: postgresql://user@host/database, password: {env: NAME}}"
            )
        return url


class Baseline(Strict):
    """The periods whose mean is the ``baseline`` of gates."""

    first: Date = Field(alias="from", description="First period, such as 2013-07-01.")
    last: Date = Field(alias="to", description="Last period, included; 2013-07 is all of July.")

    @model_validator(mode="after")
    def _check_order(self) -> Baseline:
        for text in (self.first, self.last):
            if not PERIOD_NAME.fullmatch(text):
                raise ValueError(f"{text!r} is not a period; write 2013-07-01, 2013-07 or 2013")
        if self.first > self.last and not self.first.startswith(self.last):
            raise ValueError(f"from {self.first} is later than to {self.last}")
        return self


class Gate(Strict):
    """A condition on the results of a period."""

    check: str = Field(
        description="roc_auc >= 0.75, log_loss <= baseline + 0.01, "
        "drop(roc_auc, previous 7) < 0.02, rows >= 1000, matured >= 0.9, age <= 1"
    )
    by: list[str] | None = Field(
        default=None, description="Check only slices of these keys; [] is the whole period."
    )
    min_rows: int = Field(
        default=0, ge=0, description="Check only slices with at least this many rows."
    )
    on: Literal["value", "low", "high"] = Field(
        default="value", description="Check the value or, with ci, a bound of its interval."
    )
    in_a_row: int = Field(
        default=1,
        ge=1,
        description="Fail only after this many consecutive periods that do not hold.",
    )
    severity: Literal["fail", "warn"] = Field(
        default="fail", description="Whether a failed gate fails the run."
    )

    @field_validator("check")
    @classmethod
    def _check_text(cls, text: str) -> str:
        parse_check(text)
        return text

    @property
    def parsed(self) -> Check:
        """The parsed check."""
        return parse_check(self.check)


class Outputs(Strict):
    """Files that a run writes for other programs; paths are relative to the job file."""

    json_: str | None = Field(default=None, alias="json", description="Result of the run as JSON.")
    junit: str | None = Field(default=None, description="Verdicts of the gates as JUnit XML.")
    prometheus: str | None = Field(
        default=None, description="Last values in the text format of Prometheus."
    )
    openlineage: str | None = Field(
        default=None,
        description="File for run events as JSON lines, or URL of an OpenLineage server.",
    )
    mlflow: str | None = Field(default=None, description="MLflow tracking URI.")
