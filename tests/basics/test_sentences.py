"""Sentences as codes with values: every code has its texts, every place that says one gives what the text needs."""

import ast
import copy
import json
import pickle
import re
import string
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pydantic import ConfigDict

import adapters
import tuner
from tuner.basics.os_reasons import os_reason
from tuner.basics.sentences import (
    LANGUAGES,
    Sentence,
    from_json,
    listing,
    load,
    say,
    sentence_in,
    tell,
    to_json,
    written,
)
from tuner.basics.telling import Said, Telling
from tuner.basics.vocabulary import Mode, Role, Stage
from tuner.campaign.moves import MOVES

MODULES = [*Path(tuner.__file__).parent.rglob("*.py"), *Path(adapters.__file__).parent.rglob("*.py")]
WORDS = {"mode": Mode, "stage": Stage, "role": Role}  # codes that are made of a word of the vocabulary
# what people read who set something up, in the language of the command line; what comes at run time has codes
SETTING_UP = ("adapters/opcua/browsing.py", "adapters/opcua/certificates.py", "adapters/modbus/ranges.py")
SETS_UP = {"browse", "introduce", "blocks", "_allowed", "_no_result", "_new_client"}
FAULTS = {"Refusal", "GateRefusal", "LinkError", "DeadlineError", "NotReadyError", "RefusedError", "HistoryError",
          "NotToldError"}  # fmt: skip
ROOMS = ("tuner/campaign", "tuner/gate", "tuner/daemon", "tuner/machine/process", "tuner/machine/host", "tuner/notify",
         "adapters/")  # fmt: skip


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@cache
def said() -> list[tuple[str, str, set[str] | None]]:
    """Every `say` in the source: where, the code (with a star for what is not written there), the values' names."""
    return [
        (f"{path}:{call.lineno}", code, names)
        for path in MODULES
        for call in _calls(ast.parse(path.read_text("utf-8")))
        for code in _codes(call.args[0])
        for names in [None if any(k.arg is None for k in call.keywords) else {str(k.arg) for k in call.keywords}]
    ]


def _calls(module: ast.Module) -> Iterator[ast.Call]:
    imports = [n for n in ast.walk(module) if isinstance(n, ast.ImportFrom) and n.module == "tuner.basics.sentences"]
    named = {alias.name for one in imports for alias in one.names}
    ours = "say" in named or any(isinstance(n, ast.FunctionDef) and n.name == "listing" for n in module.body)
    for node in ast.walk(module):
        if ours and isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
            yield node


def _codes(code: ast.expr) -> list[str]:
    if isinstance(code, ast.Constant):
        return [str(code.value)]
    if isinstance(code, ast.IfExp):
        return [*_codes(code.body), *_codes(code.orelse)]
    if isinstance(code, ast.JoinedStr):
        return ["".join(str(v.value) if isinstance(v, ast.Constant) else "*" for v in code.values)]
    return ["*"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_code_has_a_text_in_every_language_with_the_same_values(language):
    english, other = load("en"), load(language)
    assert other.keys() == english.keys()
    assert [code for code in english if fields(other[code]) != fields(english[code])] == []
    assert [code for code, text in other.items() if not text.strip()] == []


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "en"])
def test_no_sentence_was_left_in_english(language):
    english, other = load("en"), load(language)
    same = [
        code
        for code, text in english.items()
        if other[code] == text and re.search("[A-Za-z]", re.sub(r"\{[^}]*\}", "", text))
    ]
    assert same == []


def test_every_code_that_is_said_has_a_text_and_every_text_is_said():
    texts, missing, used = load("en"), [], set()
    source = "\n".join(path.read_text("utf-8") for path in MODULES)
    named = {one for one in texts if f'"{one}"' in source}
    for place, code, _ in said():
        pattern = re.compile(re.escape(code).replace(r"\*", ".+"))
        found = {one for one in texts if pattern.fullmatch(one)} if "*" in code else {code} & texts.keys()
        missing += [] if found else [(place, code)]
        used |= found if code != "*" else named
    assert missing == []
    assert sorted(texts.keys() - used - {"language.decimal"}) == []


def test_whoever_says_a_sentence_gives_its_values():
    texts = load("en")
    known = [(place, code, names) for place, code, names in said() if code in texts and names is not None]
    assert [(place, code) for place, code, names in known if names != fields(texts[code])] == []


def test_every_word_that_is_part_of_a_code_has_a_text():
    texts = load("en")
    assert [f"{kind}.{word}" for kind, words in WORDS.items() for word in words if f"{kind}.{word}" not in texts] == []
    assert [m.verb for m in MOVES.values() if m.verb and f"verb.{m.verb}" not in texts] == []
    assert [m.cannot for m in MOVES.values() if m.cannot and f"cannot.{m.cannot}" not in texts] == []


