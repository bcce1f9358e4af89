"""A macro for each file under ``sql/``, and the calls that make a metric of them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from sqleval.catalog.catalogue import builtin
from sqleval.catalog.contract import Relation
from sqleval.catalog.parameters import Param
from sqleval.catalog.relations import CONTRACT
from sqleval.catalog.request import Request
from sqleval.common.sql_text import Value, literal
from sqleval.compiler import requirements
from sqleval.compiler.builder import Builder, Scope
from sqleval.compiler.input_rows import RowRelations
from sqleval.compiler.reducers import Folding, write_fold
from sqleval.compiler.rewrite import FileText, bind_query, write_sql
from sqleval.compiler.substitution import Substitution
from sqleval.inputs.binding import Binding, Task

#: Before the name of every relation inside a macro, so that it hides no table of the user's.
PREFIX = "_sqleval_"
#: Arguments that a console takes for a keyword.
_KEYWORDS = frozenset({"precision"})
_CASTS = {"float": "DOUBLE", "int": "BIGINT", "series": "BIGINT", "bool": "BOOLEAN"}


class Input(NamedTuple):
    """How the rows reach a macro.

    Attributes
    ----------
    name, checks : str
        Of its parts in ``sql/console.sql``: the source; its audit and the predictions.
    task : Task
        What the metrics are asked for.
    roles : tuple of str
        The columns, in the order of the arguments.
    """

    name: str
    checks: str
    task: Task
    roles: tuple[str, ...]

    def declared(self) -> dict[str, str]:
        """Return the required arguments, and how each is declared.

        The types tell the overloads apart, so that only the names of the arguments choose.
        """
        names = ("qid" if role == "query" else role for role in self.roles)
        declared = {"tbl": "tbl VARCHAR"} | {name: name for name in names}
        if self is CLASSES:
            declared |= {"tbl": "tbl", "prediction": "prediction VARCHAR"}
        return declared


SCORES = Input("scores", "scores", "binary", ("label", "score"))
CLASSES = Input("classes", "predicted", "multiclass", ("label", "prediction"))
VALUES = Input("values", "predicted", "regression", ("label", "prediction"))
RANKED = Input("ranked", "ranked", "ranking", ("label", "score", "query"))


class Weight(NamedTuple):
    """How weights reach a macro: what the source gets, and how the argument is declared."""

    sql: str
    declared: str = ""
    default: str = ""


NO_WEIGHT = Weight("1")
GIVEN_WEIGHT = Weight("CAST(weight AS DOUBLE)", declared="weight")
ANY_WEIGHT = Weight("CAST(weight AS DOUBLE)", default="1")


def argument(name: str) -> str:
    """Return an argument's name as it is written."""
    return f'"{name}"' if name in _KEYWORDS else name


def relation_name(cte: str) -> str:
    """Return the name of a relation, as the macros take it."""
    return PREFIX + cte.lstrip("_")


