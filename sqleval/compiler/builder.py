"""Places relations in a statement: each (file, substitutions, parameter values) once, in order."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqleval.binding.binding import Binding
from sqleval.catalog.catalogue import Catalogue
from sqleval.catalog.contract import Relation
from sqleval.catalog.parameters import LEVEL, Param
from sqleval.catalog.relations import ROW_VALUES, WEIGHTS
from sqleval.catalog.request import Request
from sqleval.catalog.roles import name_argument
from sqleval.common.sql_text import Value
from sqleval.compiler import bin_rows
from sqleval.compiler.bins import Bins, check_file_allows_bins
from sqleval.compiler.buckets import Buckets
from sqleval.compiler.classes import CLASS_RELATIONS, write_param_rows
from sqleval.compiler.conditions import Conditions
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.reducers import write_pooled
from sqleval.compiler.rewrite import FileText, MetricText, Place, write_file, write_metric
from sqleval.compiler.row_values import RowValues, has_row_value
from sqleval.compiler.rows import write_slices
from sqleval.compiler.scope import Plan, Scope
from sqleval.compiler.singles import compare_as_singles
from sqleval.compiler.statement import Cte, Outermost, Statement
from sqleval.compiler.substitution import Substitution, list_keys
from sqleval.compiler.thresholds import write_thresholds
from sqleval.errors import RequestError

_PER_CLASS = (
    "a probability per class is needed: score={class: column, ...} (--score CLASS=COLUMN for each)"
)


class InputRelations(ABC):
    """Writes an input into a statement as the relations that the files read.

    Attributes
    ----------
    binding : Binding
        Roles, slice keys and options.
    plan : Plan
        The units.
    dialect : str
        The engine's SQL; only ``duckdb`` has its own twins.
    buckets : Buckets or None
        The ranges of the score within which windows run, if no window may hold all rows.
    has_few_rows : bool
        Whether the plan was ``few``.
    checks_roles : bool
        Whether every role that a file reads must be bound.
    """

    binding: Binding
    plan: Plan
    dialect: str
    buckets: Buckets | None = None
    has_few_rows: bool = False
    checks_roles: bool = True

    @abstractmethod
    def place(self, builder: "Builder", predicate: str | None) -> None:
        """Write the rows, an empty CTE for their audit, and ``predictions``."""

    @abstractmethod
    def place_audit(self, builder: "Builder", checks: DomainChecks) -> None:
        """Write the audit and its verdict.

        The builder calls it last, when it knows which columns all metrics need.
        """

    @abstractmethod
    def aggregate(
        self,
        builder: "Builder",
        kind: bin_rows.Aggregate,
        node: exp.Expr,
        description: str,
        params: Mapping[str, Value],
    ) -> str:
        """Return the column of ``_grouped`` with a step's expression, aggregated over a bin."""

    @abstractmethod
    def is_decided(self, values: Mapping[str, Value]) -> bool:
        """Whether each unit lies on one side of the threshold."""

    @abstractmethod
    def write_table(self, columns: Sequence[str], listed: Sequence[Sequence[str]]) -> str:
        """Return the SELECT of a small table of SQL values."""

    @property
    @abstractmethod
    def has_verdict_in_audit(self) -> bool:
        """Whether ``_audit`` has the verdict as columns, and there is no ``_problems``."""

    @abstractmethod
    def write_verdict(self, *, is_judged: bool) -> tuple[Mapping[str, str], str]:
        """Return the columns of the audit's verdict, and the join to its relation.

        If ``is_judged``, the rows ``r`` have the columns of ``_audit``'s verdict.
        """

    def write_kept_metric(self, request: Request, keys: Sequence[str]) -> MetricText | None:
        """Return the text of a metric whose values the input holds; None if it must be computed."""
        return None

    def count_key_bits(self) -> int:
        """Return the number of bits that the keys of the bins take; see `Statement`."""
        return 0


