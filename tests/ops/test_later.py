"""Ops that load on first use are, by name, there like any other, and named where they are."""

import subprocess
import sys

import pytest

import tutorlib as tl
from tutorlib.ops import later
from tutorlib.ops.define import TABLE, elementwise

PLACES = """
from tutorlib.core.operators import OPS
from tutorlib.ops import later
from tutorlib.ops.define import TABLE
import tutorlib
there = lambda: set(vars(OPS)) | set(dict.keys(TABLE))
at_once = there()
assert at_once.isdisjoint(later.ROWS), at_once & set(later.ROWS)
for module in set(later.ROWS.values()):
    later.load(module)
    assert set(later.rows_of(module)) <= there(), module
assert there() - at_once == set(later.ROWS), (there() - at_once) ^ set(later.ROWS)
assert set(vars(OPS)) & set(later.ROWS) == set(later.FUNCTIONS)
assert all(op.pulls_blindly for op in TABLE.values())
"""

FIRST_USES = [
    ("tl.cumsum([1.0, 2.0])", "[1. 3.]"),
    ("tl.tensor([3.0, 4.0]).norm()", "tensor(5.)"),
    ("tl.tensor([1.0, 3.0]).mean()", "tensor(2.)"),
    ("TABLE['index_add'].name", "index_add"),
    ("'flip' in TABLE, 'no such op' in TABLE, TABLE.get('no such op')", "(True, False, None)"),
    ("len(set(TABLE)) == len(TABLE) == len(dict(TABLE)) > 170", "True"),
    ("np.median(tl.tensor([1.0, 2.0, 9.0]))", "tensor(2.)"),
    ("np.sort(tl.tensor([2.0, 1.0]))", "tensor([1., 2.])"),
    ("tl.random.__name__", "tutorlib.ops.random"),
    ("'lstm' in dir(tl), hasattr(tl, 'lstm_tape')", "(True, False)"),
]


def said_by(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout


def test_every_op_is_where_it_is_said_to_be():
    said_by(PLACES)


def test_first_uses_load_what_they_need():
    head = "import numpy as np, tutorlib as tl\nfrom tutorlib.ops.define import TABLE\n"
    said = said_by(head + "\n".join(f"print(({use}))" for use, _ in FIRST_USES))
    assert said.splitlines() == [value for _, value in FIRST_USES]


@pytest.mark.parametrize("name", ["lstm", "flip"])
def test_a_name_of_the_package_cannot_be_taken_before_it_is_loaded(name):
    code = (
        "from tutorlib.ops.define import elementwise\n"
        f"try: elementwise({name!r}, None, ufunc='exp')\nexcept Exception as error: print(type(error).__name__)"
    )
    assert said_by(code).strip() == "TutorlibError"


def test_an_op_of_ones_own_is_in_the_table_and_not_taken_for_one_of_the_package():
    op = elementwise("my_own_exp", None, ufunc="exp")
    try:
        assert TABLE["my_own_exp"] is op
        assert tl.my_own_exp(0.0) == 1.0
        assert "my_own_exp" not in later.ROWS
        assert not op.pulls_blindly
    finally:
        del TABLE["my_own_exp"]
        del vars(tl._OPS)["my_own_exp"]
