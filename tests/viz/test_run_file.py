"""Runs on disk: what was saved is read back whole, nothing is overwritten unasked, foreign files get a clear error."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.test_record import X, Y, line_fit


@pytest.fixture
def run():
    _, _, step = line_fit()
    big = tl.shared(np.arange(5000.0), name="big")
    with tl.record(keep="thumb", name="first") as run:
        for n in range(4):
            step(X, Y)
            run.mark(f"epoch {n}")
    assert big.get_value().size == 5000
    return run


def test_a_run_read_back_shows_the_same(run, tmp_path):
    again = tl.load_run(run.save(tmp_path / "first"))
    assert (again.name, again.names, again.updates, again.live) == ("first", ["w", "b"], 4, False)
    assert again.describe() == run.describe()
    assert tl.SharedView(again, contour=False).spec["frames"] == tl.SharedView(run, contour=False).spec["frames"]
    assert tl.GradientView(again).spec == tl.GradientView(run).spec
    for ours, theirs in zip(run.frames, again.frames, strict=True):
        np.testing.assert_array_equal(ours["values"]["w"], theirs["values"]["w"])
        assert ours["loss"] == theirs["loss"] and ours["gradient"] == theirs["gradient"]


def test_values_that_are_not_finite_survive(tmp_path):
    w = tl.shared([1.0, 2.0], name="w")
    with tl.record(w) as run:
        w.set_value([np.nan, np.inf])
    frame = tl.load_run(run.save(tmp_path / "bad")).frames[-1]
    np.testing.assert_array_equal(frame["values"]["w"], [np.nan, np.inf])
    assert frame["event"] == "nan" and np.isnan(frame["norm"]["w"])


def test_an_existing_file_is_replaced_only_when_asked(run, tmp_path):
    path = run.save(tmp_path / "first.npz")
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        run.save(tmp_path / "first")
    assert path.read_bytes() == before
    assert run.save(path, overwrite=True) == path


def test_the_file_holds_json_and_arrays_and_no_pickle(run, tmp_path):
    with zipfile.ZipFile(run.save(tmp_path / "first")) as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())
        assert all(b"|O" not in archive.read(name)[:128] for name in archive.namelist())
    with np.load(tmp_path / "first.npz", allow_pickle=False) as arrays:
        text = json.loads(arrays["run"].tobytes())
    assert text["kind"] == "tutorlib run" and text["version"] == 1


def rewritten(path, change):
    """The file with its JSON text changed."""
    with np.load(path) as arrays:
        text = json.loads(arrays["run"].tobytes())
        change(text)
        rest = {name: arrays[name] for name in arrays if name != "run"}
    np.savez(path, run=np.frombuffer(json.dumps(text).encode(), np.uint8), **rest)
    return path


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda text: text.update(version=99), "version 99"),
        (lambda text: text.update(kind="something else"), "holds no recorded run"),
        (lambda text: text.pop("frames"), "is damaged"),
        (lambda text: text["frames"][0]["values"].clear(), "is damaged"),
        (lambda text: text["held"][0].update(array="array999"), "is damaged"),
    ],
    ids=["later version", "other kind", "no frames", "no values", "no array"],
)
def test_a_file_that_does_not_fit_is_refused(run, tmp_path, change, says):
    path = rewritten(run.save(tmp_path / "first"), change)
    with pytest.raises(tl.TutorlibError, match=says):
        tl.load_run(path)


def test_a_foreign_file_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.savez(tmp_path / "object.npz", run=np.array([{"a": 1}], dtype=object))
    with pytest.raises(tl.TutorlibError, match="not a file of ours"):
        tl.load_run(tmp_path / "notes.txt")
    with pytest.raises(tl.TutorlibError, match="holds no recorded run"):
        tl.load_run(tmp_path / "other.npz")
    with pytest.raises(tl.TutorlibError, match="holds no recorded run"):
        tl.load_run(tmp_path / "object.npz")
    with pytest.raises(tl.TutorlibError, match="no file nothing"):
        tl.load_run(tmp_path / "nothing")


def test_a_run_that_was_read_has_no_model_to_put_back(run, tmp_path):
    again = tl.load_run(run.save(tmp_path / "first"))
    with pytest.raises(tl.TutorlibError, match="no model here"):
        again.rewind(0)
