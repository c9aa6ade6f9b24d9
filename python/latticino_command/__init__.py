"""The start of the `latticino` command. It is outside of the package, which takes a second to load: Ctrl-C during that
second ends the process without a traceback."""

import signal


def main() -> int:
    """Loads the package and runs the command."""
    asked = signal.getsignal(signal.SIGINT)
    if asked is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from latticino.cli import main as run

    if asked is signal.default_int_handler:
        signal.signal(signal.SIGINT, asked)
    return run()
