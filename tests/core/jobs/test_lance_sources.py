"""Jobs over a Lance dataset find changed fragments in its manifest."""

import shutil
from pathlib import Path

import lance
import polars as pl
import pytest

from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.lake import evaluated, on, rows
from tests.support.table_lakes import DAYS, LanceLake, check_values, reasons


@pytest.fixture(scope="module")
def evaluated_lake(tmp_path_factory: pytest.TempPathFactory) -> LanceLake:
    made = LanceLake(tmp_path_factory.mktemp("lance"))
    made.append(rows(days=3))
    made.run(backfill=True)
    return made


@pytest.fixture
def lake(evaluated_lake: LanceLake, tmp_path: Path) -> LanceLake:
    """A copy of a lake of three days that a run has evaluated."""
    made = LanceLake(tmp_path)
    shutil.copytree(evaluated_lake.folder, tmp_path, dirs_exist_ok=True)
    return made


def rewrite_scores(lake: LanceLake) -> None:
    """Rewrite the scores of the third day to a second file of their fragment."""
    fragment = lake.made.get_fragments()[2]
    changed = rows(days=3).filter(pl.col("key") >= 240).select("key", p=1 - pl.col("p"))
    meta, fields = fragment.update_columns(changed.to_arrow(), left_on="key", right_on="key")
    operation = lance.LanceOperation.Update(
        updated_fragments=[meta], fields_modified=fields, update_mode="rewrite_columns"
    )
    lance.LanceDataset.commit(str(lake.table), operation, read_version=lake.made.version)


@pytest.mark.parametrize("is_label", [False, True])
def test_a_compaction_after_a_change_that_no_run_has_seen(is_label: bool, lake: LanceLake) -> None:
    """Counts cannot show the change; for labels, neither rows nor deletes are counted."""
    if is_label:
        frame = lake.read().drop("y")
        frame.write_parquet(lake.folder / "preds" / "all.parquet")
        labels = {"source": "table.lance", "on": "key"}
        lake.spec |= {"name": "late", "source": "preds", "labels": labels}
        lake.run(backfill=True)
        lake.delete("key", 250)
    else:
        rewrite_scores(lake)
    lake.made.optimize.compact_files(materialize_deletions_threshold=0.0)
    assert len(lake.made.get_fragments()) == 1
    assert evaluated(lake.run()) == DAYS[:3]
    if not is_label:
        check_values(lake)


def test_updates_and_rewritten_columns(lake: LanceLake) -> None:
    """A row is updated in a new fragment; a column is rewritten in another file of a fragment."""
    lake.made.update({"p": "0.5"}, where="key = 150")
    rewrite_scores(lake)
    # An added column that the job does not read changes no day.
    lake.made.add_columns({"q": "p * 2"})
    assert reasons(lake.run()) == dict.fromkeys(DAYS[1:3], "data changed")
    check_values(lake)
    assert evaluated(lake.run(backfill=True)) == []
    # A column of the same name that replaces it changes all days.
    lake.made.drop_columns(["p"])
    lake.made.add_columns({"p": "1 - q / 2"})
    assert evaluated(lake.run()) == DAYS[:3]
    check_values(lake)


def test_a_dataset_that_is_overwritten(lake: LanceLake) -> None:
    """The new dataset has other fragments, although the rows of two days are the same."""
    lance.write_dataset(rows(days=2).to_arrow(), str(lake.table), mode="overwrite")
    assert reasons(lake.run()) == dict.fromkeys(DAYS[:2], "data changed")
    assert lake.history().sort("period")["n"].to_list() == [120] * 3
    lance.write_dataset(rows(days=1, start=3).to_arrow(), str(lake.table), mode="append")
    assert reasons(lake.run()) == {DAYS[3]: "new"}


def test_a_compaction_changes_no_day(lake: LanceLake) -> None:
    before = lake.history()
    assert lake.made.optimize.compact_files().fragments_removed == 3
    assert evaluated(lake.run(backfill=True)) == []
    # A day that is evaluated again is read from the new fragment.
    assert evaluated(lake.run(date=on(DAYS[1]), force=True)) == [DAYS[1]]
    assert_frame_equal(
        lake.history().select("period", "value", "n").sort("period"),
        before.select("period", "value", "n").sort("period"),
    )
    # One more day comes; then its fragment is merged with the other days' fragment.
    lake.append(rows(days=1, start=3))
    assert reasons(lake.run()) == {DAYS[3]: "new"}
    lake.made.optimize.compact_files()
    assert len(lake.made.get_fragments()) == 1
    assert evaluated(lake.run(backfill=True)) == []
    # If no run has seen a commit before the compaction, the days of all fragments are evaluated.
    lake.append(rows(days=1, start=3, seed=5))
    lake.made.optimize.compact_files()
    assert evaluated(lake.run()) == DAYS
    check_values(lake)


def test_deletes_after_a_compaction_that_no_run_has_seen(lake: LanceLake) -> None:
    lake.made.optimize.compact_files()
    lake.delete("key", 130)
    assert evaluated(lake.run()) == DAYS[:3]
    assert lake.history().sort("period")["n"].to_list() == [120, 119, 120]
    check_values(lake)


def test_the_command_reads_it_too(lake: LanceLake) -> None:
    lake.job(name="again", source="lance+table.lance")
    done = run("run", str(lake.folder / "job.yml"), "--backfill")
    assert "3 evaluated" in done.stdout + done.stderr
