"""Counts the rows per period in the files of a job's sources.

The history keeps the result. A run lists the files and reads only those whose version has changed.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import polars as pl

from sqleval.binding.canonical import write_keys
from sqleval.binding.lookup import find_column
from sqleval.common.sql_text import quote, write_literal
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError, SqlevalError
from sqleval.frontend.computing import Described, compute_roles, describe
from sqleval.history.store import FILES
from sqleval.jobs.file.model import Job
from sqleval.jobs.periods.compaction import restore_rewritten_files
from sqleval.jobs.periods.databases import is_database, write_version
from sqleval.jobs.periods.lake import FILE, Lake, open_job_files, open_with_period
from sqleval.jobs.periods.listing import File, Listing, hash_text, list_source
from sqleval.sources.lake.format import Snapshot


def _create_row(
    job: Job, side: str, file: File, rows_hash: int | None = None, **values: object
) -> dict[str, object]:
    """Return a row of the table of files; a database's version is the hash of its rows."""
    version = file.version if rows_hash is None else hash_text(f"{file.version}|{rows_hash}")
    keys = {"job": job.name, "side": side, "file": file.name, "version": version}
    return {**dict.fromkeys(FILES), **keys, "size": file.size, "modified": file.modified, **values}


def _count_rows(
    job: Job,
    files: Sequence[File],
    snapshot: Snapshot | None,
    job_errors: list[RequestError],
) -> list[dict[str, object]]:
    """Count the rows per period in new files.

    Errors of files that do not fit the job are added to ``job_errors``.
    """
    if not files:
        return []
    try:
        source, period = open_with_period(job, [file.path for file in files], snapshot)
        version, read = write_version(job, snapshot, "s", source)
        # A row of a state stands for n rows.
        count = "COUNT(*)"
        if job.state_definition is not None:
            count = f"CAST(SUM(s.n) / {max(len(job.state_definition.models), 1)} AS BIGINT)"
        counts = embedded().rows(
            f"SELECT s.{FILE}, CAST({period} AS VARCHAR), {count}, {version} "
            f"FROM {source.relation} AS s GROUP BY s.{FILE}, {period} ORDER BY 1, 2",
            {}, [source], source.objects([*dict.fromkeys([FILE, job.period.column, *read])]),
        )  # fmt: skip
    except SqlevalError as error:
        if len(files) > 1:
            return [row for f in files for row in _count_rows(job, [f], snapshot, job_errors)]
        if isinstance(error, RequestError):
            job_errors.append(error)
        return [_create_row(job, "source", files[0], error=str(error))]
    by_path = {file.path: file for file in files}
    rows = [
        _create_row(job, "source", by_path[path], rows_hash, period=name, rows=n)
        for path, name, n, rows_hash in counts
    ]
    empty = by_path.keys() - {path for path, *_ in counts}
    return rows + [_create_row(job, "source", by_path[path], rows=0) for path in sorted(empty)]


def _restore_periods(
    rows: list[dict[str, object]], stored: pl.DataFrame
) -> list[dict[str, object]]:
    """Add the periods in the history to the rows of files that cannot be read."""
    before = stored.filter(pl.col("period").is_not_null())
    restored: list[dict[str, object]] = []
    for row in rows:
        if row["error"] is None:
            restored.append(row)
            continue
        periods = before.filter(side=row["side"], file=row["file"])["period"].unique().sort()
        restored += [{**row, "period": period} for period in periods] or [row]
    return restored


def _count_labels(
    lake: Lake,
    paths: Sequence[str],
    label_files: Sequence[File],
    condition: str,
    job_errors: list[RequestError],
) -> list[dict[str, object]]:
    """Count the rows with a label, per file of labels and period."""
    job = lake.job
    assert job.labels is not None
    if not paths or not label_files:
        return []
    on = job.labels.keys
    is_list = job.qid in on
    # In a ranking, a label of a query is an item of its list, with a row or without one.
    on = [job.qid] if job.qid is not None and is_list else on
    # A file that replaced several files of the history is counted under the first of them.
    stand_ins = lake.listings["labels"].stand_ins
    by_path = {
        path: file
        for file in reversed(label_files)
        for path in stand_ins.get(file.name, (file.path,))
    }
    try:
        labels = open_job_files(
            job, list(by_path), "_sqleval_labels", lake.find_snapshot("labels"), "labels"
        )
        source, period = open_with_period(job, paths, lake.find_snapshot("source"))
        rows_and_labels = describe(source, labels, embedded())
        both = compute_roles(rows_and_labels, {"label": job.label, "value": job.value}, embedded())
        source, labels, columns = both.source, both.labels or labels, both.late or {}
        values = [name for name in columns if name in (job.label, job.value)]
        label = f"l.{quote(values[0])}" if values else "1"
        names = list(dict.fromkeys([*on, job.period.column]))
        listed = ", ".join(f"s.{quote(name)}" for name in names)
        rows = f"(SELECT {'DISTINCT ' if is_list else ''}{listed} FROM {source.relation} AS s)"
        version, read = write_version(job, lake.find_snapshot("labels"), "l", labels)
        counts = embedded().rows(
            f"SELECT l.{FILE}, CAST({period} AS VARCHAR), COUNT(*), COUNT({label}), {version} "
            f"FROM {rows} AS s "
            f"JOIN {labels.relation} AS l ON {_match_keys(both, on)} WHERE {period} {condition} "
            f"GROUP BY l.{FILE}, {period} ORDER BY 1, 2",
            {}, [source, labels],
            source.objects(names)
            | labels.objects([*dict.fromkeys([FILE, *on, *values, *read])]),
        )  # fmt: skip
    except SqlevalError as error:
        if len(label_files) > 1:
            return [
                row
                for file in label_files
                for row in _count_labels(lake, paths, [file], condition, job_errors)
            ]
        if isinstance(error, RequestError):
            job_errors.append(error)
        return [_create_row(job, "labels", label_files[0], error=str(error))]
    return [
        _create_row(job, "labels", by_path[path], rows_hash, period=name, rows=n, labelled=labelled)
        for path, name, n, labelled, rows_hash in counts
    ]


