"""The engine and its journal: what cannot be read or stored, snapshots, campaigns that are over."""

import asyncio

import pytest

from tests.campaign.helpers import ANNA, terms
from tests.daemon.engine_at_work import desk, make, run_once
from tuner.campaign import commands as c
from tuner.campaign.decide import Refusal
from tuner.campaign.state import Mode
from tuner.daemon import engine as engines
from tuner.daemon import known_campaigns
from tuner.daemon.engine import RequestKey
from tuner.daemon.journal_thread import kept_state, load_index, load_state, save_index
from tuner.journal import NewRow
from tuner.journal.store import Store


@pytest.mark.asyncio
async def test_a_campaign_that_cannot_be_read_is_set_aside_and_the_others_go_on(tmp_path):
    async with desk(tmp_path) as made:
        for name in ("good", "bad"):
            await make(made.engine, name)
    with Store.open(tmp_path / "journal.sqlite") as store:
        store.append([NewRow("bad", "2026-03-02T09:00:00.000000Z", "melted", '{"type":"melted"}', "eve")])
    async with desk(tmp_path) as made:
        assert set(made.engine.states) == {"good"}
        assert list(made.engine.known.set_aside) == ["bad"]
        assert "event 3 cannot be read" in made.engine.known.set_aside["bad"]
        refused = await made.engine.post("bad", c.Start(), ANNA, request=RequestKey("desk", "start-it", "d"))
        assert (refused.status, refused.code) == ("refused", "unreadable")
        assert "the campaign bad is set aside: event 3 cannot be read" in refused.text
        with pytest.raises(Refusal, match="the campaign bad is set aside"):
            await made.engine.known.find("bad")
        problems = await made.engine.configure([("bad", terms()), ("good", terms(trials=11)), ("new", terms())])
        assert [problem[:30] for problem in problems] == ["the campaign bad is set aside:"]
        assert (await made.engine.post("good", c.Start())).status == "done"
        assert made.engine.states["good"].terms.budget.trials == 11


@pytest.mark.asyncio
async def test_a_campaign_that_is_over_and_cannot_be_read_is_set_aside_when_it_is_asked_for(tmp_path):
    async with desk(tmp_path) as made:
        await make(made.engine, "old")
        await made.engine.post("old", c.Start())
        await made.engine.post("old", c.Stop())
    with Store.open(tmp_path / "journal.sqlite") as store:
        store.append([NewRow("old", "2026-03-02T09:00:00.000000Z", "melted", '{"type":"melted"}', "eve")])
        save_index(store, {"old": store.head[0]})
    async with desk(tmp_path) as made:
        assert (made.engine.known.over(), made.engine.known.set_aside) == (1, {})
        assert (await made.engine.post("old", c.Start())).code == "unreadable"
        assert made.engine.known.over() == 0
        with pytest.raises(Refusal, match="event 7 cannot be read: no event 'melted' is known"):
            await made.engine.known.find("old")


@pytest.mark.asyncio
async def test_nothing_is_acknowledged_when_the_journal_was_removed(tmp_path):
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        (tmp_path / "journal.sqlite").unlink()
        key = RequestKey("desk", "a-request", "d")
        answer = await made.engine.post("press", c.ChangeLot(lot="L1"), ANNA, request=key)
        assert (answer.status, answer.code) == ("failed", "journal_lost")
        assert "journal.sqlite was removed" in answer.text
        assert made.published == ["press 1 campaign_created"]


@pytest.mark.asyncio
async def test_a_full_disk_changes_nothing_and_what_the_machine_said_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "_TRY_AGAIN_S", 0.05)
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        await made.engine.post("press", c.Start())
        pages = await made.archive.call(_fill_up)
        long = c.Stop(reason="x" * 400)
        told = asyncio.create_task(made.engine.post("press", c.Fault(text="y" * 20_000)))
        refused = [
            await made.engine.post("press", long, ANNA, request=RequestKey("desk", f"request-{n}", "d"))
            for n in range(200)
        ]
        full = [result for result in refused if result.code == "disk_full"]
        assert full
        assert {result.status for result in full} == {"failed"}
        await made.archive.call(lambda store: store._db.execute(f"PRAGMA max_page_count={pages * 1000}").fetchone())
        assert (await told).status == "done"
        assert made.engine.states["press"] == await made.archive.call(lambda store: load_state(store, "press"))