class Body(Builder):
    """The relations between a macro's input and its result, each a call of a file's macro.

    Parameters
    ----------
    binding : Binding
        The roles of the macro's arguments.
    files : dict of str to str
        Takes the macros of the files that are called.
    portable : bool
        As for `Builder`.
    """

    def __init__(self, binding: Binding, files: dict[str, str], *, portable: bool = False) -> None:
        super().__init__(RowRelations(binding), builtin(), portable=portable)
        self.files = files
        #: The parameters that became arguments.
        self.used: dict[str, Param] = {}

    def write_file(self, relation: Relation, scope: Scope) -> FileText:
        """Return the text of a file: the call of its macro."""
        return FileText(write_sql(self.call_file(relation, scope)), has_window=False)

    def call_file(self, relation: Relation, scope: Scope) -> exp.Query:
        """Return the call of a file's macro, what it reads being in place."""
        self._check_roles(relation, scope)
        tables = {read: self.place(read, scope) for read in relation.reads}
        for name in relation.tables:
            tables[name] = self.place_table(name, relation.params[name], scope.values)
        self.used |= relation.params
        own = scope.substitutions[1:] if relation.header.get("across") else scope.substitutions
        keys = self.keys(own)
        suffix = "".join(f"_by_{key}" for key in keys[1:])
        macro = "_" + relation.path.name.removesuffix(".sql").replace(".", "_") + suffix
        if macro not in self.files:
            self.files[macro] = _write_macro(macro, relation, keys, self._schema(relation, scope))
        given = [literal(relation_name(cte)) for cte in tables.values()]
        given += [_value(name, param) for name, param in relation.params.items() if is_value(param)]
        call = exp.Anonymous(this=f"sqleval.{macro}", expressions=[exp.Var(this=g) for g in given])
        return exp.select("*").from_(exp.Table(this=call))

    def _schema(self, relation: Relation, scope: Scope) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the relations that a file reads, and the columns of each."""
        schema: dict[str, tuple[str, ...]] = {}
        for read in relation.reads:
            found = self.resolve(read, scope)
            columns = found.columns if found else tuple(sorted(CONTRACT[read]))
            # A twin that supplies a substitution has its keys among its own columns.
            below = scope.below(found).substitutions if found else scope.substitutions
            plain = [column for column in columns if column != "slice"]
            schema[read] = (*self.keys(below), *plain)
        for name in relation.tables:
            schema[name] = tuple(relation.params[name].columns.split(", "))
        return tuple(schema.items())

    def place_table(self, name: str, param: Param, values: Mapping[str, Value]) -> str:
        """Place the relation that an argument stands for."""
        self.used[name] = param
        if param.kind == "series":
            return self._once(name, f"SELECT UNNEST(RANGE(1, {name} + 1)) AS i")
        kind = "TINYINT" if self.binding.task == "binary" else "VARCHAR"
        casts = (f"CAST(c.cell.{key} AS {kind}) AS {key}" for key in ("label", "prediction"))
        return self._once(
            name,
            f"SELECT {', '.join(casts)}, CAST(c.cell.cost AS DOUBLE) AS cost "
            f"FROM (SELECT UNNEST({name}) AS cell) AS c",
        )

    def _once(self, name: str, sql: str) -> str:
        if name not in self.ctes:
            self.add_cte(name, sql)
        return name

    def sorts_itself(self, wanted: Request) -> bool:
        """Whether a metric has a file that ranks rows without the step ``cutoffs``."""
        scope = requirements.create_scope(wanted, self)._replace(runs=False)
        relation = self.resolve(wanted.name, scope)
        return relation is not None and "unweighted" in relation.when

    def metric(self, wanted: Request, *, twin: bool = True) -> str:
        """Place a metric, averaged where that is asked for; return its relation."""
        scope = requirements.create_scope(wanted, self)._replace(runs=False)
        relation = self.resolve(wanted.name, scope, twin=twin)
        assert relation is not None
        across = bool(relation.header.get("across"))
        folded = [s for s in scope.substitutions[across:] if s.is_folded]
        cte = wanted.name if folded or not wanted.average else f"{wanted.name}_{wanted.average}"
        cte += "" if twin else "_shared"
        if cte not in self.ctes:
            query = self.call_file(relation, scope)
            self.add_cte(cte, query.sql(dialect="duckdb", normalize_functions=False))
        if not folded:
            return cte
        (over,) = folded
        given, macro = [cte], f"_mean_over_{over.supply.keys[0]}"
        if over.reducer == "weighted mean":
            given.append(self.place(over.support))
            macro += "_weighted"
        if macro not in self.files:
            self.files[macro] = _mean(macro, self.binding.keys, over, len(given) > 1)
        tables = ", ".join(literal(relation_name(each)) for each in given)
        name = f"{cte}_{wanted.average or 'mean'}"
        return self.add_cte(name, f"SELECT * FROM sqleval.{macro}({tables})")

    def texts(self) -> list[str]:
        """Return the relations as parts of a WITH clause, under their names in a macro."""
        texts: list[str] = []
        for cte in self.ctes.values():
            tree = sqlglot.parse_one(cte.sql, dialect="duckdb")
            for node in tree.find_all(exp.Table):
                if node.name in self.ctes:
                    node.set("this", exp.to_identifier(relation_name(node.name)))
            sql = tree.sql(dialect="duckdb", normalize_functions=False).removeprefix("SELECT * ")
            texts.append(f"{relation_name(cte.name)} AS {cte.hint}{' ' if cte.hint else ''}({sql})")
        return texts


# Several macros of the script call the macro of the same file.
@lru_cache(maxsize=1024)
def _write_macro(
    macro: str,
    relation: Relation,
    keys: tuple[str, ...],
    schema: tuple[tuple[str, tuple[str, ...]], ...],
) -> str:
    """Return the macro of one file: what it reads, and its parameters, are its arguments."""
    params = {name: name for name, param in relation.params.items() if is_value(param)}
    tree = bind_query(relation.query, keys, {}, params)
    typed: dict[str, object] = {name: dict.fromkeys(columns, "DOUBLE") for name, columns in schema}
    # Every column with its table, so that no argument replaces it.
    tree = qualify(tree, dialect="duckdb", schema=typed, quote_identifiers=False)
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    for node in list(tree.walk()):
        if isinstance(node, exp.Placeholder):
            node.replace(exp.column(f"p_{node.name}"))
        elif isinstance(node, exp.Table) and node.name not in own:
            call = exp.Anonymous(this="QUERY_TABLE", expressions=[exp.column(f"r_{node.name}")])
            node.set("this", call)
    if relation.kind == "metric":
        _keep(tree, (*keys, "value", "note"))
    for node in list(tree.find_all(exp.Alias)):
        if isinstance(node.this, exp.Column) and node.this.name == node.alias:
            node.replace(node.this)
    relations = [f"r_{name}" for name in (*relation.reads, *relation.tables)]
    arguments = ", ".join([*relations, *(f"p_{name}" for name in params)])
    body = tree.sql(dialect="duckdb", pretty=True, comments=False)
    return f"CREATE OR REPLACE MACRO sqleval.{macro}({arguments}) AS TABLE\n{body}"


def is_value(param: Param) -> bool:
    """Whether a file reads a parameter as a value, and not only as a relation."""
    return param.kind != "matrix"


def _value(name: str, param: Param) -> str:
    """Return what a file is called with for a parameter of the user's."""
    if name == "threshold":
        # A decimal literal is compared with a FLOAT score as FLOAT; a DOUBLE would not be.
        return f"COALESCE(threshold, {param.default!r})"
    cast = _CASTS.get(param.kind)
    return f"CAST({argument(name)} AS {cast})" if cast else argument(name)


def _keep(tree: exp.Query, names: tuple[str, ...]) -> None:
    """Leave only these columns of a metric; a reason that is missing is NULL."""
    items = {item.alias_or_name: item for item in tree.selects}
    items.setdefault("note", exp.alias_(exp.cast(exp.null(), "VARCHAR"), "note"))
    tree.set("expressions", [items[name] for name in names])


def _mean(macro: str, keys: tuple[str, ...], over: Substitution, weighted: bool) -> str:
    """Return the macro that takes the mean of a metric over a substitution's keys."""
    columns = {"value": "value", "note": "note"}
    support = "QUERY_TABLE(r_support)" if weighted else None
    sql, _ = write_fold(Folding(over, keys, "QUERY_TABLE(r_values)", columns, support))
    arguments = "r_values, r_support" if weighted else "r_values"
    return f"CREATE OR REPLACE MACRO sqleval.{macro}({arguments}) AS TABLE\n{sql}"
