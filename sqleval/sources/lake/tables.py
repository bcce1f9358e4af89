"""Opens tables of a lake at a version or a time, in whichever format they have."""

from sqleval.sources.lake.delta import DELTA
from sqleval.sources.lake.ducklake import DUCKLAKE_TABLES
from sqleval.sources.lake.ducklake_catalogue import OpenCatalogue
from sqleval.sources.lake.format import AsOf, Snapshot, TableFormat
from sqleval.sources.lake.iceberg import ICEBERG
from sqleval.sources.lake.lance import LANCE
from sqleval.sources.source import Source
from sqleval.sources.stores import Storage, split_kind

#: The formats by the name that precedes a path, as in ``delta+s3://lake/preds``. The first one
#: that recognises a path is taken.
FORMATS: dict[str, TableFormat] = {
    "delta": DELTA,
    "iceberg": ICEBERG,
    "lance": LANCE,
    "ducklake": DUCKLAKE_TABLES,
}


def find_table_kind(path: str) -> tuple[str, str]:
    """Return the format of a table and its path; the format is empty if the path is no table."""
    kind, rest = split_kind(path)
    if kind:
        return (kind[:-1], rest) if kind[:-1] in FORMATS else ("", path)
    name_of_format = next((name for name, each in FORMATS.items() if each.is_table(path)), "")
    return name_of_format, path.removeprefix("iceberg:")


def open_table(source: object, as_of: AsOf, storage: Storage, name: str) -> Source | None:
    """Return the source of a table of a lake; None if it is not a table.

    Parameters
    ----------
    source : object
        A path or URL, perhaps after ``delta+``, ``iceberg+`` or ``lance+``;
        ``iceberg://CATALOG/NAMESPACE.TABLE``; ``ducklake:CATALOGUE#SCHEMA.TABLE``; or a table
        object of the library.
    as_of : AsOf
        The version or time to read.
    storage : mapping of str to str
        Options of its object store.
    name : str
        The name under which the source is registered.

    Raises
    ------
    SourceError
        If there is no such table, version or snapshot.
    MissingExtra
        If the library of the table is not installed.
    """
    if isinstance(source, str):
        kind, target = find_table_kind(source)
        return FORMATS[kind].open(target, as_of, storage, name) if kind else None
    module, name_of_class = type(source).__module__.split(".")[0], type(source).__name__
    for each in FORMATS.values():
        if f"{module}.{name_of_class}" in each.objects:
            return each.open(source, as_of, storage, name)
    return None


def load_snapshot(source: str, storage: Storage, open_catalogue: OpenCatalogue) -> Snapshot | None:
    """Load the current version of a table; None for a source that is not a table.

    ``open_catalogue`` opens the catalogue of a DuckLake.

    Raises
    ------
    SourceError
        If there is no such table.
    """
    kind, target = find_table_kind(source)
    return FORMATS[kind].load(target, storage, open_catalogue) if kind else None
