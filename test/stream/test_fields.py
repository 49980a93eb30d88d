# SPDX-License-Identifier: Apache-2.0
"""What a label of a message means."""

from __future__ import annotations

import pytest

from calib_node.core.refusal import Refused
from calib_node.stream.codecs import label_codec
from calib_node.stream.labels import LabelReader
from calib_node.stream.settings import Settings

from .messages import SECOND, Messages, stamped


def test_a_name_is_a_label_by_the_positive_class():
    read = LabelReader('ground')
    assert (read('ground'), read('wall'), read('Ground')) == (1.0, 0.0, 0.0)
    with pytest.raises(Refused, match='the name of the class is empty'):
        read('')


@pytest.mark.parametrize('classes', [1, 10])
def test_a_label_is_one_value_however_many_classes_there_are(classes):
    settings = Settings.from_mapping({'classes': classes})
    codec = label_codec(Messages(), settings, LabelReader(''))
    assert codec.decode(stamped(5 * SECOND + 7, 9))[:2] == (5 * SECOND + 7, 9.0)
    with pytest.raises(Refused, match='3 instead of 1'):
        codec.decode(stamped(5 * SECOND + 7, 0, 0, 1))
