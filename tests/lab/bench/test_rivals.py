"""Which rivals take part, and what is said of them; stand-ins take the place of their packages."""

import json
import pickle
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from tuner.cli.main import cli
from tuner.lab.bench.protocol import Options, Run, run_protocol
from tuner.lab.bench.rivals.all_rivals import RIVALS, gather, get_rival, warm_up
from tuner.lab.bench.rivals.display import show_peer_regret, show_peer_speed
from tuner.lab.bench.rivals.regret import OURS, Comparison, run_side
from tuner.lab.bench.rivals.rival import MissingPeerError, Rival
from tuner.lab.bench.rivals.speed import Turns, measure_turns

SMALL = ("--rows", "6", "--dimensions", "2", "--repeats", "1")


def peers(*arguments):
    return CliRunner().invoke(cli, ["bench", "peers", *arguments])


class StandIn:
    """Propose the middle of the cube, count the campaigns and keep the duels that were shown."""

    def __init__(self):
        self.started = 0
        self.seen = []

    def start(self):
        self.started += 1
        return self.propose

    def propose(self, points, duels, champion, seed):
        self.seen.append((points.tolist(), list(duels), champion, seed))
        return np.full(points.shape[1], 0.5)


def absent(name):
    def require():
        raise MissingPeerError(name, f"{name}-package", ImportError(f"No module named '{name}'"))

    return require


def rival(name, stand_in, require=None):
    return Rival(
        name, name.title(), f"{name.title()} the rival", "nothing", require or (lambda: {name: "1.0"}), stand_in.start
    )


@pytest.fixture
def stand_in(monkeypatch):
    """BoTorch is a stand-in, Optuna is not installed."""
    found = StandIn()
    monkeypatch.setitem(RIVALS, "botorch", rival("botorch", found))
    monkeypatch.setitem(RIVALS, "optuna", rival("optuna", StandIn(), absent("Optuna")))
    warm_up.cache_clear()
    yield found
    warm_up.cache_clear()


def shown(show, *arguments):
    console = Console(width=200)
    with console.capture() as capture:
        show(*arguments, console)
    return capture.get()


def cells(text, problem):
    """Return the cells of each row of a problem."""
    rows = [line.split("│")[1:-1] for line in text.splitlines() if line.startswith(f"│ {problem}")]
    return [[cell.strip() for cell in row] for row in rows]


def runs(problem, regrets, seconds):
    return tuple(Run(problem, seed, (value,), 0, (seconds,)) for seed, value in enumerate(regrets))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("botorch,optunna", 'no rival is called "optunna"; did you mean "optuna"?'),
        ("glisp", 'no rival is called "glisp", known: "botorch", "optuna"'),
        (",", "name at least one rival"),
    ],
)
def test_a_name_that_no_rival_has_is_wrong_usage_before_anything_is_measured(stand_in, names, words):
    found = peers("--rivals", names, *SMALL)
    assert found.exit_code == 2
    assert found.stdout == ""
    assert words in found.stderr
    assert not stand_in.started


def test_the_help_names_every_rival():
    text = peers("--help").stdout
    assert all(name in text for name in RIVALS)


def test_a_rival_that_is_not_installed_is_left_out_and_one_sentence_says_how_to_install_it(stand_in):
    found = peers(*SMALL)
    assert found.exit_code == 0, found.output
    [sentence] = [line for line in found.stderr.splitlines() if "left out" in line]
    assert "Optuna needs Optuna-package" in sentence
    assert 'pip install "process-tuner[peers]"' in sentence
    assert "beside Botorch the rival" in found.stdout
    assert "Optuna" not in found.stdout


def test_json_says_who_took_part_and_who_was_left_out(stand_in):
    data = json.loads(peers("--json", *SMALL).stdout)
    assert data["rivals"] == ["botorch"]
    assert list(data["left_out"]) == ["optuna"]
    assert data["left_out"]["optuna"].startswith("left out: Optuna needs")
    assert data["versions"] == {"botorch": "1.0"}
    assert [row["rival"] for row in data["speed"]] == ["botorch"]
    assert data["regret"] == []


def test_a_rival_that_is_named_must_be_installed(stand_in):
    found = peers("--rivals", "botorch,optuna", *SMALL)
    assert found.exit_code == 1
    assert found.stdout == ""
    assert len(found.stderr.splitlines()) == 1
    assert "Optuna needs Optuna-package" in found.stderr
    assert not stand_in.started


