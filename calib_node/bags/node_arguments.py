# SPDX-License-Identifier: Apache-2.0
"""What a node would take from its command line, without ROS: parameters, remaps and its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from calib_node.bags.problems import RecordingError, one_line
from calib_node.stream.parameter_sections import fits, sections
from calib_node.stream.settings import flattened

NAME = 'calib_node'


class Remap(NamedTuple):
    """A rule that gives a name another."""

    node: str
    name: str
    other: str


@dataclass(frozen=True)
class NodeArguments:
    """A node's name, parameters and topics, as rcl makes them of the same arguments.

    Attributes
    ----------
    node : str
        Fully qualified name.
    parameters : dict
        Values by dotted names.
    remaps : tuple of Remap
        Those of topics.
    files : tuple of Path
        The parameter files.
    """

    node: str
    parameters: dict[str, Any] = field(default_factory=dict)
    remaps: tuple[Remap, ...] = ()
    files: tuple[Path, ...] = ()

    def topic(self, name: str) -> str:
        """Return the topic that a name of the node stands for."""
        expanded = self._expanded(name)
        own = self.node.rpartition('/')[2]
        for rule in self.remaps:
            if rule.node in ('', own) and self._expanded(rule.name) == expanded:
                return self._expanded(rule.other)
        return expanded

    def _expanded(self, name: str) -> str:
        for prefix in ('rostopic://', 'rosservice://'):
            name = name.removeprefix(prefix)
        if name.startswith('/'):
            return name
        if name == '~' or name.startswith('~/'):
            return self.node + name[1:]
        return f'{self.node.rpartition("/")[0]}/{name}'


def node_arguments(
    files: Sequence[str], parameters: Sequence[str], remaps: Sequence[str], name: str = NAME
) -> NodeArguments:
    """Return what a node takes from ``--params-file``, ``-p`` and ``-r``.

    Parameters
    ----------
    files : sequence of str
        Paths of parameter files; a later one wins.
    parameters : sequence of str
        As ``name:=value``, the value in YAML; they win over files.
    remaps : sequence of str
        As ``from:=to``; ``__node`` and ``__ns`` name the node.
    name : str
        Of the node, unless a remap gives it another.

    Raises
    ------
    RecordingError
        If a file or an argument is not what it should be.
    """
    rules = [_rule(text) for text in remaps]
    special = {rule.name: rule.other for rule in rules if rule.name.startswith('__')}
    namespace = special.get('__ns', '/').strip('/')
    own = special.get('__node', special.get('__name', name))
    node = f'/{namespace}/{own}' if namespace else f'/{own}'
    values: dict[str, Any] = {}
    for path in files:
        values.update(_of_file(Path(path), node))
    for text in parameters:
        values.update(_of_argument(text, own))
    topics = tuple(rule for rule in rules if not rule.name.startswith('__'))
    return NodeArguments(node, values, topics, tuple(map(Path, files)))


def _rule(text: str) -> Remap:
    before, separator, other = text.partition(':=')
    if not separator or not before or not other:
        raise RecordingError(f'-r {text}: a remap is written from:=to, as in raw_probabilities:=/p')
    if before.startswith(('rostopic://', 'rosservice://')):
        return Remap('', before, other)
    node, colon, name = before.partition(':')
    return Remap(node, name, other) if colon else Remap('', before, other)


def _of_argument(text: str, node: str) -> dict[str, Any]:
    before, separator, value = text.partition(':=')
    if not separator or not before:
        raise RecordingError(f'-p {text}: a parameter is written name:=value, as in gamma:=0.2')
    owner, colon, name = before.partition(':')
    if colon and owner != node:
        return {}
    try:
        return {name if colon else before: yaml.safe_load(value)}
    except yaml.YAMLError as error:
        raise RecordingError(f'-p {text}: the value is not YAML ({one_line(error)})') from None


def _of_file(path: Path, node: str) -> dict[str, Any]:
    """Return what a parameter file has for a node; what is for this node alone comes last."""
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise RecordingError(f'--params-file {path} cannot be read: {one_line(error)}') from None
    found = list(sections(content))
    if not found:
        raise RecordingError(
            f'--params-file {path} has no parameters: they stand under "/**:" and '
            '"ros__parameters:"'
        )
    fitting = [(name, values) for name, values in found if fits(name, node)]
    if not fitting:
        raise RecordingError(
            f'--params-file {path} has no section for {node}, only for '
            f'{", ".join(name for name, _ in found)}; a section /** is for every node, and '
            '-r __node:=NAME -r __ns:=NAMESPACE name this one'
        )
    values: dict[str, Any] = {}
    for _, section in sorted(fitting, key=lambda entry: entry[0] == node):
        values.update(flattened(section or {}))
    return values
