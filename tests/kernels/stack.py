# SPDX-License-Identifier: GPL-2.0-or-later
"""A program whose two threads stay where they are: one sleeps, one never does, and leaves the CPU to whoever else wants it."""
import posix
import threading
import time


def spin():
    posix.nice(19)
    while True:
        pass


def sleep_inner():
    time.sleep(1e6)


def sleep_outer():
    sleep_inner()


threading.Thread(target=spin, daemon=True).start()
open("/tmp/ready", "w").close()
sleep_outer()
