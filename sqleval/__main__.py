"""``python -m sqleval``."""

from sqleval.cli.main import main

main()
