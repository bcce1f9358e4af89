"""Writes a page for each metric and curve, from the headers of the SQL files."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple, cast

import sqleval
from docs.generate import (
    DISAGREEMENT_COLUMNS,
    ROOT,
    escape_cell,
    list_disagreements,
    write_table,
)
from sqleval.catalog import Relation, builtin
from sqleval.catalog.intervals import REASONS
from sqleval.catalog.listing import describe, group_by_task, shorten_summary
from sqleval.catalog.roles import ROLES

#: The folder of the pages.
FOLDER = "docs/metrics"
#: The inputs of the examples, all in the repository: by task, or by what else decides.
_INPUTS: Mapping[str, str] = {
    "two classes": "data/classics/breast_cancer.parquet --label label --score p",
    "classes": "data/classics/breast_cancer.parquet --label label --score p",
    "several classes": "data/flights/predictions --label delay_class "
    '--score "on time=on_time_boosted" --score minor=minor_boosted --score major=major_boosted '
    "--task multiclass --nulls drop",
    "many labels": "data/flights/predictions "
    "--label late=delayed --label \"major=delay_class = 'major'\" "
    "--score late=p_boosted --score major=major_boosted --nulls drop",
    "regression": "data/classics/diabetes.parquet --label label --prediction prediction",
    "ranking": "data/flights/predictions --label delayed --score p_boosted --qid flight_date",
    "value": "data/flights/predictions --value delayed --nulls drop",
    "model": "data/flights/predictions --label delayed "
    "--score logistic=p_logistic --score boosted=p_boosted --nulls drop",
    "matrices": "data/classics/digits.parquet --label label --prediction prediction",
}
#: Columns of a command and of a formula.
_WIDTH = 80
#: The arguments of an example if a parameter has no default.
_ARGUMENTS = {"cost_matrix": "{0: {0: 0, 1: 1}, 1: {0: 5, 1: 0}}"}


class Facts(NamedTuple):
    """Facts by metric that are read once for all pages.

    Attributes
    ----------
    twins : mapping of str to list of str
        The metrics that compute the same value otherwise.
    disagreements : mapping of str to list of tuple of str
        The rows of the page "Whom we follow".
    engines : mapping of str to str
        The engines with equal values, from the page on engines.
    """

    twins: Mapping[str, list[str]]
    disagreements: Mapping[str, list[tuple[str, ...]]]
    engines: Mapping[str, str]


def collect_facts() -> Facts:
    """Return the facts by metric."""
    twins: dict[str, list[str]] = {}
    for relation in builtin().relations("metric", "curve"):
        twins.setdefault(str(relation.header.get("same_as")), []).append(relation.name)
    rows: dict[str, list[tuple[str, ...]]] = {}
    for _, request, row in list_disagreements():
        rows.setdefault(request.partition("(")[0], []).append(row)
    return Facts(twins, rows, _list_engines())


def _list_engines() -> dict[str, str]:
    """Return by metric the engines whose values are equal, and the dialects that parse."""
    text = (ROOT / "docs/reference/engines.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^\| request \| (.+) \|$", text, re.MULTILINE)
    names = listed.split(" | ")
    engines: dict[str, str] = {}
    for name, cells in re.findall(r"^\| `(\w+)[^`]*`[^|]*\| (.+) \|$", text, re.MULTILINE):
        marks = dict(zip(names, cells.split(" | "), strict=True))
        equal = ", ".join(engine for engine, mark in marks.items() if mark == "=")
        parsed = ", ".join(engine for engine, mark in marks.items() if mark == "t")
        engines.setdefault(name, f"equal on {equal}; it parses for {parsed}")
    return engines


def write_pages() -> dict[str, str]:
    """Return the text of each page by its path: the metrics, their list, their navigation."""
    facts = collect_facts()
    relations = builtin().relations("metric", "curve")
    pages = {f"{FOLDER}/{each.name}.md": write_page(each, facts) for each in relations}
    return {**pages, f"{FOLDER}/README.md": _write_list(), f"{FOLDER}/SUMMARY.md": _write_nav()}


def _write_list() -> str:
    """Return the page that lists the pages by task and family."""
    parts = ["# Metrics, one by one", "Each metric and curve has a page, with its SQL."]
    for title, rows in group_by_task(sqleval.metrics()).items():
        cells = [(_link(row["name"]), escape_cell(shorten_summary(row["summary"]))) for row in rows]
        parts.append(f"## {title}\n\n{write_table(['name', 'what it is'], cells)}")
    return "\n\n".join(parts) + "\n"


def _write_nav() -> str:
    """Return the navigation of the pages: the list, then a group for each family."""
    families: dict[str, list[str]] = {}
    for each in builtin().relations("metric", "curve"):
        families.setdefault(each.family, []).append(f"    - [{each.name}]({each.name}.md)")
    groups = [f"- {family}\n" + "\n".join(links) for family, links in families.items()]
    return "\n".join(["- [All](README.md)", *groups]) + "\n"


def _link(name: str) -> str:
    return f"[`{name}`]({name}.md)"


def write_page(relation: Relation, facts: Facts) -> str:
    """Return the page of a metric or curve."""
    row = describe(relation)
    summary = row["summary"]
    parts = [
        f"# {relation.name}",
        f"{summary[0].upper()}{summary[1:]}.",
        f"```text\n{fill(row['formula'], _WIDTH, break_on_hyphens=False)}\n```",
        write_table(
            ["fact", "of this metric" if relation.kind == "metric" else "of this curve"],
            [(name, escape_cell(text)) for name, text in _list_facts(relation, row, facts) if text],
        ),
        *_write_parameters(relation),
        "## Example",
        "In the root folder of the repository:",
        f"```sh\n{write_command(relation)}\n```",
        *_write_pictures(relation),
        *_write_edge_cases(relation),
        *_write_disagreements(facts.disagreements.get(relation.name)),
        *_write_sql(relation),
    ]
    return "\n\n".join(parts) + "\n"


def _list_facts(
    relation: Relation, row: Mapping[str, Any], facts: Facts
) -> Iterator[tuple[str, str | None]]:
    """Yield the name and the text of each fact."""
    names = row["aliases"]
    yield "other names", names and ", ".join(f"`{name}`" for name in names.split(", "))
    yield "same value as", row["same_as"] and _link(row["same_as"])
    yield "other computations", ", ".join(map(_link, facts.twins.get(relation.name, ())))
    yield "tasks", ", ".join(relation.tasks)
    yield "columns", _list_columns(relation)
    yield "better", row["direction"]
    yield "range", row["range"]
    yield "allowed values", str(row["domain"] or "")
    interval = row["interval"]
    reason = f": {REASONS[interval]}" if interval in REASONS else ""
    yield "interval", interval and f"[{interval}](../guide/statistics.md){reason}"
    yield "bounds", _describe_bounds(relation)
    yield "reference", f"`{row['reference']}`"
    yield "engines", facts.engines.get(relation.name)
    yield "time grows with", f"{row['cost']}, for n rows"
    yield "steps", ", ".join(map(_link_step, _list_steps(relation)))
    yield "since", str(row["since"])


def _list_steps(relation: Relation) -> list[Relation]:
    """Return the files that it reads, directly or not."""
    return [
        each for each in builtin().closure(relation.name).values() if each.name != relation.name
    ]


def _link_step(step: Relation) -> str:
    path = step.path.relative_to(ROOT).as_posix()
    return f"[`{step.name}`](../../{path})" if step.path.is_file() else f"`{step.name}`"


def _list_columns(relation: Relation) -> str:
    """Return the arguments of the columns that it reads."""
    below = [*builtin().files(relation.name), *_list_steps(relation)]
    read = {column for each in below for column in each.needs.get("predictions", ())}
    if not read:  # it reads the scores of all classes, in a relation of their own
        return "`label=`; `score=` for each class; `weight=` if rows have weights"
    read |= {"query"} if "ranking" in relation.tasks else set()
    listed = [f"`{ROLES[role].argument}=`" for role in ROLES if role in read - {"weight"}]
    if "prediction" in read and not relation.has_values:
        listed[-1] += ", or `score=` and a threshold"
    if relation.header["weights"] != "none":
        listed.append("`weight=` if rows have weights")
    return "; ".join(listed)


def _describe_bounds(relation: Relation) -> str | None:
    """Return what score bins give, as far as the header and the columns say it."""
    page = "[large inputs](../guide/large-inputs.md)"
    if "unbinned" in relation.header:
        condition = str(relation.header["unbinned"])
        when = "" if condition == "always" else f" with `{condition}`"
        return f"none{when}: it needs every row, so that `bins=` is an error"
    if "bound" in relation.header:
        return f"with `bins=` and `tolerance=`, see {page}"
    widest = builtin().get_widest(relation.name)
    return f"with `bins=`, see {page}" if widest and "low" in widest.columns else None


def _write_parameters(relation: Relation) -> Iterator[str]:
    """Yield the section on the parameters."""
    params = builtin().parameters(relation.name)
    if params:
        yield "## Parameters"
        yield "\n".join(
            f"- `{name}: {param.kind}`, required" if param.is_required else f"- `{name}: {param}`"
            for name, param in params.items()
        )


def write_command(relation: Relation) -> str:
    """Return a command that evaluates the metric or curve on data of the repository."""
    source = _INPUTS.get(str(relation.header.get("across")), _INPUTS[relation.task])
    if builtin().depends_on(relation.name, "recommended_items"):
        source += " --item key"
    if relation.kind == "curve":
        return _wrap(f"sqleval curve {relation.name} {source}")
    request = _write_request(relation)
    interval = describe(relation)["interval"]
    ci = "" if interval in ("none", "bootstrap") else " --ci 0.95"
    return _wrap(f"sqleval evaluate {source} --metric {request}{ci}")


def _write_request(relation: Relation) -> str:
    """Return the metric with its required parameters, of a ranking with its first 10 places."""
    params = builtin().parameters(relation.name)
    needed = [f"{name}={_ARGUMENTS[name]}" for name in params if params[name].is_required]
    if "k" in params and params["k"].default is None:
        return f"{relation.name.removesuffix('_at_k')}@10"
    return f'"{relation.name}({", ".join(needed)})"' if needed else relation.name


def _wrap(command: str) -> str:
    """Return a command with an option in each line if it is long."""
    return command if len(command) <= _WIDTH else command.replace(" --", " \\\n  --")


def _write_pictures(relation: Relation) -> Iterator[str]:
    """Yield the picture of a curve, or of the simplest curve whose legend has the metric."""
    shown = [
        (curve, picture)
        for curve in sorted(builtin().relations("curve"), key=lambda curve: not _has_axes(curve))
        if relation.name in (curve.name, _find_metric_of_legend(curve))
        and (ROOT / (picture := f"docs/pictures/{curve.name.removesuffix('_curve')}.svg")).is_file()
    ]
    for curve, picture in shown[:1]:
        if relation is not curve:
            yield f"The curve {_link(curve.name)} has it in its legend:"
        yield f"![The curve {curve.name}](../{Path(picture).relative_to('docs').as_posix()})"
        yield "The [gallery](../guide/gallery.md) has the command of this picture."


def _read_chart(curve: Relation) -> Mapping[str, Any]:
    """Return the chart of a curve; empty if it has none, or that of another curve."""
    chart = curve.header.get("chart")
    return cast(Mapping[str, Any], chart) if isinstance(chart, Mapping) else {}


def _has_axes(curve: Relation) -> bool:
    return "x" in _read_chart(curve)


def _find_metric_of_legend(curve: Relation) -> str | None:
    return _read_chart(curve).get("metric", [None])[-1]


def _write_edge_cases(relation: Relation) -> Iterator[str]:
    """Yield the section on the notes of undefined values."""
    notes = dict.fromkeys(note for file in builtin().files(relation.name) for note in file.notes)
    if notes:
        yield "## Edge cases"
        yield "The value is NULL for these reasons, one of which its `note` gives:"
        yield "\n".join(f"- {note}" for note in notes)


def _write_disagreements(rows: list[tuple[str, ...]] | None) -> Iterator[str]:
    """Yield the section on inputs on which libraries disagree."""
    if rows:
        yield "## Where libraries disagree"
        yield "[Whom we follow](../guide/whom-we-follow.md) has all such inputs."
        yield write_table(DISAGREEMENT_COLUMNS, rows)


def _write_sql(relation: Relation) -> Iterator[str]:
    """Yield the section on the SQL: each file below its header."""
    yield "## SQL"
    yield "[The contract of SQL files](../../sql/README.md) says how to read it."
    parts = [part for file in builtin().files(relation.name) for part in file.files]
    # The standard error of a mean over rows is no file of the metric.
    for path in dict.fromkeys(part.path for part in parts if part.path.is_file()):
        text = path.read_text(encoding="utf-8")
        yield f"### {path.name}"
        yield f"```sql\n{text[text.index('*/') + 2 :].strip()}\n```"


def find_page(path: Path) -> str | None:
    """Return the page of a metric's SQL file; None for another file."""
    name = path.name.partition(".")[0]
    relation = builtin().get(name) if path.suffix == ".sql" and name in builtin().names else None
    if relation is None or relation.kind not in ("metric", "curve"):
        return None
    return f"{FOLDER}/{name}.md"
