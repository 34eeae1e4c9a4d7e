# SPDX-License-Identifier: GPL-2.0-or-later
"""Uses CPU time with the GIL and, in zlib.crc32() of a long buffer, without it; then prints `NAME SECONDS` of each. With a number of
threads, so many compete for the GIL instead."""
import sys
import threading
import time
import zlib

BUFFER = bytes(1 << 24)
used = {"hold": 0.0, "release": 0.0}


def hold(until):
    x = 0
    while time.process_time() < until:
        for i in range(200):
            x += i * i


def release(until):
    while time.process_time() < until:
        zlib.crc32(BUFFER)


def turns(ends):
    while time.process_time() < ends:
        for function, share in ((hold, 0.06), (release, 0.03)):
            before = time.process_time()
            function(before + share)
            used[function.__name__] += time.process_time() - before


seconds, threads = float(sys.argv[1]), int(sys.argv[2])
if threads:
    all_threads = [threading.Thread(target=hold, args=(time.process_time() + seconds,)) for _ in range(threads)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
else:
    turns(time.process_time() + seconds)
with open(sys.argv[3], "w") as out:
    print(used["hold"], used["release"], file=out)
