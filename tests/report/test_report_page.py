import re
import sys
from base64 import b64decode
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.figure import Figure

from tests.campaign.helpers import ANNA, BEN, Driver, proposed, terms
from tests.web.helpers import chromium
from tuner.campaign.commands import ChangeTerms, Exclude, Judge, Retract, Start, Tie
from tuner.campaign.state import Stage
from tuner.config.campaign import ScrapContract
from tuner.report.beliefs import believe
from tuner.report.figures import PREFERENCE_COLOURS, VALID_COLOURS, _steps
from tuner.report.page import NO_FIGURES, _class, _outcome, report_page
from tuner.report.story import fold_story

NOW = datetime(2026, 3, 3, tzinfo=UTC)
NASTY = "<script>alert('x')</script> & https://example.invalid/"
PARAMETERS = [
    {"kind": "continuous", "name": "heat", "low": 1.0, "high": 100.0, "start": 10.0, "unit": "°C", "log": True},
    {"kind": "integer", "name": "cycles", "low": 0, "high": 4, "start": 2},
    {"kind": "choice", "name": "nozzle", "choices": ["round", "flat <&>"], "start": "round"},
]


def propose(driver, setting):
    driver.tell(proposed(driver.state, setting))


def answer(driver, winner, actor):
    driver.tell(Judge(duel=driver.state.duel.number, winner=winner), actor)


def driven(trials=6, *, scrap=(3,), budget=None, constraints=()):
    """A campaign judged by hand: the higher the heat the better."""
    driver = Driver(terms(trials=budget or trials, parameters=PARAMETERS, constraints=constraints))
    driver.tell(Start())
    heats = [10.0, 20.0, 90.0, 5.0, 40.0, 30.0, 60.0]
    for place in range(trials):
        if place:
            propose(driver, {"heat": heats[place], "cycles": place % 5, "nozzle": "round" if place % 2 else "flat <&>"})
        driver.make(valid=place + 1 not in scrap)
        duel = driver.state.duel
        if duel is not None:
            pair = (duel.left, duel.right)
            better = max(pair, key=lambda number: driver.state.trials[number - 1].setting["heat"])
            answer(driver, better, BEN if place == 4 else ANNA)
    return driver


def story_of(driver):
    return fold_story("press-1", driver.recorded, NOW)


@pytest.fixture(scope="module")
def driver():
    return driven()


@pytest.fixture(scope="module")
def page(driver):
    return report_page(story_of(driver))


def test_a_report_needs_nothing_outside_of_itself(page):
    assert "http://" not in page
    assert "https://" not in page
    assert not re.search(r"<(script|link|iframe|object)|@import|url\(", page)
    sources = re.findall(r'src="([^"]*)"', page)
    assert len(sources) == 10  # progress, three pairs in two looks, three slices: each is readable on a telephone
    assert all(source.startswith(("data:image/svg+xml;base64,", "data:image/png;base64,")) for source in sources)


def test_its_figures_are_pictures(page):
    for kind, data in re.findall(r'src="data:image/(png|svg\+xml);base64,([^"]*)"', page):
        begin = b64decode(data)[:200]
        assert begin.startswith(b"\x89PNG") if kind == "png" else b"<svg" in b64decode(data)


def test_it_names_settings_trials_outcomes_and_judges(page, driver):
    for words in ("Settings for the master recipe", "heat", "°C", "press-1", "scrap", "known-good", "ben", "anna"):
        assert words in page
    for trial in driver.state.trials:
        assert f">{trial.tag}</td>" in page
    assert page.count('<tr class="scrap">') == 1
    assert page.count('<tr class="champion">') == 1
    assert "flat &lt;&amp;&gt;" in page
    assert "flat <&>" not in page


def test_a_part_that_only_waits_is_not_struck_through(driver):
    trial = driver.state.trials[-1]
    assert _class(replace(trial, stage=Stage.PROPOSED), None) == ""
    assert _outcome(replace(trial, stage=Stage.PROPOSED, outcome_reason="")) == "waits for approval"
    assert _class(replace(trial, stage=Stage.REJECTED), None) == "out"


@pytest.fixture
def _no_figures(monkeypatch):
    """Figures take seconds, and not every test looks at them."""
    monkeypatch.setattr("tuner.report.figures.has_matplotlib", lambda: False)


@pytest.mark.usefixtures("_no_figures")
def test_what_people_wrote_is_never_read_as_html():
    driver = driven(3, scrap=())
    driver.tell(Exclude(trial=2, reason=NASTY))
    page = report_page(story_of(driver))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert '<tr class="out">' in page


@pytest.mark.usefixtures("_no_figures")
def test_answers_that_do_not_count_and_ties_are_told():
    driver = driven(3, scrap=(), budget=4)
    driver.tell(Retract(judgment=2, reason="slipped"), ANNA)
    assert driver.state.duel is not None
    driver.tell(Tie(duel=driver.state.duel.number), ANNA)
    page = report_page(story_of(driver))
    assert "taken back: slipped" in page
    assert ">can&#x27;t tell</td>" in page
    assert "; 1 that do not" in page


def test_the_champions_are_those_that_reigned(driver):
    assert story_of(driver).champions == ((1, 1), (2, 2), (3, 2), (4, 2), (5, 5), (6, 5))


def test_without_a_part_nothing_is_recommended():
    driver = driven(2, scrap=(1, 2))
    page = report_page(story_of(driver))
    assert "nothing can be recommended" in page
    assert "<img" not in page


def test_a_campaign_that_has_done_nothing_has_a_report_too():
    page = report_page(story_of(Driver()))
    assert "nothing was made" in page
    assert "Nobody has judged yet" in page


