# SPDX-License-Identifier: GPL-2.0-or-later
"""The program's stacks as it sees them itself, as a folded file: what the checker proves itself with.

Only Python frames; the native ones around them are made up, one interpreter loop's caller below each outermost frame.
"""
import collections
import sys
import threading
import time

import roles
from truth import line_of, name_of


def escape(text):
    """As strata writes names: `;` and control characters must not break a line's fields."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join("?" if ord(c) < 32 or ord(c) == 127 else ":" if c == ";" else c for c in text)


class SelfSampler(object):
    def __init__(self, path, plan):
        self.path = path
        self.plan = plan
        self.counts = collections.Counter()

    def run(self):
        while not self.plan.stop:
            time.sleep(0.002)
            for ident, frame in sys._current_frames().items():
                role = roles.CURRENT.get(ident)
                if role is None or role in roles.UNCLAIMED:
                    continue
                first, again = self.walk(frame), self.walk(frame)
                # The walk is not one step; take only what stood still.
                if first == again and roles.CURRENT.get(ident) == role:
                    self.counts[(role, ident) + tuple(first)] += 1
            frame = None

    @staticmethod
    def walk(frame):
        chain = []
        while frame is not None:
            chain.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return chain

    def write(self):
        with open(self.path, "w", encoding="utf-8") as out:
            for key, count in self.counts.items():
                role, ident, chain = key[0], key[1], key[2:]
                native = "start_thread (libc.so.6)" if role.startswith("or-w") else "_start (python3)"
                frames = [role, "thread %s (%d)" % (role, ident % 100000), native]
                for code, lasti in reversed(chain):
                    frames.append("%s (%s:%d)" % (escape(name_of(code)), escape(code.co_filename),
                                                  line_of(code, lasti)))
                out.write("%s %d\n" % (";".join(frames), count))
