# SPDX-License-Identifier: Apache-2.0
"""What a section of a report holds."""

from __future__ import annotations

from dataclasses import dataclass, field

from calib_node.report.figures.base import Figure


@dataclass
class Table:
    """A table of texts, its header first."""

    caption: str
    rows: list[list[str]]


@dataclass
class Section:
    """A question and what answers it.

    Attributes
    ----------
    name, question : str
    texts : list of str
        Paragraphs, the answer first.
    figures : list of Figure
    tables : list of Table
    code : str
        YAML.
    """

    name: str
    question: str
    texts: list[str]
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    code: str = ''
