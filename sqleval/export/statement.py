"""The metrics as one statement to paste into a worksheet, of whichever engine."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from sqleval.catalog import request
from sqleval.catalog.catalogue import builtin
from sqleval.catalog.request import Request
from sqleval.common.columns import Column
from sqleval.common.names import nearest
from sqleval.common.sql_text import Scalar, literal, quote, scalar, select
from sqleval.compiler.builder import Builder
from sqleval.compiler.curve import place_curve
from sqleval.compiler.input_rows import RowRelations
from sqleval.compiler.metrics import place_metrics
from sqleval.compiler.rows import likeliest
from sqleval.errors import RequestError
from sqleval.export import dialects
from sqleval.inputs.binding import Binding, Task

#: The largest DOUBLE: the one test for numbers, neither NaN nor infinite, that all engines share.
_LARGEST = "1.7976931348623157e308"


class _TextRelations(RowRelations):
    """A table whose columns' types are not known, in SQL that every engine knows."""

    has_intervals = False

    def place(self, builder: Builder, predicate: str | None) -> None:
        """Write the source, a place for its audit, and ``predictions``."""
        binding = self.binding
        keys = {key: _own(column) for key, column in zip(binding.keys, binding.by, strict=False)}
        models = binding.models or ((None, None),)
        selects: list[str] = []
        for model, column in models:
            items = dict(keys)
            if model is not None and column is not None:
                items[binding.model_key] = literal(model)
            for role, bound in binding.role.items():
                own = column if column is not None and role == binding.model_role else bound
                items[role] = self._cast(role, _own(own))
            for i, (_, own) in enumerate(binding.classes, start=1):
                items[f"score_{i}"] = f"CAST({_own(own)} AS DOUBLE)"
            selects.append(select(items, "FROM _input AS s"))
        builder.add_cte("_source", "\nUNION ALL\n".join(selects))
        builder.add_cte("_audit", "")
        items = {n: n for n in dict.fromkeys([*binding.keys, *binding.role, *self._scores])}
        # Sums of INT would overflow in engines that keep them INT.
        items.setdefault("weight", "CAST(1 AS BIGINT)")
        if binding.classes and "prediction" not in items:
            items["prediction"] = likeliest(binding)
        builder.add_cte("predictions", select(items, f"FROM _source\nWHERE {self._usable()}"))

    @property
    def _scores(self) -> list[str]:
        """The names of the scores, one or one a class."""
        classes = [f"score_{i}" for i, _ in enumerate(self.binding.classes, start=1)]
        return classes or (["score"] if "score" in self.binding.role else [])

    def _cast(self, role: str, column: str) -> str:
        task = self.binding.task
        if task == "binary" and role in ("label", "prediction"):
            positive = self.binding.positive
            if positive is None:
                return f"CASE WHEN {column} = 1 THEN 1 WHEN {column} = 0 THEN 0 END"
            test = f"{column} = {scalar(positive)}"
            return f"CASE WHEN {test} THEN 1 WHEN {column} IS NOT NULL THEN 0 END"
        text = role == "query" or (task == "multiclass" and role in ("label", "prediction"))
        return column if text else f"CAST({column} AS DOUBLE)"

    def _usable(self) -> str:
        numbers = set(self._scores)
        if self.binding.task in ("regression", "ranking"):
            numbers |= {"label", "prediction"}
        tests = [
            f"ABS({name}) <= {_LARGEST}" if name in numbers else f"{name} IS NOT NULL"
            for name in dict.fromkeys([*self.binding.role, *self._scores])
            if name != "weight"
        ]
        if self.binding.weighted:
            tests.append(f"weight BETWEEN 0 AND {_LARGEST}")
        return "\n  AND ".join(tests)

    def place_audit(
        self, builder: Builder, needing: Sequence[str], defaulted: Sequence[str], guarded: bool
    ) -> bool:
        """Write the audit: rows, usable rows and, where a metric minds, scores outside 0 .. 1."""

        def count(test: str) -> str:
            return f"COALESCE(SUM(CASE WHEN {test} THEN 1 ELSE 0 END), 0)"

        items = {key: key for key in self.binding.keys}
        items |= {"_rows": "COUNT(*)", "_used": count(self._usable())}
        if guarded:
            outside = " OR ".join(f"{score} < 0 OR {score} > 1" for score in self._scores)
            items["_outside"] = count(outside)
            total = {"score_outside": "SUM(_outside)"}
            builder.add_cte("_problems", select(total, "FROM _audit"))
        group = "\nGROUP BY " + ", ".join(self.binding.keys) if self.binding.keys else ""
        sql = select(items, f"FROM _source{group}")
        builder.ctes["_audit"] = builder.ctes["_audit"]._replace(sql=sql)
        return guarded

    def table(self, columns: Sequence[str], listed: Sequence[Sequence[str]]) -> str:
        """Return a small table of SQL values as a SELECT a row, which needs no VALUES."""
        return "\nUNION ALL\n".join(
            select(dict(zip(columns, row, strict=True)), "") for row in listed
        )

    def verdict(self, *, has_domain: bool) -> tuple[Mapping[str, str], str]:
        """Return no column: what a statement cannot raise it leaves out and counts."""
        return {}, "\nCROSS JOIN _problems AS p" if has_domain else ""


def _own(column: Column) -> str:
    return f"s.{quote(column.name)}"


def _left_out(binding: Binding) -> str:
    """Return which rows a statement leaves out, in words."""
    numbers = binding.task in ("regression", "ranking")
    label = "whose label is not 0 or 1" if binding.task == "binary" else "without a label"
    label = "without a label" if binding.positive is not None else label
    words = ["whose label is not a finite number" if numbers else label]
    if binding.has_score:
        words.append("whose score is not a finite number")
    if "prediction" in binding.role:
        words.append("without a prediction")
    if "query" in binding.role:
        words.append("without a query")
    if binding.weighted:
        words.append("whose weight is not 0 or more")
    return " or ".join(words)


