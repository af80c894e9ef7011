"""Compares random templates with Python's Mako. Run by hand:

    pip install mako
    cargo build --release -p template --example render
    python crates/template/tests/golden/fuzz.py target/release/examples/render 20000 1

Arguments: the program, the number of templates, the seed, and the kind of templates: `grammar` (the default), `pieces` of syntax in any
order, or `mutants` of the golden templates. Reports texts that differ, and templates that Mako refuses and the program renders. Counts
templates that the program refuses and Mako renders, by reason.
"""

import collections
import copy
import json
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys

import common

VARIABLES = {
    "a": 1, "b": -7, "c": 12345678901, "f": 2.5, "g": -0.125, "t": True, "n": None, "s": "web server", "e": "", "q": "it's <b>&\"x\"",
    "num": "42", "zh": "中文-é", "xs": [3, 1, 2], "ys": ["b", "a", "c c", "Z9"], "zs": [],
    "d": {"a": 1, "k": "v", "list": [1, [2, None]], "z": {"y": 1.5}},
    "hosts": [{"ip": "10.0.0.1", "port": 80}, {"ip": "10.0.0.2", "port": 8080, "weight": 3}],
}
OBJECTS = {"this": {"attrib": {"x": "1"}, "cc_set": {"attrib": {"bk_set_name": "s1"}, "n": 3}}}


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.locals = []
        self.loops = 0

    def pick(self, *options):
        chosen = self.r.choice(options)
        return chosen() if callable(chosen) else chosen

    def name(self):
        return self.r.choice([*VARIABLES, *VARIABLES, "this", *self.locals])

    def number(self):
        return self.pick("0", "1", "2", "3", "7", "-1", "10", "255", "1000000", "0.5", "1.0", "3.14159", "1e3", "1e-7", "1e20", "2.675", "0x1f")

    def string(self):
        return self.pick("''", "'a'", "'b,c'", '"x y"', "'%s'", "'it\\'s'", "'\\n'", "'Ab'", "'  pad '", "'é中'", "'k=v'", "'a\\tb'", "r'\\d'")

    def form(self):
        kind = self.r.choice("sdrxoXfegcGE%i")
        flags = "".join(self.r.sample("-+ 0#", self.r.choice([0, 0, 1, 2])))
        return "%" + flags + self.pick("", "", "3", "8", "12") + self.pick("", "", ".0", ".2", ".5") + kind

    def spec(self):
        return (self.pick("", "", "*<", ">", "^", "<", "=", "x=") + self.pick("", "", "+", " ", "-") + self.pick("", "", "", "#")
                + self.pick("", "", "0") + self.pick("", "", "4", "10") + self.pick("", "", "", ",", "_") + self.pick("", "", ".2", ".0", ".7")
                + self.pick("", "", "s", "d", "f", "e", "g", "x", "b", "o", "X", "%", "G", "c"))

    def expr(self, depth=3):
        if depth <= 0:
            return self.pick(self.name, self.name, self.number, self.string, "True", "False", "None")
        e = lambda: self.expr(depth - 1 - self.r.randrange(2))
        kind = self.r.randrange(30)
        if kind < 4:
            return self.expr(0)
        if kind < 8:
            op = self.pick("+", "-", "*", "/", "//", "%", "+", "**", "&", "|", "^", "<<", ">>")
            return f"({e()} {op} {e()})"
        if kind == 8:
            return f"({e()} {self.pick('==', '!=', '<', '<=', '>', '>=', 'in', 'not in')} {e()})"
        if kind == 9:
            return f"({e()} {self.pick('<', '<=', '==')} {e()} {self.pick('<', '>', '!=')} {e()})"
        if kind == 10:
            return f"({e()} {self.pick('and', 'or')} {e()})"
        if kind == 11:
            return self.pick(f"(not {e()})", f"(-{e()})", f"(~{e()})", f"({e()} is None)", f"({e()} is not None)")
        if kind == 12:
            return f"({e()} if {e()} else {e()})"
        if kind == 13:
            return "[" + ", ".join(e() for _ in range(self.r.randrange(4))) + "]"
        if kind == 14:
            return "(" + "".join(e() + ", " for _ in range(self.r.randrange(4))) + ")"
        if kind == 15:
            return "{" + ", ".join(f"{self.pick(self.string, self.number, e)}: {e()}" for _ in range(self.r.randrange(3))) + "}"
        if kind == 16:
            v = self.pick("i", "j", "k1")
            self.locals.append(v)
            inner, condition = e(), self.pick("", f" if {e()}")
            self.locals.pop()
            source = self.pick("xs", "ys", "range(4)", "d", "s", e)
            return self.pick(f"[{inner} for {v} in {source}{condition}]", f"list({inner} for {v} in {source}{condition})",
                             f"{{{v}: {inner} for {v} in {source}{condition}}}")
        if kind == 17:
            return f"{e()}[{self.pick('0', '1', '-1', e, self.string)}]"
        if kind == 18:
            b = lambda: self.pick("", "0", "1", "-1", "2", "-2", "5")
            return f"{e()}[{b()}:{b()}{self.pick('', ':', ':2', ':-1', ':-2')}]"
        if kind == 19:
            return f"('{self.form()}' % {e()})"
        if kind == 20:
            return f"('<{self.form()}|{self.form()}>' % ({e()}, {e()}))"
        if kind == 21:
            return f"'{{:{self.spec()}}}'.format({e()})"
        if kind == 22:
            return self.pick(f"'{{}}-{{!r}}'.format({e()}, {e()})", f"'{{0}}{{1}}{{0!s:>5}}'.format({e()}, {e()})", f"'{{x}}'.format(x={e()})",
                             "'{0[ip]}:{0[port]:05d}'.format(hosts[0])", "'{0.cc_set.n}'.format(this)")
        if kind == 23:
            return "f'{" + self.pick("a", "s", "f", "num", "d[\"k\"]", "xs", "a + 1", "t", "n") + self.pick("", "!r", "!s") + self.pick("", "", ":" + self.spec()) + "}'"
        if kind < 26:
            return self.method(e)
        return self.function(e)

    def method(self, e):
        owner = self.pick("s", "q", "num", "zh", "ys[0]", self.string, e)
        return owner + self.pick(
            ".upper()", ".lower()", ".strip()", ".split()", ".title()", ".capitalize()", ".swapcase()", f".split({self.string()})",
            f".rsplit({self.string()}, 1)", ".splitlines()", f".replace({self.string()}, {self.string()})", f".find({self.string()})",
            f".count({self.string()})", f".startswith({self.string()})", f".endswith(('r', 'x'))", f".zfill({self.number()})",
            f".center({self.number()}, '*')", f".ljust(9, '.')", ".rjust(9)", f".strip({self.string()})", ".lstrip()", ".rstrip('er')",
            f".partition({self.string()})", f".rpartition({self.string()})", f".join({self.pick('ys', 'xs', 's', e)})", ".isdigit()",
            ".isalpha()", ".isalnum()", ".islower()", ".isupper()", ".isspace()", f".index({self.string()})", f".rfind({self.string()})",
            f".find({self.string()}, 1)", f".split(None, 1)", ".expandtabs(4)", f".removeprefix({self.string()})", f".get({self.string()}, {self.number()})",
            ".items()", ".keys()", ".values()", ".copy()", f".index({e()})", f".count({e()})", ".get('a')")

    def function(self, e):
        return self.pick(
            lambda: f"str({e()})", lambda: f"int({e()})", lambda: f"float({e()})", lambda: f"len({e()})", lambda: f"bool({e()})",
            lambda: f"list({e()})", lambda: f"tuple({e()})", lambda: f"sorted({e()})", lambda: f"sorted({e()}, key=str, reverse=True)",
            lambda: f"sorted(set({e()}))", lambda: f"max({e()})", lambda: f"min({e()}, {e()})", lambda: f"sum({e()})", lambda: f"abs({e()})",
            lambda: f"any({e()})", lambda: f"all({e()})", lambda: f"list(enumerate({e()}))", lambda: f"list(zip({e()}, {e()}))",
            lambda: f"list(reversed({e()}))", lambda: f"list(range({self.number()}))", lambda: f"list(map(str, {e()}))", lambda: f"repr({e()})",
            lambda: f"round({e()})", lambda: f"round({e()}, {self.pick('0', '1', '2')})", lambda: f"divmod({e()}, {e()})", lambda: f"hex({e()})",
            lambda: f"chr({e()})", lambda: f"ord({e()})", lambda: f"dict({e()})", lambda: f"isinstance({e()}, {self.pick('int', 'str', '(list, tuple)', 'float', 'bool')})",
            lambda: f"list(filter(None, {e()}))", lambda: f"(lambda x, y=2: [x, y])({e()})", lambda: f"int({self.string()}, 16)",
            lambda: f"format({e()}, '{self.spec()}')", lambda: f"max({e()}, key=str)", lambda: f"len(set({e()}))", lambda: f"hasattr({e()}, 'items')")

    def text(self):
        return self.pick("plain\n", "x = ", "\n", "  indent\n", "a \\\nb\n", "%% percent\n", "\t%%%\n", "# hash\n", "## gone\n", "  ## gone too\n", "$ { } \\ %\n",
                         "50%\n", "<a>", "<%doc>no ${x}</%doc>", "<%text>${raw} % if\n## x</%text>\n", "#\n", "end\r\n", "\\\r\ncr\r\n", "\n\n", "é中\n")

    def output(self):
        filters = self.pick("", "", "", " | h", " | u", "|trim", " | x", " | h,trim", "|n", "|trim,u", " | str", "|n,h")
        return "${" + self.pick("", " ") + self.expr(self.r.randrange(1, 4)) + filters + "}" + self.pick("", "\n", " ", ";\n")

    def control(self, depth):
        i = self.pick("", "  ", "\t")
        if self.r.random() < 0.5:
            out = f"{i}% if {self.expr(2)}:{self.pick('', '  # why')}\n{self.nodes(depth - 1)}\n"
            if self.r.random() < 0.4:
                out += f"{i}% elif {self.expr(2)}:\n{self.nodes(depth - 1)}\n"
            if self.r.random() < 0.5:
                out += f"{i}% else:\n{self.nodes(depth - 1)}\n"
            return out + f"{i}% endif\n"
        v = self.pick("x", "y", "i")
        target, source = self.pick((v, "xs"), (v, "range(3)"), (v, "hosts"), (v, "ys"), (f"{v}, w", "d.items()"), (f"{v}, w", "enumerate(ys)"), (v, "s"), (v, self.expr(2)),
                                   (v, "sorted(d)"), (f"{v}, (w, u)", "[(1, (2, 3)), (4, (5, 6))]"))
        self.locals += [v, v]
        self.loops += 1
        body = self.nodes(depth - 1)
        if self.r.random() < 0.5:
            body += "${" + self.pick("loop.index", "loop.first", "loop.last", "loop.even", "loop.odd", "loop.reverse_index", "loop.cycle('a', 'b')", "loop.parent") + "}\n"
        if self.r.random() < 0.2:
            body += f"\n% if {self.expr(1)}:\n<% {self.pick('break', 'continue')} %>\n% endif\n"
        self.loops -= 1
        del self.locals[-2:]
        otherwise = self.pick("", "", "", "% else:\nnone left\n")
        return f"{i}% for {target} in {source}:\n{body}\n{otherwise}{i}% endfor\n"

    def block(self):
        v = self.pick("v1", "v2", "v3")
        self.locals.append(v)
        body = self.pick(
            lambda: f"{v} = {self.expr(3)}", lambda: f"{v} = 0\n    for k in range(5):\n        if k % 2:\n            continue\n        {v} += k",
            lambda: f"{v} = []\n    for k in xs:\n        {v}.append(k * 2)\n    {v}.sort()", lambda: f"{v}, w1 = 1, {self.expr(2)}",
            lambda: f"def {v}(x, y={self.expr(1)}):\n        return (x, y)\n    {v} = {v}({self.expr(1)})",
            lambda: f"{v} = {{}}\n    {v}['k'] = {self.expr(2)}\n    {v}.update(a=1)\n    del {v}['a']", lambda: f"{v} = dict(d)\n    {v}['n'] = {self.expr(1)}",
            lambda: f"{v} = xs[:]\n    {v} += [9]; {v}.insert(0, 'z')\n    # a comment\n    {v}.reverse()", lambda: f"if {self.expr(2)}: {v} = 1\n    else: {v} = 2",
            lambda: f"{v} = '''a\n  b\n'''")
        return f"<%\n    {body}\n%>{self.pick('', chr(10))}"

    def nodes(self, depth):
        out = ""
        for _ in range(self.r.randrange(1, 4)):
            kind = self.r.random()
            if kind < 0.35:
                out += self.text()
            elif kind < 0.75:
                out += self.output()
            elif kind < 0.85:
                out += self.block()
            elif depth > 0:
                out += ("" if out == "" or out.endswith("\n") else "\n") + self.control(depth)
        return out

    def pieces(self):
        """Pieces of syntax in any order, to compare the lexers."""
        many = ["${a}", "${s}", "${ num | h }", "${'}'}", "${ {'a': 1}['a'] }", "<% w = 1 %>", "<%\n  w = 2\n%>", "% if a:\n", "% if e:\n", "% elif t:\n", "% else:\n",
                "% endif\n", "% endif\n", "% for x in xs:\n", "% endfor\n", "% endfor\n", "  % if a:\n", "\t% endif\n", "%% x", "%%", "%%%", "\n%%", "##", "## c\n", "  ## c\n",
                "## c\\\n", "#", "\\\n", "\\\r\n", "\\", "\n", "\n", "\r\n", "\r", " ", "  ", "\t", "x", "text\n", "<%doc>d</%doc>", "<%doc>\n% if\n</%doc>\n", "<%text>${x}</%text>",
                "<%text>\n% y\n</%text>", "<", "%", "$", "{", "}", "<a", "/>", "$${a}", "% endif", "% endfor", "# coding: x\n", "<%def name=\"m()\">M</%def>", "${m()}",
                "<%def name='m(p)'>\n${p}\n</%def>", "${m(1)}", "% if a: # c\n", "% for i in range(2): #c\n", "${loop.index}", "<% break %>", "<% continue %>", "${\na\n}",
                "${[i\nfor i in xs]}", "${a # c\n}", "${''' ' '''}", "<% w = '%>' %>", "${w}", "<% # it's\n w = 3 %>", "%if a:\n", "%endif\n", "% if a :\n", "% endif # c\n", "\x0b", "é"]
        found = "".join(self.r.choice(many) for _ in range(self.r.randrange(1, 12)))
        # Close open blocks more often than by chance.
        for word in ["if", "for"]:
            missing = found.count(f"% {word} ") + found.count(f"%{word} ") - found.count(f"end{word}")
            if missing > 0 and self.r.random() < 0.8:
                found += ("" if found.endswith("\n") else "\n") + f"% end{word}\n" * missing
        return found

    def template(self):
        self.locals = []
        if self.r.random() < 0.5:
            return "${" + self.expr(self.r.randrange(1, 4)) + "}"
        body = self.nodes(2)
        if self.r.random() < 0.1:
            body = "<%def name=\"cell(p, q=3)\">[${p}:${q}]</%def>" + body + "${cell(" + self.expr(1) + ")}${capture(cell, 1, q=2)}"
        return body


