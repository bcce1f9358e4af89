"""Reads class and model of a score from the names of columns."""

import re
from collections.abc import Iterable, Sequence


def match_classes(classes: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Return the column of each class, if all names share a prefix and a suffix, or have none.

    Examples
    --------
    >>> match_classes(["on time", "late"], ["id", "p_late", "p_on_time"])
    {'on time': 'p_on_time', 'late': 'p_late'}
    """
    folded = {column.lower(): column for column in columns}
    words = [re.sub(r"\W+", "_", each.lower()) for each in classes]
    if not words or not words[0]:
        return {}
    for name in folded:
        for match in re.finditer(re.escape(words[0]), name):
            before, after = name[: match.start()], name[match.end() :]
            wanted = [f"{before}{word}{after}" for word in words]
            if all(each in folded for each in wanted):
                return {each: folded[want] for each, want in zip(classes, wanted, strict=True)}
    return {}


def list_class_names(classes: Iterable[object]) -> list[str]:
    """Return the names of classes in columns: a whole number stored as 2.0 is 2.

    Examples
    --------
    >>> list_class_names([2.0, 1, "low"])
    ['2', '1', 'low']
    """
    return [str(int(c)) if isinstance(c, float) and c.is_integer() else str(c) for c in classes]


def match_models(classes: Sequence[str], columns: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the column of each class by model, if several models have one for each class.

    Examples
    --------
    >>> match_models(["0", "1"], ["lstm_0", "lstm_1", "xgb_0", "xgb_1", "share"])
    {'lstm': {'0': 'lstm_0', '1': 'lstm_1'}, 'xgb': {'0': 'xgb_0', '1': 'xgb_1'}}
    """
    matched: list[dict[str, str]] = []
    rest = list(columns)
    while each := match_classes(classes, rest):
        matched.append(each)
        rest = [column for column in rest if column not in each.values()]
    # The last dot of a name divides model and class.
    if len(matched) < 2 or any("." in name or "=" in name for name in classes):
        return {}
    names = name_models([each[classes[0]] for each in matched])
    return dict(zip(names, matched, strict=True))


def name_models(columns: Sequence[str]) -> dict[str, str]:
    """Return a name for each column: the part of its name that differs from the others.

    Examples
    --------
    >>> name_models(["p_logistic", "p_boosted"])
    {'logistic': 'p_logistic', 'boosted': 'p_boosted'}
    """
    parts = [column.split("_") for column in columns]
    if len(parts) > 1:
        while all(len(each) > 1 and each[0] == parts[0][0] for each in parts):
            parts = [each[1:] for each in parts]
        while all(len(each) > 1 and each[-1] == parts[0][-1] for each in parts):
            parts = [each[:-1] for each in parts]
    names = ["_".join(each) for each in parts]
    if len({*names}) < len(names) or any("=" in name or not name.strip() for name in names):
        names = [f"m{i}" for i in range(1, len(names) + 1)]
    return dict(zip(names, columns, strict=True))
