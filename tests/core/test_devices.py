"""Devices: host devices kept apart by a tag, a GPU played by a strict double, and machines that have none."""

import subprocess
import sys

import numpy as np
import pytest

import tutorlib as tl
from tests.doubles.strict_gpu import HiddenTransfer, StrictArray, strict_gpu
from tests.ops.test_table import CASES, ELSEWHERE, results


@pytest.fixture
def gpu():
    with strict_gpu() as double:
        yield double


def leaf(value, device, name=None):
    return tl.tensor(value, requires_grad=True, device=device, name=name)


# ---- names ----


@pytest.mark.parametrize("name", ["cpu", "cpu:1", "cpu:12"])
def test_a_device_is_written_as_it_is_named(name):
    assert str(tl.device(name)) == name
    assert tl.device(tl.device(name)) == tl.device(name)


def test_cpu_zero_is_cpu():
    assert tl.device("cpu:0") == tl.device("cpu")


@pytest.mark.parametrize("name", ["tpu", "cpu:", "cpu:x", "gpu:-1", "", "cuda"])
def test_other_names_are_refused(name):
    with pytest.raises(tl.TutorlibError, match="no device is called"):
        tl.device(name)


def test_new_values_go_to_the_default_device():
    with tl.default_device("cpu:1"):
        assert str(tl.tensor([1.0]).device) == "cpu:1"
        assert str(tl.shared([1.0]).device) == "cpu:1"
        with tl.default_device("cpu"):
            assert str(tl.tensor([1.0]).device) == "cpu"
    assert str(tl.tensor([1.0]).device) == "cpu"


# ---- several host devices ----


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1,
        lambda x: x[1:],
        lambda x: x[0, 0],
        lambda x: x.T,
        lambda x: x.sum(),
        lambda x: x.max(axis=0),
        lambda x: tl.exp(x),
        lambda x: tl.sigmoid(x),
        lambda x: tl.softmax(x),
        lambda x: x @ x,
        lambda x: x.reshape(-1),
        lambda x: x > 1,
        lambda x: tl.where(x > 1, x, 0.0),
        lambda x: tl.concatenate([x, x]),
        lambda x: tl.broadcast_to(x, (2, 2, 2)),
        lambda x: x.astype("float32"),
        lambda x: tl.zeros_like(x),
        lambda x: x.detach(),
    ],
)
def test_a_result_is_on_the_device_of_its_operands(use):
    x = leaf([[1.0, 2.0], [3.0, 4.0]], "cpu:1")
    assert str(use(x).device) == "cpu:1"
    with tl.no_grad():
        assert str(use(x).device) == "cpu:1"


@pytest.mark.parametrize("mix", [lambda x, y: x + y, lambda x, y: tl.where(x > 1, x, y), lambda x, y: tl.matmul(x, y)])
def test_operands_on_different_devices_are_refused_with_a_way_to_move_them(mix):
    with pytest.raises(tl.DeviceMismatchError, match=r"cpu and cpu:1") as caught:
        mix(leaf([1.0, 2.0], "cpu"), leaf([1.0, 2.0], "cpu:1"))
    assert 'x.to("cpu")' in str(caught.value)


def test_a_host_array_beside_a_tensor_on_another_device_is_refused():
    with pytest.raises(tl.DeviceMismatchError):
        leaf([1.0, 2.0], "cpu:1") * np.array([1.0, 2.0])


def test_python_numbers_fit_every_device():
    assert (leaf([1.0, 2.0], "cpu:1") * 2).tolist() == [2.0, 4.0]


def test_moving_copies_and_staying_does_not():
    x = tl.tensor([1.0, 2.0])
    assert x.to("cpu") is x
    moved = x.to("cpu:1")
    assert str(moved.device) == "cpu:1"
    assert not np.shares_memory(moved.numpy(), x.numpy())


