"""Which rules a node is asked about: by its op and by what its operands are."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile.rewrite import rewrite


@pytest.fixture
def asked():
    """What a rule was asked about, filled by rules that a test makes; they are forgotten after it."""
    before = set(tl.rules())
    yield []
    for name in set(tl.rules()) - before:
        tl.remove_rule(name)


def rule_that_notes(asked, *ops, **conditions):
    @tl.rule(*ops, says="nothing changes", **conditions)
    def noting(node):
        asked.append(node.op.name)


x = tl.vector("x")


@pytest.mark.parametrize(
    ("wanted", "other", "is_asked"),
    [
        ("number", 2.5, True),
        ("number", np.array([2.0, 2.0]), False),
        ("same", np.array([2.0, 2.0]), True),
        ("same", np.array([2.0, 3.0]), False),
        ("array", np.array([2.0, 2.0]), True),
        ("array", np.array([2.0, 3.0]), True),
        ("number same", np.array([2.0, 2.0]), True),
        ("leaf", np.array([2.0, 3.0]), True),  # x itself
        ("exp", tl.exp(x), True),
        ("exp", tl.sin(x), False),
    ],
)
def test_a_rule_is_asked_where_an_operand_is_what_it_wants(asked, wanted, other, is_asked):
    rule_that_notes(asked, "mul", of=[wanted])
    rewrite([x * other])
    assert asked == (["mul"] if is_asked else [])


@pytest.mark.parametrize(("other", "is_asked"), [(tl.exp(x), True), (x, False), (2.5, False)])
def test_every_operand_must_be_what_every_says(asked, other, is_asked):
    rule_that_notes(asked, "mul", every="exp sin")
    rewrite([tl.sin(x) * other])
    assert asked == (["mul"] if is_asked else [])


def test_a_rule_for_all_ops_is_asked_about_each(asked):
    rule_that_notes(asked, "*")
    rewrite([tl.exp(x) + x])
    assert sorted(set(asked)) == ["add", "exp"]


def test_a_node_is_asked_again_once_its_operand_has_changed(asked):
    rule_that_notes(asked, "exp", of=["sin"])
    rewrite([tl.exp(tl.sin(x) * 1)])  # the product goes, and exp is then of a sine
    assert set(asked) == {"exp"}


def test_a_rule_of_ones_own_holds_from_its_definition_on_and_not_after_its_removal():
    before = [node.op.name for node in tl.toposort(rewrite([tl.cosh(x)])[0])]

    @tl.rule("cosh", says="cosh(x) = cosh(−x)", of=["leaf"])
    def even_cosh(node):
        return tl.cosh(-node.inputs[0])

    try:
        changed = [node.op.name for node in tl.toposort(rewrite([tl.cosh(x)])[0])]
    finally:
        tl.remove_rule("even_cosh")
    after = [node.op.name for node in tl.toposort(rewrite([tl.cosh(x)])[0])]
    assert (before, changed, after) == (["cosh"], ["neg", "cosh"], ["cosh"])
