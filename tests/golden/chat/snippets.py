"""Small templates, each about one thing of the language, with the contexts that they are rendered in."""

CONTEXT = {
    "n": 7,
    "neg": -7,
    "x": 2.5,
    "t": True,
    "f": False,
    "none": None,
    "s": "Hello, World",
    "u": "Größe 東京 🙂ab",
    "empty": "",
    "ws": "  \t padded \n ",
    "lines": "a\n\n  b\r\nc\n",
    "l": [3, 1, 2],
    "names": ["bob", "Alice", "carl", "alice"],
    "mixed": [1, "a", None, True, 2.0, [1], {"k": "v"}],
    "d": {"b": 1, "a": 2, "C": 3},
    "users": [
        {"name": "Ann", "age": 31, "city": "Ulm", "tags": ["x", "y"], "address": {"zip": "89"}},
        {"name": "bob", "age": 25, "city": "ulm", "tags": [], "address": {"zip": "12"}},
        {"name": "Cid", "age": 31, "city": "Bonn", "tags": ["z"], "address": {}},
    ],
    "tree": [{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4, "c": []}]}]}, {"v": 5, "c": []}],
    "html": "<b>\"x\" & 'y'</b>",
    "keys": {"items": 1, "get": 2, "0": "zero", "with space": 3},
    "big": 9007199254740993,
    "floats": [0.1, 1e16, 1e-5, 123456789.125, 1e22, -0.0, 3.0, 2.675, 1e300],
}

