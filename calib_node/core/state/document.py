# SPDX-License-Identifier: Apache-2.0
"""What a state file holds, as a table and as YAML."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Protocol

import yaml

from calib_node.core.refusal import brief
from calib_node.core.state.fields import StateError


class Learner(Protocol):
    """What a state file asks of a calibrator."""

    @property
    def name(self) -> str:
        """Name of the method."""

    @property
    def classes(self) -> int:
        """Number of probabilities in a forecast."""

    @property
    def updates(self) -> int:
        """Number of labels learned."""

    def state(self) -> dict[str, Any]:
        """Return all that was learned, ready for YAML."""

    def restore(self, state: dict[str, Any], /) -> None:
        """Take over what `state` gave, or raise a StateError and change nothing."""


class Origin(NamedTuple):
    """Which kind of calibrator a state is of; no other can use it."""

    method: str
    classes: int = 1

    def __str__(self) -> str:
        return f'method {self.method!r}' + (f' of {self.classes} classes' * (self.classes > 1))

    @property
    def suffix(self) -> str:
        """What is put behind the name of a state file that waits for its method."""
        return f'method-{self.method}' + f'-classes-{self.classes}' * (self.classes > 1)


class OtherOrigin(StateError):
    """A state of another method, or of another number of classes, which may be sound."""

    def __init__(self, sentence: str, origin: Origin) -> None:
        super().__init__(sentence)
        self.origin = origin


FORMAT = 'calib_node/state'
VERSION = 1

# What every release calls its methods, and what may be a part of a file's name.
METHOD_NAME = re.compile('[a-z][a-z0-9_]{0,63}')

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


def origin_of(calibrator: Learner) -> Origin:
    """Return the origin of a calibrator's states.

    Returns
    -------
    Origin
        Its method and its number of classes.
    """
    return Origin(calibrator.name, calibrator.classes)


def make_document(calibrator: Learner, node: str) -> dict[str, Any]:
    """Make the document of all that a calibrator has learned.

    Returns
    -------
    dict
        What the state file holds, but for the time of saving.
    """
    return {
        'format': FORMAT,
        'version': VERSION,
        'method': calibrator.name,
        'node': node,
        **calibrator.state(),
    }


def saved_origin(document: dict[str, Any]) -> Origin | None:
    """Tell which kind of calibrator a document says that it is of.

    Returns
    -------
    Origin or None
        None if it does not say so in a way that any release does, or is not whole.
    """
    method, classes = document.get('method'), document.get('classes', 1)
    if not isinstance(method, str) or not METHOD_NAME.fullmatch(method):
        return None
    if type(classes) is not int or classes < 1:
        return None
    # The last field of a file; what is between is its method's own.
    whole = isinstance(document.get('saved_at'), str)
    return Origin(method, classes) if whole else None


def restore_document(calibrator: Learner, document: dict[str, Any]) -> None:
    """Check a document read from a file and let the calibrator take it over.

    Raises
    ------
    OtherOrigin
        If it is a state of another method or number of classes, known to this release or not.
    StateError
        If it is no sound state. In both cases the calibrator is unchanged.
    """
    if document.get('format') != FORMAT:
        raise StateError(f'format is {brief(document.get("format"))} instead of {FORMAT!r}')
    version = document.get('version')
    if version != VERSION or isinstance(version, bool):
        raise StateError(f'version is {brief(version)}, and this release reads version {VERSION}')
    try:
        calibrator.restore(document)
    except StateError as error:
        origin = saved_origin(document)
        if origin in (None, origin_of(calibrator)):
            raise
        raise OtherOrigin(str(error), origin) from None


def to_yaml(document: dict[str, Any]) -> str:
    """Write a document as text.

    Returns
    -------
    str
        YAML, its floats such that they come back bit for bit.
    """
    text: str = yaml.dump(document, Dumper=SAFE_DUMPER, sort_keys=False, default_flow_style=None)
    return text


def from_yaml(text: str) -> dict[str, Any]:
    """Read a document from text, by safe loading.

    Returns
    -------
    dict
        The document; nothing of it is checked.

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
