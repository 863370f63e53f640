"""How wrong PINs and badges slow down, whose turn it is, and what a session is worth where."""

import asyncio
import contextlib
import threading

import pytest

from tests.daemon.signing_in import DESK, HERE, NOW, TABLET, Clock, add, anna, cheap_hashes, code_of
from tests.patience import PATIENT_S
from tuner.basics.vocabulary import Role
from tuner.campaign.decide import Refusal
from tuner.daemon import hashes
from tuner.daemon.authenticator import authorised
from tuner.daemon.people import People
from tuner.daemon.sender import Sender
from tuner.daemon.tries import NAMELESS_OF_A_CLIENT, RIGHT_OF_A_PERSON, WRONG_ANYWHERE, WRONG_AT_A_CLIENT
from tuner.daemon.turns import MOST_WAITING, Turns
from tuner.wire.messages import Request
from tuner.wire.operations import OPS

GROUP = Sender("", Role.OPERATOR, "group")
WALL = Sender("wall", Role.VIEWER, "network")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def people(tmp_path, monkeypatch, clock):
    cheap_hashes(monkeypatch)
    return People(tmp_path, lambda: NOW, clock)


@pytest.mark.asyncio
@pytest.mark.parametrize("given", [("anna", "4711", "0042"), ("anna", None, "0042"), (None, "4711", "0042")])
async def test_a_badge_comes_alone(people, given):
    await anna(people, badge="0042")
    assert await code_of(people.open(*given, TABLET)) == "bad_request"


@pytest.mark.asyncio
@pytest.mark.parametrize("own", [("ben", "2580", None), (None, None, "77")], ids=["PIN", "badge"])
async def test_whoever_signs_in_between_guesses_at_badges_slows_down_as_if_not(people, own):
    await anna(people, badge="0042")
    await add(people, "ben", "2580", badge="77")
    guesses = [(None, None, "0001"), ("nobody", "1", None), (None, None, "0002")]
    for guess in guesses:
        assert (await people.open(*own, TABLET)).name == "ben"
        assert await code_of(people.open(*guess, TABLET)) == "wrong_pin"
    for guess in ((None, None, "0042"), ("nobody else", "1", None)):
        assert await code_of(people.open(*guess, TABLET)) == "slow_down"
    assert (await people.open("anna", "4711", None, TABLET)).name == "anna", "PINs of known names are not touched"
    assert (await people.open(None, None, "0042", DESK)).name == "anna", "nor are other clients"


@pytest.mark.asyncio
async def test_whoever_guesses_badges_gets_about_one_guess_a_minute(people, clock):
    await anna(people, badge="0042")
    guesses = 0
    while clock.now_s < 3600.0:
        guesses += await code_of(people.open(None, None, "0001", TABLET)) == "wrong_pin"
        clock.now_s += 1.0
    assert 60 <= guesses <= 80


@pytest.mark.asyncio
async def test_the_slips_of_a_whole_plant_keep_no_badge_out(people, clock):
    await anna(people, badge="0042")
    for _ in range(200):
        assert await code_of(people.open(None, None, "0001", TABLET)) == "wrong_pin"
        clock.now_s += 90.0
        assert (await people.open(None, None, "0042", TABLET)).name == "anna"


@pytest.mark.asyncio
async def test_a_whole_shift_shows_its_badges_at_once(people):
    names = [f"worker {number}" for number in range(40)]
    for number, name in enumerate(names):
        await add(people, name, badge=f"{number:04d}")
    opened = await asyncio.gather(*(people.open(None, None, f"{number:04d}", TABLET) for number in range(40)))
    assert [one.name for one in opened] == names


@pytest.mark.asyncio
async def test_wrong_pins_at_one_client_keep_nobody_from_signing_in_at_another(people, clock):
    await anna(people)
    for _ in range(24 * 60):
        await code_of(people.open("anna", "1", None, GROUP))
        clock.now_s += 60.0
    assert await code_of(people.open("anna", "4711", None, GROUP)) == "slow_down"
    for other in (HERE, TABLET, DESK):
        assert (await people.open("anna", "4711", None, other)).name == "anna"
    assert await code_of(people.open("anna", "4711", None, GROUP)) == "slow_down", "what was guessed there still counts"