EXPRESSIONS = r"""
1 + 2 * 3 - 4 / 2
7 // 2, -7 // 2, 7 % 3, -7 % 3, 7 % -3, 7.5 // 2, -7.5 % 2
2 ** 10, 2 ** -1, 2 ** 3 ** 2, -2 ** 2, 2.0 ** 0.5
1 / 2, 4 / 2, 1 / 3
10 == 10.0, 1 == true, '1' == 1, [1, 2] == [1, 2], {'a': 1} == {'a': 1.0}, (1,) == [1]
1 < 2 < 3, 1 < 3 < 2, 1 < 2 == true, 'a' < 'b', [1, 2] < [1, 3]
not true, not none, not '', not [], not 0, not 'x'
true and false, 1 and 2, 0 and 2, '' or 'x', none or 0
'a' in 'abc', 'z' not in 'abc', 1 in [1, 2], 'b' in d, 3 in d, 'x' in undefined_thing
'a' ~ 1 ~ none ~ true ~ 1.5 ~ [1, 'x'], 1 ~ 2
'a' 'b' "c", 'it\'s', "a\tb\\n\x41\u00e9\101\q"
s[0], s[-1], s[1:4], s[::-1], s[::2], s[-3:], s[:-3], s[10:2:-3], u[::-1], u[2:8], u[-4]
l[0], l[-1], l[1:], l[::-1], l[5:], l[:-1], l[::2], (1, 2, 3)[1:], range(5)[1:4]
d.a, d['b'], d.missing, d['missing'], d.items is callable, keys['items'], keys.get is callable, keys['0'], keys['with space']
d.get('a'), d.get('z'), d.get('z', 5), d.keys()|list, d.values()|list, d.items()|list, d.items()
l.index(1), l.count(3), (1, 2, 1).count(1), l.0, mixed.5.0
[1, 'a', 2.0, none, true, [], {}, (), (1,), {'k': [1]}], {'a': 1, 2: 'b', none: true, 1.5: 0}
"it's", 'say "x"', ["it's", 'say "x"', 'both \' and "', '\n\t\\', u, '\x00\x7f\u00ad\u2028']
undefined_thing, undefined_thing is defined, [undefined_thing], undefined_thing == other_thing
1 if true else 2, 1 if false, (1 if false) is defined, 'a' if n > 5 else 'b' if n > 3 else 'c'
n is number, n is integer, x is float, x is number, t is boolean, t is number, t is integer, s is string
l is iterable, s is iterable, d is iterable, n is iterable, d is mapping, l is mapping, l is sequence, d is sequence, none is none
n is odd, n is even, n is divisibleby 7, n is divisibleby(2), 6 is divisibleby 3
s is upper, 'ABC' is upper, 'abc' is lower, '123' is upper, u is lower
n is eq 7, n is equalto(7), n is ne 8, n is gt 3, n is ge 7, n is lt 3, n is le 7, n is greaterthan 8, n is lessthan 8, n is in [7], 'a' is in 'abc'
t is true, f is false, 1 is true, none is sameas none, t is sameas true, 1 is sameas 1
undefined_thing is undefined, undefined_thing is iterable, undefined_thing is mapping, undefined_thing is sequence, range is callable, n is callable, 'upper' is filter, 'nope' is filter, 'odd' is test
n is not odd, not n is odd, n is odd and t
s|upper, s|lower, s|title, s|capitalize, 'foo-bar (baz) [x] <y> it\'s'|title, 'ÄÖÜ ß ǆ'|title
s|length, l|length, d|count, u|length, undefined_thing|length
l|first, l|last, s|first, s|last, []|first, []|last, d|first, d|last
l|sort, names|sort, names|sort(case_sensitive=true), l|sort(reverse=true), users|sort(attribute='age')|map(attribute='name')|list, users|sort(attribute='city,age')|map(attribute='name')|join(',')
l|min, l|max, names|min, names|max(case_sensitive=true), []|min, users|max(attribute='age')
l|sum, users|sum(attribute='age'), l|sum(start=10), [[1], [2]]|sum(start=[])
l|join(','), l|join, names|join(', '), users|join(', ', attribute='name'), s|join('-'), d|join(',')
l|reverse|list, s|reverse, d|reverse|list, (1, 2)|reverse|list
names|unique|list, names|unique(true)|list, users|unique(attribute='age')|map(attribute='name')|list
names|map('upper')|list, users|map(attribute='name')|list, users|map(attribute='address.zip')|list, users|map(attribute='address.zip', default='?')|list, users|map(attribute='tags.0', default='-')|list, l|map('string')|list, names|map('replace', 'a', 'A')|list
l|select('odd')|list, l|reject('odd')|list, mixed|select|list, mixed|reject|list, l|select('gt', 1)|list, mixed|select('string')|list, names|select('in', ['bob'])|list
users|selectattr('age', 'gt', 30)|map(attribute='name')|list, users|rejectattr('tags')|map(attribute='name')|list, users|selectattr('address.zip', 'defined')|list|length, users|selectattr('name', 'equalto', 'Ann')|first
users|groupby('age')|list, users|groupby('city')|list|length, users|groupby('city', case_sensitive=true)|map('first')|list, users|groupby('address.zip', default='0')|map('first')|list
d|dictsort, d|dictsort(true), d|dictsort(false, 'value'), d|dictsort(reverse=true), d|items|list
mixed|list, s|list, d|list, u|list, range(3)|list, range(2, 10, 3)|list, range(5, 0, -2)|list, range(0), range(1, 5), range(1, 9, 2)
s|replace('o', '0'), s|replace('o', '0', 1), s|replace('', '-'), 'aaa'|replace('a', 'b', count=2), n|replace(7, 8)
ws|trim, 'xxaxx'|trim('x'), ws|trim ~ '|'
lines|indent, lines|indent(2, true), lines|indent('> ', first=true, blank=true), lines|indent(width=3)
'the quick brown fox jumps'|truncate(12), 'the quick brown fox jumps'|truncate(12, true), 'the quick brown fox jumps'|truncate(20), 'the quick brown fox jumps'|truncate(12, false, '…', 0), u|truncate(5, true, '', 0)
'the quick, brown fox_1'|wordcount, u|wordcount
html|escape, html|e, html|safe, (html|safe) ~ html, html|e|e, html|forceescape, (html|safe)|upper, (html|safe) + '<', '<' + (html|safe), [html|safe], (html|safe)|replace('<', '>'), 'a <b>'|urlencode
{'a b': 'c&d', 'e': 1}|urlencode, 'a/b?c=d ü'|urlencode, [('x', 'y z')]|urlencode
42.55|round, 42.55|round(1), 42.55|round(1, 'floor'), 42.45|round(1, 'ceil'), 42|round, 2.5|round, 3.5|round, 2.675|round(2), 1234.5|round(-2), 15|round(-1), 25|round(-1), -2.5|round
'42'|int, '42.7'|int, 'x'|int, 'x'|int(5), '0x1f'|int(base=16), '1f'|int(0, 16), 42.9|int, true|int, none|int, '  12 '|int, '1_000'|int, '-7'|int, []|int
'42'|float, '4.25e2'|float, 'x'|float, 'x'|float(1.5), 3|float, 'inf'|float, none|float, '.5'|float, '5.'|float, '1e400'|float
n|abs, neg|abs, -2.5|abs, true|abs
floats, floats|map('string')|join(' '), 1e15, 1e16, 123456789012345678, 0.1 + 0.2, 1e100, 5e-324, 1.0, -0.0
mixed|tojson, d|tojson, users[0]|tojson, u|tojson, html|tojson, "a\"\\\n\t\r\x08\x0c\x01/\x7f"|tojson
d|tojson(indent=2), users|tojson(indent=4), []|tojson(indent=2), {}|tojson(indent=2), {'a': []}|tojson(indent=1), d|tojson(separators=(',', ':')), d|tojson(sort_keys=true), u|tojson(ensure_ascii=true), d|tojson(indent='--'), d|tojson(indent=0), floats|tojson, {1: 2, none: 3, true: 4, 1.5: 5}|tojson, (1, 2)|tojson
undefined_thing|default('x'), d.missing|d(1), none|default('x'), none|default('x', true), ''|default('x', boolean=true), undefined_thing|default
l|slice(2)|list, range(10)|slice(3)|list, range(10)|slice(3, 'x')|list, range(7)|batch(3)|list, range(7)|batch(3, 0)|list
'%s and %s'|format('a', 1), '%d%%'|format(5), '%(a)s-%(b)05d'|format(a='x', b=42), '%5.2f|%-8s|%+d|%x|%X|%o|%e|%g|%c|%r'|format(3.14159, 'ab', 5, 255, 255, 8, 12345.678, 0.0001, 'z', 'q')
'%s' % 'x', '%s %s' % (1, [2]), '%(k)s' % {'k': 'v'}, '%05d' % 42, '%-5s|' % 'a', '%.3s' % 'abcdef', '%5s|' % u[:2], '%s' % none, '%i' % 3.9
'{} {}'.format(1, 'a'), '{0} {1} {0}'.format(1, 2), '{a.b} {c[0]} {d[k]}'.format(a={'b': 1}, c=[2], d={'k': 3}), '{:>5}|{:<5}|{:^5}|{:*^7}'.format(1, 2, 3, 'x'), '{:05d} {:+} {:,} {:_} {:x} {:b} {:.2f} {:e} {:%} {:g}'.format(42, 1, 1234567, 1234567, 255, 5, 3.14159, 1234.5, 0.25, 1e10), '{!r} {!s}'.format('a', 'b'), '{{}}'.format(), '{:{}}'.format('a', 5), '{:.3}'.format('abcdef'), '{:.3}'.format(1234.5), '{}'.format(none)
s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase(), 'ß'.upper(), 'İ'.lower(), 'ΑΣ'.lower(), 'they\'re ok'.title(), 'ﬁ'.upper(), 'ǆ'.title(), 'ßx'.title(), 'Straße'.casefold()
ws.strip() ~ '|', ws.lstrip() ~ '|', ws.rstrip() ~ '|', 'xyabcyx'.strip('xy'), 'xyabc'.lstrip('xy'), '\u3000a\u00a0'.strip(), 'a'.strip(none)
s.split(), s.split(','), s.split('l', 1), s.rsplit('l', 1), ' a  b c '.split(none, 1), ' a  b c '.rsplit(none, 1), ''.split(), ''.split(','), lines.splitlines(), lines.splitlines(true), lines.split('\n'), 'a,b,c'.split(',', maxsplit=1), 'a\x1cb\u2028c\x85d'.splitlines(), u.split()
s.startswith('Hell'), s.startswith(('x', 'H')), s.endswith('ld'), s.startswith('W', 7), s.endswith('lo', 0, 5), s.startswith(''), s.startswith('', 50)
s.find('o'), s.find('o', 5), s.rfind('o'), s.find('z'), s.index('W'), u.find('京'), u.rfind('b'), s.count('l'), s.count(''), u.count('', 3), s.find('', 50), u.index('a', -3)
s.replace('l', 'L'), s.replace('l', 'L', 1), u.replace('東', 'x'), 'abc'.replace('', '-'), 'abc'.replace('', '-', 2)
','.join(names), ''.join(['a', 'b']), '-'.join('abc'), ', '.join(d)
'abc'.isalpha(), 'ab1'.isalnum(), '12'.isdigit(), '²'.isdigit(), '²'.isdecimal(), '½'.isnumeric(), ' '.isspace(), ''.isspace(), 'Abc'.istitle(), 'ABC'.isupper(), 'abc'.islower(), 'a b'.isidentifier(), 'äb'.isascii(), 'ab\n'.isprintable(), '東'.isalpha(), '٣'.isdigit()
'42'.zfill(5), '-42'.zfill(5), '+1'.zfill(4), 'ab'.zfill(1), 'ab'.center(7), 'ab'.center(6, '*'), 'abc'.center(6, '*'), 'ab'.ljust(5, '.') ~ '|', 'ab'.rjust(5), u.center(20, '東'), 'x'|center(6)
'a-b-c'.partition('-'), 'a-b-c'.rpartition('-'), 'abc'.partition('x'), 'abc'.rpartition('x')
'TestHook'.removeprefix('Test'), 'TestHook'.removesuffix('Hook'), 'a\tb'.expandtabs(4), 'a\tb'.expandtabs()
l + [4], (1,) + (2,), 'a' * 3, [0] * 3, 3 * 'ab', 'a' * -1, (1, 2) * 2
'b' < 'a', 'é' > 'z', [] < [1], 'Z' < 'a', 1.5 < 2, true < 2
dict(a=1, b=2), dict({'a': 1}, b=3), dict([('x', 1), ('y', 2)]), dict()
{'a': 1, 'a': 2}, {1: 'x', 1.0: 'y', true: 'z'}, {'k': {'n': [1]}}
5 .bit_length(), x.is_integer(), 3.0.is_integer()
[1, [2, [3]]][1][1][0], {'a': {'b': 'c'}}.a.b, {'a': {'b': 'c'}}['a']['b'], users[0].tags[-1], users[-1]['address']['zip']
-n, +n, - -n, -x, +true, not not n
(1, 2, 3), (1,), (), 1, 2
strftime_now('%Y-%m-%d %H:%M:%S'), strftime_now('%d %b %Y'), strftime_now('%A %B %j %p %I %y %%'), strftime_now('%-d %f %w %U')
1000000 * 1000000, 0x1F, 0b101, 0o17, 1_000, 1_0.5, 1e3, 1E-2
range(3) == range(0, 3), range(3)|list == [0, 1, 2], 3 in range(5), range(10)|sum, range(3).index(2)
l|attr('count') is callable, d|attr('a'), 1|filesizeformat, 1500|filesizeformat, 1500|filesizeformat(true), 123456789|filesizeformat
'a' is string and 1 is number or none, 1 if not none, l|length > 2 and s, (l|length) // 2 * 2 == 2
s|upper|lower|title|replace('o', 'u')|length, (s ~ '!')|upper, -1|abs, (-1)|abs
mixed[6].k, mixed[6]['k'], mixed[-1].k.upper(), (mixed[5] + [2])[1], [[1, 2], [3]]|map('first')|list, [[1, 2], [3]]|map('last')|list|string
u|upper, u|list|last, u|first, u|reverse, u[1:3] ~ u[-2:], u|e, u|urlencode
"a" if d.a == 2 else "b", d.a if d.a is defined else 0, (d.z if d.z is defined)|default('q')
loop is defined, caller is defined, namespace is defined, range is defined
true, True, false, False, none, None, TRUE is defined
'x'.upper is callable, [].append, {}.update, ''.__class__, d.__class__, l.pop
"""

