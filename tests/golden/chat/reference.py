"""Renders templates with Python's jinja2 in the environment that `transformers` makes for chat
templates: what Forge's own interpreter is held to.

The environment is that of transformers/utils/chat_template_utils.py, release 5.23, described in its
own words in template.h: ImmutableSandboxedEnvironment, trim_blocks, lstrip_blocks, loop controls,
{% generation %}, tojson without escapes for HTML, raise_exception, strftime_now.
"""

import datetime
import functools
import json

import jinja2
import jinja2.utils
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2024, 7, 26, 14, 3, 9)


class Raised(Exception):
    """raise_exception() was called."""


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_content")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _content(self, caller):
        return caller()


class Namespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        values = dict(*args, **kwargs)
        for name in values:
            Namespace._check(name)
        jinja2.utils.Namespace.__init__(self, values)

    def __setitem__(self, name, value):
        Namespace._check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def _check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(f"a namespace cannot have {name!r}")


def environment():
    def raise_exception(message):
        raise Raised(str(TemplateError(message)))

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(
            value,
            ensure_ascii=ensure_ascii,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
        )

    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    made.filters["tojson"] = tojson
    made.globals["namespace"] = Namespace
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: NOW.strftime(form)
    return made


_ENVIRONMENT = environment()
_template = functools.lru_cache(maxsize=64)(_ENVIRONMENT.from_string)


def outcome(template, context):
    """What the template gives: {"text": ...}, {"raised": words} or {"error": Python's exception}."""
    try:
        text = _template(template).render(**context)
        text.encode()  # lone surrogates are no text
        return {"text": text}
    except Raised as raised:
        return {"raised": str(raised)}
    except (Exception, RecursionError) as error:  # noqa: BLE001: a template may do anything
        return {"error": f"{type(error).__name__}: {error}"}
