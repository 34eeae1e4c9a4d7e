#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""strata is stopped and continued again and again while it starts: the verifier gives up each time, and is asked again."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chaos import e2e  # noqa: E402

STOPS = 800  # fewer than LOAD_ATTEMPTS (kernel/load_patience.h): then it is left alone


def stop_often(process, is_there):
    """How often it was stopped."""
    for stops in range(STOPS):
        if process.poll() is not None or is_there():
            return stops
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.0005)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.003)
    return STOPS


def check(tap, words, command, expected):
    with e2e.folder() as where:
        with open(where + "/out", "w+") as out, open(where + "/err", "w+") as err:
            process = subprocess.Popen([e2e.STRATA] + command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            try:
                stops = stop_often(process, lambda: os.path.getsize(where + "/out") > 0)
                process.wait(timeout=e2e.PATIENCE_S)
            finally:
                process.kill()
            out.seek(0)
            err.seek(0)
            printed, told = out.read(), err.read()
        tap.ok(process.returncode == 0 and expected in printed, "%s, stopped %d times while it starts" % (words, stops), printed, told)


tap = e2e.Tap()
check(tap, "record", ["record", "-o", "-", "--", sys.executable, "-c", "while __import__('time').process_time() < 0.3: sum(range(1000))"], "python")
check(tap, "record of time off the CPU", ["record", "--off-cpu", "-o", "-", "--", "sleep", "0.3"], "sleep")
check(tap, "a script with stacks", ["trace", "-e", "profile:hz:99 { @[ustack] = count(); } interval:ms:100 { printf(\"traced\\n\"); exit(); }"], "traced")
tap.done()