def mutant(r, texts):
    """A golden template with a few parts removed, inserted, doubled or exchanged."""
    text = r.choice(texts)
    begin = r.randrange(len(text))
    text = text[begin : begin + 400] if r.random() < 0.5 else text
    for _ in range(r.randrange(1, 5)):
        i, j = sorted(r.randrange(len(text) + 1) for _ in range(2))
        j = min(j, i + r.choice([1, 1, 2, 5, 20]))
        other = r.choice(texts)
        k = r.randrange(len(other))
        piece = r.choice(["", "", text[i:j] * 2, other[k : k + r.choice([1, 3, 10, 40])], r.choice("${}<%>\n\\#|()[]'\":,. =+-*/")])
        text = text[:i] + piece + text[j:]
    return text


def made(kind, count, seed):
    """The templates, the context, and whether Mako must refuse undefined variables."""
    if kind == "mutants":
        here = pathlib.Path(__file__).parent
        context = json.loads((here / "context.json").read_text())
        texts = [path.read_bytes().decode() for path in sorted((here / "cases").glob("*.mako"))]
        texts = [text for text in texts if text and "Ginclude" not in text and "**" not in text and "range" not in text]
        r = random.Random(seed)
        return [mutant(r, texts) for _ in range(count)], context, False
    makers = [Maker(seed * 1_000_003 + i) for i in range(count)]
    templates = [maker.pieces() if kind == "pieces" else maker.template() for maker in makers]
    return templates, {"variables": VARIABLES, "objects": OBJECTS}, True


