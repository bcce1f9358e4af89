"""Computes measures of drift by statements over the counts of two samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from sqleval.catalog.arguments import check_parameters
from sqleval.catalog.calls import parse_call
from sqleval.catalog.catalogue import builtin
from sqleval.catalog.relations import CONTRACT
from sqleval.catalog.request import Request, format_request
from sqleval.common.names import find_nearest
from sqleval.common.sql_text import Value
from sqleval.compiler.rewrite import bind_query, write_sql
from sqleval.compiler.statement import Cte, Statement
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError
from sqleval.sources.source import Source

#: Measures that compare shares of categories; the others compare ordered numbers.
OF_SHARES = ("psi", "jensen_shannon", "hellinger")
MEASURES = ("psi", "ks", "jensen_shannon", "wasserstein", "hellinger")
#: Prefix of the names of the SQL files.
_PREFIX = "drift_"
_BINS = "drift_quantile_bins"
_CATEGORIES = "drift_categories"
_SCORES = "drift_scores"


class Measure(NamedTuple):
    """A measure of drift with its parameters.

    Attributes
    ----------
    text : str
        The measure as requested, such as ``psi(bins=20)``.
    name : str
        One of `MEASURES`.
    values : mapping
        Its parameters.
    """

    text: str
    name: str
    values: Mapping[str, Value]

    @property
    def is_of_shares(self) -> bool:
        """Whether the measure compares shares of categories."""
        return self.name in OF_SHARES


def parse_measures(texts: Sequence[str] | None) -> list[Measure]:
    """Parse measures such as ``psi(bins=20)``; None means all measures.

    Raises
    ------
    RequestError
        For an unknown measure or parameter.

    Examples
    --------
    >>> parse_measures(["psi(bins=20)"])[0].values["bins"]
    20
    """
    return [_parse_measure(text) for text in dict.fromkeys(MEASURES if texts is None else texts)]


def _parse_measure(text: str) -> Measure:
    catalogue = builtin()
    name, options = parse_call(text)
    if name not in MEASURES:
        near = find_nearest(name, MEASURES) or f"; use {', '.join(MEASURES)}"
        raise RequestError(f"no measure of drift called {name!r}{near}")
    parameters = dict(options)
    # bins= is a parameter of the file of bins, which the file of the measure reads.
    bins = {"bins": parameters.pop("bins")} if name in OF_SHARES and "bins" in parameters else {}
    checked = check_parameters(_PREFIX + name, parameters, catalogue)
    values = dict(checked)
    try:
        values |= dict(check_parameters(_BINS, bins, catalogue))
    except RequestError as error:
        raise RequestError(str(error).replace(f"{_BINS}(", f"{name}(")) from None
    shown = format_request(Request(_PREFIX + name, checked)).removeprefix(_PREFIX)
    if "bins" in values:
        inside = f"bins={values['bins']}"
        shown = f"{name}({inside})" if shown == name else f"{shown[:-1]}, {inside})"
    return Measure(shown, name, values)


class _Writer:
    """Places files in one statement, once for each set of parameters."""

    def __init__(self, keys: Sequence[str], *, is_number: bool) -> None:
        self.keys = keys
        self.ctes: dict[str, Cte] = {}
        self.params: dict[str, Value] = {}
        self._is_number = is_number
        self._placed: dict[object, str] = {}

    def place(self, name: str, values: Mapping[str, Value]) -> str:
        """Place a file and the files that it reads; return the name of its CTE."""
        if name == _CATEGORIES and self._is_number:
            name = _BINS
        if name in CONTRACT:
            return name
        catalogue = builtin()
        relation = catalogue.get(name)
        tables = {read: self.place(read, values) for read in relation.reads}
        chosen = {key: values.get(key, param.default) for key, param in relation.params.items()}
        key = (name, tuple(tables.items()), tuple(chosen.items()))
        if key not in self._placed:
            params = {key: self._add_parameter(key, value) for key, value in chosen.items()}
            sql = write_sql(bind_query(relation.query, self.keys, tables, params))
            cte = f"{name}_{len(self.ctes)}"
            self.ctes[cte] = Cte(cte, sql)
            self._placed[key] = cte
        return self._placed[key]

    def _add_parameter(self, name: str, value: Value) -> str:
        unique = f"{name}_{len(self.params)}"
        self.params[unique] = value
        return unique


def write_statement(
    measures: Mapping[int, Measure], keys: Sequence[str], *, is_number: bool
) -> Statement:
    """Return the statement of measures over ``drift_scores`` or ``drift_categories``.

    Parameters
    ----------
    measures : mapping of int to Measure
        The measures to compute, by their place in the result.
    keys : sequence of str
        The columns of the slice keys.
    is_number : bool
        Whether the counts are of numbers; otherwise they are of categories.
    """
    writer = _Writer(keys, is_number=is_number)
    parts: list[str] = []
    for place, measure in measures.items():
        name = writer.place(_PREFIX + measure.name, measure.values)
        has = builtin().get(_PREFIX + measure.name).columns
        items = [
            *(f"r.{key}" for key in keys),
            f"{place} AS place",
            *(
                f"r.{column} AS {column}" if column in has else f"CAST(NULL AS DOUBLE) AS {column}"
                for column in ("drift", "low", "high", "categories", "empty_categories")
            ),
        ]
        parts.append(f"SELECT {', '.join(items)} FROM {name} AS r")
    return Statement(tuple(writer.ctes.values()), "\nUNION ALL\n".join(parts), writer.params, ())


def measure(
    measures: Sequence[Measure],
    counts: str,
    table: Source,
    keys: Sequence[str],
    *,
    is_number: bool,
    objects: Mapping[str, object] | None = None,
) -> pl.DataFrame:
    """Return the measures by slice: ``place`` in the list of measures, ``drift`` and bounds.

    Parameters
    ----------
    measures : sequence of Measure
        The measures to compute.
    counts : str
        A SELECT of the rows of ``drift_scores`` or ``drift_categories``.
    table : Source
        The table that it reads.
    keys, is_number
        As for `write_statement`.
    objects : mapping, optional
        The objects to register for the table.
    """
    # One statement for each sort order, because several sorts at once share the memory limit.
    together: dict[object, dict[int, Measure]] = {}
    for place, each in enumerate(measures):
        order = ("shares", each.values.get("bins")) if each.is_of_shares else each.name
        together.setdefault(order, {})[place] = each
    name = _SCORES if is_number else _CATEGORIES
    parts: list[pl.DataFrame] = []
    for members in together.values():
        statement = write_statement(members, keys, is_number=is_number)
        ctes = (Cte(name, counts, "NOT MATERIALIZED"), *statement.ctes)
        sql = replace(statement, ctes=ctes).sql
        parts.append(embedded().run(sql, statement.params, [table], objects or {}, pl.DataFrame))
    return pl.concat(parts, how="vertical_relaxed")
