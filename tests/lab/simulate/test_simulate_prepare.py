import pytest

from tests.lab.simulate.helpers import MIXED, SASENA, tuner
from tuner.campaign.terms import Terms
from tuner.compute.spaces import space_from_json
from tuner.config import parse_config
from tuner.config.parameters import Choice
from tuner.config.to_space import campaign_space
from tuner.core.space.parameters import SpaceError
from tuner.errors import ConfigError
from tuner.lab.simulate.prepare import as_toml, chosen_campaign, scripted
from tuner.problems import get_problem
from tuner.report.truth import OUT_OF_REACH, Truth


def file_of(tmp_path, text):
    file = tmp_path / "some.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize("text", [SASENA.read_text(), MIXED], ids=["sasena", "mixed"])
def test_a_campaign_written_as_toml_is_the_same_when_it_is_read(tmp_path, text):
    campaign = scripted(chosen_campaign(file_of(tmp_path, text)), 5, trials=7, speed=3.0)
    again = parse_config(as_toml(campaign), "again").campaigns[0]
    assert again == campaign
    assert Terms.of(again) == Terms.of(campaign)


def test_a_scripted_run_has_its_seed_everywhere_and_waits_for_nobody(tmp_path):
    text = MIXED.replace("noise = 0.05", 'noise = 0.05\nseconds_per_trial = 3.0\nmemory = "somewhere.json"')
    campaign = scripted(chosen_campaign(file_of(tmp_path, text)), 9, speed=2.0)
    assert (campaign.name, campaign.machine, campaign.seed) == ("press-9", "press-9", 9)
    settings = campaign.adapter.settings
    assert (settings.seed, settings.seconds_per_trial, settings.memory) == (9, 1.5, None)
    assert campaign.budget.trials == 6
    assert not campaign.policy.approval
    assert campaign.policy.questions.quiet_hours == ()
    assert campaign.policy.settling_parts == 1  # they change what the machine measures


def test_the_campaign_is_chosen_by_name_and_must_be_simulated(tmp_path):
    two = MIXED + MIXED.replace('"press"', '"other"')
    assert chosen_campaign(file_of(tmp_path, two)).name == "press"
    assert chosen_campaign(file_of(tmp_path, two), "other").name == "other"
    with pytest.raises(ConfigError, match='no campaign "othr"; did you mean "other"'):
        chosen_campaign(file_of(tmp_path, two), "othr")
    with pytest.raises(ConfigError, match="runs on the adapter 'simulated' only, not on 'command'"):
        chosen_campaign(SASENA.with_name("command.toml"))


def test_the_truth_knows_costs_choices_and_where_no_part_is_made(tmp_path):
    truth = Truth.of(Terms.of(chosen_campaign(file_of(tmp_path, MIXED))))
    assert truth.optimum == {"strokes": 4.0, "cavities": "c", "temperature": 0.6, "time": 0.45}
    assert truth.regret(truth.optimum) == pytest.approx(0.0)
    assert truth.cost({**truth.optimum, "cavities": "d"}) > 0.0
    sasena = Truth.of(Terms.of(chosen_campaign(SASENA)))
    assert sasena.cost({"x1": 0.0, "x2": 0.0}) is None
    assert sasena.regret({"x1": 0.0, "x2": 0.0}) == float("inf")
    assert sasena.regret(sasena.optimum) == pytest.approx(0.0, abs=1e-6)
    assert sasena.problem is get_problem("sasena")


@pytest.mark.parametrize(
    ("old", "new", "reachable"),
    [
        ("<= 1.2", "<= 1.1", True),
        ("<= 1.2", "<= 0.7", False),
        ("high = 8", "high = 3", False),
        ('"d", "e", ', '"d", ', False),
    ],
    ids=["as it is", "a constraint", "a limit", "choices beside it"],
)
def test_the_truth_knows_whether_a_campaign_can_reach_the_known_optimum(tmp_path, old, new, reachable):
    assert old in MIXED
    campaign = chosen_campaign(file_of(tmp_path, MIXED.replace(old, new)))
    assert Truth.of(Terms.of(campaign)).reachable(campaign_space(campaign)) is reachable


def test_the_resolution_of_a_campaign_under_way_keeps_no_known_optimum_away():
    terms = Terms.of(chosen_campaign(SASENA))
    space = space_from_json(terms.space_json())
    truth = Truth.of(terms)
    with pytest.raises(SpaceError, match="must be a multiple of its resolution"):
        space.checked(truth.optimum)
    assert truth.reachable(space)


def test_a_parameter_that_the_machine_has_no_place_for_changes_nothing_of_the_truth():
    known = Terms.of(chosen_campaign(SASENA))
    gate = Choice(kind="choice", name="gate", choices=("edge", "fan"), start="fan", manual=True)
    adapter = known.adapter.model_copy(update={"by_hand": ("gate",)})
    terms = known.model_copy(update={"adapter": adapter, "parameters": (gate, *known.parameters)})
    truth = Truth.of(terms)
    assert truth.optimum == {**Truth.of(known).optimum, "gate": "fan"}
    assert truth.regret({**truth.optimum, "gate": "edge"}) == pytest.approx(0.0, abs=1e-6)
    assert truth.reachable(space_from_json(terms.space_json()))


def test_any_of_several_known_optima_will_do(tmp_path):
    side = '[[campaign.parameter]]\nkind = "continuous"\nname = "{}"\nlow = {}\nhigh = {}\nstart = 5.0\n'
    head = MIXED.split("[[campaign.parameter]]")[0].replace("press_mixed", "branin").replace("constraints", "# ")
    found = []
    for low, high in ((0, 10), (4, 9)):  # Branin's are at -3.14, 3.14 and 9.42
        text = head + side.format("x", float(low), float(high)) + side.format("y", 0.0, 15.0)
        campaign = chosen_campaign(file_of(tmp_path, text))
        found.append(Truth.of(Terms.of(campaign)).reachable(campaign_space(campaign)))
    assert found == [True, False]


@pytest.mark.slow
def test_a_simulation_that_cannot_reach_the_known_optimum_says_so(tmp_path):
    said = {}
    for limit in ("1.2", "0.7"):
        file = file_of(tmp_path, MIXED.replace("<= 1.2", f"<= {limit}"))
        shown = tuner("simulate", file, "--in-process", "--trials", 1, "--jobs", 1)
        assert shown.exit_code == 0, shown.output
        said[limit] = OUT_OF_REACH in shown.stdout
    assert said == {"1.2": False, "0.7": True}
