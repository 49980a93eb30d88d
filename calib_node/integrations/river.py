# SPDX-License-Identifier: Apache-2.0
"""The calibrators as wrappers of a river classifier.

Needs river: ``pip install river``
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

try:
    from river import base
except ImportError as error:
    raise ImportError(
        'calib_node.integrations.river needs river, which is not installed: pip install river'
    ) from error

from calib_node.core.calibrators import create
from calib_node.core.refusal import bad_label, brief


class OnlineCalibration(base.Wrapper, base.Classifier):
    """Calibrates the probabilities of a binary classifier while both learn.

    Each label goes first to the calibrator, with what the classifier says to the sample before it
    has learned from it, and then to the classifier.

    While the classifier has no opinion (an empty ``predict_proba_one``, as from a model that has
    seen no label yet) the empty answer is passed on, and the calibrator learns nothing. One that
    knows only the negative class says ``1 - p(False)``.

    Parameters
    ----------
    classifier
        A binary classifier with ``predict_proba_one``; its labels are False and True, or 0 and 1.
    method
        Name of the calibration method, a key of `calib_node.core.calibrators.CALIBRATORS`.
    **parameters
        The method's own parameters.

    Attributes
    ----------
    calibrator
        The calibrator, whose ``state()`` and ``restore()`` save and bring back what it learned.

    Notes
    -----
    river hands a label over without what was said when the sample was predicted. So where labels
    are late, the classifier and the calibrator are asked again when the label comes; to be judged
    on what went out, use ``issue`` and ``update`` of the calibrator itself.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, tree
    >>> def log_loss(model):
    ...     loss = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.LogLoss())
    ...     return round(loss.get(), 4)
    >>> log_loss(tree.HoeffdingTreeClassifier())
    0.4535
    >>> log_loss(OnlineCalibration(tree.HoeffdingTreeClassifier(), 'ops', gamma=0.2))
    0.348
    """

    def __init__(self, classifier: base.Classifier, method: str = 'ops', **parameters: Any) -> None:
        self.classifier = classifier
        self.method = method
        self.parameters = parameters
        self.calibrator = create(method, **parameters)

    @property
    def _wrapped_model(self) -> base.Classifier:
        return self.classifier

    @property
    def _multiclass(self) -> bool:
        return False

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model

        yield {'classifier': linear_model.LogisticRegression()}

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the calibrated probabilities of False and True, or nothing without an opinion."""
        p = probability_of_true(self.classifier.predict_proba_one(x, **kwargs))
        if p is None:
            return {}
        q = self.calibrator.predict(p)
        return {False: 1.0 - q, True: q}

    def learn_one(self, x: dict[Any, Any], y: Any, **kwargs: Any) -> None:
        """Let the calibrator and then the classifier, with `kwargs`, learn from a label."""
        if y not in (False, True):
            raise bad_label(y)
        p = probability_of_true(self.classifier.predict_proba_one(x))
        if p is not None:
            self.calibrator.update(p, int(y))
        self.classifier.learn_one(x, y, **kwargs)


class OnlinePlattScaling(OnlineCalibration):
    """Online Platt Scaling of a binary classifier: `OnlineCalibration` with the method ``ops``.

    Parameters
    ----------
    classifier
        A binary classifier with ``predict_proba_one``; its labels are False and True, or 0 and 1.
    gamma
        Inverse step size of the Newton step.
    rho
        Weight of the identity in the matrix of the Newton step; larger is slower at the start.
    radius
        (a, b) is kept in the ball of this radius.
    clip
        Probabilities are clipped to ``[clip, 1 - clip]`` before the logit.
    forgetting
        Share of the matrix kept at each update; below 1 the map follows drift.

    References
    ----------
    Gupta and Ramdas, *Online Platt Scaling with Calibeating*, ICML 2023, arXiv:2305.00070.

    Examples
    --------
    >>> from river import tree
    >>> model = OnlinePlattScaling(tree.HoeffdingTreeClassifier())
    >>> model.predict_proba_one({'x': 1.0})
    {}
    >>> model.learn_one({'x': 1.0}, True)
    >>> model.predict_proba_one({'x': 1.0})[True]
    0.99
    """

    def __init__(
        self,
        classifier: base.Classifier,
        gamma: float = 0.1,
        rho: float = 100.0,
        radius: float = 100.0,
        clip: float = 0.01,
        forgetting: float = 1.0,
    ) -> None:
        self.gamma = gamma
        self.rho = rho
        self.radius = radius
        self.clip = clip
        self.forgetting = forgetting
        super().__init__(
            classifier,
            'ops',
            gamma=gamma,
            rho=rho,
            radius=radius,
            clip=clip,
            forgetting=forgetting,
        )


def probability_of_true(probabilities: dict[Any, float]) -> float | None:
    """Return the probability of True, or None where there is no opinion.

    Raises
    ------
    ValueError
        If the labels are not those of a binary classifier.
    """
    if not probabilities:
        return None
    if not probabilities.keys() <= {False, True}:
        raise ValueError(
            f'the labels of a binary classifier are False and True, not {brief([*probabilities])}'
        )
    p = probabilities[True] if True in probabilities else 1.0 - probabilities[False]
    # Sums of many terms may be a rounding outside.
    return float(p) if not -1e-9 <= p <= 1.0 + 1e-9 else min(max(float(p), 0.0), 1.0)
