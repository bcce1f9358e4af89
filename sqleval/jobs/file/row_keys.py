"""The keys of a job file that describe its rows: the source, its roles and options."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from sqleval.binding.long_rows import check_long
from sqleval.binding.row_query import parse_query
from sqleval.catalog.tasks import has_several_classes
from sqleval.errors import RequestError
from sqleval.jobs.file.fields import RoleKeys, TaskName
from sqleval.jobs.file.parts import Labels
from sqleval.sources.reading import Reading, check_csv, make_reading, split_formats

#: The sources of a job: of its rows, and of their labels.
SIDES = ("source", "labels")


class RowKeys(RoleKeys):
    """The rows of a job, and how they are bound."""

    name: str = Field(
        pattern=r"^[\w.-]+$",
        description="Name of the job in the history, of letters, digits, _, . and -.",
    )
    from_state: str | list[str] | None = Field(
        default=None,
        description="Path, pattern or folder of states, instead of a source and its roles.",
    )
    source: str | list[str] | None = Field(
        default=None,
        validate_default=True,
        description="Path, pattern or folder of the predictions, or a table of a lake or database.",
    )
    query: str | None = Field(
        default=None,
        description="SELECT ... FROM source, row by row: expressions, UNNEST and WHERE.",
    )
    label: str | dict[str | int, str] | None = Field(
        default=None,
        description="Column of the truth; if a row has many labels, a list, or label: column.",
    )
    score: str | dict[str | int, str | dict[str | int, str]] | None = Field(
        default=None, description="Column of the score; model: column; model: {class: column}."
    )
    prediction: str | dict[str | int, str] | None = Field(
        default=None, description="Predicted class or value, or name: column for several models."
    )
    classes: list[str | int | float | bool] | None = Field(
        default=None, description="Class at each place of a list or array of scores."
    )
    value: str | dict[str | int, str] | None = Field(
        default=None,
        description="Column that is summarised by itself, without a label, or name: column for "
        "several models.",
    )
    weight: str | None = Field(default=None, description="Column of sampling weights.")
    counts: str | dict[str, str] | None = Field(
        default=None,
        description="Column of the number of rows that a row stands for, or the columns of tp, fp, "
        "fn and tn that the metrics read.",
    )
    qid: str | None = Field(default=None, description="Column of the query of a ranked row.")
    item: str | None = Field(default=None, description="Column of the item of a ranked row.")
    positive: str | int | float | bool | None = Field(default=None, description="Positive label.")
    threshold: float | dict[str | int, Annotated[float, Field(strict=True)]] | None = Field(
        default=None, description="Positive when score >= threshold; or model: threshold."
    )
    where: str | None = Field(
        default=None,
        description="SQL condition on columns of the source; the zone of its session is UTC.",
    )
    nulls: Literal["error", "drop"] = Field(
        default="error", description="Rows with a missing value: an error, or left out."
    )
    common: bool = Field(
        default=False, description="With nulls: drop, only the rows that all models have."
    )
    task: TaskName | None = Field(
        default=None, description="Task; by default it follows from the columns."
    )
    engine: str | None = Field(
        default=None,
        description="Engine that evaluates the rows: spark, sail or sc://host:port; by default "
        "DuckDB.",
    )
    verify: bool = Field(
        default=False,
        description="Check the page checksums of local Parquet files before they are evaluated.",
    )
    long: dict[str, str] | None = Field(
        default=None,
        description="Several rows per case: the columns of model, class or label.",
    )
    key: str | list[str] | None = Field(
        default=None, description="With long: column, or columns, that the rows of a case share."
    )
    labels: Labels | None = Field(
        default=None, description="Labels from a second source, which may arrive later."
    )
    expected: bool = Field(
        default=False,
        description="Store expected metrics of periods that are over while their labels mature; "
        "the scores must be calibrated probabilities.",
    )
    storage: dict[str, str | bool] = Field(
        default_factory=dict[str, str | bool],
        description="Options of the object store of s3://, gs:// and az:// sources: anonymous, "
        "endpoint, region, account. Keys come from the environment.",
    )
    rows: str | None = Field(
        default=None,
        description="Field of JSON documents that holds the rows of the source, such as samples or "
        "results.rows.",
    )
    csv: dict[str, str | int | bool | list[str] | dict[str, str]] = Field(
        default_factory=dict[str, Any],
        description="Options of CSV files of the source and of labels: header, separator, decimal, "
        "quote, escape, comment, skip, na, encoding, date_format, types.",
    )

    @property
    def has_scores_of_classes(self) -> bool:
        """Whether a mapping of scores names classes or labels, instead of models."""
        return has_several_classes(self.task) or isinstance(self.label, dict)

    def read_side(self, side: str) -> Reading:
        """Return how the files of a side are read, ``source`` or ``labels``."""
        if side == "source":
            source = self.source if self.from_state is None else self.from_state
            reading = make_reading(self.rows, self.csv)
        else:
            source = None if self.labels is None else self.labels.source
            reading = make_reading(None, self.csv, is_second=True)
        paths = [source] if isinstance(source, str) else source or []
        return reading._replace(format_name=split_formats(paths)[0])

    @field_validator("csv")
    @classmethod
    def _check_csv(cls, csv: dict[str, Any]) -> dict[str, Any]:
        check_csv(csv)
        return csv

    @field_validator("query")
    @classmethod
    def _check_query(cls, query: str | None) -> str | None:
        if query is None:
            return None
        try:
            parse_query(query)
        except RequestError as error:
            raise ValueError(str(error).removeprefix("query: ")) from None
        return query

    @model_validator(mode="after")
    def _check_long(self) -> Self:
        if self.long is not None or self.key is not None:
            try:
                check_long(self.long, self.key)
            except RequestError as error:
                raise ValueError(str(error)) from None
            several = {"class": "classes", "label": "labels"}
            for name in (several.keys() & {*(self.long or {})}) if self.classes is None else ():
                raise ValueError(
                    f"long: {{{name}: ...}} needs classes: [a, b], so that all periods have the "
                    f"same {several[name]}"
                )
        return self

    @field_validator("source")
    @classmethod
    def _check_source(cls, source: str | list[str] | None, info: ValidationInfo) -> Any:
        if source is None and info.data.get("from_state") is None:
            raise PydanticCustomError("missing", "a job needs a source or from_state")
        if source == []:
            raise PydanticCustomError("empty", "the list of paths is empty")
        return source
