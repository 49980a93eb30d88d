# SPDX-License-Identifier: Apache-2.0
"""What goes wrong is the first that an operator reads in the next diagnostics, with the remedy."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from calib_node.core.samples import Label, Prediction

from .harness import SECOND, Client, World, pipeline
from .statuses import read, refused

OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN
ERROR, STALE = DiagnosticStatus.ERROR, DiagnosticStatus.STALE
JUDGED = 100
"""So many of the last messages of an input count."""

LENGTH = 'the number of values is wrong'


class Robot:
    """Sends predictions and labels, and reads the diagnostics that come when all are heard."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._now = 1_700_000_000 * SECOND

    def stamps(self, number: int) -> list[int]:
        """Return the next stamps, a tenth of a second apart."""
        first, self._now = self._now, self._now + number * SECOND // 10
        return [first + i * SECOND // 10 for i in range(number)]

    def predict(self, stamps: Iterable[int], *values: float) -> DiagnosticStatus:
        return self._send('predictions', [[*divmod(stamp, SECOND), *values] for stamp in stamps])

    def label(self, stamps: Iterable[int], *values: float) -> DiagnosticStatus:
        """Send labels that have the values in turn."""
        data = [[*divmod(stamp, SECOND), values[i % len(values)]] for i, stamp in enumerate(stamps)]
        return self._send('labels', data)

    def _send(self, things: str, data: list[list[float]]) -> DiagnosticStatus:
        client = self.client
        before = client.figure(things)
        for numbers in data:
            (client.send_raw if things == 'predictions' else client.send_label)(numbers)
        client.wait_for_figure(things, before + len(data))
        return client.status

    def answer(self, stamp: int) -> float:
        """Return what is published for a prediction."""
        wanted = list(divmod(stamp, SECOND))
        return self.client.spin_until(
            lambda: next(
                (m.data[2] for m in self.client.calibrated if wanted == list(m.data[:2])), 0
            ),
            'answer',
        )

    def be_well(self) -> None:
        """Send as many good messages as count; nothing else may be wrong then."""
        stamps = self.stamps(JUDGED)
        for first in range(0, JUDGED, 10):
            self.predict(stamps[first : first + 10], 0.3 + 0.004 * first)
        self.label(stamps, 0, 1)
        assert self.client.next_status().level == OK, self.client.status.message


@pytest.fixture(scope='module')
def one(shared: World) -> Robot:
    # What was learned before, and how long it takes, is no fault.
    return Robot(shared.connected({'ece.warn': 1.0, 'diagnostics.stale_after': 1e6})[1])


@pytest.fixture
def robot(one: Robot) -> Robot:
    """A robot of which all is well, whatever was wrong before."""
    defaults = {
        'policy': 'nearest',
        'tolerance': 0.01,
        'horizon': 60.0,
        'max_disorder': 1.0,
        'capacity': 10_000,
    }
    result = one.client.set_all({f'match.{k}': v for k, v in defaults.items()})
    assert result.successful, result.reason
    one.be_well()
    return one


# Refused messages


PERCENT = (
    'the probability is outside [0, 1] (87.0); publish probabilities from 0 to 1: no percent, no '
    'logits, no scores beyond 1'
)
NEITHER = (
    'publish 1 for the positive class and 0 for the other, no -1, or say by label.positive, '
    'label.negative and label.ignore what counts; for the index of one of several classes set '
    'classes'
)


@pytest.mark.parametrize(
    ('values', 'why'),
    [
        ([87.0], PERCENT),
        (
            [math.nan],
            'the value is not finite (nan); mend the publisher; a message without a value',
        ),
        ([0.1] * 4, f'{LENGTH} (4 instead of 1); set classes to the number of probabilities in a'),
    ],
    ids=['percent', 'NaN', 'classes forgotten'],
)
def test_predictions_that_are_refused(robot: Robot, values, why):
    first, *rest = robot.stamps(JUDGED)
    read(robot.predict([first], *values), WARN, refused(1, JUDGED, 'predictions', why))
    read(robot.predict(rest, *values), ERROR, refused(JUDGED, JUDGED, 'predictions', why))


@pytest.mark.parametrize(
    ('stamped', 'value', 'why'),
    [
        (False, 1, 'the stamp is zero; give it the stamp of the observation'),
        (True, 7, f'the label is neither 0 nor 1 (7.0); {NEITHER}'),
    ],
    ids=['no stamp', 'index'],
)
def test_labels_that_are_refused(robot: Robot, stamped, value, why):
    stamps = robot.stamps(JUDGED)
    robot.predict(stamps, 0.6)
    first, *rest = stamps if stamped else [0] * JUDGED
    read(robot.label([first], value), WARN, refused(1, JUDGED, 'labels', why))
    read(robot.label(rest, value), ERROR, refused(JUDGED, JUDGED, 'labels', why))


def test_labels_of_minus_one_and_one_teach_nothing(robot: Robot):
    client = robot.client
    assert client.trigger('reset').success
    learned, held_back = client.figure('learned'), client.figure('held back')
    stamps = robot.stamps(400)
    robot.predict(stamps, 0.8)
    status = robot.label(stamps, -1, 1)
    why = f'the label is neither 0 nor 1 (-1.0); {NEITHER}'
    read(status, WARN, refused(50, JUDGED, 'labels', why))
    assert '; nothing is learned while more than a tenth of the labels are' in status.message
    # After a hundred good ones it takes eleven bad ones to know.
    assert client.figure('learned') - learned == 10
    assert client.figure('held back') - held_back == 190
    core = pipeline()
    for stamp in stamps[:10]:
        core.predict(Prediction(stamp, 0.8))
    for stamp in stamps[:10]:
        core.label(Label(stamp, 1.0))
    stamps = robot.stamps(1)
    robot.predict(stamps, 0.8)
    assert robot.answer(*stamps) == core.calibrator.predict(0.8) < 0.87


def test_a_silent_node_that_hears_four_values_says_so_and_is_not_silent(world: World):
    _, client = world.connected({'diagnostics.stale_after': 0.1})
    client.wait_for_status(STALE, 'no prediction on /raw_probabilities for ')
    client.send_raw([1, 0, 0.7, 0.1, 0.1, 0.1])
    key = 'refused: wrong_length'
    client.wait_for_figure(key, 1)
    first = next(
        status
        for _, status in client.statuses
        if any((pair.key, pair.value) == (key, '1') for pair in status.values)
    )
    heard = min(int(client.figures()['predictions']), JUDGED)
    read(first, WARN, refused(1, heard, 'predictions', f'{LENGTH} (4 instead of 1); set classes'))
    assert 'no prediction' not in first.message


@pytest.mark.parametrize('values', [[0.7, 0.2, 0.1], [0.6, 0.1, 0.1, 0.1, 0.1], [0.9]], ids=len)
def test_four_classes_and_another_number_of_values(four: Robot, values):
    four.predict(four.stamps(JUDGED), 0.7, 0.1, 0.1, 0.1)
    first, *rest = four.stamps(JUDGED)
    why = f'{LENGTH} ({len(values)} instead of 4, one per class); set classes to the number of'
    read(four.predict([first], *values), WARN, refused(1, JUDGED, 'predictions', why))
    read(four.predict(rest, *values), ERROR, refused(JUDGED, JUDGED, 'predictions', why))


@pytest.fixture(scope='module')
def four(shared: World) -> Robot:
    other = shared.client(namespace='/four')
    shared.start({'classes': 4}, namespace='/four')
    other.connect()
    return Robot(other)


# Labels that match nothing


LATE = 10


def teach_late(robot: Robot) -> DiagnosticStatus:
    """Send predictions, and a label for each that is three seconds late."""
    stamps = robot.stamps(30 + LATE)
    robot.predict(stamps[:30], 0.6)
    for number in range(LATE):
        robot.predict([stamps[30 + number]], 0.6)
        status = robot.label([stamps[number]], number % 2)
    return status


@pytest.mark.parametrize(
    ('name', 'value', 'was'),
    [
        ('match.horizon', 1.0, 'with match.horizon 1 s and match.capacity 10000: set'),
        ('match.capacity', 10, 'with match.horizon 60 s and match.capacity 10: set'),
    ],
)
def test_labels_that_come_too_late(robot: Robot, name, value, was):
    client = robot.client
    client.set(name, value)
    status = teach_late(robot)
    read(status, WARN, f'{LATE} labels came and none matched: their predictions had')
    assert f'labels came up to 3.01 s later, {was} {name} to at ' in status.message
    wanted = status.message.split(f'{name} to at least ')[1].split(';')[0]
    client.set(name, type(value)(wanted))
    matched = client.figure('matched')
    teach_late(robot)
    client.wait_for_figure('matched', matched + LATE)
    assert client.next_status().level == OK


def test_exact_stamps_that_are_300_nanoseconds_off(robot: Robot):
    client = robot.client
    client.set('match.policy', 'exact')

    def teach() -> DiagnosticStatus:
        stamps = robot.stamps(12)
        robot.predict(stamps, 0.6)
        return robot.label([stamp + 300 for stamp in stamps[:LATE]], 0, 1)

    read(
        teach(),
        WARN,
        f'{LATE} labels came and none matched: the last one is 300 ns after the nearest '
        'prediction, and match.policy is exact: set match.policy to nearest and match.tolerance '
        'to at least 3e-07',
    )
    (answer,) = client.set_each({'match.tolerance': 3e-7})
    assert not answer.successful
    assert 'no effect with match.policy exact' in answer.reason
    assert client.set_all({'match.policy': 'nearest', 'match.tolerance': 3e-7}).successful
    matched = client.figure('matched')
    teach()
    client.wait_for_figure('matched', matched + LATE)
    assert client.next_status().level == OK


def test_two_publishers_three_seconds_apart(robot: Robot):
    client = robot.client

    def both() -> DiagnosticStatus:
        ahead = robot.stamps(10)
        return robot.predict([s for stamp in ahead for s in (stamp, stamp - 3 * SECOND)], 0.6)

    jumps = client.figure('jumps back in time')
    read(
        both(),
        WARN,
        'the stamps of the predictions jumped back 10 times within the last 100, by up to 3 s, and '
        'each time all that waited was dropped; if several publishers share the topic give each a '
        'node of its own, or set match.max_disorder to at least 3.0',
    )
    client.set('match.max_disorder', 3.0)
    both()
    assert client.figure('jumps back in time') == jumps + 10
