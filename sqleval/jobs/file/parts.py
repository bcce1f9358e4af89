"""The mappings within a job file, such as ``period:`` and ``gates:``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator

from sqleval.common.periods import Grain, check_period_name
from sqleval.errors import RequestError
from sqleval.history.opening import check_no_password, find_store_kind
from sqleval.jobs.file.fields import Date, Environment, Span, Strict
from sqleval.jobs.file.gate_text import Check, parse_check


class Arrival(NamedTuple):
    """The checks before labels.

    Attributes
    ----------
    keys : tuple of str
        The keys of the labels.
    metrics : tuple of str
        The metrics that need probabilities.
    may_be_null : frozenset of str
        The roles whose NULL is no missing value.
    """

    keys: tuple[str, ...]
    metrics: tuple[str, ...]
    may_be_null: frozenset[str]


class Labels(Strict):
    """Labels from a second source, which may arrive later."""

    source: str | list[str] = Field(
        description="Path, pattern or folder of the labels, or a table of a lake or database."
    )
    on: str | Annotated[list[str], Field(min_length=1)] = Field(
        description="Key column that joins labels and predictions, or several."
    )
    maturity: Span = Field(
        default=timedelta(0),
        description="How long after its end a period is evaluated, such as 7d.",
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_position(cls, content: Any) -> Any:
        if isinstance(content, dict) and "by_position" in content:
            raise ValueError(
                "by_position: a job reads the files of periods, whose rows have no stated order; "
                "name the key columns in on"
            )
        return content  # pyright: ignore[reportUnknownVariableType]

    @property
    def keys(self) -> list[str]:
        """The key columns."""
        return [self.on] if isinstance(self.on, str) else self.on


class Period(Strict):
    """How rows are assigned to periods."""

    column: str = Field(
        description="Column of type DATE, TIMESTAMP, TIMESTAMP WITH TIME ZONE or ISO text; with "
        "from_state: period."
    )
    format: str | None = Field(
        default=None,
        description="Format of a text in that column, such as %d/%m/%Y, where it is not ISO 8601. "
        "CSV files need it where two formats fit, as for 09/11/2018.",
    )
    grain: Grain = Field(default="day", description="Length of a period.")
    timezone: str | None = Field(
        default=None, description="Time zone in which a day begins, such as Europe/Paris."
    )

    @field_validator("format")
    @classmethod
    def _check_format(cls, text: str | None) -> str | None:
        if text is not None:
            day = datetime(2013, 7, 31, tzinfo=UTC)
            try:
                is_day = datetime.strptime(day.strftime(text), text).date() == day.date()
            except ValueError:
                is_day = False
            if not is_day:
                raise ValueError(f"{text!r} is no format of a date; write %d/%m/%Y %H:%M")
        return text

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
        try:
            check_no_password(url)
        except RequestError as error:
            raise ValueError(
                f"{error}; a job file must not contain a password: write history: "
                "{url: postgresql://user@host/database, password: {env: NAME}}"
            ) from None
        find_store_kind(url)
        return url


class Baseline(Strict):
    """The periods whose mean is the ``baseline`` of gates."""

    first: Date = Field(alias="from", description="First period, such as 2013-07-01.")
    last: Date = Field(alias="to", description="Last period, included; 2013-07 is all of July.")

    @model_validator(mode="after")
    def _check_order(self) -> Baseline:
        for text in (self.first, self.last):
            check_period_name(text)
        if self.first > self.last and not self.first.startswith(self.last):
            raise ValueError(f"from {self.first} is later than to {self.last}")
        return self

    def has(self, period: str) -> bool:
        """Whether a period belongs to the baseline."""
        return self.first <= period and (period <= self.last or period.startswith(self.last))


class Gate(Strict):
    """A condition on the results of a period."""

    check: str = Field(
        description="roc_auc >= 0.75, log_loss <= baseline + 0.01, log_loss <= baseline * 1.1, "
        "drop(roc_auc, previous 7) < 0.02, worse(roc_auc, previous 28) < 0.01, "
        "drift(psi, baseline) < 0.2, expected(roc_auc) >= 0.7, rows >= 1000, matured >= 0.9, "
        "age <= 1"
    )
    name: str | None = Field(
        default=None, min_length=1, description="Name in results; by default check and options."
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
        description="Fail only if the check does not hold in this many consecutive periods.",
    )
    severity: Literal["fail", "warn"] = Field(
        default="fail", description="Whether a failed gate fails the run."
    )
    undefined: Literal["fail", "warn", "ignore"] | None = Field(
        default=None,
        description="Whether an undefined value fails, warns or is ignored; by default it is "
        "counted, and a period fails if nothing in it could be judged.",
    )
    windows: list[int] = Field(
        default=[1, 3, 7, 28],
        min_length=1,
        description="For worse: numbers of last periods whose means are compared.",
    )
    false_alarms: float = Field(
        default=1,
        gt=0,
        description="For worse: expected false alarms a year, over all slices, if nothing changes.",
    )

    @field_validator("check")
    @classmethod
    def _check_text(cls, text: str) -> str:
        parse_check(text)
        return text

    @model_validator(mode="after")
    def _check_options(self) -> Gate:
        if self.parsed.is_worse and (self.on != "value" or self.in_a_row > 1):
            raise ValueError(
                f"{self.check!r} compares means of several periods: leave out on and in_a_row"
            )
        if self.parsed.is_expected and (self.on != "value" or self.parsed.is_worse):
            raise ValueError(
                f"{self.check!r}: expected metrics have no interval; write "
                f"{self.parsed.metric} >= 0.7, without on"
            )
        if self.parsed.is_drift and (self.on != "value" or self.in_a_row > 1):
            raise ValueError(f"{self.check!r} has no interval or series: leave out on and in_a_row")
        if not self.parsed.is_worse and {"windows", "false_alarms"} & self.model_fields_set:
            raise ValueError(
                f"windows and false_alarms fit a check worse(...) only, not {self.check!r}"
            )
        if any(window < 1 for window in self.windows):
            raise ValueError(f"windows {self.windows}: each must be at least 1")
        return self

    @property
    def parsed(self) -> Check:
        """The parsed check."""
        return parse_check(self.check)

    @property
    def title(self) -> str:
        """The name, or the check with the options that distinguish it."""
        if self.name is not None:
            return self.name
        parts = (
            [f"by {', '.join(self.by)}" if self.by else "all rows"] if self.by is not None else []
        )
        parts += [f"at least {self.min_rows} rows"] if self.min_rows else []
        parts += [f"on {self.on}"] if self.on != "value" else []
        parts += [f"{self.in_a_row} in a row"] if self.in_a_row > 1 else []
        return f"{self.check} ({'; '.join(parts)})" if parts else self.check


class Outputs(Strict):
    """Files that a run writes for other programs; paths are relative to the job file."""

    json_: str | None = Field(
        default=None, alias="json", description="Run and state of the job as JSON."
    )
    junit: str | None = Field(default=None, description="Verdicts of the gates as JUnit XML.")
    prometheus: str | None = Field(
        default=None, description="Last values in the text format of Prometheus."
    )
    openlineage: str | None = Field(
        default=None,
        description="File for run events as JSON lines, or URL of an OpenLineage server.",
    )
    mlflow: str | None = Field(
        default=None,
        description="MLflow's tracking URI: sqlite:///mlflow.db, or the URL of a server.",
    )

    @field_validator("openlineage", "mlflow")
    @classmethod
    def _check_no_secret(cls, url: str | None) -> str | None:
        try:
            check_no_password(url or "")
        except RequestError as error:
            raise ValueError(
                f"{error}; set the variables of the library instead, such as "
                "MLFLOW_TRACKING_PASSWORD, PGPASSWORD or OPENLINEAGE_API_KEY"
            ) from None
        return url


def _check_header(name: str, value: str) -> None:
    """Raise `RequestError`, which shows no value, unless HTTP allows a header."""
    if re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is None:
        raise RequestError(f"notify: the header {name!r} cannot be sent: it has no name of HTTP")
    if re.fullmatch("[\t\x20-\x7e\xa0-\xff]*", value) is None:
        raise RequestError(
            f"notify: the header {name!r} cannot be sent: its value has a line break, or a "
            "character beyond Latin-1"
        )


class Notification(Strict):
    """Who is told of a run: a command or a webhook, which gets the outcome as JSON."""

    command: list[str] | None = Field(
        default=None,
        min_length=1,
        description="Program and its arguments; it reads the JSON from its standard input.",
    )
    webhook: str | Environment | None = Field(
        default=None,
        description="URL that the JSON is sent to by POST; a secret one as {env: NAME}.",
    )
    headers: dict[str, str | Environment] = Field(
        default_factory=dict, description="Headers of the webhook; secret ones as {env: NAME}."
    )
    on: Literal["fail", "change", "always"] = Field(
        default="fail",
        description="After which runs: those that failed (an exit code other than 0), those whose "
        "status or failed gates differ from those of the run before, or all.",
    )

    @field_validator("webhook")
    @classmethod
    def _check_url(cls, url: str | Environment | None) -> str | Environment | None:
        if isinstance(url, str):
            if not url.startswith(("http://", "https://")):
                raise ValueError("a webhook is a URL that starts with https:// or http://")
            try:
                check_no_password(url)
            except RequestError as error:
                raise ValueError(f"{error}; write webhook: {{env: NAME}}") from None
        return url

    @model_validator(mode="after")
    def _check_target(self) -> Notification:
        if (self.command is None) == (self.webhook is None):
            raise ValueError("a notification needs either a command or a webhook")
        if self.headers and self.webhook is None:
            raise ValueError("headers need a webhook")
        for name, value in self.headers.items():
            _check_header(name, value if isinstance(value, str) else "")
        return self

    def check_secrets(self) -> None:
        """Raise `RequestError` if a variable is not set, or its value cannot be a header."""
        for secret in self.secrets:
            secret.read()
        for name, value in self.headers.items():
            if isinstance(value, Environment):
                _check_header(name, value.read())

    @property
    def target(self) -> str:
        """The name of the target in messages, without secrets."""
        if self.command is not None:
            return f"the command {self.command[0]}"
        if isinstance(self.webhook, Environment):
            return f"the webhook of {self.webhook.env}"
        return f"the webhook {self.webhook}"

    @property
    def secrets(self) -> list[Environment]:
        """The environment variables that the notification needs."""
        values = [self.webhook, *self.headers.values()]
        return [each for each in values if isinstance(each, Environment)]
