"""Kills of a run at each of its writes, with two stores of the history.

``python -m tests.bench.kills`` kills a run before and after each write, runs the job again, and
counts the points after which everything is as if nothing had happened.
"""

import tempfile
from pathlib import Path

from tests.support.kills import check_point, prepare_night


def main() -> None:
    """Print the counts."""
    for store in ("duckdb", "delta"):
        with tempfile.TemporaryDirectory() as folder:
            night = prepare_night(Path(folder), store)
            for point in range(night.points):
                check_point(night, point)
            print(f"{store}: {night.points} kills, nothing lost, nothing doubled")


if __name__ == "__main__":
    main()
