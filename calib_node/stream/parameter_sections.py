# SPDX-License-Identifier: Apache-2.0
"""The sections of parameter files, and which of them are for a node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

PARAMETERS = 'ros__parameters'
# What stands for any names, and for any one name.
WILDCARDS = {'**': '(/[^/]+)*', '*': '/[^/]+'}


def sections(content: Any, above: str = '') -> Iterator[tuple[str, Any]]:
    """Yield the sections of a file with what they hold.

    Parameters
    ----------
    content : object
        As YAML gives it.

    Examples
    --------
    >>> list(sections({'/**': {'ros__parameters': {'gamma': 0.2}}}))
    [('/**', {'gamma': 0.2})]
    """
    for key, value in content.items() if isinstance(content, dict) else ():
        if key == PARAMETERS:
            yield above, value
        else:
            yield from sections(value, f'{above}/{str(key).strip("/")}')


def fits(section: str, node: str) -> bool:
    """Return whether a section is for the node of a fully qualified name.

    Examples
    --------
    >>> fits('/**', '/front/calib_node'), fits('/*/calib_node', '/calib_node')
    (True, False)
    """
    parts = section.strip('/').split('/')
    pattern = ''.join(WILDCARDS.get(part, f'/{re.escape(part)}') for part in parts)
    return re.fullmatch(pattern, node) is not None