def _comment(requests: Sequence[Request], binding: Binding) -> str:
    lines: list[str] = []
    for each in requests:
        header = each.relation.header
        lines.append(f"{request.format_request(each)}: {' '.join(str(header['summary']).split())}")
        if header.get("formula"):
            lines.append(f"  {' '.join(str(header['formula']).split())}")
    lines.append(f"Rows {_left_out(binding)} are left out and counted in n_dropped.")
    return "".join(f"-- {line}\n" for line in lines)


def _task(metrics: Sequence[str], given: Mapping[str, object]) -> Task:
    """Return the task that the metrics are for, where it is not given."""
    names = [request.find_name(text) for text in metrics]
    tasks = {builtin().get(name).task for name in names if name in builtin().names}
    averaged = any(
        re.search(r"\b(average|multi_class)\s*=|_(macro|micro|weighted)$", m) for m in metrics
    )
    if "regression" in tasks:
        return "regression"
    if "ranking" in tasks or given["query"] is not None:
        return "ranking"
    if averaged or "several classes" in tasks:
        return "multiclass"
    return "multiclass" if given["score"] is None and tasks == {"classes"} else "binary"


def _classes(names: Iterable[str]) -> list[Scalar]:
    """Return the classes that names of scores stand for: whole numbers if all are."""
    texts = list(names)
    if all(re.fullmatch(r"-?\d+", text) for text in texts):
        return [int(text) for text in texts]
    return list(texts)


def _positive(text: str | None) -> Scalar | None:
    """Return the positive value as SQL would read it: a truth value, a number or a text."""
    if text is None:
        return None
    try:
        return json.loads(text.lower() if text.lower() in ("true", "false") else text)
    except ValueError:
        return text.strip("'")


def text(
    metrics: Sequence[str],
    dialect: str,
    table: str,
    *,
    label: str,
    score: str | Mapping[str, str] | None = None,
    prediction: str | None = None,
    weight: str | None = None,
    qid: str | None = None,
    by: Sequence[str] = (),
    positive: str | None = None,
    threshold: float | None = None,
    task: Task | None = None,
) -> str:
    """Return metrics (or one curve) as one statement in a dialect, ready to paste.

    The rows of its result are those of `Predictions.evaluate`: the keys, ``metric``,
    ``value``, ``n``, ``n_dropped`` and ``note``. What a statement cannot raise it leaves out
    and counts in ``n_dropped``: a missing value, a label that is neither 0 nor 1.

    Parameters
    ----------
    metrics : sequence of str
        Names, with parameters where wanted: ``"f_beta(beta=2)"``.
    dialect : str
        One of `sqleval.export.dialects.DIALECTS`.
    table : str
        The table's name as the dialect has it: ``db.schema.preds``.
    label, score, prediction, weight, qid : str
        Names of columns. ``score`` may map models, or with ``task="multiclass"`` classes, to
        columns.
    by : sequence of str
        The slice keys.
    positive : str, optional
        The positive value of the label; ``true`` for a column of truth values.
    threshold : float, optional
        Positive when the score is this or more; 0.5.
    task : str, optional
        Follows from the metrics if left out.

    Raises
    ------
    RequestError
        For an unknown dialect or metric, a role that is missing, or what the dialect cannot say.

    Examples
    --------
    >>> from sqleval.export.statement import text
    >>> print(text(["precision"], "spark", "lake.preds", label="y", score="p")[:32])
    -- precision: share of predicted
    """
    known = dialects.DIALECTS
    if dialect not in known:
        raise RequestError(f"no dialect {dialect!r}{nearest(dialect, known)} ({', '.join(known)})")
    given = {"label": label, "score": score, "prediction": prediction, "query": qid}
    task = task or _task(metrics, given)
    named = {"weight": weight, **given}
    names = {name: dialects.identifier(name, dialect) for name in _named(named.values(), by)}

    def column(name: str) -> Column:
        return Column(name, "DOUBLE" if task != "multiclass" else "VARCHAR")

    several = dict(score) if isinstance(score, Mapping) else {}
    classes = _classes(several) if task == "multiclass" else []
    models = () if classes else tuple((name, column(c)) for name, c in several.items())
    binding = Binding(
        relation="_input",
        task=task,
        roles=tuple((r, column(c)) for r, c in named.items() if isinstance(c, str)),
        by=tuple(column(name) for name in by),
        models=models,
        classes=tuple(zip(classes, map(column, several.values()), strict=True)) if classes else (),
        positive=_positive(positive),
        threshold=threshold,
    )
    relations = _TextRelations(binding, dialect=dialect)
    found = request.parse_table(metrics[0], task) if len(metrics) == 1 else None
    # A curve has a row a score.
    builder = Builder(relations, builtin(), portable=found is not None)
    relations.place(builder, None)
    if found:
        requests: tuple[Request, ...] = (found,)
        statement = place_curve(builder, found)
    else:
        parsed = request.parse_all(list(metrics), task, binding.has_score)
        # A statement cannot raise what it finds in the rows, so it says it in the note.
        requests = tuple(replace(each, named=False) for each in parsed)
        statement = place_metrics(builder, requests)
    own_table = dialects.table_name(table, dialect)
    sql = dialects.written(statement.inlined(), dialect, names, own_table)
    return f"{_comment(requests, binding)}{sql};\n"


def _named(columns: Iterable[object], by: Sequence[str]) -> Iterator[str]:
    for each in columns:
        if isinstance(each, Mapping):
            yield from cast("Mapping[str, str]", each).values()
        elif isinstance(each, str):
            yield each
    yield from by
