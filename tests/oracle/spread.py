# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads a scenario with its lines spread out.

Line n of the source becomes line 3n of the code, and a comment `# gap: K` moves everything below it down by K more.
So no two lines that can execute are neighbours: a line that is off by one is never another true line. And
the gaps make line tables use all of their long forms without source files of a hundred thousand lines.
"""
import ast
import re
import sys
import types

_GAP = re.compile(r"^\s*# gap: (\d+)\s*$")


def line_map(source):
    """The new number of each line of the source; index 0 is unused."""
    moved, mapped = 0, [0]
    for number, text in enumerate(source.split("\n"), 1):
        gap = _GAP.match(text)
        if gap:
            moved += int(gap.group(1))
        mapped.append(3 * number + moved)
    mapped.append(mapped[-1] + 3)
    return mapped


def compile_spread(source, filename):
    mapped = line_map(source)
    tree = ast.parse(source, filename)
    for node in ast.walk(tree):
        for field in ("lineno", "end_lineno"):
            line = getattr(node, field, None)
            if line is not None and line > 0:
                setattr(node, field, mapped[line])
    return compile(tree, filename, "exec", dont_inherit=True)


def load(name, path, shown_as=None):
    """A module from the source file `path`, whose code objects say `shown_as` for their file."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module  # pickle looks its functions up
    exec(compile_spread(source, shown_as or path), module.__dict__)
    return module
