"""The widgets under axe-core: no violation, in both themes, in every state a person can bring them to."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import tutorlib as tl
from tests.browser.sample_gradients import gradients
from tests.browser.sample_specs import counter_and_weights, two_runs
from tests.js.npm_tools import node_modules  # noqa: F401 - a fixture
from tutorlib.viz.graph_spec import graph_spec

pytestmark = pytest.mark.browser

RUN = "async () => (await axe.run('.tl-root')).violations.map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 160))])"


@pytest.fixture
def violations(node_modules):
    """Runs axe-core on a page."""
    script = (node_modules / "axe-core" / "axe.min.js").read_text(encoding="utf-8")

    def run(page) -> list:
        page.emulate_media(reduced_motion="reduce")
        page.add_script_tag(content=script)
        return page.evaluate(RUN)

    return run


@pytest.mark.parametrize("light", [True, False])
@pytest.mark.parametrize(
    "keys", [[], ["ArrowDown", "Enter"], ["?"], ["t"], ["/"], ["s"]], ids=lambda keys: "".join(keys) or "start"
)
def test_graph_view(widgets, violations, light, keys):
    page = widgets.graph("tiny", step=8, light=light)
    page.locator('[role="tree"]').focus()
    for key in keys:
        page.keyboard.press(key)
    assert violations(page) == []


@pytest.mark.parametrize("light", [True, False])
def test_graph_view_that_explains_and_asks(widgets, violations, light):
    x = tl.tensor([0.0] * 8 + [1.0], requires_grad=True, name="x")
    loss = (tl.log(x) * 2.0).sum()
    loss.backward()
    page = widgets.graph(graph_spec(loss), step=99, light=light)
    page.locator('[role="tree"]').focus()
    page.keyboard.press("n")
    expect(page.locator(".tl-hist").first).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("p")
    page.keyboard.press("Home")
    page.keyboard.press("p")
    page.keyboard.press("p")
    page.keyboard.press(".")
    page.keyboard.type("(3)")
    page.keyboard.press("Enter")
    expect(page.locator(".tl-verdict")).to_contain_text("Not")
    assert violations(page) == []


@pytest.mark.parametrize("light", [True, False])
@pytest.mark.parametrize("selected", ["s0", "s1", "s2"])
def test_shared_view(widgets, violations, light, selected):
    page = widgets.shared(counter_and_weights(), frame=4, selected=selected, light=light)
    assert violations(page) == []


def square_or_not(x):
    y = x * x
    return tl.ifelse(y > 1, lambda: y, lambda: y + 1)


@pytest.mark.parametrize("light", [True, False])
def test_compare_view(widgets, violations, light):
    x = tl.scalar("x")
    modes = widgets.compare(tl.CompareView.modes(square_or_not, 2.0).spec, step=4, light=light)
    modes.locator('[role="tree"]').first.focus()
    modes.keyboard.press("m")
    assert violations(modes) == []
    log = widgets.compare(tl.CompareView(tl.function([x], tl.log(1 + tl.exp(x)) * 1).log).spec, step=2, light=light)
    assert violations(log) == []
    for key in ("?", "t", "/"):
        log.locator('[role="tree"]').first.focus()
        log.keyboard.press(key)
        assert violations(log) == []
        log.keyboard.press("Escape")
    graphs = widgets.compare(tl.CompareView(x * 2, x + 2).spec, light=light)
    assert violations(graphs) == []


@pytest.mark.parametrize("light", [True, False])
@pytest.mark.parametrize("keys", ["f", "r", "h", "t", "?"])
def test_gradient_view(widgets, violations, light, keys):
    page = widgets.gradient(gradients(), step=9, light=light)
    page.locator(".tl-plot").focus()
    page.keyboard.press(keys)
    assert violations(page) == []


@pytest.mark.parametrize("light", [True, False])
def test_shared_view_with_contour_loss_and_a_second_run(widgets, violations, light):
    page = widgets.shared(two_runs(), frame=3, light=light)
    expect(page.locator(".tl-contour")).to_be_visible()
    assert violations(page) == []
