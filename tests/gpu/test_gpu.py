"""A real GPU: the engine on CuPy gives what it gives on NumPy, and moves nothing unseen. Skipped without one."""

import numpy as np
import pytest

import tutorlib as tl

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
try:
    COUNT = cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    COUNT = 0
pytestmark = pytest.mark.skipif(COUNT == 0, reason="no GPU is visible")


def model(x, w, b):
    return tl.softmax(tl.tanh(x @ w) + b).max(axis=1).mean()


def arrays():
    rng = np.random.default_rng(0)
    return rng.normal(size=(5, 4)), rng.normal(size=(4, 3)), rng.normal(size=3)


def test_values_and_gradients_are_those_of_the_cpu():
    found = {}
    for device in ("cpu", "gpu"):
        leaves = [tl.tensor(a, requires_grad=True, device=device) for a in arrays()]
        tl.transfers.reset()
        loss = model(*leaves)
        loss.backward()
        assert (tl.transfers.host_to_gpu, tl.transfers.gpu_to_host) == (0, 0)
        assert all(str(v.grad.device) == device for v in leaves)
        found[device] = [loss.numpy(), *(v.grad.numpy() for v in leaves)]
    for on_gpu, on_cpu in zip(found["gpu"], found["cpu"], strict=True):
        np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-10)


def test_a_training_step_keeps_its_state_on_the_gpu():
    data, weights, bias = arrays()
    x = tl.matrix("x")
    w, b = tl.shared(weights, device="gpu"), tl.shared(bias, device="gpu")
    loss = model(x, w, b)
    step = tl.function(
        [x], loss, updates=[(p, p - 0.5 * g) for p, g in zip([w, b], tl.grad(loss, [w, b]), strict=True)]
    )
    losses = [step(data).item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert isinstance(w.storage.value, cupy.ndarray)


def test_mixing_host_and_gpu_is_refused():
    with pytest.raises(tl.DeviceMismatchError):
        tl.tensor([1.0], device="gpu") + tl.tensor([1.0])