def _fill_up(store: Store) -> int:
    """Let the disk have no further page; return how many there are."""
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count={pages}").fetchone()
    return int(pages)


@pytest.mark.asyncio
async def test_campaigns_that_are_over_are_not_read_at_the_start_but_found_when_asked_for(tmp_path):
    async with desk(tmp_path) as made:
        for name in ("old", "new"):
            await make(made.engine, name)
            await made.engine.post(name, c.Start())
        await made.engine.post("old", c.Stop())
        old = made.engine.states["old"]
        await made.engine.close()
    async with desk(tmp_path) as made:
        assert set(made.engine.states) == {"new"}
        assert made.engine.known.over() == 1
        assert await made.engine.known.find("old") == old
        assert await made.engine.known.find("nobody") is None
        assert (await made.engine.post("old", c.Start())).status == "done"
        assert made.engine.states["old"].mode is Mode.EXECUTE
    async with desk(tmp_path) as made:
        assert set(made.engine.states) == {"new", "old"}, "the index knows that it is not over any more"


@pytest.mark.asyncio
async def test_snapshots_are_what_the_events_give_and_those_of_other_source_are_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(known_campaigns, "SNAPSHOT_EVERY", 5)
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        await made.engine.post("press", c.Start())
        await run_once(made.engine, "press")
        kept, seq = await made.archive.call(lambda store: kept_state(store, "press"))
        assert 0 < seq <= made.engine.seq
        assert await made.archive.call(lambda store: load_state(store, "press")) == made.engine.states["press"]
        assert kept.count == seq
        monkeypatch.setattr("tuner.daemon.journal_thread.code_digest", lambda: "0" * 16)
        assert await made.archive.call(lambda store: kept_state(store, "press")) == (None, 0)
        assert await made.archive.call(lambda store: load_state(store, "press")) == made.engine.states["press"]


@pytest.mark.asyncio
async def test_an_index_of_a_journal_without_events_is_empty(tmp_path):
    async with desk(tmp_path) as made:
        assert await made.archive.call(load_index) == {}
        await made.engine.close()


@pytest.mark.asyncio
async def test_a_batch_that_cannot_be_stored_because_of_one_command_is_stored_without_it(tmp_path, monkeypatch):
    async with desk(tmp_path) as made:
        await make(made.engine, "press")
        append = made.archive.append

        async def picky(rows, replies):
            if any("poison" in row.body for row in rows):
                raise UnicodeEncodeError("utf-8", "poison", 0, 1, "surrogates not allowed")
            return await append(rows, replies)

        monkeypatch.setattr(made.archive, "append", picky)
        results = await asyncio.gather(
            *(
                made.engine.post(
                    "press", c.ChangeLot(lot=lot), ANNA, request=RequestKey("desk", f"lot-{lot}-0001", "d")
                )
                for lot in ("L1", "poison", "L2")
            )
        )
        assert [result.status for result in results] == ["done", "failed", "done"]
        assert made.engine.states["press"] == await made.archive.call(lambda store: load_state(store, "press"))


@pytest.mark.asyncio
async def test_a_daemon_that_is_asked_to_stop_while_it_starts_leaves_the_other_campaigns_for_later(tmp_path):
    async with desk(tmp_path) as made:
        many = [(f"line{number}", terms()) for number in range(5)]
        assert await made.engine.configure(many, stopping=lambda: len(made.engine.states) == 2) == []
        assert list(made.engine.states) == ["line0", "line1"]


@pytest.mark.asyncio
async def test_a_long_start_says_how_far_it_is_and_goes_on_where_it_was_broken_off(tmp_path, monkeypatch):
    monkeypatch.setattr(known_campaigns, "TELL_EVERY", 2)
    async with desk(tmp_path) as made:
        for number in range(5):
            await make(made.engine, f"old{number}")
            await made.engine.post(f"old{number}", c.Start())
            await made.engine.post(f"old{number}", c.Abort())
        await made.archive.call(lambda store: save_index(store, {}))
    told = []

    def broken_off(done, of):
        told.append((done, of))
        if done == 4:
            raise KeyError("killed")

    async with desk(tmp_path) as made:
        await made.archive.call(lambda store: save_index(store, {}))
        again = known_campaigns.KnownCampaigns(made.archive, lambda: None)
        with pytest.raises(KeyError):
            await again.load(broken_off)
        assert told == [(2, 5), (4, 5)]
        assert len(await made.archive.call(load_index)) == 4
