"""The daemon put together: journal, engine, machines, compute processes, sockets and calendar, from start to end."""

import asyncio
import logging
import multiprocessing
import signal
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tuner.basics.places import Places, owners, places
from tuner.basics.text import counted
from tuner.basics.times import utc_now
from tuner.campaign import commands as c
from tuner.campaign.automatic import automatic
from tuner.campaign.events import CampaignHeld, Event, HomeAnswered, HomeDelayed, SettingAnswered
from tuner.campaign.evolve import Recorded
from tuner.campaign.state import State
from tuner.campaign.terms import Terms
from tuner.compute.backend import Backend
from tuner.compute.dask import DaskBackend
from tuner.compute.engine_name import engine_name
from tuner.compute.worker_pool import Pool
from tuner.config import Config
from tuner.config.campaign import shared_machines
from tuner.daemon.anchoring import plan_of
from tuner.daemon.authenticator import Authenticator
from tuner.daemon.calendar import Calendar
from tuner.daemon.drain import Drain
from tuner.daemon.engine import Bring, Engine
from tuner.daemon.guard import Guard, digest_of
from tuner.daemon.journal_check import check_journal
from tuner.daemon.journal_thread import JournalThread
from tuner.daemon.logs import READY
from tuner.daemon.operations import Answers, Facts
from tuner.daemon.people import People
from tuner.daemon.runner import CampaignRunner, Context
from tuner.daemon.service_manager import Notifier, watchdog_s
from tuner.daemon.sockets import Sockets
from tuner.daemon.troubles import Troubles
from tuner.errors import ConfigError
from tuner.journal.errors import DamagedError, JournalError
from tuner.machine.process import Machine
from tuner.notify.courier import Couriers
from tuner.wire.endpoint import is_encrypted
from tuner.wire.key_ring import KeyRing
from tuner.wire.messages import WaitingView

PRELOADED = ["tuner.machine.host", "tuner.problems"]
_LOOK_S = 30.0  # between two looks at the clock, whatever the calendar says
PASSING = "journal check"  # the one job that ends by itself

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setup:
    """What a daemon is started with.

    Attributes:
        campaigns: Name and terms of each campaign of all files.
        read_again: Reads the files once more.
        reopen_logs: Opens the log files by their names again.
        as_read: The configuration before the command line had its say.
        bring: What a campaign that has not begun is to import, if its configuration says so.
    """

    config: Config
    campaigns: tuple[tuple[str, Terms], ...]
    read_again: Callable[[], tuple[Config, tuple[tuple[str, Terms], ...]]]
    reopen_logs: Callable[[], None]
    as_read: Config
    environ: Mapping[str, str]
    home: Path
    bring: Bring

    @property
    def places(self) -> Places:
        """Where the daemon lives."""
        named = self.config.daemon
        return places(self.environ, self.home, named.state_directory, named.requests, named.events)

    @property
    def local(self) -> Places:
        """Where its sockets for this machine are, whatever the network's are."""
        state = self.places.state_directory
        local = places(self.environ, self.home, state)
        ours = self.places
        return Places(
            state,
            local.requests if is_encrypted(ours.requests) else ours.requests,
            local.events if is_encrypted(ours.events) else ours.events,
        )


