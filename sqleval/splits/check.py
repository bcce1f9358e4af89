"""Checks a split against its rows: leaks, sizes, balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from statistics import NormalDist
from typing import Any, NamedTuple

import polars as pl

from sqleval.binding.lookup import Columns, find_column, list_names
from sqleval.catalog.catalogue import builtin
from sqleval.common.columns import Column
from sqleval.common.sql_text import quote, write_key_equality
from sqleval.compiler import rewrite
from sqleval.compiler.statement import Cte, Statement
from sqleval.engines.base import Engine
from sqleval.engines.embedded import embedded
from sqleval.engines.opening import open_engine
from sqleval.errors import RequestError
from sqleval.sources.source import Source
from sqleval.splits.split import open_rows
from sqleval.splits.statement import name_columns, write_stratum_text, write_time_number

#: With fewer test rows than this the standard error of a rate of one half is above 9 points.
_MIN_TEST_ROWS = 30
#: The smallest and largest share of training rows that textbooks advise for a hold-out.
_SHARES = (2 / 3, 4 / 5)
#: More models than this are a warning.
_MAX_MODELS = 100
#: Significance level of the test for unbalanced strata.
_SIGNIFICANCE = 0.01

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


def check_split(
    split: object,
    source: object = None,
    *,
    key: str | Sequence[str],
    stratify: str | Sequence[str] | None = None,
    group: str | Sequence[str] | None = None,
    time: str | None = None,
    content: str | Sequence[str] | None = None,
    query: str | None = None,
    con: Any = None,
    engine: Any = None,
    storage: Mapping[str, str | bool] | None = None,
    version: int | str | None = None,
    timestamp: datetime | str | None = None,
    verify: bool = False,
    rows: str | None = None,
    csv: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Check a split for leaks, small or unbalanced folds, and rows without a role.

    Parameters
    ----------
    split : path or frame
        The result of `sqleval.split`, or another relation with the key columns, ``fold``, ``role``
        and optionally ``repeat``. An ``engine`` reads it as it reads the source.
    source : path, frame or table
        The rows that were split, as for `sqleval.scan`.
    key : str or sequence of str
        The columns that identify a row, in both.
    stratify, group : str or sequence of str, optional
        ``stratify``: columns whose values should have equal shares in training and test.
        ``group``: columns whose values should be in only one of the two.
    time : str, optional
        A date, a time or a number; all training rows should be earlier than all test rows.
    content : str or sequence of str, optional
        The columns in which duplicates are equal; by default all except the key, if there are
        several.
    query, con, engine, storage, version, timestamp, verify, rows, csv : optional
        As for `sqleval.scan`.

    Returns
    -------
    polars.DataFrame
        One row per problem, none for a good split: ``check``, whether it is a ``leak``, the number
        of ``folds`` with the problem, the worst fold (``repeat``, ``fold`` and the number
        ``found``), and ``warning``, a description of the problem.

    Raises
    ------
    RequestError
        If a column does not exist, or the split can be read only once.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> rows = pl.DataFrame({"id": range(100), "person": [i // 2 for i in range(100)]})
    >>> folds = sqleval.split(rows, key="id").collect()
    >>> sqleval.check_split(folds, rows, key="id", group="person")["check"].to_list()
    ['groups']
    """
    keys = list_names(key, "key")
    of_source = {
        "con": con, "storage": storage, "version": version, "timestamp": timestamp,
        "verify": verify, "rows": rows, "csv": csv,
    }  # fmt: skip
    elsewhere = open_engine(engine, source)
    running = elsewhere or embedded()
    split_source, split_columns = running.describe(
        open_rows(elsewhere, split, None, {}, "_sqleval_split")
    )
    opened, columns = running.describe(
        open_rows(elsewhere, source, query, of_source, "_sqleval_rows")
    )
    if split_source.once:
        raise RequestError(
            f"the checks read {split_source.label} twice, and it can be read once; pass a Table or "
            "a file"
        )
    for name in [*keys, "fold", "role"]:
        find_column(split_columns, name, "split", split_source.label)
    if not keys:
        raise RequestError("key= is needed: the columns that identify a row")
    same = list_names(content, "content")
    if content is None:
        same = [name for name in columns if name not in keys]
    if content is None and len(same) < 2:
        same = []  # rows that are equal in a single column, such as the label, are not copies
    roles = {
        "key": keys, "stratify": list_names(stratify, "stratify"),
        "group": list_names(group, "group"), "content": same, "time": list_names(time, "time"),
    }  # fmt: skip
    selected = _Columns(**{
        role: [find_column(columns, each, role, opened.label) for each in names]
        for role, names in roles.items()
    })  # fmt: skip
    objects = split_source.objects(list(split_columns))
    _check_roles(split_source, objects, running)
    ctes = _write_tables(split_source, split_columns, opened, selected)
    statement = _write_statement(ctes, selected)
    objects = {**objects, **opened.objects(list(columns))}
    frame = running.run(statement.sql, {}, [opened, split_source], objects, pl.DataFrame)
    worst = {row["name"]: row for row in frame.iter_rows(named=True)}
    problems = [
        {**worst[check], "check": check, "leak": check in _LEAKS, "warning": warning}
        for check, warning in _describe_problems(worst).items()
    ]
    return pl.DataFrame(problems, schema=SCHEMA, orient="row")


