"""Graphs that pile up are said, once, at the learner's line; loops that let go are not."""

import warnings

import pytest

import tutorlib as tl
from tutorlib.core import leak


@pytest.fixture(autouse=True)
def watchful(monkeypatch):
    """Look every 64 recorded nodes, and call 150 living ones too many."""
    monkeypatch.setattr(leak, "BETWEEN_LOOKS", 64)
    monkeypatch.setattr(leak, "TOO_MANY", 150)
    monkeypatch.setattr(leak, "_said", False)
    later, leak.due[0] = leak.due[0], 0
    yield
    leak.due[0] = later


def losses(n, keep):
    w = tl.tensor([1.0, 2.0], requires_grad=True, name="w")
    kept = []
    for _ in range(n):
        loss = (w * 2.0).sum()  # one step
        kept.append(keep(loss))
    return kept


def test_a_list_of_losses_is_said_with_the_line_that_makes_them():
    with pytest.warns(leak.GraphMemoryWarning, match=r"(?s)# one step.*loss\.item\(\)") as caught:
        losses(300, lambda loss: loss)
    assert len(caught) == 1, "said once"
    assert caught[0].filename == __file__


def test_numbers_kept_instead_are_fine():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses(300, lambda loss: loss.item())


def test_graphs_used_up_by_backward_are_fine():
    def stepped(loss):
        loss.backward()
        return loss

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses(300, stepped)
