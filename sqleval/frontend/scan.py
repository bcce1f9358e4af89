"""Defines `scan`, which binds the columns of a source to roles.

This module imports little. The first scan imports the compiler, while the engine opens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from sqleval.binding.arguments import check_roles
from sqleval.binding.long_rows import check_long
from sqleval.catalog.roles import check_added
from sqleval.common.imports import pause_garbage_collector
from sqleval.common.numbers import convert_scalar
from sqleval.engines.embedded import embedded
from sqleval.engines.opening import open_engine, refuse_options
from sqleval.engines.waiting import notice_interrupts
from sqleval.sources.opening import check_used, open_source

if TYPE_CHECKING:
    from sqleval.binding.binding import Nulls
    from sqleval.catalog import Catalogue
    from sqleval.common.sql_text import Scalar
    from sqleval.frontend.predictions import Predictions


def scan(
    source: object = None,
    *,
    label: str | Mapping[Any, str] | None = None,
    # Any, because type checkers do not accept a dict with text keys as a mapping of other keys.
    score: str | Mapping[Any, str] | None = None,
    prediction: str | Mapping[Any, str] | None = None,
    classes: Sequence[Any] | None = None,
    value: str | Mapping[Any, str] | None = None,
    weight: str | None = None,
    counts: str | Mapping[str, str] | None = None,
    qid: str | None = None,
    item: str | None = None,
    by: str | Sequence[str] | Mapping[str, str] = (),
    sets: str | Sequence[Sequence[str]] | None = None,
    over: str | Sequence[str] = (),
    role: str | None = None,
    positive: Scalar | None = None,
    threshold: float | Mapping[Any, float] | None = None,
    where: str | None = None,
    nulls: Nulls = "error",
    common: bool = False,
    long: Mapping[str, str] | None = None,
    key: str | Sequence[str] | None = None,
    labels: object = None,
    on: str | Sequence[str] | None = None,
    by_position: bool = False,
    expected: bool | Predictions | None = False,
    task: str | None = None,
    query: str | None = None,
    con: Any = None,
    storage: Mapping[str, str | bool] | None = None,
    version: int | str | None = None,
    timestamp: datetime | str | None = None,
    verify: bool = False,
    rows: str | None = None,
    csv: Mapping[str, Any] | None = None,
    catalogue: Catalogue | None = None,
    engine: object = None,
    **roles: str | None,
) -> Predictions:
    """Bind columns of a source to roles; only the types of the columns are read.

    A role is a column, or a SQL expression over the columns of a row: ``label="outcome = 'won'"``,
    ``score="1 - p_no"``, ``score="probability.values[2]"``. A text that equals a column's name is
    that column. Expressions are checked like ``where=``.

    Parameters
    ----------
    source : path, frame or table
        A path, pattern, folder (Hive partitions become text columns), URL (``s3://``, ``gs://``,
        ``az://``, ``https://``) or list of paths, after a prefix such as ``csv+``, ``trec+`` or
        ``whitespace+`` if their ending is another one; a Delta, Iceberg or Lance table by its path
        or URL (``delta+s3://...``, ``iceberg://catalog/namespace.table``) or as the library's
        object; a table of a DuckLake (``ducklake:catalogue#schema.table``); a table of a database:
        a DuckDB or SQLite file (``warehouse.duckdb#preds``, ``sqlite:///file``) or
        ``postgresql://user@host/database#schema.table``; a Polars DataFrame or LazyFrame
        (streamed); a PyArrow Table, RecordBatchReader or other Arrow stream (readable once) or
        Dataset; a pandas DataFrame; a DuckDB relation; a table name with ``con=``.
    label : str or mapping, optional
        The column of the truth. If a row has many labels, it is a list of their names, or of 0 and
        1 for each label; or a mapping from label to its column of 0 and 1. Only a table of counts
        needs none: a table with the columns ``tp``, ``fp``, ``fn`` and ``tn``, or ``label``,
        ``prediction`` and ``n``.
    score : str or mapping, optional
        The score; larger means more positive. A mapping from model to column compares models
        under the key ``model``; with ``task="multiclass"`` it maps class to column. Several models
        of several classes map model to class to column, ``{"a": {0: "a_0", 1: "a_1"}, "b": ...}``.
        A column of lists, arrays or structs (also Spark's vectors) has a score for each class. Of
        two classes, the score of the positive one is read. With many labels, a mapping from label
        to column, or a list with the score of each label.
    prediction : str or mapping, optional
        The predicted class or value; for binary, ``score >= threshold`` if left out. A mapping
        from model to column compares models, alone or beside the scores of the same models. With
        many labels, as ``label``.
    classes : sequence, optional
        The class at each place of a list or array of scores. Labels that are whole numbers from 0
        need none, because they are the places. The fields of a struct are classes by themselves.
        With many labels, all labels, in the order of the places of lists.
    value : str or mapping, optional
        A column that is summarised by itself, instead of ``label``, ``score`` and ``prediction``:
        numbers, or truth values, of which True counts as 1. A mapping from model to column compares
        models.
    weight : str, optional
        Sampling weights, 0 or more: of a survey, of importance sampling or of costs. Intervals and
        tests depend on their variation, not on their scale. The largest weight of a slice must lie
        in 1e-100 .. 1e100.
    counts : str or mapping, optional
        The column with the number of equal rows that a row stands for: a count of 2 is the row
        twice, in values and in intervals. Or a mapping to the columns of the four counts that the
        metrics read: ``{"tp": "hits", "fp": ..., "fn": ..., "tn": ...}``.
    qid : str, optional
        The query that a ranked row belongs to.
    item : str, optional
        The item of a ranked row, such as a product: metrics of recommendation count items over all
        lists.
    by : str, sequence of str, or mapping
        Slice keys: metrics are evaluated for each combination of values of these columns. A
        mapping gives names to SQL expressions: ``{"month": "date_trunc('month', day)"}``.
        ``cut(age, [18, 65])`` makes intervals with these ends, ``qcut(age, 4)`` intervals of
        equally many rows.
    sets : {"overall", "rollup", "cube"} or sequence of sequence of str, optional
        Sets of the slice keys, each evaluated separately: all rows and all keys (``overall``), one
        key more at a time (``rollup``), every combination (``cube``), or the listed sets. The
        result has the column ``by``, which names the keys of a row; its other keys are NULL.
    over : str or sequence of str, optional
        The columns of data sets, folds or runs: ``f1(average='macro')`` is then the mean over
        them (with several classes, of the means over classes), and ``average='micro'`` the value
        of their summed counts. Or the columns of groups to compare: ``recall(reduce='difference')``
        is the largest of the groups' values minus the smallest.
    role : str, optional
        A column with ``train``, ``validation`` and ``test``: metrics are evaluated for each role.
        A row ``gap`` (and ``validation_gap``) says how much worse the value is than on training
        rows, or how much larger if neither higher nor lower is better.
    positive : scalar, optional
        The positive value of the label, unless it is 1 (of 0 and 1, or -1 and 1) or True. The
        column must be able to hold it: 1.7 for whole numbers, or ``"x"`` for dates, is an error.
    threshold : float or mapping, optional
        The score from which a prediction is positive; by default 0.5, for scores in 0 .. 1. A
        mapping from the models of ``score``, or from the labels, to thresholds gives each its own.
    where : str, optional
        A SQL condition over the source's columns. In it and in ``by=``, the zone of a TIMESTAMP
        WITH TIME ZONE is UTC on every machine, unless ``con=`` says otherwise.
    nulls : {"error", "drop"}
        Whether rows with a NULL or NaN in a bound column are an error, or are left out. In a
        ranking, an item with a NULL score was not retrieved: it has no place in the list, and
        counts among the relevant items. An item with a NULL label was not judged: it keeps its
        place, with relevance 0. ``note`` counts both; NaN is an error, or left out.
    common : bool
        With several models and ``nulls="drop"``: whether a row that lacks the value of one model is
        left out for all models, so that all are judged on the same rows.
    long : mapping, optional
        For several rows per case: ``{"model": column}``, ``{"class": column}`` or both map what
        the rows of a case differ by to its column. ``{"label": column}`` is for many labels, with
        ``label`` 1 in the row of a label that the case has, and 0 in the others. ``score`` (and
        ``prediction``), or ``value``, is the column of the values. The rows become one per case,
        with the result of a mapping of ``score``. Other columns are the same in all rows of a case.
        With classes, the label is the class of the case, or 1 in the row of the true class and 0 in
        the others.
    key : str or sequence of str, optional
        With ``long``: the column, or columns, that name the case. With many labels on another
        engine than DuckDB: the column that tells rows apart, for means over rows.
    labels, on : optional
        A second source that holds the label, and the key, or keys, that join the two. In a ranking
        whose query is among the keys, a label without a row is an item that was not retrieved, as
        is a query without rows (value 0): ``labels="qrels.csv", on=["qid", "doc"]``. Each query of
        a slice is a list, and gets the items that it lacks; a query without rows has no slice.
        Rows without a label are not judged. For other tasks, only rows with a label count.
    by_position : bool
        Join labels by their place instead of a key: row 1 has label 1. Both need equally many rows,
        in a stated order: of a file, an explicit list of files, or a frame.
    expected : bool or Predictions
        Evaluate two classes before their labels come: a row with score p counts as p positives
        and 1 - p negatives, the expected numbers if the scores are calibrated. With labelled
        `Predictions` of the same model instead of True, ``note`` says how well calibrated their
        scores were.
    task : {"binary", "multiclass", "multilabel", "regression", "ranking", "value"}, optional
        If left out, it follows from the roles; for a label and a prediction, from their first
        1,000 rows. Values that are all 0 or 1, of any type, are binary; whole numbers are classes
        if one column has integers or texts; two columns of a floating type are a regression. A
        later row that contradicts this is an error.
    query : str, optional
        A SELECT instead of a source, or on the tables of a database.
    con : duckdb.DuckDBPyConnection or ADBC connection, optional
        The connection for a table name or a query.
    storage : mapping of str to str or bool, optional
        Options of the object store of a URL: ``anonymous``, ``endpoint``, ``region``, ``account``.
        Keys, tokens and profiles come from the usual variables of the environment.
    version : int or str, optional
        The version of a Delta or Lance table, the snapshot of a DuckLake, or the snapshot, branch
        or tag of an Iceberg table.
    timestamp : datetime or str, optional
        The time whose version of the table is read.
    verify : bool
        Check the page checksums of local Parquet files in the columns that are read, each time
        before a result is collected; files that have passed are checked again when they change.
        Files without checksums pass if they can be read.
    rows : str, optional
        The field of JSON documents that holds the rows, such as ``"samples"`` for
        ``{"samples": [{...}, {...}]}``; dots divide its levels. If the rows are lists, the field
        ``columns`` beside it has their names, as in MLflow's tables.
    csv : mapping of str to object, optional
        Options of CSV files and white-space tables: ``header`` (True or False), ``separator``,
        ``decimal``, ``quote``, ``escape``, ``comment``, ``skip`` (lines before the header), ``na``
        (texts that are NULL), ``encoding``, ``date_format``, ``types`` (column to type).
    catalogue : Catalogue, optional
        The SQL files of metrics and curves; by default the files of the package.
        ``Catalogue(find_sql_folder(), "our/metrics")`` of `sqleval.catalog` adds a folder.
    engine : SparkSession, connection, str or Engine, optional
        The engine that runs the statements; a source is then a table, path, query or DataFrame
        there. A session of Spark (classic or Connect), ``"spark"``, ``"sc://host:port"`` or
        ``"sail"``; ``"postgresql://user@host/database"`` or an ADBC connection to PostgreSQL; a
        connection of the clients of Snowflake, Databricks or Trino; a
        ``google.cloud.bigquery.Client``; a ``chdb.session.Session``; or an object with the
        interface of `sqleval.engines.base.Engine`. By default DuckDB, or the session of a Spark
        DataFrame.
    **roles
        The columns of further roles, which the table in `sqleval.catalog.roles` lists.

    Returns
    -------
    Predictions

    Raises
    ------
    SourceError
        If a file is missing or cannot be read.
    RequestError
        If a column does not exist or has the wrong type, or the roles do not fit together.
    TypeError
        If an argument is unknown.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.7, 0.4], "g": ["a", "a", "b"]})
    >>> sqleval.scan(df, label="y", score="p", by="g").task
    'binary'
    """
    notice_interrupts()
    embedded().open_soon()
    with pause_garbage_collector("sqleval.frontend.binding"):
        from sqleval.frontend.binding import add_reference, bind_source

    arguments: dict[str, Any] = {
        "label": label,
        "score": score,
        "prediction": prediction,
        "classes": classes if classes is None else [convert_scalar(each) for each in classes],
        "value": value,
        "weight": weight,
        "counts": counts,
        "qid": qid,
        "item": item,
        "by": by,
        "sets": sets,
        "over": over,
        "role": role,
        "positive": convert_scalar(positive),
        "threshold": _convert_thresholds(threshold),
        "where": where,
        "nulls": nulls,
        "common": common,
        "task": task,
        "on": on,
        "by_position": by_position,
        "expected": expected is not None and expected is not False,
        **roles,
    }
    if long is not None:
        check_long(long, key)
        arguments["long"] = long
    if key is not None:
        arguments["key"] = key
    check_added(roles)
    check_roles(arguments)
    elsewhere = open_engine(engine, source)
    late = None
    if elsewhere is not None:
        refuse_options(
            elsewhere, con=con, storage=storage, version=version, timestamp=timestamp,
            verify=verify, rows=rows, csv=csv,
        )  # fmt: skip
        opened = elsewhere.open(source, query, "_sqleval_rows")
        late = elsewhere.open(labels, None, "_sqleval_labels") if labels is not None else None
    else:
        opened = open_source(
            source, query=query, con=con, name="_sqleval_rows", storage=storage, version=version,
            timestamp=timestamp, verify=verify, rows=rows, csv=csv,
        )  # fmt: skip
        if labels is not None:
            late = open_source(
                labels, name="_sqleval_labels", storage=storage, verify=verify, csv=csv
            )
        check_used(csv, opened, late)
    predictions = bind_source(opened, late, arguments, catalogue, elsewhere)
    if arguments["expected"] and expected is not True:
        return add_reference(predictions, expected)
    return predictions


def _convert_thresholds(threshold: Any) -> Any:
    """Return a threshold, or those of several models by their names, as numbers of Python."""
    if not isinstance(threshold, Mapping):
        return convert_scalar(threshold)
    named = cast("Mapping[Any, Any]", threshold).items()
    return {str(name): convert_scalar(value) for name, value in named}
