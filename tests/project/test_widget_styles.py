"""The style sheets of the widgets on one page: each widget brings its own, and all of them hold for the whole page."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

JS = Path(__file__).parents[2] / "tutorlib" / "viz" / "js"
IMPORT = re.compile(r'@import "\./([\w]+\.css)"')


def rules_of(sheet: str) -> dict[str, set[str]]:
    """Class → the rules (selector and declarations) that name it alone, outside of any media query."""
    text = re.sub(r"/\*.*?\*/", "", (JS / sheet).read_text(encoding="utf-8"), flags=re.S)
    text = re.sub(r"@(?:media|container)[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", text)
    found: dict[str, set[str]] = {}
    for selectors, body in re.findall(r"([^{};]+)\{([^{}]*)\}", text):
        for selector in selectors.split(","):
            alone = re.fullmatch(r"(?:\.tl-root )?\.(tl-[\w-]+)", selector.strip())
            if alone:
                found.setdefault(alone[1], set()).add(" ".join(body.split()))
    return found


def sheets_of(sheet: str) -> set[str]:
    """A sheet and all that it imports."""
    found = {sheet}
    for name in IMPORT.findall((JS / sheet).read_text(encoding="utf-8")):
        found |= sheets_of(name)
    return found


def test_no_two_widgets_mean_different_things_by_one_class():
    """A class styled by two widgets looks alike in both: else a view changes its look when another one is shown."""
    texts = [path.read_text(encoding="utf-8") for path in JS.glob("*.js")]
    entries = {name for text in texts for name in re.findall(r'from "\./(\w+\.css)"', text)}
    imported = {sheet: sheets_of(sheet) for sheet in entries}
    assert len(imported) >= 3
    clashes = []
    for one, other in combinations(sorted(imported), 2):
        for mine in imported[one] - imported[other]:
            for theirs in imported[other] - imported[one]:
                ours, others = rules_of(mine), rules_of(theirs)
                clashes += [(mine, theirs, n) for n in ours.keys() & others.keys() if ours[n] != others[n]]
    assert clashes == []
