"""Writes the macros ``sqleval.help()``, ``help('NAME')``, ``search('WORD')`` and the aliases."""

import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple

from sqleval.catalog.catalogue import builtin
from sqleval.catalog.listing import shorten_summary
from sqleval.catalog.parameters import Param
from sqleval.common.sql_text import write_literal
from sqleval.export.macro_files import is_value, quote_argument
from sqleval.export.macro_overloads import write_default
from sqleval.export.macro_wide import WIDE, write_call

#: The columns of an example, by argument.
_EXAMPLE = {"label": "y", "score": "p", "prediction": "c", "qid": "q"}
#: The macros that the script itself writes: name, what it is, arguments and an example.
OF_SCRIPT = (
    ("version", "release of sqleval that made the macros", "", "SELECT sqleval.version()"),
    ("help", "every macro, or what one is for", "name", "FROM sqleval.help('roc_auc')"),
    ("search", "macros whose text has a word", "word", "FROM sqleval.search('calibration')"),
)
#: What an argument is, if several macros have it.
_ARGUMENTS = {
    "tbl": "the name of a table, view, CTE or file, in quotes",
    "label": "the truth: 0 and 1, a class, a number, or a relevance",
    "score": "the score of the positive class, or of an item",
    "prediction": "the predicted class or number",
    "qid": "the query of an item",
    "baseline": "the score of the other model",
    "weight": "the weight of a row, 0 or more",
    "average": "over classes: 'macro' or 'weighted'",
    "metrics": "a list of names; by default the usual ones",
    "slice": "a column or {name: column, ...}: a row for each of its values",
    "nulls": "'error' or 'drop', which leaves out rows with a missing value",
    "threshold": "the prediction is positive from this score on",
    "points": (
        "at most so many points of the curve, 2 or more, in equal steps along it: the first, the "
        "last, and others, each exact. The length of the curve is the sum of the changes of its "
        "columns (except threshold), each divided by the column's range. The points left out "
        "between two others span less than 2 / (points - 1) of the length: along a ROC curve, "
        "fpr and tpr together change by less than 4 / (points - 1)"
    ),
    "bits": "the significant bits of a bin, 1 to 53",
}
#: Macros with the name of a function of DuckDB's, which a new macro cannot call.
_LIKE_FUNCTIONS = ("jaccard", "map")
#: The width of a text beside its title, so that a page fits into 80 columns.
_WIDTH = 58
#: The comment on a macro in ``sql/console.sql``: a description, and an example.
_COMMENT = re.compile(
    r"COMMENT ON MACRO (?:TABLE )?sqleval\.(\w+) IS '((?:[^']|'')+: (?:[^']|'')+)';"
)
#: An argument of an overload: its name, perhaps its type, and its default.
_ARGUMENT = re.compile(r'("?\w+"?)(?: VARCHAR)?(?: := (.*))?')


class Page(NamedTuple):
    """What ``help('NAME')`` says about a macro.

    Attributes
    ----------
    name, family : str
        The macro, and its part of the catalogue.
    about : str
        What it is, in one line.
    arguments : str
        The columns and parameters that distinguish it.
    call : str
        An example that runs.
    aliases : tuple of str
        Other names.
    items : tuple of (str, str)
        The titles and texts of its page.
    """

    name: str
    family: str
    about: str
    arguments: str
    call: str
    aliases: tuple[str, ...]
    items: tuple[tuple[str, str], ...]


def list_pages(console: str, macros: Mapping[str, Sequence[str]]) -> list[Page]:
    """Return the page of each macro: of ``sql/console.sql``, and of these overloads by name."""
    pages = [_describe_macro(*each) for each in OF_SCRIPT]
    for name, comment in _COMMENT.findall(console):
        about, _, call = comment.replace("''", "'").rpartition(": ")
        arguments = call[call.index("(") + 1 : call.index(")")]
        pages.append(_describe_macro(name, about, arguments, call))
    return pages + [_describe_metric(name, overloads) for name, overloads in macros.items()]