def _raised(node: ast.AST) -> Iterator[ast.Call]:
    """What is made of the classes of faults, but for what only who sets a machine up reads."""
    if isinstance(node, ast.FunctionDef) and node.name in SETS_UP:
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FAULTS:
        yield node
    for inner in ast.iter_child_nodes(node):
        yield from _raised(inner)


def test_every_refusal_and_every_fault_of_a_machine_has_a_code():
    root, plain = Path(tuner.__file__).parents[1], []
    for path in MODULES:
        name = path.relative_to(root).as_posix()
        if name.startswith(ROOMS) and name not in SETTING_UP:
            for call in _raised(ast.parse(path.read_text("utf-8"))):
                text = call.args[-1] if call.args else None
                if isinstance(text, ast.JoinedStr) or (isinstance(text, ast.Constant) and isinstance(text.value, str)):
                    plain.append(f"{name}:{call.lineno}")
    assert plain == []


class Event(Telling):
    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: Said
    texts: list[Said] = []  # noqa: RUF012 - pydantic copies it


STEP = say("gate.differs", name="Druck", have=say("value.number", number="17.642"), wanted=written(18.5))


def test_a_sentence_is_its_english_text_and_is_told_in_another_language():
    assert STEP == "Druck is 17.642, not 18.5"
    assert tell(STEP, "en") == STEP
    assert "17,642" in tell(STEP, "de")
    assert tell("as it is", "de") == "as it is"
    assert tell(Sentence("of a newer daemon", "gate.not_known_yet"), "de") == "of a newer daemon"
    assert tell(Sentence("with other values", "gate.differs", {"name": "x"}), "de") == "with other values"


def test_an_error_a_copy_and_a_pickle_keep_the_code():
    for kept in (
        str(ValueError(STEP)),
        copy.deepcopy(STEP),
        pickle.loads(pickle.dumps(STEP)),  # noqa: S301 - our own
        from_json(to_json(STEP)),
    ):
        assert isinstance(kept, Sentence)
        assert (kept.code, kept.values) == (STEP.code, STEP.values)


def test_a_model_writes_codes_beside_its_texts_and_reads_them_again():
    event = Event(reason=STEP, texts=["plain", listing([STEP, "as it is"])])
    data = json.loads(event.model_dump_json())
    assert data["reason"] == "Druck is 17.642, not 18.5"
    assert data["texts"][1] == "Druck is 17.642, not 18.5; as it is"
    assert sorted(data["told"]) == ["reason", "texts.1"]
    again = Event.model_validate_json(event.model_dump_json())
    assert again == event
    assert tell(again.texts[1], "de").endswith("; as it is")
    assert isinstance(sentence_in(data, "reason"), Sentence)


def test_what_was_written_before_there_were_codes_shows_its_text():
    event = Event.model_validate_json('{"reason": "held by anna"}')
    assert event.model_dump() == {"reason": "held by anna", "texts": []}
    assert tell(event.reason, "zh") == "held by anna"


@pytest.mark.parametrize(
    "told", ['{"reason": {"code": "x"}}', '{"other": {"code": "x"}}', '{"texts.7": {"code": "x", "values": {}}}']
)
def test_codes_that_fit_nothing_do_no_harm(told):
    event = Event.model_validate_json(f'{{"reason": "r", "told": {told}}}')
    assert tell(event.reason, "de") == "r"


def test_a_moment_is_written_in_utc_and_told_by_the_readers_clock(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        until = say("restriction.until", moment="2026-03-02T05:00:00.000000Z")
        assert until == "2026-03-02 05:00 UTC"
        assert tell(until, "es") == "2026-03-02 14:00"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_chance_is_never_certain_and_a_small_share_keeps_a_digit():
    said = say("contract.next", tag="P2", valid=0.999, confidence=0.9, low=0.001)
    assert ">99 %" in said
    assert "<1 %" in said
    assert "0,4 %" in tell(say("contract.base", share=0.004), "de")
    assert "5 %" in say("contract.base", share=0.05)


def test_what_the_operating_system_says_is_told_in_the_readers_language():
    with pytest.raises(OSError, match="nothing") as caught:
        open("/nothing/there")  # noqa: PTH123, SIM115 - it does not open
    assert tell(os_reason(caught.value), "de") == "Datei oder Verzeichnis gibt es nicht"
    assert os_reason(OSError(9999, "a rare one")) == "a rare one"


def test_one_and_several_are_told_apart():
    assert say("budget.trials", trials=1) == "the budget of 1 trial is used up"
    assert say("budget.trials", trials=8) == "the budget of 8 trials is used up"
