"""Kills of a run, and of a removal, at each of their writes, with two stores of the history.

``python -m tests.bench.kills`` kills a command before and after each write, repeats it, and counts
the points after which the results equal those of an undisturbed run.
"""

import tempfile
from pathlib import Path

from tests.support.kills import Night, check_point, prepare_night, prepare_removal


def check(store: str, night: Night) -> None:
    """Kill the command at each point, and print the count."""
    for point in range(night.points):
        check_point(night, point)
    name = " ".join(night.command[:2])
    print(f"{store}, {name}: {night.points} kills, nothing lost, nothing doubled")


def main() -> None:
    """Kill both commands over both stores."""
    for store in ("duckdb", "delta"):
        with tempfile.TemporaryDirectory() as folder:
            night = prepare_night(Path(folder), store)
            check(store, night)
            check(store, prepare_removal(night))


if __name__ == "__main__":
    main()
