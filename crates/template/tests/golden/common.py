"""Renders templates with Python's Mako, for make.py and fuzz.py."""

import re

from mako.template import Template

# An include line, as in the original product.
INCLUDE = re.compile(r"""^#\s*Ginclude\s+["'](?P<name>[^"']*)["']\s*$""", re.M)


class Object(dict):
    """A map whose fields are also attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def objects(value):
    if isinstance(value, dict):
        return Object({name: objects(field) for name, field in value.items()})
    if isinstance(value, list):
        return [objects(item) for item in value]
    return value


def include(text, includes):
    found = INCLUDE.search(text)
    if found is None:
        return text
    inside = includes[found.group("name")]
    return include(text[: found.start()] + inside + text[found.end() :], includes)


def render(text, variables, made_objects, includes, strict=False):
    """Renders a template with Mako. With `strict`, undefined variables are always errors, as in the template crate."""
    context = dict(variables)
    context.update({name: objects(value) for name, value in made_objects.items()})
    return Template(include(text, includes), strict_undefined=strict).render(**context)
