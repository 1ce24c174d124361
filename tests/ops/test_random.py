"""Random draws: the published words of the generator, distributions against theory, the same in both modes, replay.

Every draw here has a fixed key, so every test always sees the same numbers.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import data, slopes
from tutorlib.ops import philox, random

MANY = 200_000


def hexadecimal(words: Any) -> str:
    return " ".join(f"{int(w[0]):08x}" for w in words)


def arrays(words: str) -> list[np.ndarray]:
    return [np.array([int(word, 16)], np.uint64) for word in words.split()]


def kolmogorov_smirnov(sample: Any, cdf: Any) -> float:
    """The largest distance between the sample's distribution function and ``cdf``, times √n."""
    ordered = np.sort(sample)
    n = len(ordered)
    theory = cdf(ordered)
    above = np.arange(1, n + 1) / n - theory
    return float(max(above.max(), (1 / n - above).max()) * np.sqrt(n))


# ---- the generator ----


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            "243f6a88 85a308d3 13198a2e 03707344",
            "a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_the_words_are_those_published_with_the_algorithm(counter: str, key: str, words: str) -> None:
    assert hexadecimal(philox.philox(np, arrays(counter), arrays(key))) == words


def test_a_draw_lays_out_the_blocks_of_its_counter_and_key() -> None:
    """Word 4·i + j of a draw is word j of the block with counter (i, 0, low half, high half of the draw's counter)."""
    key, counter = 0x299F31D0A4093822, 0x0370734413198A2E
    drawn = random.bits(key, (3 * 4,), counter=counter).numpy()
    block = philox.philox(np, arrays("2 0 13198a2e 03707344"), arrays("a4093822 299f31d0"))
    np.testing.assert_array_equal(drawn[8:], np.concatenate(block))
    assert drawn.dtype == np.uint32


def test_long_draws_continue_short_ones() -> None:
    long = random.bits(3, (200_001,)).numpy()
    np.testing.assert_array_equal(random.bits(3, (70_001,)).numpy(), long[:70_001])
    block = philox.philox(np, arrays(f"{50_000:x} 0 0 0"), arrays("3 0"))
    assert long[200_000] == int(block[0][0])


def test_uniform_numbers_are_the_leading_bits_as_a_fraction() -> None:
    words = random.bits(5, (6,)).numpy().astype(np.uint64)
    np.testing.assert_array_equal(random.uniform(5, (6,), dtype="float32").numpy(), (words >> 8) / 2.0**24)
    pairs = words[0::2] + words[1::2] * 2**32
    np.testing.assert_array_equal(random.uniform(5, (3,), dtype="float64").numpy(), (pairs >> 11) / 2.0**53)


def test_normal_numbers_are_quantiles_as_the_standard_library_computes_them() -> None:
    p = np.concatenate([data((500,), low=0.0, high=1.0), 2.0 ** -np.arange(1, 54), 1 - 2.0 ** -np.arange(2, 53)])
    expected = [statistics.NormalDist().inv_cdf(each) for each in p]
    np.testing.assert_allclose(philox.normal_quantile(np, p), expected, 2e-14, 1e-15)


def test_the_own_logarithm_is_right_to_the_last_places() -> None:
    x = np.concatenate([data((500,), low=1e-9, high=1.0), 2.0 ** -np.arange(0, 60), [1e300, 3.0]])
    np.testing.assert_allclose(philox.logarithm(np, x), np.log(x), 1e-15, 2e-17)


