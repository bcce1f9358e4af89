"""Writes a macro for each SQL file, and the calls of these macros that compute a metric."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from sqleval.binding.binding import Binding, Task
from sqleval.catalog.catalogue import builtin
from sqleval.catalog.contract import Relation
from sqleval.catalog.parameters import Param
from sqleval.catalog.relations import list_contract_columns
from sqleval.catalog.request import Request
from sqleval.catalog.roles import name_argument
from sqleval.common.sql_text import Value, write_literal
from sqleval.compiler import requirements
from sqleval.compiler.builder import Builder
from sqleval.compiler.input_rows import RowRelations
from sqleval.compiler.reducers import Folding, write_fold
from sqleval.compiler.rewrite import FileText, bind_query
from sqleval.compiler.scope import Scope
from sqleval.compiler.substitution import Substitution

#: Prefix of every relation inside a macro, so that it does not hide a table of the user.
PREFIX = "_sqleval_"
#: Start of a relation that calls a macro.
_CALL = "SELECT * FROM sqleval."
#: Arguments whose names are keywords of a console.
_KEYWORDS = frozenset({"precision"})
_CASTS = {"float": "DOUBLE", "int": "BIGINT", "series": "BIGINT", "bool": "BOOLEAN"}


class InputForm(NamedTuple):
    """The form of a macro's input: scores, classes, values or a ranking.

    Attributes
    ----------
    name, checks : str
        The names of its macros in ``sql/console.sql``: ``name`` for the source, ``checks`` for
        the audit and the predictions.
    task : Task
        The task of its metrics.
    roles : tuple of str
        The roles of its columns, in the order of the arguments.
    """

    name: str
    checks: str
    task: Task
    roles: tuple[str, ...]

    def declare_arguments(self) -> dict[str, str]:
        """Return the declaration of each required argument, by name.

        The declared types differ between the forms, so that only the names of the arguments
        decide which overload is called.
        """
        names = map(name_argument, self.roles)
        declarations = {"tbl": "tbl VARCHAR"} | {name: name for name in names}
        if self is CLASSES:
            declarations |= {"tbl": "tbl", "prediction": "prediction VARCHAR"}
        return declarations


SCORES = InputForm("scores", "scores", "binary", ("label", "score"))
CLASSES = InputForm("classes", "predicted", "multiclass", ("label", "prediction"))
VALUES = InputForm("values", "predicted", "regression", ("label", "prediction"))
RANKED = InputForm("ranked", "ranked", "ranking", ("label", "score", "query"))


class Weight(NamedTuple):
    """The weights of a macro: their SQL, the declaration of the argument, and its default."""

    sql: str
    declaration: str = ""
    default: str = ""


NO_WEIGHT = Weight("1")
GIVEN_WEIGHT = Weight("CAST(weight AS DOUBLE)", declaration="weight")
ANY_WEIGHT = Weight("CAST(weight AS DOUBLE)", default="1")


def quote_argument(name: str) -> str:
    """Return the name of an argument, quoted if it is a keyword."""
    return f'"{name}"' if name in _KEYWORDS else name


def name_relation(cte: str) -> str:
    """Return the name of a relation inside a macro."""
    return PREFIX + cte.lstrip("_")


class Body(Builder):
    """The relations between a macro's input and its result; each calls the macro of a file.

    Parameters
    ----------
    binding : Binding
        The roles of the macro's arguments.
    files : dict of str to str
        The macros of the files that are called are added here, by name.
    portable : bool
        As for `Builder`.
    """

    def __init__(self, binding: Binding, files: dict[str, str], *, portable: bool = False) -> None:
        super().__init__(RowRelations(binding), builtin(), portable=portable)
        self.files = files
        #: The parameters of the files, which are arguments of the macro.
        self.arguments: dict[str, Param] = {}

    def write_file(self, relation: Relation, scope: Scope) -> FileText:
        """Return the text of a file: the call of its macro."""
        return FileText(self.call_file(relation, scope), has_window=False)

    def call_file(self, relation: Relation, scope: Scope) -> str:
        """Return the call of a file's macro, after placing the relations that it reads."""
        self._check_roles(relation, scope)
        tables = {read: self.place(read, scope) for read in relation.reads}
        for name in relation.tables:
            tables[name] = self.place_table(name, relation.params[name], scope.values)
        for each, param in relation.params.items():
            earlier = self.arguments.setdefault(each, param)
            if earlier.default != param.default:
                # Each file applies its own default if the argument is NULL.
                self.arguments[each] = replace(earlier, default=None)
        across = bool(relation.header.get("across"))
        keys = self.keys(scope.substitutions[across:])
        suffix = "".join(f"_by_{key}" for key in keys[1:])
        conditions = "".join(f"_{word}" for word in relation.path.name.split(".")[1:-1])
        macro = f"_{relation.name}{conditions}{suffix}"
        if macro not in self.files:
            self.files[macro] = _write_macro(
                macro, relation, keys, self._list_columns_read(relation, scope)
            )
        arguments = [write_literal(name_relation(cte)) for cte in tables.values()]
        arguments += [
            _write_value(name, param) for name, param in relation.params.items() if is_value(param)
        ]
        return f"{_CALL}{macro}({', '.join(arguments)})"

    def _list_columns_read(
        self, relation: Relation, scope: Scope
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the relations that a file reads, with the columns of each."""
        schema: dict[str, tuple[str, ...]] = {}
        for read in relation.reads:
            file = self.resolve(read, scope)
            columns = file.columns if file else tuple(sorted(list_contract_columns(read)))
            # A twin that supplies a substitution has the substitution's keys among its columns.
            below = scope.below(file).substitutions if file else scope.substitutions
            plain = [column for column in columns if column != "slice"]
            schema[read] = (*self.keys(below), *plain)
        for name in relation.tables:
            schema[name] = tuple(relation.params[name].columns.split(", "))
        return tuple(schema.items())

    def place_table(self, name: str, param: Param, values: Mapping[str, Value]) -> str:
        """Place the relation that an argument supplies."""
        self.arguments[name] = param
        if param.kind == "series":
            return self._add_once(name, f"SELECT UNNEST(RANGE(1, {name} + 1)) AS i")
        kind = "TINYINT" if self.binding.has_two_classes else "VARCHAR"
        casts = (f"CAST(c.cell.{key} AS {kind}) AS {key}" for key in ("label", "prediction"))
        return self._add_once(
            name,
            f"SELECT {', '.join(casts)}, CAST(c.cell.cost AS DOUBLE) AS cost "
            f"FROM (SELECT UNNEST({name}) AS cell) AS c",
        )

    def _add_once(self, name: str, sql: str) -> str:
        if name not in self.ctes:
            self.add_cte(name, sql)
        return name

    def has_own_sort(self, metric: Request) -> bool:
        """Return whether a metric has a file that ranks rows without the step ``cutoffs``."""
        scope = requirements.create_scope(metric, self)._replace(runs=False)
        relation = self.resolve(metric.name, scope)
        return relation is not None and "unweighted" in relation.when

    def place_metric(self, metric: Request, *, twin: bool = True) -> str:
        """Place a metric, with its average; return the name of its relation."""
        scope = requirements.create_scope(metric, self)._replace(runs=False)
        relation = self.resolve(metric.name, scope, twin=twin)
        assert relation is not None
        across = bool(relation.header.get("across"))
        folded = [s for s in scope.substitutions[across:] if s.is_folded]
        cte = metric.name if folded or not metric.average else f"{metric.name}_{metric.average}"
        cte += "" if twin else "_shared"
        if cte not in self.ctes:
            self.add_cte(cte, self.call_file(relation, scope))
        if not folded:
            return cte
        (over,) = folded
        relations, macro = [cte], f"_mean_over_{over.supply.keys[0]}"
        if over.reducer == "weighted mean":
            relations.append(self.place(over.support))
            macro += "_weighted"
        if macro not in self.files:
            is_weighted = len(relations) > 1
            self.files[macro] = _write_mean(macro, self.binding.keys, over, is_weighted)
        tables = ", ".join(write_literal(name_relation(each)) for each in relations)
        name = f"{cte}_{metric.average or 'mean'}"
        return self.add_cte(name, f"{_CALL}{macro}({tables})")

    def write_ctes(self) -> list[str]:
        """Return the relations as parts of a WITH clause, with their names inside a macro."""
        texts: list[str] = []
        for cte in self.ctes.values():
            is_call = cte.sql.startswith(_CALL)  # a call already has the names used in a macro
            sql = cte.sql if is_call else self._rename_relations(cte.sql)
            sql = sql.removeprefix("SELECT * ")
            texts.append(f"{name_relation(cte.name)} AS {cte.hint}{' ' if cte.hint else ''}({sql})")
        return texts

    def _rename_relations(self, sql: str) -> str:
        """Return a query whose relations have their names inside a macro."""
        tree = sqlglot.parse_one(sql, dialect="duckdb")
        for node in tree.find_all(exp.Table):
            if node.name in self.ctes:
                node.set("this", exp.to_identifier(name_relation(node.name)))
        return tree.sql(dialect="duckdb", normalize_functions=False)


# Cached because several macros of the script call the macro of the same file.
@lru_cache(maxsize=1024)
def _write_macro(
    macro: str,
    relation: Relation,
    keys: tuple[str, ...],
    schema: tuple[tuple[str, tuple[str, ...]], ...],
) -> str:
    """Return the macro of a file; its arguments are the file's relations and parameters."""
    params = {name: name for name, param in relation.params.items() if is_value(param)}
    tree = bind_query(relation.query, keys, {}, params)
    types: dict[str, object] = {name: dict.fromkeys(columns, "DOUBLE") for name, columns in schema}
    # Every column gets its table, because DuckDB replaces a bare column named like an argument.
    tree = qualify(tree, dialect="duckdb", schema=types, quote_identifiers=False)
    ctes = {cte.alias for cte in tree.find_all(exp.CTE)}
    for node in list(tree.walk()):
        if isinstance(node, exp.Placeholder):
            node.replace(exp.column(f"p_{node.name}"))
        elif isinstance(node, exp.Table) and node.name not in ctes:
            call = exp.Anonymous(this="QUERY_TABLE", expressions=[exp.column(f"r_{node.name}")])
            node.set("this", call)
    if relation.kind == "metric":
        _keep_columns(tree, (*keys, "value", "note"))
    for node in list(tree.find_all(exp.Alias)):
        if isinstance(node.this, exp.Column) and node.this.name == node.alias:
            node.replace(node.this)
    relations = [f"r_{name}" for name in (*relation.reads, *relation.tables)]
    arguments = ", ".join([*relations, *(f"p_{name}" for name in params)])
    body = tree.sql(dialect="duckdb", pretty=True, comments=False)
    return f"CREATE OR REPLACE MACRO sqleval.{macro}({arguments}) AS TABLE\n{body}"


def is_value(param: Param) -> bool:
    """Return whether a file reads a parameter as a value, not only as a relation."""
    return param.kind != "matrix"


def _write_value(name: str, param: Param) -> str:
    """Return the value of a parameter in the call of a file's macro."""
    if name == "threshold":
        # DuckDB compares a FLOAT score with a decimal literal as FLOAT, with a DOUBLE as DOUBLE.
        return f"COALESCE(threshold, {param.default!r})"
    cast = _CASTS.get(param.kind)
    value = f"CAST({quote_argument(name)} AS {cast})" if cast else quote_argument(name)
    is_shared = param.kind == "int" and param.default is not None
    return f"COALESCE({value}, {param.default!r})" if is_shared else value


def _keep_columns(tree: exp.Query, names: tuple[str, ...]) -> None:
    """Keep only these columns of a metric; a missing column ``note`` becomes NULL."""
    items = {item.alias_or_name: item for item in tree.selects}
    items.setdefault("note", exp.alias_(exp.cast(exp.null(), "VARCHAR"), "note"))
    tree.set("expressions", [items[name] for name in names])


def _write_mean(macro: str, keys: tuple[str, ...], over: Substitution, is_weighted: bool) -> str:
    """Return the macro of the mean of a metric over the keys of a substitution."""
    columns = {"value": "value", "note": "note"}
    support = "QUERY_TABLE(r_support)" if is_weighted else None
    sql, _ = write_fold(Folding(over, keys, "QUERY_TABLE(r_values)", columns, support))
    arguments = "r_values, r_support" if is_weighted else "r_values"
    return f"CREATE OR REPLACE MACRO sqleval.{macro}({arguments}) AS TABLE\n{sql}"