ERRORS = r"""
undefined_thing.attribute
undefined_thing + 1
undefined_thing()
undefined_thing > 1
undefined_thing|int
d.missing.deeper
d['missing']['deeper']
1 + 'a'
'a' + 1
'a' + none
[1] + (2,)
none + 1
1 < 'a'
none < 1
[1] < 1
1 in 5
1 in 'abc'
1 / 0
1 // 0
1 % 0
1.0 / 0
l|join(1, 2, 3)
none|length
5|length
5|list
none|list
none|first
5|join
l|map('nope')|list
l|map|list
l|select('nope')|list
s|map('upper')|last
l|map('string')|length
[3, 'a']|sort
[none, 1]|max
{'a': 1} < {'b': 2}
l.append(1)
d.update({'a': 1})
d.pop('a')
l.sort()
n()
s()
s.nope()
s.split('')
s.index('zzz')
l.index(99)
','.join([1, 2])
'%d' % 'a'
'%s %s' % 'a'
'%s' % (1, 2)
'%(a)s' % 1
'%q' % 1
'{} {}'.format(1)
'{a}'.format(1)
'{'.format()
'{:d}'.format('a')
range(100001)
range(0, 1, 0)
range('a')
raise_exception('stop: ' ~ n)
raise_exception(u)
raise_exception(5)
raise_exception()
{[]: 1}
{{}: 1}
[[1]]|unique|list
d|tojson(5, 6, 7, 8, 9)
range(3)|tojson
undefined_thing|tojson
{(1, 2): 3}|tojson
5|round(1, 'odd')
'a'|round
'a'|abs
s|truncate(1)
5|dictsort
d|dictsort(false, 'neither')
5|items|list
''.__class__.__mro__
s.format(1).nope.deeper
namespace(1)
namespace(_a=1)
dict(1)
dict([1])
none.x.y
none[0][0]
n.x.y
l.nope.deeper
s[1:2:0]
d[1:2]
(none)[1:] ~ n
l['a'].b
5|sum
['a', 'b']|sum
users|sum
users|map(attribute='name', nope=1)|list
l|batch
'a' * 'b'
[] * []
-'a'
-none
loop.index
caller()
l|first.x
"""