class ArrayModule:
    """NumPy under another name: takes the ways that any array module takes, with no look at values."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@pytest.mark.parametrize("draw", [philox.uniform, philox.normal, philox.exponential])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_every_array_module_computes_the_same_numbers(draw: Any, dtype: str) -> None:
    here, elsewhere = (draw(xp, 9, 4, 100_003, dtype) for xp in (np, ArrayModule()))
    assert here.dtype == elsewhere.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(here, elsewhere)


def test_bits_scale_to_a_limit_as_exact_arithmetic_does() -> None:
    bits = random.bits(1, (64, 2)).numpy().astype(np.uint64) @ np.array([1, 2**32], np.uint64)
    limits = np.concatenate([np.array([1, 2, 6, 2**32, 2**63, 2**64 - 1], np.uint64), bits[:58] | np.uint64(1)])
    got = philox.below(np, bits, limits)
    assert [int(g) for g in got] == [(int(b) * int(n)) >> 64 for b, n in zip(bits, limits, strict=True)]


# ---- distributions ----


@pytest.mark.parametrize(
    ("sample", "cdf"),
    [
        (lambda: random.uniform(1, (MANY,)), lambda x: np.clip(x, 0, 1)),
        (lambda: random.uniform(2, (MANY,), -1.0, 3.0, dtype="float32"), lambda x: (x + 1) / 4),
        (lambda: random.exponential(4, (MANY,), 2.0), lambda x: 1 - np.exp(-x / 2)),
    ],
)
def test_the_distribution_function_is_that_of_the_theory(sample: Any, cdf: Any) -> None:
    # 1.95: a right generator exceeds it once in a thousand keys.
    assert kolmogorov_smirnov(sample().numpy().astype(np.float64), cdf) < 1.95


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_have_the_normal_distribution_function(dtype: str) -> None:
    z = random.normal(3, (20_000,), 1.0, 2.0, dtype=dtype).numpy().astype(np.float64)
    normal = statistics.NormalDist(1.0, 2.0)
    assert kolmogorov_smirnov(z, lambda x: np.array([normal.cdf(each) for each in x])) < 1.95


def test_normal_numbers_have_the_moments_of_the_normal_distribution() -> None:
    z = random.normal(7, (MANY,)).numpy()
    # Standard errors of the first four moments: sqrt(1, 2, 15, 96) / sqrt(n).
    for power, expected, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((z**power).mean() - expected) < 4 * np.sqrt(variance / MANY)


def test_draws_of_neighbouring_counters_and_keys_are_uncorrelated() -> None:
    a, b = random.normal(7, (MANY,), counter=1).numpy(), random.normal(7, (MANY,), counter=2).numpy()
    c = random.normal(8, (MANY,), counter=1).numpy()
    for x, y in ((a, b), (a, c), (a[1:], a[:-1])):
        assert abs(np.corrcoef(x, y)[0, 1]) < 4 / np.sqrt(len(x))


def test_bernoulli_is_true_as_often_as_it_should() -> None:
    hits = random.bernoulli(0, (MANY,), 0.3).numpy()
    assert hits.dtype == bool
    assert abs(hits.mean() - 0.3) < 4 * np.sqrt(0.21 / MANY)
    assert random.bernoulli(0, (99,), 1.0).numpy().all()
    assert not random.bernoulli(0, (99,), 0.0).numpy().any()


def test_randint_gives_every_number_of_its_range_equally_often() -> None:
    drawn = random.randint(0, (60_000,), -2, 4).numpy()
    counts = np.bincount(drawn + 2, minlength=6)
    assert len(counts) == 6
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 20.5  # chi-square, 5 degrees of freedom, 1 in 1 000


def test_randint_takes_limits_element_by_element_and_a_dtype() -> None:
    drawn = random.randint(0, None, np.array([0, 10, -5]), np.array([1, 11, -4]), dtype="int8")
    assert drawn.dtype == np.int8
    np.testing.assert_array_equal(drawn.numpy(), [0, 10, -5])


def test_the_six_orders_of_three_come_equally_often() -> None:
    orders = [tuple(random.permutation(0, 3, counter=i).tolist()) for i in range(1_200)]
    counts = np.array([orders.count(order) for order in sorted(set(orders))])
    assert len(counts) == 6
    assert ((counts - 200) ** 2 / 200).sum() < 20.5


def test_a_permutation_moves_whole_rows_and_passes_gradients() -> None:
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    mixed = random.permutation(5, x)
    assert sorted(map(tuple, mixed.tolist())) == [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]
    (mixed * np.array([[1.0], [2.0], [3.0]])).sum().backward()
    assert x.grad is not None
    order = [x.tolist().index(row) for row in mixed.tolist()]
    np.testing.assert_array_equal(x.grad.numpy()[order], [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])


def test_choice_without_replacement_takes_each_element_at_most_once() -> None:
    chosen = random.choice(1, np.array([10, 20, 30, 40]), (2, 2), replace=False)
    assert sorted(chosen.numpy().ravel()) == [10, 20, 30, 40]


def test_choice_follows_its_weights_with_and_without_replacement() -> None:
    p = np.array([1.0, 0.0, 2.0, 1.0])
    counts = np.bincount(random.choice(2, 4, (40_000,), p=p).numpy(), minlength=4)
    assert counts[1] == 0
    np.testing.assert_allclose(counts / 40_000, p / 4, atol=0.011)
    first = [random.choice(2, 4, (1,), replace=False, p=p, counter=i).numpy()[0] for i in range(1_000)]
    np.testing.assert_allclose(np.bincount(first, minlength=4) / 1_000, p / 4, atol=0.065)


def test_categories_without_weight_are_never_drawn_at_either_end() -> None:
    drawn = random.categorical(0, np.array([0.0, 0.3, 0.1, 0.0]), (10_000,)).numpy()
    assert set(drawn) == {1, 2}


def test_categorical_draws_for_each_row_of_weights() -> None:
    p = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    drawn = random.categorical(0, p, (2_000,)).numpy()
    assert drawn.shape == (2_000, 2)
    assert (drawn[:, 0] == 0).all()
    assert abs((drawn[:, 1] == 1).mean() - 0.5) < 4 * np.sqrt(0.25 / 2_000)


def test_multinomial_counts_sum_to_the_number_of_draws_and_have_the_right_mean() -> None:
    counts = random.multinomial(0, 10, [0.2, 0.3, 0.5], (2_000,)).numpy()
    assert counts.shape == (2_000, 3)
    assert (counts.sum(axis=1) == 10).all()
    np.testing.assert_allclose(counts.mean(axis=0), [2.0, 3.0, 5.0], atol=4 * np.sqrt(2.5 / 2_000))


# ---- keys, shapes, dtypes ----


def test_a_key_is_its_seed() -> None:
    np.testing.assert_array_equal(random.normal(random.key(4), (5,)).numpy(), random.normal(4, (5,)).numpy())


def test_split_keys_give_numbers_of_their_own() -> None:
    keys = random.split(0, 3)
    assert keys.dtype == np.uint64
    drawn = [tuple(random.normal(key, (4,)).tolist()) for key in [*keys, random.key(0)]]
    assert len(set(drawn)) == 4


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (5,)])
def test_every_shape_can_be_drawn(shape: tuple[int, ...]) -> None:
    for draw in (random.uniform, random.normal, random.exponential, random.bernoulli, random.randint, random.bits):
        assert draw(0, shape).shape == shape


def test_nothing_is_a_permutation_of_nothing() -> None:
    assert random.permutation(0, 0).shape == (0,)
    assert random.choice(0, 0, (0,)).shape == (0,)


def test_floats_have_the_dtype_of_their_parameters_or_floatX() -> None:
    assert random.normal(0, (2,)).dtype == np.float64
    assert random.normal(0, None, tl.tensor([1.0], dtype="float32")).dtype == np.float32
    with tl.config.using(floatX="float32"):
        assert random.uniform(0, (2,), -1, 5).dtype == np.float32
    assert random.uniform(0, (2,), dtype="float16").dtype == np.float16


def test_a_draw_without_shape_has_the_shape_of_its_parameters() -> None:
    assert random.normal(0, None, np.zeros((2, 1)), np.ones(3)).shape == (2, 3)
    assert random.bernoulli(0, p=[0.1, 0.9]).shape == (2,)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (tl.ShapeError, lambda: random.normal(0, (), np.zeros(3))),
        (tl.ShapeError, lambda: random.normal(0, (-1,))),
        (tl.ShapeError, lambda: random.choice(0, 3, (4,), replace=False)),
        (tl.ShapeError, lambda: random.choice(0, 0, (1,))),
        (tl.ShapeError, lambda: random.categorical(0, 1.0)),
        (tl.TutorlibError, lambda: random.categorical(0, [-1.0, 2.0])),
        (tl.TutorlibError, lambda: random.categorical(0, [0.0, 0.0])),
        (tl.TutorlibError, lambda: random.randint(0, (2,), 3, 3)),
        (tl.DTypeError, lambda: random.randint(0, (2,), 0.0, 3.0)),
        (tl.DTypeError, lambda: random.uniform(0, (2,), dtype="int64")),
        (tl.DTypeError, lambda: random.uniform("seed", (2,))),
        (tl.TutorlibError, lambda: random.key(-1)),
    ],
)
def test_what_cannot_be_drawn_is_said_with_a_way_out(error: Any, call: Any) -> None:
    with pytest.raises(error) as caught:
        call()
    assert caught.value.fix


# ---- both modes ----


def test_gradients_reach_the_parameters_of_a_draw() -> None:
    u = random.uniform(3, (4,)).numpy()
    low, high = slopes(lambda a, b: random.uniform(3, (4,), a, b), np.array(1.0), np.array(2.0))
    np.testing.assert_allclose([low, high], [(1 - u).sum(), u.sum()], 1e-12)
    z = random.normal(3, (4,)).numpy()
    for mode in ("dynamic", "static"):
        mean, std = slopes(lambda a, b: random.normal(3, (4,), a, b), np.array(1.0), np.array(2.0), mode=mode)
        np.testing.assert_allclose([mean, std], [4.0, z.sum()], 1e-12)


def test_static_draws_are_the_dynamic_ones_with_any_key_and_counter() -> None:
    key, counter = tl.symbol("key", dtype="uint64"), tl.symbol("counter", dtype="int64")
    f = tl.function(
        [key, counter],
        [
            random.normal(key, (2, 3), counter=counter),
            random.permutation(key, 5, counter=counter),
            random.categorical(key, [0.5, 0.5], (4,), counter=counter),
            random.split(key),
        ],
    )
    got = f(np.uint64(6), 8)
    expected = [
        random.normal(6, (2, 3), counter=8),
        random.permutation(6, 5, counter=8),
        random.categorical(6, [0.5, 0.5], (4,), counter=8),
        random.split(6),
    ]
    for mine, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, other.numpy())
        assert mine.dtype == other.dtype


def test_a_draw_can_have_the_shape_of_a_symbol_with_unknown_dims() -> None:
    x = tl.matrix("x")
    noise = random.normal(1, like=x)
    assert noise.shape == (None, None)
    chosen = random.choice(1, x, (2,), replace=False)
    f = tl.function([x], [x + noise, random.permutation(1, x, axis=1), chosen, random.randint(1, None, 0, 3, like=x)])
    values = np.arange(12.0).reshape(4, 3)
    noisy, mixed, rows, whole = f(values)
    np.testing.assert_array_equal(noisy, values + random.normal(1, (4, 3)).numpy())
    np.testing.assert_array_equal(mixed, random.permutation(1, values, axis=1))
    np.testing.assert_array_equal(rows, random.choice(1, values, (2,), replace=False))
    np.testing.assert_array_equal(whole, random.randint(1, (4, 3), 0, 3).numpy())


# ---- streams ----


def test_a_stream_draws_anew_each_time_and_setting_its_counter_replays() -> None:
    stream = random.Stream(0)
    first, second = stream.normal((3,)).numpy(), stream.uniform((3,)).numpy()
    third = stream.normal((3,)).numpy()
    assert not np.array_equal(first, third)
    stream.counter.set_value(0)
    np.testing.assert_array_equal(stream.normal((3,)).numpy(), first)
    np.testing.assert_array_equal(stream.uniform((3,)).numpy(), second)
    assert int(stream.counter.get_value()) == 2


def test_both_modes_of_a_stream_give_one_sequence() -> None:
    dynamic, static = random.Stream(5), random.Stream(5, static=True)
    f = tl.function([], [static.normal((2,)), static.randint((2,), 0, 100)])
    for _ in range(3):
        normal, whole = f()
        np.testing.assert_array_equal(normal, dynamic.normal((2,)).numpy())
        np.testing.assert_array_equal(whole, dynamic.randint((2,), 0, 100).numpy())


def test_draws_of_a_stream_are_symbols_beside_symbols_and_inside_static() -> None:
    stream, x = random.Stream(1), tl.vector("x")
    assert isinstance(stream.normal(like=x), tl.Symbol)
    with tl.static():
        assert isinstance(stream.normal((2,)), tl.Symbol)
    assert isinstance(stream.normal((2,)), tl.Tensor)


def test_functions_that_share_a_stream_never_use_a_number_twice() -> None:
    stream = random.Stream(2, static=True)
    f = tl.function([], stream.uniform((4,)))
    g = tl.function([], [stream.uniform((4,)), stream.uniform((4,))])
    drawn = np.concatenate([f(), *g(), f(), *g()])
    assert len(set(drawn)) == len(drawn)


def test_an_explicit_update_of_the_counter_takes_the_place_of_the_default_one() -> None:
    stream = random.Stream(3, static=True)
    frozen = tl.function([], stream.normal((2,)), updates=[(stream.counter, stream.counter)])
    np.testing.assert_array_equal(frozen(), frozen())


def test_a_stream_has_the_methods_of_the_module_and_no_others() -> None:
    assert {"normal", "permutation", "choice"} <= set(dir(random.Stream(0)))
    with pytest.raises(AttributeError, match="split"):
        random.Stream(0).split()
