"""Writes definitions of metrics, and finds those of older releases that are the same ones."""

import hashlib
import json

import polars as pl

from sqleval.history.store import DIGITS, Selection, Store, retry_while_busy

#: A definition begins with a version. Older releases wrote hexadecimal digits alone, a hash of the
#: SQL text, which cannot be computed any more.
_MARK, _FIRST = "v", "v1-"
#: Old definitions with the present one that each of them counts as, by job and metric.
OLD = pl.Schema(dict.fromkeys(("job", "metric", "old", "definition"), pl.String()))
NO_OLD = pl.DataFrame(schema=OLD)


def write_definition(content: object, version: int) -> str:
    """Return a definition: its version, and a hash of what it holds.

    Examples
    --------
    >>> write_definition({"metric": "roc_auc", "input": {"label": "y"}}, 2)
    'v2-5d17b4ee1'
    """
    text = json.dumps(content, sort_keys=True, default=str)
    return f"{_MARK}{version}-{hashlib.sha256(text.encode()).hexdigest()}"[:DIGITS]


def is_old(definition: pl.Expr) -> pl.Expr:
    """Return whether an older release has written a definition."""
    return ~definition.str.starts_with(_MARK)


def match_old_definitions(store: Store, job: str | None, present: pl.DataFrame) -> pl.DataFrame:
    """Return which definition each old one counts as; one that is left out counts as none.

    Old definitions cannot be computed again, nor are the roles of rows in a history. So the last
    definition that an older release has written for a metric is taken for the first one that this
    release has written, or else for the present one: the roles are taken as unchanged. It counts
    as version 1. Rows that were replaced since then decide as well.

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
        Of the schema `OLD`.
    """
    at, when = ["job", "metric"], ["evaluated_at", "period"]
    only = Selection(columns=[*at, "definition", *when], distinct=True)
    # Of two runs in one second, replaced rows are the earlier ones.
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
    """Return rows whose old definitions are those that they count as.

    The definition of slice keys, which may follow that of the metric, stays.

    Parameters
    ----------
    rows : polars.DataFrame
        Rows of a history; without ``job``, all are of one job.
    old : polars.DataFrame
        From `match_old_definitions`.
    into : str
        The column of the definitions that are returned.
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
