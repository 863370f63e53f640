"""The owner of all states, with a real journal and without machines."""

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta

import pytest

from tests.campaign.making import ANNA, ENGINEER, proposed, terms
from tests.patience import PATIENT_S
from tuner.campaign import commands as c
from tuner.campaign import step as steps
from tuner.campaign.decide import Refusal
from tuner.campaign.state import Mode
from tuner.daemon import engine as engines
from tuner.daemon import known_campaigns as known
from tuner.daemon.calendar import BACKUPS_KEPT, Calendar
from tuner.daemon.engine import Engine, RequestKey
from tuner.daemon.journal_thread import JournalThread, kept_state, load_index, load_state, save_index
from tuner.journal import NewRow
from tuner.journal.store import Store


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


class Desk:
    """An engine at work, and what it has published and asked for."""

    def __init__(self, archive: JournalThread) -> None:
        self.archive = archive
        self.clock = Clock()
        self.published: list[str] = []
        self.followed: list[str] = []
        self.engine = Engine(archive, self.clock, self._publish, lambda state: self.followed.append(state.name))

    def _publish(self, name, one, state) -> None:
        self.published.append(f"{name} {state.count} {one.event.type}")


@contextlib.asynccontextmanager
async def desk(directory):
    archive = await JournalThread.open(directory)
    made = Desk(archive)
    await made.engine.load()
    work = asyncio.create_task(made.engine.run())
    try:
        yield made
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await archive.close()


async def make(engine: Engine, name: str, given=None) -> None:
    assert (await engine.post(name, c.Create(terms=given or terms()))).status == "done"


async def run_once(engine: Engine, name: str) -> None:
    """The open trial through gate and machine."""
    number = engine.states[name].trial.number
    await engine.post(name, c.SendSetting(trial=number))
    await engine.post(name, c.AnswerSetting(trial=number, result="applied"))
    await engine.post(name, c.BeginTrial(trial=number))
    await engine.post(name, c.MachineOutcome(trial=number, valid=True))


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
    monkeypatch.setattr(known, "SNAPSHOT_EVERY", 5)
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
async def test_an_index_of_a_journal_without_events_is_empty(tmp_path):
    async with desk(tmp_path) as made:
        assert await made.archive.call(load_index) == {}
        await made.engine.close()


class TestCalendar:
    @pytest.mark.asyncio
    async def test_the_oldest_backups_go(self, tmp_path):
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
    async def test_a_clock_that_jumps_by_eight_days_makes_no_retry_a_new_request(self, tmp_path):
        async with desk(tmp_path) as made:
            await make(made.engine, "press")
            key = RequestKey("desk", "one-request", "digest")
            first = await made.engine.post("press", c.ChangeLot(lot="L1"), ANNA, request=key)
            made.clock.now += timedelta(days=8)
            await Calendar(made.engine.post, made.archive, made.clock, tmp_path / "backups")._forget_replies()
            assert await made.engine.post("press", c.ChangeLot(lot="L1"), ANNA, request=key) == first
            assert made.engine.states["press"].count == first.n

    @pytest.mark.asyncio
    async def test_a_question_that_waits_for_its_window_is_asked_by_the_wall_clock(self, tmp_path):
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


async def propose(engine: Engine, name: str, x: float) -> None:
    command = proposed(engine.states[name], {"x": x, "n": 2})
    assert (await engine.post(name, command, ENGINEER)).status == "done"


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
