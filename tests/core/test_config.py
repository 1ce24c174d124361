"""Settings a learner may change."""

import numpy as np
import pytest

import tutorlib as tl


def test_floats_are_float64_unless_asked_otherwise():
    assert tl.config.floatX == "float64"
    assert tl.tensor(1.0).dtype == tl.scalar("s").dtype == tl.shared(1.0).dtype == "float64"


def test_floatX_rules_python_floats_and_symbols_but_not_arrays_nor_ints():
    with tl.config.using(floatX="float32"):
        assert tl.tensor([1.0, 2.0]).dtype == "float32"
        assert tl.matrix("m").dtype == "float32"
        assert tl.shared(1.0).dtype == "float32"
        assert tl.Parameter([1.0]).dtype == "float32"
        assert tl.tensor(np.array([1.0])).dtype == "float64"
        assert tl.tensor([1, 2]).dtype == "int64"
        assert tl.tensor([1.0], dtype="float64").dtype == "float64"


def test_a_whole_training_step_stays_in_floatX():
    with tl.config.using(floatX="float32"):
        x, y = tl.matrix("x"), tl.vector("y")
        w = tl.shared([0.5, 0.5], name="w")
        loss = ((x @ w - y) ** 2).mean()
        step = tl.function([x, y], loss, updates=[(w, w - 0.1 * tl.grad(loss, w))])
        assert step([[1.0, 2.0]], [1.0]).dtype == "float32"
        assert w.get_value().dtype == "float32"


def test_settings_come_back_also_after_an_error():
    with pytest.raises(RuntimeError), tl.config.using(floatX="float32"):
        raise RuntimeError
    assert tl.config.floatX == "float64"


def test_an_impossible_floatX_is_refused_and_nothing_changes():
    with pytest.raises(tl.DTypeError, match="int64"):
        tl.config.floatX = "int64"
    with pytest.raises(tl.DTypeError), tl.config.using(floatX="double"):
        pass
    assert tl.config.floatX == "float64"


def test_a_misspelt_setting_is_an_error():
    with pytest.raises(AttributeError):
        tl.config.floatx = "float32"
    with pytest.raises(AttributeError), tl.config.using(floatx="float32"):
        pass
