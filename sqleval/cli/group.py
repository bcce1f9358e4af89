"""The group of all commands: it says where to find what is no command of its own."""

import click

#: Words for something that another command does, and how it is written.
_ELSEWHERE = {"plot": "draw with sqleval curve NAME SOURCE ... --plot FILE"}


class Commands(click.Group):
    """The commands; an unknown word is an error that names the command for it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments begin with, and the rest of them."""
        if args[0] in _ELSEWHERE:
            raise click.UsageError(f"No such command {args[0]!r}: {_ELSEWHERE[args[0]]}", ctx)
        return super().resolve_command(ctx, args)
