"""Places relations in a statement: each (file, context, parameter values) once, in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from sqleval import catalog
from sqleval.catalog import graph
from sqleval.catalog.contract import Relation
from sqleval.catalog.parameters import Param, shown
from sqleval.common import sql_text
from sqleval.common.sql_text import Value, literal, quote
from sqleval.compiler import rows
from sqleval.compiler.audit import audit, problems
from sqleval.compiler.bin_rows import (
    coarse_bins,
    columns_read,
    grouped,
    heavy_bins,
    is_row_level,
    of_source,
    step,
)
from sqleval.compiler.bins import Bins, refuse
from sqleval.compiler.reducers import merged
from sqleval.compiler.rewrite import bind, text
from sqleval.compiler.statement import Cte, Statement
from sqleval.errors import RequestError
from sqleval.inputs.binding import Binding

_PER_CLASS = "a probability per class is needed: score={class: column, ...}"
#: Why a metric of the default set is left out.
_GUARD = "scores are outside 0 .. 1"
#: What units are: rows (numbers may stand for texts of slice keys), distinct scores, or bins.
Plan = Literal["rows", "numbered", "groups"] | Bins
#: A substitution under which files are placed; some add a key to ``slice``.
Context = (
    Literal[
        "one_vs_rest", "one_vs_one", "micro", "micro_one_vs_one", "per_query", "per_fold",
        "arranged",
    ]
    | None
)  # fmt: skip
#: The twins that make several relations of one, by context.
ADAPTERS: Mapping[str | None, str] = {
    "one_vs_rest": "one_vs_rest",
    "micro": "one_vs_rest",
    "one_vs_one": "one_vs_one",
    "micro_one_vs_one": "one_vs_one",
    "arranged": "arranged",
}


def described(relation: Relation, column: str, own: Mapping[str, Value]) -> str:
    """Return what a column of a step is, such as ``log_losses.loss(eps=1e-15)``."""
    given = ", ".join(f"{name}={shown(value)}" for name, value in sorted(own.items()))
    return f"{relation.name}.{column}" + (f"({given})" if given else "")


@dataclass
class Builder:
    """Collects the CTEs of one statement, each (file, context, parameter values) once."""

    binding: Binding
    plan: Plan
    engine: str = "duckdb"
    portable: bool = False
    #: Whether the input's types are unknown, and the result has no intervals.
    plain: bool = False
    #: The slice keys of text that hold a number of their combination instead: rows are sorted by
    #: that in half the time.
    numbered: tuple[str, ...] = ()
    #: Whether the metric that is being placed takes neighbouring negatives as one unit.
    runs: bool = False
    #: What rows that are taken together in bins have in common, and sums over them, as SQL.
    common: dict[str, str] = field(default_factory=dict[str, str])
    sums: dict[str, str] = field(default_factory=dict[str, str])
    #: The columns that are read of steps that say something of each row, by step.
    columns_used: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    #: Their names, by what they are in a way that another statement understands.
    described: dict[str, str] = field(default_factory=dict[str, str])
    #: The condition under which a metric of the statement is asked for, by its label.
    asked: Mapping[str, str] = field(default_factory=dict[str, str])
    ctes: dict[str, Cte] = field(default_factory=dict[str, Cte])
    params: dict[str, Value] = field(default_factory=dict[str, Value])
    placed: dict[object, str] = field(default_factory=dict[object, str])

    @property
    def bins(self) -> Bins | None:
        """How scores are taken together, where units are bins."""
        return self.plan if isinstance(self.plan, Bins) else None

    # -- choosing files ------------------------------------------------------------------

    def conditions(self, context: Context) -> set[str]:
        """Return the conditions of twins that hold here."""
        true = {self.engine}
        if self.plan == "rows" and not self.portable:
            true.add("rows")
            true |= {"runs"} if self.runs else set()
        if self.bins is not None:
            true.add("binned")
        if not (self.binding.weighted or self.binding.counted) and self.plan == "rows":
            true.add("unweighted")
        if self.binding.task == "multiclass" and context not in ADAPTERS:
            true.add("multiclass")
        if self.binding.task == "binary" and "prediction" not in self.binding.role:
            true.add("thresholded")
        if context in ADAPTERS:
            true.add(ADAPTERS[context])
        return true

    def resolve(self, name: str, context: Context, *, twin: bool = True) -> Relation | None:
        """Return the most particular file that may stand for ``name`` here."""
        true = self.conditions(context)
        fitting = [r for r in catalog.files(name) if r.when <= true and (twin or not r.when)]
        return max(fitting, key=lambda r: len(r.when), default=None)

    def params_of(self, name: str, context: Context, relation: Relation) -> Mapping[str, Param]:
        """Return the parameters of a relation and of the steps that it stands on here."""

        def below(inner: str) -> Relation | None:
            return relation if inner == name else self.resolve(inner, context)

        return graph.inherited(name, below)

    # -- placing CTEs --------------------------------------------------------------------

    def extra(self, context: Context) -> tuple[str, ...]:
        """Return the keys that a substitution adds to ``slice``."""
        keys = {
            "one_vs_rest": ("class",),
            "one_vs_one": ("class", "other"),
            "per_query": ("query",),
            "per_fold": self.binding.folds,
            "arranged": ("arrangement",),
        }
        return keys.get(context or "", ())

    def keys(self, context: Context) -> tuple[str, ...]:
        """Return the columns that ``slice`` stands for, with a substitution's own keys."""
        return (*self.binding.keys, *self.extra(context))

    def add_cte(self, name: str, sql: str, hint: str = "") -> str:
        """Write a CTE under ``name``, or name_2 ... if that is taken; return its name."""
        unique, i = name, 1
        while unique in self.ctes:
            i += 1
            unique = f"{name}_{i}"
        self.ctes[unique] = Cte(unique, sql, hint)
        return unique

    def parameter(self, name: str, value: Value) -> str:
        """Return the name under which ``value`` is bound: $name, then $name_2 ..."""
        unique, i = name, 1
        while unique in self.params and self.params[unique] != value:
            i += 1
            unique = f"{name}_{i}"
        self.params[unique] = value
        return unique

    def place(self, name: str, context: Context, values: Mapping[str, Value]) -> str:
        """Make sure the relation stands in the statement; return the name of its CTE."""
        relation = self.resolve(name, context)
        if relation is None:
            return self._contract(name)
        adapter = bool(relation.when & set(ADAPTERS.values()))
        inner: Context = None if adapter else context
        chosen = self.chosen(name, context, relation, values)
        runs = self.runs and (name == "cutoffs" or graph.stands_on(name, "cutoffs"))
        key = (relation.path, inner, runs, tuple(sorted(chosen.items())))
        if self.bins is not None and is_row_level(relation):
            self.placed[key] = self._taken_together(relation, inner, values, key)
        elif key not in self.placed:
            query = self.bound(relation, inner, values)
            # DuckDB would write a row-level step that two files read to memory.
            again = self._by_rows(relation) and not query.find(exp.Window)
            hint = "NOT MATERIALIZED" if again else ""
            self.placed[key] = self.add_cte(name, text(query), hint)
        cte = self.placed[key]
        if adapter and context in ("micro", "micro_one_vs_one"):
            plain = catalog.files(name)[0]
            if plain.kind == "mergeable":
                key = (*key, "merged")
                if key not in self.placed:
                    sql = merged(plain.query, cte, self.binding.keys)
                    self.placed[key] = self.add_cte(f"{name}_micro", sql)
                cte = self.placed[key]
        return cte

    def _taken_together(
        self, relation: Relation, context: Context, values: Mapping[str, Value], key: object
    ) -> str:
        """Write what a row-level step says of all the rows of a bin; return its CTE."""
        self._check_roles(relation, context)
        own = {name: values.get(name, param.default) for name, param in relation.params.items()}
        sql = step(
            relation,
            self.keys(context),
            self.columns_used[relation.name],
            lambda kind, node, column: self.kept(kind, node, described(relation, column, own), own),
        )
        if key in self.placed:
            # Another file reads more of it.
            self.ctes[self.placed[key]] = Cte(self.placed[key], sql, "NOT MATERIALIZED")
            return self.placed[key]
        return self.add_cte(relation.name, sql, "NOT MATERIALIZED")

    def kept(self, kind: str, node: exp.Expr, description: str, own: Mapping[str, Value]) -> str:
        """Return the column of ``_grouped`` for what a step says of each row."""
        home = self.sums if kind == "sum" else self.common
        named = {name: self.parameter(name, value) for name, value in own.items()}
        sql = text(of_source(self.binding, bind(node, (), {}, named)))
        name = next((known for known, same in home.items() if same == sql), None)
        if name is None:
            name = f"_{kind}_{len(home) + 1}"
            home[name] = sql
        self.described[description] = name
        return name

    def decided(self, values: Mapping[str, Value]) -> bool:
        """Whether it is known of every row on which side of the threshold it is."""
        return True

    def _by_rows(self, relation: Relation) -> bool:
        return bool(set(relation.reads) & set(catalog.CONTRACT)) and relation.kind == "step"

    def chosen(
        self, name: str, context: Context, relation: Relation, values: Mapping[str, Value]
    ) -> dict[str, Value]:
        """Return the value of each parameter that reaches this relation."""
        declared = self.params_of(name, context, relation)
        return {key: values.get(key, param.default) for key, param in declared.items()}

    def bound(self, relation: Relation, context: Context, values: Mapping[str, Value]) -> exp.Query:
        """Return a file's query for this statement, what it reads being in place."""
        self._check_roles(relation, context)
        if self.bins is not None:
            refuse(relation, values)
            # Without intervals nobody asks for a standard error, nor for what it is made of.
            columns = columns_read(relation.query, stderr=self.portable)
            for read in relation.reads:
                self.columns_used.setdefault(read, set()).update(columns)
        across = relation.header.get("across")
        tables = {read: self.place(read, context, values) for read in relation.reads}
        for name in relation.tables:
            tables[name] = self.table(name, relation.params[name], values)
        names = {
            name: self.parameter(name, values.get(name, param.default))
            for name, param in relation.params.items()
            if param.kind != "matrix"
        }
        keys, own = self.keys(context), {}
        if across == "matrices":
            keys = self.binding.keys
        elif across == "model":
            if not self.binding.models:
                raise RequestError("several models are needed: score={model: column, ...}")
            keys = tuple(key for key in keys if key != self.binding.model_key)
            own = {"model": self.binding.model_key}
        return bind(relation.query, keys, tables, names, own)

    def table(self, name: str, param: Param, values: Mapping[str, Value]) -> str:
        """Place the relation that a parameter stands for."""
        value = values.get(name, param.default)
        key = (name, value)
        if key not in self.placed:
            given = rows.param_rows(self.binding, param, value)
            listed = ", ".join(f"({', '.join(row)})" for row in given)
            sql = f"SELECT {param.columns} FROM (VALUES {listed}) AS given({param.columns})"
            self.placed[key] = self.add_cte(name, sql)
        return self.placed[key]

    def _check_roles(self, relation: Relation, context: Context) -> None:
        have = {"slice", "label", "weight", "class", *self.binding.role}
        have |= {"score_low", "score_high"} if self.bins is not None else set()
        if self.binding.classes:
            have.add("score" if context in ADAPTERS else "prediction")
        if context == "per_query" and "query" not in have:
            raise RequestError("qid= is needed and not given")
        for role in sorted(relation.needs.get("predictions", frozenset()) - have):
            if role == "score" and self.binding.task == "multiclass":
                raise RequestError(_PER_CLASS)
            raise RequestError(f"{role}= is needed and not given")

    def _contract(self, name: str) -> str:
        if name == "class_scores" and name not in self.ctes:
            if not self.binding.classes:
                raise RequestError(_PER_CLASS)
            self.add_cte(name, rows.class_scores(self.binding), "NOT MATERIALIZED")
        return name

    def origin(self) -> str:
        """Return the relation that stands for the user's rows under this plan."""
        return "_source" if self.plan == "rows" else "_grouped"

    @property
    def _usable_only(self) -> bool:
        """Whether rows without a usable value are left out before anything is counted."""
        return self.binding.nulls == "drop" or self.binding.labels is not None

    def guard(self, *, domain: bool) -> str:
        """Return why a metric that was not asked for by name is left out, as SQL.

        It counts where scores lie outside 0 .. 1. ``domain`` says whether the metric itself
        minds; otherwise it is decided at a threshold that nobody chose.
        """
        return literal(_GUARD)

    def place_audit(self, needing: Sequence[str], defaulted: Sequence[str], guarded: bool) -> bool:
        """Write the audit and its verdict, once it is known what the metrics ask of the rows.

        Returns whether the scores' domain was audited.
        """
        domain = bool(needing or defaulted or guarded)
        if self.bins is not None:
            self._place_bins(self.bins, domain=domain)
        # Values that are taken together say no more whether one of them was missing.
        origin = "_source" if self.binding.task == "regression" else self.origin()
        sql = audit(self.binding, origin, domain=domain, binned=self.bins is not None)
        self.ctes["_audit"] = Cte("_audit", sql)
        sql = problems(self.binding, needing, defaulted, domain=domain, origin=origin)
        self.add_cte("_problems", sql)
        return domain

    def _place_bins(self, bins: Bins, *, domain: bool) -> None:
        """Write ``_grouped`` and ``predictions``, once it is known what is asked of bins."""
        ctes = grouped(self.binding, bins, self.common, self.sums, domain=domain)
        for name, sql in ctes.items():
            self.ctes[name] = Cte(name, sql, "MATERIALIZED")
        ends = ("score_low", "score_high") if "score" in self.binding.role else ()
        also = (*ends, *self.common, *self.sums)
        sql = rows.predictions(self.binding, "_grouped", self._usable_only, also)
        self.ctes["predictions"] = Cte("predictions", sql, "NOT MATERIALIZED")

    def statement(
        self,
        items: Mapping[str, str],
        columns: tuple[str, ...] | None,
        cte: str,
        order: list[str],
        limit: int | None,
    ) -> Statement:
        """Return the statement, with the parameters that it turned out to use.

        Parameters
        ----------
        items : mapping of str to str
            The columns that the result can have, and the SQL of each over ``cte`` as ``r``.
        columns : tuple of str, or None
            Those wanted; all if None.
        """
        chosen = tuple(name for name in items if columns is None or name in columns)
        select = self.outermost(items, chosen, cte, order)
        select += f"\nLIMIT {limit}" if limit is not None else ""
        dense = 0
        if self.bins is not None and self.bins.factor and not self.sums and not self.binding.keys:
            dense = self.bins.places.bit_length() + 3  # the label, and what is missing
        return Statement.of(self.ctes.values(), select, self.params, chosen, dense)

    def place_input(self, predicate: str | None) -> None:
        """Write the source, its audit and ``predictions``."""
        binding = self.binding
        # Groups and bins are the only reader that the rows have.
        once = binding.stream or bool(binding.labels)
        together = self.plan == "groups" or (self.bins is not None and self.bins.tolerance is None)
        once = once and (not together or binding.task == "regression")
        hint = "MATERIALIZED" if once else "NOT MATERIALIZED"
        for name, sql in rows.source(binding, predicate).items():
            self.add_cte(name, sql, hint)
        if self.numbered:
            named = self.ctes.pop("_source")
            self.add_cte("_named", named.sql, named.hint)
            slices, sql = rows.numbered(self.numbered)
            self.add_cte("_slices", slices, "MATERIALIZED")
            self.add_cte("_source", sql, "NOT MATERIALIZED")
        origin = self.origin()
        if origin == "_grouped":
            # Bins are written when it is known what is asked of them.
            if self.bins is not None and self.bins.tolerance is not None:
                self.add_cte("_coarse", "")
                self.add_cte("coarse_bins", coarse_bins(binding))
                asked: dict[str, Value] = {"tolerance": self.bins.tolerance}
                heavy = [self.place(f"heavy_{how}", None, asked) for how in self.bins.bounds]
                self.add_cte("heavy_bins", heavy_bins(binding, heavy))
            sql = rows.grouped(binding) if self.bins is None else ""
            self.add_cte("_grouped", sql, "MATERIALIZED")
        self.add_cte("_audit", "")
        sql = rows.predictions(binding, origin, self._usable_only)
        self.add_cte("predictions", sql, "NOT MATERIALIZED")

    def outermost(
        self, items: Mapping[str, str], chosen: tuple[str, ...], cte: str, order: list[str]
    ) -> str:
        """Return the outermost SELECT: the result's columns, and the verdict of the audit."""
        listed = {quote(name): items[name] for name in chosen}
        listed |= {"_problem": "p.problem", "_notice": "p.notice"}
        tables = f"FROM {cte} AS r\nCROSS JOIN _problems AS p"
        if self.numbered:
            # All of them hold the number of their combination.
            tables += f"\nJOIN _slices AS k ON r.{self.numbered[0]} = k.number"
        return sql_text.select(listed, tables, order)
