"""A tensor as a value: copying, reading, saving, printing, and NumPy's protocols."""

import copy
import math
import pickle

import numpy as np
import pytest

import tutorlib as tl


def leaf(value, name=None):
    return tl.tensor(value, requires_grad=True, name=name)


# ---- making ----


def test_a_tensor_copies_the_array_it_is_made_from():
    data = np.array([1.0, 2.0])
    t = tl.tensor(data)
    data[0] = 100.0
    assert t.tolist() == [1.0, 2.0]
    assert data.flags.writeable


def test_a_tensor_made_from_a_tensor_is_a_leaf_with_a_value_of_its_own():
    x = leaf([1.0, 2.0])
    t = tl.tensor(x * 2)
    assert t.node is None
    assert not t.requires_grad
    assert t.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("value, dtype", [(1, "int64"), (1.0, "float64"), (True, "bool"), ([], "float64")])
def test_python_values_get_their_usual_dtype(value, dtype):
    assert tl.tensor(value).dtype == dtype


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint16", "bool"])
def test_an_array_keeps_its_dtype(dtype):
    assert tl.tensor(np.zeros(2, dtype)).dtype == dtype
    assert tl.tensor(np.dtype(dtype).type(1)).dtype == dtype


def test_a_whole_number_that_a_dtype_cannot_hold_is_refused():
    assert tl.tensor([255], dtype="uint8").tolist() == [255]
    with pytest.raises(tl.DTypeError, match="0 to 255"):
        tl.tensor([256], dtype="uint8")


def test_only_floats_can_want_a_gradient():
    with pytest.raises(tl.DTypeError, match=r"1\.0 instead of 1"):
        tl.tensor([1, 2], requires_grad=True)


def test_a_list_of_tensors_is_joined_but_never_cut_from_its_gradients():
    assert tl.tensor([tl.tensor(1.0), tl.tensor(2.0)]).tolist() == [1.0, 2.0]
    with pytest.raises(tl.TutorlibError, match=r"tl\.stack"):
        tl.tensor([leaf(1.0), leaf(2.0)])


def test_a_column_major_or_strided_array_keeps_its_values():
    base = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(tl.tensor(np.asfortranarray(base)).numpy(), base)
    np.testing.assert_array_equal(tl.tensor(base[::-1, ::2]).numpy(), base[::-1, ::2])


# ---- reading ----


def test_numpy_gives_a_read_only_view():
    t = tl.tensor([1.0, 2.0])
    array = t.numpy()
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 5.0
    own = array.copy()
    own[0] = 5.0
    assert t.tolist() == [1.0, 2.0]


def test_data_cannot_be_changed_behind_the_tensors_back():
    t = tl.tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        t.data[0] = 5.0


def test_an_array_of_a_tensor_is_the_learners_own():
    t = tl.tensor([1.0, 2.0])
    array = np.array(t)
    array[0] = 5.0
    assert t.tolist() == [1.0, 2.0]
    assert np.asarray(t, dtype="float32").dtype == "float32"


def test_item_and_the_python_numbers():
    assert tl.tensor([[2.5]]).item() == 2.5
    assert type(tl.tensor(3).item()) is int
    assert float(tl.tensor(2.5)) == 2.5
    assert int(tl.tensor(2.5)) == 2
    assert bool(tl.tensor(0.0)) is False
    assert math.sqrt(tl.tensor(4.0)) == 2.0
    assert list(range(tl.tensor(3))) == [0, 1, 2]
    assert ["a", "b"][tl.tensor(1)] == "b"


@pytest.mark.parametrize("read", [float, int, bool, lambda t: t.item()], ids="float int bool item".split())
@pytest.mark.parametrize("shape", [(2,), (0,), (2, 1)])
def test_several_elements_are_no_number(read, shape):
    with pytest.raises(tl.ShapeError, match=r"sum\(\)\.item\(\)"):
        read(tl.tensor(np.zeros(shape)))


def test_a_float_tensor_is_no_index():
    with pytest.raises(TypeError):
        ["a", "b"][tl.tensor(1.0)]


def test_length_and_iteration_go_along_the_first_axis():
    t = tl.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert len(t) == 3
    assert [row.tolist() for row in t] == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    first, *_ = t
    assert first.shape == (2,)


def test_iteration_is_recorded():
    x = leaf([2.0, 3.0])
    a, b = x
    (a * b).backward()
    assert x.grad.tolist() == [3.0, 2.0]


@pytest.mark.parametrize("use", [len, list, iter])
def test_a_scalar_has_neither_length_nor_elements(use):
    with pytest.raises(TypeError):
        use(tl.tensor(1.0))


def test_shape_dtype_ndim_size_and_device():
    t = tl.tensor(np.zeros((2, 3), "float32"))
    assert (t.shape, t.dtype, t.ndim, t.size, str(t.device)) == ((2, 3), np.dtype("float32"), 2, 6, "cpu")


# ---- printing ----


def test_repr_shows_value_dtype_and_how_it_was_made():
    assert repr(tl.tensor([1.0, 2.0])) == "tensor([1., 2.])"
    assert repr(tl.tensor(np.float32(1.5))) == "tensor(1.5, dtype=float32)"
    assert repr(leaf(1.0)) == "tensor(1., requires_grad=True)"
    assert repr(leaf(1.0) * 2) == "tensor(2., op=mul)"
    assert repr(tl.tensor(1.0, device="cpu:1")) == "tensor(1., device='cpu:1')"


