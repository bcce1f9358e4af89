"""Writes an HTML page about predictions that opens without a network."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from math import isfinite
from typing import Any, NamedTuple, cast

import polars as pl
import polars.selectors as cs

from sqleval.catalog import request
from sqleval.common.pages import load_page
from sqleval.common.whole_file import write_text
from sqleval.errors import DataError, MissingExtra, RequestError
from sqleval.frontend.description import join_names, list_roles
from sqleval.frontend.predictions import Predictions
from sqleval.frontend.scan import scan
from sqleval.inspection.findings import Finding
from sqleval.inspection.inspect import inspect
from sqleval.plots import charts
from sqleval.report.answer import Answer, compare_models

#: The largest number of slices in the table; `evaluate --by` prints all.
_MOST_SLICES = 30
#: Metrics that return the best threshold by some measure, by their names on the page.
_BEST = {
    "best F1": "best_f_beta_threshold",
    "best Youden's J": "best_youden_j_threshold",
    "precision = recall": "break_even_threshold",
    "least cost at 1 : 1": "best_expected_cost_threshold",
}
_RATES = ("precision", "recall", "false_positive_rate", "f1")
_GRID = tuple(i / 10 for i in range(1, 10))


class Slices(NamedTuple):
    """The slices of the page: metric, keys, rows from the worst on, number of all rows, SQL."""

    metric: str
    keys: Sequence[str]
    rows: list[dict[str, Any]]
    total: int
    sql: str


def write_report(
    source: object,
    output: str,
    *,
    metrics: str | Sequence[str] | None = None,
    ci: float = 0.95,
    min_rows: int = 30,
    **roles: Any,
) -> None:
    """Write a page about predictions to a file.

    Parameters
    ----------
    source : path, frame or table
        As for `scan`; it is read several times.
    output : str
        The HTML file.
    metrics : str or sequence of str, optional
        The headline metrics; the default set of the task if left out. Slices are ordered by the
        first of them.
    ci : float
        The level of the intervals.
    min_rows : int
        Slices with fewer rows are left out.
    **roles
        As for `scan`.

    Notes
    -----
    Without Altair the page has no pictures. Without SciPy it has no test and no interval of the
    bootstrap. The end of the page then says what to install.

    Raises
    ------
    SourceError
        If the source cannot be read, or the page cannot be written.
    RequestError
        If a column or metric does not fit, ``sets`` is set, or the source can be read only once.
    DataError
        For rows that the metrics cannot use.
    """
    by = roles.pop("by", ())
    sets = roles.pop("sets", None)
    if sets is not None:
        raise RequestError("a report has no sets=; its by= are the slices of one table")
    bound = scan(source, **roles)
    sliced = scan(source, by=by, **roles) if by else None
    if bound.source.once:
        raise RequestError(f"{bound.source.label} can be read once; pass a table or a file")
    lacking: dict[str, None] = {}
    try:
        headline = bound.evaluate(metrics, ci=ci).collect()
    except MissingExtra as error:
        lacking[str(error)] = None
        headline = bound.evaluate(metrics, ci=ci, replicates=0).collect()
    labels = request.parse_all(
        metrics, bound.task, bound.binding.has_score, folds=bool(bound.binding.over),
        catalogue=bound.catalogue,
    )  # fmt: skip
    # A threshold of many labels is one for each; the page has no table of each label.
    has_one_score = bound.binding.has_two_classes and not bound.binding.many
    is_scored = has_one_score and bound.binding.has_score
    has_classes = bound.binding.facts.takes_averages
    curves = list(_draw_curves(bound, lacking))
    slices = _list_slices(sliced, labels[0], ci, min_rows, lacking) if sliced else None
    answer = _compare_models(bound, labels[:1] if metrics is not None else labels, ci)
    if answer is not None and answer.missing:
        lacking[answer.missing] = None
    page = {
        "title": f"Predictions of {_name_label(roles.get('label')) or bound.source.label}",
        "source": bound.source.label,
        "task": bound.task,
        "ci": ci,
        "min_rows": min_rows,
        "has_folds": bool(bound.binding.over),
        "has_models": bool(bound.binding.models),
        "has_many_labels": bound.binding.many is not None,
        "answer": answer,
        "headline": list(_add_differences(headline, bound, labels, ci)),
        "first_model": bound.binding.models[0][0] if bound.binding.models else None,
        "settings": _list_settings(roles, bound),
        "findings": _inspect(source, roles, bound),
        "curves": curves,
        "classes": bound.curve("classification_report").collect().to_dicts() if has_classes else [],
        "classes_sql": bound.sql("classification_report") if has_classes else "",
        "slices": slices,
        "thresholds": _list_thresholds(_without_decisions(bound)) if is_scored else [],
        "lacking": list(lacking),
    }
    write_text(output, _load_template().render(**page), folders=False)


def _compare_models(
    bound: Predictions, labels: Sequence[request.Request], ci: float
) -> Answer | None:
    """Return the answer by the first metric with a fast test; without one, that of the first."""
    first = compare_models(bound, labels[0], ci)
    if first is None or first.rows:
        return first
    others = (compare_models(bound, each, ci) for each in labels[1:])
    return next((each for each in others if each is not None and each.rows), first)


def _name_label(label: object) -> str:
    """Return the label, or the names of many labels that have a column each."""
    names = cast("Mapping[object, str]", label) if isinstance(label, Mapping) else [label or ""]
    return ", ".join(map(str, names))


@cache
def _load_template() -> Any:
    """Return the template of a page, compiled once."""
    forms = {"number": ".4f", "difference": "+.4f", "count": ","}
    filters = {name: partial(_format, form=form) for name, form in forms.items()}
    filters |= {"chance": _format_p_value, "amount": _format_amount}
    return load_page("sqleval.report", "page.html", filters)


def _format(value: float | None, form: str) -> str:
    """Return a number as text: with 4 decimals, or 3 significant digits if very small or large."""
    if value is None:
        return ""
    if form.endswith("f") and (0 < abs(value) < 1e-3 or abs(value) >= 1e15):
        form = form.replace("4f", "3g")
    elif form.endswith("f") and abs(value) >= 1e5:
        form = form.replace(".4f", ",.0f")
    return format(value, form)


def _format_amount(value: float) -> str:
    """Return a count, or a sum of weights, as text."""
    return _format(value, "," if value == int(value) else ",.2f")


def _format_p_value(value: float | None) -> str:
    return "< 0.0001" if value is not None and value < 1e-4 else _format(value, ".4f")


def _add_differences(
    frame: pl.DataFrame, bound: Predictions, labels: Sequence[request.Request], ci: float
) -> Iterator[dict[str, Any]]:
    """Yield the rows by metric, each with its statement and its difference from the first model.

    A model with another number of rows has no difference.
    """
    names = [request.format_request(label) for label in labels]
    better = {name: label.header["direction"] for name, label in zip(names, labels, strict=True)}
    models = [model for model, _ in bound.binding.models]
    rows = frame.to_dicts()
    for row in rows:
        row["place"] = models.index(row["model"]) if models else 0
    bases = {(row["metric"], row.get("class"), row["n"]): row for row in rows if not row["place"]}
    for row in sorted(rows, key=lambda row: (names.index(row["metric"]), row["place"])):
        value, base = row["value"], bases.get((row["metric"], row.get("class"), row["n"]))
        difference = None
        if row["place"] and value is not None and base and base["value"] is not None:
            difference = value - base["value"]
        direction = "" if better[row["metric"]] == "none" else better[row["metric"]]
        sql = bound.sql(row["metric"], ci=ci)
        yield {"class": None, **row, "better": direction, "difference": difference, "sql": sql}


def _list_settings(roles: Mapping[str, Any], bound: Predictions) -> dict[str, str]:
    """Return what the numbers depend on: the columns of roles, the threshold, the condition."""
    binding = bound.binding
    settings = {role: join_names(columns) for role, columns in list_roles(binding).items()}
    if binding.positive is not None:
        settings["positive"] = str(binding.positive)
    decides = binding.has_two_classes and binding.has_score and "prediction" not in settings
    if binding.threshold is not None:
        settings["threshold"] = f"{binding.threshold:g}"
    elif decides and binding.has_probabilities and "threshold" not in settings:
        settings["threshold"] = "0.5, the default"
    for name in ("where", "query", "labels"):
        if isinstance(roles.get(name), str):
            settings[name] = roles[name]
    if binding.nulls == "drop":
        settings["nulls"] = "drop: rows without a value are left out"
    if binding.common:
        settings["common"] = "only rows with a value of every model"
    return settings


def _inspect(source: object, roles: Mapping[str, Any], bound: Predictions) -> list[Finding]:
    """Return the findings of an inspection of the label and the scores, over the page's rows.

    There are none if another engine than DuckDB reads the rows, the source has long rows, or a row
    has many labels.
    """
    if bound.engine.dialect != "duckdb" or roles.get("long") or bound.binding.many:
        return []
    binding = bound.binding
    scores: Any = [column.name for column in binding.score_columns]
    if binding.classes:
        scores = {str(value): column.name for value, column in binding.classes}
    if binding.classes and binding.models:
        scores = {
            f"{model}.{value}": column.name
            for model, columns in binding.models
            for (value, _), column in zip(binding.classes, columns, strict=True)
        }
    predictions = [column.name for column in binding.mapped_columns if not scores]
    predictions = [column.name for column in binding.predictions] or predictions
    late = binding.labels.roles if binding.labels else frozenset[str]()
    single = dict(binding.roles).get("prediction")
    if single is not None and "prediction" not in late and not binding.cells:
        predictions = [single.name]
    options = [
        "positive", "where", "query", "con", "storage", "version", "timestamp", "verify", "rows",
        "csv",
    ]  # fmt: skip
    if not bound.source.reading.csv:
        options.remove("csv")  # it is for the labels
    arguments: dict[str, Any] = {name: roles[name] for name in options if name in roles}
    # A late label is a column of another source.
    label = None if roles.get("labels") is not None else roles.get("label")
    findings = inspect(
        source, label=label, score=scores, prediction=predictions, suggest=False, **arguments
    )
    if binding.nulls != "drop":
        return findings
    # Remove advice that was followed already.
    return [replace(e, advice=None) if e.advice == "--nulls drop" else e for e in findings]


def _draw_curves(bound: Predictions, lacking: dict[str, None]) -> Iterator[dict[str, str]]:
    """Yield each curve as SVG with its statement, or the reason for its absence.

    Errors about libraries that are not installed are added to ``lacking``.
    """
    facts = bound.binding.facts
    for name in facts.curves if bound.binding.has_score else facts.unscored_curves:
        table = name
        if name != "confusion":
            table = request.parse_curve(name, {}, bound.task, bound.catalogue).name
        try:
            picture = charts.write_svg(bound.plot(name))
        except MissingExtra as error:
            lacking[str(error)] = None
            return
        except (DataError, RequestError) as error:
            reason = str(error).removeprefix(f"{table}: ")
            yield {"name": name, "svg": "", "sql": "", "error": reason}
        else:
            yield {"name": name, "svg": picture, "sql": bound.sql(table), "error": ""}


def _list_slices(
    bound: Predictions,
    metric: request.Request,
    ci: float,
    min_rows: int,
    lacking: dict[str, None],
) -> Slices:
    name = request.format_request(metric)
    options: dict[str, Any] = {"ci": ci, "worst_first": True, "min_rows": min_rows}
    try:
        frame = bound.evaluate(name, **options).collect()
    except MissingExtra as error:
        lacking[str(error)] = None
        frame = bound.evaluate(name, replicates=0, **options).collect()
    frame = frame.filter(pl.col("value").is_not_null())
    keys = [*bound.binding.key_names, *(["class"] if metric.average == request.PER_CLASS else [])]
    rows = frame.head(_MOST_SLICES).with_columns(cs.by_name(*keys).cast(pl.String)).to_dicts()
    return Slices(name, keys, rows, frame.height, bound.sql(name, ci=ci))


def _without_decisions(bound: Predictions) -> Predictions:
    """Return predictions whose decisions are only those of thresholds on the scores."""
    binding = bound.binding
    roles = tuple((role, column) for role, column in binding.roles if role != "prediction")
    return replace(bound, binding=replace(binding, roles=roles, predictions=(), thresholds=()))


class Rates(NamedTuple):
    """The rates of a model at a threshold; ``name`` is the measure by which it is best."""

    model: str
    threshold: float
    name: str
    precision: float | None
    recall: float | None
    false_positive_rate: float | None
    f1: float | None
    sql: str


def _list_thresholds(bound: Predictions) -> list[Rates]:
    """Return the rates at the best thresholds of each model, and at tenths of probabilities."""
    best = _collect_by_model(bound, list(_BEST.values()))
    model_thresholds = [
        (model, threshold, name)
        for model, values in best.items()
        for name, threshold in zip(_BEST, values, strict=True)
        if threshold is not None
    ]
    # A threshold is infinite if it is best to predict all rows positive, or none.
    finite = [threshold for _, threshold, _ in model_thresholds if isfinite(threshold)]
    if finite and all(0 <= threshold <= 1 for threshold in finite):
        model_thresholds += [(model, threshold, "") for model in best for threshold in _GRID]
    thresholds = list(dict.fromkeys(threshold for _, threshold, _ in model_thresholds))
    if not thresholds:
        return []  # there are no rows, or only rows of one class
    requests = {t: [f"{rate}(threshold={t!r})" for rate in _RATES] for t in thresholds}
    rates = _collect_by_model(bound, [each for texts in requests.values() for each in texts])
    rows: list[Rates] = []
    for model, threshold, name in sorted(model_thresholds):
        start = thresholds.index(threshold) * len(_RATES)
        precision, recall, fpr, f1 = rates[model][start : start + len(_RATES)]
        sql = bound.sql(requests[threshold])
        rows.append(Rates(model, threshold, name, precision, recall, fpr, f1, sql))
    return rows


def _collect_by_model(bound: Predictions, metrics: list[str]) -> dict[str, list[float | None]]:
    """Return the values of metrics by model, in this order; "" is a model without a name."""
    frame = bound.evaluate(metrics).collect()
    if "model" not in frame.columns:
        return {"": frame["value"].to_list()}
    return {
        str(model): part["value"].to_list()
        for (model,), part in frame.partition_by("model", as_dict=True).items()
    }
