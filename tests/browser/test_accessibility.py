"""The widgets under axe-core: no violation, in both themes, in every state a person can bring them to."""

from __future__ import annotations

import pytest

from tests.browser.sample_specs import counter_and_weights
from tests.js.npm_tools import node_modules  # noqa: F401 - a fixture

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
    "keys", [[], ["ArrowDown", "Enter"], ["?"], ["t"], ["/"]], ids=lambda keys: "".join(keys) or "start"
)
def test_graph_view(widgets, violations, light, keys):
    page = widgets.graph("tiny", step=8, light=light)
    page.locator('[role="tree"]').focus()
    for key in keys:
        page.keyboard.press(key)
    assert violations(page) == []


@pytest.mark.parametrize("light", [True, False])
@pytest.mark.parametrize("selected", ["s0", "s1", "s2"])
def test_shared_view(widgets, violations, light, selected):
    page = widgets.shared(counter_and_weights(), frame=4, selected=selected, light=light)
    assert violations(page) == []
