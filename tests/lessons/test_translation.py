"""A lesson in another language: translated prose takes the place of the English, the rest stays and is listed."""

import json

import pytest

from tests.lessons.test_source import FRONT
from tutorlib.cli.main import main
from tutorlib.lessons.build import joined
from tutorlib.lessons.lint import check_lesson
from tutorlib.lessons.paths import LessonFolders
from tutorlib.lessons.produce import build_lesson
from tutorlib.lessons.source import SourceError, read_lesson
from tutorlib.lessons.translation import digest, front_digest, read_lesson_in

LESSON = (
    FRONT.replace("questions: []", "questions: ['Why?']").replace("seed: 1", "terms: [graph]\nseed: 1")
    + """
+++ {"key": "title"}

# A lesson

{{ header }}

+++ {"key": "more"}

More text.

```{code-cell} ipython3
:key: picture
:alt: a line that falls
print("asked in", __import__("os").environ["TUTORLIB_LANG"])
```

+++ {"key": "words"}

{{ words }}
"""
)
GLOSSARY = """
graph:
  en: graph
  bn: গ্রাফ
  means: Kept computation.
"""


@pytest.fixture
def folders(tmp_path):
    """A checkout with one small lesson in English."""
    found = LessonFolders(tmp_path)
    (found.source / "L99_a_lesson").mkdir(parents=True)
    source(found).write_text(LESSON, encoding="utf-8")
    found.glossary.write_text(GLOSSARY, encoding="utf-8")
    return found


def source(folders):
    return folders.source / "L99_a_lesson" / "lesson.md"


def translate(folders, front=True, **blocks):
    """Write a Bengali file that translates these blocks, each from today's English."""
    lesson = read_lesson(source(folders))
    english = {cell.key: cell.text if cell.kind == "prose" else cell.alt for cell in lesson.cells}
    head = f'of: "{front_digest(lesson)}"\ntitle: একটি পাঠ\nquestions: ["কেন?"]\n' if front else "title: একটি পাঠ\n"
    parts = [f"---\n{head}---\n"]
    for key, text in blocks.items():
        parts.append(f'+++ {{"key": "{key}", "of": "{digest(english.get(key) or "")}"}}\n\n{text}\n')
    source(folders).with_name("prose.bn.md").write_text("\n".join(parts), encoding="utf-8")


def problems(folders):
    return [str(problem) for problem in check_lesson(source(folders), folders, "bn")]


def test_translated_prose_takes_the_place_of_the_english_and_the_rest_stays(folders):
    translate(folders, title="# একটি পাঠ\n\n{{ header }}", picture="একটি রেখা যা নামে")
    lesson = read_lesson_in(source(folders), "bn")
    texts = {cell.key: cell.text for cell in lesson.cells}
    assert lesson.language == "bn" and lesson.front["title"] == "একটি পাঠ"
    assert texts["title"].startswith("# একটি পাঠ") and texts["more"] == "More text."
    assert [cell.alt for cell in lesson.cells if cell.key == "picture"] == ["একটি রেখা যা নামে"]


def test_a_lesson_without_a_translation_is_the_english_one_in_the_other_language(folders):
    lesson = read_lesson_in(source(folders), "bn")
    assert [cell.text for cell in lesson.cells] == [cell.text for cell in read_lesson(source(folders)).cells]
    assert lesson.language == "bn"


def test_the_built_notebook_is_in_that_language_with_the_same_cells_and_lies_beside_the_english_one(folders):
    translate(folders, title="# একটি পাঠ\n\n{{ header }}")
    built = build_lesson(source(folders), folders, language="bn")
    english = build_lesson(source(folders), folders)
    bengali, other = (json.loads(path.read_text(encoding="utf-8")) for path in (built, english))
    assert built == folders.built("bn") / "L99_a_lesson.ipynb" and built != english
    assert [cell["id"] for cell in bengali["cells"]] == [cell["id"] for cell in other["cells"]]
    title, more, picture, words = bengali["cells"]
    assert "# একটি পাঠ" in joined(title["source"]) and "- কেন?" in joined(title["source"])
    assert joined(more["source"]) == "More text."
    assert "| **গ্রাফ** (graph) | Kept computation. |" in joined(words["source"])
    assert picture["outputs"][0]["text"] == ["asked in bn\n"]
    assert bengali["metadata"]["tutorlib"]["language"] == "bn"


def test_check_lists_what_is_missing(folders):
    translate(folders, title="# একটি পাঠ")
    assert problems(folders)[0] == "L99_a_lesson/prose.bn.md: 3 not translated: more, picture, words"
    assert "not built yet" in problems(folders)[1]


def test_a_text_that_changed_since_its_translation_is_told_with_the_new_digest(folders):
    translate(folders, more="আরও লেখা।")
    text = LESSON.replace("More text.", "Much more text.").replace("Why?", "Why not?")
    source(folders).write_text(text, encoding="utf-8")
    found = "\n".join(problems(folders))
    assert (
        f'cell more is not of today\'s English text; look through it, then write "of": "{digest("Much more text.")}"'
        in found
    )
    assert "the front matter is not of today's English one" in found


def test_a_translation_without_a_digest_counts_as_outdated(folders):
    translate(folders, front=False)
    assert any("the front matter is not of today's" in problem for problem in problems(folders))


def test_a_key_that_the_lesson_has_not_is_told(folders):
    translate(folders, nowhere="কিছু")
    assert any("nothing to translate under the key nowhere" in problem for problem in problems(folders))


def test_the_rules_for_prose_hold_in_every_language(folders):
    translate(folders, title="### একটি পাঠ", more="![](picture.png)")
    found = "\n".join(problems(folders))
    assert "has level 3 after level 0" in found and "cell more has no alt text" in found


def test_code_in_a_translation_is_refused(folders):
    code = '---\ntitle: x\n---\n```{code-cell} ipython3\n:key: picture\nprint("আমি")\n```\n'
    source(folders).with_name("prose.bn.md").write_text(code, encoding="utf-8")
    with pytest.raises(SourceError, match="a translation has no code; cell picture stays as it is"):
        read_lesson_in(source(folders), "bn")
    assert len(problems(folders)) == 1 and "prose.bn.md:" in problems(folders)[0]


def test_the_commands_take_the_language(folders, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(folders.root)
    translate(folders, title="# একটি পাঠ", more="আরও", picture="রেখা", words="{{ words }}")
    assert main(["lessons", "build", "--lang", "bn"]) == 0
    assert main(["lessons", "check", "--lang", "bn", "--quick"]) == 0
    assert main(["lessons", "build", "--lang", "bn", "--to", "html", "--out", str(tmp_path / "pages")]) == 0
    page = (tmp_path / "pages" / "L99_a_lesson.html").read_text(encoding="utf-8")
    assert '<html lang="bn">' in page and "একটি পাঠ" in page
    assert main(["lessons", "build", "--to", "slides"]) == 2
    assert "--to slides --out FOLDER" in capsys.readouterr().err