class _Columns(NamedTuple):
    """The columns of the source by their role in the checks."""

    key: list[Column]
    stratify: list[Column]
    group: list[Column]
    content: list[Column]
    time: list[Column]

    @property
    def ids(self) -> list[str]:
        """The names of the key columns in the statement."""
        return name_columns("key", self.key)

    def select_ids(self) -> list[str]:
        """Return the key columns as items of a SELECT, over ``s``."""
        return [f"s.{quote(c.name)} AS {i}" for c, i in zip(self.key, self.ids, strict=True)]

    def write_features(self) -> dict[str, str]:
        """Return the SQL of the columns that the checks compare, by name, over ``s``."""
        features: dict[str, str] = {}
        if self.stratify:
            features["stratum"] = write_stratum_text(self.stratify)
        if self.group:
            features["grouping_key"] = write_stratum_text(self.group)
        if self.content:
            features["content"] = f"MD5({write_stratum_text(self.content)})"
        for column in self.time:
            features["time"] = write_time_number(column)
        return features


def _check_roles(split: Source, objects: Mapping[str, object], engine: Engine) -> None:
    """Raise `RequestError` if a split has other roles, or no training or test rows."""
    statement = f"SELECT DISTINCT {_ROLE} FROM {split.relation} AS s ORDER BY 1 LIMIT 20"
    roles = [role for (role,) in engine.rows(statement, {}, [split], objects)]
    allowed = "'train' and 'test' (and 'validation' or 'gap')"
    if unknown := [repr(role) for role in roles if role not in _ROLES]:
        raise RequestError(f"the role of a split is {allowed}, not {', '.join(unknown)}")
    if missing := [repr(role) for role in ("train", "test") if role not in roles]:
        raise RequestError(
            f"the role of a split is {allowed}; {split.label} has no row with "
            f"{' or '.join(missing)}"
        )


def _write_tables(
    split: Source, split_columns: Columns, rows: Source, columns: _Columns
) -> list[Cte]:
    """Return the split, its rows, and ``assigned``: the rows with their folds and roles."""
    repeat = "s.repeat" if "repeat" in split_columns else "1"
    # Inner folds divide the training rows of their fold, so the checks take all as training rows.
    distinct = "DISTINCT " if "inner_fold" in split_columns else ""
    role = f"CASE WHEN {_ROLE} = 'test' THEN 'test' WHEN {_ROLE} <> 'gap' THEN 'train' END"
    ids = columns.select_ids()
    features = columns.write_features()
    items = [*ids, *(f"{sql} AS {name}" for name, sql in features.items())]
    assigned = [*(f"a.{i}" for i in columns.ids), "a.repeat", "a.fold", "a.role", *features]
    on = write_key_equality("a", "r", columns.ids)
    return [
        Cte("_split", f"SELECT {distinct}{', '.join(ids)}, {repeat} AS repeat, s.fold AS fold, "
            f"{role} AS role FROM {split.relation} AS s"),
        Cte("_assigned", "SELECT * FROM _split WHERE role IS NOT NULL"),
        Cte("_rows", f"SELECT {', '.join(items)} FROM {rows.relation} AS s"),
        Cte("assigned", f"SELECT {', '.join(assigned)}\n"
            f"FROM _split AS a JOIN _rows AS r ON {on}\nWHERE a.role IS NOT NULL"),
    ]  # fmt: skip


