"""Generates the golden files with Python's Mako. Run by hand after a change to the cases, with Mako 1.4 or later:

    pip install mako
    python crates/template/tests/golden/make.py

Renders each `cases/NAME.mako` with `context.json` and the templates in `includes/` into `cases/NAME.out`.
"""

import json
import pathlib
import sys

import common

HERE = pathlib.Path(__file__).parent


def main():
    includes = {path.name: path.read_bytes().decode() for path in (HERE / "includes").iterdir()}
    failed = False
    for path in sorted((HERE / "cases").glob("*.mako")):
        context = json.loads((HERE / "context.json").read_text())
        text = path.read_bytes().decode()
        try:
            rendered = common.render(text, context["variables"], context["objects"], includes)
        except Exception as error:
            print(f"{path.name}: {type(error).__name__}: {error}")
            failed = True
            continue
        path.with_suffix(".out").write_bytes(rendered.encode())
    sys.exit(failed)


if __name__ == "__main__":
    main()
