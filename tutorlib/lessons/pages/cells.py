"""Turns a notebook's cells into HTML, and puts HTML into a page with its styles. Needs nbconvert (`docs` extra)."""

import html
import json
import re
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

from tutorlib.lessons.build import joined
from tutorlib.messages import message_in

PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="tutorlib lessons build">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
{body}
</body>
</html>
"""
LESSON_LINK = re.compile(r'(href="L\d\d_\w+)\.ipynb')


def whole_page(notebook: dict[str, Any], body: str, styles: tuple[str, ...]) -> str:
    """The page with this body, in the notebook's language, with the style files of these names."""
    style = "\n".join([*map(asset, styles), _code_style()])
    return PAGE.format(language=language_of(notebook), title=html.escape(title_of(notebook)), style=style, body=body)


def renderer(notebook: dict[str, Any], suffix: str) -> Callable[[dict[str, Any]], str]:
    """A function from one cell of the notebook to its HTML; links to other lessons get `suffix` for `.ipynb`."""
    import nbformat
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True)

    def render(cell: dict[str, Any]) -> str:
        alone = nbformat.reads(json.dumps({**notebook, "cells": [cell]}), as_version=4)
        body, _ = exporter.from_notebook_node(alone)
        return LESSON_LINK.sub(rf"\1{suffix}", body)

    return render


def tags_of(cell: dict[str, Any]) -> list[str]:
    return cell["metadata"].get("tags", [])


def title_of(notebook: dict[str, Any]) -> str:
    """The lesson's number and its heading, `"L04 · Shared variables"`."""
    first = joined(notebook["cells"][0]["source"])
    return f"{notebook['metadata']['tutorlib']['lesson']} · {first.splitlines()[0].lstrip('# ')}"


def language_of(notebook: dict[str, Any]) -> str:
    return notebook["metadata"]["tutorlib"]["language"]


def words(notebook: dict[str, Any], name: str, **fields: object) -> str:
    """The text `lessons.page.name` in the notebook's language, safe to stand in HTML."""
    return html.escape(message_in(language_of(notebook), f"lessons.page.{name}", **fields))


@cache
def asset(name: str) -> str:
    """The text of a style or script that lies beside this module."""
    return (resources.files("tutorlib.lessons.pages") / name).read_text(encoding="utf-8")


@cache
def _code_style() -> str:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(style="tango").get_style_defs(".highlight")