@pytest.mark.asyncio
async def test_a_right_pin_between_guesses_at_one_client_makes_them_good_there_only_so_often(people, clock):
    await anna(people)
    wrong = 0
    for _ in range(24 * 6):
        for _ in range(2):
            wrong += await code_of(people.open("anna", "1", None, GROUP)) == "wrong_pin"
        with contextlib.suppress(Refusal):
            await people.open("anna", "4711", None, GROUP)
        clock.now_s += 600.0
    assert wrong <= WRONG_AT_A_CLIENT.at_once + clock.now_s / WRONG_AT_A_CLIENT.every_s
    for other in (HERE, TABLET, DESK):
        assert (await people.open("anna", "4711", None, other)).name == "anna"


@pytest.mark.asyncio
async def test_a_pin_that_is_guessed_at_many_clients_slows_down_at_all_of_them(people, clock):
    await anna(people)
    keys = [Sender(f"key{number}", Role.VIEWER, "network") for number in range(WRONG_ANYWHERE.at_once)]
    codes = [await code_of(people.open("anna", "1", None, key)) for key in keys]
    assert set(codes) == {"wrong_pin"}
    assert await code_of(people.open("anna", "4711", None, DESK)) == "slow_down"
    clock.now_s += WRONG_ANYWHERE.every_s
    assert (await people.open("anna", "4711", None, DESK)).name == "anna"
    assert await code_of(people.open("anna", "1", None, keys[0])) == "wrong_pin"
    assert await code_of(people.open("anna", "4711", None, DESK)) == "slow_down", "a right PIN makes no guesses good"
    await people.set_pin("anna", "2580", "ines", HERE.client)
    assert (await people.open("anna", "2580", None, DESK)).name == "anna"


@pytest.mark.asyncio
@pytest.mark.parametrize("given", [("anna", "4711", None), (None, None, "0042")], ids=["PIN", "badge"])
async def test_right_sign_ins_have_a_pace_that_bounds_the_file_and_touch_nobody_else(people, clock, tmp_path, given):
    await anna(people, badge="0042")
    await add(people, "ben", "2580", badge="77")
    codes = []
    for _ in range(500):
        try:
            codes.append((await people.open(*given, WALL)).name)
        except Refusal as refusal:
            codes.append(refusal.code)
    assert codes == ["anna"] * RIGHT_OF_A_PERSON.at_once + ["busy"] * (500 - RIGHT_OF_A_PERSON.at_once)
    assert len((tmp_path / "people.jsonl").read_text().splitlines()) == 2 + RIGHT_OF_A_PERSON.at_once
    assert (await people.open("ben", "2580", None, WALL)).name == "ben"
    assert (await people.open(None, None, "77", DESK)).name == "ben"
    clock.now_s += max(RIGHT_OF_A_PERSON.every_s, NAMELESS_OF_A_CLIENT.every_s)
    assert (await people.open(*given, WALL)).name == "anna"


@pytest.mark.asyncio
async def test_a_flood_of_sign_ins_delays_neither_others_nor_what_an_engineer_changes(people, monkeypatch):
    await anna(people)
    await add(people, "ben", "2580")
    go_on, hashed = threading.Event(), []

    def verify(kept, pin):
        hashed.append(pin)
        assert go_on.wait(PATIENT_S)
        return kept == f"pin {pin}"

    monkeypatch.setattr(hashes, "verify", verify)
    flood = [asyncio.create_task(people.open("ben", "2580", None, WALL)) for _ in range(190)]
    await asyncio.sleep(0)
    right = asyncio.create_task(people.open("anna", "4711", None, WALL))
    desk = asyncio.create_task(people.open("anna", "4711", None, DESK))
    await asyncio.sleep(0)
    await add(people, "carl", "1470")  # while a hash hangs
    await people.set_badge("carl", "9", "ines", HERE.client)
    await people.disable("carl", "ines", disabled=True)
    go_on.set()
    assert (await right).name == (await desk).name == "anna"
    results = await asyncio.gather(*flood, return_exceptions=True)
    assert [getattr(one, "code", one) for one in results].count("busy") == 190 - 1 - MOST_WAITING
    assert sorted(hashed[:5]) == ["2580"] * 3 + ["4711"] * 2, "keys take turns, and so do the people at one key"


