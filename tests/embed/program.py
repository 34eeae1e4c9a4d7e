# SPDX-License-Identifier: GPL-2.0-or-later
"""What the embedders run for embed.t: sorts whose key function does the work, for so many seconds of CPU time. Imports
nothing but what every interpreter has built in."""
import sys
import time


def key(value):
    total = 0
    for i in range(300):
        total += i
    return value


def outer(end):
    while time.process_time() < end:
        sorted(range(40), key=key)


def application(environ, respond):  # for uwsgi
    outer(time.process_time() + 1.0)
    respond("200 OK", [])
    return [b""]


if __name__ == "__main__":
    outer(time.process_time() + float(sys.argv[1]))
