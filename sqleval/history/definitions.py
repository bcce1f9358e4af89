"""Writes definitions of metrics, and matches definitions of older releases to present ones."""

import hashlib
import json

import polars as pl

from sqleval.history.store import DIGITS, Selection, Store, retry_while_busy

#: A definition begins with a version. Older releases wrote only hexadecimal digits, a hash of the
#: SQL text, which can no longer be computed.
_MARK, _FIRST = "v", "v1-"
#: Old definitions, and the present one that each counts as, by job and metric.
OLD = pl.Schema(dict.fromkeys(("job", "metric", "old", "definition"), pl.String()))
NO_OLD = pl.DataFrame(schema=OLD)


def write_definition(content: object, version: int) -> str:
    """Return a definition: its version, and a hash of its content.

    Examples
    --------
    >>> write_definition({"metric": "roc_auc", "input": {"label": "y"}}, 2)
    'v2-4db22d5dc'
    """
    text = json.dumps(content, sort_keys=True, default=str)
    return f"{_MARK}{version}-{hashlib.sha256(text.encode()).hexdigest()}"[:DIGITS]


def is_old(definition: pl.Expr) -> pl.Expr:
    """Return whether an older release has written a definition."""
    return ~definition.str.starts_with(_MARK)


def match_old_definitions(store: Store, job: str | None, present: pl.DataFrame) -> pl.DataFrame:
    """Return the definition that each old one counts as; an old one that is missing has none.

    Old definitions cannot be computed again, and a history does not store roles. So the last
    definition that an older release has written for a metric counts as the first one that this
    release has written, or else as the present one, on the assumption that roles have not changed.
    It counts as version 1. Replaced rows are taken into account, too.

    Parameters
    ----------
    store : Store
        The history.
    job : str or None
        Only this job.
    present : polars.DataFrame
        Present definitions, by ``job`` and ``metric``; it may be empty.

    Returns
    -------
    polars.DataFrame
        A frame with the schema `OLD`.
    """
    at, when = ["job", "metric"], ["evaluated_at", "period"]
    only = Selection(columns=[*at, "definition", *when], distinct=True)
    # If two runs have the same second, the replaced rows are the earlier ones.
    tables = ("sqleval_restated", "sqleval_history")
    parts = [retry_while_busy(lambda name=name: store.read(name, job, only)) for name in tables]
    rows = pl.concat(parts).with_columns(pl.col("definition").str.head(DIGITS))
    was_old = is_old(pl.col("definition"))
    last = rows.filter(was_old).sort(when, maintain_order=True).unique(at, keep="last")
    early = rows.filter(~was_old).sort(when, descending=[False, True], maintain_order=True)
    first = early.unique(at, keep="first")
    new = pl.concat([first.select(*at, "definition"), present.select(*at, "definition")])
    matched = last.select(*at, old="definition").join(
        new.unique(at, keep="first", maintain_order=True), on=at
    )
    return matched.filter(pl.col("definition").str.starts_with(_FIRST))


def rename_old(rows: pl.DataFrame, old: pl.DataFrame, into: str = "definition") -> pl.DataFrame:
    """Replace old definitions in rows by the definitions that they count as.

    The definition of slice keys, which may follow the metric's, stays.

    Parameters
    ----------
    rows : polars.DataFrame
        Rows of a history; without the column ``job``, they belong to one job.
    old : polars.DataFrame
        The result of `match_old_definitions`.
    into : str
        The column for the new definitions.
    """
    if "definition" not in rows.columns:
        return rows
    on = [name for name in ("job", "metric") if name in rows.columns]
    whole = pl.col("definition")
    joined = rows.with_columns(_old=whole.str.head(DIGITS)).join(
        old.select(*on, _old="old", _new="definition"),
        on=[*on, "_old"], how="left", maintain_order="left",
    )  # fmt: skip
    renamed = pl.coalesce("_new", "_old") + whole.str.slice(DIGITS)
    return joined.with_columns(renamed.alias(into)).drop("_old", "_new")
