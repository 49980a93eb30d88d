# SPDX-License-Identifier: Apache-2.0
"""What was learned of contexts: taken over, read without them, refused where it is not sound."""

from __future__ import annotations

import numpy as np
import pytest
from contexts_oracle import learned, stream

from calib_node.core.calibrators import (
    CALIBRATORS,
    StateError,
    create,
    create_multiclass,
)


@pytest.mark.parametrize('method', CALIBRATORS)
def test_a_state_without_contexts_is_taken_over_and_one_with_is_read_without(method):
    samples = stream(150, (3,))
    plain, contextual = create(method), learned(samples, method)
    for p, y, _ in samples:
        plain.update(p, y)
    taken = create(method, contexts=('class',))
    taken.restore(plain.state())
    assert taken.updates == 150
    assert taken.context_figures() == {}
    assert [taken.predict(p) for p, *_ in samples] == [plain.predict(p) for p, *_ in samples]
    plain.restore(contextual.state())
    other = create(method, contexts=('camera',))
    other.restore(contextual.state())
    assert other.left_out == (
        "it was saved with contexts 'class', not 'camera': only what all of them share was taken "
        'over'
    )
    for p, *_ in samples:
        assert contextual.predict(p, ('unseen',)) == plain.predict(p) == other.predict(p)


def test_a_state_of_many_classes_is_taken_over_too():
    generator = np.random.default_rng(0)
    rows = generator.dirichlet([1.0, 1.0, 1.0], 50)
    for method in ('ops', 'temperature', 'beta', 'tops'):
        plain = create_multiclass(method, 3)
        contextual, taken = (create_multiclass(method, 3, contexts=('class',)) for _ in range(2))
        for number, row in enumerate(rows):
            plain.update(row, number % 3)
            contextual.update(row, number % 3, contextual.issue(row, (number % 2,))[1])
        taken.restore(plain.state())
        assert taken.predict(rows[0]) == pytest.approx(plain.predict(rows[0]), abs=1e-15)
        plain.restore(contextual.state())
        assert contextual.predict(rows[0], ('no',)) == pytest.approx(plain.predict(rows[0]))


BROKEN = [
    ('ops', {'known': [['a'], ['a'], ['c']]}, 'known must not hold a context twice'),
    ('ops', {'known': [['a', 1]] * 3}, 'in known, a context must be a tuple of 1 values'),
    ('ops', {'known': 3}, 'known must be a list of contexts'),
    ('ops', {'known': [['a'], ['b'], 3]}, 'a context in known must be a list'),
    ('ops', {'weights': [100.0, 99.0, 100.0]}, 'a weight must come of context_rho and updates'),
    ('ops', {'weights': [100.0, 1e9, 100.0]}, 'a weight must come of context_rho and updates'),
    ('ops', {'means': [[0.0, 0.0], [0.0, 99.0], [0.0, 0.0]]}, 'means must be >= -25 and <= 25'),
    ('ops', {'logits': [0.0, 1e9, 0.0]}, 'an offset is far outside its own radius'),
    ('ops', {'logits': [0.0, 0.0]}, 'logits must be a list of 3 numbers'),
    ('ops', {'tallies': []}, 'tallies must be a list of 3 tables'),
    ('ops', {'tallies.0.bins': []}, 'loss must be|must hold a label of each context'),
    ('ops', {'tallies.0.bins': [[3, 400, 120.0, 9]]}, 'labels in tallies, but 150 updates'),
    ('ops', {'tallies.0.bins': [[3, 4, 1.2, 5]]}, 'a row of bins holds more than its count'),
    ('ops', {'tallies.0.bins': [[10, 4, 1.2, 1]]}, 'a row of bins must be a bin and its counts'),
    ('ops', {'tallies.0.bins': [[1, 4, 0.6, 1]] * 2}, 'bins must not hold bin 1 twice'),
    ('ops', {'tallies.1.loss': 1e9}, 'loss must be'),
    ('ops', {'parameters': {}}, 'parameters must be those of ops'),
    ('ops', {'names': []}, 'in contexts, names: contexts must name at least one'),
    ('tops', {'evidence': [0.0, 1e9, 0.0]}, 'evidence must come of the updates'),
    ('tops', {'delays': [0] * 101}, 'delays must be a list of at most 100 whole numbers'),
    ('tops', {'calibrators': []}, 'calibrators must be a list of 3'),
    ('tops', {'calibrators.1.updates': -1}, 'in calibrator 2 of the contexts, updates must be'),
    ('tops', {'calibrators.1.updates': 140}, 'there are .* updates of contexts, but 150 of all'),
]


@pytest.mark.parametrize(('method', 'changes', 'sentence'), BROKEN)
def test_contexts_that_no_stream_can_have_left_are_refused(method, changes, sentence):
    samples = stream(150, (3,))
    calibrator = learned(samples[:40], method)
    before = calibrator.state()
    state = learned(samples, method).state()
    for path, value in changes.items():
        part = state['contexts']
        *way, last = [int(key) if key.isdigit() else key for key in path.split('.')]
        for key in way:
            part = part[key]
        part[last] = value
    with pytest.raises(StateError, match=sentence):
        calibrator.restore(state)
    assert calibrator.state() == before
