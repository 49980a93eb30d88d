# SPDX-License-Identifier: Apache-2.0
"""The layouts for Foxglove and PlotJuggler show what a node publishes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from calib_node.ros.mismatch import type_name

from .harness import SECOND, World

LAYOUTS = Path(__file__).resolve().parents[2] / 'config' / 'layouts'
OF_CALIB_PLOT = '/calib_plot/image'


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, (str, int, float, bool)):
        return [value] if isinstance(value, str) else []
    return [text for one in value for text in texts(one)]


def test_what_the_layouts_name_is_published(world: World):
    _, client = world.connected({'ece.period': 0.05})
    client.teach(SECOND, 0.9, 1)
    client.spin_until(lambda: client.ece and client.raw_ece, 'the figures')
    published = {
        '/ece': client.ece, '/raw_ece': client.raw_ece,
        '/raw_probabilities': [0.0] * 3, '/calibrated_probabilities': client.calibrated[-1].data,
    }  # fmt: skip
    status = client.status
    paths = [
        text
        for text in texts(json.loads((LAYOUTS / 'foxglove.json').read_text()))
        if re.match(r'/\w+\.data', text)
    ]
    curves = ElementTree.parse(LAYOUTS / 'plotjuggler.xml').getroot().iter('curve')
    names = [curve.attrib['name'] for curve in curves]
    assert len(paths) == 4
    assert len(names) == 4
    for path in [*paths, *names]:
        topic, index = re.fullmatch(r'(/\w+)[./]data(?:\[(\d)\])?', path).groups()
        assert topic in published, path
        if index:
            assert int(index) < len(published[topic])
    whole = (LAYOUTS / 'foxglove.json').read_text()
    assert f'"{status.hardware_id}"' in whole
    assert f'"{status.name}"' in whole
    assert f'"{OF_CALIB_PLOT}"' in whole
    topics = dict(client.node.get_topic_names_and_types())
    assert topics['/diagnostics'] == [type_name(type(client.statuses[-1][0]))]


def test_the_panels_that_are_laid_out_are_described():
    layout = json.loads((LAYOUTS / 'foxglove.json').read_text())
    shown = [text for text in texts(layout['layout']) if '!' in text]
    assert sorted(shown) == sorted(layout['configById'])
