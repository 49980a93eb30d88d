# SPDX-License-Identifier: Apache-2.0
"""What a state file holds, as a table and as YAML."""

from __future__ import annotations

from typing import Any, Protocol

import yaml

from calib_node.core.refusal import brief
from calib_node.core.state.fields import StateError


class Learner(Protocol):
    """What a state file asks of a calibrator."""

    @property
    def name(self) -> str:
        """Name of the method."""

    @property
    def updates(self) -> int:
        """Number of labels learned."""

    def state(self) -> dict[str, Any]:
        """Return all that was learned, ready for YAML."""

    def restore(self, state: dict[str, Any], /) -> None:
        """Take over what `state` gave, or raise a StateError and change nothing."""


FORMAT = 'calib_node/state'
VERSION = 1

# The same text and the same values, several times as fast where PyYAML was built with libyaml: a
# method that keeps a window of samples has thousands of numbers to save.
SAFE_DUMPER = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
# A class of its own, so that what is added to it is in no other user's loader.
SAFE_LOADER: Any = type('StateLoader', (getattr(yaml, 'CSafeLoader', yaml.SafeLoader),), {})


def _whole_number(loader: Any, node: Any) -> int:
    """Return an int of 64 bits; Python cannot write out those of some thousand digits."""
    number: int = loader.construct_yaml_int(node)
    if not -(2**63) <= number < 2**63:
        raise ValueError('a whole number of it is too large')
    return number


SAFE_LOADER.add_constructor('tag:yaml.org,2002:int', _whole_number)


def make_document(calibrator: Learner, node: str) -> dict[str, Any]:
    """Return what the state file holds, but for the time of saving."""
    return {
        'format': FORMAT,
        'version': VERSION,
        'method': calibrator.name,
        'node': node,
        **calibrator.state(),
    }


def restore_document(calibrator: Learner, document: dict[str, Any]) -> None:
    """Check a document read from a file and let the calibrator take it over.

    Raises
    ------
    StateError
        If it is not a sound state of the calibrator's method; the calibrator is unchanged then.
    """
    if document.get('format') != FORMAT:
        raise StateError(f'format is {brief(document.get("format"))} instead of {FORMAT!r}')
    version = document.get('version')
    if version != VERSION or isinstance(version, bool):
        raise StateError(f'version is {brief(version)}, and this release reads version {VERSION}')
    calibrator.restore(document)


def to_yaml(document: dict[str, Any]) -> str:
    """Return the text of a document."""
    text: str = yaml.dump(document, Dumper=SAFE_DUMPER, sort_keys=False, default_flow_style=None)
    return text


def from_yaml(text: str) -> dict[str, Any]:
    """Return the document that a text holds, by safe loading.

    Raises
    ------
    StateError
        If it is no table in YAML.
    """
    try:
        document = yaml.load(text, Loader=SAFE_LOADER)
    except Exception as error:
        # Beside YAMLError the loader lets through whatever a bad value raises in Python.
        raise StateError(f'it is not YAML: {" ".join(str(error).split())}') from None
    if not isinstance(document, dict):
        raise StateError('it is not a table of fields')
    return document
