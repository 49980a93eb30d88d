# SPDX-License-Identifier: Apache-2.0
"""What the node says of itself on /diagnostics."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from calib_node.core.matching import Matcher
from calib_node.core.metrics import LOG_LOSS_CLIP
from calib_node.core.pipeline import AnyPipeline, Figures
from calib_node.core.refusal import REASONS
from calib_node.core.state.keeper import StateKeeper
from calib_node.ros.topics import DIAGNOSTICS, LABELS, RAW, Topics

SCORES = ('ECE', 'Brier score', f'log-loss (clip {LOG_LOSS_CLIP:g})')
MULTICLASS_SCORES = (
    'ECE (top class)',
    'Brier score (sum over classes)',
    f'log-loss (true class, clip {LOG_LOSS_CLIP:g})',
)
LABELS_WITHOUT_MATCH = 10
"""So many labels in a row without a match are worth a warning."""


@dataclass
class Health:
    """Sentences by severity; a status takes the gravest that is not empty."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)

    def level(self) -> bytes:
        """Return the level of a DiagnosticStatus: ERROR over WARN over STALE over OK."""
        if self.errors:
            level = DiagnosticStatus.ERROR
        elif self.warnings:
            level = DiagnosticStatus.WARN
        elif self.stale:
            level = DiagnosticStatus.STALE
        else:
            level = DiagnosticStatus.OK
        return level if isinstance(level, bytes) else bytes([level])


def judge(health: Health, pipeline: AnyPipeline, ece_warn: float, min_samples: int) -> None:
    """Add what is wrong with the figures themselves."""
    if pipeline.update_error:
        health.errors.append(
            f'the last update was not taken, the state before it stays: {pipeline.update_error}'
        )
    if pipeline.score_error:
        health.errors.append(pipeline.score_error)
    calibrated = pipeline.calibrated
    if calibrated.count >= min_samples and calibrated.ece() > ece_warn:
        health.warnings.append(f'ECE {calibrated.ece():.3f} is above ece.warn {ece_warn:g}')
    unmatched = pipeline.counts.labels_since_match
    if unmatched >= LABELS_WITHOUT_MATCH:
        health.warnings.append(f'{unmatched} labels came and none matched{_how_far(pipeline)}')


def _how_far(pipeline: AnyPipeline) -> str:
    miss = pipeline.matcher.miss
    if miss is None:
        return '; their predictions have expired or never came (see match.horizon)'
    side = 'after' if miss > 0 else 'before'
    return (
        f'; the last one is {abs(miss) / 1e9:.3f} s {side} the nearest prediction '
        '(see label.offset and match.tolerance)'
    )


def describe(pipeline: AnyPipeline, health: Health) -> str:
    """Return the message of the status: what is wrong, or how well calibrated it is."""
    sentences = health.errors + health.warnings + health.stale
    if sentences:
        return '; '.join(sentences)
    calibrated = pipeline.calibrated
    if not calibrated.count:
        return 'calibrating; no label matched yet'
    return f'calibrating; ECE {calibrated.ece():.3f}, raw {pipeline.raw.ece():.3f}'