@pytest.mark.asyncio
async def test_a_pin_that_is_changed_or_a_person_disabled_while_it_is_hashed_lets_nobody_in(people, monkeypatch):
    await anna(people)
    for change in (people.set_pin("anna", "2580", "ines", HERE.client), people.disable("anna", "ines", disabled=True)):
        begun, go_on, pin = asyncio.Event(), threading.Event(), people._file.people["anna"].pin[4:]
        loop = asyncio.get_running_loop()

        def verify(kept, pin, loop=loop, begun=begun, go_on=go_on):
            loop.call_soon_threadsafe(begun.set)
            assert go_on.wait(PATIENT_S)
            return kept == f"pin {pin}"

        monkeypatch.setattr(hashes, "verify", verify)
        opening = asyncio.create_task(people.open("anna", pin, None, DESK))
        await begun.wait()
        await change
        go_on.set()
        assert await code_of(opening) == "wrong_pin"


@pytest.mark.asyncio
async def test_somebody_who_waits_no_more_leaves_the_turn_to_others():
    turns, order = Turns(), []

    async def work(name):
        async with turns.of("key"):
            order.append(name)

    async with turns.of("key"):
        gone, told, last = (asyncio.create_task(work(name)) for name in ("gone", "told", "last"))
        await asyncio.sleep(0)
        gone.cancel()
    told.cancel()  # it was told that it is its turn, and has not begun
    await asyncio.gather(gone, told, last, return_exceptions=True)
    assert order == ["last"]
    await work("later")
    assert order[-1] == "later"


@pytest.mark.asyncio
async def test_what_a_key_has_asked_for_is_remembered_whatever_others_ask(people):
    done = []

    async def work():
        done.append(1)

    await people.once("desk", "the id", "add", work)
    for number in range(1000):
        await people.once("wall", f"id {number}", "open", work)
    await people.once("desk", "the id", "add", work)
    assert len(done) == 1001


@pytest.mark.asyncio
async def test_what_only_failed_is_done_when_it_is_asked_for_again(people):
    tried = []

    async def work():
        tried.append(1)
        if len(tried) == 1:
            raise Refusal("busy", "wait a moment")
        return "done"

    assert await code_of(people.once("desk", "the id", "open", work)) == "busy"
    assert await people.once("desk", "the id", "open", work) == "done"


@pytest.mark.asyncio
async def test_a_session_belongs_to_its_door_and_gives_no_more_than_the_client_may_now(people):
    await anna(people, Role.ENGINEER)
    here = (await people.open("anna", "4711", None, HERE)).session
    assert people.signed_in(here, HERE).role is Role.ENGINEER
    for other in (GROUP, DESK):
        assert people.signed_in(here, other) is None
        people.close(here, other)
    assert people.signed_in(here, HERE) is not None, "nobody else can end it"

    desk = (await people.open("anna", "4711", None, DESK)).session
    lowered = Sender("desk", Role.VIEWER, "network")
    assert people.signed_in(desk, lowered).role is Role.VIEWER
    with pytest.raises(Refusal, match="anna is viewer"):
        authorised(Request(v=1, id="12345678", op="people.list", session=desk), lowered, people)
    assert people.signed_in(desk, Sender("desk", Role.CONTROLLER, "network")) is None, "people do not sign in there"
    assert authorised(Request(v=1, id="12345678", op="people.list", session=desk), DESK, people)[1].role == "engineer"


def test_with_a_session_that_has_ended_one_looks_stops_machines_and_sends_them_home_and_does_nothing_else(people):
    def code(op):
        request = Request(v=1, id="12345678", op=op.name, campaign="press" if op.campaign else None, session="ended")
        try:
            authorised(request, HERE, people)
        except Refusal as refusal:
            return refusal.code
        return ""

    codes = {name: code(op) for name, op in OPS.items()}
    assert {code for code in codes.values() if code} == {"locked"}
    looking = {name for name, op in OPS.items() if op.roles == frozenset(Role)}
    stopping = {"campaign.hold", "campaign.stop", "campaign.abort", "campaign.home"}
    assert {name for name, code in codes.items() if not code} == looking | stopping | {"session.open", "session.close"}