class Service:
    """One running daemon."""

    def __init__(self, setup: Setup, notifier: Notifier, clock: Callable[[], datetime] = utc_now) -> None:
        self._setup = setup
        self._notifier = notifier
        self._clock = clock
        self._runners: dict[str, CampaignRunner] = {}
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._why = ""
        self._failure: JournalError | None = None
        self._troubles = Troubles()

    async def run(self) -> None:
        """Serve until a signal or a request ends it; machines are then at their known-good settings."""
        setup = self._setup
        self._signals()
        _prepare_processes()
        self._archive = await JournalThread.open(setup.places.state_directory)
        secure = [e for e in (setup.places.requests, setup.places.events) if is_encrypted(e)]
        keys = KeyRing.open(setup.places.state_directory) if secure else None
        self._guard = Guard(
            setup.places.state_directory,
            self._archive,
            self._clock,
            self._troubles,
            keys,
            plan_of(setup.config.daemon, setup.config.notify, setup.places.state_directory),
        )
        authenticator = Authenticator(
            keys, setup.config.daemon.local_role, lambda key: self._guard.note("key", "refused", f"key {key[:12]}")
        )
        people = self._people = People(
            setup.places.state_directory,
            self._clock,
            idle_s=setup.config.daemon.session_idle_minutes * 60,
            longest_s=setup.config.daemon.session_hours * 3600,
            note=lambda *event: self._guard.note(*event),
        )
        self._sockets = Sockets(
            authenticator,
            self._clock,
            self._troubles,
            people,
            lambda key, text: self._guard.note("role", "denied", key, text),
            lambda key: self._guard.note("key", "kept away", authenticator.name_of(key), "subscribed to too much"),
            self._guard.crowded,
        )
        self._engine = Engine(self._archive, self._clock, self._publish, self._follow, self._unwritten, self._troubles)
        self._drain = Drain(self._engine, self._runners, self._notifier, self._changed, self._hurry)
        self._couriers = Couriers(setup.config.notify, setup.places.state_directory)
        backups = setup.places.state_directory / "backups"
        self._calendar = Calendar(self._engine.post, self._archive, self._clock, backups)
        async with self._backend() as compute:
            self._context = Context(
                self._engine.post,
                compute,
                self._sockets.progress,
                setup.config.compute.deadline_s,
                engine_name(),
                setup.config.compute.speculate,
            )
            try:
                await self._serve(compute)
            finally:
                self._calendar.stop()
                await asyncio.to_thread(self._couriers.stop)
                await asyncio.gather(*(runner.close() for runner in self._runners.values()), return_exceptions=True)
                self._sockets.close()
        await self._engine.close()
        await self._guard.close(self._why)
        await self._archive.close()
        if self._failure is not None:
            raise self._failure

    def _backend(self) -> Backend:
        compute = self._setup.config.compute
        if compute.backend == "dask":
            return DaskBackend(compute.dask_address or "")
        return Pool(compute.workers)

    async def _serve(self, compute: Backend) -> None:
        setup = self._setup
        await self._engine.load(self._notifier.reading)
        local = setup.local
        requests = [owners(local.requests), local.requests, setup.places.requests]
        events = [local.events, setup.places.events]
        self._sockets.bind(list(dict.fromkeys(requests)), list(dict.fromkeys(events)))
        self._calendar.start(setup.config.daemon.backup_hours)
        self._couriers.start(self._engine.seq)
        answers = Answers(
            self._engine,
            self._archive,
            compute,
            self._machine_of,
            self._waiting_of,
            self._clock,
            self._facts(),
            self.stop,
            self._troubles,
            lambda: self._sockets.busy,
            self._people,
            lambda: self._guard.alarms,
        )
        self._guard.begin(version("process-tuner"), digest_of(setup.as_read, setup.campaigns))
        await self._guard.look()  # that it was started is written down before anybody is served
        jobs = [
            asyncio.create_task(self._engine.run(), name="engine"),
            asyncio.create_task(self._watch(), name="watchdog"),
            asyncio.create_task(self._look_at_clock(), name="clock"),
            asyncio.create_task(self._guard.run(), name="guard"),
            asyncio.create_task(self._check_journal(), name=PASSING),
        ]
        try:
            await _while_all_live(self._begin(), jobs)
            # only now: whoever is answered finds all campaigns of the configuration
            jobs.append(asyncio.create_task(self._sockets.serve(answers), name="sockets"))
            jobs.append(asyncio.create_task(self._sockets.beat(self._heads), name="beat"))
            self._notifier.ready(f"{len(self._engine.states)} campaigns")
            await _while_all_live(self._stopping.wait(), jobs)
            log.info("stopping: %s", self._why)
            self._notifier.stopping("bringing the machines home")
            await _while_all_live(self._drain.run(setup.config.daemon.drain_s), jobs)
        except Exception:
            await self._drain.rescue()
            raise
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)

    def _facts(self) -> Facts:
        setup = self._setup
        return Facts(
            version=version("process-tuner"),
            started_at=self._clock(),
            state_directory=setup.places.state_directory,
            events=setup.places.events,
            local_events=setup.local.events,
            create_over_wire=setup.config.daemon.create_over_wire,
            create_adapters=setup.config.daemon.create_adapters,
        )

    async def _begin(self) -> None:
        await self._engine.resume()
        await self._configure(self._setup.campaigns)
        count = counted(len(self._engine.states), "campaign")
        log.info("%s%s, requests at %s", READY, count, self._setup.places.requests)

    async def _configure(self, campaigns: Sequence[tuple[str, Terms]]) -> None:
        problems = await self._engine.configure(campaigns, self._setup.bring, self._stopping.is_set)
        self._guard.configured(problems=problems)
        for warning in shared_machines([(name, terms.machine, terms.adapter.occupies) for name, terms in campaigns]):
            log.warning("%s", warning)
        for name in sorted(self._engine.states.keys() - {name for name, _ in campaigns}):
            log.warning("%s is in no configuration file; it goes on, `tuner campaign stop %s` ends it", name, name)

    def stop(self, why: str) -> None:
        """End the daemon in good order; asked a second time, at once."""
        if self._stopping.is_set():
            log.warning("stopping at once: %s", why)
            self._hurry.set()
        self._why = self._why or why
        self._stopping.set()

    def _signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stop, "the service manager asked for it")
        loop.add_signal_handler(signal.SIGINT, self.stop, "interrupted")
        loop.add_signal_handler(signal.SIGHUP, lambda: self._keep(loop.create_task(self.reload())))

    def _unwritten(self, name: str, command: c.Command) -> None:
        """A stop that cannot be written down is still a stop."""
        runner = self._runners.get(name)
        if runner is None:
            return
        if isinstance(command, c.Abort):
            runner.machine.kill()
        else:
            self._keep(asyncio.create_task(runner.rescue()))

    def _keep(self, task: "asyncio.Task[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def reload(self) -> None:
        """Read the configuration again; what is wrong is told and changes nothing."""
        self._notifier.reloading()
        self._setup.reopen_logs()
        try:
            config, campaigns = await asyncio.to_thread(self._setup.read_again)
            await self._configure(campaigns)
            self._guard.note("configuration", "read", "reload", f"sha256 {digest_of(config, campaigns)}")
            log.info("configuration read again")
            before = self._setup.as_read
            if (config.daemon, config.compute, config.notify) != (before.daemon, before.compute, before.notify):
                log.warning("the tables [daemon], [compute] or [[notify]] have changed: that needs a restart")
        except ConfigError as error:
            self._guard.configured(str(error))
            log.error("the configuration was not read again:\n%s", error)  # noqa: TRY400 - the sentence says it all
        except Exception:
            log.exception("the configuration was not read again")
        self._notifier.ready()

    async def _watch(self) -> None:
        period_s = watchdog_s(self._setup.environ)
        while period_s is not None:
            try:
                self._notifier.alive()
            except Exception:  # noqa: BLE001 - a service manager that cannot be told will tell so itself
                self._troubles.note("telling the service manager that we live")
            await asyncio.sleep(period_s)
        await asyncio.Event().wait()

    async def _check_journal(self) -> None:
        """The whole journal is checked while work goes on: at the start only its end was."""
        path, due = await self._archive.call(lambda store: (store.path, store.check_due))
        ended = threading.Event()
        try:
            await asyncio.to_thread(check_journal, path, due, ended)
            await self._archive.call(lambda store: store.checked())
        except DamagedError as error:
            log.exception("the journal is damaged")
            await self._archive.call(lambda store: store.doubted())
            self._guard.note("store", "damaged", "journal", str(error))
            self._failure = error
            self.stop("the journal is damaged")
        except JournalError as error:
            log.warning("the journal was not checked: %s", error)
        finally:
            ended.set()

    async def _look_at_clock(self) -> None:
        """What the calendar has missed, because the computer slept or its clock was set, is found here."""
        while True:
            await asyncio.sleep(_LOOK_S)
            for state in list(self._engine.states.values()):
                try:
                    if automatic(state, self._clock()) is not None:
                        await self._engine.post(state.name, c.Tick())
                except Exception:  # noqa: BLE001 - other campaigns' clocks go on
                    self._troubles.note(f"looking at the clock for the campaign {state.name}")

    def _publish(self, name: str, one: Recorded, state: State) -> None:
        extra = {"campaign": name, "seq": one.seq, "actor": one.actor}
        log.log(_level(one.event), "%s%s", one.event.type, _words(one.event), extra=extra)
        self._guard.heard(name, one)
        self._sockets.publish(name, one, state)
        self._couriers.wake()

    def _follow(self, state: State) -> None:
        self._changed.set()
        runner = self._runners.get(state.name)
        if runner is None:
            runner = self._runners[state.name] = CampaignRunner.of(state, self._context)
            runner.draining = self._engine.stopping
        runner.follow(state)
        self._calendar.follow(state)

    def _machine_of(self, name: str) -> Machine | None:
        runner = self._runners.get(name)
        return None if runner is None else runner.machine

    def _waiting_of(self, name: str) -> WaitingView | None:
        runner = self._runners.get(name)
        return None if runner is None else runner.waiting

    def _heads(self) -> dict[str, int]:
        return {name: state.count for name, state in self._engine.states.items()}


async def _while_all_live(work: Coroutine[Any, Any, object], jobs: Iterable["asyncio.Task[None]"]) -> None:
    """Do something; if one of the jobs that keep the daemon going ends meanwhile, raise what ended it."""
    main = asyncio.create_task(work)
    vital = {job for job in jobs if job.get_name() != PASSING}
    await asyncio.wait({main, *vital}, return_when=asyncio.FIRST_COMPLETED)
    for job in vital:
        if job.done():
            main.cancel()
            job.result()
    await main


def _level(event: Event) -> int:
    """What needs attention is a warning, so that it is found among the rest."""
    fault = isinstance(event, CampaignHeld) and event.fault
    lost = isinstance(event, SettingAnswered | HomeAnswered) and event.result != "applied"
    return logging.WARNING if fault or lost or isinstance(event, HomeDelayed) else logging.INFO


def _words(event: Event) -> str:
    text = getattr(event, "reason", "") or getattr(event, "text", "")
    return f": {text}" if text else ""


def _prepare_processes() -> None:
    """Adapters are started from a process that has loaded what they need, so that each start is quick."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOADED)