class TookTooLong(Exception):
    pass


def too_long(*_):
    raise TookTooLong


def main():
    program, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    templates, context, strict = made(sys.argv[4] if len(sys.argv) > 4 else "grammar", count, seed)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    signal.signal(signal.SIGALRM, too_long)
    lines = [json.dumps({"text": text, **context}) for text in templates]
    ours = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True).stdout
    ours = [json.loads(line) for line in ours.split("\n") if line]
    assert len(ours) == count
    same = both_refuse = 0
    wrong, looser, stricter = [], [], collections.Counter()
    examples = {}
    for text, answer in zip(templates, ours):
        if answer.get("error", "").endswith("unexpectedly"):
            wrong.append((text, "", answer["error"]))
            continue
        try:
            signal.alarm(5)
            mako = common.render(text, copy.deepcopy(context["variables"]), context["objects"], {}, strict)
            signal.alarm(0)
        except (RecursionError, MemoryError, TookTooLong):
            continue
        except Exception as error:
            if "text" in answer:
                looser.append((text, f"{type(error).__name__}: {error}", answer["text"]))
            else:
                both_refuse += 1
            continue
        if "text" not in answer:
            reason = re.sub(r"line \d+|\"[^\"]*\"|'[^']*'", "_", answer["error"])
            stricter[reason] += 1
            examples.setdefault(reason, text)
        elif answer["text"] == mako:
            same += 1
        else:
            wrong.append((text, mako, answer["text"]))
    for text, mako, found in wrong[:10]:
        print(f"DIFFERS\n{text!r}\n  mako: {mako!r}\n  ours: {found!r}")
    for text, error, found in looser[:10]:
        print(f"ONLY OURS\n{text!r}\n  mako: {error}\n  ours: {found!r}")
    for reason, times in stricter.most_common(40):
        print(f"ONLY MAKO {times}: {reason}\n     {examples[reason]!r}")
    print(f"{count} templates: {same} same, {both_refuse} refused by both, {len(wrong)} differ, {len(looser)} only ours, {sum(stricter.values())} only Mako")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
