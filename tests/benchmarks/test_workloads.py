"""The benchmarks compute what they claim to, and float32 in means float32 everywhere, gradients included."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tutorlib as tl

HERE = Path(__file__).parent.parent.parent / "benchmarks"
WORKLOADS = ["W1", "W2", "W3", "W5", "W6", "W7", "W10"]


@pytest.fixture(scope="module")
def bench():
    """Imports a module of the benchmarks by name."""
    sys.path.insert(0, str(HERE))
    yield importlib.import_module
    sys.path.remove(str(HERE))


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("engine", ["tutorlib_static", "tutorlib_c", "tutorlib_dynamic"])
def test_both_modes_take_the_hand_written_step(bench, workload, engine):
    workloads = bench("workloads")
    ran = []
    for name in ("numpy_hand", engine):
        step, parameters = bench(f"adapters.{name}").build(workloads.make(workload))
        losses = [float(step()) for _ in range(3)]
        ran.append((losses, {k: np.array(v) for k, v in parameters().items()}))
    (by_hand, want), (losses, got) = ran
    np.testing.assert_allclose(losses, by_hand, rtol=2e-4)
    for key, value in want.items():
        assert got[key].dtype == np.float32
        np.testing.assert_allclose(got[key], value, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_intermediate_of_the_static_step_is_float32(bench, workload):
    d = bench("workloads").make(workload)
    assert bench("adapters.tutorlib_static").float32_everywhere(d) == []


def test_the_layout_entry_places_as_many_nodes_as_asked_for(bench, monkeypatch, capsys):
    run = bench("run")
    monkeypatch.setattr(run, "DRAWN", (30, 60))
    run.layout(SimpleNamespace(clock="cpu", rounds=1))
    _, *rows = capsys.readouterr().out.splitlines()
    nodes = [int(row.split()[0]) for row in rows]
    assert 30 <= nodes[0] < 60 <= nodes[1] < 90


@pytest.mark.parametrize("workload", [w for w in WORKLOADS if w != "W10"])
def test_every_value_and_gradient_of_the_dynamic_step_is_float32(bench, workload):
    step, _ = bench("adapters.tutorlib_dynamic").build(bench("workloads").make(workload))
    seen = []

    class Look(tl.Observer):
        def on_node(self, node):
            seen.append((node.op.name, node.dtype))

        def on_vjp(self, node, cotangent, grads):
            seen.append((f"gradient of {node.op.name}", cotangent.dtype))
            seen.extend((f"gradient by {node.op.name}", g.dtype) for _, g in grads)

    with tl.observe(Look()):
        step()
    assert len(seen) > 15
    assert {what for what, dtype in seen if dtype.kind == "f" and dtype != np.float32} == set()
