"""Values of metrics stay as they are, or the version of a SQL file says that they changed."""

from sqleval.catalog import builtin
from tests.core.catalog.values import (
    ADVICE,
    compute,
    find_changes,
    list_inputs,
    list_needed_files,
    list_versions,
    make_rows,
    read_stored,
    record_files,
)


def test_a_value_changes_only_with_a_version() -> None:
    rows, stored, inputs = make_rows(), read_stored(), {each.name: each for each in list_inputs()}
    with record_files() as reached:
        now = {
            name: {
                way: compute(rows, inputs[name], way, [*values]) for way, values in by_way.items()
            }
            for name, by_way in stored["values"].items()
        }
    assert not find_changes(stored["values"], now), ADVICE
    assert list_versions() == stored["versions"], ADVICE
    missing = sorted(list_needed_files().keys() - reached)
    assert missing == [], "no value reaches these files: list_inputs must ask for what does"


def test_each_metric_has_twenty_values() -> None:
    counts: dict[str, int] = {}
    for by_way in read_stored()["values"].values():
        for values in by_way.values():
            for metric, numbers in values.items():
                name = metric.partition("(")[0]
                counts[name] = counts.get(name, 0) + sum(each is not None for each in numbers)
    names = [each.name for each in builtin().relations("metric")]
    assert {name: counts.get(name, 0) for name in names if counts.get(name, 0) < 20} == {}


def test_a_change_beyond_rounding_is_found() -> None:
    stored = {"two classes": {"rows": {"f1": [0.5, None, 1e-17], "ks": [0.25]}}}
    same = {"two classes": {"rows": {"f1": [0.5 + 1e-13, None, 0.0], "ks": [0.25]}}}
    assert find_changes(stored, same) == []
    for numbers in ([0.5 + 1e-11, None, 0.0], [0.5, 0.5, 0.0], [0.5, None], [None, None, 0.0]):
        now = {"two classes": {"rows": {"f1": numbers, "ks": [0.25]}}}
        assert find_changes(stored, now) == ["f1 (two classes, rows)"]
