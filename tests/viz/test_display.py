"""Display modes, the static bundle, the two outputs of a live view, and what a cell shows for a variable."""

from __future__ import annotations

import base64
import gc
import re
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

import tutorlib as tl
from tutorlib.viz import display

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """No mode chosen in the process, and none by the environment."""
    monkeypatch.setattr(display, "_chosen", [])
    monkeypatch.delenv("TUTORLIB_DISPLAY", raising=False)


@pytest.fixture
def kernel(monkeypatch):
    """The outputs that a notebook's kernel would send, as a list of MIME bundles."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.kernel = SimpleNamespace()
    shell.display_pub = CapturingDisplayPublisher()
    monkeypatch.setattr(display, "ipython_shell", lambda: shell)
    yield shell.display_pub.outputs
    InteractiveShell.clear_instance()


def view():
    x = tl.scalar("x")
    return tl.GraphView(x * x, inputs={x: 3.0})


def test_the_static_bundle_is_html_with_alternative_text_svg_and_outline():
    shown = view()
    bundle = shown.static().bundle("graph-7")
    assert set(bundle) == {"text/html", "image/svg+xml", "text/plain"}
    found = re.fullmatch(
        r'<figure data-tutorlib="([^"]*)"><img alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]*)">'
        r"<figcaption>([^<]*)</figcaption></figure>",
        bundle["text/html"],
    )
    key, alt, data, _ = found.groups()
    assert key == "graph-7"
    assert alt == "Computation graph of mul: operations 1, inputs 1. Steps: 1."
    assert base64.b64decode(data).decode("utf-8") == bundle["image/svg+xml"]
    assert bundle["text/plain"].startswith("out mul [n0] float64 () = 9")


def test_a_bundle_says_the_same_every_time():
    first, second = view(), view()
    assert first.static().svg == second.static().svg
    assert first.static().text == second.static().text


def test_a_picture_alone_can_be_displayed():
    picture = view().static()
    assert picture._repr_mimebundle_() == picture.bundle()
    assert 'data-tutorlib=""' in picture.bundle()["text/html"]
    assert not re.search("0x[0-9a-f]{6,}", repr(picture))


def test_a_live_view_is_two_outputs_the_picture_first(kernel):
    tl.display_mode("live")
    shown = view()
    shown._ipython_display_()
    picture, live = kernel
    assert f'data-tutorlib="{shown.key}"' in picture["data"]["text/html"]
    assert set(picture["data"]) == {"text/html", "image/svg+xml", "text/plain"}
    assert set(live["data"]) == {VIEW}
    assert live["data"][VIEW]["model_id"] == shown.model_id


def test_a_static_view_is_one_output(kernel):
    tl.display_mode("static")
    view()._ipython_display_()
    assert [set(output["data"]) for output in kernel] == [{"text/html", "image/svg+xml", "text/plain"}]


def test_a_closed_view_still_shows_its_picture(kernel):
    tl.display_mode("live")
    shown = view()
    shown.close()
    shown._ipython_display_()
    assert "image/svg+xml" in kernel[0]["data"]


def test_auto_is_live_in_a_kernel_and_static_elsewhere(kernel, monkeypatch):
    assert display.display_mode() == "auto"
    assert display.is_live()
    monkeypatch.setattr(display, "ipython_shell", lambda: None)
    assert not display.is_live()


def test_the_environment_chooses_a_mode_and_a_call_overrules_it(kernel, monkeypatch):
    monkeypatch.setenv("TUTORLIB_DISPLAY", "static")
    assert not display.is_live()
    tl.display_mode("live")
    assert display.is_live()
    tl.display_mode("auto")
    assert not display.is_live()


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match=r"'dynamic'.*auto, live, static"):
        tl.display_mode("dynamic")


def test_outside_a_notebook_the_outline_is_printed(capsys):
    x = tl.scalar("x")
    shown = tl.show(x * x)
    assert capsys.readouterr().out.startswith("out mul [n0]")
    assert isinstance(shown, tl.GraphView)


def test_show_takes_the_options_of_a_view_and_views_themselves(kernel):
    x = tl.scalar("x")
    tl.display_mode("static")
    shown = tl.show(x * x, inputs={x: 2.0})
    assert "= 4" in kernel[-1]["data"]["text/plain"]
    assert tl.show(shown) is shown
    assert len(kernel) == 2


def test_show_takes_every_kind_of_thing(kernel):
    tl.display_mode("static")
    x = tl.vector("x")
    f = tl.function([x], tl.log(1 + tl.exp(x)) * 1)
    traced = tl.trace(lambda v: v * 2)
    traced(np.ones(2))
    texts = []
    for thing in (f, f.log, traced, [x * 2, x + 1], {"a": x * 2}, tl.GraphView(x * 2).static()):
        tl.show(thing)
        texts.append(kernel[-1]["data"]["text/plain"])
    assert [text.splitlines()[0].split(" [")[0] for text in texts[:1]] == ["out mul"]
    assert "--- graph before" in texts[1]
    assert all("image/svg+xml" in output["data"] for output in kernel)


def test_show_draws_a_function_as_it_runs(kernel):
    tl.display_mode("static")
    x, w = tl.vector("x"), tl.shared(1.0, name="w")
    f = tl.function([x], tl.log(1 + tl.exp(x)) * 1, updates=[(w, w * 1 + 1)])
    view = tl.show(f, rewritten=True, inputs={x: [0.0]})
    ops = sorted(n["op"] for n in view.spec["graph"]["nodes"] if n["op"])
    assert ops == ["add", "softplus"]
    assert f.log.at == f.log.rewrites
    with pytest.raises(TypeError, match="rewritten=True"):
        tl.show(x * 2, rewritten=True)


def test_show_of_a_value_without_a_graph_is_its_text(capsys):
    assert tl.show(5) == 5
    assert capsys.readouterr().out == "5\n"


def test_a_variable_on_the_last_line_shows_its_text_and_its_graph(kernel):
    tl.display_mode("static")
    x = tl.tensor(3.0, requires_grad=True, name="x")
    y = x * x
    display.display_var(y)
    words = kernel[0]["data"]["text/plain"].splitlines()
    assert words[0] == repr(y)
    assert words[1].startswith("out y = mul [n0] float64 () = 9")


def test_a_value_without_a_graph_shows_only_its_text(kernel, capsys):
    display.display_var(tl.tensor([1.0, 2.0]))
    assert capsys.readouterr().out == "tensor([1., 2.])\n"
    assert kernel == []


def test_a_graph_that_cannot_be_drawn_costs_nobody_the_value(kernel, capsys, monkeypatch):
    import tutorlib.viz.graph_view

    def broken(*args, **options):
        raise ZeroDivisionError("no")

    monkeypatch.setattr(tutorlib.viz.graph_view, "GraphView", broken)
    x = tl.scalar("x")
    with pytest.warns(UserWarning, match="ZeroDivisionError"):
        display.display_var(x * x)
    assert "mul" in capsys.readouterr().out


def test_without_the_widgets_the_picture_is_shown_with_one_line(kernel, capsys, monkeypatch):
    from tutorlib.viz import widget_base

    monkeypatch.setattr(widget_base, "HAS_WIDGETS", False)
    monkeypatch.setattr(display, "_told", [])
    shown = view()
    shown._ipython_display_()
    shown._ipython_display_()
    assert [set(output["data"]) for output in kernel] == [{"text/html", "image/svg+xml", "text/plain"}] * 2
    assert capsys.readouterr().out.count("pip install") == 1


def test_a_history_is_sent_completely_when_its_cell_ends(kernel):
    count = tl.shared(0, name="count")
    shown = tl.SharedView(count)
    for n in range(1, 4):
        count.set_value(n)
    InteractiveShell.instance().events.trigger("post_run_cell", None)
    assert len(shown.spec["frames"]) == 4


def test_a_closed_history_listens_no_more(kernel):
    count = tl.shared(0, name="count")
    shell = InteractiveShell.instance()
    before = list(shell.events.callbacks["post_run_cell"])
    shown = tl.SharedView(count)
    shown.close()
    shown.close()
    count.set_value(5)
    assert shell.events.callbacks["post_run_cell"] == before
    assert len(shown.frames) == 1


def test_a_cell_keeps_no_history_alive(kernel):
    shell = InteractiveShell.instance()
    before = len(shell.events.callbacks["post_run_cell"])
    shown = tl.SharedView(tl.shared(0, name="count"))
    shown.comm.close()
    type(shown).close_all()
    del shown
    gc.collect()
    shell.events.trigger("post_run_cell", None)
    assert len(shell.events.callbacks["post_run_cell"]) == before


def test_a_closed_view_is_let_go():
    x = tl.tensor(2.0, requires_grad=True, name="x")
    (y := x * x).backward()
    w = tl.shared(1.0, name="w")
    views = [tl.GraphView(y), tl.SharedView(w), tl.GradientView(x), tl.CompareView.modes(lambda x: x * x, 2.0)]
    left = [weakref.ref(one) for one in views]
    for one in views:
        getattr(one, "stop", one.close)()
        one.close()
    del one, views
    gc.collect()
    assert [ref() for ref in left] == [None] * 4
