"""Splits rows into training and test: a LazyFrame of key, repeat, fold and role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from sqleval.common.sql_text import quote
from sqleval.engines.base import Engine
from sqleval.engines.lazy_frames import create_lazy_frame
from sqleval.engines.opening import open_engine, refuse_options
from sqleval.engines.warehouse import Warehouse
from sqleval.errors import RequestError
from sqleval.sources.opening import check_used, open_source
from sqleval.sources.source import Source
from sqleval.splits.statement import Split, build_split
from sqleval.splits.units import add_units, check_units, take_units

#: Rows per batch.
_BATCH = 1_000_000


def to_lazy_frame(split: Split) -> pl.LazyFrame:
    """Return a split as a LazyFrame, whose statement runs when it is collected."""

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        output_columns = list(split.schema) if columns is None else columns
        filtered = predicate.meta.root_names() if predicate is not None else []
        names = [*dict.fromkeys([*output_columns, *filtered])] or list(split.schema)[:1]
        pushed = split.engine.predicate_sql(predicate) if predicate is not None else None
        # Polars takes the first n_rows before it applies the predicate.
        limit = "" if n_rows is None else f"\nLIMIT {n_rows}"
        inner = f"SELECT * FROM (\n{split.statement.select}\n) AS split{limit}"
        select = f"SELECT {', '.join(map(quote, names))} FROM (\n{inner}\n) AS chosen"
        select += f"\nWHERE {pushed}" if pushed else ""
        check_units(split)
        sql = replace(split.statement, select=add_units(split, select)).inline()
        source = split.source
        with split.engine.stream(sql, source, source.objects(split.columns)) as relation:
            # Python holds only one batch at a time.
            reader = relation.to_arrow_reader(_BATCH)
            try:
                for batch in reader:
                    frame = take_units(split, pl.DataFrame(batch))
                    typed = pl.DataFrame(
                        [frame[name].cast(split.schema[name]) for name in frame.columns]
                    )
                    chosen = typed if predicate is None else typed.filter(predicate)
                    yield pl.DataFrame([chosen[name] for name in output_columns])
            finally:
                reader.close()

    return create_lazy_frame(read, split.schema)


def open_split(
    source: object,
    query: str | None,
    engine: object,
    of_source: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Split:
    """Return the split of a source; see `split`.

    Parameters
    ----------
    source, query, engine : optional
        As for `split`.
    of_source : mapping
        The options of `split` for reading the source by DuckDB.
    options : mapping
        The other options, and ``roles``, the roles in the result.
    """
    elsewhere = open_engine(engine, source)
    opened = open_rows(elsewhere, source, query, of_source, "_sqleval_rows")
    return build_split(opened, options, engine=elsewhere)


def open_rows(
    engine: Engine | None,
    source: object,
    query: str | None,
    of_source: Mapping[str, Any],
    name: str,
) -> Source:
    """Return a source as an engine reads it, by default DuckDB.

    Raises
    ------
    RequestError
        If the engine is a warehouse.
    """
    if engine is None:
        opened = open_source(source, query=query, name=name, **of_source)
        check_used(of_source.get("csv"), opened)
        return opened
    if isinstance(engine, Warehouse):
        raise RequestError(
            f"engine= is {engine.name}; splits are made and checked by DuckDB, Spark and Sail. "
            f"sqleval split --table TABLE --dialect {engine.dialect} prints a statement for it"
        )
    refuse_options(engine, **of_source)
    return engine.open(source, query, name)


def split(
    source: object = None,
    *,
    method: str = "holdout",
    key: str | Sequence[str],
    stratify: str | Sequence[str] | None = None,
    group: str | Sequence[str] | None = None,
    time: str | None = None,
    test_size: float = 0.3,
    n_splits: int = 10,
    repeats: int | None = None,
    seed: int = 0,
    gap: float | str | timedelta = 0,
    window: float | str | timedelta | None = None,
    p: int = 1,
    where: str | None = None,
    query: str | None = None,
    con: Any = None,
    engine: Any = None,
    storage: Mapping[str, str | bool] | None = None,
    version: int | str | None = None,
    timestamp: datetime | str | None = None,
    verify: bool = False,
    rows: str | None = None,
    csv: Mapping[str, Any] | None = None,
) -> pl.LazyFrame:
    """Assign rows to training and test folds, which depend only on the keys and the seed.

    Parameters
    ----------
    source : path, frame or table
        As for `scan`.
    method : str
        ``holdout`` (by ``time`` if set), ``repeated_holdout``, ``kfold``, ``repeated_kfold``,
        ``nested_kfold``, ``leave_one_out``, ``leave_p_groups_out``, ``bootstrap``; ``expanding``
        and ``sliding`` windows of ``time``; ``hash_holdout`` and ``hash_kfold``, in which new rows
        never change the fold of old rows.
    key : str or sequence of str
        The columns that identify a row: integers, texts or dates.
    stratify : str or sequence of str, optional
        Columns whose values have equal shares in training and test.
    group : str or sequence of str, optional
        Columns whose values are kept together: all rows of a group train, or all are tested. A NULL
        is an error, as in scikit-learn.
    time : str, optional
        A date, a time or a number; later rows are tested.
    test_size : float
        Share of rows (or of groups) to test on, in (0, 1).
    n_splits : int
        Number of folds or time windows.
    repeats : int, optional
        Number of random splits: 100 for ``repeated_holdout``, 10 for ``repeated_kfold``, 1 for
        the other methods.
    seed : int
        Seed of the random order.
    gap, window : float, str or timedelta
        The time between training and test rows, and the length of the training window: a span such
        as ``"7d"`` or ``"12h"`` if ``time`` is a date or a time, or a number if ``time`` is one.
    p : int
        Number of groups that are left out together.
    where : str, optional
        A SQL condition on columns of the source.
    query, con, engine, storage, version, timestamp, verify, rows, csv : optional
        As for `scan`.

    Returns
    -------
    polars.LazyFrame
        The key columns, ``repeat`` and ``fold`` (from 1), and ``role``: ``train`` or ``test``, also
        ``validation`` with an ``inner_fold`` in ``nested_kfold``, and ``gap`` in splits by time.
        ``bootstrap`` also has ``in_bag_count``. Each row of the source has one row for each fold in
        which it has a role. The order is arbitrary: join the result with the source by the key.
        ``filter(role="test")`` gives the fold in which each row is tested.

    Raises
    ------
    RequestError
        If a column does not exist or an option does not fit the method.
    SourceError
        If a file is missing or cannot be read.
    DataError
        On ``collect``, if there are too few rows, groups or times for the folds, or a row has no
        group or time.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> rows = pl.DataFrame({"id": range(10), "y": [0, 1] * 5})
    >>> folds = sqleval.split(rows, key="id", stratify="y", test_size=0.4).collect()
    >>> folds.join(rows, on="id").group_by("role", "y").len().sort("role", "y")["len"].to_list()
    [2, 2, 3, 3]
    """
    options = {
        "method": method, "key": key, "stratify": stratify, "group": group, "time": time,
        "test_size": test_size, "n_splits": n_splits, "repeats": repeats, "seed": seed,
        "gap": gap, "window": window, "p": p, "where": where,
    }  # fmt: skip
    of_source = {
        "con": con, "storage": storage, "version": version, "timestamp": timestamp,
        "verify": verify, "rows": rows, "csv": csv,
    }  # fmt: skip
    return to_lazy_frame(open_split(source, query, engine, of_source, options))
