"""Coverage-guided fuzzing of parsers: python -m tests.faults.fuzz_guided TARGET [libFuzzer's options].

It needs atheris (wheels for Linux), which is no part of the development environment: it is large, and nothing else uses
it. `-runs=100000` or `-max_total_time=60` bounds a run. It begins with `tests/faults/corpus/TARGET`; what it finds on
the way is kept in the first directory that is given, if one is. An exception that is not the parser's own ends the run
and keeps the input.
"""

import sys

import atheris

with atheris.instrument_imports(include=["tuner", "adapters"]):  # of all that is imported it would take minutes
    from tests.faults.fuzz_parsers import CORPUS, TARGETS


def main() -> None:
    """Fuzz one target."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in TARGETS:
        sys.exit(f"give one of {', '.join(TARGETS)}")
    given = sys.argv[2:]
    places = [word for word in given if not word.startswith("-")]
    atheris.Setup([sys.argv[0], *places, str(CORPUS / name), *(w for w in given if w.startswith("-"))], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
