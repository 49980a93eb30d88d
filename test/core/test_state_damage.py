# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong with the text of a saved state, of every method: one sentence, and no change.

What may be wrong with the fields, once they are read, is in test_contract_state.py.
"""

from __future__ import annotations

import random

import pytest
from contract import CASES, assert_sentence, assert_sound, every_case, forecasts_of
from saved_states import NODE

from calib_node.core.calibrators import StateError, create
from calib_node.core.state.document import from_yaml, make_document, restore_document, to_yaml

BINARY = [case for case in CASES if case.classes == 1]


def text_of(case) -> str:
    document = make_document(case.learned(case.samples(4)), NODE)
    return to_yaml({**document, 'saved_at': '2026-01-01T00:00:00+00:00'})


@pytest.mark.slow
@pytest.mark.parametrize('case', BINARY, ids=str)
def test_a_text_that_is_cut_anywhere_is_refused_or_whole(case):
    text = text_of(case)
    whole = from_yaml(text)
    del whole['saved_at']
    ends = 500 if case.method == 'ops' else 100
    # Of a long one, some hundred places between its beginning and its end.
    between = range(ends, len(text) - ends, 1 + len(text) // 200)
    for length in [*range(ends), *between, *range(max(ends, len(text) - ends), len(text))]:
        calibrator = case.make()
        start = calibrator.state()
        try:
            restore_document(calibrator, from_yaml(text[:length]))
        except StateError:
            assert calibrator.state() == start
        else:
            assert make_document(calibrator, NODE) == whole


@pytest.mark.slow
@every_case
def test_a_text_with_a_wrong_character_is_refused_or_sound(case):
    """A digit may turn into another one; nothing else gets through."""
    text, generator = text_of(case), random.Random(case.method)
    calibrator = case.learned(case.samples(9))
    before, ahead = calibrator.state(), forecasts_of(case, calibrator)
    refusals = []
    for _ in range(60):
        place = generator.randrange(len(text))
        wrong = chr(generator.choice((generator.randrange(32, 127), 10, 0)))
        try:
            document = from_yaml(text[:place] + wrong + text[place + 1 :])
            restore_document(calibrator, document)
        except StateError as error:
            refusals.append(str(error))
            assert calibrator.state() == before
        else:
            assert_sound(case, calibrator)
            calibrator.restore(before)
    assert refusals
    assert not [sentence for sentence in refusals if '\n' in sentence]
    assert forecasts_of(case, calibrator) == ahead


@pytest.mark.parametrize('number', ['0x' + 'f' * 5000, '9' * 5000, '1' + ':00' * 3000, '2' * 20])
@pytest.mark.parametrize('field', ['updates', 'version', 'b', 'gamma'])
def test_a_number_too_long_to_be_told(number, field):
    text = text_of(BINARY[0])
    old = next(line for line in text.splitlines() if f'{field}: ' in line)
    value = old.partition(f'{field}: ')[2].partition(',')[0].strip('{}')
    text = text.replace(f'{field}: {value}', f'{field}: {number}')
    with pytest.raises(StateError) as refused:
        restore_document(create('ops'), from_yaml(text))
    assert_sentence(str(refused.value))