def test_repr_of_a_large_tensor_is_short():
    assert len(repr(tl.tensor(np.zeros((1000, 1000))))) < 500


def test_formatting():
    x = leaf(2.0) * 1.5
    assert f"{x:.2f}" == "3.00"
    assert f"{tl.tensor([[2.0]]):.1e}" == "2.0e+00"
    assert f"{tl.tensor([1.0, 2.0])}" == "tensor([1., 2.])"
    assert f"{tl.tensor([1.0, 2.0]):>20}" == "    tensor([1., 2.])"
    with pytest.raises(tl.ShapeError, match=r"'\.2f' is for one number"):
        format(tl.tensor([1.0, 2.0]), ".2f")


# ---- identity ----


def test_equality_is_elementwise_and_tensors_are_keys_by_identity():
    a, b = tl.tensor([1.0, 2.0]), tl.tensor([1.0, 5.0])
    assert (a == b).tolist() == [True, False]
    assert (a != b).tolist() == [False, True]
    names = {a: "a", b: "b"}
    assert names[a] == "a"


# ---- saving and copying ----


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_keep_value_name_and_wish_for_a_gradient(again):
    x = leaf([1.0, 2.0], name="x")
    same = again(x)
    assert same is not x
    assert (same.tolist(), same.name, same.requires_grad) == ([1.0, 2.0], "x", True)
    (same * 2).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_a_copied_result_has_no_graph(again):
    x = leaf([1.0, 2.0])
    assert again(x * 2).node is None
    assert again(x * 2).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy])
def test_writing_into_a_copy_leaves_the_original_alone(again):
    t = tl.tensor([1.0, 2.0])
    twin = again(t)
    twin[0] = 100.0
    assert t.tolist() == [1.0, 2.0]


def test_a_structure_that_holds_one_tensor_twice_keeps_it_one_when_copied():
    t = tl.tensor([1.0])
    a, b = copy.deepcopy([t, t])
    assert a is b


# ---- NumPy's protocols ----


def test_numpy_arrays_on_the_left_let_tensors_decide():
    x, a = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    for result, value in [
        (a + x, [4.0, 6.0]),
        (a - x, [2.0, 2.0]),
        (a * x, [3.0, 8.0]),
        (a / x, [3.0, 2.0]),
        (a**x, [3.0, 16.0]),
        (np.diag(a) @ x, [3.0, 8.0]),
        (np.float64(2) * x, [2.0, 4.0]),
        (np.int64(2) - x, [1.0, 0.0]),
    ]:
        assert type(result) is tl.Tensor
        assert result.requires_grad
        assert result.tolist() == value


def test_comparing_an_array_with_a_tensor_gives_a_tensor():
    result = np.array([1.0, 5.0]) > tl.tensor([2.0, 2.0])
    assert type(result) is tl.Tensor
    assert result.tolist() == [False, True]


@pytest.mark.parametrize(
    "call",
    [
        np.exp,
        np.sqrt,
        np.sum,
        np.mean,
        np.max,
        np.abs,
        lambda x: np.sum(x, axis=0),
        lambda x: np.transpose(x),
        lambda x: np.reshape(x, (-1,)),
        lambda x: np.concatenate([x, x]),
        lambda x: np.stack([x, x], axis=1),
        lambda x: np.where(x > 1, x, 0.0),
        lambda x: np.clip(x, 0.5, 1.5),
        lambda x: np.maximum(x, 1.5),
        lambda x: np.matmul(x, x),
        lambda x: np.expand_dims(x, 0),
    ],
)
def test_numpys_functions_on_tensors_are_ours_and_recorded(call):
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    x = leaf(array)
    result = call(x)
    assert type(result) is tl.Tensor
    assert result.requires_grad
    np.testing.assert_allclose(result.numpy(), call(array))


def test_numpys_functions_on_symbols_build_graphs():
    s = tl.vector("s")
    np.testing.assert_allclose(np.exp(np.ones(2) * s).eval({s: [0.0, 1.0]}), np.exp([0.0, 1.0]))


def test_numpys_shape_questions_are_answered():
    t = tl.tensor(np.zeros((2, 3)))
    assert (np.shape(t), np.ndim(t), np.size(t)) == ((2, 3), 2, 6)


def test_an_array_is_not_changed_in_place_by_a_tensor():
    array = np.array([1.0, 2.0])
    with pytest.raises(tl.TutorlibError, match="Fix"):
        array += tl.tensor([1.0, 1.0])
    assert array.tolist() == [1.0, 2.0]


# ---- grad as an attribute ----


def test_a_gradient_may_be_set_and_cleared_but_only_in_the_tensors_shape():
    x = leaf([1.0, 2.0])
    x.grad = [3.0, 4.0]
    assert x.grad.tolist() == [3.0, 4.0]
    x.zero_grad()
    assert x.grad is None
    with pytest.raises(tl.ShapeError):
        x.grad = [1.0, 2.0, 3.0]


def test_detach_shares_no_future():
    x = leaf([1.0, 2.0])
    y = (x * 2).detach()
    assert not y.requires_grad
    y[0] = 100.0
    assert (x * 2).tolist() == [2.0, 4.0]
