"""Lessons as files that need nothing else: a page to read and slides to show, both made from a built notebook.

Everything a page needs is in it, pictures and styles too, so it opens without a network. Nothing here runs a cell.
"""

from tutorlib.lessons.pages.page import html_page
from tutorlib.lessons.pages.save import write_page
from tutorlib.lessons.pages.slides import slides_page

__all__ = ["html_page", "slides_page", "write_page"]
