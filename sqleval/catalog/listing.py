"""Lists the catalogue as a table: one row per metric, from its header and its SQL."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqleval.catalog.catalogue import Catalogue, builtin
from sqleval.catalog.contract import Relation
from sqleval.catalog.intervals import name_interval
from sqleval.catalog.tasks import list_groups, name_group
from sqleval.common.visible import escape_html


def describe(relation: Relation, catalogue: Catalogue | None = None) -> dict[str, Any]:
    """Return the row of one file: its header, and facts from its SQL."""
    catalogue = catalogue or builtin()
    params = catalogue.parameters(relation.name)
    header = relation.header
    return {
        "name": relation.name,
        "task": name_group(relation.task),
        "family": relation.family,
        "kind": relation.kind,
        "summary": header["summary"],
        "formula": header.get("formula"),
        "direction": header.get("direction"),
        "range": header.get("range"),
        "domain": header.get("domain"),
        "params": ", ".join(f"{name}: {param}" for name, param in params.items()),
        "weights": header.get("weights"),
        "interval": describe_interval(relation, catalogue),
        "undefined": "; ".join(relation.notes),
        "reference": header.get("reference"),
        "aliases": ", ".join(header.get("aliases") or ()),
        "same_as": header.get("same_as"),
        "cost": find_cost(relation, catalogue),
        "since": header.get("since"),
        "needs": ", ".join(catalogue.closure(relation.name)) or "predictions",
    }


def find_cost(relation: Relation, catalogue: Catalogue) -> str:
    """Return how the time grows with the rows: ``n``, ``n log n`` if they are sorted, or more.

    A file that grows faster says so in its header.
    """
    if "cost" in relation.header:
        return str(relation.header["cost"])
    files = {**catalogue.closure(relation.name), relation.name: relation}.values()
    return "n log n" if any(map(_sorts_rows, files)) else "n"


def _sorts_rows(relation: Relation) -> bool:
    """Whether a file has an ordered window over more than one row for each class."""
    windows = relation.query.find_all(exp.Window)
    return not relation.name.startswith("class_") and any(
        each.args.get("order") for each in windows
    )


def describe_interval(relation: Relation, catalogue: Catalogue) -> str | None:
    """Return the interval that ``ci=`` gives for a metric: a key of `REASONS`; None for a curve."""
    if relation.kind != "metric":
        return None
    file = catalogue.find_interval(relation.name)
    if file is not None:
        return name_interval(file.columns, file.header)
    if relation.has_queries or relation.is_per_row:
        return f"student, over {'queries' if relation.has_queries else 'rows'}"
    return "none" if relation.is_sum else "bootstrap"


def shorten_summary(summary: str) -> str:
    """Return a summary up to the first semicolon; ties and edge cases follow it."""
    return re.split(r";(?![^(]*\))", summary)[0]


def group_by_task(
    rows: Sequence[Mapping[str, Any]],
) -> dict[str, list[Mapping[str, Any]]]:
    """Return rows of the catalogue by task and family.

    Rows that compute the same value as another one (``same_as``) are left out.

    Parameters
    ----------
    rows : sequence of mapping
        From `metrics`.

    Returns
    -------
    dict of str to list of mapping
        The rows below the titles ``binary``, ``binary: calibration`` ..., tasks in the order of
        `TASKS`, the family with the name of the task before its others.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for group in list_groups():
        chosen = [row for row in rows if row["task"] == group and not row["same_as"]]
        families = {row["family"] for row in chosen}
        for family in sorted(families, key=lambda name: (name != group, name)):
            title = group if family == group else f"{group}: {family}"
            groups[title] = [row for row in chosen if row["family"] == family]
    return groups


class Listing(list[dict[str, Any]]):
    """The rows of the catalogue, which consoles and notebooks show by name and summary."""

    def _shorten(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, family and summary of each row."""
        for row in self:
            yield row["name"], row["family"], shorten_summary(row["summary"])

    def __repr__(self) -> str:
        """Return a line a row: its name and summary."""
        longest = max((len(row["name"]) for row in self), default=0)
        return "\n".join(f"{name:<{longest}}  {text}" for name, _, text in self._shorten())

    def _repr_html_(self) -> str:
        cell = "<td style=text-align:left>{}</td>"
        rows = "".join(
            f"<tr>{''.join(cell.format(escape_html(text)) for text in row)}</tr>"
            for row in self._shorten()
        )
        return f"<table><tr><th>name</th><th>family</th><th>summary</th></tr>{rows}</table>"


def metrics(sql: str | Path | None = None) -> Listing:
    """Return the catalogue: one row per metric or curve, by family and name.

    Parameters
    ----------
    sql : path, optional
        A folder of SQL files of your own, whose metrics are listed beside the others.

    Returns
    -------
    list of dict
        Name, task, family, kind, summary, formula, direction, range, parameters and more. The
        task is ``any classes`` for metrics of two or more classes. Consoles and notebooks show
        the names and summaries.

    Examples
    --------
    >>> import sqleval
    >>> [row["name"] for row in sqleval.metrics() if row["family"] == "value"]
    ['count', 'mean', 'median', 'quantile', 'share', 'sum']
    """
    catalogue = builtin() if sql is None else Catalogue(*builtin().folders, sql)
    return Listing(describe(each, catalogue) for each in catalogue.relations("metric", "curve"))
