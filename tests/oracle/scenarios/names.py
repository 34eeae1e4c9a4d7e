# SPDX-License-Identifier: GPL-2.0-or-later
"""Names: not ASCII, and long. The code objects bear a file name that is not ASCII either (program.py)."""


def würfel(größe):
    total = 0
    for i in range(größe):
        total += i * i % 7
    return total


def функция(n):
    return würfel(n) + 1


def 関数(n):
    return функция(n) + \
        würfel(n)


class Ångström(object):
    def länge(self, n):
        return 関数(n)


def not_ascii(n):
    thing = Ångström()
    for _ in range(n):
        thing.länge(100)


NAMESPACE = {"würfel": würfel}
LONG = "long_" + "abcdefghij" * 30
LONGER = "ж" * 400
exec(compile("def %s(n):\n    return würfel(n)\n\n\ndef %s(n):\n    return %s(n)\n" % (LONG, LONGER, LONG),
             "/long/" + "directory/" * 25 + "file.py", "exec"), NAMESPACE)


def long_names(n):
    function = NAMESPACE[LONGER]
    for _ in range(n):
        function(200)


SCENARIOS = [("not_ascii", not_ascii), ("long_names", long_names)]