class _Check(NamedTuple):
    """A check: a file of ``sql/split``, and the condition by which its rows are problems.

    Attributes
    ----------
    relation : str
        The file, with one row per fold.
    found : str
        The number that the result shows.
    where : str
        The condition of a problem.
    order : str
        The order of the problems, the worst first.
    strata : str
        The number of strata that were tested in a fold.
    """

    relation: str
    found: str = "found"
    where: str = "TRUE"
    order: str = "found DESC"
    strata: str = "1"


def _list_checks(columns: _Columns) -> dict[str, _Check]:
    """Return the checks that these columns allow, by name."""
    checks = {"keys": _Check("split_keys")}
    if columns.group:
        checks["groups"] = _Check("split_groups")
    if columns.content:
        checks["duplicates"] = _Check("split_duplicates")
    if columns.time:
        checks["future"] = _Check("split_future", where="found > 0")
    if columns.stratify:
        is_tested = "found IS NOT NULL"
        checks["strata"] = _Check("split_strata", where=is_tested, strata="strata_seen")
    checks["untrained"] = _Check("split_sizes", "test_rows", "training_rows = 0")
    checks["untested"] = _Check("split_sizes", "training_rows", "test_rows = 0")
    # Only a hold-out is too small by itself; several folds pool their test rows.
    is_holdout = "(SELECT COUNT(*) FROM split_sizes) = 1 AND test_rows <> 1"
    too_few = f"test_rows BETWEEN 1 AND {_MIN_TEST_ROWS - 1} AND {is_holdout}"
    checks["small"] = _Check("split_sizes", "test_rows", too_few, "found")
    share = "training_rows / NULLIF(training_rows + test_rows, 0)"
    # Half a point of tolerance, because the shares of whole rows are rounded.
    low, high = _SHARES[0] - 5e-3, _SHARES[1] + 5e-3
    outside = f"{share} NOT BETWEEN {low} AND {high} AND {is_holdout}"
    distance = f"ABS(found - {sum(_SHARES) / 2}) DESC"
    checks["share"] = _Check("split_sizes", share, outside, distance)
    checks["models"] = _Check("split_sizes", "training_rows", "test_rows = 1")
    return checks


def _write_statement(tables: Sequence[Cte], columns: _Columns) -> Statement:
    """Return the statement of all checks, with one row per problem: its worst fold."""
    ctes = [*tables]
    selects: list[str] = []
    for name, check in _list_checks(columns).items():
        if all(cte.name != check.relation for cte in ctes):
            # Check only the split for repeated keys, which the rows themselves may have.
            renamed = {"assigned": "_assigned"} if name == "keys" else {}
            query = builtin().get(check.relation).query
            query = rewrite.bind_query(query, columns.ids, renamed, {})
            ctes.append(Cte(check.relation, rewrite.write_sql(query)))
        selects.append(_select_worst_fold(name, check))
    ids, is_same = ", ".join(columns.ids), write_key_equality("a", "r", columns.ids)
    selects.append(_count_unmatched("unassigned", "_rows AS r", "_split AS a", is_same))
    split_keys = f"(SELECT DISTINCT {ids} FROM _split) AS a"
    selects.append(_count_unmatched("unknown", split_keys, "_rows AS r", is_same))
    return Statement(tuple(ctes), "\nUNION ALL\n".join(selects), {}, ())


