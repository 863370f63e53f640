import html
import re
import sys

import pytest
from click.testing import CliRunner

from tests.lab.paper.records import TINY, made_up
from tuner.basics.files import FileNotWrittenError
from tuner.cli.main import cli
from tuner.lab.paper import claims as judge
from tuner.lab.paper import tasks as plan
from tuner.lab.paper.document import Code, Heading, Picture, Table, Text, to_html, to_markdown
from tuner.lab.paper.pages import write_pages
from tuner.lab.paper.reproduce import finished
from tuner.lab.paper.run_file import RunStore
from tuner.lab.paper.runs import Record
from tuner.lab.paper.tasks import FIGURES, tasks_of


def paper(*arguments):
    return CliRunner().invoke(cli, ["bench", "paper", *arguments])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The whole command on a tiny plan."""
    out = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(plan.SCALES, "quick", TINY)
        shown = paper("--quick", "--out", str(out), "--jobs", "1")
    assert shown.exit_code == 0, shown.output
    return out, shown


@pytest.mark.slow
def test_the_command_runs_everything_and_writes_both_pages(tiny):
    out, shown = tiny
    tasks, runs = finished(TINY, FIGURES, out)
    assert len(tasks) == len(runs) == 9 + 9 + 7
    assert shown.stdout.split() == [str(out / "paper.md"), str(out / "paper.html")]
    assert f"runs: {len(tasks)} of {len(tasks)}" in shown.stderr
    text = (out / "paper.md").read_text()
    assert f"All runs are finished: {len(tasks)} of {len(tasks)}" in text
    assert "quick version: 1 seeds instead of 20" in text
    assert "numpy" in text
    assert "tuner bench paper --quick" in text


@pytest.mark.slow
def test_seconds_stand_beside_the_papers_with_the_ratio_of_the_models(tiny):
    out, _ = tiny
    _, runs = finished(TINY, FIGURES, out)
    gpl, skewgp = judge.model_seconds(runs, "forrester")
    row = next(line for line in (out / "paper.md").read_text().splitlines() if line.startswith("| forrester | 557 |"))
    cells = row.strip("| ").split(" | ")
    assert cells[1:4] == ["557", "102", "5.46"]
    assert float(cells[6]) == pytest.approx(gpl / skewgp, rel=0.01)


@pytest.mark.slow
def test_both_pages_have_every_claim_with_its_measurement_and_verdict(tiny):
    out, _ = tiny
    _, runs = finished(TINY, FIGURES, out)
    made = [*judge.figure4_claims(runs), *judge.figure5_claims(runs), *judge.figure7_claims(runs)]
    assert len(made) == 13 + 6 + 4
    markdown, page = (out / "paper.md").read_text(), (out / "paper.html").read_text()
    for claim in made:
        assert f"| {claim.paper} | {claim.measured} | {claim.verdict} | {claim.rule} |" in markdown
        assert f"<td>{html.escape(claim.paper)}</td><td>{html.escape(claim.measured)}</td>" in page
    rows = [
        line for line in markdown.splitlines() if re.search(r"\| (agrees|disagrees|undecided|not measured) \|", line)
    ]
    assert len(rows) == 4 + 5 + 1 + len(made)
    assert f"Of {len(rows)} claims" in markdown


@pytest.mark.slow
def test_the_pictures_are_beside_the_markdown_and_inside_the_html(tiny):
    out, _ = tiny
    named = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", (out / "paper.md").read_text())
    assert len(named) == len(FIGURES)
    assert all((out / name).read_text().startswith("<?xml") for name in named)
    page = (out / "paper.html").read_text()
    assert page.count("<svg") == len(FIGURES)
    assert "<img" not in page
    assert "<link" not in page
    assert "<script" not in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    used = {*re.findall(r"url\(#([^)]+)\)", page), *re.findall(r'xlink:href="#([^"]+)"', page)}
    assert used
    assert used <= set(ids)


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes(tiny, tmp_path):
    out, _ = tiny
    pages = [write_pages(TINY, (5, 6), out, tmp_path / name) for name in ("one", "two")]
    for one, two in zip(*pages, strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_pages_from_unfinished_runs_say_so_and_go_where_they_are_asked_to(tmp_path):
    with RunStore(tmp_path / "runs").writing() as writer:
        for task in tasks_of(TINY, (5,))[:4]:
            writer.append(Record(task, (1.0, 0.5), 0, 2, 1.0, "some version"))
    shown = paper("--pages-only", "--figure", "5", "--out", str(tmp_path / "runs"), "--pages", str(tmp_path / "docs"))
    assert shown.exit_code == 0, shown.output
    text = (tmp_path / "docs" / "paper.md").read_text()
    assert "NOT ALL runs are finished: 0 of " in text  # the quick plan asks for more trials than these have
    assert "tuner bench paper --quick --figure 5" in text
    assert not (tmp_path / "runs" / "paper.md").exists()


@pytest.mark.slow
def test_no_page_picture_or_run_is_written_through_a_link(tiny, tmp_path):
    out, _ = tiny
    for name in ("paper.md", "paper"):
        pages = tmp_path / name
        pages.mkdir()
        (pages / name).symlink_to(tmp_path / "precious")
        with pytest.raises(FileNotWrittenError, match=f"{name} cannot be .*it is a link"):
            write_pages(TINY, (5,), out, pages)
    (tmp_path / "runs.jsonl").symlink_to(tmp_path / "precious")
    with pytest.raises(FileNotWrittenError, match="it is a link"), RunStore(tmp_path).writing():
        pass
    assert not (tmp_path / "precious").exists()


def test_failed_proposals_and_complete_seeds_are_told(tmp_path):
    with RunStore(tmp_path).writing() as writer:
        for task in tasks_of(TINY, (5,))[:-1]:
            writer.append(Record(task, (1.0, 0.5), 0, 2, 3600.0, "some version"))
    text = write_pages(TINY, (5,), tmp_path, tmp_path)[0].read_text()
    assert "NOT ALL runs are finished: 8 of 9 (0 of the seeds 0 to 0 are complete)" in text
    assert "16 proposals failed" in text
    assert "8.00 h" in text
    assert "some version" in text


def test_without_matplotlib_the_command_says_so_before_it_runs_anything(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    shown = paper("--out", str(tmp_path / "out"))
    assert shown.exit_code == 1
    assert "extra `report`" in shown.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--figure", "1"], "2<=x<=7"),
        (["--jobs", "0"], "--jobs"),
        (["--fast"], "--fast"),
        (["--dask", "nonsense"], "no address such as tcp://host:8786"),
        (["--dask", ""], "no address such as tcp://host:8786"),
    ],
)
def test_wrong_options_are_wrong_usage(arguments, words):
    shown = paper(*arguments)
    assert shown.exit_code == 2
    assert words in shown.stderr


def test_pages_that_cannot_be_written_are_refused_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr("tuner.lab.paper.pages.figure6", lambda *_: pytest.fail("it was computed"))
    (tmp_path / "paper").write_text("in the way")
    shown = paper("--pages-only", "--figure", "6", "--out", str(tmp_path))
    assert shown.exit_code == 1
    assert "File exists" in shown.stderr


def test_a_page_is_escaped_in_both_forms():
    blocks = [
        Heading("a < b", 1),
        Text("x & y"),
        Code("one\ntwo"),
        Table(("p|q",), (("<b>",), ("agrees",))),
        Picture("p1", "a picture", '<?xml?><svg><g id="a"/><use xlink:href="#a"/><g clip-path="url(#a)"/></svg>'),
    ]
    page = to_html(blocks, "T & T")
    assert "<h1>a &lt; b</h1>" in page
    assert "x &amp; y" in page
    assert "&lt;b&gt;" in page
    assert '<td class="agrees">agrees</td>' in page
    assert '<g id="p1-a"/><use xlink:href="#p1-a"/><g clip-path="url(#p1-a)"/>' in page
    text = to_markdown(blocks, "pictures")
    assert "| p\\|q |" in text
    assert "    one\n    two" in text
    assert "![a picture](pictures/p1.svg)" in text


@pytest.mark.slow
def test_a_race_is_drawn_from_the_runs(tmp_path):
    tasks = tasks_of(TINY, (5,))
    for name, last in (("low", 1e-6), ("high", 0.5)):
        with RunStore(tmp_path / name).writing() as writer:
            for task in tasks:
                writer.append(Record(task, (1.0, last), 0, 0, 1.0, "test"))
        write_pages(TINY, (5,), tmp_path / name, tmp_path / name)
    drawn = [(tmp_path / name / "paper" / "figure5.svg").read_text() for name in ("low", "high")]
    assert drawn[0] != drawn[1]
    assert made_up(5, "auto", 0, 0.1).task.problem == "waves"
    assert all("SkewGP eiig-0.1" in svg and "auto (ours)" in svg for svg in drawn)