def test_a_gradient_travels_home():
    x, w = leaf([1.0, 2.0], "cpu"), leaf([3.0, 4.0], "cpu:1")
    loss = (x.to("cpu:1") * w).sum()
    loss.backward()
    assert (str(x.grad.device), str(w.grad.device)) == ("cpu", "cpu:1")
    assert x.grad.tolist() == [3.0, 4.0]
    assert w.grad.tolist() == [1.0, 2.0]


def test_second_derivatives_travel_too():
    x = leaf(3.0, "cpu")
    slope = tl.grad(x.to("cpu:1") ** 3, x)
    assert str(slope.device) == "cpu"
    assert tl.grad(slope, x).item() == 18.0


def test_a_function_runs_where_its_shared_variables_live():
    s, x = tl.shared([1.0, 2.0], device="cpu:1"), tl.vector("x")
    step = tl.function([x], (s * x).sum(), updates=[(s, s + x)])
    assert step([3.0, 4.0]) == 11.0
    assert str(s.device) == "cpu:1"
    s.set_value([0.0, 0.0])
    assert str(s.device) == "cpu:1"


def test_a_function_of_shared_variables_on_two_devices_is_refused():
    a, b = tl.shared(1.0, device="cpu"), tl.shared(1.0, device="cpu:1")
    with pytest.raises(tl.DeviceMismatchError):
        tl.function([], a + b)()


# ---- without a GPU ----


