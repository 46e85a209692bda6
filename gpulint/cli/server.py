"""`gpulint server`."""

from __future__ import annotations

import contextlib
import logging
import sys
from importlib.util import find_spec

import click

from gpulint.cli import options
from gpulint.cli.extras import install
from gpulint.cli.options import UserError


@click.command("server")
@click.option("--stdio", is_flag=True, help="Use standard input and output; the default.")
@click.option("--tcp", metavar="[HOST:]PORT", help="Wait for one client on a port instead.")
@click.option("--verbose", "-v", is_flag=True, help="Log the protocol to standard error.")
@options.configuration
def command(
    stdio: bool,
    tcp: str | None,
    verbose: bool,
    configs: tuple[str, ...],
    isolated: bool,
    target_tensorflow: str | None,
    trust: bool,
) -> None:
    """Serve an editor by the Language Server Protocol.

    It shows findings as you type, fixes, the predicted device under the cursor, and hints of devices and batch sizes.
    docs/editors.md has the setup of several editors. Needs `pip install pygls`.
    """
    if stdio and tcp is not None:
        raise UserError("--stdio and --tcp exclude each other")
    if find_spec("pygls") is None or find_spec("lsprotocol") is None:
        raise UserError(f"the language server needs pygls: {install('server')}")
    from gpulint.server import serving
    from gpulint.server.handlers import server

    logging.basicConfig(level=logging.DEBUG if verbose else logging.ERROR, stream=sys.stderr)
    finder = options.finder(configs, isolated, {}, target_tensorflow, trust)
    application = server(finder, installed=not isolated)
    if tcp is not None:
        try:
            sys.exit(serving.on_port(application, *_address(tcp)))
        except OSError as error:
            raise UserError(f"--tcp {tcp}: {error.strerror or error}") from None
    channel = sys.stdout.buffer
    with contextlib.redirect_stdout(sys.stderr):  # a plug-in rule can print
        status = serving.on_files(application, sys.stdin.buffer, channel)
    sys.exit(status)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise UserError(f"--tcp {text}: `{port}` is not a port")
    return host or "127.0.0.1", int(port)
