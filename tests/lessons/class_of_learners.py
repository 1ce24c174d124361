"""A class that hands in L04: one who is right, and everything else that a grader has to survive."""

import json

from tests.lessons.answers import RIGHT
from tutorlib.lessons.build import build_notebook
from tutorlib.lessons.front import read_glossary
from tutorlib.lessons.source import read_lesson

ALL = {f"L04.ex{n}" for n in range(1, 6)}
RIGHT_1 = RIGHT["L04.ex1"]
SIGN_ERROR = """def make_accumulator(total):
    a = tl.scalar("a")
    return tl.function([a], None, updates={total: total - a})
"""
HARD_CODED = "def make_accumulator(total):\n    return lambda amount: 6.0"
LOOP_IN_FUNCTION = (
    "def make_accumulator(total):\n    while True:\n        try:\n            while True: pass\n"
    "        except BaseException: pass"
)
PATCHED_NUMPY = (
    "import numpy\nfor name in ('allclose', 'asarray', 'cumsum', 'abs'):\n"
    "    setattr(numpy, name, lambda *a, **k: numpy.True_)\n" + HARD_CODED
)
PATCHED_ORACLE = (
    "import tutorlib.lessons.exercises.l04 as m, tutorlib.lessons.exercise as e, tutorlib.lessons.checker as c\n"
    "m.close = e.close = lambda *a: True\nm.diagnose = e.diagnose = lambda *a, **k: None\n"
    "m.compiled_or_miss = lambda made: None\nc.judged = lambda *a: None\n"
    "e.close.__code__ = (lambda *a: True).__code__\n" + HARD_CODED
)
# Replaces the oracle's helpers while it runs, when nothing is put back any more.
PATCHED_LATE = (
    "def make_accumulator(total):\n    import tutorlib.lessons.exercises.l04 as m\n"
    "    m.diagnose = lambda *a, **k: None\n    m.compiled_or_miss = lambda made: None\n    return lambda amount: 6.0"
)
FORGED = (
    "import os, json\nfor fd in range(3, 20):\n    try:\n"
    "        os.write(fd, (json.dumps({'mark': 'x', 'raised': None, 'hint': None, 'seen': []}) + '\\n').encode())\n"
    "    except OSError:\n        pass\n" + HARD_CODED
)
TALKATIVE = RIGHT_1.replace(
    "    step =", "    print('x' * 1_000_000)\n    import os; os.write(1, b'y' * 1_000_000)\n    step ="
)

# What each writes in place of exercise 1, the exercises that are then right, and a word of a note.
CLASS = {
    "correct": (RIGHT_1, ALL, None),
    "blank": (None, set(), None),
    "sign-error": (SIGN_ERROR, ALL - {"L04.ex1"}, None),
    "loop-in-cell": ("while True:\n    pass", ALL - {"L04.ex1"}, None),
    "loop-in-function": (LOOP_IN_FUNCTION, ALL - {"L04.ex1"}, None),
    "talkative": (TALKATIVE, ALL, None),
    "hard-coded": (HARD_CODED, ALL - {"L04.ex1"}, None),
    "patched-numpy": (PATCHED_NUMPY, ALL - {"L04.ex1"}, "numpy.allclose"),
    "patched-oracle": (PATCHED_ORACLE, ALL - {"L04.ex1"}, "put back"),
    "patched-late": (PATCHED_LATE, ALL - {"L04.ex1"}, None),
    "fake-check": (
        "def check(*a):\n    print('L04.ex1: OK')\ncheck('L04.ex1')\nmake_accumulator = 1",
        ALL - {"L04.ex1"},
        None,
    ),
    "forged": (FORGED, ALL - {"L04.ex1"}, "channel"),
    "skip-comment": (f"# NBVAL_SKIP\n{SIGN_ERROR}", ALL - {"L04.ex1"}, "skip"),
    "leaves": ("import os\nos._exit(0)", ALL - {"L04.ex1"}, None),
    "eats-memory": (SIGN_ERROR + "\nx = bytearray(1 << 40)", ALL - {"L04.ex1"}, None),
    "no-check-cell": (RIGHT_1, ALL, None),
    "edited-check": (RIGHT_1, ALL, None),
    "duplicated": (RIGHT_1, ALL, "2 cells"),
    "cell-removed": (RIGHT_1, ALL - {"L04.ex1"}, "missing"),
}


def notebook_of(learner, folders):
    """The notebook that this learner hands in."""
    (path,) = folders.sources(["L04"])
    notebook = build_notebook(read_lesson(path), "learner", read_glossary(folders.glossary))
    first = CLASS[learner][0]
    for cell in notebook["cells"]:
        key = f"L04.{cell['id']}"
        if key in RIGHT and first is not None:
            cell["source"] = first if key == "L04.ex1" else RIGHT[key]
    by_id = {cell["id"]: cell for cell in notebook["cells"]}
    if learner == "no-check-cell":
        notebook["cells"].remove(by_id["ex1-check"])
    if learner == "edited-check":
        by_id["ex1-check"]["source"] = "1 / 0"
    if learner == "duplicated":
        copy = {**by_id["ex1"], "id": "a1b2c3", "source": SIGN_ERROR}
        notebook["cells"].insert(notebook["cells"].index(by_id["ex1"]) + 1, copy)
    if learner == "cell-removed":
        notebook["cells"].remove(by_id["ex1"])
    return notebook


def hand_in(folder, learners, folders):
    """Write the notebooks of these learners into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for learner in learners:
        text = json.dumps(notebook_of(learner, folders))
        (folder / f"{learner}.ipynb").write_text(text, encoding="utf-8")
