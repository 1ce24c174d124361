"""The glossary is complete: every term in every language, explained once, without the forms it says to avoid."""

import unicodedata
from pathlib import Path

import pytest

from tutorlib.lessons.front import read_glossary
from tutorlib.lessons.paths import LessonFolders
from tutorlib.lessons.source import read_lesson

FOLDERS = LessonFolders(Path(__file__).parents[2])
GLOSSARY = read_glossary(FOLDERS.glossary)


@pytest.mark.parametrize("term", GLOSSARY)
def test_a_term_has_both_languages_and_a_definition_of_one_line(term):
    entry = GLOSSARY[term]
    assert {"en", "bn", "means"} <= entry.keys() <= {"en", "bn", "means", "means_bn", "avoid"}
    assert entry["means"].endswith(".") and "\n" not in entry["means"]


@pytest.mark.parametrize("term", GLOSSARY)
def test_bengali_is_written_in_normal_form_and_not_as_it_says_to_avoid(term):
    bengali = GLOSSARY[term]["bn"]
    assert unicodedata.is_normalized("NFC", bengali)
    assert bengali not in GLOSSARY[term].get("avoid", [])


def test_every_term_is_introduced_by_a_lesson():
    introduced = {term for path in FOLDERS.sources() for term in read_lesson(path).front.get("terms", [])}
    assert introduced == set(GLOSSARY)
