"""Writes the rows of states, which are counts and sums per score bin, into a statement."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sqleval.binding.binding import SQUARES, Binding, Definition
from sqleval.catalog.relations import WEIGHTS
from sqleval.catalog.request import Request, format_request
from sqleval.common.sql_text import Value, quote, select
from sqleval.compiler.bin_rows import Aggregate, describe_column
from sqleval.compiler.bins import Bins, check_binding_allows_bins
from sqleval.compiler.builder import Builder, InputRelations
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.input_rows import RowRelations
from sqleval.compiler.rewrite import MetricText
from sqleval.compiler.rows import write_further, write_source
from sqleval.compiler.scope import Plan
from sqleval.compiler.statement import Cte
from sqleval.compiler.verdict import judge_state
from sqleval.compiler.weights import audit_weights
from sqleval.errors import RequestError

#: The column of the label in a state of many labels.
CLASS = "class"


def create_relations(binding: Binding, plan: Plan) -> InputRelations:
    """Return the writer of this input under a plan.

    Raises
    ------
    RequestError
        If the plan bins scores, but the input has no scores to bin.
    """
    if binding.state is not None:
        return StateRelations(binding, binding.state)
    if isinstance(plan, Bins):
        check_binding_allows_bins(binding)
    return RowRelations(binding, plan, dialect=binding.dialect)


def name_values(request: Request) -> str:
    """Return the text of a metric for one query, without the reducer over queries.

    Examples
    --------
    >>> name_values(Request("ndcg", (("k", 3),), reduce="smallest"))
    'ndcg(k=3)'
    """
    return format_request(replace(request, reduce=None, zero_division=None))


class StateRelations(RowRelations):
    """Writes the rows of states as relations; see `builder.InputRelations`."""

    def __init__(self, binding: Binding, definition: Definition) -> None:
        super().__init__(binding, Bins(definition.bits))
        self._definition = definition
        # States of a regression hold sums of the values, and no column of label or prediction.
        self.checks_roles = not binding.has_values

    @property
    def _columns(self) -> dict[str, str]:
        """The internal names of the state's columns, by their descriptions."""
        held = (name for name in self._definition.columns if name != SQUARES)
        return {name: f"_of_state_{i}" for i, name in enumerate(held, start=1)}

    def place(self, builder: Builder, predicate: str | None) -> None:
        """Write the state's rows, an empty CTE for their audit, and ``predictions``."""
        ends = ("score_low", "score_high") if self._definition.bits else ()
        also = {"_rows": "s.n", "_usable": "s.used"}
        also |= {end: f"s.{end}" for end in ends}
        also |= {column: f"s.{quote(name)}" for name, column in self._columns.items()}
        if self.binding.is_weighted:
            also["squares"] = "s.squares"
        sql = write_source(self.binding, predicate, also)["_source"]
        builder.add_cte("_grouped", sql, "MATERIALIZED")
        builder.add_cte("_audit", "")
        roles = [role for role in ("label", "prediction", "score") if role in self.binding.role]
        names = [*self.binding.keys, *self.binding.folds, *self.binding.label_keys, *roles, *ends]
        names += self._columns.values()
        items = {name: name for name in names}
        items |= {role: write_further(self.binding, role) for role in self.binding.further}
        items |= dict.fromkeys(WEIGHTS, "_rows")
        if self.binding.is_weighted:
            items |= {"weight": "weight", "squares": "squares"}
        sql = select(items, "FROM _grouped\nWHERE _usable")
        builder.add_cte("predictions", sql, "NOT MATERIALIZED")

    def aggregate(
        self,
        builder: Builder,
        kind: Aggregate,
        node: exp.Expr,
        description: str,
        params: Mapping[str, Value],
    ) -> str:
        """Return the state's column for a row-level expression."""
        needs_more = kind in ("centre", "squares")
        way = "; for intervals, make the state with ci=True (--ci)" if needs_more else ""
        return self._find_column(description, way)

    def _find_column(self, description: str, way: str = "") -> str:
        """Return the state's column with a description; raise `RequestError` if there is none."""
        if description not in self._columns:
            held = ", ".join(self._columns) or "no sums"
            raise RequestError(f"the state does not hold {description}; it holds {held}{way}")
        return self._columns[description]

    def write_kept_metric(self, request: Request, keys: Sequence[str]) -> MetricText | None:
        """Return the text of a metric whose values by query or row the state holds."""
        if self.binding.many is not None and request.is_per_row:
            column = self._find_column(name_values(request))
            mean = f"SUM({column}) / NULLIF(CAST(SUM(weight) AS DOUBLE), 0)"
            group = f"\nGROUP BY {', '.join(keys)}" if keys else ""
            listed = {key: key for key in keys}
            return MetricText.create(f"predictions{group}", {"value": mean}, listed)
        if not self.binding.has_queries:
            return None
        column = self._find_column(name_values(request))
        listed = {key: key for key in keys}
        if "query" not in self.binding.role:
            listed["query"] = "NULL AS query"  # drawn queries have no name
        return MetricText.create("predictions", {"value": column}, listed)

    def is_decided(self, values: Mapping[str, Value]) -> bool:
        """Whether the state says on which side of the threshold each of its rows is."""
        if "prediction" in self.binding.role:
            return True
        threshold = {"threshold": values.get("threshold", 0.5)}
        return describe_column("decisions", "prediction", threshold) in self._columns

    def place_audit(self, builder: Builder, checks: DomainChecks) -> None:
        """Write the audit: the rows from which the state was built, and the usable ones."""
        if not self._definition.bits:
            checks = DomainChecks()  # such a state has no scores
        items = {key: key for key in self.binding.keys}
        items["_rows"] = "COALESCE(SUM(_rows), 0)"
        items["_used"] = "COALESCE(SUM(CASE WHEN _usable THEN _rows ELSE 0 END), 0)"
        if self.binding.is_weighted:
            items |= audit_weights("_usable", binned=True)
        if self.binding.has_queries and "query" in self.binding.role:
            query = "CASE WHEN _usable THEN query END"
            items["query_divided"] = f"COUNT({query}) - COUNT(DISTINCT {query})"
        if checks.is_needed:
            # The ends of a bin are its lowest and highest score.
            outside = "_usable AND (score_low < 0 OR score_high > 1)"
            items["score_outside"] = f"COALESCE(SUM(CASE WHEN {outside} THEN _rows ELSE 0 END), 0)"
        group = "\nGROUP BY " + ", ".join(self.binding.keys) if self.binding.keys else ""
        audit = items, f"FROM _grouped{group}"
        for name, sql in judge_state(self.binding, checks, audit).items():
            builder.ctes[name] = Cte(name, sql)
