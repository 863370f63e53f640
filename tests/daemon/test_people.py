"""People who sign in: what the file keeps, how sessions end, how wrong PINs slow down, and what a campaign wants."""

import itertools
import json
import secrets

import pytest

from tests.daemon.running import campaign_text, daemon, until
from tests.daemon.signing_in import DESK, HERE, NOW, TABLET, Clock, anna, cheap_hashes, code_of
from tuner.basics.vocabulary import Role
from tuner.campaign.decide import Refusal
from tuner.daemon import hashes
from tuner.daemon import people as module
from tuner.daemon.people import People
from tuner.daemon.people_file import PeopleFile, PeopleFileError
from tuner.daemon.tries import RIGHT_OF_A_PERSON
from tuner.errors import DeniedError, TunerError
from tuner.wire.errors import ReplyError
from tuner.wire.people import NewPerson


@pytest.fixture
def cheap(monkeypatch):
    cheap_hashes(monkeypatch)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def people(tmp_path, cheap, clock):
    return People(tmp_path, lambda: NOW, clock)


@pytest.mark.asyncio
async def test_a_person_signs_in_with_the_pin_and_gets_no_more_than_the_clients_key_may(people):
    await anna(people, Role.ENGINEER)
    opened = await people.open("ANNA", "4711", None, TABLET)
    assert (opened.name, opened.role, opened.language) == ("anna", Role.OPERATOR, "de")
    assert people.signed_in(opened.session, TABLET).name == "anna"
    assert people.signed_in(opened.session, DESK) is None
    assert people.signed_in(opened.session + "x", TABLET) is None
    assert (await people.open("anna", "4711", None, DESK)).role is Role.ENGINEER


@pytest.mark.asyncio
async def test_a_badge_says_who_it_is_and_belongs_to_one_person_only(people):
    await anna(people, badge="0042")
    assert (await people.open(None, None, "0042", HERE)).name == "anna"
    assert await code_of(people.open(None, None, "0043", HERE)) == "wrong_pin"
    ben = NewPerson(name="ben", role=Role.VIEWER, badge="0042")
    assert await code_of(people.add(ben, "ines", HERE.client)) == "exists"


@pytest.mark.asyncio
async def test_wrong_pins_slow_down_also_for_the_right_one_and_more_each_time(people, clock):
    await anna(people)
    waits = []
    for _ in range(12):
        while await code_of(people.open("anna", "1234", None, HERE)) == "slow_down":
            clock.now_s += 1.0
        waits.append(clock.now_s)
    gaps = [after - before for before, after in itertools.pairwise(waits)]
    assert gaps[:2] == [0.0, 0.0]
    assert gaps[2:] == [min(900.0, 2.0**n) for n in range(1, 10)]
    assert await code_of(people.open("anna", "4711", None, HERE)) == "slow_down"
    clock.now_s += 900.0
    assert (await people.open("anna", "4711", None, HERE)).name == "anna"
    assert await code_of(people.open("anna", "1234", None, HERE)) == "wrong_pin"


@pytest.mark.asyncio
async def test_an_unknown_name_is_answered_as_a_wrong_pin_is(people):
    await anna(people)
    for name in ("anna", "nobody"):
        with pytest.raises(Refusal) as caught:
            await people.open(name, "9999", None, HERE)
        assert caught.value.code == "wrong_pin"
        assert name not in str(caught.value)


@pytest.mark.asyncio
async def test_a_session_ends_when_idle_in_the_end_and_by_an_engineer(people, clock):
    await anna(people)
    first = await people.open("anna", "4711", None, HERE)
    clock.now_s += people.idle_s
    people.used(first.session)
    clock.now_s += people.idle_s
    assert people.signed_in(first.session, HERE) is not None
    clock.now_s += 1.0
    assert people.signed_in(first.session, HERE) is None

    second = await people.open("anna", "4711", None, HERE)
    opened_s = clock.now_s
    while clock.now_s - opened_s < people.longest_s:
        assert people.signed_in(second.session, HERE) is not None
        clock.now_s += people.idle_s
        people.used(second.session)
    clock.now_s += 1.0
    assert people.signed_in(second.session, HERE) is None

    third = await people.open("anna", "4711", None, HERE)
    assert people.end(third.number, "ines").sessions == []
    assert people.signed_in(third.session, HERE) is None


@pytest.mark.asyncio
async def test_who_is_disabled_is_signed_out_and_cannot_come_back(people):
    await anna(people)
    opened = await people.open("anna", "4711", None, HERE)
    await people.disable("anna", "ines", disabled=True)
    assert people.signed_in(opened.session, HERE) is None
    assert await code_of(people.open("anna", "4711", None, HERE)) == "wrong_pin"
    await people.disable("anna", "ines", disabled=False)
    assert (await people.open("anna", "4711", None, HERE)).name == "anna"


@pytest.mark.asyncio
@pytest.mark.parametrize("pin", ["123", "1234", "9876", "0000", "12ab", "1" * 13, "٤٧١١"])
async def test_a_pin_that_anybody_tries_first_is_refused(people, pin):
    body = NewPerson(name="anna", role=Role.OPERATOR, pin=pin)
    assert await code_of(people.add(body, "ines", HERE.client)) == "bad_request"


