"""Python's collector rests while graphs are built and planned, and is as it was afterwards."""

import gc

import pytest

import tutorlib as tl
from tutorlib.core.collecting import collector_at_rest


@pytest.fixture(autouse=True)
def collecting():
    was = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was else gc.disable)()


def test_blocks_nest_and_the_outermost_starts_it_again():
    with collector_at_rest():
        with collector_at_rest():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_switched_it_off_keeps_it_off():
    gc.disable()
    with collector_at_rest():
        pass
    assert not gc.isenabled()


def test_it_starts_again_after_an_error_while_compiling():
    x, y = tl.vector("x"), tl.vector("y")
    with pytest.raises(tl.MissingInputError):
        tl.function([x], x + y)
    assert gc.isenabled()


def test_it_rests_while_rules_run():
    resting = []

    @tl.rule("sin", says="nothing")
    def look(node):
        resting.append(not gc.isenabled())

    x = tl.vector("x")
    try:
        tl.function([x], tl.sin(x))
    finally:
        tl.remove_rule("look")
    assert resting == [True]
    assert gc.isenabled()
