"""Recognises columns of numbers that a reader took for texts: 90%, 0,5, NA."""

from collections.abc import Sequence

from sqleval.common.sql_text import write_name
from sqleval.inspection.columns import Facts, read_rows
from sqleval.inspection.data import Inspection
from sqleval.inspection.findings import list_first
from sqleval.inspection.rules import find, is_named_label, is_named_prediction, is_named_score
from sqleval.inspection.shape import Look, Shape

#: Texts that mean a missing value, in lower case.
_MISSING = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "\\n", "?", "-", ".", "missing"})
#: Columns whose texts are read.
_MOST_READ = 20
_PERCENT, _COMMA = r"\s*-?\d+(\.\d+)?\s*%\s*", r"\s*-?\d*(,\d+)?\s*"


def find_number_texts(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    """Find a column that is named like a label, score or prediction and has numbers as texts."""
    texts = [f for f in facts if f.column.kind == "text" and f.low is not None]
    named = [f for f in texts if is_named_score(f) or is_named_label(f) or is_named_prediction(f)]
    shapes = (_describe_texts(data, f, facts) for f in named[:_MOST_READ])
    return next((shape for shape in shapes if shape is not None), None)


def _describe_texts(data: Inspection, text: Facts, facts: Sequence[Facts]) -> Shape | None:
    """Return the shape of numbers in a column of texts; None for other texts."""
    value = text.value
    tests = (
        f"TRY_CAST({value} AS DOUBLE) IS NULL",
        f"NOT REGEXP_FULL_MATCH({value}, '{_PERCENT}')",
        f"NOT REGEXP_FULL_MATCH({value}, '{_COMMA}')",
    )
    select = ", ".join(
        f"COUNT(CASE WHEN {value} IS NOT NULL AND {test} THEN 1 END)" for test in tests
    )
    ((no_number, no_percent, no_comma),) = read_rows(data.source, select, [text.name])
    is_csv = data.source.text_reader.startswith("read_csv")
    if not no_percent:
        return _describe_percent(text, facts)
    if not no_comma and no_number and is_csv:
        reason = f"{text.name} has numbers with a decimal comma"
        return _suggest_csv(text, reason, "decimal=,")
    if is_csv and 0 < 2 * no_number <= text.present:
        tail = f" WHERE {value} IS NOT NULL AND {tests[0]} GROUP BY 1 ORDER BY 1 LIMIT 5"
        words = [str(word) for (word,) in read_rows(data.source, value, [text.name], tail)]
        if all(word.strip().lower() in _MISSING for word in words):
            reason = f"{text.name} has numbers and {list_first(words)}"
            return _suggest_csv(text, reason, f"na={'|'.join(words)}")
    return None


def _describe_percent(text: Facts, facts: Sequence[Facts]) -> Shape:
    name = write_name(text.name)
    number = f"CAST(REPLACE({name}, '%', '') AS DOUBLE) / 100"
    label = next(iter(find("label", [f for f in facts if f is not text]).columns), None)
    looks: list[Look] = []
    if label is not None and label.low in (0, False) and label.high in (1, True):
        looks.append(Look("all rows", {"label": label.name, "score": number}))
    reason = f"{text.name} has texts such as {text.high}"
    advice = f'--score "{number}"'
    names = (text.name,) if label is None else (label.name, text.name)
    return Shape("numbers as percentages", names, reason, advice, looks)


def _suggest_csv(text: Facts, reason: str, option: str) -> Shape:
    look = Look("the numbers as numbers", {"csv": option}, verb="inspect")
    return Shape("numbers as texts", (text.name,), reason, f"--csv '{option}'", [look])
