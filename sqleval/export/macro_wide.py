"""Writes macros with one row per slice: ``evaluate_wide`` and ``confusion_counts``."""

from collections.abc import Iterator, Mapping, Sequence

from sqleval.export.macro_files import quote_argument

#: What each macro is, and the macro whose rows it puts side by side.
WIDE = {
    "evaluate_wide": (
        "several metrics, one row per slice: metrics['roc_auc'], notes['roc_auc']",
        "evaluate",
    ),
    "confusion_counts": (
        "tp, fp, fn, tn and their sum n (weights count as rows), one row per slice",
        "confusion",
    ),
}
_BODIES = {
    "evaluate_wide": (
        "SELECT e.slice, "
        "MAP(LIST(e.metric ORDER BY e.metric), LIST(e.value ORDER BY e.metric)) AS metrics, "
        "MAP(LIST(e.metric ORDER BY e.metric) FILTER (WHERE e.note IS NOT NULL), "
        "LIST(e.note ORDER BY e.metric) FILTER (WHERE e.note IS NOT NULL)) AS notes, "
        "MAX(e.n) AS n, MAX(e.n_dropped) AS n_dropped "
        "FROM {call} AS e GROUP BY e.slice ORDER BY e.slice"
    ),
    "confusion_counts": (
        "SELECT c.slice, {cells}, {n} AS n FROM {call} AS c GROUP BY c.slice ORDER BY c.slice"
    ),
}
#: Whether the label and the prediction are positive, by cell.
_CELLS = {"tp": ("", ""), "fp": ("NOT ", ""), "fn": ("", "NOT "), "tn": ("NOT ", "NOT ")}


def write_call(name: str, overload: str) -> tuple[str, str]:
    """Return the signature of an overload, and a call of a macro with the same arguments."""
    signature = overload[: overload.index(" AS TABLE")]
    arguments = (argument.split(" ")[0] for argument in signature[1:-1].split(", "))
    passed = ", ".join(each if each == "tbl" else f"{each} := {each}" for each in arguments)
    return signature, f"sqleval.{quote_argument(name)}({passed})"


def write_wide(macros: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name and the overloads of each macro with one row per slice."""
    for name, (_, other) in WIDE.items():
        yield name, tuple(_write_overload(name, other, each) for each in macros[other])


def _write_overload(name: str, other: str, overload: str) -> str:
    """Return the overload that puts the rows of an overload of another macro side by side."""
    signature, call = write_call(other, overload)
    # Counts of rows are whole numbers, of any size; sums of weights are not.
    kind = "DOUBLE" if "weight" in signature else "BIGINT"
    cells = ", ".join(
        f"CAST(SUM(CASE WHEN {label}sqleval._is_positive(c.label) "
        f"AND {prediction}sqleval._is_positive(c.prediction) THEN c.n ELSE 0 END) AS {kind}) "
        f"AS {cell}"
        for cell, (label, prediction) in _CELLS.items()
    )
    body = _BODIES[name].format(call=call, cells=cells, n=f"CAST(SUM(c.n) AS {kind})")
    return f"{signature} AS TABLE ({body})"
