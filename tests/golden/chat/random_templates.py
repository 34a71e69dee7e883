"""Random templates: expressions of types that mostly go together, in random statements."""

import random

from snippets import CONTEXT

STRINGS = ["''", "'a'", "'Hello World'", "'  x y '", "'a,b,,c'", "'ÄÖ ß東🙂'", "'<b>&'", "\"it's\"", "'a\\nb\\n\\nc'", "'12'", "'3.5'", "'x1_y'", "'AbC'"]
NAMES_STRING = ["s", "u", "empty", "ws", "lines", "html", "names[0]", "users[0].name", "users[1]['city']"]
NAMES_INT = ["n", "neg", "l[0]", "d.a", "users[0].age", "l|length"]
NAMES_LIST = ["l", "names", "mixed", "users", "floats", "users[0].tags", "range(4)|list", "d.keys()|list", "(1, 2, 3)", "range(3)"]
NAMES_DICT = ["d", "users[0]", "keys", "users[2].address", "{'k': 1, 'a': 'b'}", "{}", "dict(a=1, z=[])"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

    def pick(self, options):
        return self.random.choice(options)

    def chance(self, part):
        return self.random.random() < part

    # Expressions, each in parentheses where it might not stand alone.

    def any(self, depth):
        kind = self.random.random()
        if kind < 0.3:
            return self.string(depth)
        if kind < 0.5:
            return self.integer(depth)
        if kind < 0.62:
            return self.list(depth)
        if kind < 0.7:
            return self.dict(depth)
        if kind < 0.85:
            return self.boolean(depth)
        if kind < 0.92:
            return self.number(depth)
        return self.pick(["none", "undefined_thing", "d.missing", "users[0].nope", "x", "t", "f", "true", "false"])

    def string(self, depth):
        if depth <= 0:
            return self.pick(STRINGS + NAMES_STRING)
        a = lambda: self.string(depth - 1)
        i = lambda: self.integer(depth - 1)
        forms = [
            lambda: f"({a()} + {a()})",
            lambda: f"({a()} ~ {self.any(depth - 1)})",
            lambda: f"({a()} * {self.pick(['0', '1', '2', '3', '-1'])})",
            lambda: f"{a()}[{self.slice(depth)}]",
            lambda: f"{a()}|{self.pick(['upper', 'lower', 'title', 'capitalize', 'trim', 'reverse', 'string', 'e', 'escape', 'urlencode', 'indent', 'safe', 'forceescape'])}",
            lambda: f"{a()}.{self.pick(['upper', 'lower', 'title', 'capitalize', 'strip', 'lstrip', 'rstrip', 'swapcase', 'casefold'])}()",
            lambda: f"{a()}.{self.pick(['strip', 'lstrip', 'rstrip', 'removeprefix', 'removesuffix'])}({a()})",
            lambda: f"{a()}.replace({a()}, {a()})",
            lambda: f"{a()}|replace({a()}, {a()}{self.pick(['', ', 1', ', 2', ', 0'])})",
            lambda: f"{a()}|default({a()}{self.pick(['', ', true'])})",
            lambda: f"{a()}|truncate({self.pick(['5', '3', '8', '10'])}, {self.pick(['true', 'false'])}, {self.pick(['´´', '´..´', '´…´'])}, {self.pick(['0', '1', '3'])})",
            lambda: f"{a()}|indent({self.pick(['2', '4', 'first=true', '3, blank=true', '´> ´'])})",
            lambda: f"{self.list(depth - 1)}|join({a()})",
            lambda: f"{self.any(depth - 1)}|tojson",
            lambda: f"{self.any(depth - 1)}|tojson({self.pick(['indent=2', 'sort_keys=true', 'ensure_ascii=true', 'indent=1, separators=(´,´, ´:´)'])})",
            lambda: f"{self.any(depth - 1)}|string",
            lambda: f"({a()} if {self.boolean(depth - 1)} else {a()})",
            lambda: f"({a()} or {a()})",
            lambda: f"({a()} and {a()})",
            lambda: f"'%s|%s' % ({self.any(depth - 1)}, {self.any(depth - 1)})",
            lambda: f"'%{self.pick(['5', '-5', '05', '+', '', '.2'])}{self.pick(['d', 's', 'f', 'x', 'e', 'g', 'r'])}' % {self.pick([i, a, lambda: self.number(depth - 1)])()}",
            lambda: f"'{{}}-{{!r}}'.format({self.any(depth - 1)}, {self.any(depth - 1)})",
            lambda: f"'{{:{self.pick(['>8', '<8', '^8', '*^9', '05', ',', '.2f', 'x', '+', '.3', 'e', 'g', '%'])}}}'.format({self.any(depth - 1)})",
            lambda: f"{a()}.{self.pick(['center', 'ljust', 'rjust', 'zfill'])}({self.pick(['3', '8', '11'])})",
            lambda: f"{a()}.split({self.pick(['', a()])})|join('|')",
            lambda: f"{a()}.{self.pick(['split', 'rsplit'])}({a()}, {self.pick(['1', '2', '0'])})|last",
            lambda: f"{a()}.splitlines()|join('/')",
            lambda: f"{a()}.{self.pick(['partition', 'rpartition'])}({a()})|{self.pick(['first', 'last'])}",
            lambda: f"{a()}.join({self.pick(['names', 'd', '´xyz´', 'users[0].tags'])})",
            lambda: f"{self.dict(depth - 1)}.get({a()}, {a()})",
            lambda: f"{a()}|{self.pick(['first', 'last', 'min', 'max'])}",
            lambda: f"{a()}[{i()}]",
            lambda: f"{a()}|center({self.pick(['5', '12'])})",
        ]
        return self.pick(forms)()

    def slice(self, depth):
        bound = lambda: self.pick(["", "", "1", "2", "-1", "-3", "5", "0", "100", "-100"])
        if self.chance(0.3):
            return f"{bound()}:{bound()}:{self.pick(['1', '2', '-1', '-2', ''])}"
        return f"{bound()}:{bound()}"

    def integer(self, depth):
        if depth <= 0:
            return self.pick(["0", "1", "2", "7", "-3", "10", "100"] + NAMES_INT)
        a = lambda: self.integer(depth - 1)
        forms = [
            lambda: f"({a()} {self.pick(['+', '-', '*', '//', '%'])} {a()})",
            lambda: f"({a()} ** {self.pick(['0', '1', '2', '3'])})",
            lambda: f"(-{a()})",
            lambda: f"{self.list(depth - 1)}|length",
            lambda: f"{self.string(depth - 1)}|{self.pick(['length', 'count', 'wordcount', 'int'])}",
            lambda: f"{self.string(depth - 1)}.{self.pick(['find', 'rfind', 'count'])}({self.string(depth - 1)})",
            lambda: f"{self.number(depth - 1)}|{self.pick(['int', 'round|int', 'abs'])}",
            lambda: f"({a()} if {self.boolean(depth - 1)} else {a()})",
            lambda: f"[{a()}, {a()}]|{self.pick(['max', 'min', 'sum', 'first', 'last'])}",
            lambda: f"{self.dict(depth - 1)}|length",
            lambda: f"{a()}|abs",
        ]
        return self.pick(forms)()

    def number(self, depth):
        if depth <= 0:
            return self.pick(["x", "1.5", "0.1", "-2.25", "3.0", "1e3", "2.675", "floats[0]", "floats[3]"])
        a = lambda: self.pick([self.integer, self.number])(depth - 1)
        forms = [
            lambda: f"({a()} {self.pick(['+', '-', '*', '/', '//', '%'])} {a()})",
            lambda: f"{a()}|round({self.pick(['', '1', '2', '0, ´floor´', '1, ´ceil´'])})",
            lambda: f"{self.string(depth - 1)}|float",
            lambda: f"{a()}|float",
            lambda: f"(-{a()})",
        ]
        return self.pick(forms)()

    def list(self, depth):
        if depth <= 0:
            return self.pick(NAMES_LIST)
        a = lambda: self.list(depth - 1)
        test = lambda: self.pick(["'string'", "'number'", "'defined'", "'none'", "'odd'", "'gt', 1", "'equalto', 'a'", "'in', [1, 'a', 'bob']", "'mapping'", "'iterable'", "'sameas', none"])
        attribute = lambda: self.pick(["'name'", "'age'", "'city'", "'address.zip'", "'tags.0'", "'nope'", "0"])
        forms = [
            lambda: "[" + ", ".join(self.any(depth - 1) for _ in range(self.random.randrange(4))) + "]",
            lambda: f"({self.any(depth - 1)}, {self.any(depth - 1)})",
            lambda: f"({a()}|list + {a()}|list)",
            lambda: f"{a()}[{self.slice(depth)}]",
            lambda: f"{a()}|{self.pick(['list', 'reverse|list', 'unique|list', 'sort', 'sort(reverse=true)'])}",
            lambda: f"{a()}|map({self.pick(['´string´', '´upper´', '´length´', '´default´, 1', '´int´', '´tojson´', '´first´', '´trim´'])})|list",
            lambda: f"{a()}|map(attribute={attribute()}{self.pick(['', ', default=0'])})|list",
            lambda: f"{a()}|{self.pick(['select', 'reject'])}({self.pick(['', test()])})|list",
            lambda: f"users|{self.pick(['selectattr', 'rejectattr'])}({attribute()}{self.pick(['', ', ' + test()])})|list",
            lambda: f"{self.string(depth - 1)}.split({self.pick(['', self.string(0)])})",
            lambda: f"{self.string(depth - 1)}|list",
            lambda: f"{self.dict(depth - 1)}|{self.pick(['dictsort', 'items|list', 'list', 'dictsort(by=´value´)'])}",
            lambda: f"{self.dict(depth - 1)}.{self.pick(['items', 'keys', 'values'])}(){self.pick(['', '|list'])}",
            lambda: f"{a()}|{self.pick(['batch', 'slice'])}({self.pick(['1', '2', '3', '2, 0'])})|list",
            lambda: f"range({self.pick(['3', '1, 5', '5, 0, -2', '0'])})|list",
            lambda: f"users|groupby({attribute()}{self.pick(['', ', default=´´'])})|{self.pick(['list', 'map(´first´)|list', 'map(attribute=´grouper´)|list'])}",
            lambda: f"users|sort(attribute={self.pick(['´name´', '´age´', '´age,name´', '´city,age´'])})|map(attribute='name')|list",
        ]
        return self.pick(forms)()

    def dict(self, depth):
        if depth <= 0:
            return self.pick(NAMES_DICT)
        forms = [
            lambda: "{" + ", ".join(f"{self.pick(STRINGS)}: {self.any(depth - 1)}" for _ in range(self.random.randrange(4))) + "}",
            lambda: f"dict({self.dict(depth - 1)}, q={self.any(depth - 1)})",
            lambda: f"{self.dict(depth - 1)}",
            lambda: f"{{{self.integer(0)}: {self.any(depth - 1)}}}",
        ]
        return self.pick(forms)()

    def boolean(self, depth):
        if depth <= 0:
            return self.pick(["t", "f", "true", "false", "n is odd", "none is none", "undefined_thing is defined", "d.a is defined"])
        a = lambda: self.boolean(depth - 1)
        v = lambda: self.any(depth - 1)
        i = lambda: self.integer(depth - 1)
        s = lambda: self.string(depth - 1)
        test = self.pick(["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "iterable", "sequence", "callable", "true", "false", "upper", "lower", "escaped"])
        forms = [
            lambda: f"({a()} {self.pick(['and', 'or'])} {a()})",
            lambda: f"(not {a()})",
            lambda: f"({i()} {self.pick(['<', '<=', '>', '>=', '==', '!='])} {self.pick([i, lambda: self.number(depth - 1)])()})",
            lambda: f"({s()} {self.pick(['<', '<=', '>', '>=', '==', '!='])} {s()})",
            lambda: f"({v()} {self.pick(['==', '!='])} {v()})",
            lambda: f"({s()} {self.pick(['in', 'not in'])} {s()})",
            lambda: f"({v()} {self.pick(['in', 'not in'])} {self.list(depth - 1)})",
            lambda: f"({s()} {self.pick(['in', 'not in'])} {self.dict(depth - 1)})",
            lambda: f"({v()} is {self.pick(['', 'not '])}{test})",
            lambda: f"({i()} is {self.pick(['odd', 'even', 'divisibleby 3', 'gt 2', 'le(5)', 'in [1, 2, 3]', 'eq 7'])})",
            lambda: f"{s()}.{self.pick(['startswith', 'endswith'])}({s()})",
            lambda: f"{s()}.{self.pick(['isdigit', 'isalpha', 'isspace', 'isupper', 'islower', 'istitle', 'isalnum', 'isdecimal', 'isnumeric', 'isidentifier', 'isprintable', 'isascii'])}()",
            lambda: f"({i()} < {i()} <= {i()})",
        ]
        return self.pick(forms)()

    # Statements.

    def space(self):
        return self.pick(["", "", " ", "\n", "\n  ", " x ", "\n\n", "  \n y\n"])

    def tag(self, text):
        return "{%" + self.pick(["", "", "", "-", "+"]) + " " + text + " " + self.pick(["", "", "", "-", "+"]) + "%}"

    def output(self):
        return "{{" + self.pick(["", "", "-"]) + " " + self.any(self.random.randrange(3)) + " " + self.pick(["", "", "-"]) + "}}"

    def name(self):
        return self.pick(["va", "vb", "n", "s", "item"])

    def statements(self, depth, in_loop=False):
        return "".join(self.space() + self.statement(depth, in_loop) for _ in range(self.random.randrange(1, 4))) + self.space()

    def statement(self, depth, in_loop):
        if depth <= 0:
            return self.output()
        body = lambda loop=in_loop: self.statements(depth - 1, loop)
        name = self.name()
        self.names += 1
        number = self.names
        forms = [
            self.output,
            self.output,
            lambda: self.tag(f"if {self.boolean(1)}") + body() + self.pick(["", self.tag("else") + body(), self.tag(f"elif {self.boolean(1)}") + body() + self.tag("else") + body()]) + self.tag("endif"),
            lambda: self.tag(f"for item in {self.list(1)}{self.pick(['', '', ' if ' + self.boolean(1)])}") + self.pick(["{{ loop.index }}", "{{ loop.last }}", "{{ loop.length }}", "{{ loop.revindex0 }}", "{{ loop.nextitem }}", "{{ loop.previtem }}", "{{ loop.changed(n) }}", "{{ loop.cycle('a', 'b') }}", "", ""]) + body(True) + self.pick(["", self.tag("else") + body()]) + self.tag("endfor"),
            lambda: self.tag(f"for va, vb in {self.dict(1)}.items()") + "{{ va }}={{ vb }}" + body(True) + self.tag("endfor"),
            lambda: self.tag(f"set {name} = {self.any(2)}") + "{{ " + name + " }}",
            lambda: self.tag(f"set {name}{self.pick(['', ' | upper', ' | trim'])}") + body() + self.tag("endset") + "{{ " + name + " }}",
            lambda: self.tag(f"macro m{number}(va, vb={self.any(1)})") + body(False) + self.pick(["", "{{ caller() if caller else '' }}", "{{ varargs }}", "{{ kwargs }}"]) + self.tag("endmacro") + f"{{{{ m{number}({self.any(1)}) }}}}",
            lambda: self.tag(f"with va = {self.any(1)}, vb = n") + "{{ va }}" + body() + self.tag("endwith"),
            lambda: self.tag(f"filter {self.pick(['upper', 'trim', 'title', 'replace(´a´, ´b´)'])}") + body() + self.tag("endfilter"),
            lambda: self.tag("generation") + body(False) + self.tag("endgeneration"),
            lambda: self.tag(f"set ns{number} = namespace(v={self.any(1)})") + self.tag("for item in l") + self.tag(f"set ns{number}.v = {self.pick(['item', f'[ns{number}.v, item]', f'ns{number}.v ~ item'])}") + self.tag("endfor") + f"{{{{ ns{number}.v }}}}",
            lambda: self.tag("raw") + " {{ x }} " + self.tag("endraw"),
            lambda: "{#" + self.pick(["", "-"]) + " comment " + self.pick(["", "-"]) + "#}",
        ]
        if in_loop:
            forms.append(lambda: self.tag(f"if {self.boolean(1)}") + self.tag(self.pick(["break", "continue"])) + self.tag("endif"))
        return self.pick(forms)()


def quoted(text):
    """An acute stands for a quote in the forms above."""
    return text.replace("´", '"')


def expression(seed):
    maker = Maker(f"expression {seed}")
    return quoted("{{ " + maker.any(maker.random.randrange(1, 4)) + " }}")


def template(seed):
    maker = Maker(f"template {seed}")
    return quoted(maker.statements(maker.random.randrange(1, 4)))
