"""Writes slice keys as text for the history, and as conditions on rows."""

from collections.abc import Sequence

import polars as pl

from sqleval.binding.slice_keys import parse_slice_keys as parse_expressions
from sqleval.binding.slice_keys import write_key
from sqleval.common.sql_text import quote, write_literal
from sqleval.engines.embedded import embedded
from sqleval.history.store import parse_slice_keys
from sqleval.jobs.definitions import define_keys
from sqleval.jobs.file.model import Job
from sqleval.jobs.periods.lake import Lake, open_with_period


def write_slices(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Return the slice keys of each row as a JSON object."""
    if not names:
        return pl.repeat("{}", frame.height, dtype=pl.String, eager=True)
    # By name and not by pl.col, which reads a name such as ^.*$ as a pattern.
    # Each key is written alone: a whole number stays 1, not 1.0, if NULLs made its column float.
    parts = [_write_key(frame[name]) for name in names]
    return pl.select(pl.lit("{") + pl.concat_str(parts, separator=",") + "}").to_series()


def _write_key(key: pl.Series) -> pl.Series:
    """Return a slice key as the inside of a JSON object; only whole numbers are numbers there."""
    # By name and not by pl.col, which reads a name such as ^.*$ as a pattern.
    name = key.name
    if key.dtype.is_integer() or key.dtype == pl.Boolean:
        return _write_object(key)
    if not key.dtype.is_float():
        return _write_object(key.cast(pl.String).alias(name))
    is_whole = (key == key.floor()) & (key.abs() < 2.0**53)
    whole = _write_object(key.set(~is_whole.fill_null(value=False), None).cast(pl.Int64))
    return whole.zip_with(is_whole | key.is_null(), _write_object(key.cast(pl.String).alias(name)))


def _write_object(key: pl.Series) -> pl.Series:
    """Return the value of a key with its name as JSON, without the braces."""
    return key.to_frame().to_struct().struct.json_encode().str.slice(1).str.strip_suffix("}")


def add_key_definitions(job: Job, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of the history with the expressions of slice keys added to their definitions."""
    if not job.expressions or "definition" not in rows.columns:
        return rows
    endings = {
        text: define_keys(job, parse_slice_keys(text, job.added_keys))
        for text in rows["slice"].unique()
    }
    ending = pl.col("slice").replace_strict(endings, return_dtype=pl.String)
    return rows.with_columns(definition=pl.col("definition") + ending)


def list_slice_conditions(
    job: Job, lake: Lake, period: str, keys: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the slices of a period as the history writes them, with a condition on their rows.

    Raises
    ------
    RequestError
        If an expression does not fit the columns.
    EngineError, SourceError
        If the rows cannot be read.
    """
    source, period_sql = open_with_period(
        job, lake.list_files("source", [period]), lake.find_snapshot("source")
    )
    source, columns = embedded().describe(source)
    computed = {
        key.name: key
        for key in parse_expressions(
            {key: text for key, text in job.expressions.items() if key in keys},
            columns, source.label,
        )
    }  # fmt: skip
    written = [
        write_key(computed[key], columns, "duckdb") if key in computed else f"s.{quote(key)}"
        for key in keys
    ]
    texts = [f"CAST({each} AS VARCHAR)" for each in written]
    read = [name for key in keys for name in (computed[key].columns if key in computed else [key])]
    values = embedded().rows(
        f"SELECT DISTINCT {', '.join([*written, *texts])} FROM {source.relation} AS s "
        f"WHERE {period_sql} = {write_literal(period)} ORDER BY ALL",
        {}, [source], source.objects([*dict.fromkeys([*read, job.period.column])]),
    )  # fmt: skip
    frame = pl.DataFrame(
        [row[: len(keys)] for row in values], schema=list(keys), orient="row",
        infer_schema_length=None,
    )  # fmt: skip
    conditions = (
        " AND ".join(
            f"{text} IS NOT DISTINCT FROM " + ("NULL" if value is None else write_literal(value))
            for text, value in zip(texts, row[len(keys) :], strict=True)
        )
        for row in values
    )
    return [*zip(write_slices(frame, keys), conditions, strict=True)]
