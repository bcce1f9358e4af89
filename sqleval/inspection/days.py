"""Checks label maturity: the share of rows with a label, day by day."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from math import sqrt

from sqleval.common.columns import Column
from sqleval.common.sql_text import write_name
from sqleval.inspection.columns import Facts, read_rows
from sqleval.inspection.data import Inspection
from sqleval.inspection.findings import Finding, format_share, list_first, problem

#: A day is reported if its share is lower by this many standard errors and this part of the usual.
_ERRORS, _PART = 5, 0.1
#: The number of days that are named; further ones are counted.
_SHOWN = 3
#: The number of last days that are compared.
_DAYS = 400


def check_days(data: Inspection, label: Facts, time: Facts) -> Iterator[Finding]:
    """Yield the last days if a smaller share of their rows has labels than before."""
    if not 0 < label.missing < label.rows:
        return
    cast = "TRY_CAST" if time.column.kind == "text" else "CAST"
    day = f"{cast}({time.value} AS DATE)"
    select = f"{day}, COUNT(*), COUNT(CASE WHEN {label.write_test(finite=False)} THEN 1 END)"
    tail = f" WHERE {day} IS NOT NULL GROUP BY 1 ORDER BY 1 DESC LIMIT {_DAYS}"
    days = read_rows(data.source, select, [time.name, label.name], tail)
    young = _count_young([(n, labelled) for _, n, labelled in days])
    if not young:
        return
    before = days[young:]
    share = format_share(sum(row[2] for row in before), sum(row[1] for row in before))
    texts = [f"{d}: {format_share(k, n)} labelled" for d, n, k in days[:young]]
    shown = list_first(texts, ", {} more days", _SHOWN)
    advice = _advise_to_wait(time.column, days[0][0], days[young][0])
    yield problem("label maturity", label.name, f"{shown}; {share} before", advice)


def _advise_to_wait(time: Column, last: date, complete: date) -> str:
    wait = (last - complete).days
    until = f"{write_name(time.name)} < DATE '{complete + timedelta(days=1)}'"
    if time.kind == "text":
        until = f"{write_name(time.name)} <= '{complete}'"
    days = "a day" if wait == 1 else f"{wait} days"
    shown = shlex.quote(until) if '"' in until else f'"{until}"'
    return f"labels take {days}; --where {shown} leaves these rows out"


def _count_young(days: Sequence[tuple[int, int]]) -> int:
    """Return how many of the last days have clearly fewer labels than the days before.

    ``days`` are rows and labels of each day, the last day first. Days are compared with the
    earliest three quarters. A day counts if its share is lower by 5 standard errors and by a tenth
    of the usual share.
    """
    old: Sequence[tuple[int, int]] = days[len(days) // 4 :] if len(days) >= 4 else ()
    rows = sum(n for n, _ in old)
    if not rows:
        return 0
    usual = sum(labelled for _, labelled in old) / rows
    young = 0
    for n, labelled in days[: len(days) // 4]:
        gap = usual - labelled / n
        if gap <= max(_PART * usual, _ERRORS * sqrt(usual * (1 - usual) / n)):
            break
        young += 1
    return young
