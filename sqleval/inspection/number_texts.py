"""Recognises columns of numbers that a reader took for texts: 90%, 0,5, NA."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqleval.common.sql_text import write_name
from sqleval.inspection.columns import Facts, read_rows
from sqleval.inspection.data import Inspection
from sqleval.inspection.findings import list_first
from sqleval.inspection.rules import find, is_named_label, is_named_prediction, is_named_score
from sqleval.inspection.shape import Look, Shape

#: Texts that mean a missing value, in lower case.
_MISSING = frozenset({
    "na", "n/a", "#n/a", "n.a.", "<na>", "nan", "null", "none", "\\n", "?", "-", ".", "missing",
    "unknown", "k.a.", "k. a.", "keine angabe", "unbekannt", "n.v.", "#nv", "nd", "s/o",
})  # fmt: skip
#: The formats whose numbers depend on options of csv=.
_FORMATS = ("CSV", "TSV", "a white-space table")
#: Columns whose texts are read.
_MOST_READ = 20
#: Texts listed at most that are no numbers.
_MOST_WORDS = 5
#: With this many numbers in a column, its only other text stands for a missing value.
_MANY = 10
_PERCENT, _COMMA = r"\s*-?\d+(\.\d+)?\s*%\s*", r"\s*-?\d*(,\d+)?\s*"
#: Numbers with commas that may divide thousands.
_THOUSANDS = r"\s*-?(0|[1-9]\d{0,2}(,\d{3})*)\s*"


class NumberTexts(NamedTuple):
    """A column of numbers that was read as texts, with the options of csv= that it needs."""

    column: Facts
    options: dict[str, str]
    reason: str
    is_percent: bool = False


def find_number_texts(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    """Find columns that are named like a label, score or prediction and have numbers as texts."""
    texts = [f for f in facts if f.column.kind == "text" and f.low is not None]
    named = [f for f in texts if is_named_score(f) or is_named_label(f) or is_named_prediction(f)]
    read = [*read_number_texts(data, named)]
    percent = next((each for each in read if each.is_percent), None)
    if percent is not None:
        return _describe_percent(percent.column, facts)
    return _suggest_csv(read)


def find_other_number_texts(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    """Find any columns that have numbers as texts, if there is nothing to evaluate without them."""
    texts = [f for f in facts if f.column.kind == "text" and f.low is not None]
    if not texts or data.source.reading.format_name not in _FORMATS:
        return None
    others = [f for f in facts if f not in texts]
    if find("label", facts).columns and (
        find("score", others).columns or find("prediction", facts).columns
    ):
        return None
    return _suggest_csv([each for each in read_number_texts(data, texts) if not each.is_percent])


def read_number_texts(data: Inspection, texts: Sequence[Facts]) -> Iterator[NumberTexts]:
    """Yield the columns of texts that are numbers, except for a few words."""
    texts = texts[:_MOST_READ]
    if not texts:
        return
    select = ", ".join(
        f"COUNT(CASE WHEN {f.value} IS NOT NULL AND {test} THEN 1 END)"
        for f in texts
        for test in (
            _is_no_number(f),
            _does_not_match(f, _PERCENT),
            _does_not_match(f, _COMMA),
            f"{_does_not_match(f, _THOUSANDS)} AND NOT {_does_not_match(f, _COMMA)}",
        )
    )
    (counts,) = read_rows(data.source, select, [f.name for f in texts])
    for i, f in enumerate(texts):
        no_number, no_percent, no_comma, no_thousands = counts[4 * i : 4 * i + 4]
        if not no_percent:
            yield NumberTexts(f, {}, "", is_percent=True)
        if not no_number or data.source.reading.format_name not in _FORMATS:
            continue
        has_comma = no_comma < no_number and no_thousands > 0
        wrong = no_comma if has_comma else no_number
        words = _list_words(data, f, has_comma=has_comma) if 0 < 2 * wrong <= f.present else []
        if (words or not wrong) and (has_comma or words):
            options = {"decimal": ","} if has_comma else {}
            options |= {"na": "|".join(words)} if words else {}
            has = ["numbers with a decimal comma" if has_comma else "numbers", *words]
            yield NumberTexts(f, options, f"{f.name} has {' and '.join(has)}")


def _is_no_number(text: Facts) -> str:
    return f"TRY_CAST({text.value} AS DOUBLE) IS NULL"


def _does_not_match(text: Facts, pattern: str) -> str:
    return f"NOT REGEXP_FULL_MATCH({text.value}, '{pattern}')"


def _list_words(data: Inspection, text: Facts, *, has_comma: bool) -> list[str]:
    """Return the texts that stand for a missing number; none if some other text is no number."""
    test = _does_not_match(text, _COMMA) if has_comma else _is_no_number(text)
    tail = (
        f" WHERE {text.value} IS NOT NULL AND {test} GROUP BY 1 ORDER BY 1 LIMIT {_MOST_WORDS + 1}"
    )
    words = [str(word) for (word,) in read_rows(data.source, text.value, [text.name], tail)]
    are_missing = all(word.strip().lower() in _MISSING for word in words)
    is_only_word = len(words) == 1 and text.distinct > _MANY
    is_clear = (are_missing and len(words) <= _MOST_WORDS) or is_only_word
    return words if is_clear and not any("|" in word for word in words) else []


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


def _suggest_csv(read: Sequence[NumberTexts]) -> Shape | None:
    """Return the shape of numbers as texts, with the options that all columns need together."""
    if not read:
        return None
    words = [
        word for each in read if "na" in each.options for word in each.options["na"].split("|")
    ]
    options = {"decimal": ","} if any("decimal" in each.options for each in read) else {}
    options |= {"na": "|".join(dict.fromkeys(words))} if words else {}
    look = Look("the numbers as numbers", {"csv": options}, verb="inspect")
    reason = list_first([each.reason for each in read])
    names = tuple(each.column.name for each in read)
    return Shape("numbers as texts", names, reason, write_csv_options(options), [look])


def write_csv_options(options: dict[str, str]) -> str:
    """Return options of csv= as the command takes them."""
    return " ".join(f"--csv '{name}={value}'" for name, value in options.items())
