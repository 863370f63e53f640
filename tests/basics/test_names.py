"""Names of people: any script, one form, and nobody passes for the daemon or signs for another key."""

# ruff: noqa: RUF001 - look-alikes are what is tested

import pytest

from tuner.basics.names import NameProblemError, person_name, same_name


@pytest.mark.parametrize(
    "name",
    ["anna", "Jürgen Müßig", "José Núñez", "王小明", "王 Anna", "佐藤 みどり", "김민준", "Анна Петрова", "Γιώργος",
     "O'Neil-Smith",
     "Şule Tüner", "محمد", "Tuner Oyster", "Maria Via", "press-3", "op_1", "Nguyễn Văn An", "В.А. Кузнецов"],
)  # fmt: skip
def test_names_of_every_country_are_names(name):
    assert person_name(name) == name


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("  Anna \t Berg ", "Anna Berg"),
        ("Ａｎｎａ", "Anna"),
        ("Mu\u0308ller", "Müller"),
        ("ﬁona", "fiona"),
        ("a\u00a0b", "a b"),
    ],
)
def test_a_name_has_one_form(typed, name):
    assert person_name(typed) == name


def test_capitals_make_nobody_another_person():
    assert same_name("Anna", "ANNA")
    assert same_name("STRASSE", "straße")
    assert not same_name("anna", "аnnа")


@pytest.mark.parametrize(
    "name",
    ["tuner", "Tuner", "TUNER", " tuner ", "ｔｕｎｅｒ", "tunеr", "Тuner", "ΤUNΕR", "ᴛᴜɴᴇʀ", "tu\u0338ner",
     "𝐭𝐮𝐧𝐞𝐫", "тυпег"],
)  # fmt: skip
def test_nobody_is_called_like_the_daemon_or_looks_like_it(name):
    with pytest.raises(NameProblemError, match=r"looks like 'tuner'|mixes .* letters"):
        person_name(name)


@pytest.mark.parametrize("name", ["anna via op1", "anna  VIA  op1", "anna\u2003via op1", "anna νια op1", "a ᴠɪᴀ b"])
def test_nobody_signs_for_another_key(name):
    with pytest.raises(NameProblemError, match="between person and key"):
        person_name(name)


@pytest.mark.parametrize(
    "name", ["", "  ", "an\u200dna", "an\u202ena", "\u3164", "an\u2800na", "an\x1bna", "a" * 65, "ﷺ" * 10]
)
def test_what_cannot_be_seen_or_is_too_long_is_no_name(name):
    with pytest.raises(NameProblemError, match="characters that can be seen"):
        person_name(name)


@pytest.mark.parametrize("name", ["Аnna", "annа", "Gιorgos", "王anna"])
def test_a_word_is_of_one_script(name):
    with pytest.raises(NameProblemError, match=r"mixes .* and .* letters"):
        person_name(name)
