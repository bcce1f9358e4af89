"""Count the outcomes of damaged Parquet files: errors, no change, or silently other numbers.

    python -m tests.bench.damages                60 damages of each kind, codec and file
    python -m tests.bench.damages --each 10      so many

Every damage is one file, evaluated twice: as it is, and with ``verify=True``. Then files are
replaced, rewritten and removed while they are read.
"""

import argparse
import random
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sqleval
from sqleval import DataError, SqlevalError

#: Outcomes, the good ones first.
ERROR, SAME, UNNAMED, CHANGED = "error", "no change", "error without file", "other number"
CODECS = ("none", "snappy", "gzip", "zstd")
#: Damages of each kind, codec and file.
EACH = 60
Rows = list[tuple[object, ...]]


def write_rows(
    path: Path, codec: str, *, checksums: bool, seed: int = 7, rows: int = 6_000
) -> Rows:
    """Write predictions in three row groups; return their metrics."""
    rng = np.random.default_rng(seed)
    label = (rng.random(rows) < 0.3).astype(np.int8)
    score = 1 / (1 + np.exp(-(rng.standard_normal(rows) + label)))
    columns = {"y": label, "p": score.round(5), "g": rng.integers(0, 3, rows).astype(str)}
    pq.write_table(
        pa.table(columns), path, compression=codec, row_group_size=rows * 2 // 5,
        data_page_size=4096, write_page_checksum=checksums,
    )  # fmt: skip
    return evaluate(path)


def evaluate(path: Path, *, verify: bool = False) -> Rows:
    """Return metrics of a file or folder by slice."""
    bound = sqleval.scan(str(path), label="y", score="p", by="g", verify=verify)
    found = bound.evaluate(["roc_auc", "log_loss", "prevalence"]).collect()
    return found.select("g", "metric", "n", "n_dropped", "value").rows()


def are_equal(found: Rows, expected: Rows) -> bool:
    """Whether results are equal up to the order in which doubles were added."""
    return [row[:-1] for row in found] == [row[:-1] for row in expected] and np.allclose(
        [row[-1] for row in found], [row[-1] for row in expected], rtol=0, atol=1e-12
    )


def judge(path: Path, expected: Rows, *, verify: bool = False) -> str:
    """Evaluate a damaged file; return the outcome."""
    try:
        return SAME if are_equal(evaluate(path, verify=verify), expected) else CHANGED
    except DataError:
        return ERROR  # of the rows, which names the column
    except SqlevalError as error:
        return ERROR if path.name in str(error) else UNNAMED
    except Exception:
        return UNNAMED


def list_damages(
    raw: bytes, chunks: list[int], each: int, seed: int = 0
) -> Iterator[tuple[str, bytes]]:
    """Yield kinds of damage and the damaged content; ``chunks`` are the first pages of columns."""
    rng = random.Random(seed)
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")

    def flip(at: int) -> bytes:
        changed = bytearray(raw)
        changed[at] ^= 1 << rng.randrange(8)
        return bytes(changed)

    yield "empty", b""
    yield "zeros", bytes(len(raw))
    yield "wrong magic", raw[:-4] + b"PAR2"
    yield "wrong magic", raw[:-4] + b"PARE"
    for _ in range(each):
        yield "truncated", raw[: rng.randrange(1, len(raw))]
        yield "footer", flip(rng.randrange(footer, len(raw)))
        yield "page header", flip(rng.choice(chunks) + rng.randrange(24))
        yield "page", flip(rng.randrange(4, footer))
        at = rng.randrange(4, footer - 64)
        yield "64 bytes of a page", raw[:at] + bytes(64) + raw[at + 64 :]


def list_chunks(path: Path) -> list[int]:
    """Return where the first page of each column chunk starts."""
    metadata = pq.read_metadata(path)
    chunks = [
        metadata.row_group(group).column(i)
        for group in range(metadata.num_row_groups)
        for i in range(metadata.num_columns)
    ]
    return [chunk.dictionary_page_offset or chunk.data_page_offset for chunk in chunks]


def sweep(
    folder: Path, codec: str, each: int, *, checksums: bool
) -> Counter[tuple[str, bool, str]]:
    """Judge damages of one file; count them by kind, ``verify`` and outcome."""
    whole = folder / f"{codec}-{checksums}.parquet"
    expected = write_rows(whole, codec, checksums=checksums)
    counts: Counter[tuple[str, bool, str]] = Counter()
    for i, (kind, content) in enumerate(list_damages(whole.read_bytes(), list_chunks(whole), each)):
        damaged = folder / f"{whole.stem}-{i}.parquet"
        damaged.write_bytes(content)
        for verify in (False, True):
            counts[kind, verify, judge(damaged, expected, verify=verify)] += 1
        damaged.unlink()
    return counts


def move(folder: Path, rounds: int) -> Counter[tuple[str, str]]:
    """Change a file while it is read; count the outcomes by kind of change."""
    versions = [folder / "one.keep", folder / "two.keep"]
    source = folder / "moved" / "rows.parquet"
    source.parent.mkdir(exist_ok=True)
    results: list[Rows] = []
    for seed, version in enumerate(versions):
        write_rows(source, "none", checksums=False, seed=seed, rows=300_000)
        version.write_bytes(source.read_bytes())
        results.append(evaluate(source))
    rng = random.Random(0)
    counts: Counter[tuple[str, str]] = Counter()
    for _ in range(rounds):
        for kind in ("replaced", "rewritten", "removed"):
            source.write_bytes(versions[0].read_bytes())

            def change(kind: str = kind, delay: float = rng.random() * 0.25) -> None:
                time.sleep(delay)
                if kind == "removed":
                    source.unlink()
                elif kind == "rewritten":
                    source.write_bytes(versions[1].read_bytes())
                else:
                    draft = folder / "draft"
                    draft.write_bytes(versions[1].read_bytes())
                    draft.replace(source)

            changing = threading.Thread(target=change)
            changing.start()
            counts[kind, _judge_version(source, results)] += 1
            changing.join()
    return counts


def _judge_version(source: Path, results: list[Rows]) -> str:
    try:
        found = evaluate(source)
    except SqlevalError as error:
        return ERROR if source.name in str(error) else UNNAMED
    return "one version" if any(are_equal(found, each) for each in results) else CHANGED


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=EACH)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    outcomes = (ERROR, SAME, UNNAMED, CHANGED)
    print(f"{'damage':20} {'checksums':9} {'verify':6} " + " ".join(f"{o:>18}" for o in outcomes))
    with tempfile.TemporaryDirectory() as name:
        for checksums in (False, True):
            total: Counter[tuple[str, bool, str]] = Counter()
            for codec in CODECS:
                total += sweep(Path(name), codec, arguments.each, checksums=checksums)
            for kind in dict.fromkeys(kind for kind, _, _ in total):
                for verify in (False, True):
                    numbers = " ".join(f"{total[kind, verify, o]:18}" for o in outcomes)
                    print(f"{kind:20} {checksums!s:9} {verify!s:6} {numbers}")
        for (kind, outcome), count in sorted(move(Path(name), arguments.rounds).items()):
            print(f"{kind} while it is read: {outcome} {count}")


if __name__ == "__main__":
    main()
