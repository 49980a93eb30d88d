# SPDX-License-Identifier: Apache-2.0
"""Finds parameter files that rclpy leaves aside in silence, as they are for other nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from calib_node.stream.parameter_sections import fits, sections


def not_for(node: str, arguments: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """Return a warning for each parameter file in which no section is for a node.

    Parameters
    ----------
    node : str
        Fully qualified name of the node.
    arguments : sequence of str
        The command line, which rclpy has taken already.
    others : sequence of str
        Names of the other nodes in the process. A file may be for one of them, as long as there is
        one for the node.
    """
    files = {path: sections for path in _files(arguments) if (sections := _sections(path))}
    everyone = (node, *others)
    useless = [path for path in files if not any(_has(files[path], one) for one in everyone)]
    notes = [
        f'the parameters file {path} has no section for {" or ".join(sorted(everyone))}, only for '
        f'{", ".join(files[path])}; a section /** is for every node'
        for path in useless
    ]
    if len(useless) < len(files) and not any(_has(files[path], node) for path in files):
        notes.append(f'no parameters file has a section for {node}, only for others')
    return notes


def _files(arguments: Sequence[str]) -> Iterator[str]:
    of_ros = False
    for argument, following in zip(arguments, [*arguments[1:], '']):
        if argument in ('--ros-args', '--'):
            of_ros = argument == '--ros-args'
        elif of_ros and argument == '--params-file':
            yield following


def _sections(path: str) -> list[str]:
    try:
        content = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
    except (OSError, ValueError, yaml.YAMLError):
        # rclpy could read it, and what it made of it is in the ready line.
        return []
    return [name for name, _ in sections(content)]


def _has(sections: Sequence[str], node: str) -> bool:
    return any(fits(section, node) for section in sections)