SYNTAX = r"""
{{ }}
{{ 1 + }}
{{ (1 }}
{{ 1) }}
{{ [1, 2 }}
{{ 'abc }}
{{ "a' }}
{{ 1 2 }}
{{ a b }}
{{ | upper }}
{{ a | }}
{{ a | 1 }}
{{ a is }}
{{ a is is b }}
{{ a. }}
{{ a.'b' }}
{{ a[ }}
{{ a! }}
{{ a & b }}
{{ a = 1 }}
{{ a if }}
{{ f(a=1, 2) }}
{{ f(**a, *b) }}
{{ f(a=1, a=2) }}
{{ 'a' | nope }}
{{ 1 is nope }}
{% if %}x{% endif %}
{% if a %}x
{% if a %}x{% endfor %}
{% for %}x{% endfor %}
{% for a %}x{% endfor %}
{% for a in %}x{% endfor %}
{% for 1 in l %}x{% endfor %}
{% for a.b in l %}x{% endfor %}
{% for loop in l %}x{% endfor %}
{% for a in l %}{% set loop = 1 %}{% endfor %}
{% set %}
{% set a %}x
{% set 1 = 2 %}
{% set a.b.c = 2 %}
{% set a[0] = 2 %}
{% set true = 1 %}
{% set a = %}
{% macro %}{% endmacro %}
{% macro m %}{% endmacro %}
{% macro m(a=1, b) %}{% endmacro %}
{% macro m(1) %}{% endmacro %}
{% macro m() %}
{% call m() %}
{% call m %}{% endcall %}
{% endif %}
{% else %}
{% nope %}
{% break %}
{% continue %}
{% macro m() %}{% break %}{% endmacro %}
{% for a in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}
{% raw %}x
{# never closed
{{ '\x4' }}
{{ 1 if 2 else }}
{% with a %}{% endwith %}
{% with a = %}{% endwith %}
{% filter nope %}x{% endfilter %}
{% filter %}x{% endfilter %}
{% if a %}{% elif %}{% endif %}
{% for a in b if %}{% endfor %}
{% block a %}{% endblock %}{% block a %}{% endblock %}
{% do 1 %}
{% debug %}
{%
{{
{% if a
{{ a ** }}
{{ not }}
{{ a in }}
{{ {1 2} }}
{{ {1: 2 }}
{{ a ~ }}
{{ 007 }}
{{ 1.2.3 }}
{{ f(, ) }}
{% print %}{{
"""

