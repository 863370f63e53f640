"""The owner of all states, with a real journal and without machines."""

import asyncio

import pytest

from tests.campaign.helpers import ANNA
from tests.daemon.engine_at_work import desk, make
from tuner.campaign import commands as c
from tuner.campaign import step as steps
from tuner.campaign.state import Mode
from tuner.daemon import engine as engines
from tuner.daemon.engine import RequestKey
from tuner.daemon.journal_thread import load_state


@pytest.mark.asyncio
async def test_nothing_is_published_or_begun_before_it_is_stored_and_all_of_it_afterwards(tmp_path):
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        await made.engine.post("press", c.Start())
        rows = await made.archive.call(lambda store: [row.type for row in store.rows()])
        assert [line.split()[2] for line in made.published] == rows
        assert made.published[-1].startswith(f"press {len(rows)} ")
        assert made.followed == ["press", "press"]


@pytest.mark.asyncio
async def test_equal_requests_in_one_batch_are_done_once(tmp_path):
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        key = RequestKey("desk", "one-request", "digest")
        asks = [made.engine.post("press", c.ChangeLot(lot="L1"), ANNA, request=key) for _ in range(5)]
        other = made.engine.post(
            "press", c.ChangeLot(lot="L2"), ANNA, request=RequestKey("desk", "one-request", "other")
        )
        *same, reused = await asyncio.gather(*asks, other)
        assert len(set(same)) == 1
        assert reused.code == "id_reused"
        assert made.engine.states["press"].count == 2


@pytest.mark.asyncio
async def test_an_id_belongs_to_its_key_and_says_nothing_to_another(tmp_path):
    """Also a refused request, and also in one batch."""
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        other, ours = RequestKey("op2", "one-request", "theirs"), RequestKey("op1", "one-request", "ours")
        asks = [
            made.engine.post("press", c.Resume(), ANNA, request=other),
            made.engine.post("press", c.ChangeLot(lot="L1"), ANNA, request=ours),
        ]
        refused, done = await asyncio.gather(*asks)
        assert (refused.code, done.status) == ("illegal_state", "done")
        assert await made.engine.post("press", c.Resume(), ANNA, request=other) == refused
        assert await made.engine.post("press", c.ChangeLot(lot="L1"), ANNA, request=ours) == done
        third = RequestKey("op3", "one-request", "ours")
        assert (await made.engine.post("press", c.ChangeLot(lot="L3"), ANNA, request=third)).n == done.n + 1
        reused = RequestKey("op1", "one-request", "other")
        assert (await made.engine.post("press", c.ChangeLot(lot="L4"), ANNA, request=reused)).code == "id_reused"
        assert made.engine.states["press"].lot == "L3"


@pytest.mark.asyncio
async def test_a_machine_has_one_campaign_at_a_time(tmp_path):
    async with desk(tmp_path) as made:
        for name in ("one", "two"):
            await make(made.engine, name)
        assert (await made.engine.post("one", c.Start())).status == "done"
        refused = await made.engine.post("two", c.Start())
        assert refused.code == "machine_busy"
        assert "one" in refused.text


@pytest.mark.asyncio
async def test_after_a_start_what_was_under_way_is_begun_again(tmp_path):
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        await made.engine.post("press", c.Start())
        await made.engine.post("press", c.SendSetting(trial=1))
    async with desk(tmp_path) as made:
        await made.engine.resume()
        assert made.published[-1].endswith("trial_interrupted")
        assert made.engine.states["press"].trial.stage == "approved"


@pytest.mark.asyncio
async def test_an_urgent_command_is_decided_before_all_that_waits_and_never_refused_as_busy(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "MOST_WAITING", 100)
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        await made.engine.post("press", c.Start())
        asked = [
            asyncio.create_task(
                made.engine.post(
                    "press", c.ChangeLot(lot=f"L{n}"), ANNA, request=RequestKey("desk", f"lot-{n:08}", "d")
                )
            )
            for n in range(150)
        ]
        await asyncio.sleep(0)
        stopped = await made.engine.post("press", c.Stop(), ANNA, request=RequestKey("desk", "stop-0001", "d"))
        assert stopped.status == "done"
        results = await asyncio.gather(*asked)
        assert [result.code for result in results].count("busy") == 50
        kinds = [line.split()[2] for line in made.published]
        assert kinds.index("campaign_stopped") < kinds.index("lot_changed")


@pytest.mark.asyncio
@pytest.mark.parametrize("urgent", [c.Hold(), c.Stop(), c.Abort()])
async def test_a_start_that_was_overtaken_by_a_stop_starts_nothing(tmp_path, urgent):
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        began_s = asyncio.get_running_loop().time()
        await made.engine.post("press", urgent, ANNA, request=RequestKey("desk", "urgent-01", "d"))
        key = RequestKey("desk", "start-001", "d")
        start = await made.engine.post("press", c.Start(), ANNA, request=key, arrived_s=began_s)
        assert (start.status, start.code) == ("refused", "stale")
        assert made.engine.states["press"].mode is not Mode.EXECUTE
        again = await made.engine.post("press", c.Start(), ANNA, request=RequestKey("desk", "start-002", "d"))
        assert again.code != "stale"


@pytest.mark.asyncio
async def test_an_error_of_our_own_in_one_command_or_event_leaves_the_others_done(tmp_path, monkeypatch):
    async with desk(tmp_path) as made:
        for name in ("press", "oven"):
            await make(made.engine, name)
        decide, seq = steps.decide, made.engine.seq

        def broken(state, command, actor, now):
            if isinstance(command, c.ChangeLot) and command.lot == "poison":
                yield from decide(state, c.ChangeLot(lot="half"), actor, now)
                raise ZeroDivisionError
            yield from decide(state, command, actor, now)

        monkeypatch.setattr(steps, "decide", broken)
        monkeypatch.setattr(made.engine, "_publish", lambda *_: 1 / 0)
        posts = [
            made.engine.post(name, c.ChangeLot(lot=lot), ANNA, request=RequestKey("desk", f"{name}-{lot}", "d"))
            for name, lot in (("press", "L1"), ("press", "poison"), ("press", "L2"), ("oven", "L3"))
        ]
        results = await asyncio.gather(*posts)
        assert [result.status for result in results] == ["done", "failed", "done", "done"]
        assert results[1].code == "defect"
        assert made.engine.seq == seq + 3
        assert made.engine.states["press"] == await made.archive.call(lambda store: load_state(store, "press"))
        assert made.engine.states["press"].lot == "L2"
        assert made.engine._troubles.count == 4, "one command and three events"
