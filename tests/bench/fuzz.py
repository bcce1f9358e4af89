"""Random names, conditions, headers, job files and bytes: ``python -m tests.bench.fuzz``.

    python -m tests.bench.fuzz --minutes 5        prints what came of how many inputs, by target
    python -m tests.bench.fuzz --target job --seed 7

Every input gives a result or a `SqlevalError`. Any other exception is a finding, and so is a
crash or a hang of the process that tries a batch of inputs.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.support.fuzzing import TARGETS, try_inputs

#: Inputs a process, and the seconds after which it is taken for a hang.
BATCH, LIMIT = 40, 120


def work(target: str, seed: int, count: int) -> None:
    """Try inputs in this process; print each input beforehand, and the outcomes."""
    for outcome, text in try_inputs(target, seed, count):
        print(json.dumps([outcome, text]), flush=True)


def run_batch(target: str, seed: int) -> tuple[Counter[str], list[str]]:
    """Try a batch in a process of its own; return the counts by outcome, and the findings."""
    command = [sys.executable, "-m", "tests.bench.fuzz", "--work", target, str(seed), str(BATCH)]
    end = ""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=LIMIT, check=False, cwd=Path(__file__).parents[2]
        )
        output = done.stdout
        if done.returncode:
            end = f"crash {done.returncode}: {done.stderr[-800:].decode(errors='replace')}"
    except subprocess.TimeoutExpired as error:
        output, end = error.stdout or b"", "hang"
    lines = [json.loads(line) for line in output.splitlines() if line.startswith(b'["')]
    counts = Counter(outcome for outcome, _ in lines)
    findings = [f"{outcome}: {text}" for outcome, text in lines if outcome.startswith("!")]
    if end:
        counts[end.partition(" ")[0]] += 1
        findings.append(f"{end} (after {len(lines)} inputs)")
    return counts, findings


def main() -> None:
    """Run targets in turn until the time is up."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work[0], int(given.work[1]), int(given.work[2]))
        return
    targets = given.target or list(TARGETS)
    counts: dict[str, Counter[str]] = {target: Counter() for target in targets}
    shown: set[tuple[str, str]] = set()
    end, seed = time.monotonic() + 60 * given.minutes, given.seed
    while time.monotonic() < end:
        for target in targets:
            new, findings = run_batch(target, seed)
            counts[target] += new
            for finding in findings:
                kind = re.sub(r"[\W\d]+", " ", re.sub(r"'.*?'|input \d+", "", finding))[:60]
                if (target, kind) not in shown:
                    print(f"{target}, seed {seed}: {finding}", flush=True)
                shown.add((target, kind))
        seed += 1
    for target, each in counts.items():
        print(f"{target}: {', '.join(f'{n} {outcome}' for outcome, n in sorted(each.items()))}")
    raise SystemExit(int(bool(shown)))


if __name__ == "__main__":
    main()
