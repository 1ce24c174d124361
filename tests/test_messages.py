"""Messages follow the language that was chosen, and a translation says what the English says, no more and no less."""

import json
import re
import unicodedata
from importlib import resources

import pytest

import tutorlib as tl
from tutorlib.messages import DEFAULT_LANGUAGE, languages, message, message_in

LOCALE = resources.files("tutorlib") / "locale"
TRANSLATED = [
    (lang, file.name) for lang in languages() if lang != DEFAULT_LANGUAGE for file in (LOCALE / lang).iterdir()
]


def read(lang, name):
    return json.loads((LOCALE / lang / name).read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def restore_language(monkeypatch):
    monkeypatch.setenv("TUTORLIB_LANG", "en")


def test_there_is_english_and_bengali():
    assert set(languages()) >= {"bn", "en"}


def test_choosing_a_language_changes_the_messages_from_then_on():
    assert (tl.language(), message("lessons.ok", key="L04.ex1")) == ("en", "L04.ex1: OK")
    assert tl.language("bn") == tl.language() == "bn"
    assert message("lessons.ok", key="L04.ex1") == "L04.ex1: ঠিক আছে"


def test_a_language_without_messages_is_refused_and_nothing_changes():
    with pytest.raises(ValueError, match=r'nothing in the language "xx"; there are bn, en'):
        tl.language("xx")
    assert tl.language() == "en"


def test_what_is_not_translated_stays_english():
    assert message_in("bn", "lessons.cli.built", name="L04") == "built L04"
    assert message_in("xx", "lessons.ok", key="L04.ex1") == "L04.ex1: OK"


@pytest.mark.parametrize(("lang", "name"), TRANSLATED)
def test_a_translation_has_the_ids_and_the_fields_of_the_english(lang, name):
    english, translated = read(DEFAULT_LANGUAGE, name), read(lang, name)
    assert translated.keys() <= english.keys()
    for id, text in translated.items():
        assert set(re.findall(r"{\w*}", text)) == set(re.findall(r"{\w*}", english[id])), id
        assert unicodedata.is_normalized("NFC", text), id
