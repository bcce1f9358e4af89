"""The critical-difference diagram: its groups, its marks, and what cannot be drawn."""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sqleval import RequestError
from sqleval.errors import MissingExtra
from sqleval.plots.charts import draw_critical_difference, save_chart
from sqleval.plots.ranks import find_groups

pytestmark = pytest.mark.slow  # drawing asks nothing of the engine

#: Demsar (2006), table 6 and figure 1b.
FRAME = pl.DataFrame(
    {"model": ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"], "rank": [3.143, 2.0, 2.893, 1.964]}
)
BAR, RULER = "#D55E00", "critical difference"


def svg(tmp_path: Path, *args: Any, **options: Any) -> str:
    path = tmp_path / "picture.svg"
    save_chart(draw_critical_difference(*args, **options), str(path))
    return path.read_text(encoding="utf-8")


@pytest.mark.long
def test_the_figure_of_demsar(tmp_path: Path) -> None:
    text = svg(tmp_path, FRAME, 1.12, title="C4.5 on 14 data sets")
    for name in ("C4.5 (3.14)", "C4.5+m (2.00)", "C4.5+cf (2.89)", "C4.5+m+cf (1.96)"):
        assert f">{name}</text>" in text
    for label in ("C4.5 on 14 data sets", f"{RULER} 1.12", ">1<", ">4<"):
        assert label in text
    assert len(re.findall(f'stroke="{BAR}"', text)) == 2
    assert "NaN" not in text


def test_groups_are_the_largest_that_do_not_differ() -> None:
    ranks = [1.0, 1.5, 2.0, 4.0, 4.0]
    assert find_groups(ranks, 1.0) == [(1.0, 1.5), (1.5, 2.0), (4.0, 4.0)]
    assert find_groups(ranks, 1.01) == [(1.0, 2.0), (4.0, 4.0)]
    assert find_groups(ranks, 9.0) == [(1.0, 4.0)]
    assert find_groups(ranks[:3], 0.1) == find_groups([], 1.0) == []


@pytest.mark.long
@pytest.mark.parametrize("critical_difference", [None, float("nan")])
def test_without_a_critical_difference_there_are_no_bars(
    critical_difference: float | None, tmp_path: Path
) -> None:
    text = svg(tmp_path, FRAME, critical_difference)
    assert RULER not in text
    assert BAR not in text


@pytest.mark.medium
def test_many_models_have_a_name_each(tmp_path: Path) -> None:
    ranks = np.random.default_rng(1).uniform(1, 40, 40)
    frame = pl.DataFrame({"n": np.arange(40), "average": ranks})
    text = svg(tmp_path, frame, 60.0, model="n", rank="average")
    for n, rank in zip(range(40), ranks, strict=True):
        assert f">{n} ({rank:.2f})</text>" in text
    # Ticks are at every fourth rank, and at both ends.
    assert [int(n) for n in re.findall(r">(\d+)</text>", text)] == [1, *range(4, 40, 4), 40]
    assert f"{RULER} 60.00" in text


@pytest.mark.medium
def test_models_without_a_rank_are_left_out(tmp_path: Path) -> None:
    frame = pl.DataFrame({"model": ["<a>", None, "c"], "rank": [1.0, 2.0, None]})
    text = svg(tmp_path, frame, 0.5)
    assert "&lt;a&gt; (1.00)" in text
    assert "NULL (2.00)" in text
    assert "c (" not in text


def test_what_cannot_be_drawn() -> None:
    for frame in (FRAME.head(1), FRAME.clear(), FRAME.with_columns(rank=None)):
        with pytest.raises(RequestError, match="mean ranks: nothing to draw, a rank is needed"):
            draw_critical_difference(frame, 1.0)
    with pytest.raises(RequestError, match="mean ranks need the column 'rank'; columns"):
        draw_critical_difference(FRAME.drop("rank"), 1.0)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sqleval\[plot\]'"):
        draw_critical_difference(FRAME, 1.0)
