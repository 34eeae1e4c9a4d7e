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


# A fifth of the interpreter's switch interval: what a thread that wants the GIL waits before it asks for it.
STILL_SECONDS = 0.001


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
            for ident, role in list(roles.CURRENT.items()):
                if role not in roles.UNCLAIMED:
                    self.sample(ident, role)

    def sample(self, ident, role):
        """Counts one thread's stack, if the thread stood still meanwhile.

        The walk is not one step: another thread may take the GIL in between. A frame whose call has ended keeps its link to
        the caller, which has gone on, and the next call may use the same frame again; so the thread must be seen in the same
        frame before and after, with the same walk twice, and in less time than a way to another thread and back takes.
        """
        began = time.perf_counter()
        frame = sys._current_frames().get(ident)
        first, again = self.walk(frame), self.walk(frame)
        still = sys._current_frames().get(ident) is frame and time.perf_counter() - began < STILL_SECONDS
        if first and first == again and still and roles.CURRENT.get(ident) == role:
            self.counts[(role, ident) + tuple(first)] += 1

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
