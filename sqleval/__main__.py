"""``python -m sqleval``."""

from sqleval.cli import main

main()
