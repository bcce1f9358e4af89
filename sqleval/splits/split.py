"""Splits: which rows train and which test, as a relation of key, repeat, fold and role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from sqleval.common.sql_text import quote
from sqleval.engines.embedded import embedded
from sqleval.inputs.opening import open_source
from sqleval.splits.statement import Split, judge, plan

#: Rows that are handed over at once.
_BATCH = 1_000_000


def lazy(split: Split) -> pl.LazyFrame:
    """Return a split as a LazyFrame that is read in batches, and only where it is asked for."""

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(split.schema) if columns is None else columns
        also = predicate.meta.root_names() if predicate is not None else []
        names = [*dict.fromkeys([*wanted, *also])] or list(split.schema)[:1]
        pushed = embedded().predicate_sql(predicate) if predicate is not None else None
        # So many rows are taken before the predicate judges them.
        limit = "" if n_rows is None else f"\nLIMIT {n_rows}"
        inner = f"SELECT * FROM (\n{split.statement.select}\n) AS split{limit}"
        select = f"SELECT {', '.join(map(quote, names))} FROM (\n{inner}\n) AS chosen"
        select += f"\nWHERE {pushed}" if pushed else ""
        judge(split)
        sql = replace(split.statement, select=select).inlined()
        source = split.source
        with embedded().stream(sql, source, source.objects(split.columns)) as relation:
            # Batch by batch: Python holds no more than one of them.
            reader = relation.to_arrow_reader(_BATCH)
            try:
                for batch in reader:
                    frame = pl.DataFrame(batch)
                    typed = pl.DataFrame(
                        [frame[name].cast(split.schema[name]) for name in frame.columns]
                    )
                    chosen = typed if predicate is None else typed.filter(predicate)
                    yield pl.DataFrame([chosen[name] for name in wanted])
            finally:
                reader.close()

    return register_io_source(read, schema=split.schema)


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
    gap: float | str = 0,
    window: float | str | None = None,
    p: int = 1,
    where: str | None = None,
    query: str | None = None,
    con: Any = None,
) -> pl.LazyFrame:
    """Say which rows train and which test, by key and seed alone, where the rows lie.

    Parameters
    ----------
    source : path, frame or table
        As for `scan`.
    method : str
        ``holdout`` (by ``time`` if that is given), ``repeated_holdout``, ``kfold``,
        ``repeated_kfold``, ``nested_kfold``, ``leave_one_out``, ``leave_p_groups_out``,
        ``bootstrap``, ``expanding`` and ``sliding`` windows of ``time``; ``hash_holdout`` and
        ``hash_kfold``, in which new rows never move old ones.
    key : str or sequence of str
        The columns that tell rows apart: whole numbers, texts or dates.
    stratify : str or sequence of str, optional
        Columns whose values are to be shared out alike.
    group : str or sequence of str, optional
        Columns whose values are never parted.
    time : str, optional
        A date, a time or a number: what is later is tested.
    test_size : float
        Share of rows (or of groups) to test on, in (0, 1).
    n_splits : int
        Folds, or windows of time.
    repeats : int, optional
        Random splits; 100 for ``repeated_holdout``, 10 for ``repeated_kfold``, and 1 otherwise.
    seed : int
        Another seed is another split.
    gap, window : float or str
        Spans of time, such as ``"7d"``, or numbers where ``time`` is one: between training and
        test rows, and of training rows.
    p : int
        Groups that are left out together.
    where : str, optional
        A SQL condition over the source's columns.
    query, con : optional
        As for `scan`.

    Returns
    -------
    polars.LazyFrame
        The key's columns, ``repeat`` and ``fold`` (from 1), and ``role`` (``train``, ``test``;
        ``validation`` with ``inner_fold`` in ``nested_kfold``, ``gap`` by time). ``bootstrap`` has
        ``in_bag_count`` as well. Each row stands once in each fold that it has a role in;
        ``filter(role="test")`` alone is each row's own fold.

    Raises
    ------
    RequestError
        If a column does not exist or an option does not go with the method.
    SourceError
        If a file is missing or cannot be read.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> rows = pl.DataFrame({"id": range(10), "y": [0, 1] * 5})
    >>> found = sqleval.split(rows, key="id", stratify="y", test_size=0.4).collect()
    >>> found.join(rows, on="id").group_by("role", "y").len().sort("role", "y")["len"].to_list()
    [2, 2, 3, 3]
    """
    options = {
        "method": method, "key": key, "stratify": stratify, "group": group, "time": time,
        "test_size": test_size, "n_splits": n_splits, "repeats": repeats, "seed": seed,
        "gap": gap, "window": window, "p": p, "where": where,
    }  # fmt: skip
    opened = open_source(source, query=query, con=con, name="_sqleval_rows")
    return lazy(plan(opened, options))
