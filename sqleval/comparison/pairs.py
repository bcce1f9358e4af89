"""Writes and runs statements over the rows of two models, whose sums the tests need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import polars as pl
from sqlglot import exp

from sqleval.binding.binding import Binding
from sqleval.catalog.catalogue import builtin
from sqleval.catalog.contract import Relation
from sqleval.catalog.request import Request
from sqleval.common.columns import Column
from sqleval.common.sql_text import Value, select, write_literal, write_with
from sqleval.compiler import rows, singles
from sqleval.compiler.bin_rows import is_row_level, read_expressions
from sqleval.compiler.buckets import Buckets, write_bucket
from sqleval.compiler.classes import write_class, write_predicted_class
from sqleval.compiler.late_labels import write_rows_only
from sqleval.compiler.model_rows import write_all_present
from sqleval.compiler.queries import NAME, write_query_values
from sqleval.compiler.requirements import collect_values
from sqleval.compiler.rewrite import bind_query, write_sql
from sqleval.resampling.cells import Input, write_rows
from sqleval.resampling.values import find_threshold, replace_models


class QueryPairs(NamedTuple):
    """The values of models by query.

    Attributes
    ----------
    ctes : dict of str to str
        The CTEs. The last one, ``_usable_rows``, has a row per query.
    params : mapping of str to value
        The parameters of the CTEs.
    columns : dict of str to str
        By model, the column of ``_usable_rows`` with the model's values.
    """

    ctes: dict[str, str]
    params: Mapping[str, Value]
    columns: dict[str | None, str]


class Pairs(NamedTuple):
    """Models whose rows are compared with those of a baseline.

    Attributes
    ----------
    data : Input
        The input, with several models.
    baseline : str
        The model that the others are compared with.
    names : tuple of str
        The models.
    """

    data: Input
    baseline: str
    names: tuple[str, ...]

    @property
    def joint(self) -> Binding:
        """The binding whose rows hold all models' scores as columns, without the key ``model``."""
        binding = self.data.binding
        if not binding.models:
            return replace(binding, by=binding.by[:-1])
        return replace_models(binding)

    @property
    def models(self) -> Mapping[str, Mapping[str, Column]]:
        """By model, the user's columns under their names within a statement."""
        return self._name_columns()[0]

    def _name_columns(self) -> tuple[dict[str, dict[str, Column]], dict[str, str]]:
        """Return each model's columns, and the name of its prediction beside scores."""
        binding = self.data.binding
        named = (f"score_{i}" for i, _ in enumerate(binding.mapped_columns, start=1))
        columns = {
            model: dict(zip(islice(named, len(columns)), columns, strict=True))
            for model, columns in binding.models
        }
        return columns, dict(zip(columns, named, strict=False))

    def write_decision(self, request: Request, model: str) -> str:
        """Return the SQL of a model's prediction, from its column or its scores."""
        binding = self.data.binding
        threshold = find_threshold(binding, request)
        scores, predictions = self._name_columns()
        if binding.predictions:
            return _write_prediction(binding, predictions[model], binding.role["prediction"])
        if binding.classes:
            return write_predicted_class(binding, list(scores[model]))
        ((name, column),) = scores[model].items()
        if binding.model_role == "prediction":
            return _write_prediction(binding, name, column)
        if threshold is None:
            of_models = dict(zip(scores, binding.thresholds, strict=True))
            return singles.write_decision_of_model(name, column, of_models[model])
        return singles.write_decision(binding, name, threshold)

    def run(
        self, name: str, items: Mapping[str, Mapping[str, str]], queries: QueryPairs | None = None
    ) -> pl.DataFrame:
        """Run a file of `sql/base` per slice and model; slice keys have their reserved names.

        Parameters
        ----------
        name : str
            The file.
        items : mapping of str to mapping of str to str
            The columns of ``pairs`` (or ``losses``) per model, as SQL over the rows; ``weight`` is
            added.
        queries : QueryPairs, optional
            For a metric of a ranking, the values of queries, which replace the rows.
        """
        joint = self.joint
        joint_input = replace_input(self.data, joint)
        # Partitioning by a single model would make the statement half as slow again.
        is_one = len(items) == 1
        keys = joint.keys if is_one else (*joint.keys, "model")
        home = "losses" if _reads_losses(name) else "pairs"
        buckets = None
        if self.data.fit_buckets is not None and "baseline_score" in next(iter(items.values())):
            buckets = self.data.fit_buckets()
        weight, where = "1", ""
        if joint.is_weighted and queries is None:
            weight, where = "CAST(weight AS DOUBLE)", "\nWHERE weight > 0"
        parts = [
            select(
                {key: key for key in joint.keys}
                | ({} if is_one else {"model": write_literal(model)})
                | dict(columns)
                | _write_buckets(columns, buckets)
                | {"weight": weight},
                f"FROM _usable_rows{where}",
            )
            for model, columns in items.items()
        ]
        ctes = write_rows(joint, None) if queries is None else {**queries.ctes}
        ctes[home] = "\nUNION ALL\n".join(parts)
        steps = {
            step: write_sql(bind_query(relation.query, keys, {}, {}))
            for step, relation in _list_steps(name, _list_conditions(buckets)).items()
        }
        query = steps.pop(name)
        ctes |= steps
        params = None if queries is None else queries.params
        frame = joint_input.run(write_with(ctes, query), params)
        if is_one:
            frame = frame.with_columns(model=pl.lit(next(iter(items))))
        return frame

    def count_rows(self) -> pl.DataFrame:
        """Return the number of rows per slice as the audit does, including missing values."""
        joint = self.joint
        ctes = write_rows(joint, None)
        size = "COUNT(*)"
        if joint.has_counts:
            size = f"CAST(COALESCE(SUM({rows.write_row_count(joint)}), 0) AS BIGINT)"
        items = {key: key for key in joint.keys} | {"_rows": size}
        # A label that matches no row does not count as a row.
        where = write_rows_only(joint)
        group = f"\nGROUP BY {', '.join(joint.keys)}" if joint.keys else ""
        counted = write_with(ctes, select(items, f"FROM _source{where}{group}"))
        return replace_input(self.data, joint).run(counted)

    def rename_keys(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rename the slice keys of a result to their reserved names.

        A key of the user's may be called like a column of a comparison.
        """
        return frame.rename(dict(zip(self.joint.key_names, self.joint.keys, strict=True)))

    def list_scores(self) -> dict[str, dict[str, str]]:
        """Return label, score and the baseline's score, per model."""
        label = rows.write_zero_or_one(self.data.binding, "label")
        (baseline_score,) = self.models[self.baseline]
        return {
            model: {"label": label, "score": name, "baseline_score": baseline_score}
            for model, (name,) in self.models.items()
            if model != self.baseline
        }

    def list_decisions(self, request: Request) -> dict[str, dict[str, str]]:
        """Return label, prediction and the baseline's prediction, per model."""
        label = write_label(self.data.binding)
        baseline_prediction = self.write_decision(request, self.baseline)
        return {
            model: {
                "label": label,
                "prediction": self.write_decision(request, model),
                "baseline_prediction": baseline_prediction,
            }
            for model in self.models
            if model != self.baseline
        }

    def list_losses(self, request: Request) -> dict[str, dict[str, str]]:
        """Return the loss of a row and the baseline's loss, per model."""
        (baseline_score,) = self.models[self.baseline]
        baseline_loss = self._write_loss(request, baseline_score)
        return {
            model: {"loss": self._write_loss(request, name), "baseline_loss": baseline_loss}
            for model, (name,) in self.models.items()
            if model != self.baseline
        }

    def write_queries(self, request: Request) -> QueryPairs:
        """Return a ranking's metric by query, for queries in which every model has a value."""
        binding, cluster = self.data.binding, self.data.cluster
        values = write_query_values(binding, [request], write_presence(binding), cluster)
        (value,) = values.columns.values()
        if request.zero_division is not None:
            value = f"COALESCE({value}, {request.zero_division:e})"
        columns: dict[str | None, str] = {
            model: f"value_of_{i}" for i, model in enumerate(self.models, start=1)
        }
        keys = [key for key in values.keys if key != binding.model_key]
        named = dict(zip(keys, [*self.joint.keys, *keys[len(self.joint.keys) :]], strict=True))
        items = {named[key]: key for key in keys}
        groups = [*keys, "query"]
        if cluster is not None:
            items["cluster"] = "cluster"
            groups.append("cluster")
        items |= {
            column: f"MAX(CASE WHEN {binding.model_key} = {write_literal(str(model))} "
            f"THEN {value} END)"
            for model, column in columns.items()
        }
        source = f"FROM {NAME}\nWHERE _usable\nGROUP BY {', '.join(groups)}"
        having = f"\nHAVING COUNT({value}) = {len(columns)}"
        ctes = {**values.ctes, "_usable_rows": select(items, source + having)}
        return QueryPairs(ctes, values.params, columns)

    def list_query_losses(self, queries: QueryPairs) -> dict[str, dict[str, str]]:
        """Return the value of a query and the baseline's value, per model."""
        baseline = queries.columns[self.baseline]
        return {
            str(model): {"loss": column, "baseline_loss": baseline}
            for model, column in queries.columns.items()
            if model != self.baseline
        }

    def _write_loss(self, request: Request, name: str) -> str:
        """Return the SQL of a row's loss, from the score or prediction in this column."""
        step = find_loss_step(request)
        assert step is not None
        relation, column = step
        binding = self.data.binding
        values = {key: param.default for key, param in relation.params.items()}
        values |= collect_values(binding, request)

        def replace_node(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Placeholder):
                return exp.convert(values[node.name])
            if isinstance(node, exp.Column) and node.name in ("score", "prediction", "value"):
                return exp.column(name)
            if isinstance(node, exp.Column) and node.name == "label":
                return exp.maybe_parse(f"({write_label(binding)})", dialect="duckdb")
            if isinstance(node, exp.Column) and node.name in binding.further:
                sql = rows.write_further(binding, node.name)
                return exp.maybe_parse(f"({sql})", dialect="duckdb")
            return node

        return write_sql(read_expressions(relation.query)[column].copy().transform(replace_node))


def _list_conditions(buckets: Buckets | None) -> frozenset[str]:
    """Return the conditions of twins that hold with these ranges of scores."""
    if buckets is None:
        return frozenset()
    return frozenset({"bucketed"} if buckets.has_ties else {"bucketed", "rows"})


def _list_steps(name: str, conditions: frozenset[str]) -> dict[str, Relation]:
    """Return a file of `sql/base` and those below it, each after the files that it reads."""
    files = [file for file in builtin().files(name) if file.when <= conditions]
    relation = max(files, key=lambda file: len(file.when))
    steps: dict[str, Relation] = {}
    for read in relation.reads:
        if read not in ("pairs", "losses"):
            steps |= _list_steps(read, conditions)
    return {**steps, name: relation}


def _reads_losses(name: str) -> bool:
    steps = _list_steps(name, frozenset()).values()
    return any("losses" in relation.reads for relation in steps)


def _write_buckets(columns: Mapping[str, str], buckets: Buckets | None) -> dict[str, str]:
    """Return the ranges of both scores as columns of ``pairs``; none without ranges."""
    if buckets is None:
        return {}
    scores = {"bucket": "score", "baseline_bucket": "baseline_score"}
    return {name: write_bucket(columns[score], buckets) for name, score in scores.items()}


def write_presence(binding: Binding, folds: Sequence[Column] = ()) -> str | None:
    """Return the condition that every model has a value; None unless other rows are dropped.

    With ``folds``, the columns of ``over=``, every row must have a fold as well.
    """
    if binding.nulls != "drop" or not binding.models:
        return None
    return write_all_present(binding, folds)


def replace_input(data: Input, binding: Binding) -> Input:
    """Return an input with another binding of the same source."""
    return data._replace(binding=binding)


def find_loss_step(request: Request) -> tuple[Relation, str] | None:
    """Return the step and column of which a metric is the mean; None if it is no such mean."""
    relation = request.relation
    if len(relation.reads) != 1 or "stderr" not in relation.columns:
        return None
    step = request.catalogue.portable(relation.reads[0])
    if step is None or not is_row_level(step):
        return None
    (value,) = (item for item in relation.query.selects if item.alias_or_name == "value")
    means = set(step.header.get("means") or ())
    used = {column.name for column in value.find_all(exp.Column)} & means
    ratio = value.unalias()
    if isinstance(ratio, exp.Case):
        ratio = ratio.args["ifs"][0].args["true"]  # the mean is NULL if a row has no value
    # A ratio of two other sums, such as PCOC, is no mean: a test would be on the numerator's scale.
    is_mean = isinstance(ratio, exp.Div) and _is_sum_of_weights(ratio.expression)
    return (step, used.pop()) if is_mean and len(used) == 1 else None


def _is_sum_of_weights(node: exp.Expr) -> bool:
    if isinstance(node, exp.Nullif):
        node = node.this
    if isinstance(node, exp.Case):  # WHEN $normalize: without it a metric is a sum, and refused
        node = node.args["ifs"][0].args["true"]
    return isinstance(node, exp.Sum) and isinstance(node.this, exp.Column)


def write_label(binding: Binding) -> str:
    """Return the SQL of a row's label as metrics read it; without labels, 1 is right."""
    if not binding.facts.has_labels:
        return "1"
    if binding.has_two_classes:
        return rows.write_zero_or_one(binding, "label")
    if binding.has_several_classes:
        return write_class(binding.role["label"], "label")
    return "CAST(label AS DOUBLE)"


def _write_prediction(binding: Binding, name: str, column: Column) -> str:
    """Return the SQL of a prediction, in the form of the task, from a column of predictions."""
    if binding.has_several_classes:
        return write_class(column, name)
    if not binding.facts.has_labels:
        return f"CAST({name} AS DOUBLE)"
    if binding.positive is not None:
        test = f"{name} = {rows.write_positive(binding, 'label')}"
    else:
        test = name if column.kind == "boolean" else f"{name} = 1"
    return f"CASE WHEN {test} THEN 1 ELSE 0 END"
