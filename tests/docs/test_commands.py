"""Every command in the documents runs, with the exit code that the text promises, or says in a table why it cannot."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from tests.docs import table
from tests.docs.documents import CONFIGS, PAGES, ROOT, check, commands, python_blocks
from tests.docs.session import Session

EVERYWHERE = [*PAGES, *CONFIGS]
ALL = [command for page in EVERYWHERE for command in commands(page)]
WITH_COMMANDS = [page for page in EVERYWHERE if commands(page)]
GROUPS = ("adapters", "bench", "campaign", "journal", "keys", "people", "security")
# these change nothing that another command needs: one of each kind is run in `make test`, all in `make test-all`
LOOKS = {
    f"tuner {one}"
    for one in (
        "adapters info", "adapters list", "ask", "check-config", "console", "doctor", "export", "journal show",
        "journal verify", "recipe", "replay", "report", "security verify", "status", "web",
    )
}  # fmt: skip
TABLES = {"NOT_RUN": table.NOT_RUN, "SLOW": table.SLOW, "CODES": table.CODES}


def whole(command) -> bool:
    """Whether it can be run as it is; prose may only name a command."""
    if command.words[0] != "tuner":
        return True
    lacking = check(command.words)
    assert command.prose or not lacking, f"{command} lacks {lacking}"
    return not lacking


def kind(command) -> str:
    """Which command it is, whatever its options and arguments."""
    return " ".join(command.words[: 3 if command.words[1] in GROUPS else 2])


def is_run(command) -> bool:
    return not table.found(table.NOT_RUN, command.text) and whole(command)


def look(command) -> str:
    """What one run of it shows for all pages, if it changes nothing that a later command needs; else nothing."""
    if command.words[0].startswith("python"):
        return command.text
    return kind(command) if kind(command) in LOOKS else ""


def quick_ones() -> dict[str, list]:
    """What each page lets its reader run; without the long ones, and without what another command shows already."""
    in_blocks = {kind(command) for command in ALL if not command.prose and is_run(command)}
    shown: set[str] = set()
    quick: dict[str, list] = {}
    for page in WITH_COMMANDS:
        quick[page] = []
        for command in commands(page):
            if not is_run(command) or table.found(table.SLOW, command.text):
                continue
            if (kind(command) in shown | in_blocks) if command.prose else (look(command) in shown):
                continue
            quick[page].append(command)
            shown |= {kind(command), look(command)} - {""}
    return quick


def run_all(page, chosen):
    if not chosen:
        return
    session = Session(page)
    try:
        for command in chosen:
            promised = table.found(table.CODES, command.text) or 0
            code = session.run(command)
            assert code == promised, f"{command}\nends with {code} instead of {promised}; it printed\n{session.said()}"
    finally:
        session.close()


def test_commands_are_found_in_blocks_in_prose_and_in_configurations():
    texts = {command.text for command in ALL}
    assert {"make demo", "tuner bench speed", "tuner check-config configs/line.toml", "tuner ask"} <= texts
    assert len(ALL) > 100


@pytest.mark.parametrize("command", [one for one in ALL if one.words[0] == "tuner"], ids=str)
def test_a_command_and_all_its_options_exist(command):
    check(command.words)


QUICK = quick_ones()


# what a newcomer types first; the other pages in `make test-all`
FIRST = ("README.md", "configs/sasena.toml")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", [page for page, chosen in QUICK.items() if chosen and page in FIRST])
def test_the_commands_of_a_page_run_in_their_order(page):
    run_all(page, QUICK[page])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_all_the_commands_of_a_page_run_with_the_long_ones_and_those_in_prose(page):
    chosen = [command for command in commands(page) if is_run(command)]
    run_all(page, chosen if chosen != QUICK[page] or page not in FIRST else [])


@pytest.mark.parametrize("name", TABLES)
def test_no_entry_of_the_table_is_without_a_command(name):
    unused = [pattern for pattern in TABLES[name] if not any(re.fullmatch(pattern, command.text) for command in ALL)]
    assert unused == []


@pytest.mark.parametrize("command", [one for one in ALL if one.words[0] == "make"], ids=str)
def test_a_target_of_make_exists(command):
    planned = subprocess.run(
        [shutil.which("make"), "-n", *command.words[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert planned.returncode == 0, planned.stderr
    assert planned.stdout


@pytest.mark.parametrize("command", [one for one in ALL if one.words[0] == "pip"], ids=str)
def test_an_extra_that_is_to_be_installed_exists(command):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for file in re.findall(r"-r (\S+)", command.text):
        assert (ROOT / file).exists()
    if '"' not in command.text:
        return
    name, extra = re.fullmatch(r"(.*)\[(.*)\]", re.search(r"\"(.*)\"", command.text)[1]).groups()
    assert name in (".", project["name"])
    assert extra in project["optional-dependencies"]


@pytest.mark.parametrize("command", [one for one in ALL if one.words[0] == "pytest"], ids=str)
def test_the_tests_that_are_named_exist(command):
    place, word = ROOT / command.words[1], command.words[3] if "-k" in command.words else ""
    files = [place] if place.is_file() else list(place.rglob("test_*.py"))
    assert any(word in path.stem or re.search(rf"def \w*{word}", path.read_text()) for path in files)


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)])
def test_the_examples_in_python_are_python(page):
    for example in python_blocks(page):
        ast.parse(example)


def judged(example):
    """Run the README's example with a judge who prefers low pressure and makes no part at a high one."""
    answers = """
import builtins, re, tuner
asked, told = [], {}
ask = tuner.Optimizer.ask
def remember(self, *args, **options):
    proposal = ask(self, *args, **options)
    told[proposal.number] = proposal.setting["pressure"]
    asked.append(proposal.number)
    return proposal
tuner.Optimizer.ask = remember
def answer(question):
    if "was a part made" in question:
        return "y" if told[asked[-1]] < 75 else "n"
    one, other = (told[int(number)] for number in re.findall(r"part (\\d+)", question))
    gap = one - other
    return "=" if abs(gap) < 0.5 else "y" if gap < 0 else "n"
builtins.input = answer
"""
    return subprocess.run([sys.executable, "-c", answers + example], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_readmes_example_in_python_finds_what_its_judge_likes():
    (example,) = python_blocks("README.md")
    done = judged(example)
    assert done.returncode == 0, done.stderr
    recommended = done.stdout.splitlines()[-1]
    assert recommended.startswith("recommended: {")
    assert ast.literal_eval(recommended.removeprefix("recommended: "))["pressure"] < 30.0


def test_the_readmes_example_in_python_runs():
    (example,) = python_blocks("README.md")
    done = judged(example.replace("for _ in range(30)", "for _ in range(6)"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("recommended: {")