class Diagnostics:
    """Publishes the status of the node.

    Parameters
    ----------
    node : Node
        Owner of the topic; the status carries its name and its clock's time.
    values : mapping
        The node's parameters, as they are at each time.
    pipeline, keeper, topics : Pipeline, StateKeeper or None, Topics
        What is looked at.
    notes : list of str
        Warnings that stand as long as the node runs.
    """

    def __init__(
        self,
        node: Node,
        values: Mapping[str, Any],
        pipeline: AnyPipeline,
        keeper: StateKeeper | None,
        topics: Topics,
        notes: list[str],
    ) -> None:
        self._node = node
        self._values = values
        self._pipeline = pipeline
        self._keeper = keeper
        self._topics = topics
        self._notes = notes
        self._publisher = node.create_publisher(DiagnosticArray, DIAGNOSTICS, 10)
        self._pairs: dict[str, KeyValue] = {}
        self._failures_said = 0
        self._updates_said = 0
        self._ids_recommended = False
        self._predictions_seen = 0
        self._last_prediction = time.monotonic()

    def publish(self) -> None:
        """Look at everything and publish what there is to say."""
        health = Health()
        self._judge_saving(health)
        self._tell_failed_updates()
        self._judge_silence(health)
        self._judge_time(health)
        self._recommend_ids()
        health.warnings += self._notes + self._topics.warnings()
        if not self._publisher.get_subscription_count():
            # Predictions would wait for what nobody hears.
            return
        judge(health, self._pipeline, self._values['ece.warn'], self._values['ece.min_samples'])
        name = self._node.get_fully_qualified_name()
        status = DiagnosticStatus(
            level=health.level(),
            name=f'{name[1:]}: calibration',
            message=describe(self._pipeline, health),
            hardware_id=name,
            values=[
                self._pair(key, value)
                for key, value in (*_figures(self._pipeline), *self._surroundings())
            ],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def _pair(self, key: str, value: str) -> KeyValue:
        # Message objects are slow to make, and predictions wait meanwhile.
        pair = self._pairs.get(key)
        if pair is None:
            self._pairs[key] = pair = KeyValue(key=key)
        if pair.value != value:
            pair.value = value
        return pair

    def _judge_saving(self, health: Health) -> None:
        if self._keeper is None:
            return
        problem, failures = self._keeper.problem, self._keeper.failures
        if problem:
            health.errors.append(problem)
        if failures > self._failures_said:
            self._failures_said = failures
            self._node.get_logger().error(problem)

    def _tell_failed_updates(self) -> None:
        # The status clears with the next update, which may be long before somebody looks.
        failed = self._pipeline.counts.failed_updates
        if failed > self._updates_said:
            more = failed - self._updates_said
            self._updates_said = failed
            reason = self._pipeline.update_error or 'a later one was taken'
            what = 'an update was' if more == 1 else f'{more} updates were'
            self._node.get_logger().error(f'{what} not taken: {reason}')

    def _recommend_ids(self) -> None:
        if self._pipeline.matcher.counts.same_stamp and not self._ids_recommended:
            self._ids_recommended = True
            self._node.get_logger().warning(
                'predictions share a stamp, so their labels are told apart by the order in which '
                'they come; give each object a stamp or a topic of its own, or send an id with it'
            )

    def _judge_silence(self, health: Health) -> None:
        now = time.monotonic()
        if self._pipeline.counts.predictions != self._predictions_seen:
            self._predictions_seen = self._pipeline.counts.predictions
            self._last_prediction = now
        silent = now - self._last_prediction
        if silent > self._values['diagnostics.stale_after']:
            topic = self._topics.resolved[RAW]
            health.stale.append(f'no prediction on {topic} for {silent:.1f} s')

    def _judge_time(self, health: Health) -> None:
        # Simulated time is 0 until it comes.
        if not self._node.get_clock().now().nanoseconds:
            health.warnings.append('use_sim_time is true, but nothing has come on /clock')

    def _surroundings(self) -> list[tuple[str, str]]:
        topics = self._topics
        values = [(f'topic {name}', resolved) for name, resolved in topics.resolved.items()]
        values += [
            (f'publishers on {name}', str(topics.publishers(name))) for name in (RAW, LABELS)
        ]
        values.append(('state file', str(self._keeper.file.path) if self._keeper else 'off'))
        return values


def _figures(pipeline: AnyPipeline) -> list[tuple[str, str]]:
    counts = pipeline.counts
    calibrator = pipeline.calibrator
    values = [('method', calibrator.name), ('classes', str(pipeline.classes))]
    values += [(name, repr(value)) for name, value in calibrator.figures().items()]
    scores = SCORES if pipeline.classes == 1 else MULTICLASS_SCORES
    values += _scores(pipeline.raw, [f'raw {name}' for name in scores])
    values += _scores(pipeline.calibrated, scores)
    values += [
        ('samples in window', str(pipeline.calibrated.count)),
        ('predictions', str(counts.predictions)),
        ('labels', str(counts.labels)),
    ]
    values += _matching(pipeline.matcher)
    values += [
        ('learned', str(counts.learned)),
        ('failed updates', str(counts.failed_updates)),
        ('no opinion', str(counts.no_opinion)),
        ('unstamped predictions', str(counts.unstamped)),
        ('empty labels', str(counts.empty_labels)),
        ('refused', str(counts.refused.total())),
    ]
    values += [(f'refused: {reason}', str(counts.refused[reason])) for reason in REASONS]
    return values


def _scores(figures: Figures[Any], names: Sequence[str]) -> list[tuple[str, str]]:
    if not figures.count:
        return [(name, 'no match yet') for name in names]
    scores = (figures.ece(), figures.brier(), figures.log_loss())
    return [(name, f'{score:.6f}') for name, score in zip(names, scores, strict=True)]


def _matching(matcher: Matcher) -> list[tuple[str, str]]:
    counts = matcher.counts
    miss = matcher.miss
    return [
        ('matched', str(counts.matched)),
        ('expired predictions', str(counts.expired)),
        ('unmatched labels', str(counts.unmatched)),
        ('duplicate labels', str(counts.duplicate)),
        ('jumps back in time', str(counts.jumps_back)),
        ('predictions of a stamp already waiting', str(counts.same_stamp)),
        ('pending predictions', str(matcher.pending_predictions)),
        ('pending labels', str(matcher.pending_labels)),
        (
            'nearest prediction to the last unmatched label [s]',
            f'{miss / 1e9:+.6f}' if miss else '',
        ),
    ]