def _describe_macro(name: str, about: str, arguments: str, call: str) -> Page:
    """Return the page of a macro that belongs to no file of the catalogue."""
    items = (("what", about), ("example", call))
    return Page(name, "console", about, arguments, call, (), items)


def _describe_metric(name: str, overloads: Sequence[str]) -> Page:
    """Return the page of a metric or curve, of ``evaluate``, or of a macro in `WIDE`."""
    call = _write_example(name, overloads[0])
    arguments = _list_arguments(overloads)
    if name == "confusion_counts":
        about = WIDE[name][0]
        explained = _explain(arguments, builtin().parameters("confusion"))
        items = (("what", about), *explained, ("example", call))
        return Page(name, "all", about, "label, score, threshold", call, (), items)
    if name in ("evaluate", "evaluate_wide"):
        about = "several metrics in one scan: metrics := ['roc_auc', 'log_loss']"
        about = WIDE[name][0] if name in WIDE else about
        every = {each: param for other in builtin().relations("metric")
                 for each, param in builtin().parameters(other.name).items()}  # fmt: skip
        items = [("what", about), *_explain(arguments, every), ("example", call)]
        return Page(name, "all", about, "label, score, metrics", call, (), tuple(items))
    relation = builtin().get(name)
    header, params = relation.header, builtin().parameters(name)
    columns = [each for each in arguments if each in _EXAMPLE]
    items = [("what", str(header["summary"]))]
    aliases = tuple(header.get("aliases", ()))
    further = {
        "formula": header.get("formula"),
        "also called": ", ".join(aliases),
        "range": header.get("range"),
        "better": header.get("direction") if relation.kind == "metric" else None,
        "reference": header.get("reference"),
    }
    items += [(title, str(text)) for title, text in further.items() if text]
    items += _explain(arguments, params)
    items += [("undefined", note) for note in relation.notes]
    items.append(("example", call))
    about = shorten_summary(str(header["summary"]))
    listed = ", ".join([*columns, *params, *(["points"] if "points" in arguments else [])])
    return Page(name, relation.family, about, listed, call, aliases, tuple(items))


def _list_arguments(overloads: Sequence[str]) -> dict[str, str | None]:
    """Return the arguments of all overloads, with their defaults."""
    found: dict[str, str | None] = {}
    for overload in overloads:
        for each in overload[1 : overload.index(") AS TABLE")].split(", "):
            match = _ARGUMENT.fullmatch(each)
            if match is not None:
                found.setdefault(match[1].strip('"'), match[2])
    return found


