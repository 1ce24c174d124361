"""Chooses the words of a hint: which text, at which of the three levels. The texts themselves are in the message table.

For hint `h` of exercise `k` at level `n` the table is asked for `lessons.k.h.n`. Without such an entry the diagnosis,
`lessons.k.h.1` or the general `lessons.hint.h`, is followed by the exercise's own `lessons.k.more.n`.
"""

from typing import Any

from tutorlib.messages import message, table

LEVELS = 3
LONGEST = 500
SENTENCE_ENDS = (".", "?", "!", "…")


def hint_text(key: str, hint: str, level: int, fields: dict[str, Any]) -> str:
    """The hint as one line of words; `level` is 1, 2 or 3.

    Raises KeyError when the table has no text for this hint.
    """
    own, more = f"lessons.{key}.{hint}.{level}", f"lessons.{key}.more.{level}"
    known = table("lessons")
    if own in known:
        return one_line(message(own, **fields))
    first = f"lessons.{key}.{hint}.1"
    text = message(first if first in known else f"lessons.hint.{hint}", **fields)
    if level > 1 and more in known:
        text = f"{text if text.endswith(SENTENCE_ENDS) else text + '.'} {message(more)}"
    return one_line(text)


def one_line(text: str, longest: int = LONGEST) -> str:
    """The text without line breaks, cut at a readable length.

    >>> one_line("first\\n  second")
    'first second'
    """
    joined = " ".join(text.split())
    return joined if len(joined) <= longest else joined[: longest - 1] + "…"
