"""What a notebook shows when a cell ends in one of our variables."""

import pytest

import tutorlib as tl

IPython = pytest.importorskip("IPython")


@pytest.fixture
def shell(monkeypatch):
    """An interactive shell whose displays are caught, as a kernel in static mode."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    monkeypatch.setattr("tutorlib.viz.display.in_kernel", lambda: True)
    monkeypatch.setenv("TUTORLIB_DISPLAY", "static")
    shell = InteractiveShell.instance()

    def run(cell):
        shell.user_ns["tl"] = tl
        with capture_output() as caught:
            result = shell.run_cell(cell)
        assert result.success, caught.stdout
        return caught

    yield run
    InteractiveShell.clear_instance()


def test_a_recorded_tensor_shows_its_graph(shell):
    caught = shell("x = tl.tensor(2.0, requires_grad=True, name='x')\nx * x")
    (output,) = caught.outputs
    assert "<figure" in output.data["text/html"] and "mul" in output.data["text/plain"]


def test_an_expression_of_symbols_shows_its_graph(shell):
    (output,) = shell("a = tl.scalar('a')\ntl.exp(a) + 1").outputs
    assert "exp" in output.data["text/plain"]


def test_a_leaf_shows_its_text(shell):
    caught = shell("tl.tensor([1.0, 2.0])")
    assert "tensor([1., 2.])" in caught.stdout + "".join(str(o.data.get("text/plain", "")) for o in caught.outputs)
    assert not any("text/html" in o.data for o in caught.outputs)
