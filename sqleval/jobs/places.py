"""Refuses a job whose outputs would overwrite what it reads or keeps, or each other."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sqleval.errors import RequestError
from sqleval.history.opening import is_folder
from sqleval.jobs.file.model import Job
from sqleval.jobs.periods.listing import Listing
from sqleval.sources.stores import is_remote, split_kind

#: The schemes of outputs that may be URLs.
_SCHEMES: Mapping[str, Sequence[str]] = {
    "outputs.openlineage": ("http", "https"),
    "outputs.mlflow": (
        "http", "https", "file", "sqlite", "postgresql", "mysql", "mssql", "databricks",
        "databricks-uc",
    ),
}  # fmt: skip
#: The start of MLflow's URI for a local database; a path follows.
SQLITE = "sqlite:///"
_DATABASES = (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3")


class _Place(NamedTuple):
    """A local file or folder of a job: the key that names it, its text there, and its path."""

    key: str
    text: str
    path: Path

    @property
    def is_folder(self) -> bool:
        """Whether a folder is written there."""
        return self.key == "outputs.mlflow" and not self.text.startswith(SQLITE)


def _find_place(job: Job, key: str, text: str | None) -> _Place | None:
    """Return where a key of the job points to; None for a URL, or without a value."""
    if text is None:
        return None
    path = text.removeprefix(SQLITE) if key == "outputs.mlflow" else text
    if is_remote(path):
        return None
    return _Place(key, text, Path(os.path.realpath(split_kind(job.resolve_path(path))[1])))


def _list_texts(job: Job) -> dict[str, str | None]:
    """Return the values of the keys that name outputs."""
    outputs = job.outputs
    return {
        "report": job.report,
        "outputs.json": outputs.json_,
        "outputs.junit": outputs.junit,
        "outputs.prometheus": outputs.prometheus,
        "outputs.openlineage": outputs.openlineage,
        "outputs.mlflow": outputs.mlflow,
    }


def _list_outputs(job: Job) -> list[_Place]:
    """Return the files that a run writes, and MLflow's database or folder."""
    places = (_find_place(job, key, text) for key, text in _list_texts(job).items())
    return [place for place in places if place is not None]


def _check_kinds(job: Job) -> None:
    """Raise if an output is a URL of an unsupported scheme, or has the ending of a database."""
    for key, text in _list_texts(job).items():
        scheme, separator, _ = (text or "").partition("://")
        allowed_schemes = _SCHEMES.get(key, ())
        if separator and scheme.lower().partition("+")[0] not in allowed_schemes:
            urls = (
                f", or a URL of {', '.join(f'{name}://' for name in allowed_schemes)}"
                if allowed_schemes
                else ""
            )
            raise RequestError(f"{key}: {scheme}:// is not supported; write a local path{urls}")
        if not separator and Path(text or "").suffix.lower() in _DATABASES:
            advice = "sqlite:///FILE" if key == "outputs.mlflow" else "another name"
            raise RequestError(f"{key}: {text!r} has the ending of a database; write {advice}")
    _check_mlflow(job.outputs.mlflow)


def _check_mlflow(uri: str | None) -> None:
    """Raise if MLflow is to write to a folder, which its current releases refuse by default."""
    is_folder = uri is not None and (not is_remote(uri) or uri.startswith("file:"))
    is_allowed = os.environ.get("MLFLOW_ALLOW_FILE_STORE", "").lower() in ("true", "1")
    if is_folder and not is_allowed:
        raise RequestError(
            f"outputs.mlflow: MLflow does not write to the folder {uri!r} any more; write "
            "sqlite:///mlflow.db or the URL of a server (`mlflow migrate-filestore` moves old runs)"
        )


def _is_same(one: Path, other: Path) -> bool:
    """Return whether two resolved paths are one file, also by another link or spelling."""
    if one == other:
        return True
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_inside(path: Path, folder: Path) -> bool:
    return any(_is_same(each, folder) for each in (path, *path.parents))


