# SPDX-License-Identifier: Apache-2.0
"""What the command lines of all tools share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

# `ros2 run` and launch files part the arguments by these.
OF_ROS = ('--ros-args', '--')


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Return what a command line says; complete it instead where a shell asks for that."""
    complete(parser)
    return parser.parse_args([argument for argument in arguments if argument not in OF_ROS])


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that completes a command line, where argcomplete is installed."""
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser)
