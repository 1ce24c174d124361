"""``tl.memory_budget`` counts what is held and stops at the op that is one too many."""

import gc

import pytest

import tutorlib as tl

KB8 = [1.0] * 1000  # 8,000 bytes as float64


def test_a_recorded_graph_holds_its_values_until_it_is_gone():
    x = tl.tensor(KB8, requires_grad=True)
    with tl.memory_budget("1 MB") as memory:
        y = tl.exp(x) * 2.0
        assert memory.live == 16_000
        del y
        gc.collect()
        assert memory.live == 0
    assert memory.peak == 16_000


def test_the_error_names_op_line_and_largest_arrays_and_the_program_goes_on():
    x = tl.tensor(KB8, requires_grad=True)
    with tl.memory_budget(20_000):
        y = tl.exp(x)
        z = y * y
        with pytest.raises(tl.MemoryBudgetError) as error:
            tl.tanh(z)  # one too many
    text = str(error.value)
    assert "24.0 kB are held by 3 arrays, the budget is 20.0 kB" in text
    assert "# one too many" in text and "exp (1000,) 8.0 kB" in text and "no_grad" in text
    assert tl.tanh(z).shape == (1000,)


def test_without_recording_only_what_has_a_name_is_held():
    x = tl.tensor(KB8, requires_grad=True)
    with tl.memory_budget("100 kB") as memory, tl.no_grad():
        y = x
        for _ in range(50):
            y = tl.tanh(y)
    assert memory.peak <= 3 * 8_000 and y.shape == (1000,)


def test_views_cost_nothing():
    x = tl.tensor([KB8], requires_grad=True)
    with tl.memory_budget("1 MB") as memory:
        y = tl.exp(x)
        views = [y.T, y.reshape((10, 100)), y[0, 10:]]
        assert memory.live == 8_000 and len(views) == 3


def test_gradients_are_counted():
    x = tl.tensor(KB8, requires_grad=True)
    with tl.memory_budget("1 MB") as memory:
        loss = (x * x).sum()
        before = memory.live
        loss.backward()
    assert memory.peak >= before + 8_000


def test_a_compiled_function_is_stopped_at_its_node_and_writes_nothing():
    x, w = tl.vector("x"), tl.shared(KB8, name="w")
    long = tl.concatenate([x * w] * 20)  # built here
    f = tl.function([x], tl.sum(long), updates=[(w, w * 2.0)])
    with tl.memory_budget("100 kB"), pytest.raises(tl.MemoryBudgetError, match="built here"):
        f(KB8)
    assert w.get_value()[0] == 1.0
    assert f(KB8) == 20_000.0


@pytest.mark.parametrize(
    ("limit", "size"), [(100, 100), ("64 MB", 64 * 10**6), ("1.5GiB", 3 * 2**29), ("2kb", 2000), (1e3, 1000)]
)
def test_amounts(limit, size):
    with tl.memory_budget(limit) as memory:
        assert memory.budget == size


@pytest.mark.parametrize("limit", ["much", "5 apples", "-3", ""])
def test_no_amount(limit):
    with pytest.raises(tl.TutorlibError, match="no amount of memory"), tl.memory_budget(limit):
        pass