def check_places(job: Job) -> None:
    """Check that no output of a job overwrites another file of the job.

    Raises
    ------
    RequestError
        If an output is the job file, another output, the history, a state or a folder, or if its
        kind is not supported.
    """
    outputs = _list_outputs(job)
    for place in outputs:
        if place.path.is_dir() != place.is_folder and place.path.exists():
            kind = "a folder" if place.path.is_dir() else "a file"
            raise RequestError(f"{place.key}: {place.text!r} is {kind}; choose another path")
    for i, place in enumerate(outputs):
        for what, path, has_files in _list_kept(job):
            inside = has_files and _is_inside(place.path, path)
            if inside or _is_same(place.path, path):
                raise _refuse(place, f"is {'inside ' * has_files}{what}")
        for other in outputs[:i]:
            if _is_same(place.path, other.path) or (
                other.is_folder and _is_inside(place.path, other.path)
            ):
                raise _refuse(place, f"is the file of {other.key} as well")
    _check_folders(job)
    _check_kinds(job)


def check_secrets(job: Job) -> None:
    """Raise `RequestError` if an environment variable of the job is not set or cannot be used."""
    for secret in job.secrets:
        secret.read()
    for each in job.notify:
        each.check_secrets()


def _refuse(place: _Place, problem: str) -> RequestError:
    return RequestError(
        f"{place.key}: {place.text!r} {problem}, which it would overwrite; choose another file"
    )


def _list_kept(job: Job) -> Iterator[tuple[str, Path, bool]]:
    """Yield the job file and what a run keeps: the name, the path, and whether it is a folder."""
    if job.file is not None:
        yield "the job file", Path(os.path.realpath(job.file)), False
    history = _find_place(job, "history", job.history.url)
    if history is not None:
        yield "the history", history.path, is_folder(job.history.url)
        if not is_folder(job.history.url):
            yield (
                "the log of the history",
                history.path.with_name(f"{history.path.name}.wal"),
                False,
            )
    if any(each.on == "change" for each in job.notify):
        yield "the record of notifications", Path(os.path.realpath(find_record(job))), False
    states = _find_place(job, "states", None if job.states is None else job.states.folder)
    if states is not None:
        yield "the folder of states", states.path, True


def find_record(job: Job) -> Path:
    """Return the file with the outcome of the last run, which ``on: change`` compares with."""
    return job.folder / f"{job.name}.notified.json"


def _list_source_folders(job: Job) -> Iterator[_Place]:
    """Yield the folders that a job reads; folders of patterns are left out."""
    for key, source in (
        ("source" if job.from_state is None else "from_state", job.sources),
        ("labels.source", [] if job.labels is None else job.labels.source),
    ):
        for text in [source] if isinstance(source, str) else source:
            place = _find_place(job, key, text)
            if place is not None and place.path.is_dir():
                yield place


def _check_folders(job: Job) -> None:
    """Raise if the Parquet files of states or of a Delta history would be read as a source."""
    written = [(what, path) for what, path, has_files in _list_kept(job) if has_files]
    for source in _list_source_folders(job):
        for what, path in written:
            if _is_inside(path, source.path):
                raise RequestError(f"{what} is inside {source.key}: {source.text}; choose another")
    if len(written) > 1 and _is_inside(written[1][1], written[0][1]):
        raise RequestError("the folder of states is inside the history; choose another")


def check_sources(job: Job, listings: Mapping[str, Listing]) -> None:
    """Check that no output is a file of a source, or would be read as one.

    Raises
    ------
    RequestError
        If an output is a file that the job reads, or inside a table.
    """
    outputs = _list_outputs(job)
    for side, listing in listings.items():
        key = "labels.source" if side == "labels" else "source"
        table = listing.snapshot and _find_place(job, key, listing.snapshot.location)
        for place in outputs:
            if table and _is_inside(place.path, table.path):
                raise _refuse(place, f"is inside the table of {key}")
            file = _find_file(place.path, (each[:3] for each in listing.files))
            if file is not None:
                raise _refuse(place, f"is {file}, a file of {key}")
    for source in _list_source_folders(job):
        for place in outputs:
            if place.path.suffix == ".parquet" and _is_inside(place.path, source.path):
                raise RequestError(
                    f"{place.key}: {place.text!r} would be read as a file of {source.key}; choose "
                    "another name"
                )


def _find_file(path: Path, files: Iterable[tuple[str, str, int]]) -> str | None:
    """Return the name of the listed file that a path leads to."""
    try:
        size = path.stat().st_size
    except OSError:
        return None
    # Only files of the same size are compared, because there may be very many files.
    return next(
        (
            name
            for file, name, each in files
            if each == size and not is_remote(file) and _is_same(Path(file), path)
        ),
        None,
    )
