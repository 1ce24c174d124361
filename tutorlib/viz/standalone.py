"""A live view as one HTML file: no server, no network, no kernel. A double click opens it, and it steps."""

from __future__ import annotations

import base64
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from tutorlib.viz.marks import escape

__all__ = ["page_template", "standalone_page"]

STATIC = Path(__file__).parent / "static"


@lru_cache(maxsize=1)
def page_template() -> str:
    """The page with its places `{{title}}`, `{{lang}}`, `{{picture}}`, `{{traits}}`; the live view fills it too."""
    return (STATIC / "standalone.html").read_text(encoding="utf-8")


def standalone_page(traits: dict[str, Any], *, title: str, svg: str) -> str:
    """The page for a view with these `traits`, among them its module `_esm`; `svg` is what shows without scripts.

    Inside the script's JSON every `<` is an escape, so no text of the view can end the script.
    """
    data = json.dumps(traits, ensure_ascii=False)
    image = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    filled = {
        "lang": escape(str(traits.get("lang", "en"))),
        "title": escape(title),
        "picture": f'<img alt="{escape(title)}" src="data:image/svg+xml;base64,{image}">',
        "traits": data.replace("<", "\\u003c"),
    }
    text = page_template()
    head, *places = text.split("{{")
    return head + "".join(filled[name] + rest for name, _, rest in (place.partition("}}") for place in places))
