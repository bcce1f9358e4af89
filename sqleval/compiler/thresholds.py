"""Finds the largest threshold that a score reaches, so that several thresholds need one pass."""

from dataclasses import replace
from functools import lru_cache

from sqlglot import exp

from sqleval.catalog.contract import Relation
from sqleval.catalog.parameters import Param

#: The parameter with the threshold of a decision.
THRESHOLD = "threshold"
#: The step with the counts of decisions.
DECISION_COUNTS = "decision_counts"
_REACHED = "reached_thresholds"


def write_thresholds(relation: Relation, thresholds: tuple[float, ...]) -> Relation:
    """Rewrite ``reached_thresholds`` for these thresholds, in ascending order."""
    is_shared = relation.name == _REACHED and bool(thresholds)
    return _rewrite(relation, thresholds) if is_shared else relation


@lru_cache(maxsize=256)
def _rewrite(relation: Relation, thresholds: tuple[float, ...]) -> Relation:
    query = relation.query.copy()
    case = query.find(exp.Case)
    assert case is not None
    (branch,) = case.args["ifs"]
    names = [f"{THRESHOLD}_{i}" for i in range(1, len(thresholds) + 1)]
    case.replace(_write_search(branch, names, exp.null()))
    declared = zip(names, thresholds, strict=True)
    params = {name: Param("float", value) for name, value in declared}
    return replace(relation, query=query, params=params)


def _write_search(branch: exp.If, names: list[str], reached: exp.Expr) -> exp.Expr:
    """Return a binary search, as nested CASE: one comparison for each doubling of the thresholds.

    ``reached`` is the result if the score reaches none of the thresholds, which are parameters.
    """
    if not names:
        return reached.copy()
    middle = len(names) // 2
    test, result = (_rename(node, names[middle]) for node in (branch.this, branch.args["true"]))
    above = _write_search(branch, names[middle + 1 :], result)
    return exp.Case().when(test, above).else_(_write_search(branch, names[:middle], reached))


def _rename(node: exp.Expr, name: str) -> exp.Expr:
    """Return an expression with another parameter."""
    renamed = node.copy()
    for parameter in renamed.find_all(exp.Placeholder):
        parameter.set("this", name)
    return renamed
