"""Texts in four languages, and numbers in the form of each."""

import re
import string
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.cells import cell_len

import tuner.console
import tuner.web
from tuner.basics import vocabulary
from tuner.basics.vocabulary import Mode, Phase
from tuner.console.campaign_text import news_text
from tuner.console.keyboard import ANSWERS, CONTROL, SCREENS
from tuner.console.language import LANGUAGES, Words, choose_language, load
from tuner.console.requests import TEXTS, KeyRequest
from tuner.console.session import News
from tuner.errors import TunerError
from tuner.wire import messages
from tuner.wire.messages import ParameterView
from tuner.wire.operations import Operations

SOURCE = Path(tuner.console.__file__).parent


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_text_with_the_same_placeholders(language):
    english, other = load("en"), load(language)
    assert other.keys() == english.keys()
    assert [key for key in english if fields(other[key]) != fields(english[key])] == []
    assert [key for key, text in other.items() if not text.strip() and key != "language.thousands"] == []


@pytest.mark.parametrize("language", [code for code in LANGUAGES if code != "en"])
def test_no_sentence_was_left_in_english(language):
    english, other = load("en"), load(language)
    same = [key for key, text in english.items() if other[key] == text and " " in re.sub(r"\{\w+\}", "", text).strip()]
    assert same == []


def test_every_text_is_used_and_every_text_used_is_there():
    page = Path(tuner.web.__file__).parent
    files = (
        *SOURCE.rglob("*.py"),
        *page.rglob("*.py"),
        *page.rglob("*.html"),
        Path(vocabulary.__file__),
        Path(messages.__file__),
    )
    source = "\n".join(path.read_text("utf-8") for path in files)
    texts = load("en")
    sections = {key.partition(".")[0] for key in texts}
    whole = set(re.findall(r"""["']([a-z]+\.[A-Za-z_]+)["']""", source))
    files_of_the_page = {"page.css", "page.js"}
    missing = {key for key in whole if key.partition(".")[0] in sections and key not in texts}
    assert sorted(missing - files_of_the_page) == []
    composed = set(re.findall(r"""f["']([a-z]+)\.\{""", source)) | set(re.findall(r'"([a-z]+)\." ~', source))
    from_the_daemon = {"mode", "phase", "refused", "why"}

    def used(key):
        section, _, name = key.partition(".")
        if section == "what":  # a request's second text
            return used(f"say.{name}")
        if section == "next":  # what to do about an alarm
            return key in whole or used(f"alarms.{name}")
        return key in whole or section in from_the_daemon or (section in composed and f'"{name}"' in source)

    assert [key for key in texts if not used(key)] == []


def test_every_word_that_the_daemon_may_send_has_a_text():
    texts = load("en")
    assert [word for word in Phase if f"phase.{word}" not in texts] == []
    assert [word for word in Mode if f"mode.{word}" not in texts] == []
    assert [word for word in ("start", "model", "fallback", "repeat") if f"why.{word}" not in texts] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("row", [ANSWERS, CONTROL, SCREENS], ids=["answers", "control", "screens"])
def test_the_keys_fit_on_a_screen_of_eighty_columns(language, row):
    words = Words(language)
    assert sum(len(key.shown) + 3 + cell_len(words(key.text)) for key in row) <= 81  # the last needs no gap
    longer = cell_len(words("key.go_on")) - cell_len(words("key.hold"))  # what the bar says while held
    assert sum(len(key.shown) + 3 + cell_len(words(key.text)) for key in row) + longer * (row is CONTROL) <= 81


@pytest.mark.parametrize(
    ("language", "text"), [("en", "12,345.60"), ("de", "12.345,60"), ("es", "12 345,60"), ("zh", "12,345.60")]
)
def test_numbers_have_the_languages_marks(language, text):
    assert Words(language).number(12345.6, 2) == text


def parameter(**changes):
    fields = {"name": "x", "kind": "continuous", "unit": "mm", "start": 1.0, "low": 0.0, "high": 5.0, "step": None}
    return ParameterView(**{**fields, "choices": [], **changes})


@pytest.mark.parametrize(
    ("value", "changes", "text"),
    [
        (3.51234, {}, "3,512 mm"),
        (0.00012345, {"low": 0.0, "high": 0.001}, "0,000123 mm"),
        (1234.5678, {"low": 0.0, "high": 5000.0}, "1235 mm"),
        (12, {"kind": "integer", "low": 0, "high": 50}, "12 mm"),
        (2.5, {"kind": "stepped", "step": 0.25}, "2,50 mm"),
        (0.012345, {"low": 1e-4, "high": 10.0}, "0,01235 mm"),
        ("steel", {"kind": "choice", "low": None, "high": None, "choices": ["steel", "brass"]}, "steel"),
    ],
)
def test_a_value_has_as_many_digits_as_its_parameter_can_be_set_to(value, changes, text):
    assert Words("de").value(value, parameter(**changes)) == text


def test_a_probability_is_never_shown_as_certain():
    words = Words("en")
    assert [words.percent(p) for p in (0.0, 0.004, 0.5, 0.996, 1.0)] == ["<1 %", "<1 %", "50 %", ">99 %", ">99 %"]


def test_the_language_comes_from_the_option_then_the_environment():
    assert choose_language("es", {"LANG": "de_DE.UTF-8"}) == "es"
    assert choose_language(None, {"LANG": "de_DE.UTF-8"}) == "de"
    assert choose_language(None, {"LC_ALL": "zh_CN.UTF-8", "LANG": "de_DE.UTF-8"}) == "zh"
    assert choose_language(None, {"LANG": "fr_FR.UTF-8"}) == "en"
    assert choose_language(None, {"TUNER_LANGUAGE": "es", "LC_ALL": "zh_CN.UTF-8"}) == "es"
    assert choose_language(None, {"LC_ALL": "C", "LANG": "de_DE.UTF-8"}) == "en"  # the first that is set decides


@pytest.mark.parametrize(("wanted", "environ"), [("xx", {}), (None, {"TUNER_LANGUAGE": "xx", "LANG": "de_DE.UTF-8"})])
def test_a_language_that_was_asked_for_and_is_not_there_is_wrong_usage(wanted, environ):
    with pytest.raises(TunerError, match="no language") as caught:
        choose_language(wanted, environ)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_was_not_taken_is_not_named_by_what_is_said_when_it_was(language):
    words = Words(language)
    names = [key.removeprefix("what.") for key in load(language) if key.startswith("what.")]
    assert set(TEXTS.values()) < set(names)
    for name in names:
        request = KeyRequest(
            Operations.start("press"),
            {"tag": "P1", "number": 3, "lot": "L7", "name": "melt", "value": "230", "pair": "P1 / P2"},
            name,
        )
        news = News(datetime.now(UTC), "press", "alarms.not_taken", {"what": request})
        assert request.said(words) not in news_text(words, news)
