#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""series: what tseries() makes of values at known times, which come from a map of the script. Needs root."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

STRATA = os.environ["STRATA"]
# 30 values, 10 ms apart, -3 to 6; the clock begins at 0.
FILL = "begin {{ @t = (uint64)0; while (@t < 300ms) {{ @a{key} = tseries((int64)(@t / 10ms) % 10 - 3, {interval}, {count}{how}); @t += 10ms; }} clear(@t); }}"


def trace(program, *more):
    result = subprocess.run([STRATA, "trace", "-q", *more, "-e", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False,
                            env={**os.environ, "TZ": "UTC", "BPFTRACE_DUMMY_TS_MAP": "@t"})
    return result.stdout.decode() + result.stderr.decode()


def values(**how):
    text = trace(FILL.format(**{"key": "", "interval": "100ms", "count": 5, "how": "", **how}), "-f", "json")
    try:
        return [(row["interval_start"][11:21], row["value"]) for row in json.loads(text.split("\n")[0])["data"]["@a"]]
    except (ValueError, KeyError):
        return text


def main():
    tap = Tap()
    starts = ["00:00:00.0", "00:00:00.1", "00:00:00.2"]
    for how, expected in (("", [6, 6, 6]), (', "min"', [-3, -3, -3]), (', "max"', [6, 6, 6]), (', "avg"', [1, 1, 1]), (', "sum"', [15, 15, 15])):
        tap.equal(values(how=how), list(zip(starts, expected)), "tseries" + how)
    tap.equal(values(count=2), [(starts[1], 6), (starts[2], 6)], "only the last intervals are kept")
    tap.equal(values(interval="1s"), [(starts[0], 6)], "all in one interval")
    text = trace(FILL.format(key='["k"]', interval="40ms", count=4, how=""))
    picture(tap, text)
    tap.done()


def picture(tap, text):
    """A row for each interval; the mark stands in proportion between the least value and the greatest."""
    lines = text.split("\n")
    rows = [line for line in lines if line.startswith("00:")]
    tap.equal([(row[:12], int(row.split()[-1])) for row in rows],
              [("00:00:00.160", 6), ("00:00:00.200", 0), ("00:00:00.240", 4), ("00:00:00.280", 6)], "a row for each interval")
    tap.equal([row[13:66].index("*") for row in rows], [52, 0, 52 * 4 // 6, 52], "marks in proportion")
    tap.ok("@a[k]:" in lines and any(line.split() == ["0", "6"] for line in lines), "the key, and the ends of the scale", text)


main()
