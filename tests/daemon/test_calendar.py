"""What the calendar does by itself: backups, forgotten replies, questions that waited, restrictions that end."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tests.campaign.helpers import ANNA, terms
from tests.daemon.engine_at_work import desk, make, propose, run_once
from tests.patience import PATIENT_S
from tuner.campaign import commands as c
from tuner.daemon.calendar import BACKUPS_KEPT, Calendar
from tuner.daemon.engine import RequestKey
from tuner.journal.store import Store


@pytest.mark.asyncio
async def test_the_oldest_backups_go(tmp_path):
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        calendar = Calendar(made.engine.post, made.archive, made.clock, tmp_path / "backups")
        made_of = []
        for _ in range(BACKUPS_KEPT + 2):
            made.clock.now += timedelta(hours=1)
            made_of.append(await calendar.back_up())
        left = sorted((tmp_path / "backups").glob("*.sqlite"))
        assert left == made_of[2:]
        with Store.open_reading(left[-1]) as copy:
            assert copy.verify().ok


@pytest.mark.asyncio
async def test_a_clock_that_jumps_by_eight_days_makes_no_retry_a_new_request(tmp_path):
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        key = RequestKey("desk", "one-request", "digest")
        first = await made.engine.post("press", c.ChangeLot(lot="L1"), ANNA, request=key)
        made.clock.now += timedelta(days=8)
        await Calendar(made.engine.post, made.archive, made.clock, tmp_path / "backups")._forget_replies()
        assert await made.engine.post("press", c.ChangeLot(lot="L1"), ANNA, request=key) == first
        assert made.engine.states["press"].count == first.n


@pytest.mark.asyncio
async def test_a_question_that_waits_for_its_window_is_asked_by_the_wall_clock(tmp_path):
    async with desk(tmp_path) as made:
        now = datetime.now(UTC)
        asked = asyncio.Event()
        given = terms(policy={"questions": {"per_hour": 1}})
        made.clock.now = now - timedelta(hours=1) + timedelta(seconds=0.5)
        calendar = Calendar(made.engine.post, made.archive, made.clock, tmp_path / "backups")
        calendar.start(24.0)
        made.engine._follow = calendar.follow
        await make(made.engine, "press", given)
        await made.engine.post("press", c.Start())
        await run_once(made.engine, "press")
        await propose(made.engine, "press", 1.0)
        await run_once(made.engine, "press")
        duel = made.engine.states["press"].duel
        made.clock.now = now - timedelta(seconds=1)
        await made.engine.post("press", c.Judge(duel=duel.number, winner=1), ANNA)
        await propose(made.engine, "press", 2.0)
        await run_once(made.engine, "press")
        assert made.engine.states["press"].duel is None
        made.engine._publish = lambda name, one, state: one.event.type == "duel_asked" and asked.set()
        made.clock.now = datetime.now(UTC) + timedelta(hours=2)
        await asyncio.wait_for(asked.wait(), PATIENT_S)
        calendar.stop()


@pytest.mark.asyncio
async def test_a_restriction_ends_by_itself_and_the_journal_says_so(tmp_path):
    async with desk(tmp_path) as made:
        now, lifted = datetime.now(UTC), asyncio.Event()
        made.clock.now = now
        calendar = Calendar(made.engine.post, made.archive, made.clock, tmp_path / "backups")
        calendar.start(24.0)
        made.engine._follow = calendar.follow
        made.engine._publish = lambda name, one, state: one.event.type == "restriction_lifted" and lifted.set()
        await make(made.engine, "press", terms())
        until = (now + timedelta(seconds=1)).isoformat()
        await made.engine.post("press", c.Freeze(parameter="n", value=2, until=until, reason="worn"))
        assert made.engine.states["press"].restrictions
        made.clock.now = now + timedelta(seconds=2)
        await asyncio.wait_for(lifted.wait(), PATIENT_S)
        assert made.engine.states["press"].restrictions == ()
        calendar.stop()
