"""Makes a metric from a file that returns a value of each row: the mean of these values."""

from dataclasses import replace

from sqlglot import exp

from sqleval.catalog.contract import Relation
from sqleval.catalog.header import CENTRE, VARIANCE, find_word_line, make_error
from sqleval.catalog.queries import list_columns, list_needs, list_reads, list_uses
from sqleval.catalog.relations import ROW_VALUES, WEIGHTS

#: The column with the value of a row.
VALUE = "row_value"
#: The column that is 1 in rows without a value, and 0 in others.
UNDEFINED = "is_undefined"
#: The range of losses.
_LOSS = "0 .. inf"
#: The ending of the name of the step with a metric's rows.
ENDING = "_rows"


def split_metric(file: Relation, mean: Relation, error: Relation) -> tuple[Relation, Relation]:
    """Return the metric of a file with the column ``row_value``, and the step with its rows.

    Parameters
    ----------
    file : Relation
        The file. Its column ``note`` is the reason why a row has no value.
    mean, error : Relation
        The files of the mean of such a column, and of its standard error.

    Raises
    ------
    LoadError
        If the file aggregates, or its column ``note`` is not one CASE with one reason.
    """
    if file.query.args.get("group") or file.query.find(exp.AggFunc):
        message = "a file with row_value has a value of each row: the mean over the rows is added"
        raise make_error(file.path, find_word_line(file.text, VALUE), message)
    if file.header["range"] == _LOSS:
        # Losses are skewed: on the scale of the logarithm, more intervals contain the true mean.
        file = replace(file, header={"interval": "delta", **file.header})
    reason = _find_reason(file)
    rows = _create_rows(file, reason)
    metric = _read(file, mean.query.copy(), rows.name)
    items = {
        item.alias_or_name: item.copy() for item in (*mean.query.selects, *error.query.selects)
    }
    if reason is None:
        # Every row has a value, so the mean has no condition.
        del items["note"]
        case = items["value"].unalias()
        items["value"] = exp.alias_(case.args["ifs"][0].args["true"].copy(), "value")
    else:
        for text in list(items["note"].find_all(exp.Literal)):
            if text.is_string:
                text.replace(reason.args["true"].copy())
    listed = ("slice", "value", "note")
    metric.query.set("expressions", [items[name] for name in listed if name in items])
    part = _read(file, error.query.copy(), rows.name)
    _choose_support(part.query, str(file.header["range"]))
    metric = _describe(metric)
    part = replace(_describe(part), kind="columns", path=file.path.with_suffix(".stderr.sql"))
    return replace(metric, parts=(part,), columns=(*metric.columns, *part.columns[1:])), rows


def _find_reason(file: Relation) -> exp.If | None:
    """Return the condition of rows without a value, and the reason; None without a note."""
    note = next((item.unalias() for item in file.query.selects if item.alias == "note"), None)
    if note is None:
        return None
    reasons: list[exp.If] = note.args["ifs"] if isinstance(note, exp.Case) else []
    if len(reasons) != 1 or not reasons[0].args["true"].is_string or note.args.get("default"):
        message = "the note of a row is one reason: CASE WHEN ... THEN 'reason' END"
        raise make_error(file.path, find_word_line(file.text, "note"), message)
    return reasons[0]


def _choose_support(query: exp.Query, range_: str) -> None:
    """Leave one of the two columns for the number of rows on which the standard error rests.

    Only losses without an upper end can have heavy tails: others have no ``kurtosis``.
    """
    items = {item.alias_or_name: item for item in query.selects}
    of_losses = items.pop("support_of_losses")
    if range_.startswith("0"):
        items["support"] = exp.alias_(of_losses.unalias().copy(), "support")
    if range_ != _LOSS:
        del items["kurtosis"]
    query.set("expressions", list(items.values()))


def _create_rows(file: Relation, reason: exp.If | None) -> Relation:
    """Return the step with a value of each row, its weights, and columns for score bins."""
    query = file.query.copy()
    assert isinstance(query, exp.Select)
    items = {item.alias_or_name: item for item in query.selects}
    value = items[VALUE].unalias()
    columns = [
        items["slice"],
        items[VALUE],
        exp.alias_(value.copy(), VALUE + CENTRE),
        exp.alias_(exp.Literal.number("0e0"), VALUE + VARIANCE),
    ]
    if reason is not None:
        one, zero = exp.Literal.number("1"), exp.Literal.number("0")
        mark = exp.Case(ifs=[exp.If(this=reason.this.copy(), true=one)], default=zero)
        columns.append(exp.alias_(mark, UNDEFINED))
    query.set("expressions", [*columns, *map(exp.column, WEIGHTS)])
    source = query.args["from_"].this
    while isinstance(source, exp.Subquery):
        inner = source.this
        missing = [name for name in WEIGHTS if name not in inner.named_selects]
        inner.set("expressions", [*inner.selects, *map(exp.column, missing)])
        source = inner.args["from_"].this
    header = {
        "summary": f"each row's value, of which {file.name} is the mean",
        "means": [VALUE],
        "centres": [VALUE + CENTRE],
        "variances": [VALUE + VARIANCE],
    }
    rows = replace(file, name=file.name + ENDING, kind="step", header=header, query=query)
    return _describe(rows)


def _read(file: Relation, query: exp.Query, rows: str) -> Relation:
    """Return a file with the query of a template, over a step with rows."""
    (table,) = (each for each in query.find_all(exp.Table) if each.name == ROW_VALUES)
    table.set("this", exp.to_identifier(rows))
    table.set("alias", exp.TableAlias(this=exp.to_identifier(ROW_VALUES)))
    return replace(file, kind="metric", query=query, params={})


def _describe(relation: Relation) -> Relation:
    """Return a relation with the facts that follow from its query."""
    reads, tables = list_reads(relation.query, relation.params)
    return replace(
        relation,
        columns=list_columns(relation.query),
        reads=reads,
        tables=tables,
        needs=list_needs(relation.query, set()),
        uses=list_uses(relation.query, set[str]()),
    )