TEMPLATES = [
    # Loops.
    "{% for i in l %}{{ loop.index }}/{{ loop.length }}:{{ i }}{{ ',' if not loop.last }}{% endfor %}",
    "{% for i in l %}{{ loop.index0 }} {{ loop.revindex }} {{ loop.revindex0 }} {{ loop.first }} {{ loop.last }} {{ loop.depth }} {{ loop.depth0 }}|{% endfor %}",
    "{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {{ loop.previtem is defined }}{% endfor %}",
    "{% for i in range(5) %}{{ loop.cycle('a', 'b', 'c') }}{% endfor %}",
    "{% for i in [1, 1, 2, 2, 1] %}{{ i if loop.changed(i) }};{% endfor %}",
    "{% for u in users %}{% if loop.changed(u.age, u.city) %}new{% endif %}{% endfor %}",
    "{% for i in [] %}x{% else %}none{% endfor %}{% for i in undefined_thing %}x{% else %}none{% endfor %}",
    "{% for i in [1, 2] %}{% continue %}{% else %}else{% endfor %}",
    "{% for i in [1, 2, 3] %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% else %}else{% endfor %}",
    "{% for i in [1, 2, 3] %}{% break %}{{ i }}{% else %}else{% endfor %}",
    "{% for i in [1, 2, 3] %}{{ i }}{% if i == 2 %}{% break %}{% endif %}{% else %}else{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3)), (4, [5, 6])] %}{{ a }}{{ b }}{{ c }};{% endfor %}",
    "{% for a, b in ['xy', 'zw'] %}{{ b }}{{ a }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}",
    "{% for a, b in [(1,)] %}{{ a }}{% endfor %}",
    "{% for a, b in [1] %}{{ a }}{% endfor %}",
    "{% for c in u %}[{{ c }}]{% endfor %}",
    "{% for i in range(10) if i is odd %}{{ loop.index }}:{{ i }}{{ ' ' if loop.last else ',' }}{% endfor %}",
    "{% for i in range(10) if i > 20 %}{{ i }}{% else %}none{% endfor %}",
    "{% for i in l if i != n %}{{ loop.length }}{% endfor %}",
    "{% for u in users if u.tags %}{{ u.name }}{% for t in u.tags %}{{ loop.index }}{{ t }}{% endfor %}{{ loop.index }};{% endfor %}",
    "{% for node in tree recursive %}{{ node.v }}@{{ loop.depth }}{% if node.c %}({{ loop(node.c) }}){% endif %}{% endfor %}",
    "{% for node in tree recursive %}{% set ns = node.v %}{{ ns }}{{ loop(node.c) }}{{ ns }}{% else %}-{% endfor %}",
    "{% for node in tree if node.v != 3 recursive %}{{ node.v }}{{ loop(node.c) }}{% endfor %}",
    "{% for i in l %}{{ loop(l) }}{% endfor %}",
    "{% for i in l %}{% for j in l %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}",
    "{% for i in [3, 1] %}{% set outer = loop %}{% for j in 'ab' %}{{ outer.index }}{{ j }}{{ loop.last }}{{ outer.last }}{% endfor %}{% endfor %}",
    "{% for i in (1, 2) %}{{ loop }}{% endfor %}",
    "{% for i in l|sort %}{{ i }}{% endfor %}{{ i }}",
    "{% set i = 'x' %}{% for i in l %}{{ i }}{% endfor %}{{ i }}",
    "{% for i in l %}{% if loop.first %}{% set first = i %}{% endif %}{{ first }}{% endfor %}{{ first }}",
    "{% set x = 1 %}{% for i in l %}{{ x }}{% set x = i %}{{ x }};{% endfor %}{{ x }}",
    "{% for i in l %}{{ n }}{% set n = i %}{{ n }};{% endfor %}{{ n }}",
    "{% for i in l %}{% if i == 1 %}{% set n = 'one' %}{% endif %}{{ n }};{% endfor %}{{ n }}",
    "{% for i in l %}{% if i == 1 %}{% set q = 'one' %}{% endif %}{{ q }};{% endfor %}{{ q }}",
    "{% for i in d|dictsort %}{{ i }}{{ i[0] }}{% endfor %}",
    "{% for m in users[::-1] %}{{ loop.index0 }}{{ m.name }}{% endfor %}{% for m in users[1:] %}{{ m.name }}{% endfor %}",
    "{% set g = l|map('string') %}{% for i in g %}{{ i }}{% endfor %}|{% for i in g %}{{ i }}{% endfor %}|{{ g|list }}",
    "{% set g = users|selectattr('nope') %}{{ 'yes' if g else 'no' }}{{ g|list }}",
    "{% for i in l|map('string') %}{{ loop.length }}{{ loop.last }}{{ loop.index }}{% endfor %}",
    "{% for i in l|map('string') %}{{ loop.nextitem }}{{ loop.length }}{{ loop.last }}{{ loop.index }}{% endfor %}",
    "{% for i in none %}{% endfor %}",
    "{% for i in 5 %}{% endfor %}",
    "{% for g in users|groupby('age') %}{{ g.grouper }}{% for u in g.list %}{{ u.name }}{% endfor %};{% endfor %}{% for a, b in users|groupby('age') %}{{ a }}{{ b|length }}{% endfor %}",
    "{% set ns = namespace(on=true) %}{% for i in range(6) if ns.on %}{{ i }}{% if i == 2 %}{% set ns.on = false %}{% endif %}{% endfor %}",
    "{% for i in l %}{% set ns = namespace(v=i) %}{% for j in l %}{% set ns.v = ns.v + j %}{% endfor %}{{ ns.v }} {% endfor %}",
    # Variables.
    "{% set a = 1 %}{% set b, c = 2, 3 %}{% set e = (4, 5) %}{{ a }}{{ b }}{{ c }}{{ e }}",
    "{% set a %}x{{ n }}y{% endset %}{{ a }}{% set b | upper | trim %} x{{ a }} {% endset %}{{ b }}{{ b|length }}",
    "{% set ns = namespace(a=1, b='x') %}{% set ns.a = ns.a + 1 %}{% set ns.c = [ns.a] %}{{ ns.a }}{{ ns.b }}{{ ns.c }}{{ ns.d }}{{ ns }}{{ ns['a'] }}{{ ns.d is defined }}",
    "{% set ns = namespace({'a': 1}, b=2) %}{% set ns.x, y = 3, 4 %}{{ ns.a }}{{ ns.b }}{{ ns.x }}{{ y }}",
    "{% set ns = namespace() %}{% set ns.a %}block{% endset %}{{ ns.a }}",
    "{% set d.a = 1 %}",
    "{% set nope.a = 1 %}",
    "{% set ns = namespace() %}{% set ns._x = 1 %}",
    "{% if t %}{% set q = 1 %}{% else %}{% set q = 2 %}{% endif %}{{ q }}",
    "{% if f %}{% set q = 1 %}{% endif %}{{ q is defined }}{{ q }}",
    "{% if f %}{% set n = 1 %}{% endif %}{{ n }}",
    "{{ n }}{% set n = 1 %}{{ n }}",
    "{% set n = n + 1 %}{{ n }}",
    "{% set messages = [1, 2] %}{% for m in messages %}{% set messages = messages[1:] %}{{ messages }}{% endfor %}{{ messages }}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% set c = 3 %}{{ c }}{% endwith %}{{ a }}{{ c }}",
    "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% with %}{% set n = 5 %}{{ n }}{% endwith %}{{ n }}",
    "{% with a, b = (1, 2) %}{{ a }}{{ b }}{% endwith %}",
    # Macros.
    "{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, 3) }}|{{ m(1, c=4) }}|{{ m(b=1, a=2) }}|{{ m() }}",
    "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, k='v') }}{{ m(1) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, b=2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}",
    "{% macro m(a) %}{{ a is defined }}{{ a }}{% endmacro %}{{ m() }}{{ m(none) }}",
    "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}",
    "{% macro m(a=b, b=1) %}{{ a }}{{ b }}{% endmacro %}{{ m() }}",
    "{% macro fact(i) %}{{ i * fact(i - 1)|int if i > 1 else 1 }}{% endmacro %}{{ fact(5) }}",
    "{% macro m() %}{{ x2 }}{% endmacro %}{{ m() }}{% set x2 = 1 %}{{ m() }}",
    "{% macro m() %}{{ n }}{% endmacro %}{{ m() }}{% set n = 1 %}{{ m() }}",
    "{% macro m() %}{% set n = 5 %}{{ n }}{% endmacro %}{{ m() }}{{ n }}",
    "{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% macro outer() %}{% macro inner(a) %}[{{ a }}]{% endmacro %}{{ inner(1) }}{{ inner(2) }}{% endmacro %}{{ outer() }}",
    "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}x{{ n }}{% endcall %}",
    "{% macro m(l) %}{% for i in l %}{{ caller(i, loop.index) }}{% endfor %}{% endmacro %}{% call(i, j=0) m(l) %}{{ j }}:{{ i }};{% endcall %}",
    "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}",
    "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m }}{{ m.name }}{{ m is callable }}{{ m('a')|upper }}{{ m(1) ~ m(2) }}{{ m(1) is string }}",
    "{% macro m(x) -%}\n  {{ x }}\n{%- endmacro %}[{{ m(5) }}]",
    "{% macro a(d, depth=0) %}{% for k, v in d.items() %}{{ ' ' * depth }}{{ k }}:{% if v is mapping %}{{ a(v, depth + 1) }}{% else %}{{ v }}{% endif %};{% endfor %}{% endmacro %}{{ a({'x': {'y': {'z': 1}}, 'w': 2}) }}",
    "{% set ns = namespace() %}{% macro m() %}{% macro i() %}in{% endmacro %}{% set ns.f = i %}{% endmacro %}{{ m() }}{{ ns.f() }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}{{ m(*l) }}",
    "{% macro m(kwargs, varargs=2) %}{{ kwargs }}{{ varargs }}{% endmacro %}{{ m(1) }}",
    # Other statements.
    "{% filter upper %}x{{ s }}y{% endfilter %}{% filter replace('l', 'L')|trim %}  {{ s }} {% endfilter %}",
    "{% generation %}x{{ n }}{% endgeneration %}{% generation %}{% set q = 1 %}{{ q }}{% endgeneration %}{{ q }}",
    "{% for m in l %}{% generation %}{{ m }}{{ loop.index }}{% endgeneration %}{% endfor %}",
    "{% raw %}{{ x }} {% if %} {# c #}{% endraw %}",
    "a\n{% raw %}\n {{ x }}\n {% endraw %}\nb",
    "a\n{%- raw -%}\n {{ x }}\n {%- endraw -%}\nb",
    "{% print n, s %}{% print 'x' %}",
    "{% block a %}x{{ n }}{% endblock %}{% set q = 1 %}{% block b %}{{ q }}{% endblock b %}",
    "{% if n > 5 %}a{% elif n > 3 %}b{% else %}c{% endif %}{% if none %}a{% elif f %}b{% elif t %}d{% endif %}",
    "{% if f %}{{ 1|nope }}{% endif %}ok",
    "{% if t %}{{ 1|nope }}{% endif %}ok",
    "{% if f %}{% include 'x' %}{% endif %}ok",
    "{% include 'x' %}",
    "{{ 1 if true else 1|nope }}",
    "{% set a = [1, 2] if t else [] %}{{ a }}{% if a %}x{% endif %}",
    # White space.
    "  {% if t %}\n  x\n  {% endif %}\n  y\n",
    "a\n  {%- if t %}\n  x\n  {%- endif %}\n  y\n\n",
    "a {%- if t -%} b {%- endif -%} c",
    "a\n{{- n -}}\nb {{ n }}\n c",
    "  {%+ if t %}\nx{%+ endif %}\n  {%+ if t +%}\ny{% endif +%}\nz",
    "a {# comment #}\n b {#- c -#} d\n  {# e #}\n f {#+ g +#}\n h",
    "{% if t %}\n\n\nx\n\n{% endif %}\n\n",
    "\t{% set a = 1 %}\n\t {% set b = 2 %} \n{{ a }}{{ b }}\n",
    "x  {% if t %}y{% endif %}  z\n  {% if t %}a{% endif %} b",
    "{{ 'a' }}\n{{ 'b' }}\n\n",
    "a\r\nb\rc\n{% if t %}\r\nx{% endif %}\r\n",
    "{%- for i in l -%}\n{{ i }}\n{%- if not loop.last -%}\n, {% endif -%}\n{%- endfor -%}\n end",
    "{{-n}}{{ -n }}{{+n}}{{- -n}}",
    "{{ '{{' }}{{ '%}' }}{{ \"}}\" }}{{ {'a': {'b': 1}} }}{{ {'a': [1, {'b': 2}]}['a'][1]['b'] }}",
    "{ {n} } {{n}} { % if % } {#}#}{# }} #}#",
    "\u00a0 {%- if t %}\u2003x\u2003{%- endif %}",
    "  \n  {% if t %}x{% endif %}\n\n  {% set q = 1 %}  {% set r = 2 %}\n",
    "{{ 'multi\nline' }}{{ \"a\\\nb\" }}",
    "",
    "\n",
    "\n\n",
    "no tags",
    "{% if t -%}\n   a\n{%- else -%}\n b\n{%- endif %}",
    "{% set x2 -%}\n  spaced\n{%- endset %}[{{ x2 }}]",
    "{% for i in l -%}\n  {{ i }}\n{% endfor %}end",
    "{{ n\n  +\n 1 }}{% if n\n and t %}x{% endif\n%}y",
    "{%if t%}x{%endif%}{{n}}{%-if t-%} y {%-endif-%}",
    "{% if t: %}x{% endif %}{% for i in l: %}{{ i }}{% endfor %}",
]
