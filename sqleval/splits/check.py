"""Looks at a split beside its rows: what leaks, what is too small, what is out of balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import polars as pl

from sqleval.catalog.catalogue import builtin
from sqleval.common.sql_text import null_safe, quote
from sqleval.compiler import rewrite
from sqleval.compiler.statement import Cte, Statement
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError
from sqleval.inputs.lookup import find, names_of
from sqleval.inputs.opening import open_source
from sqleval.inputs.source import Source
from sqleval.splits.statement import stratum_text, time_number

#: Fewer test rows than this leave a rate with a standard error of 9 points at one half.
_FEWEST = 30
#: The shares of training rows that textbooks advise.
_SHARES = (2 / 3, 4 / 5)
#: More models than this are worth a second thought.
_MODELS = 100
#: How seldom a share as uneven as the one found comes about by chance.
_CHANCE = 0.01

SCHEMA = pl.Schema(
    {
        "check": pl.String,
        "leak": pl.Boolean,
        "folds": pl.Int64,
        "repeat": pl.String,
        "fold": pl.String,
        "found": pl.Float64,
        "warning": pl.String,
    }
)


_ROLE = "CAST(s.role AS VARCHAR)"
_ROLES = ("train", "test", "validation", "gap")


def _check_roles(split: Source, objects: Mapping[str, object]) -> None:
    """Raise `RequestError` if the roles of a split are called otherwise, or none is tested."""
    statement = f"SELECT DISTINCT {_ROLE} FROM {split.relation} AS s ORDER BY 1 LIMIT 20"
    found = [role for (role,) in embedded().rows(statement, {}, [split], objects)]
    other = [repr(role) for role in found if role not in _ROLES]
    if other or not {"train", "test"} <= {*found}:
        said = ", ".join(other or map(repr, found))
        known = "'train' and 'test' (and 'validation' or 'gap')"
        raise RequestError(f"the role of a split is {known}, not {said or 'none'}")


def _worst(
    check: str, relation: str, found: str, where: str, by: str = "found DESC", tried: str = "1"
) -> str:
    """Return the SELECT of the worst fold of a check, and how many folds there are like it."""
    return (
        f"SELECT * FROM (SELECT '{check}' AS name, COUNT(*) OVER () AS folds, "
        "CAST(repeat AS VARCHAR) AS repeat, CAST(fold AS VARCHAR) AS fold, "
        f"CAST({found} AS DOUBLE) AS found, {tried} AS tried FROM {relation} WHERE {where} "
        f"ORDER BY {by}, repeat, fold LIMIT 1) AS worst"
    )


def check_split(
    split: object,
    source: object = None,
    *,
    key: str | Sequence[str],
    stratify: str | Sequence[str] | None = None,
    group: str | Sequence[str] | None = None,
    time: str | None = None,
    content: Sequence[str] | None = None,
    query: str | None = None,
    con: Any = None,
) -> pl.DataFrame:
    """Say what is wrong with a split, or doubtful: leaks, sizes, balance.

    Parameters
    ----------
    split : path or frame
        What `sqleval.split` gives, or another relation with the key's columns, ``fold``, ``role``
        and perhaps ``repeat``.
    source : path, frame or table
        The rows that were split, as for `sqleval.scan`.
    key : str or sequence of str
        The columns that tell rows apart, in both.
    stratify, group : str or sequence of str, optional
        Columns whose values should be shared out alike, and never be parted.
    time : str, optional
        A date, a time or a number: no training row should be later than a test row.
    content : sequence of str, optional
        The columns that make two rows the same; all but the key if left out.
    query, con : optional
        As for `sqleval.scan`.

    Returns
    -------
    polars.DataFrame
        One row a problem: ``check``, whether it is a ``leak``, in how many ``folds``, the worst
        of them (``repeat``, ``fold``, ``found``) and the ``warning``, which says why. No row is
        good news.

    Raises
    ------
    RequestError
        If a column does not exist.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> rows = pl.DataFrame({"id": range(100), "person": [i // 2 for i in range(100)]})
    >>> found = sqleval.split(rows, key="id").collect()
    >>> sqleval.check_split(found, rows, key="id", group="person")["check"].to_list()
    ['groups', 'duplicates']
    """
    keys, strata, groups = names_of(key), names_of(stratify), names_of(group)
    theirs = open_source(split, name="_sqleval_split")
    rows = open_source(source, query=query, con=con, name="_sqleval_rows")
    theirs, of_split = embedded().describe(theirs)
    rows, of_rows = embedded().describe(rows)
    for name in [*keys, "fold", "role"]:
        find(of_split, name, "split", theirs.label)
    found = {
        role: [find(of_rows, each, role, rows.label) for each in names]
        for role, names in (("key", keys), ("stratify", strata), ("group", groups))
    }
    if not keys:
        raise RequestError("key= is needed: the columns that tell rows apart")
    same = list(content) if content is not None else [c for c in of_rows if c not in keys]
    for each in same:
        find(of_rows, each, "content", rows.label)
    ids = [f"key_{i}" for i in range(1, len(keys) + 1)]
    listed = [f"s.{quote(n)} AS {i}" for n, i in zip(keys, ids, strict=True)]
    if strata:
        listed.append(f"{stratum_text(found['stratify'])} AS stratum")
    if groups:
        listed.append(f"{stratum_text(found['group'])} AS grouping_key")
    if same:
        listed.append(f"MD5({stratum_text([of_rows[n] for n in same])}) AS content")
    if time is not None:
        listed.append(f"{time_number(find(of_rows, time, 'time', rows.label))} AS time")
    repeat = "s.repeat" if "repeat" in of_split else "1"
    chosen = ", ".join(f"s.{quote(n)} AS {i}" for n, i in zip(keys, ids, strict=True))
    # Inner folds are within the training rows, which is all that matters here.
    role = f"CASE WHEN {_ROLE} = 'test' THEN 'test' WHEN {_ROLE} <> 'gap' THEN 'train' END"
    _check_roles(theirs, objects := theirs.objects(list(of_split)))
    distinct = "DISTINCT " if "inner_fold" in of_split else ""
    joined = ", ".join(item.rpartition(" AS ")[2] for item in listed[len(ids) :])
    on = null_safe("a", "r", ids)
    own = ", ".join(f"a.{i}" for i in ids)
    ctes = [
        Cte("_split", f"SELECT {distinct}{chosen}, {repeat} AS repeat, s.fold AS fold, "
            f"{role} AS role FROM {theirs.relation} AS s"),
        Cte("_assigned", "SELECT * FROM _split WHERE role IS NOT NULL"),
        Cte("_rows", f"SELECT {', '.join(listed)} FROM {rows.relation} AS s"),
        Cte("assigned", f"SELECT {own}, a.repeat, a.fold, a.role{', ' * bool(joined)}{joined}\n"
            f"FROM _split AS a JOIN _rows AS r ON {on}\nWHERE a.role IS NOT NULL"),
    ]  # fmt: skip
    share = "training_rows / NULLIF(training_rows + test_rows, 0)"
    parts = {
        "keys": ("split_keys", "found", "TRUE"),
        "groups": ("split_groups", "found", "TRUE") if groups else None,
        "duplicates": ("split_duplicates", "found", "TRUE") if same else None,
        "future": ("split_future", "found", "found > 0") if time is not None else None,
        "strata": ("split_strata", "found", "found IS NOT NULL", "found DESC", "strata_seen")
        if strata
        else None,
        "small": (
            "split_sizes",
            "test_rows",
            f"test_rows < {_FEWEST} AND test_rows <> 1",
            "found",
        ),
        # Half a point of play: whole rows can be shared out no better.
        "share": (
            "split_sizes",
            share,
            f"{share} NOT BETWEEN {_SHARES[0] - 5e-3} AND {_SHARES[1] + 5e-3} AND test_rows <> 1",
            f"ABS(found - {sum(_SHARES) / 2}) DESC",
        ),
        "models": ("split_sizes", "training_rows", "test_rows = 1"),
    }
    selects: list[str] = []
    for check, of in parts.items():
        if of is None:
            continue
        if all(cte.name != of[0] for cte in ctes):
            relation = builtin().get(of[0])
            # A key that stands twice among the rows is no fault of the split.
            tables = {"assigned": "_assigned"} if check == "keys" else {}
            bound = rewrite.bind(relation.query, ids, tables, {})
            ctes.append(Cte(of[0], rewrite.text(bound)))
        selects.append(_worst(check, *of))
    missing = f"SELECT 1 FROM _split AS a WHERE {on}"
    selects.append(
        "SELECT * FROM (SELECT 'unassigned' AS name, 1 AS folds, NULL AS repeat, NULL AS fold, "
        "CAST(COUNT(*) AS DOUBLE) AS found, 1 AS tried FROM _rows AS r "
        f"WHERE NOT EXISTS ({missing})) AS lost WHERE found > 0"
    )
    statement = Statement(tuple(ctes), "\nUNION ALL\n".join(selects), {}, ())
    objects = {**objects, **rows.objects(list(of_rows))}
    found = embedded().run(statement.sql, {}, [rows, theirs], objects, pl.DataFrame)
    worst = {row["name"]: row for row in found.iter_rows(named=True)}
    return pl.DataFrame(_said(worst), schema=SCHEMA, orient="row")


def _said(worst: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the checks found, in words that say why it matters."""
    told: list[dict[str, Any]] = []

    def tell(check: str, text: str, *, leak: bool = False) -> None:
        told.append({**worst[check], "check": check, "leak": leak, "warning": text})

    number = {check: f"{abs(row['found']):,.0f}" for check, row in worst.items()}
    leaks = {
        "keys": "keys stand more than once in a fold: the model is tested on rows that it was "
        "trained on",
        "groups": "groups have rows on both sides: the model may know them again instead of "
        "having learned something",
        "duplicates": "test rows equal a training row in all but the key: they are tested by heart",
        "future": "training rows are no earlier than the first test row: the model has seen the "
        "future",
    }
    for check, text in leaks.items():
        if check in worst:
            tell(check, f"{number[check]} {text}", leak=True)
    if "strata" in worst and worst["strata"]["found"] is not None:
        z = worst["strata"]["found"]
        # Of so many folds and strata one is the most uneven (Bonferroni).
        tried = worst["strata"]["folds"] * worst["strata"]["tried"]
        chance = min(1.0, 2 * NormalDist().cdf(-z) * tried)
        if chance < _CHANCE:
            text = f"training and test differ by z = {z:.1f} in their share of a stratum; by chance"
            tell("strata", f"{text} that comes about {chance:.1g} of the times; use stratify=")
    if "small" in worst:
        text = f"only {number['small']} test rows: below {_FEWEST} a rate has a standard error"
        tell("small", f"{text} of up to 9 points and more")
    if "share" in worst:
        text = f"{worst['share']['found']:.1%} of the rows train, which is outside of 2/3 to 4/5"
        text += ": with fewer the model is worse than the one of all rows, with more the test"
        tell("share", f"{text} says little")
    if "models" in worst and worst["models"]["folds"] > _MODELS:
        text = f"leaving one out means {worst['models']['folds']:,} models here, each trained on"
        tell("models", f"{text} {number['models']} rows; ten folds are ten models")
    if "unassigned" in worst:
        tell("unassigned", f"{number['unassigned']} rows of the source have no role in the split")
    return told
