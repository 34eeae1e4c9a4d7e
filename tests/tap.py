# SPDX-License-Identifier: GPL-2.0-or-later
"""TAP for the scripts in Python."""
import os
import sys
import threading

# How much longer than in `make check` a test samples: TEST_SCALE, 4 in `make check-long`. That is the long form, which also does
# all of what the short one does a part of.
SCALE = float(os.environ.get("TEST_SCALE", "1"))
LONG = SCALE >= 4


class Tap(object):
    """`ok` for each statement, in any thread; `done` prints the plan and exits."""

    def __init__(self):
        self.number = 0
        self.failed = 0
        self.lock = threading.RLock()

    def ok(self, passed, words, *notes):
        """`notes` are printed when it did not pass: the end of what is long."""
        with self.lock:
            self.number += 1
            self.failed += not passed
            print("%sok %d - %s" % ("" if passed else "not ", self.number, words))
            for note in notes[:10] if not passed else ():
                for line in str(note).split("\n")[-12:]:
                    print("# " + line[:600])
            sys.stdout.flush()
        return passed

    def equal(self, got, wanted, words):
        return self.ok(got == wanted, words, "got %r, expected %r" % (got, wanted))

    def skip(self, words, why):
        with self.lock:
            self.number += 1
            print("ok %d - %s # SKIP %s" % (self.number, words, why))

    def todo(self, passed, words, why, *notes):
        """What should hold and does not yet: shown, and not counted."""
        with self.lock:
            self.ok(passed, "%s # TODO %s" % (words, why), *notes)
            self.failed -= not passed

    def done(self):
        print("1..%d" % self.number)
        sys.exit(1 if self.failed else 0)
