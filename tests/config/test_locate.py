import json
import re
import tomllib
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from tuner.config.locate import line_of, locate

tricky = st.text(alphabet="ab #[]{}=,.\"'\\é\U0001f600\t", max_size=8)


@st.composite
def documents(draw):
    """TOML in all its spellings; every number occurs once, so that its line can be told from the text."""
    number = count(1000)

    def key():
        text = f"{draw(tricky)}{next(number)}"
        spelling = draw(st.sampled_from(["bare", "basic", "escaped", "literal"]))
        if spelling == "literal" and "'" not in text:
            return f"'{text}'"
        if spelling == "escaped":
            return '"' + "".join(f"\\U{ord(char):08X}" for char in text) + '"'
        if spelling == "basic":
            return json.dumps(text, ensure_ascii=False)
        return f"k_-{next(number)}"

    def dotted():
        dot = draw(st.sampled_from([".", " . ", "\t."]))
        return dot.join(key() for _ in range(draw(st.integers(1, 3))))

    def string():
        text = draw(tricky)
        style = draw(st.sampled_from(["basic", "long", "long literal"]))
        if style == "long":
            inner = text.replace("\\", "\\\\").replace('"', '\\"')
            last = draw(st.sampled_from(["", '"', '""']))
            return f'"""{inner}\n# no comment\n[no.table]\n"no" = "key" {inner}\\\n   {last}"""'
        if style == "long literal":
            return "'''" + text.replace("'", "") + "\nx = [1\n\\'''" + draw(st.sampled_from(["", "'", "''"]))
        return json.dumps(text, ensure_ascii=False).replace("\t", "\\t")

    def value(depth=0):
        kind = draw(
            st.sampled_from(["number", "string", "date", "list", "table"] if depth < 3 else ["number", "string"])
        )
        if kind == "number":
            return str(next(number))
        if kind == "date":
            return draw(
                st.sampled_from(["1979-05-27T07:32:00Z", "1979-05-27 07:32:00", "07:32:00", "+1e-3", "inf", "true"])
            )
        if kind == "list":
            gap = draw(st.sampled_from([" ", "\n", " # ] , [\n\n  ", "\n\t"]))
            entries = [value(depth + 1) for _ in range(draw(st.integers(0, 3)))]
            return (
                "["
                + gap
                + f"{gap},{gap}".join(entries)
                + gap
                + ("," + gap if entries and draw(st.booleans()) else "")
                + "]"
            )
        if kind == "table":
            return "{ " + " , ".join(f"{dotted()} = {value(depth + 1)}" for _ in range(draw(st.integers(0, 2)))) + "}"
        return string()

    def pairs():
        noise = draw(st.sampled_from(["", "# x = [\n", "\n", "  "]))
        equals, end = draw(st.sampled_from([("=", "\n"), (" = ", " # {\n")]))
        return "".join(f"{noise}{dotted()}{equals}{value()}{end}" for _ in range(draw(st.integers(0, 3))))

    text = pairs()
    for _ in range(draw(st.integers(0, 3))):
        head = dotted()
        if draw(st.booleans()):
            text += f"[{head}]\n{pairs()}"
            continue
        for _ in range(draw(st.integers(1, 3))):
            text += f"[[ {head} ]] # {{\n{pairs()}"
            if draw(st.booleans()):
                text += f"[{head}.{key()}]\n{pairs()}"
            if draw(st.booleans()):
                inner = key()
                text += f"[[{head}.{inner}]]\n{pairs()}[[{head}.{inner}]]\n{pairs()}[{head}.{inner}.{key()}]\n{pairs()}"
    return text


def paths(data, path=()):
    yield path, data
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, child in children:
        yield from paths(child, (*path, step))


@given(documents())
def test_every_key_and_entry_of_any_document_is_found_and_every_number_on_its_own_line(text):
    data = tomllib.loads(text)
    lines = locate(text)
    written = text.split("\n")
    found = dict(paths(data))
    assert set(lines) == set(found)
    for path, value in found.items():
        if type(value) is int and isinstance(path[-1], int):
            assert re.search(rf"\b{value}\b", written[lines[path] - 1]), path
        elif type(value) is int:
            # a key's line is where its own name stands, or an escaped spelling of it
            line = written[lines[path] - 1]
            assert path[-1] in line or "\\" in line, path


@given(st.text(alphabet="ab=[]{}\"'#\n.,1\\ ", max_size=30))
def test_no_text_that_the_parser_accepts_can_break_the_scanner(text):
    try:
        data = tomllib.loads(text)
    except ValueError:
        return
    assert set(locate(text)) == {path for path, _ in paths(data)}


def test_a_path_without_a_line_gets_the_line_of_the_table_around_it():
    lines = locate("\n[a]\nb = 1\n[[c]]\n\n[[c]]\nd = [1,\n2]\n")
    assert line_of(("a", "missing", "deeper"), lines) == 2
    assert line_of(("a", "b"), lines) == 3
    assert line_of(("c", 0, "x"), lines) == 4
    assert line_of(("c", 1, "x"), lines) == 6
    assert line_of(("c", 1, "d", 1), lines) == 8
    assert line_of(("nowhere",), lines) == 1


def test_a_table_that_was_passed_through_gets_the_line_of_its_own_header():
    assert locate("[a.b]\n[a]\nc = 1\n")["a",] == 2