def _select_worst_fold(name: str, check: _Check) -> str:
    """Return the SELECT of a check's worst fold and of its number of folds with a problem."""
    return (
        f"SELECT * FROM (SELECT '{name}' AS name, COUNT(*) OVER () AS folds, "
        "CAST(repeat AS VARCHAR) AS repeat, CAST(fold AS VARCHAR) AS fold, "
        f"CAST({check.found} AS DOUBLE) AS found, {check.strata} AS strata "
        f"FROM {check.relation} WHERE {check.where} "
        f"ORDER BY {check.order}, repeat, fold LIMIT 1) AS worst"
    )


def _count_unmatched(name: str, relation: str, others: str, is_same: str) -> str:
    """Return the SELECT that counts the rows of a relation without a match in another one."""
    return (
        f"SELECT * FROM (SELECT '{name}' AS name, 1 AS folds, NULL AS repeat, NULL AS fold, "
        f"CAST(COUNT(*) AS DOUBLE) AS found, 1 AS strata FROM {relation} "
        f"WHERE NOT EXISTS (SELECT 1 FROM {others} WHERE {is_same})) AS counted WHERE found > 0"
    )


#: The warning of each leak, which follows a number.
_LEAKS = {
    "keys": "keys occur more than once in a fold: the model is tested on rows that it was trained "
    "on",
    "groups": "groups have rows on both sides: the model may recognize a group instead of "
    "generalizing",
    "duplicates": "test rows equal a training row in all but the key: the model is tested on rows "
    "that it was trained on",
    "future": "training rows are not earlier than the first test row: the model has seen the "
    "future",
}

#: The warning of folds with only training or only test rows, which follows their number.
_EMPTY = {
    "untrained": "without training rows: there is no model to test",
    "untested": "without test rows: the model is tested on nothing",
}


def _describe_problems(worst: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the warning of each problem, by the name of its check."""
    number = {check: f"{abs(row['found']):,.0f}" for check, row in worst.items()}
    texts = {check: f"{number[check]} {text}" for check, text in _LEAKS.items() if check in worst}
    if "strata" in worst and (text := _describe_imbalance(worst["strata"])):
        texts["strata"] = text
    for check, text in _EMPTY.items():
        if check in worst:
            folds = worst[check]["folds"]
            texts[check] = f"{folds:,} {'fold' if folds == 1 else 'folds'} {text}"
    if "small" in worst:
        texts["small"] = (
            f"only {number['small']} test rows: the standard error of a rate is up to "
            f"{50 / worst['small']['found'] ** 0.5:.0f} percentage points; take {_MIN_TEST_ROWS} "
            "rows or more, or cross-validate"
        )
    if "share" in worst:
        texts["share"] = (
            f"{worst['share']['found']:.1%} of the rows train, outside of 2/3 to 4/5: with fewer, "
            "the model is worse than one trained on all rows; with more, the test is imprecise"
        )
    if "models" in worst and worst["models"]["folds"] > _MAX_MODELS:
        texts["models"] = (
            f"leave-one-out needs {worst['models']['folds']:,} models here, each trained on "
            f"{number['models']} rows; ten folds need ten models"
        )
    if "unassigned" in worst:
        texts["unassigned"] = f"{number['unassigned']} rows of the source have no role in the split"
    if "unknown" in worst:
        texts["unknown"] = f"{number['unknown']} keys of the split are not in the source"
    return texts


def _describe_imbalance(row: Mapping[str, Any]) -> str | None:
    """Return the warning about the most unbalanced stratum, or None if it is not significant."""
    z = row["found"]
    if z is None:
        return None
    # Bonferroni's correction, because z is the largest of all folds and strata.
    p_value = min(1.0, 2 * NormalDist().cdf(-z) * row["folds"] * row["strata"])
    if p_value >= _SIGNIFICANCE:
        return None
    return (
        f"training and test differ by z = {z:.1f} in their share of a stratum (p = "
        f"{p_value:.1g}); use stratify="
    )