class Builder:
    """Collects the CTEs of one statement, each (file, substitutions, values) once.

    Parameters
    ----------
    relations : InputRelations
        The writer of the input.
    catalogue : Catalogue
        The catalogue of the files.
    portable : bool
        Whether to take portable files instead of twins for rows, as a curve has a row per score.
    ci : bool
        Whether to take the files with the columns that intervals need.
    """

    def __init__(
        self,
        relations: InputRelations,
        catalogue: Catalogue,
        *,
        portable: bool = False,
        ci: bool = False,
    ) -> None:
        self.relations = relations
        self.catalogue = catalogue
        self.binding = relations.binding
        self.has_intervals = portable or ci
        self.conditions = Conditions(
            self.binding, relations.plan, relations.dialect, relations.buckets,
            few_rows=relations.has_few_rows, portable=portable, ci=ci,
        )  # fmt: skip
        self.ctes: dict[str, Cte] = {}
        self.params: dict[str, Value] = {}
        self._placed: dict[object, str] = {}
        self._row_values = RowValues()
        #: The columns of each row-level step that other files read.
        self._columns_used: dict[str, set[str]] = {}

    @property
    def bins(self) -> Bins | None:
        """The score bins, where units are bins."""
        plan = self.relations.plan
        return plan if isinstance(plan, Bins) else None

    def list_conditions(self, scope: Scope) -> frozenset[str]:
        """Return the conditions of twins that hold in a scope."""
        return self.conditions.list_for(scope)

    def resolve(self, name: str, scope: Scope, *, twin: bool = True) -> Relation | None:
        """Return the file for ``name`` with the most conditions, all of which hold in the scope."""
        relation = self.catalogue.choose(name, self.list_conditions(scope), twin=twin)
        if relation is None:
            return None
        relation = write_thresholds(relation, self.conditions.thresholds)
        return compare_as_singles(relation, self.binding, scope.values)

    def list_parameters(self, scope: Scope, relation: Relation) -> Mapping[str, Param]:
        """Return the parameters of a relation and of the steps that it reads in this scope."""
        return self.catalogue.list_parameters(relation, self.list_conditions(scope))

    def keys(self, substitutions: Sequence[Substitution]) -> tuple[str, ...]:
        """Return the columns that replace ``slice``, with the keys of the substitutions."""
        return (*self.binding.keys, *list_keys(substitutions))

    def add_cte(self, name: str, sql: str, hint: str = "", comment: str = "") -> str:
        """Write a CTE called ``name``, or name_2 ... if the name is taken; return its name."""
        unique, i = name, 1
        while unique in self.ctes:
            i += 1
            unique = f"{name}_{i}"
        self.ctes[unique] = Cte(unique, sql, hint, comment)
        return unique

    def add_parameter(self, name: str, value: Value) -> str:
        """Bind ``value`` to a parameter; return its name: $name, or $name_2 if that is taken."""
        unique, i = name, 1
        while unique in self.params and self.params[unique] != value:
            i += 1
            unique = f"{name}_{i}"
        self.params[unique] = value
        return unique

    def place(self, name: str, scope: Scope = Scope()) -> str:  # noqa: B008 (immutable)
        """Write a relation unless the statement already has it; return the name of its CTE."""
        relation = self.resolve(name, scope)
        if relation is None:
            return self._place_contract(name)
        inner = scope.below(relation)
        declared = self.list_parameters(scope, relation)
        chosen = {key: scope.values.get(key, param.default) for key, param in declared.items()}
        runs = scope.runs and (name == "cutoffs" or self.catalogue.depends_on(name, "cutoffs"))
        supplies = tuple(each.supply for each in inner.substitutions)
        key = (relation.path, name, supplies, runs, tuple(sorted(chosen.items())))
        if self.bins is not None and bin_rows.is_row_level(relation):
            self._placed[key] = self._place_binned_step(relation, inner, key)
        elif key not in self._placed:
            text = self.write_file(relation, inner)
            # DuckDB would materialize a row-level step that two files read.
            hint = "NOT MATERIALIZED" if relation.reads_rows and not text.has_window else ""
            self._placed[key] = self.add_cte(name, text.sql, hint, relation.header["summary"])
        supplied = [s for s in scope.substitutions if s not in inner.substitutions]
        if any(each.reducer == "pooled" for each in supplied):
            return self._place_pooled(name, self._placed[key], inner, key)
        return self._placed[key]

    def _place_pooled(self, name: str, cte: str, inner: Scope, key: object) -> str:
        """Aggregate a mergeable step over a substitution's keys; return the name of its CTE."""
        plain = self.catalogue.files(name)[0]
        if plain.kind != "mergeable":
            return cte
        key = (key, "pooled")
        if key not in self._placed:
            sql = write_pooled(plain.query, cte, self.keys(inner.substitutions))
            self._placed[key] = self.add_cte(f"{name}_micro", sql)
        return self._placed[key]

    def _place_binned_step(self, relation: Relation, scope: Scope, key: object) -> str:
        """Write a row-level step over score bins; return the name of its CTE."""
        self._check_roles(relation, scope)
        params = {
            name: scope.values.get(name, param.default) for name, param in relation.params.items()
        }
        sql = bin_rows.write_binned_step(
            relation,
            self.keys(scope.substitutions),
            self._columns_used[relation.name],
            lambda kind, node, column: self.relations.aggregate(
                self, kind, node, bin_rows.describe_column(relation.name, column, params), params
            ),
            weighted=self.binding.is_weighted,
        )
        if key in self._placed:
            # Write it again, because this reader may need further columns.
            name = self._placed[key]
            self.ctes[name] = Cte(name, sql, "NOT MATERIALIZED", relation.header["summary"])
            return name
        return self.add_cte(relation.name, sql, "NOT MATERIALIZED", relation.header["summary"])

    def write_file(self, relation: Relation, scope: Scope) -> FileText:
        """Place the relations that a file reads, and return the file's text."""
        return write_file(relation, self._place_reads(relation, scope))

    def write_metric(self, relation: Relation, scope: Scope) -> MetricText:
        """Place the relations that a metric reads, and return the metric's text."""
        return write_metric(relation, self._place_reads(relation, scope))

    def _place_reads(self, relation: Relation, scope: Scope) -> Place:
        """Place the relations that a file reads, and return their names in the statement."""
        self._check_roles(relation, scope)
        if self.bins is not None:
            check_file_allows_bins(relation, scope.values, has_values=self.binding.has_values)
            columns = bin_rows.find_columns(relation, intervals=self.has_intervals)
            for read in relation.reads:
                self._columns_used.setdefault(read, set()).update(columns)
        tables: dict[str, str] = {}
        keys, renamed = self.keys(scope.substitutions), dict[str, str]()
        below = scope.read_by(relation)
        for read in relation.reads:
            step = self.resolve(read, below) if self.bins is None else None
            if step is not None and has_row_value(step):
                tables[read], renamed = self._place_row_values(step, below)
            else:
                tables[read] = self.place(read, below)
        for name in relation.tables:
            tables[name] = self.place_table(name, relation.params[name], scope.values)
        names = {LEVEL: LEVEL} | {
            name: self.add_parameter(name, scope.values.get(name, param.default))
            for name, param in relation.params.items()
            if param.kind != "matrix"
        }
        across = relation.header.get("across")
        if across in ("matrices", "query"):
            # The file itself aggregates over the innermost keys.
            keys = self.keys(scope.substitutions[1:])
        elif across == "model":
            if not self.binding.models:
                raise RequestError(
                    "several models are needed: score={'a': column, 'b': column} "
                    "(--score a=COLUMN --score b=COLUMN)"
                )
            keys = tuple(key for key in keys if key != self.binding.model_key)
            # Rename the key to `model`, unless a file below already has that column.
            read = (self.resolve(name, scope) for name in relation.reads)
            if not any(each and each.header.get("across") == "model" for each in read):
                renamed = {"model": self.binding.model_key}
        named = (tuple(tables.items()), tuple(names.items()), tuple(renamed.items()))
        return Place(keys, *named)

    def _place_row_values(self, step: Relation, scope: Scope) -> tuple[str, dict[str, str]]:
        """Add a column to the relation of row values; return its CTE, and the columns' names."""
        self._check_roles(step, scope)
        keys = self.keys(scope.substitutions)
        names = {
            name: self.add_parameter(name, scope.values.get(name, param.default))
            for name, param in step.params.items()
        }
        sql, renamed = self._row_values.add(step, keys, names)
        key = (ROW_VALUES, keys)
        if key not in self._placed:
            self._placed[key] = self.add_cte(ROW_VALUES, "")
        cte, comment = self._placed[key], "each row's values, of which metrics are means"
        self.ctes[cte] = Cte(cte, sql, "NOT MATERIALIZED", comment)
        return cte, renamed

    def place_table(self, name: str, param: Param, values: Mapping[str, Value]) -> str:
        """Write the relation of a matrix or series parameter; return the name of its CTE."""
        value = values.get(name, param.default)
        key = (name, value)
        if key not in self._placed:
            listed = write_param_rows(self.binding, param, value)
            sql = self.relations.write_table(param.columns.split(", "), listed)
            self._placed[key] = self.add_cte(name, sql)
        return self._placed[key]

    def _check_roles(self, relation: Relation, scope: Scope) -> None:
        if not self.relations.checks_roles:
            return
        bound = {"slice", *WEIGHTS, "class", *self.binding.role}
        bound |= {"label"} if self.binding.facts.has_labels else set()
        bound |= {"score_low", "score_high"} if self.bins else set()
        bound |= {"bucket"} if self.relations.buckets else set()
        scored = any(each.scored for each in scope.substitutions)
        bound |= {"score" if scored else "prediction"} if self.binding.classes else set()
        bound -= {*self.binding.further} if scored else set()
        needed = {each.role for each in scope.substitutions if each.role}
        for role in sorted((needed | relation.needs.get("predictions", frozenset())) - bound):
            if role == "score" and self.binding.has_several_classes:
                raise RequestError(_PER_CLASS)
            if role in self.binding.further:
                raise RequestError(f"{relation.name} of a class cannot read {name_argument(role)}=")
            has_score = self.binding.has_values and self.binding.has_score
            advice = "; give prediction= (--prediction) instead of score=" if has_score else ""
            raise RequestError(f"{name_argument(role)}= is needed and not given{advice}")

    def _place_contract(self, name: str) -> str:
        if name == "slices" and name not in self.ctes:
            self.add_cte(name, write_slices(self.binding))
        if name in CLASS_RELATIONS and name not in self.ctes:
            if not self.binding.classes:
                raise RequestError(_PER_CLASS)
            sql = CLASS_RELATIONS[name](self.binding, self.relations.buckets)
            self.add_cte(name, sql, "NOT MATERIALIZED")
        return name

    def build_statement(
        self,
        items: Mapping[str, str],
        cte: str,
        order: Sequence[str],
        *,
        is_judged: bool = False,
        hidden: Mapping[str, str] | None = None,
    ) -> Statement:
        """Return the finished statement.

        Parameters
        ----------
        items : mapping of str to str
            The columns of the result, and the SQL of each; ``r`` is the relation ``cte``.
        cte : str
            The relation of these columns.
        order : sequence of str
            The SQL expressions to sort by.
        is_judged : bool
            Whether the relation has the columns of ``_audit``'s verdict, if ``_audit`` has them.
        hidden : mapping of str to str, optional
            Further columns next to the verdict, and the SQL of each.
        """
        verdict, joins = self.relations.write_verdict(is_judged=is_judged)
        verdict = {**verdict, **(hidden or {})}
        outermost = Outermost(dict(items), verdict, f"FROM {cte} AS r{joins}", tuple(order))
        return Statement.create(
            self.ctes.values(), outermost, self.params, self.relations.count_key_bits()
        )
