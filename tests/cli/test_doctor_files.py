import hashlib
from base64 import urlsafe_b64encode
from importlib.metadata import Distribution, PathDistribution

import pytest

from tuner.cli import doctor_files


def install(there, name="press-kit", requires=(), files=None, editable=False) -> Distribution:
    """A small distribution, as an installer leaves it."""
    files = {"press_kit/__init__.py": "x = 1\n", **(files or {})}
    info = there / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    lines = []
    for place, text in files.items():
        (there / place).parent.mkdir(parents=True, exist_ok=True)
        (there / place).write_text(text)
        digest = urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{place},sha256={digest},{len(text)}")
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}")
    (info / "RECORD").write_text("\n".join([*lines, f"{info.name}/METADATA,,", f"{info.name}/RECORD,,"]))
    if editable:
        (info / "direct_url.json").write_text('{"dir_info": {"editable": true}, "url": "file:///x"}')
    return PathDistribution(info)


def said_of(found: Distribution) -> list[str]:
    return list(doctor_files.differences(found, found.files or []))


def test_what_is_as_it_was_installed_is_not_mentioned(tmp_path):
    assert said_of(install(tmp_path)) == []


@pytest.mark.parametrize(
    ("spoil", "word"),
    [(lambda file: file.write_text("x = 2\n"), "(changed)"), (lambda file: file.unlink(), "(No such file")],
)
def test_a_file_that_was_changed_or_removed_is_named(tmp_path, spoil, word):
    found = install(tmp_path)
    spoil(tmp_path / "press_kit" / "__init__.py")
    (said,) = said_of(found)
    assert said.startswith("press_kit/__init__.py")
    assert word in said


def test_a_module_that_was_added_to_tuner_is_named_and_a_compiled_one_is_not(tmp_path):
    found = install(tmp_path, doctor_files.OURS)
    (tmp_path / "press_kit" / "spy.py").write_text("")
    (tmp_path / "press_kit" / "spy.pyc").write_text("")
    (said,) = said_of(found)
    assert said == "press_kit/spy.py (added)"


def test_launchers_are_left_out_because_the_installer_writes_the_interpreters_place_into_them(tmp_path):
    found = install(tmp_path / "lib", files={"../bin/press": "#!/build/python\n"})
    (tmp_path / "bin" / "press").write_text("#!/opt/python\n")
    assert said_of(found) == []


def test_of_ours_the_extras_count_but_no_tools_and_of_others_no_extras(tmp_path):
    requires = ["numpy>=2", 'asyncua>=2; extra == "opcua"', 'pytest>=9; extra == "dev"', "zoneinfo; python_version<'3'"]
    ours = install(tmp_path / "a", doctor_files.OURS, requires)
    assert list(doctor_files.needed(ours)) == ["numpy", "asyncua", "zoneinfo"]
    assert list(doctor_files.needed(install(tmp_path / "b", "numpy", requires))) == ["numpy", "zoneinfo"]


def test_a_change_is_bad_a_checkout_is_a_warning_and_all_is_counted(tmp_path, monkeypatch):
    whole = install(tmp_path / "a", "whole")
    broken = install(tmp_path / "b", "broken", files={f"press_kit/m{n}.py": "" for n in range(7)})
    ours = install(tmp_path / "c", doctor_files.OURS, editable=True)
    for n in range(7):
        (tmp_path / "b" / "press_kit" / f"m{n}.py").write_text("changed")
    monkeypatch.setattr(doctor_files, "closure", lambda _: [ours, whole, broken])
    warning, bad, count = doctor_files.program()
    assert (warning.level, bad.level, count.level) == ("warn", "bad", "ok")
    assert "broken 1.0" in bad.text
    assert "and 2 more" in bad.text
    assert "press_kit/m0.py (changed), press_kit/m1.py (changed)" in bad.text
    assert "10 files of 3 packages" in count.text


def test_an_adapter_from_outside_is_named_with_its_package(tmp_path, monkeypatch, tuner):
    found = install(tmp_path, "press-kit")
    info = tmp_path / "press_kit-1.0.dist-info"
    (info / "entry_points.txt").write_text("[tuner.adapters]\npress = press_kit:Press\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert ("press", found.name, "1.0") in doctor_files.outside()
    done = tuner("doctor", "--no-files", "--no-machines", "--state", tmp_path / "state")
    assert "ok    adapters: from outside: press (press-kit 1.0); they run with the daemon's rights" in done.stdout


def test_what_runs_here_is_looked_at_with_what_it_needs():
    names = [found.name.lower() for found in doctor_files.closure([doctor_files.OURS])]
    assert names[0] == doctor_files.OURS
    assert {"numpy", "pydantic-core", "pyzmq"} <= {name.replace("_", "-") for name in names}
    assert "pytest" not in names