def test_the_rivals_named_take_part_once_each_in_the_order_named(monkeypatch, stand_in):
    monkeypatch.setitem(RIVALS, "optuna", rival("optuna", StandIn()))
    assert gather(["optuna", "botorch", "optuna"]).rivals == ("optuna", "botorch")
    assert gather(["optuna"]).versions == {"optuna": "1.0"}
    assert gather(None).rivals == tuple(RIVALS)


def test_without_optunas_sampler_its_own_sentence_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna_dashboard", None)
    with pytest.raises(MissingPeerError, match="needs optuna-dashboard with BoTorch, which cannot be imported"):
        get_rival("optuna").require()


def test_a_worker_process_can_say_that_a_rival_is_not_installed():
    error = MissingPeerError("BoTorch", "botorch", ImportError("no torch"))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - our own bytes


def test_all_rivals_are_shown_the_same_duels_in_each_turn():
    first, second = StandIn(), StandIn()
    turns = measure_turns(5, 2, {"botorch": first.propose, "optuna": second.propose}, repeats=2)
    assert first.seen == second.seen
    assert [len(duels) for _, duels, _, _ in first.seen] == [5, 5, 6]
    assert [row.rival for row in turns] == ["botorch", "optuna"]
    assert turns[0].ours_s == turns[1].ours_s


def test_a_rival_has_proposed_once_before_its_first_run_is_timed_and_each_run_is_a_campaign_of_its_own(stand_in):
    options = Options(trials=2)
    run_side("botorch", "six_hump", 0, options)
    run_side("botorch", "six_hump", 1, options)
    assert [len(duels) for _, duels, _, _ in stand_in.seen] == [2, 10, 11, 10, 11]
    assert stand_in.started == 3


def test_our_side_is_the_common_protocol():
    assert run_side(OURS, "forrester", 3, Options(trials=1)) == run_protocol("forrester", 3, Options(trials=1))


def test_each_rival_has_a_table_of_its_own_with_medians_means_and_both_ratios():
    ours = runs("sasena", [1.0, 2.0, 6.0], 0.2)
    rows = [
        Comparison("botorch", "sasena", ours, runs("sasena", [10.0, 20.0, 60.0], 1.0)),
        Comparison("optuna", "sasena", ours, runs("sasena", [0.5, 4.0, 12.0], 0.8)),
    ]
    text = shown(show_peer_regret, rows, Options())
    botorch, optuna = text.split("Regret beside ")[1:]
    assert botorch.startswith(RIVALS["botorch"].title)
    assert optuna.startswith(RIVALS["optuna"].title)
    regret, seconds = cells(botorch, "sasena")
    assert regret[1:8] == ["2", "20", "3", "30", "0.1", "0.1 to 0.1", "3 of 3"]
    assert seconds[1:] == ["0.200", "1.000", "0.2", "0.2 to 0.2"]
    regret, seconds = cells(optuna, "sasena")
    assert regret[1:8] == ["2", "4", "3", "5.5", "0.794", "0.5 to 2", "2 of 3"]
    assert seconds[1:] == ["0.200", "0.800", "0.25", "0.25 to 0.25"]
    assert "BoTorch and Optuna know no validity" in text


@pytest.mark.parametrize(("count", "warned"), [(9, True), (10, False)])
def test_an_interval_of_few_seeds_comes_with_a_warning(count, warned):
    side = runs("sasena", [1.0] * count, 1.0)
    text = shown(show_peer_regret, [Comparison("optuna", "sasena", side, side)], Options())
    assert ("too narrow" in text) is warned
    assert "Optuna knows no validity" in text


def test_one_pair_has_a_ratio_but_no_interval():
    side, other = runs("sasena", [1.0], 1.0), runs("sasena", [2.0], 4.0)
    row = Comparison("optuna", "sasena", side, other)
    regret, seconds = cells(shown(show_peer_regret, [row], Options()), "sasena")
    assert regret[5:7] == ["0.5", "-"]
    assert seconds[3:] == ["0.25", "-"]
    assert row.to_json()["regret_ratio"] == {"value": pytest.approx(0.5), "low": None, "high": None}


def test_each_rival_has_its_table_of_times_and_a_word_on_what_is_timed():
    rows = [Turns(name, 50, 2, (0.1,), (1.0,)) for name in ("botorch", "optuna")]
    text = shown(show_peer_speed, rows, {"botorch": "1.2", "optuna": "3.4"})
    for found in RIVALS.values():
        assert f"beside {found.title}" in text
        assert f"{found.label}: {found.timed}" in " ".join(text.split())
    assert "botorch 1.2, optuna 3.4" in text
