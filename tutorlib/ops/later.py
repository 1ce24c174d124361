"""Ops that load on first use: families that many programs do without, so that importing the package is quick.

By name, in ``tl.NAME``, ``OPS`` or ``TABLE``, they are there like any other; to go through the table loads them all.
"""

from __future__ import annotations

import sys
from importlib import import_module

# Of each module of this package: the functions it offers, and the further rows of its op table.
_FAMILIES = {
    "accumulate": ("prod cumsum cumprod", "recurrence"),
    "along": ("take_along_axis gather put_along_axis one_hot", "axis_positions"),
    "arrange": ("flip roll pad tile repeat", "unpad untile unrepeat"),
    "attention": ("attention", "causal_mask"),
    "conv": (
        "conv2d conv1d conv3d conv_transpose2d conv_transpose1d conv_transpose3d",
        "conv conv_transpose conv_weight",
    ),
    "diagonal": ("tril triu diagonal diag trace", "undiagonal"),
    "gru": ("gru", "gru_tape gru_back"),
    "lstm": ("lstm", "lstm_tape lstm_back"),
    "normalize": ("standardize layer_norm rms_norm batch_norm group_norm", "group_channels"),
    "pool": (
        "max_pool1d avg_pool1d max_pool2d avg_pool2d max_pool3d avg_pool3d",
        "max_pool max_pool_spread max_pool_collect avg_pool avg_pool_spread",
    ),
    "random_ops": (
        "",
        """random_bits random_uniform random_normal random_exponential random_integers random_permutation
        random_weighted_order random_categorical random_multinomial random_keys""",
    ),
    "recurrent": ("", "gate_weights"),
    "solve": ("inv solve det slogdet cholesky", "adjugate sign_det log_abs_det"),
    "sort": ("argsort sort topk searchsorted unique", "topk_indices unique_indices"),
    "update": ("at", "index_set last_named index_add"),
    "windows": ("unfold fold", ""),
}
FUNCTIONS = {name: module for module, (names, _) in _FAMILIES.items() for name in names.split()}
ROWS = FUNCTIONS | {name: module for module, (_, names) in _FAMILIES.items() for name in names.split()}


def rows_of(module: str) -> list[str]:
    """The names that a module of this package offers or enters into the table."""
    return " ".join(_FAMILIES[module]).split()


def load(module: str) -> None:
    import_module(f"tutorlib.ops.{module}")


def is_loaded(module: str) -> bool:
    """Whether a module is loaded, or being loaded."""
    return f"tutorlib.ops.{module}" in sys.modules


def load_all() -> None:
    for module in _FAMILIES:
        load(module)