def _explain(
    arguments: Mapping[str, str | None], params: Mapping[str, Param]
) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each argument."""
    for name, default in arguments.items():
        text = _ARGUMENTS.get(name, "")
        param = params.get(name)
        if param is not None:
            default = write_default(param, name) if is_value(param) else None
            allowed = f"in {param.within}" if param.within else ""
            text = ", ".join(part for part in (text, allowed) if part) or param.kind
        is_shown = default is not None and default != "NULL" and name != "slice"
        yield name, f"{text} (by default {default})" if is_shown else text


def _write_example(name: str, overload: str) -> str:
    """Return a call of an overload with the columns of an example."""
    required = overload[1 : overload.index(" AS TABLE")].split(":=")[0].split(", ")
    names = {argument.split(" ")[0] for argument in required}
    listed = [
        f"{argument} := {column}" for argument, column in _EXAMPLE.items() if argument in names
    ]
    more = ["average := 'macro'"] if "average" in names else []
    if "cost_matrix" in names:
        cells = ((1, 0, 5), (0, 1, 1), (0, 0, 0), (1, 1, 0))
        costs = ", ".join(f"{{label: {a}, prediction: {b}, cost: {c}}}" for a, b, c in cells)
        more.append(f"cost_matrix := [{costs}]")
    return f"FROM sqleval.{quote_argument(name)}('preds', {', '.join([*listed, *more])})"


def write_help(pages: Sequence[Page]) -> Iterator[str]:
    """Yield the macros of the help: the tables behind it, and what a user calls."""
    of_pages = [
        (p.name, p.about, p.arguments, p.call, " ".join([p.family, *dict(p.items).values()]))
        for p in pages
    ]
    yield _write_table("_pages", ("name", "about", "arguments", "call", "words"), of_pages)
    lines = [
        (page.name, f"{place:02}{line:02}", title if line == 0 else "", text)
        for page in pages
        for place, (title, whole) in enumerate(page.items)
        for line, text in enumerate(wrap(whole, _WIDTH, break_on_hyphens=False) or [""])
    ]
    yield _write_table("_lines", ("name", "place", "item", "text"), lines)
    listed = "SELECT p.name, p.about, p.arguments FROM sqleval._pages() AS p"
    yield (
        f"CREATE OR REPLACE MACRO sqleval.help\n() AS TABLE ({listed}),\n"
        f"(topic) AS TABLE (\n{_PAGE}\n)"
    )
    yield (
        "CREATE OR REPLACE MACRO sqleval.search(word) AS TABLE\n"
        f"{listed}\nWHERE CONTAINS(LOWER(CONCAT_WS(' ', p.name, p.about, p.words)), LOWER(word))"
    )


#: The body of ``help(topic)``: the lines of a page, or an error with the nearest names.
_PAGE = """SELECT l.item, l.text
FROM (
    SELECT COALESCE(sqleval._called(LOWER(topic)), LOWER(topic)) AS wanted
) AS t
CROSS JOIN (
    SELECT x.name, x.place, x.item, x.text FROM sqleval._lines() AS x
    UNION ALL
    SELECT NULL, '', '', ''
) AS l
WHERE l.name = t.wanted
    OR l.name IS NULL AND CASE
        WHEN t.wanted IN (SELECT y.name FROM sqleval._pages() AS y) THEN FALSE
        ELSE ERROR(CONCAT(
            'no macro called ''', topic, ''', did you mean ''',
            (
                SELECT ARG_MAX(z.name, JARO_WINKLER_SIMILARITY(z.name, LOWER(topic)))
                FROM sqleval._pages() AS z
            ),
            '''? FROM sqleval.search(''', topic, ''') looks into all texts'
        ))
    END
ORDER BY l.place"""


def _write_table(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a macro that is a table of texts."""
    values = ",\n".join(f"({', '.join(map(write_literal, row))})" for row in rows)
    listed = ", ".join(columns)
    return (
        f"CREATE OR REPLACE MACRO sqleval.{name}() AS TABLE\n"
        f"SELECT h.* FROM (VALUES\n{values}\n) AS h({listed})"
    )


def write_names(pages: Sequence[Page]) -> str:
    """Return the macro that finds the name of an alias; NULL for another text."""
    names = ", ".join(
        f"{write_literal(alias)}: {write_literal(page.name)}"
        for page in pages
        for alias in page.aliases
    )
    return f"CREATE OR REPLACE MACRO sqleval._called(alias) AS MAP {{{names}}}[alias]"


def write_aliases(pages: Sequence[Page], macros: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a macro for each alias, which calls the macro that it stands for."""
    for page in pages:
        overloads = macros.get(page.name, ())
        if page.name not in _LIKE_FUNCTIONS:
            overloads = [_write_alias(page.name, each) for each in overloads]
        for alias in page.aliases:
            listed = ",\n".join(overloads)
            yield f"CREATE OR REPLACE MACRO sqleval.{quote_argument(alias)}\n{listed}"


def _write_alias(name: str, overload: str) -> str:
    """Return an overload that calls the overload of another macro with the same arguments."""
    signature, call = write_call(name, overload)
    return f"{signature} AS TABLE (FROM {call})"
