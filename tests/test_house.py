"""The house as a newcomer finds it: rooms with front doors, nothing loose in the hall, no file that nobody can read."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.docs.documents import ROOT

PUBLIC = {"__init__", "__main__", "adapter", "errors", "problems", "testing"}
LONGEST = 400

# room -> the modules that other rooms may import, all others are private to it; rooms that are not here have no secrets
DOORS = {
    "tuner.campaign": "alarms commands contract_words decide earlier effects events evolve importing model_input people"
    " questions restricting speculate state step asking_times automatic by_hand terms",
    "tuner.cli": "main",
    "tuner.compute": "backend dask engine_name maps proposals slices spaces tasks worker_pool",
    "tuner.config": "campaign daemon notify parameters plugins section to_space",
    "tuner.console": "actions campaign_text handover keyboard language lines pages.alarms pages.champion"
    " pages.history pages.page pages.why requests restricting screen.app session ui",
    "tuner.core.optimizer": "acquisition champion contract dueling learner ledger optimizer proposer questions records"
    " search strategy surface",
    "tuner.core.posterior": "bouncing ep fitting functions kernels laplace mixture model observations rows separate"
    " skewgp truncated",
    "tuner.daemon": "journal_thread logs perform service service_manager state_lock views",
    "tuner.journal": "anchor backup chain errors export records security store",
    "tuner.lab.demo": "display session",
    "tuner.lab.paper": "figures pages reproduce rivals tasks",
    "tuner.lab.rehearse": "expectation run traps",
    "tuner.machine": "check describe new_adapter offers process",
    "tuner.notify": "courier ways",
    "tuner.report": "figures page story truth",
    "tuner.setup": "interview keys",
    "tuner.tables": "bundle campaign_tables earlier formats history recipe",
    "tuner.web": "certificate serve",
    "tuner.wire": "aio client endpoint errors follow key_ring keyfiles messages model_answers operation operations"
    " people schema",
    **{
        f"adapters.{name}": ""
        for name in ("command", "http", "line", "modbus", "mqtt", "opcua", "s7", "serial", "simulated")
    },
}  # fmt: skip


def modules() -> dict[str, Path]:
    files = (file for top in ("tuner", "adapters") for file in (ROOT / top).rglob("*.py"))
    return {".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): f for f in files}


@cache
def parsed(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text())))


def imported(file: Path, known: dict[str, Path]) -> Iterator[str]:
    for node in parsed(file):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield inner if inner in known else node.module


def room_of(module: str) -> str | None:
    return next((room for room in DOORS if module.startswith(f"{room}.")), None)


def test_other_rooms_are_entered_by_their_doors():
    known = modules()
    wrong = [
        f"{module} imports {other}"
        for module, file in known.items()
        for other in imported(file, known)
        if (room := room_of(other)) is not None
        and not f"{module}.".startswith(f"{room}.")
        and other.removeprefix(f"{room}.") not in DOORS[room].split()
    ]
    assert wrong == []


def test_every_door_leads_into_a_room_and_somebody_comes_through_it():
    known = modules()
    used = {
        other
        for module, file in known.items()
        for other in imported(file, known)
        if (room := room_of(other)) is not None and not f"{module}.".startswith(f"{room}.")
    }
    doors = {f"{room}.{door}" for room, names in DOORS.items() for door in names.split()}
    assert doors - used == set()


def test_nothing_is_loose_at_the_top_but_front_doors():
    assert {file.stem for file in (ROOT / "tuner").glob("*.py")} == PUBLIC


def test_every_module_opens_with_a_sentence_and_none_is_too_long_to_read():
    for module, file in modules().items():
        text = file.read_text()
        assert ast.get_docstring(parsed(file)[0]), f"{module} says nothing about itself"
        assert len(text.splitlines()) <= LONGEST, f"{module} is longer than {LONGEST} lines: split it by theme"


def test_no_variable_of_the_makefile_means_two_things():
    names = re.findall(r"(?m)^([A-Z_]+) *[:?]?= ", (ROOT / "Makefile").read_text())
    assert sorted(set(names)) == sorted(names)
