# SPDX-License-Identifier: Apache-2.0
"""The river wrappers: conventions, values, and what they do without an opinion."""

from __future__ import annotations

import copy
import doctest
import math
import pickle
from contextlib import suppress

import numpy as np
import pytest

from calib_node.core.calibrators import CALIBRATORS, create

with suppress(ImportError):
    from river import checks, datasets, linear_model, preprocessing, tree

    from calib_node.integrations import river as module
    from calib_node.integrations.river import OnlineCalibration, OnlinePlattScaling


@pytest.fixture(autouse=True)
def _with_river():
    pytest.importorskip('river', reason='river is not installed: pip install river')


class Says:
    """A classifier that says what it is told to say, and keeps a record of what is asked of it."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = []

    def predict_proba_one(self, x, **kwargs):
        self.calls.append(('predict', kwargs))
        return self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)

    def learn_one(self, x, y, **kwargs):
        self.calls.append(('learn', y, kwargs))


def logistic():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def log_losses(models, stream, skip_empty=False):
    """Return the mean log-loss of each model; an empty answer counts as 0.5."""
    losses = [[] for _ in models]
    for x, y in stream:
        for model, loss in zip(models, losses):
            answer = model.predict_proba_one(x)
            if answer or not skip_empty:
                p = min(max(answer.get(True, 0.5), 1e-15), 1.0 - 1e-15)
                loss.append(-math.log(p if y else 1.0 - p))
            model.learn_one(x, y)
    return [math.fsum(loss) / len(loss) for loss in losses]


def test_conventions_of_river():
    pytest.importorskip('sklearn', reason="river's checks need scikit-learn")
    for wrapper in (OnlinePlattScaling, OnlineCalibration):
        for parameters in wrapper._unit_test_params():
            checks.check_estimator(wrapper(**parameters))


@pytest.mark.parametrize('method', ['ops', 'ensemble'])
def test_conventions_of_river_around_a_tree(method):
    pytest.importorskip('sklearn', reason="river's checks need scikit-learn")
    model = OnlineCalibration(tree.HoeffdingTreeClassifier(), method)
    for check in checks.yield_checks(model):
        # It asks for both probabilities from the first sample on; a tree has no opinion then.
        if check.__name__ != 'check_predict_proba_one_binary':
            check(model.clone())


def test_examples_in_the_documentation():
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ('skip_empty', 'expected'), [(False, [0.4537, 0.3502]), (True, [0.4535, 0.3499])]
)
def test_tree_on_phishing(skip_empty, expected):
    models = [tree.HoeffdingTreeClassifier(), OnlinePlattScaling(tree.HoeffdingTreeClassifier())]
    assert log_losses(models, datasets.Phishing(), skip_empty) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ('count', 'expected'), [(1500, [0.1146, 0.0417]), (2000, [0.1016, 0.0360])]
)
def test_gaussian_naive_bayes_on_a_threshold(count, expected):
    peer = pytest.importorskip(
        'dense_armor.utility.learn.online_classifiers',
        reason='dense-armor is not installed: pip install dense-armor==1.2.0',
    )
    values = np.random.default_rng(0).uniform(-1.0, 1.0, count).tolist()
    models = [peer.OnlineGaussianNB(), OnlinePlattScaling(peer.OnlineGaussianNB())]
    losses = log_losses(models, [({'x': x}, int(x > 0.0)) for x in values])
    assert losses == pytest.approx(expected, abs=5e-5)


def test_same_numbers_as_the_calibrator_alone():
    base, wrapped = logistic(), OnlinePlattScaling(logistic(), gamma=0.3, forgetting=0.99)
    calibrator = create('ops', gamma=0.3, forgetting=0.99)
    for x, y in datasets.Phishing().take(300):
        q = calibrator.predict(base.predict_proba_one(x)[True])
        assert wrapped.predict_proba_one(x) == {False: 1.0 - q, True: q}
        assert wrapped.predict_one(x) is (q > 0.5)
        calibrator.update(base.predict_proba_one(x)[True], int(y))
        base.learn_one(x, y)
        wrapped.learn_one(x, y)
    assert wrapped.calibrator.state() == calibrator.state()


@pytest.mark.parametrize('method', CALIBRATORS)
def test_any_method_takes_its_place(method):
    model = OnlineCalibration(logistic(), method)
    (loss,) = log_losses([model], datasets.Phishing().take(600))
    assert math.isfinite(loss)
    assert model.calibrator.updates == 600
    assert pickle.loads(pickle.dumps(model)).calibrator.state() == model.calibrator.state()


def test_no_opinion_is_passed_on_and_not_learned_from():
    base = Says({})
    model = OnlinePlattScaling(base)
    assert model.predict_proba_one({'x': 1}) == {}
    assert model.predict_one({'x': 1}) is None
    before = model.calibrator.state()
    model.learn_one({'x': 1}, True)
    assert model.calibrator.state() == before
    assert base.calls[-1] == ('learn', True, {})


@pytest.mark.parametrize(
    ('answer', 'p'),
    [
        ({False: 1.0}, 0.0),
        ({False: 0.75}, 0.25),
        ({True: 0.75}, 0.75),
        ({0: 0.25, 1: 0.75}, 0.75),
        ({False: 0.3, True: 0.75}, 0.75),
        ({np.True_: np.float64(0.75)}, 0.75),
        ({True: 1.0 + 1e-12}, 1.0),
        ({False: 1.0 + 1e-12}, 0.0),
    ],
)
def test_probability_of_true(answer, p):
    model = OnlineCalibration(Says(answer), 'identity')
    assert model.predict_proba_one({}) == {False: 1.0 - p, True: p}
    other = create('ops')
    other.update(p, 1)
    model = OnlinePlattScaling(Says(answer))
    model.learn_one({}, True)
    assert model.calibrator.state() == other.state()


def test_classifier_is_asked_before_it_learns_and_learns_last():
    base = Says({True: 0.8})
    model = OnlinePlattScaling(base)
    seen = []
    update = model.calibrator.update
    model.calibrator.update = lambda p, y: (seen.append(list(base.calls)), update(p, y))
    model.learn_one({}, False, w=2.0)
    assert seen == [[('predict', {})]]
    assert base.calls == [('predict', {}), ('learn', False, {'w': 2.0})]


@pytest.mark.parametrize('y', ['spam', 2, None, 0.5, math.nan])
def test_label_that_is_neither_true_nor_false_is_refused_by_all(y):
    base = Says({True: 0.8})
    model = OnlinePlattScaling(base)
    before = model.calibrator.state()
    with pytest.raises(ValueError, match='a label must be 0 or 1'):
        model.learn_one({}, y)
    assert (model.calibrator.state(), base.calls) == (before, [])


@pytest.mark.parametrize('answer', [{'ham': 0.2, 'spam': 0.8}, {0: 0.2, 1: 0.3, 2: 0.5}])
def test_other_labels_are_refused_with_their_names(answer):
    model = OnlinePlattScaling(Says(answer))
    with pytest.raises(ValueError, match='are False and True, not'):
        model.predict_proba_one({})


@pytest.mark.parametrize('p', [math.nan, 1.1, -0.1])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(ValueError, match='a probability must be within'):
        OnlinePlattScaling(Says({True: p})).predict_proba_one({})


@pytest.mark.parametrize(
    ('arguments', 'sentence'),
    [
        ({'method': 'opps'}, "no method 'opps', did you mean 'ops'"),
        ({'gama': 0.1}, "ops has no parameter 'gama'"),
        ({'gamma': 0.0}, 'gamma must be'),
    ],
)
def test_wrong_method_or_parameter_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        OnlineCalibration(logistic(), **arguments)


@pytest.mark.parametrize(
    ('method', 'parameters'),
    [('ops', {'gamma': 0.3, 'clip': 0.02}), ('ensemble', {'warmup': 50, 'auto': False})],
)
def test_clone_is_fresh_and_copies_go_on(method, parameters):
    wrapper = OnlinePlattScaling if method == 'ops' else OnlineCalibration
    model = wrapper(logistic(), **({} if method == 'ops' else {'method': method}), **parameters)
    fresh = model.clone().calibrator.state()
    for x, y in datasets.Phishing().take(100):
        model.learn_one(x, y)
    clone = model.clone()
    assert clone.calibrator.state() == fresh
    assert clone.calibrator.parameters() == model.calibrator.parameters()
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for x, y in datasets.Phishing().take(150):
        for other in (*copies, model):
            other.learn_one(x, y)
    for other in copies:
        assert other.calibrator.state() == model.calibrator.state()


def test_clone_with_other_parameters():
    model = OnlinePlattScaling(logistic()).clone({'gamma': 0.5})
    assert model.calibrator.parameters()['gamma'] == 0.5
    assert repr(model).count('gamma=0.5') == 1
