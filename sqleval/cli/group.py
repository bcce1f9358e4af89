"""Groups of commands: of all of them, and of those with a default command."""

from typing import Any

import click

from sqleval.cli.exits import CLOSED
from sqleval.errors import EngineError

#: Words that are often tried as a command, and the command to write instead.
_ELSEWHERE = {"plot": "draw with sqleval curve NAME SOURCE ... --plot FILE"}


class Commands(click.Group):
    """The commands; an unknown word is an error that names the command for it."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a connection that was closed is an error of the engine.

        click would take its BrokenPipeError for the pipe of stdout, and end without a word.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise EngineError(CLOSED) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments begin with, and the rest of them."""
        if args[0] in _ELSEWHERE:
            raise click.UsageError(f"No such command {args[0]!r}: {_ELSEWHERE[args[0]]}", ctx)
        return super().resolve_command(ctx, args)


class DefaultCommand(click.Group):
    """A group with a default command: `sqleval split SOURCE` is `sqleval split make SOURCE`."""

    def __init__(self, *args: Any, default: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; those that name no command are the default command's."""
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = [self._default, *args]
        return super().parse_args(ctx, args)