def test_without_a_gpu_everything_runs_on_the_cpu_and_one_line_says_so_once():
    program = (
        "import sys; sys.modules['cupy'] = None\n"
        "import tutorlib as tl\n"
        "x = tl.tensor([1.0, 2.0], device='gpu', requires_grad=True)\n"
        "y = tl.shared(1.0, device='gpu:1')\n"
        "(x.to('gpu') * 2).sum().backward()\n"
        "print(x.device, y.device, x.grad.tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "cpu cpu [2.0, 2.0]\n"
    assert done.stderr == "tutorlib: no GPU (CuPy is not installed); everything runs on the CPU with NumPy.\n"


# ---- a GPU, played by the strict double ----


def test_the_double_refuses_what_would_cross_unseen(gpu):
    array = gpu.from_host(np.ones(2), 0)
    for cross in (
        np.asarray,
        float,
        bool,
        list,
        lambda a: a.item(),
        lambda a: a + np.ones(2),
        lambda a: np.ones(2) + a,
    ):
        with pytest.raises(TypeError):
            cross(array)
    with pytest.raises(HiddenTransfer):
        gpu.module.add(array, np.ones(2))


def test_making_and_reading_are_counted(gpu):
    x = tl.tensor([1.0, 2.0], device="gpu")
    assert isinstance(x.data, StrictArray)
    assert (tl.transfers.host_to_gpu, tl.transfers.gpu_to_host) == (1, 0)
    assert x.numpy().tolist() == [1.0, 2.0]
    assert tl.transfers.gpu_to_host == 1
    assert x[0].item() == 1.0
    assert tl.transfers.gpu_to_host == 2


def test_host_data_beside_a_gpu_tensor_is_refused_not_copied(gpu):
    with pytest.raises(tl.DeviceMismatchError, match="gpu and cpu"):
        tl.tensor([1.0, 2.0], device="gpu") * np.array([1.0, 2.0])


def on_gpu(arrays):
    return [tl.tensor(a, requires_grad=a.dtype.kind == "f", device="gpu") for a in arrays]


def quadratic(outputs):
    total = None
    for out in outputs:
        if out.dtype.kind == "f":
            term = tl.sum(out * out)
            total = term if total is None else total + term
    return total


@pytest.mark.parametrize("name", [name for name in CASES if name not in ELSEWHERE])
def test_every_op_and_its_gradients_stay_on_the_gpu(gpu, name):
    fn, *arrays = CASES[name]
    inputs, host = on_gpu(arrays), [tl.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    floats = [i for i, v in enumerate(inputs) if v.dtype.kind == "f"]
    tl.transfers.reset()
    found, expected = [], []
    for variables, into in ((inputs, found), (host, expected)):
        outputs = results(fn, variables)
        into += outputs
        cost = quadratic(outputs)
        if cost is not None and floats:
            wrt = [variables[i] for i in floats]
            slopes = tl.grad(cost, wrt, disconnected="zero")
            into += slopes
            into += tl.grad(cost, wrt, disconnected="zero", create_graph=False)
            into += tl.grad(quadratic(slopes), wrt, disconnected="zero")
    assert (tl.transfers.host_to_gpu, tl.transfers.gpu_to_host) == (0, 0)
    for value, want in zip(found, expected, strict=True):
        assert str(value.device) == "gpu"
        np.testing.assert_allclose(value.numpy(), want.numpy(), rtol=1e-9, atol=1e-12)


def test_backward_stays_on_the_gpu(gpu):
    x, w = tl.tensor([[1.0, 2.0]], device="gpu"), leaf([3.0, 4.0], "gpu")
    loss = (tl.tanh(x @ w) ** 2).mean()
    tl.transfers.reset()
    loss.backward()
    assert (tl.transfers.host_to_gpu, tl.transfers.gpu_to_host) == (0, 0)
    assert str(w.grad.device) == "gpu"


def test_a_training_step_on_the_gpu_moves_only_its_input_and_its_output(gpu):
    x, y = tl.matrix("x"), tl.vector("y")
    w = tl.shared([0.1, 0.2], name="w", device="gpu")
    loss = ((tl.tanh(x @ w) - y) ** 2).mean()
    step = tl.function([x, y], loss, updates=[(w, w - 0.1 * tl.grad(loss, w))])
    tl.transfers.reset()
    first = step(np.eye(2), np.ones(2))
    assert (tl.transfers.host_to_gpu, tl.transfers.gpu_to_host) == (2, 1)
    assert isinstance(w.storage.value, StrictArray)
    assert step(np.eye(2), np.ones(2)) < first
    plain = tl.shared([0.1, 0.2])
    same = ((tl.tanh(x @ plain) - y) ** 2).mean()
    tl.function([x, y], updates=[(plain, plain - 0.1 * tl.grad(same, plain))])(np.eye(2), np.ones(2))
    np.testing.assert_allclose(first, 1 / 2 * ((np.tanh([0.1, 0.2]) - 1) ** 2).sum())


def test_updates_alone_move_nothing(gpu):
    a, b = tl.shared([1.0], device="gpu"), tl.shared([2.0], device="gpu")
    swap = tl.function([], updates=[(a, b), (b, a * 10)])
    tl.transfers.reset()
    swap()
    assert (tl.transfers.host_to_gpu, tl.transfers.gpu_to_host) == (0, 0)
    assert (a.get_value().tolist(), b.get_value().tolist()) == ([2.0], [10.0])


def test_a_gradient_travels_home_from_the_gpu(gpu):
    x, w = leaf([1.0, 2.0], "cpu"), leaf([3.0, 4.0], "gpu")
    (x.to("gpu") * w).sum().backward()
    assert (str(x.grad.device), str(w.grad.device)) == ("cpu", "gpu")
    assert x.grad.tolist() == [3.0, 4.0]


def test_writing_in_place_on_the_gpu(gpu):
    x = tl.tensor([1.0, 2.0], device="gpu")
    x += 1
    x[0] = 10.0
    x.assign(x * 2)
    assert x.numpy().tolist() == [20.0, 6.0]
    assert str(x.device) == "gpu"


def test_two_gpus_are_two_devices(gpu):
    with pytest.raises(tl.DeviceMismatchError, match="gpu and gpu:1"):
        tl.tensor([1.0], device="gpu") + tl.tensor([1.0], device="gpu:1")


def test_values_on_the_gpu_can_be_saved_and_shown(gpu):
    import copy
    import pickle

    x = tl.tensor([1.0, 2.0], device="gpu", name="x")
    assert repr(x) == "tensor([1., 2.], device='gpu')"
    assert pickle.loads(pickle.dumps(x)).tolist() == [1.0, 2.0]
    assert str(copy.deepcopy(x).device) == "gpu"
