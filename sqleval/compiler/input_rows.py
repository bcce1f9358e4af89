"""Writes the rows of a source into a statement: by row, by distinct score, or by score bin."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sqleval.binding.binding import Binding
from sqleval.common.sql_text import Value, select, write_key_equality, write_squared_deviations
from sqleval.compiler import rows
from sqleval.compiler.audit import write_audit
from sqleval.compiler.bin_rows import (
    Aggregate,
    rewrite_over_source,
    write_bins,
    write_coarse_bins,
    write_refined_bins,
)
from sqleval.compiler.bins import Bins
from sqleval.compiler.buckets import Buckets
from sqleval.compiler.builder import Builder, InputRelations
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.rewrite import bind_query, write_sql
from sqleval.compiler.scope import Plan, Scope
from sqleval.compiler.statement import VERDICT_JOIN, Cte
from sqleval.compiler.verdict import is_judged_in_audit, judge_rows


class RowRelations(InputRelations):
    """Writes the rows of a source as relations; see `builder.InputRelations`.

    Parameters
    ----------
    binding : Binding
        Roles, slice keys and options.
    plan : Plan
        The units.
    dialect : str
        The engine's SQL.
    also : mapping of str to str, optional
        Further columns of ``_source``, as SQL over the source ``s``.
    """

    def __init__(
        self,
        binding: Binding,
        plan: Plan = "rows",
        *,
        dialect: str = "duckdb",
        also: Mapping[str, str] | None = None,
    ) -> None:
        self._also = also
        # Sorting by one integer id instead of text slice keys takes half the time.
        binding = replace(binding, is_sorted=plan == "sorted" and rows.can_sort(binding))
        self.has_few_rows = plan == "few"
        plan = "numbered" if plan == "sorted" else "rows" if plan == "few" else plan
        is_numbered = plan == "numbered" and bool(binding.numbered_keys and binding.by)
        self.binding = replace(binding, is_numbered=is_numbered)
        self.dialect = dialect
        self.buckets = plan if isinstance(plan, Buckets) else None
        self.plan: Plan = "rows" if plan == "numbered" or self.buckets is not None else plan
        #: Columns of row-level steps over bins, as SQL: keys to group by, and aggregates.
        self.shared: dict[str, str] = {}
        self.totals: dict[str, str] = {}
        #: The names of these columns, by a description such as ``log_losses.loss(eps=1e-15)``.
        self.columns_by_description: dict[str, str] = {}

    @property
    def _bins(self) -> Bins | None:
        return self.plan if isinstance(self.plan, Bins) else None

    @property
    def _origin(self) -> str:
        """The relation that ``predictions`` reads under this plan."""
        return "_source" if self.plan == "rows" else "_grouped"

    @property
    def _usable_only(self) -> bool:
        """Whether ``predictions`` leaves out rows with an unusable value."""
        return self.binding.nulls == "drop" or self.binding.labels is not None

    def place(self, builder: Builder, predicate: str | None) -> None:
        """Write the source, an empty CTE for its audit, and ``predictions``."""
        binding, bins = self.binding, self._bins
        # With groups and most bins, only one relation reads the rows.
        once = binding.reads_once or bool(binding.labels)
        is_grouped = self.plan == "groups" or (bins is not None and bins.tolerance is None)
        is_by_position = binding.labels is not None and binding.labels.is_by_position
        once = once and (not is_grouped or binding.has_values or is_by_position)
        hint = "MATERIALIZED" if once else "NOT MATERIALIZED"
        for name, sql in rows.write_source(binding, predicate, self._also).items():
            # The rows of a ranking are read twice: for its lists, and for the items of each.
            again = name == "_rows" and not binding.reads_once
            builder.add_cte(name, sql, "NOT MATERIALIZED" if again else hint)
        if binding.is_numbered:
            named = builder.ctes.pop("_source")
            builder.add_cte("_named", named.sql, named.hint)
            for name, sql in rows.write_numbered_slices(binding).items():
                hint = "NOT MATERIALIZED" if name == "_source" else "MATERIALIZED"
                builder.add_cte(name, sql, hint)
        if self._origin == "_grouped":
            self._place_groups(builder)
        builder.add_cte("_audit", "")
        # In other engines a SUM of INT may be INT, and overflow.
        unit = "1" if self.dialect == "duckdb" else "CAST(1 AS BIGINT)"
        sql = rows.write_predictions(
            binding, self._origin, self._usable_only, unit=unit, buckets=self.buckets
        )
        builder.add_cte("predictions", sql, "NOT MATERIALIZED")

    def _place_groups(self, builder: Builder) -> None:
        """Write ``_grouped``; with bins an empty CTE, whose columns depend on the metrics."""
        bins = self._bins
        if bins is not None and bins.tolerance is not None:
            builder.add_cte("_coarse", "")
            builder.add_cte("coarse_bins", write_coarse_bins(self.binding))
            scope = Scope(values={"tolerance": bins.tolerance})
            refined = [builder.place(f"refined_bins_by_{bound}", scope) for bound in bins.bounds]
            builder.add_cte("refined_bins", write_refined_bins(self.binding, refined))
        sql = rows.write_groups(self.binding) if bins is None else ""
        builder.add_cte("_grouped", sql, "MATERIALIZED")

    def place_audit(self, builder: Builder, checks: DomainChecks) -> None:
        """Write the audit and its verdict, and with bins the relations that it reads."""
        if self.binding.is_expected:
            checks.of_probabilities.append("expected=")
        domain = checks.is_needed
        bins = self._bins
        if bins is not None:
            ctes = write_bins(self.binding, bins, self.shared, self.totals, domain=domain)
            for name, sql in ctes.items():
                builder.ctes[name] = Cte(name, sql, "MATERIALIZED")
            ends = ("score_low", "score_high") if "score" in self.binding.role else ()
            also = (*ends, *self.shared, *self.totals)
            sql = rows.write_predictions(self.binding, "_grouped", self._usable_only, also)
            builder.ctes["predictions"] = Cte("predictions", sql, "NOT MATERIALIZED")
        # Audit rows of a regression before grouping: a sum does not show that a value was missing.
        origin = "_source" if self.binding.has_values else self._origin
        ci = builder.has_intervals
        if self.binding.is_sorted and self.binding.is_numbered:
            audit = self._write_numbered_audit(domain=domain, ci=ci)
        else:
            audit = write_audit(self.binding, origin, domain=domain, ci=ci, binned=bins is not None)
        for name, text in judge_rows(self.binding, checks, audit, origin).items():
            builder.ctes[name] = Cte(name, text)

    def _write_numbered_audit(self, *, domain: bool, ci: bool) -> tuple[dict[str, str], str]:
        """Return the audit by slice keys, numbered only then: few slices join faster than rows."""
        plain = replace(self.binding, is_numbered=False, is_sorted=False)
        items, rest = write_audit(plain, "_named", domain=domain, ci=ci)
        keys, (number, *_) = plain.keys, self.binding.keys
        named = {number: "n.number"} | {name: f"a.{name}" for name in items if name not in keys}
        equality = write_key_equality("a", "n", keys)
        return named, f"FROM (\n{select(items, rest)}\n) AS a\nJOIN _slices AS n ON {equality}"

    def aggregate(
        self,
        builder: Builder,
        kind: Aggregate,
        node: exp.Expr,
        description: str,
        params: Mapping[str, Value],
    ) -> str:
        """Add a row-level expression to ``_grouped`` unless it has it; return its column."""
        home = self.shared if kind == "key" else self.totals
        named = {name: builder.add_parameter(name, value) for name, value in params.items()}
        sql = write_sql(rewrite_over_source(self.binding, bind_query(node, (), {}, named)))
        if kind == "sum":
            sql = f"SUM(weight * ({sql}))" if self.binding.is_weighted else f"SUM({sql})"
        elif kind == "centre":
            sql = f"SUM(weight * weight * ({sql}))"
        elif kind in ("squares", "deviations"):
            weight = "weight * weight" if kind == "squares" else "weight"
            weight = weight if self.binding.is_weighted else "1"
            sql = write_squared_deviations(weight, f"({sql})")
        name = next((name for name, same in home.items() if same == sql), None)
        if name is None:
            name = f"_{kind}_{len(home) + 1}"
            home[name] = sql
        self.columns_by_description[description] = name
        return name

    def is_decided(self, values: Mapping[str, Value]) -> bool:
        """Whether each unit lies on one side of the threshold, which is then a key of its bin."""
        return True

    @property
    def has_verdict_in_audit(self) -> bool:
        """Whether ``_audit`` has the verdict as columns."""
        return is_judged_in_audit(self.binding)

    def write_table(self, columns: Sequence[str], listed: Sequence[Sequence[str]]) -> str:
        """Return the SELECT of a small table of SQL values."""
        named = ", ".join(columns)
        values = ", ".join(f"({', '.join(row)})" for row in listed)
        return f"SELECT {named} FROM (VALUES {values}) AS given({named})"

    def write_verdict(self, *, is_judged: bool) -> tuple[Mapping[str, str], str]:
        """Return the columns of the audit's verdict, and the join to its relation."""
        if is_judged and self.has_verdict_in_audit:
            return {"_problem": "r.problem", "_notice": "r.notice"}, ""
        joins = VERDICT_JOIN.format("_audit" if self.has_verdict_in_audit else "_problems")
        if key := self.binding.problems_by:
            joins = f"\nJOIN _problems AS p ON {write_key_equality('r', 'p', [key])}"
        if self.binding.is_numbered:
            joins += f"\nJOIN _slices AS k ON r.{self.binding.numbered_keys[0]} = k.number"
        return {"_problem": "p.problem", "_notice": "p.notice"}, joins

    def count_key_bits(self) -> int:
        """Return the number of bits that the keys of the bins take; see `Statement`."""
        bins = self._bins
        if bins is None or not bins.factor or self.totals or self.binding.keys:
            return 0
        return bins.places.bit_length() + 3  # the label, and what is missing
