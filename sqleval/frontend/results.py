"""Defines `Result`, the lazy frame of a result, which shows itself in consoles and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

import polars as pl

from sqleval.common.visible import escape_html, show_controls
from sqleval.comparison.verdict import summarize
from sqleval.errors import RequestError
from sqleval.frontend.bound import Bound, list_sources

P = ParamSpec("P")
#: A notebook evaluates inputs of at most so many rows by itself.
_MOST_ROWS = 100_000
#: The most rows of a table in a notebook.
_MOST_SHOWN = 100
#: Columns that are left out where they are empty.
_OPTIONAL = ("low", "high", "method", "note", "reason")
#: How tables of texts look.
_LOOKS: Any = {
    "tbl_hide_dataframe_shape": True, "tbl_hide_column_data_types": True, "tbl_rows": -1,
    "tbl_cols": -1, "fmt_str_lengths": 1_000, "tbl_width_chars": 10_000,
}  # fmt: skip


class Result(pl.LazyFrame):
    """The lazy frame of a result.

    It is computed by ``collect()`` like every lazy frame, and shows itself by the methods below.
    What Polars makes of it, such as ``filter(...)``, has them, too.
    """

    _is_small: bool = False
    _has_sets: bool = False

    def __repr__(self) -> str:
        """Return the columns; nothing is computed."""
        columns = ", ".join(map(show_controls, self.collect_schema()))
        return f"<Result with the columns {columns}; show() or collect() computes it>"

    def _repr_html_(self) -> str:
        """Return the rows as a table if the input is small and local, otherwise what to call."""
        if not self._is_small:
            columns = escape_html(", ".join(self.collect_schema()))
            return f"<p>Result with the columns {columns}: <code>.show()</code> computes it</p>"
        frame = self.collect()
        sentences = "".join(f"<p>{escape_html(each)}</p>" for each in self._list_sentences(frame))
        return sentences + _write_html(_select_shown(frame))

    def show(self, limit: int | None = _MOST_SHOWN, **options: Any) -> None:
        """Compute the result, and print its first rows whole, without empty columns.

        Parameters
        ----------
        limit : int or None
            The largest number of rows; None for all.
        **options
            Options of `polars.Config`, such as ``float_precision=3``.
        """
        frame = self.collect()
        for sentence in self._list_sentences(frame):
            print(show_controls(sentence))
        shown = _select_shown(frame if limit is None else frame.head(limit))
        shown.columns = [*map(show_controls, shown.columns)]
        texts = pl.col(pl.String).map_elements(show_controls, return_dtype=pl.String)
        looks: Any = {**_LOOKS, "tbl_formatting": "NOTHING", **options}
        with pl.Config(**looks):
            print(shown.with_columns(texts))
        if limit is not None and frame.height > limit:
            print(f"... {frame.height - limit:,} more rows; show(None) has all")

    def to_markdown(self) -> str:
        """Compute the result, and return it as a table in Markdown.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
        >>> print(sqleval.scan(df, label="y", score="p").evaluate("roc_auc").to_markdown())
        | metric  | value | n | n_dropped | method |
        |---------|-------|---|-----------|--------|
        | roc_auc | 0.75  | 4 | 0         | rows   |
        """
        frame = _select_shown(self.collect())
        frame.columns = [name.replace("|", "\\|") for name in frame.columns]
        texts = pl.col(pl.String).str.replace_all("|", "\\|", literal=True)
        texts = texts.str.replace_all("\n", "<br>", literal=True)
        with pl.Config(**_LOOKS, tbl_formatting="ASCII_MARKDOWN"):
            return str(frame.with_columns(texts))

    def wide(self, column: str | None = None) -> pl.DataFrame:
        """Compute the result, and return a row per slice with a column per metric.

        Parameters
        ----------
        column : str, optional
            The column with the values; by default ``value``, or ``difference`` of a comparison.

        Raises
        ------
        RequestError
            If the result has no metrics or no such column.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.8, 0.4, 0.9], "g": list("aabb")})
        >>> result = sqleval.scan(df, label="y", score="p", by="g").evaluate(["accuracy", "f1"])
        >>> result.wide().rows()
        [('a', 1.0, 1.0), ('b', 1.0, 1.0)]
        """
        frame = self.collect()
        is_comparison = {"difference", "model", "baseline"} <= {*frame.columns}
        values = column or ("difference" if is_comparison else "value")
        if "metric" not in frame.columns or values not in frame.columns:
            raise RequestError(
                f"wide() needs the columns 'metric' and {values!r}; the result has "
                f"{', '.join(frame.columns)}"
            )
        keys = frame.columns[: frame.columns.index("metric")]
        keys += [name for name in ("model", "baseline") if is_comparison and name not in keys]
        if keys:
            return frame.pivot("metric", index=keys, values=values)
        if frame["metric"].is_duplicated().any():
            raise RequestError("wide() needs one row per metric and slice")
        return frame.select("metric", values).transpose(column_names="metric")

    def _list_sentences(self, frame: pl.DataFrame) -> list[str]:
        """Return the verdicts of a comparison as sentences."""
        if not {"metric", "model", "verdict", "difference"} <= {*frame.columns}:
            return []
        keys = frame.columns[: frame.columns.index("metric")]
        return summarize(frame, keys, has_sets=self._has_sets)


def shows_itself(
    function: Callable[Concatenate[Any, P], pl.LazyFrame],
) -> Callable[Concatenate[Any, P], Result]:
    """Return a function of bound rows whose lazy frame shows itself."""

    @wraps(function)
    def show(bound: Bound, *args: P.args, **kwargs: P.kwargs) -> Result:
        # The class of a lazy frame with other methods: its rows stay where they are.
        result = cast("Any", function(bound, *args, **kwargs))
        result.__class__ = Result
        sources = list_sources(bound)
        is_local = bound.engine.dialect == "duckdb" and not bound.engine.is_distributed
        is_local = is_local and not any(source.once or source.listed for source in sources)
        result._is_small = is_local and all(each.has_at_most(_MOST_ROWS) for each in sources)
        result._has_sets = bool(bound.binding.sets)
        return cast("Result", result)

    return show


def _select_shown(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a result without empty columns; the verdict comes before the numbers."""
    names = [
        name
        for name in frame.columns
        if name not in _OPTIONAL or frame[name].null_count() < frame.height
    ]
    if {"verdict", "baseline"} <= {*names}:
        names.remove("verdict")
        names.insert(names.index("baseline") + 1, "verdict")
    return frame.select(names)


def _write_html(frame: pl.DataFrame) -> str:
    """Return the first rows as a table in HTML."""
    head = "".join(f"<th>{escape_html(name)}</th>" for name in frame.columns)
    more = frame.height - _MOST_SHOWN
    below = f"<p>{more:,} more rows: <code>.collect()</code> has all</p>" if more > 0 else ""
    body = "".join(
        f"<tr>{''.join(_list_cells(row))}</tr>" for row in frame.head(_MOST_SHOWN).rows()
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _list_cells(row: tuple[Any, ...]) -> Iterator[str]:
    for value in row:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        text = f"{value:,.6g}" if isinstance(value, float) else "" if value is None else str(value)
        align = "right" if is_number else "left"
        yield f"<td style='text-align: {align}'>{escape_html(text)}</td>"