def _match_keys(both: Described, on: Sequence[str]) -> str:
    """Return the condition that joins rows ``s`` and late labels ``l`` by their keys."""
    late = both.labels or both.source
    pairs = (
        (
            find_column(both.columns, key, "labels.on", both.source.label),
            find_column(both.late or {}, key, "labels.on", late.label),
        )
        for key in on
    )
    keys = (write_keys(*pair, ("s", "l")) for pair in pairs)
    return " AND ".join(f"{left} = {right}" for left, right in keys)


def _write_list(periods: Iterable[str]) -> str:
    return ", ".join(map(write_literal, periods))


def read_lake(job: Job, stored: pl.DataFrame) -> Lake:
    """List the files of the sources, and read those that are new or changed.

    Parameters
    ----------
    job : Job
        The job.
    stored : polars.DataFrame
        The rows of its files in the history.

    Raises
    ------
    SourceError
        If no file matches.
    RequestError
        If the sources lack the column of the period or the key of the labels.
    """
    late = {"labels": job.labels.source} if job.labels is not None else {}
    listings = {
        side: restore_rewritten_files(job, side, list_source(job, source), stored)
        for side, source in {"source": job.sources, **late}.items()
    }
    sides = {side: listing.files for side, listing in listings.items()}
    now = {(side, file.name, file.version) for side, files in sides.items() for file in files}
    before = set(stored.select("side", "file", "version").iter_rows())
    databases = [side for side, each in listings.items() if is_database(each.snapshot)]
    if not databases and now == before and stored["error"].null_count() == stored.height:
        return Lake(job, stored, is_changed=False, listings=listings)
    current = pl.DataFrame(
        list(now), schema=dict.fromkeys(("side", "file", "version"), pl.String), orient="row"
    )
    # Files that could not be read are tried again. A database is always read, because only its
    # rows show what has changed.
    kept = stored.filter(pl.col("error").is_null(), ~pl.col("side").is_in(databases))
    kept = kept.join(current, on=current.columns, how="semi")
    kept_files = set(kept.select("side", "file", "version").iter_rows())
    new = {
        side: [f for f in files if (side, f.name, f.version) not in kept_files]
        for side, files in sides.items()
    }
    job_errors: list[RequestError] = []
    read = _read_source(job, listings["source"], new["source"], kept, stored, job_errors)
    files = pl.concat([kept.filter(side="source"), read])
    lake = Lake(job, files, is_changed=True, listings=listings)
    if job.labels is not None:
        # All labels of a database are counted anyway.
        changed = set[str]() if "labels" in databases else _list_changed_periods(files, stored)
        labels = _read_labels(
            lake, sides["labels"], new["labels"], changed, kept, stored, job_errors
        )
        files = pl.concat([files, labels])
    is_changed = not databases or not files.sort(pl.all()).equals(stored.sort(pl.all()))
    return replace(lake, files=files, is_changed=is_changed)


def _list_changed_periods(files: pl.DataFrame, stored: pl.DataFrame) -> set[str]:
    """Return the periods whose rows in the source are new, changed or gone."""
    on = ["file", "version", "period", "error"]
    before = stored.filter(side="source")
    pairs = ((files, before), (before, files))
    return {
        period
        for one, other in pairs
        for period in one.join(other, on=on, how="anti", nulls_equal=True)["period"].drop_nulls()
    }


def _read_source(
    job: Job,
    listing: Listing,
    new: Sequence[File],
    kept: pl.DataFrame,
    stored: pl.DataFrame,
    job_errors: list[RequestError],
) -> pl.DataFrame:
    """Return the rows of new files of the source."""
    rows = _count_rows(job, new, listing.snapshot, job_errors)
    # If no file fits the job, the job is wrong.
    if job_errors and kept.filter(side="source").is_empty() and all(row["error"] for row in rows):
        raise job_errors[0]
    return pl.DataFrame(_restore_periods(rows, stored), schema=FILES)


def _read_labels(
    lake: Lake,
    files: Sequence[File],
    new: Sequence[File],
    changed: Collection[str],
    kept: pl.DataFrame,
    stored: pl.DataFrame,
    job_errors: list[RequestError],
) -> pl.DataFrame:
    """Return the rows of the files of labels.

    Labels are counted in all ``files`` for periods with ``changed`` rows, and only in ``new`` files
    for the other periods.
    """
    job = lake.job
    stays = kept.filter(pl.col("period").is_in(list(changed)).not_(), side="labels")
    paths = lake.list_files("source", list(changed))
    rows = _count_labels(lake, paths, files, f"IN ({_write_list(changed)})", job_errors)
    others = f"NOT IN ({_write_list(changed)})" if changed else "IS NOT NULL"
    paths = lake.list_files("source", lake.periods)
    rows += _count_labels(lake, paths, new, others, job_errors)
    if job_errors and stays.is_empty() and rows and all(row["error"] for row in rows):
        raise job_errors[0]
    counted = pl.concat([stays, pl.DataFrame(_restore_periods(rows, stored), schema=FILES)])
    # Files without a label for any row are recorded as well, so that they are not read again.
    names = set(counted["file"])
    idle = [_create_row(job, "labels", file, rows=0) for file in files if file.name not in names]
    return pl.concat([counted, pl.DataFrame(idle, schema=FILES)])
