"""The catalogue as a table: one row per metric, from its header and its SQL."""

from typing import Any

from sqleval.catalog.catalogue import Catalogue, builtin
from sqleval.catalog.contract import Relation


def describe(relation: Relation, catalogue: Catalogue | None = None) -> dict[str, Any]:
    """Return the row of one file: its header, and what follows from its SQL."""
    catalogue = catalogue or builtin()
    params = catalogue.parameters(relation.name)
    header = relation.header
    return {
        "name": relation.name,
        "family": relation.family,
        "kind": relation.kind,
        "summary": header["summary"],
        "formula": header.get("formula"),
        "direction": header.get("direction"),
        "range": header.get("range"),
        "domain": header.get("domain"),
        "params": ", ".join(f"{name}: {param}" for name, param in params.items()),
        "weights": header.get("weights"),
        "interval": describe_interval(relation),
        "undefined": "; ".join(relation.notes),
        "reference": header.get("reference"),
        "aliases": ", ".join(header.get("aliases") or ()),
        "cost": header.get("cost"),
        "since": header.get("since"),
        "needs": ", ".join(catalogue.closure(relation.name)) or "predictions",
    }


def describe_interval(relation: Relation) -> str | None:
    """Return what ``ci=`` gives for a metric: the source of its standard error, or a method."""
    if relation.interval == "normal":
        return str(relation.header.get("interval", "normal"))
    if relation.interval is None and relation.task == "ranking":
        return "normal, over queries"
    return relation.interval


def metrics() -> list[dict[str, Any]]:
    """Return the catalogue: one row per metric or curve, by family and name.

    Returns
    -------
    list of dict
        Name, family, kind, summary, formula, direction, range, parameters and more.

    Examples
    --------
    >>> import sqleval
    >>> [row["name"] for row in sqleval.metrics() if row["family"] == "regression"]
    ['mae', 'mse', 'rmse']
    """
    return [describe(relation) for relation in builtin().relations("metric", "curve")]
