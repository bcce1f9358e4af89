"""The formats of files: how each is read, the endings of its files, and its prefix."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sqleval.errors import SourceError

#: The endings of Parquet files.
PARQUET = (".parquet", ".pq")


class FileFormat(NamedTuple):
    """A format of files.

    Attributes
    ----------
    reader : str
        DuckDB's function that reads it; ``lines`` for text whose lines SQL splits; empty if PyArrow
        reads it.
    endings : tuple of str
        The endings of its files.
    prefix : str
        The word that precedes a path with another ending, as in ``csv+scores.dat``.
    """

    reader: str
    endings: tuple[str, ...]
    prefix: str


FORMATS = {
    "Parquet": FileFormat("read_parquet", PARQUET, "parquet"),
    "CSV": FileFormat("read_csv", (".csv",), "csv"),
    "TSV": FileFormat("read_csv", (".tsv", ".tab"), ""),
    "JSON": FileFormat("read_json", (".json", ".jsonl", ".ndjson"), "json"),
    "Arrow": FileFormat("", (".arrow", ".feather", ".ipc"), "arrow"),
    "ARFF": FileFormat("lines", (".arff",), "arff"),
    "a TREC run": FileFormat("lines", (".trec", ".run"), "trec"),
    "TREC qrels": FileFormat("lines", (".qrels",), "qrels"),
    "a white-space table": FileFormat("lines", (), "whitespace"),
}
#: The format of each prefix.
PREFIXES = {f"{each.prefix}+": name for name, each in FORMATS.items() if each.prefix}
#: Endings of compressed text files, after the ending of the format.
_COMPRESSED = (".gz", ".zst")
#: Endings of data that cannot be read. In a folder such files are an error, and other unknown
#: files are ignored.
_UNREADABLE = (
    ".avro", ".bz2", ".lz4", ".orc", ".xls", ".xlsx", ".xz", ".zip",
)  # fmt: skip


def find_format(path: str) -> tuple[str, str]:
    """Return the format of a file, a key of `FORMATS`, and its ending; both empty if unknown.

    Examples
    --------
    >>> find_format("preds/Day.CSV.gz"), find_format("scores.dat")
    (('CSV', '.CSV.gz'), ('', ''))
    """
    name = Path(path).name
    for format_name, facts in FORMATS.items():
        for ending in facts.endings:
            is_text = format_name not in ("Parquet", "Arrow")
            for compressed in ("", *(_COMPRESSED if is_text else ())):
                if name.lower().endswith(ending + compressed):
                    return format_name, name[-len(ending + compressed) :]
    return "", ""


def is_data(name: str) -> bool:
    """Whether a file of a folder is data, which may be of an unreadable format."""
    return bool(find_format(name)[0]) or Path(name).suffix.lower() in _UNREADABLE


def list_endings() -> str:
    """Return the endings of all formats, for messages."""
    endings = ", ".join(ending for each in FORMATS.values() for ending in each.endings)
    return f"{endings} (text also with {' or '.join(_COMPRESSED)})"


def find_common_format(files: Sequence[str], label: str) -> str:
    """Return the format of files.

    Raises
    ------
    SourceError
        If a file has an unknown ending, or they are not of one format.
    """
    examples: dict[str, str] = {}
    for file in files:
        examples.setdefault(find_format(file)[0], file)
    if "" in examples:
        file = examples[""]
        is_known = Path(file).suffix.lower() in _UNREADABLE
        advice = f", or the format must precede the path: {', '.join(PREFIXES)}, as in csv+{file}"
        raise SourceError(
            f"cannot read {file!r}: files must end in {list_endings()}{'' if is_known else advice}"
        )
    if len(examples) > 1:
        shown = " and ".join(f"{file!r} is {name}" for name, file in examples.items())
        raise SourceError(
            f"cannot read {label!r} as one table: {shown}; pass a pattern or a list of files of "
            "one format, or join them with query="
        )
    return next(iter(examples))
