import shutil
import subprocess
import sys

import pytest

from scripts import release

PYPROJECT = '[project]\nname = "x"\nversion = "0.2.0"\n[tool.y]\nversion = "7"\n'
CHANGELOG = "# Changelog\n\n## Unreleased\nCompatibility\n- Wire: as before.\n\n## 0.2.0\nOld\n"


@pytest.mark.parametrize("version", ["0.2.0", "0.1.9", "0.3", "v0.3.0", "0.3.0rc1x", "", "0.03.0"])
def test_a_version_that_is_none_or_does_not_come_next_is_refused(version):
    with pytest.raises(release.NotYetError):
        release.next_version(version, PYPROJECT)


def test_only_the_projects_own_version_is_changed():
    assert release.next_version("0.3.0", PYPROJECT) == "0.3.0"
    assert release.versioned(PYPROJECT, "0.3.0") == PYPROJECT.replace("0.2.0", "0.3.0")


def test_the_notes_are_what_stands_under_unreleased_and_become_the_versions():
    assert release.notes(CHANGELOG) == "Compatibility\n- Wire: as before."
    assert "## 0.3.0 (2027-01-02)\nCompatibility" in release.released(CHANGELOG, "0.3.0", "2027-01-02")
    assert "Unreleased" not in release.released(CHANGELOG, "0.3.0", "2027-01-02")


def test_our_own_changelog_says_what_becomes_of_the_last_release():
    assert release.notes((release.ROOT / "CHANGELOG.md").read_text())


@pytest.mark.parametrize(
    "text",
    [
        "# Changelog\n\n## 0.2.0\nOld\n",
        "# Changelog\n\n## Unreleased\n\n## 0.2.0\nOld\n",
        "# Changelog\n\n## Unreleased\nNew things\n\n## 0.2.0\nOld\n",
    ],
)
def test_a_changelog_that_does_not_say_what_becomes_of_the_last_release_is_refused(text):
    with pytest.raises(release.NotYetError):
        release.notes(text)


def test_a_checkout_with_changes_or_a_tag_that_is_there_is_refused(tmp_path):
    def git(*words):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    assert release.check(tmp_path, "0.3.0").startswith("Compatibility")
    (tmp_path / "new").touch()
    with pytest.raises(release.NotYetError, match="not committed"):
        release.check(tmp_path, "0.3.0")
    (tmp_path / "new").unlink()
    git("tag", "v0.3.0")
    with pytest.raises(release.NotYetError, match=r"a tag v0\.3\.0"):
        release.check(tmp_path, "0.3.0")


def test_hashes_are_written_as_sha256sum_reads_them(tmp_path):
    (tmp_path / "b.whl").write_bytes(b"")
    (tmp_path / "a.gz").write_bytes(b"x")
    (tmp_path / "SHA256SUMS").write_text(release.sums(tmp_path))
    done = subprocess.run(
        [shutil.which("sha256sum"), "-c", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["a.gz: OK", "b.whl: OK"]


def test_a_build_that_lacks_an_archive_is_no_release(tmp_path):
    wheel, sdist = tmp_path / "process_tuner-0.3.0-cp311-abi3-linux_x86_64.whl", tmp_path / "process_tuner-0.3.0.tar.gz"
    sdist.touch()
    with pytest.raises(release.NotYetError, match=r"one process_tuner-0\.3\.0-\*\.whl"):
        release.check_archives(tmp_path, "0.3.0")
    wheel.touch()
    release.check_archives(tmp_path, "0.3.0")
    sdist.rename(tmp_path / "process_tuner-0.2.0.tar.gz")
    with pytest.raises(release.NotYetError, match=r"tar\.gz"):
        release.check_archives(tmp_path, "0.3.0")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_dry_run_builds_everything_and_leaves_the_checkout_as_it_was():
    if release.run(release.ROOT, "git", "status", "--porcelain"):
        pytest.skip("the checkout has changes that are not committed")
    before = release.run(release.ROOT, "git", "log", "-1", "--format=%H")
    command = [sys.executable, "-m", "scripts.release", "99.0.0", "--dry-run"]
    done = subprocess.run(command, cwd=release.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("process-tuner-99.0.0.cdx.json", "process_tuner-99.0.0-", "process_tuner-99.0.0.tar.gz"):
        assert name in done.stdout
    assert release.run(release.ROOT, "git", "log", "-1", "--format=%H") == before
    assert release.run(release.ROOT, "git", "tag", "--list", "v99.0.0") == ""
    assert release.run(release.ROOT, "git", "status", "--porcelain") == ""
