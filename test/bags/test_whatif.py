# SPDX-License-Identifier: Apache-2.0
"""Methods side by side: each as if it were alone, scored alike, and how sure the best is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stream.messages import make, stamped
from stream.objects import at, detection, detections

from calib_node.bags.comparison import Comparison, student
from calib_node.bags.panel import Panel
from calib_node.core.calibrators import CALIBRATORS
from calib_node.core.metrics import (
    accuracy,
    brier,
    ece,
    log_loss,
    multiclass_brier,
    multiclass_log_loss,
    top_label_ece,
)
from calib_node.core.metrics.streamed import Blocks, streamed_scores
from calib_node.stream.stream import Stream

from .bags import drive, record, replayed

Capture = pytest.CaptureFixture[str]


class Kind:
    """Messages of one kind, and the parameters that read them.

    Parameters
    ----------
    given : dict
        Parameters.
    messages : list of (bool, bytes)
        Whether each is a label, and the message.
    """

    def __init__(self, given: dict[str, Any], messages: list[tuple[bool, bytes]]) -> None:
        self.given, self.messages = given, messages

    def stream(self, method: str) -> Stream:
        return make(**self.given, method=method)

    def play(self, stream: Stream) -> list[Any]:
        answers = []
        for is_label, message in self.messages:
            take = stream.on_label if is_label else stream.on_prediction
            answers.append(take(message))
        stream.pipeline.flush()
        return answers


def binary() -> Kind:
    """Some labels are bad values, so that for a while nothing is learned."""
    rng, messages = np.random.default_rng(1), []
    for number in range(120):
        stamp = at(number)
        messages.append((False, stamped(stamp, float(rng.uniform()))))
        bad = 40 < number < 60 and number % 3 == 0
        messages.append((True, stamped(stamp, 0.5 if bad else float(rng.uniform() < 0.7))))
    return Kind({}, messages)


def classes() -> Kind:
    rng, messages = np.random.default_rng(2), []
    for number in range(60):
        p = rng.dirichlet([1.0, 1.0, 1.0]).tolist()
        messages.append((False, stamped(at(number), *p)))
        if number >= 5:
            messages.append((True, stamped(at(number - 5), float(rng.integers(3)))))
    return Kind({'classes': 3}, messages)


def frames(**given: Any) -> Kind:
    rng, messages = np.random.default_rng(3), []
    boxes = [(0.0, 0.0, 8.0, 6.0), (50.0, 0.0, 8.0, 6.0), (100.0, 0.0, 8.0, 6.0)]
    for number in range(60):
        found = [detection(box, car=float(rng.uniform()), bus=0.25) for box in boxes]
        messages.append((False, detections(at(number), *found)))
        if number >= 3:
            true = [detection(box, car=1.0) for box in boxes if rng.uniform() < 0.5]
            messages.append((True, detections(at(number - 3), *true)))
    return Kind(
        {'preset': 'vision_msgs/Detection2DArray', 'match.objects': 'iou', **given}, messages
    )


def contexts() -> Kind:
    field = 'detections[].results[].hypothesis.class_id'
    return frames(**{'contexts': ['class'], 'context.class.field': field})


@pytest.mark.parametrize('make_kind', [binary, classes, frames, contexts])
def test_each_method_of_a_panel_is_as_if_it_were_alone(make_kind: Any):
    kind = make_kind()
    names = [*CALIBRATORS]
    first, *others = names
    stream = kind.stream(first)
    beside = [kind.stream(name).calibrator for name in others]
    seen: list[tuple[int, Any]] = []
    panel = Panel(stream, beside, lambda y, raw, forecasts: seen.append((y, forecasts)))
    published = kind.play(stream)
    assert panel.failures == [''] * len(names)
    for index, (name, calibrator) in enumerate(zip(names, [panel._first, *beside])):
        alone = kind.stream(name)
        matches: list[tuple[int, Any]] = []
        alone.pipeline.on_match.append(
            lambda m, matches=matches: matches.append((m.label, np.array(m.published).tolist()))
        )
        answers = kind.play(alone)
        assert calibrator.state() == alone.calibrator.state(), name
        assert [(y, np.array(q[index]).tolist()) for y, q in seen] == matches
        if name == first:
            assert published == answers
            assert stream.status().figures == alone.status().figures
    assert len(seen) > 50


def test_what_one_method_cannot_take_stops_no_other():
    """And what the first cannot take is told as ever."""
    kind = binary()
    stream, other = kind.stream('ops'), kind.stream('beta').calibrator
    broken = kind.stream('isotonic').calibrator
    broken.update = None
    panel = Panel(stream, [broken, other], lambda *_: None)
    kind.play(stream)
    assert panel.failures[0] == panel.failures[2] == ''
    assert 'NoneType' in panel.failures[1]
    assert stream.pipeline.counts.failed_updates == 0
    alone = kind.stream('beta')
    kind.play(alone)
    assert other.state() == alone.calibrator.state()


# Scores


def test_streamed_scores_are_those_of_the_metrics():
    rng = np.random.default_rng(4)
    p, y = rng.uniform(size=500), rng.integers(2, size=500)
    scores = streamed_scores(1, 4.0, 1.0)
    for one, label in zip(p.tolist(), y.tolist()):
        scores.add(one, label)
    assert scores.log_loss == pytest.approx(log_loss(p, y), abs=1e-12)
    assert scores.brier == pytest.approx(brier(p, y), abs=1e-12)
    assert scores.ece == pytest.approx(ece(p, y, 15), abs=1e-12)
    assert scores.accuracy == accuracy(p, y)
    yes = p > 0.8
    cost = 4.0 * (yes & (y == 0)).sum() + (~yes & (y == 1)).sum()
    assert scores.cost == pytest.approx(cost / 500)


def test_streamed_scores_of_classes_are_those_of_the_metrics():
    rng = np.random.default_rng(5)
    p, y = rng.dirichlet([1.0, 1.0, 1.0], size=300), rng.integers(3, size=300)
    scores = streamed_scores(3)
    for one, label in zip(p.tolist(), y.tolist()):
        scores.add(one, label)
    assert scores.log_loss == pytest.approx(multiclass_log_loss(p, y), abs=1e-12)
    assert scores.brier == pytest.approx(multiclass_brier(p, y), abs=1e-12)
    assert scores.ece == pytest.approx(top_label_ece(p, y, 15), abs=1e-12)
    assert scores.accuracy == pytest.approx((p.argmax(axis=1) == y).mean())


def test_the_noise_of_the_ece_is_that_of_honest_probabilities():
    rng = np.random.default_rng(6)
    p = rng.uniform(size=1000)
    scores = streamed_scores(1)
    for one in p.tolist():
        scores.add(one, 0)
    chance = [ece(p, rng.uniform(size=1000) < p, 15) for _ in range(200)]
    assert scores.ece_noise == pytest.approx(np.mean(chance), rel=0.03)


@pytest.mark.parametrize('cut', [0, 1, 100, 137, 5000])
def test_merged_scores_are_those_of_all(cut: int):
    rng = np.random.default_rng(7)
    samples = [
        (p, int(y)) for p, y in zip(rng.uniform(size=6000).tolist(), rng.integers(2, size=6000))
    ]
    whole, one, two = (streamed_scores(1) for _ in range(3))
    for number, sample in enumerate(samples):
        whole.add(*sample)
        (one if number < cut else two).add(*sample)
    one.merge(two)
    for figure in ('count', 'log_loss', 'brier', 'ece', 'ece_noise', 'accuracy', 'cost'):
        assert getattr(one, figure) == pytest.approx(getattr(whole, figure), abs=1e-12)
    assert 16 <= len(one.losses.sums) < 32


@pytest.mark.parametrize('count', [0, 1, 31, 32, 33, 1000, 100_000])
def test_blocks_hold_the_sum_of_all_but_the_last(count: int):
    blocks = Blocks()
    for value in range(count):
        blocks.add(float(value))
    assert len(blocks.sums) < 32
    held = blocks.size * len(blocks.sums)
    assert held > count - blocks.size
    assert sum(blocks.sums) == sum(range(held))


def test_students_quantiles():
    # Tables of the distribution.
    for freedom, quantile in ((10, 2.228), (15, 2.131), (30, 2.042), (60, 2.000), (120, 1.980)):
        assert student(freedom) == pytest.approx(quantile, abs=1e-3)


def autocorrelated(rng: np.random.Generator, count: int, memory: float) -> np.ndarray:
    noise = rng.normal(size=count) * (1.0 - memory**2) ** 0.5
    found = np.empty(count)
    last = rng.normal()
    for number in range(count):
        found[number] = last = memory * last + noise[number]
    return found


@pytest.mark.parametrize('memory', [0.0, 0.9])
def test_an_interval_covers_as_often_as_it_says(memory: float):
    """Of differences that do not depend on their neighbours, and of some that do."""
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(200):
        comparison = Comparison(['one'], 1)
        shift = autocorrelated(rng, 3000, memory)
        base = comparison.scores['raw'].losses
        other = comparison.scores['one'].losses
        for value in shift.tolist():
            base.add(0.0)
            other.add(value)
        comparison.scores['raw'].count = comparison.scores['one'].count = len(shift)
        interval = comparison.difference('one', 'raw')
        covered += interval.low <= 0.0 <= interval.high
    assert 180 <= covered <= 199


# The tool


def test_the_table(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', drive(400))
    code, out, errors = replayed(
        capsys, path, '--method', 'beta,mixture', '--set', 'gamma=0.05,0.2',
        '--cost-false-positive', 5,
    )  # fmt: skip
    assert (code, errors) == (0, [])
    lines = [line for line in out.splitlines() if line]
    table = lines[2:]
    header = 'method log-loss Brier ECE by chance accuracy cost samples/s above the best (95 %)'
    assert ' '.join(table[0].split()) == header
    names = [line.split('  ')[0].removesuffix(' *') for line in table[1:-1]]
    assert names == [
        'raw', 'ops', 'ops gamma=0.05', 'ops gamma=0.2', 'beta gamma=0.05', 'beta gamma=0.2',
        'mixture',
    ]  # fmt: skip
    assert sum(' * ' in line for line in table[1:-1]) == 1
    assert table[-1].startswith('* lowest log-loss: ')
    assert all(len(line) == len(line.rstrip()) for line in table)


def test_the_state_is_that_of_the_parameters_own_method(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', drive(60))
    one, two = tmp_path / 'one.yaml', tmp_path / 'two.yaml'
    replayed(capsys, path, '--state', one)
    replayed(capsys, path, '--state', two, '--all')
    assert one.read_text().split('saved_at')[0] == two.read_text().split('saved_at')[0]


def test_too_few_matches_for_an_interval(tmp_path: Path, capsys: Capture):
    path = record(tmp_path / 'bag', drive(10))
    code, out, _ = replayed(capsys, path, '--method', 'beta')
    assert code == 0
    assert '[' not in out.partition('method')[2]
    assert 'too few matches' in out or 'the raw probabilities' in out


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        (('--method', 'opps'), ("'opps'", "did you mean 'ops'")),
        (('--set', 'gamma'), ('name=value',)),
        (('--set', 'gama=0.1'), ('--set gama', "'gamma'")),
        (('--set', 'match.tolerance=0.1'), ('parameters of the methods alone', '-p')),
        (('--set', 'gamma=-1'), ('gamma',)),
        (('--cost-false-positive', '0'), ('a cost must be above 0',)),
    ],
)
def test_what_cannot_be_compared(
    tmp_path: Path, capsys: Capture, given: tuple[str, ...], words: tuple[str, ...]
):
    path = record(tmp_path / 'bag', drive(10))
    code, _, errors = replayed(capsys, path, *given)
    assert (code, len(errors)) == (1, 1)
    for word in words:
        assert word in errors[0]
