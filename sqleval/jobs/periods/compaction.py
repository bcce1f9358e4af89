"""Recognises data files of a table that were only rewritten, so that their periods stay as is."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from sqleval.jobs.file.model import Job
from sqleval.jobs.periods.listing import File, Listing, hash_data_file, shorten_path
from sqleval.sources.lake.delta_commits import Commit
from sqleval.sources.lake.ducklake_rows import LakeFiles
from sqleval.sources.lake.format import Snapshot


@dataclass
class _Group:
    """Files ``now`` that replaced the files ``before``; ``rows`` is None if unknown."""

    now: set[str]
    before: set[str]
    rows: int | None


def restore_rewritten_files(job: Job, side: str, listing: Listing, stored: pl.DataFrame) -> Listing:
    """Return a listing in which files of the history stand for the files that replaced them.

    A compaction writes the rows of many files to few, and its commit says that no data changed.
    The periods and counts of the old files in the history therefore remain valid.

    Parameters
    ----------
    job : Job
        The job.
    side : str
        ``source`` or ``labels``; the history counts only the labels that have a prediction.
    listing : Listing
        The files of that side.
    stored : polars.DataFrame
        The files of the job in the history.
    """
    snapshot = listing.snapshot
    if snapshot is None:
        return listing
    here = stored.filter(side=side)
    readable = here.filter(pl.col("error").is_null())
    columns = readable.select("file", "version", "size").unique()
    stored_files = {name: (version, size) for name, version, size in columns.iter_rows()}
    versions = {name: version for name, (version, _) in stored_files.items()}
    unknown = {f.path for f in listing.files if versions.get(f.name) != f.version}
    if not unknown or not stored_files:
        return listing
    files = [file for file in listing.files if file.path not in unknown]
    stand_ins: dict[str, tuple[str, ...]] = {}
    for group in _find_groups(job, listing, snapshot, unknown, here):
        old = [_restore(job, snapshot, path, stored_files) for path in sorted(group.before)]
        restored = [file for file in old if file is not None]
        names = [file.name for file in restored]
        rows = readable.filter(pl.col("file").is_in(names))["rows"].sum()
        is_same = side == "labels" or group.rows in (None, rows)
        if len(restored) < len(old) or not group.now <= unknown or not is_same:
            continue
        files += restored
        unknown -= group.now
        stand_ins |= dict.fromkeys(names, tuple(sorted(group.now)))
    files += [file for file in listing.files if file.path in unknown]
    return listing._replace(files=files, stand_ins=stand_ins)


def _find_groups(
    job: Job, listing: Listing, snapshot: Snapshot, unknown: set[str], stored: pl.DataFrame
) -> list[_Group]:
    """Return the rewrites that led to unknown files, from a table's commits or catalogue."""
    readable = {*stored.filter(pl.col("error").is_null())["file"]}
    if snapshot.read_commits is not None:
        live = {file.path for file in listing.files}
        groups = _trace_commits(
            snapshot.read_commits(), unknown, live, lambda path: shorten_path(path, job) in readable
        )
        # If rows were deleted after a rewrite, its files hold other rows than the old ones.
        deleted = {file.path for file in snapshot.files if file.deleted}
        return [group for group in groups if not group.now & deleted]
    if isinstance(snapshot.content, LakeFiles) and stored["error"].null_count() == stored.height:
        gone = {job.resolve_path(name) for name in readable - {file.name for file in listing.files}}
        return _find_merged(snapshot.content, unknown, gone, max(stored["modified"]))
    return []


def _restore(
    job: Job, snapshot: Snapshot, path: str, stored_files: Mapping[str, tuple[str, int]]
) -> File | None:
    """Return the history's entry of a replaced file; None if the history has another version."""
    name = shorten_path(path, job)
    version, size = stored_files.get(name, ("", 0))
    if version != hash_data_file(job, snapshot, size):
        return None
    return File(path, name, size, 0, version)


def _find_merged(lake: LakeFiles, unknown: set[str], gone: set[str], since: int) -> list[_Group]:
    """Return the merge that led to unknown files of a DuckLake; its catalogue drops the old files.

    ``gone`` are the removed files of the history, which was complete at the snapshot ``since``.
    """
    merged = [file for file in lake.list_merged(since) or () if file.path in unknown]
    if not merged or not gone:
        return []
    return [_Group({file.path for file in merged}, gone, sum(file.rows for file in merged))]


def _trace_commits(
    commits: Iterable[Commit], unknown: set[str], live: set[str], is_known: Callable[[str], bool]
) -> list[_Group]:
    """Return the rewrites that led to unknown files; chains of rewrites become one group."""
    groups: list[_Group] = []
    paths_to_trace = set(unknown)
    for commit in commits:
        if not paths_to_trace:
            break
        paths_to_trace -= commit.added.keys()
        if not commit.is_rewrite:
            continue
        touched = [group for group in groups if group.before & commit.added.keys()]
        later = {path for group in touched for path in group.before}
        if not commit.added.keys() <= live | later:
            continue
        counts = [rows for path, rows in commit.added.items() if path in live]
        counts += [group.rows for group in touched]
        merged = _Group(
            (set(commit.added) & live).union(*(group.now for group in touched)),
            (later - commit.added.keys()) | commit.removed,
            None if None in counts else sum(rows for rows in counts if rows is not None),
        )
        groups = [group for group in groups if group not in touched] + [merged]
        paths_to_trace |= {path for path in commit.removed if not is_known(path)}
    return groups
