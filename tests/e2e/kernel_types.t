#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A start reads the kernel's types, some megabytes, once at most: strata counts how often another strata opens them."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

TYPES = "/sys/kernel/btf/vmlinux"
# The name is read when the call returns, as it may not be in memory before.
SCRIPT = """tracepoint:syscalls:sys_enter_openat /pid == cpid/ { @name[tid] = args.filename; }
tracepoint:syscalls:sys_exit_openat /pid == cpid && str(@name[tid]) == "%s"/ { @opened++; }
end { printf("opened %%d\\n", @opened); clear(@opened); clear(@name); }""" % TYPES


def main():
    tap = e2e.Tap()
    if not os.path.exists(TYPES):
        tap.skip("reading the kernel's types", "this kernel has none")
        tap.done()
    with e2e.folder() as where:
        for words in ("record -q --strategy loop", "record -q --strategy bounded"):
            command = "%s %s -o %s/x.folded -- true" % (e2e.STRATA, words, where)
            done = subprocess.run([e2e.STRATA, "trace", "-q", "-e", SCRIPT, "-c", command], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
            tap.ok("opened 1\n" in done.stdout, words, done.stdout + done.stderr)
    tap.done()


main()
