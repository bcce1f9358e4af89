"""Kills of a run, and of a removal, at each of their writes, with two stores of the history.

``python -m tests.bench.kills`` kills a command before and after each write, repeats it, and counts
the points after which everything is as if nothing had happened.
"""

import tempfile
from pathlib import Path

from tests.support.kills import check_point, prepare_night, prepare_removal


def main() -> None:
    """Print the counts."""
    for store in ("duckdb", "delta"):
        with tempfile.TemporaryDirectory() as folder:
            for prepare in (prepare_night, prepare_removal):
                home = Path(folder) / prepare.__name__
                home.mkdir()
                night = prepare(home, store)
                for point in range(night.points):
                    check_point(night, point)
                name = " ".join(night.command[:2])
                print(f"{store}, {name}: {night.points} kills, nothing lost, nothing doubled")


if __name__ == "__main__":
    main()
