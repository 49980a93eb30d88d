# SPDX-License-Identifier: Apache-2.0
"""config/calib.yaml follows the table, and a copy of it with a line changed does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from calib_node.stream.assembly import make_calibrator
from calib_node.stream.parameter_text import to_markdown, to_yaml
from calib_node.stream.settings import Settings
from calib_node.stream.table import BY_NAME, OF_METHODS, TABLE

CONFIG = Path(__file__).resolve().parents[2] / 'config' / 'calib.yaml'


def edited(*changes: tuple[str, str]) -> Settings:
    """Return the settings of a copy of the file with lines changed."""
    text = CONFIG.read_text()
    for before, after in changes:
        assert text.count(f' {before}\n') == 1
        text = text.replace(f' {before}\n', f' {after}\n')
    return Settings.from_mapping(yaml.safe_load(text)['/**']['ros__parameters'])


def test_the_file_and_the_rows_of_the_readme_follow_the_table():
    assert CONFIG.read_text() == to_yaml()
    rows = to_markdown().splitlines()[2:]
    assert [row.split('`')[1] for row in rows] == list(BY_NAME)


def test_the_file_as_it_is_gives_the_defaults():
    assert edited() == Settings.from_mapping({})


def test_every_line_that_is_commented_out_comes_into_force_by_itself():
    for spec in OF_METHODS:
        (line,) = re.findall(rf'^    #({re.escape(spec.name)}: .*)$', CONFIG.read_text(), re.M)
        assert edited((f'#{line}', line)) == Settings.from_mapping({})
    assert edited(('#gamma: 0.1', 'gamma: 0.5')).calibrator['gamma'] == 0.5
    assert (
        edited(
            ('method: ops', 'method: tops'), ('#calibeating.bins: 10', 'calibeating.bins: 20')
        ).calibrator['bins']
        == 20
    )
    commented = [spec for spec in TABLE if f'    #{spec.name}: ' in CONFIG.read_text()]
    assert commented == list(OF_METHODS)


def test_another_method_in_a_copy_has_its_own_defaults():
    settings = edited(('method: ops', 'method: beta'))
    assert settings.calibrator['rho'] == 25.0
    assert settings.notes == ()


@pytest.mark.parametrize('classes', [10, 100, 1000])
def test_more_classes_in_a_copy_hardly_touch_a_sure_prediction_at_first(classes):
    settings = edited(('classes: 1', f'classes: {classes}'))
    assert settings.notes == ()
    sure = [0.99, *[0.01 / (classes - 1)] * (classes - 1)]
    assert make_calibrator(settings).predict(sure)[0] > 0.97
