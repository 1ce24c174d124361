"""What each op computes and how its gradient flows back, as the formulas that drawings show. Data only."""

from __future__ import annotations

from typing import TypedDict


class Formula(TypedDict):
    """``forward``: the equation; ``backward``: one equation an input, "" where no gradient flows."""

    forward: str
    backward: tuple[str, ...]


def _row(forward: str, *backward: str) -> Formula:
    return {"forward": forward, "backward": backward}


_X, _Y = "∂L/∂x = ∂L/∂z", "∂L/∂y = ∂L/∂z"

FORMULAS: dict[str, Formula] = {
    "add": _row("z = x + y", _X, _Y),
    "sub": _row("z = x − y", _X, "∂L/∂y = −∂L/∂z"),
    "mul": _row("z = x · y", f"{_X} · y", f"{_Y} · x"),
    "safe_mul": _row("z = x · y, 0 where x = 0", f"{_X} · y", f"{_Y} · x"),
    "div": _row("z = x / y", f"{_X} / y", "∂L/∂y = −∂L/∂z · z / y"),
    "safe_div": _row("z = x / y, 0 where x = 0", f"{_X} / y", "∂L/∂y = −∂L/∂z · z / y"),
    "floordiv": _row("z = ⌊x / y⌋", "∂L/∂x = 0", "∂L/∂y = 0"),
    "mod": _row("z = x − y · ⌊x / y⌋", _X, "∂L/∂y = −∂L/∂z · ⌊x / y⌋"),
    "neg": _row("z = −x", "∂L/∂x = −∂L/∂z"),
    "pow": _row("z = xʸ", f"{_X} · y · xʸ⁻¹", f"{_Y} · z · log x"),
    "abs": _row("z = |x|", f"{_X} · sign(x)"),
    "sign": _row("z = sign(x)", "∂L/∂x = 0"),
    "square": _row("z = x²", f"{_X} · 2x"),
    "reciprocal": _row("z = 1 / x", "∂L/∂x = −∂L/∂z · z²"),
    "exp": _row("z = eˣ", f"{_X} · z"),
    "expm1": _row("z = eˣ − 1", f"{_X} · (z + 1)"),
    "log": _row("z = log x", f"{_X} / x"),
    "log1p": _row("z = log(1 + x)", f"{_X} / (1 + x)"),
    "log2": _row("z = log₂ x", f"{_X} / (x · log 2)"),
    "log10": _row("z = log₁₀ x", f"{_X} / (x · log 10)"),
    "sqrt": _row("z = √x", f"{_X} / (2z)"),
    "sin": _row("z = sin x", f"{_X} · cos x"),
    "cos": _row("z = cos x", "∂L/∂x = −∂L/∂z · sin x"),
    "tan": _row("z = tan x", f"{_X} · (1 + z²)"),
    "tanh": _row("z = tanh x", f"{_X} · (1 − z²)"),
    "sigmoid": _row("z = 1 / (1 + e⁻ˣ)", f"{_X} · z · (1 − z)"),
    "relu": _row("z = max(x, 0)", f"{_X} where x > 0, else 0"),
    "softplus": _row("z = log(1 + eˣ)", f"{_X} · sigmoid(x)"),
    "eq": _row("z = (x = y)", "", ""),
    "ne": _row("z = (x ≠ y)", "", ""),
    "lt": _row("z = (x < y)", "", ""),
    "le": _row("z = (x ≤ y)", "", ""),
    "gt": _row("z = (x > y)", "", ""),
    "ge": _row("z = (x ≥ y)", "", ""),
    "logical_and": _row("z = x and y", "", ""),
    "logical_or": _row("z = x or y", "", ""),
    "logical_xor": _row("z = x xor y", "", ""),
    "logical_not": _row("z = not x", ""),
    "bitwise_and": _row("z = x & y", "", ""),
    "bitwise_or": _row("z = x | y", "", ""),
    "bitwise_xor": _row("z = x ^ y", "", ""),
    "invert": _row("z = ~x", ""),
    "isnan": _row("z = (x is NaN)", ""),
    "isfinite": _row("z = (x is finite)", ""),
    "where": _row("z = x where c, else y", "", f"{_X} where c, else 0", f"{_Y} where not c, else 0"),
    "maximum": _row("z = max(x, y)", f"{_X} where x > y, half at a tie", f"{_Y} where y > x, half at a tie"),
    "minimum": _row("z = min(x, y)", f"{_X} where x < y, half at a tie", f"{_Y} where y < x, half at a tie"),
    "clip": _row(
        "z = x limited to [a, b]", f"{_X} where a ≤ x ≤ b", "∂L/∂a = ∂L/∂z where x < a", "∂L/∂b = ∂L/∂z where x > b"
    ),
    "cast": _row("z = x as another dtype", _X),
    "ones_like": _row("z = 1, shaped like x", "∂L/∂x = 0"),
    "zeros_like": _row("z = 0, shaped like x", "∂L/∂x = 0"),
    "transfer": _row("z = x on another device", _X),
    "sum": _row("z = Σ x", f"{_X}, stretched to the shape of x"),
    "mean": _row("z = Σ x / n", f"{_X} / n, stretched to the shape of x"),
    "max": _row("z = max x", f"{_X} at the largest element, shared at a tie"),
    "min": _row("z = min x", f"{_X} at the smallest element, shared at a tie"),
    "count": _row("z = number of elements of x", ""),
    "reshape": _row("z = x in another shape", f"{_X} in the shape of x"),
    "reshape_like": _row("z = x in the shape of y", f"{_X} in the shape of x", ""),
    "transpose": _row("z = xᵀ", "∂L/∂x = (∂L/∂z)ᵀ"),
    "expand_dims": _row("z = x with new axes of length 1", f"{_X} without them"),
    "squeeze": _row("z = x without axes of length 1", f"{_X} with them"),
    "broadcast_to": _row("z = x, stretched", f"{_X}, summed over the stretched axes"),
    "broadcast_like": _row("z = x, stretched to the shape of y", f"{_X}, summed over the stretched axes", ""),
    "unbroadcast": _row("z = x, summed to the shape of y", f"{_X}, stretched to the shape of x", ""),
    "head": _row("z = the first rows of x, as many as y has", "∂L/∂x = ∂L/∂z above rows of 0", ""),
    "unhead": _row("z = x above rows of 0, as many rows as y has", "∂L/∂x = the first rows of ∂L/∂z", ""),
    "concatenate": _row("z = parts joined", "each part gets its piece of ∂L/∂z"),
    "part": _row("z = a piece of x", "∂L/∂x = ∂L/∂z in its place, 0 elsewhere"),
    "getitem": _row("z = x[index]", "∂L/∂x = ∂L/∂z added at index, 0 elsewhere"),
    "scatter": _row("z = x added at index, 0 elsewhere", "∂L/∂x = ∂L/∂z[index]"),
    "matmul": _row("z = x @ y", f"{_X} @ yᵀ", "∂L/∂y = xᵀ @ ∂L/∂z"),
    "linear": _row("z = x @ W + b", "∂L/∂x = ∂L/∂z @ Wᵀ", "∂L/∂W = xᵀ @ ∂L/∂z", "∂L/∂b = Σ ∂L/∂z over examples"),
    "arcsin": _row("z = arcsin x", f"{_X} / √(1 − x²)"),
    "arccos": _row("z = arccos x", "∂L/∂x = −∂L/∂z / √(1 − x²)"),
    "arctan": _row("z = arctan x", f"{_X} / (1 + x²)"),
    "sinh": _row("z = sinh x", f"{_X} · cosh x"),
    "cosh": _row("z = cosh x", f"{_X} · sinh x"),
    "arcsinh": _row("z = arcsinh x", f"{_X} / √(1 + x²)"),
    "arccosh": _row("z = arccosh x", f"{_X} / √(x² − 1)"),
    "arctanh": _row("z = arctanh x", f"{_X} / (1 − x²)"),
    "hypot": _row("z = √(x² + y²)", f"{_X} · x / z", f"{_Y} · y / z"),
    "arctan2": _row("z = angle of (y, x)", f"{_Y} · x / (x² + y²)", "∂L/∂x = −∂L/∂z · y / (x² + y²)"),
    "erf": _row("z = erf x", f"{_X} · 2/√π · e^(−x²)"),
    "erfc": _row("z = 1 − erf x", "∂L/∂x = −∂L/∂z · 2/√π · e^(−x²)"),
    "logaddexp": _row("z = log(eˣ + eʸ)", f"{_X} · sigmoid(x − y)", f"{_Y} · sigmoid(y − x)"),
    "xlogy": _row("z = x · log y, 0 where x = 0", f"{_X} · log y", f"{_Y} · x / y"),
    "silu": _row("z = x · sigmoid(x)", f"{_X} · (z + sigmoid(x) · (1 − z))"),
    "gelu": _row("z = x · Φ(x)", f"{_X} · (Φ(x) + x · φ(x))"),
    "floor": _row("z = ⌊x⌋", "∂L/∂x = 0"),
    "ceil": _row("z = ⌈x⌉", "∂L/∂x = 0"),
    "trunc": _row("z = x without its fraction", "∂L/∂x = 0"),
    "round": _row("z = x rounded", "∂L/∂x = 0"),
    "isinf": _row("z = (x is infinite)", ""),
    "identity": _row("z = x", _X),
    "stop_gradient": _row("z = x, as a constant", ""),
    "grad_scale": _row("z = x", f"{_X} · scale"),
    "grad_clip": _row("z = x", f"{_X}, limited to [low, high]"),
    "print": _row("z = x, printed", _X),
    "prod": _row("z = Π x", f"{_X} · the product of the others"),
    "var": _row("z = Σ (x − mean x)² / (n − ddof)", f"{_X} · 2 (x − mean x) / (n − ddof)"),
    "std": _row("z = √(Σ (x − mean x)² / (n − ddof))", f"{_X} · (x − mean x) / ((n − ddof) · z), 0 at z = 0"),
    "middle": _row("z = an element in the middle by size", f"{_X} at that element, shared at a tie"),
    "norm": _row("z = √(Σ x²)", f"{_X} · x / z, 0 at z = 0"),
    "logsumexp": _row("z = log Σ eˣ", f"{_X} · eˣ⁻ᶻ"),
    "all": _row("z = (every x is true)", ""),
    "any": _row("z = (some x is true)", ""),
    "count_nonzero": _row("z = number of x that are not 0", ""),
    "argmax": _row("z = position of the largest x", ""),
    "argmin": _row("z = position of the smallest x", ""),
    "cumsum": _row("z = running sum of x", "∂L/∂x = running sum of ∂L/∂z from the other end"),
    "cumprod": _row("z = running product of x", "∂L/∂x = Σ ∂L/∂z · z / x over what follows"),
    "recurrence": _row(
        "zₖ = yₖ + xₖ · zₖ₋₁", "∂L/∂x = ∂L/∂y · zₖ₋₁", "∂L/∂y = the recurrence on ∂L/∂z from the other end"
    ),
    "broadcast_with": _row("z = x, stretched along its neighbours", f"{_X}, summed over the stretched axes", ""),
    "section": _row("z = one of equal parts of x", "∂L/∂x = ∂L/∂z in its place, 0 elsewhere"),
    "unsection": _row("z = x in its place, 0 elsewhere", "∂L/∂x = that part of ∂L/∂z", ""),
    "flip": _row("z = x backwards", f"{_X} backwards"),
    "roll": _row("z = x moved round", f"{_X} moved back"),
    "pad": _row("z = x with a border", f"{_X}, each border element added to the one it repeats"),
    "unpad": _row("z = x, border added to what it repeats", f"{_X} with a border", ""),
    "tile": _row("z = copies of x side by side", "∂L/∂x = Σ ∂L/∂z over the copies"),
    "untile": _row("z = Σ x over the copies", "∂L/∂x = copies of ∂L/∂z side by side", ""),
    "repeat": _row("z = each element of x repeated", "∂L/∂x = Σ ∂L/∂z over the repeats"),
    "unrepeat": _row("z = Σ x over the repeats", "∂L/∂x = each element of ∂L/∂z repeated", ""),
    "tril": _row("z = lower triangle of x", "∂L/∂x = lower triangle of ∂L/∂z"),
    "triu": _row("z = upper triangle of x", "∂L/∂x = upper triangle of ∂L/∂z"),
    "diagonal": _row("z = diagonal of x", f"{_X} on the diagonal, 0 elsewhere"),
    "undiagonal": _row("z = x on the diagonal, 0 elsewhere", "∂L/∂x = diagonal of ∂L/∂z", ""),
    "diag": _row("z = x on the diagonal, 0 elsewhere", "∂L/∂x = diagonal of ∂L/∂z"),
    "index_set": _row("z = x, with x[index] = y", f"{_X}, 0 at index", "∂L/∂y = ∂L/∂z[index], 0 where written over"),
    "index_add": _row("z = x, with y added at index", _X, "∂L/∂y = ∂L/∂z[index]"),
    "last_named": _row("z = x[index], 0 where named again later", "∂L/∂x = ∂L/∂z put at index, 0 elsewhere"),
    "axis_positions": _row("z = 0, 1, 2 … along an axis of x", ""),
    "one_hot": _row("z = (x = 0, 1, 2 …)", ""),
    "argsort": _row("z = the order that sorts x", ""),
    "topk_indices": _row("z = positions of the k largest x", ""),
    "searchsorted": _row("z = where y belongs in the sorted x", "", ""),
    "unique_indices": _row("z = first position of each value of x", ""),
    "einsum": _row("z = Σ of products", "∂L/∂x = Σ of ∂L/∂z · the other operands"),
    "inv": _row("z = x⁻¹", "∂L/∂x = −zᵀ @ ∂L/∂z @ zᵀ"),
    "solve": _row("z = x⁻¹ @ y", "∂L/∂x = −∂L/∂y @ zᵀ", "∂L/∂y = x⁻ᵀ @ ∂L/∂z"),
    "det": _row("z = det x", f"{_X} · adj(x)ᵀ"),
    "adjugate": _row("z = det(x) · x⁻¹", "∂L/∂x = Σ(∂L/∂z · x⁻¹) · zᵀ − x⁻ᵀ @ ∂L/∂z @ zᵀ"),
    "sign_det": _row("z = sign(det x)", "∂L/∂x = 0"),
    "log_abs_det": _row("z = log |det x|", f"{_X} · x⁻ᵀ"),
    "cholesky": _row("z @ zᵀ = x", "∂L/∂x = sym(z⁻ᵀ @ Φ(zᵀ @ ∂L/∂z) @ z⁻¹), Φ: lower half, diagonal halved"),
    "softmax": _row("z = eˣ / Σ eˣ", "∂L/∂x = z · (∂L/∂z − Σ z · ∂L/∂z)"),
    "log_softmax": _row("z = x − log Σ eˣ", "∂L/∂x = ∂L/∂z − eᶻ · Σ ∂L/∂z"),
    "lstm_tape": _row("z = all gates and states of (x, h₀, c₀, Wx, Wh, b)", *[""] * 6),
    # Only the letters of inputs may stand alone here: the equations with their gates are in the docstrings.
    "lstm": _row(
        "z = the hidden states of an LSTM along x, and its last two states",
        "",
        "∂L/∂x = from the gates through Wx, step by step",
        *["summed over the steps, last step first"] * 5,
    ),
    "lstm_back": _row("z = ∂L/∂aₜ of the gates, ∂L/∂cₜ₋₁, last step first", *["through the steps written out"] * 8),
    "gru_tape": _row("z = all gates and states of (x, h₀, Wx, Wh, b, bh)", *[""] * 6),
    "gru": _row(
        "z = the hidden states of a GRU along x, and its last state",
        "",
        "∂L/∂x = from the gates through Wx, step by step",
        *["summed over the steps, last step first"] * 5,
    ),
    "gru_back": _row(
        "z = ∂L/∂aₜ, ∂L/∂uₜ of the gates, ∂L/∂hₜ₋₁, last step first", *["through the steps written out"] * 8
    ),
    "gate_weights": _row("z = Σₜ vₜ @ xₜᵀ over steps", "∂L/∂x = vᵀ @ ∂L/∂z", "", "∂L/∂v = ∂L/∂z @ x"),
    "unfold": _row("z = the windows of x, as columns", "∂L/∂x = ∂L/∂z, added back at the places of the windows"),
    "fold": _row("z = columns x, added at the places of their windows", "∂L/∂x = the windows of ∂L/∂z, as columns"),
    "conv": _row(
        "z = x ⋆ w: each window of x times w, summed",
        "∂L/∂x = ∂L/∂z spread over its windows by w",
        "∂L/∂w = x ⋆ ∂L/∂z",
    ),
    "conv_transpose": _row("z = x spread over its windows by w", f"{_X} ⋆ w", "∂L/∂w = ∂L/∂z ⋆ x", ""),
    "conv_weight": _row(
        "z = x ⋆ y, at each place of w", "∂L/∂x = y spread over its windows by ∂L/∂z", "∂L/∂y = x ⋆ ∂L/∂z", ""
    ),
    "max_pool": _row("z = the largest x of each window", f"{_X} at the largest elements, shared at a tie"),
    "max_pool_spread": _row(
        "z = x, at the largest element of each window", "∂L/∂x = ∂L/∂z at the largest elements", "", ""
    ),
    "max_pool_collect": _row(
        "z = x at the largest element of each window", "∂L/∂x = ∂L/∂z at the largest elements", "", ""
    ),
    "avg_pool": _row("z = the mean x of each window", f"{_X} / n, at all elements of the window"),
    "avg_pool_spread": _row("z = x / n, at all elements of the window", "∂L/∂x = the mean ∂L/∂z of each window", ""),
    "pick_label": _row("z = x[label]", "∂L/∂x = ∂L/∂z at the label, 0 elsewhere", ""),
    "put_label": _row("z = x at the label, 0 elsewhere", "∂L/∂x = ∂L/∂z[label]", "", ""),
    "cross_entropy": _row("z = log Σ eˣ − x[label]", f"{_X} · (softmax(x) − one-hot(label))", ""),
    "cross_entropy_back": _row(
        "z = x · (softmax(y) − one-hot(label))",
        "∂L/∂x = Σ ∂L/∂z · (softmax(y) − one-hot(label))",
        "∂L/∂y = s · (w − Σ w · s), s = softmax(y), w = x · ∂L/∂z",
        "",
    ),
    "soft_cross_entropy": _row(
        "z = −Σ t · log softmax(x)", f"{_X} · (softmax(x) · Σ t − t)", "∂L/∂t = −∂L/∂z · log softmax(x)"
    ),
    "sigmoid_cross_entropy": _row(
        "z = −t · log σ(x) − (1 − t) · log(1 − σ(x))", f"{_X} · (σ(x) − t)", "∂L/∂t = −∂L/∂z · x"
    ),
    "standardize": _row(
        "z = (x − mean x) / √(var x + ε)", "∂L/∂x = (g − mean g − z · mean(g · z)) / √(var x + ε), g = ∂L/∂z"
    ),
    "group_channels": _row("z = x, its channels in groups", f"{_X} in the shape of x"),
    "causal_mask": _row("z = (row ≥ column), in the shape of x", ""),
    "random_bits": _row("z = random words", "", ""),
    "random_uniform": _row("z ~ U[0, 1)", "", ""),
    "random_normal": _row("z ~ N(0, 1)", "", ""),
    "random_exponential": _row("z ~ Exp(1)", "", ""),
    "random_integers": _row("z ~ whole numbers in [low, high)", "", "", "", ""),
    "random_permutation": _row("z = 0 … n − 1 in a random order", "", ""),
    "random_weighted_order": _row("z = 0 … n − 1 in a random order, heavy ones first", "", "", ""),
    "random_categorical": _row("z ~ categories with weights p", "", "", ""),
    "random_multinomial": _row("z = how often each category came", "", "", ""),
    "random_keys": _row("z = new keys made from a key", ""),
}


def formula(op_name: str) -> Formula | None:
    """The formulas of an op, or None for one without."""
    return FORMULAS.get(op_name)
