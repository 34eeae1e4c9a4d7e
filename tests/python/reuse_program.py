# SPDX-License-Identifier: GPL-2.0-or-later
"""reuse.t's program: functions that are made, called once and freed, so that the next one's code object and the strings of its
names are at the addresses of those before it: in two threads, in another interpreter if there can be one, and in the program
that the process executes then. reuse_program.py OUTPUT TURNS; in OUTPUT a line for each function: its name and its file."""
import os
import sys
import threading

ENDINGS = ("", "_" * 80, "\u00e9")  # one that is not short, and one that is not ASCII
MAKE = """
def make(prefix, turns, endings):
    made, places = [], set()
    for i in range(turns):
        name, file = "%s%05d%s" % (prefix, i, endings[i % len(endings)]), "made%05d" % (i // 7)
        space = {}
        exec(compile("def %s(): return 1" % name, file, "exec"), space)
        places.add(id(space[name].__code__))
        space[name]()
        space.clear()  # the function has it, too
        made += [name + " " + file, "<module> " + file]
    return made, len(places)
"""
exec(compile(MAKE, "maker", "exec"))


def elsewhere(prefix, turns):
    """In an interpreter of its own, whose program writes what it made to a file."""
    try:
        import _interpreters as interpreters
    except ImportError:
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            return []
    path = sys.argv[1] + "." + prefix
    text = MAKE + "made, places = make(%r, %d, %r)\nopen(%r, 'w', encoding='utf-8').write('\\n'.join(made))" % (
        prefix, turns, ENDINGS, path)
    other = interpreters.create()
    interpreters.run_string(other, text)
    interpreters.destroy(other)
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")


def main():
    turns, again = int(sys.argv[2]), sys.argv[3:] == ["again"]
    results = []
    names = ("c", "d") if again else ("a", "b")
    threads = [threading.Thread(target=lambda name=name: results.append(make(name, turns, ENDINGS))) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = [line for one, _ in results for line in one]
    if not again:
        # One after the other, so that each may have the addresses of the one before it.
        made += elsewhere("s", turns) + elsewhere("t", turns)
    with open(sys.argv[1] + ".all", "a", encoding="utf-8") as file:
        file.write("\n".join(made) + "\n")
        file.write("places %d\n" % sum(places for _, places in results))
    if not again:
        os.execv(sys.executable, [sys.executable] + sys.argv + ["again"])
    os.rename(sys.argv[1] + ".all", sys.argv[1])


main()
