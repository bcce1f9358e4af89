"""Groups of commands: the group of all commands, and groups with a default command."""

from typing import Any

import click

from sqleval.cli.exits import CLOSED
from sqleval.errors import EngineError

#: Words that users often try as a command, and the command to write instead.
_ELSEWHERE = {"plot": "draw with sqleval curve NAME SOURCE ... --plot FILE"}


class Commands(click.Group):
    """All commands; an unknown word is an error, which may name the right command."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a closed connection is an error of the engine.

        click would mistake its BrokenPipeError for a closed stdout, and end without a message.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise EngineError(CLOSED) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments begin with, and the other arguments."""
        if args[0] in _ELSEWHERE:
            raise click.UsageError(f"No such command {args[0]!r}: {_ELSEWHERE[args[0]]}", ctx)
        return super().resolve_command(ctx, args)


class DefaultCommand(click.Group):
    """A group with a default command: `sqleval split SOURCE` is `sqleval split make SOURCE`."""

    def __init__(self, *args: Any, default: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; without the name of a command, they go to the default command."""
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = [self._default, *args]
        return super().parse_args(ctx, args)