@pytest.mark.asyncio
async def test_the_file_tells_what_happened_and_never_a_secret(people, tmp_path):
    await anna(people)
    opened = await people.open("anna", "4711", None, TABLET)
    people.close(opened.session, TABLET)
    await people.disable("anna", "ines", disabled=True)
    lines = [json.loads(line) for line in (tmp_path / "people.jsonl").read_text().splitlines()]
    assert [line["type"] for line in lines] == ["person_added", "signed_in", "signed_out", "person_disabled"]
    assert [line["by"] for line in lines] == ["ines", "anna", "anna", "ines"]
    assert opened.session not in (tmp_path / "people.jsonl").read_text()
    assert (tmp_path / "people.jsonl").stat().st_mode & 0o077 == 0
    again = PeopleFile(tmp_path).people["anna"]
    assert (again.role, again.disabled) == (Role.OPERATOR, True)


@pytest.mark.asyncio
async def test_a_torn_last_line_costs_nothing_and_a_changed_one_is_noticed(people, tmp_path):
    await anna(people)
    path = tmp_path / "people.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"at": "2026')
    file = PeopleFile(tmp_path)
    file.append("person_disabled", "2026-03-02T08:00:00Z", "ines", "anna", disabled=True)
    assert PeopleFile(tmp_path).people["anna"].disabled
    path.write_bytes(whole.replace(b'"role":"operator"', b'"role":"engineer"'))
    with pytest.raises(PeopleFileError, match="was changed after it was written"):
        PeopleFile(tmp_path)


@pytest.mark.asyncio
async def test_a_request_that_is_sent_again_is_done_once(people):
    body = NewPerson(name="anna", role=Role.OPERATOR, pin="4711")

    def add():
        return people.add(body, "ines", HERE.client)

    for _ in range(2):
        assert len((await people.once("", "the same id", "add", add)).people) == 1
    assert await code_of(people.once("", "another id", "add", add)) == "exists"


@pytest.mark.asyncio
async def test_one_person_cannot_take_all_sessions(people, clock):
    await anna(people)
    await people.add(NewPerson(name="ben", role=Role.OPERATOR, pin="2580"), "ines", HERE.client)
    opened = []
    people.idle_s = people.longest_s = 1e6
    for _ in range(module.MOST_SESSIONS + 1):
        clock.now_s += RIGHT_OF_A_PERSON.every_s
        opened.append(await people.open("anna", "4711", None, HERE))
    assert (await people.open("ben", "2580", None, HERE)).name == "ben"
    still = [one for one in opened if people.signed_in(one.session, HERE) is not None]
    assert still == opened[-module.MOST_OF_ONE :], "those that were used last"


def test_a_pin_is_kept_as_a_hash_that_only_the_pin_fits():
    hashed = hashes.pin_hash("4711")
    assert "4711" not in hashed
    assert hashes.verify(hashed, "4711")
    assert not hashes.verify(hashed, "4712")
    assert not hashes.verify(hashes.NOBODY, "4711")
    assert hashes.badge_hash("0042 ") == hashes.badge_hash("0042") != hashes.badge_hash("0043")


def test_a_campaign_that_wants_a_pin_takes_answers_from_who_proved_it_and_lets_anybody_hold():
    pin = f"{secrets.randbelow(9000) + 1000}83"
    with daemon(campaign_text("press", policy='identify = "pin"')) as running:
        running.start()
        with running.client("ines") as client:
            client.add_person("anna", Role.OPERATOR, pin=pin)
            assert client.hello().people == 1
            view = until(client, "press", lambda view: view.duel is not None)
            assert view.identify == "pin"
            with pytest.raises(ReplyError) as caught:
                client.tie("press", view.duel.number)
            assert caught.value.code == "sign_in"

            asked = {"name": "anna", "pin": pin}
            client.session = client.request("session.open", body=asked, request_id="an-id-of-anna").body["session"]
            for other in ({"name": "anna", "pin": "0815"}, {"badge": "x"}):
                with pytest.raises(ReplyError) as caught:
                    client.request("session.open", body=other, request_id="an-id-of-anna")
                assert caught.value.code == "id_reused"
            client.actor = "somebody else"
            client.tie("press", view.duel.number)
            assert client.snapshot("press").judgments[0].operator == "anna"
            assert client.hello().role == "operator"
            with pytest.raises(DeniedError):
                client.list_people()

            client.close_session()
            with pytest.raises(TunerError, match="sign in again"):
                client.resume("press")
            client.hold("press")
            assert client.snapshot("press").mode == "Held"


@pytest.mark.asyncio
async def test_wrong_pins_badges_and_names_and_every_change_are_security_events_without_what_was_typed(tmp_path, cheap):
    noted = []
    people = People(tmp_path, lambda: NOW, Clock(), note=lambda *event: noted.append(event))
    await anna(people)
    for tried in ({"name": "anna", "pin": "1"}, {"name": "4711", "pin": "2"}, {"badge": "3"}):
        given = {"name": None, "pin": None, "badge": None, **tried}
        await code_of(people.open(**given, sender=DESK))
    await people.disable("anna", "ines", disabled=True)
    assert [event[:3] for event in noted] == [
        ("people", "person added", "anna"),
        *[("pin", "refused", "key desk")] * 3,
        ("people", "person disabled", "anna"),
    ]
    assert "4711" not in str(noted)