def test_one_parameter_has_no_maps():
    parameters = PARAMETERS[:1]
    driver = Driver(terms(trials=3, parameters=parameters))
    driver.tell(Start())
    driver.make()
    for heat in (20.0, 30.0):
        propose(driver, {"heat": heat})
        driver.make()
        answer(driver, driver.state.trials[-1].number, ANNA)
    page = report_page(story_of(driver))
    assert page.count("<img") == 2
    assert "<h2>Maps</h2>" not in page


def test_without_matplotlib_the_page_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = report_page(story_of(driven(2, scrap=())))
    assert NO_FIGURES in page
    assert "Settings for the master recipe" in page


def test_maps_rank_settings_by_what_the_answers_said(driver):
    beliefs = believe(driver.state)
    heat = next(one for one in beliefs.maps if {one.across.name, one.down.name} == {"heat", "cycles"})
    values = heat.quality if heat.across.name == "heat" else heat.quality.T
    places = heat.across.places if heat.across.name == "heat" else heat.down.places
    low, high = (int(np.argmin(np.abs(places - value))) for value in (5.0, 40.0))
    assert values[:, high].mean() > values[:, low].mean()
    assert ((values >= 0) & (values <= 1)).all()
    assert values.mean() == pytest.approx(0.5)
    assert places[0] == pytest.approx(1.0)
    assert places[-1] == pytest.approx(100.0)
    choice = next(one for one in beliefs.maps if "nozzle" in (one.across.name, one.down.name))
    side = choice.across if choice.across.name == "nozzle" else choice.down
    assert [side.place(name) for name in ("round", "flat <&>")] == [0.0, 1.0]


@pytest.mark.parametrize(("costs", "scale"), [((1.9, 1.8), "linear"), ((10.0, 0.1), "log")])
def test_an_axis_is_logarithmic_only_where_its_marks_differ(driver, costs, scale):
    axes = Figure().add_subplot()
    _steps(axes, np.array([1.0, 2.0]), np.array(costs), driver.state)
    assert axes.get_yscale() == scale


def test_the_colours_of_maps_can_be_told_apart_by_their_lightness():
    """In print without colours, and by the colour-blind, dark is less and light is more."""
    for name in (PREFERENCE_COLOURS, VALID_COLOURS):
        lightness = colormaps[name](np.linspace(0.0, 1.0, 50))[:, :3] @ [0.299, 0.587, 0.114]
        assert (np.diff(lightness) > 0).all(), name


def test_where_answers_are_doubted_everything_goes_through_the_champion_of_the_page(driver):
    doubted = replace(driver.state, memory=replace(driver.state.memory, leader=2))
    beliefs = believe(doubted)
    champion = doubted.trials[1].setting
    assert doubted.champion == 2 != driver.state.champion
    assert {cut["name"]: cut["at"] for cut in beliefs.slices} == champion
    (heat,) = [cut for cut in beliefs.slices if cut["name"] == "heat"]
    assert heat["mean"][heat["values"].index(champion["heat"])] == pytest.approx(0.0, abs=1e-9)


def test_fewer_settings_are_believed_better_than_a_later_champion(driver):
    beliefs = believe(driver.state)
    assert beliefs.better[5] < beliefs.better[1] <= 1.0
    assert 3 not in beliefs.better  # it made no part


def test_what_breaks_a_constraint_is_not_feasible_on_a_map():
    driver = driven(3, scrap=(), constraints=["heat + 10*cycles <= 110"])
    (first, *_) = [m for m in believe(driver.state).maps if {m.across.name, m.down.name} == {"heat", "cycles"}]
    heat, cycles = np.meshgrid(first.across.places, first.down.places)
    if first.across.name == "cycles":
        heat, cycles = cycles, heat
    assert (first.feasible == (heat + 10 * cycles <= 110 + 1e-9)).all()
    assert not first.feasible.all()


def test_the_recipe_its_window_and_its_evidence_come_first(page):
    order = [
        page.index(words) for words in ("process window", '<ul class="evidence">', "likely to give a part", "seed")
    ]
    assert order == sorted(order)
    said = page.partition("<body>")[2].partition("<h2>The campaign</h2>")[0]
    assert "100%" not in said, "nothing is quite sure"


@pytest.mark.thorough
def test_on_a_telephone_nothing_is_wider_than_the_screen(page, tmp_path):
    (tmp_path / "report.html").write_text(page, "utf-8")
    with chromium() as browser:
        shown = browser.new_page(viewport={"width": 390, "height": 844})
        shown.goto((tmp_path / "report.html").as_uri())
        assert shown.evaluate("document.documentElement.scrollWidth") <= 390
    assert "1e4" not in re.sub(r'src="[^"]*"', "", page)


def test_it_is_for_light_and_dark_and_for_paper(page):
    for words in ("color-scheme: light dark", "prefers-color-scheme: dark", "@media print", "max-width: 600px"):
        assert words in page


def test_beside_a_contract_the_budget_for_scrap_says_what_it_is():
    driver = driven(3, scrap=(2,))
    assert "<dt>scrap</dt><dd>1</dd>" in report_page(story_of(driver))
    terms = driver.state.terms
    budget = terms.budget.model_copy(update={"scrap": 9})
    driver.tell(ChangeTerms(terms=terms.model_copy(update={"budget": budget})))
    assert "<dt>scrap</dt><dd>1 of at most 9</dd>" in report_page(story_of(driver))
    both = {"budget": budget, "scrap": ScrapContract(rate=0.4)}
    driver.tell(ChangeTerms(terms=terms.model_copy(update=both)))
    page = report_page(story_of(driver))
    assert "<dt>scrap</dt><dd>1; besides the contract the campaign ends at 9 ([campaign.budget] scrap)</dd>" in page
    assert "<dt>scrap contract</dt><dd>1 of 3 parts were scrap" in page
