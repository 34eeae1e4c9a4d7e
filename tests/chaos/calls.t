#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Native stacks of Debian's programs, which have no frame pointers: no pair of neighbours that the machine code forbids."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))
import e2e  # noqa: E402

PYTHON = """
import json, re, zlib, pickle, hashlib
print("ready", flush=True)
d = [{"a": i, "b": [str(i)] * 5} for i in range(200)]
while True:
    s = json.dumps(d)
    json.loads(s), re.sub(r"(\\d+)", lambda m: m.group(0)[::-1], s), zlib.compress(s.encode()), pickle.loads(pickle.dumps(d))
    hashlib.sha512(s.encode()), sorted(d, key=lambda x: -x["a"])
"""
PERL = """$| = 1; print "ready\n"; for (;;) { my %h; for my $i (1 .. 2000) {
$h{"k$i"} = sprintf("%d-%s", $i, join(",", sort { $b <=> $a } map { $_ * 7 % 13 } 1 .. 20)); $h{"k$i"} =~ s/(\\d+)-(\\d+)/$2-$1/g } }"""


def judge(text):
    done = subprocess.run([sys.executable, HERE + "/calls.py"], input=text, stdout=subprocess.PIPE, universal_newlines=True)
    return done.returncode, done.stdout


def main():
    tap = e2e.Tap()
    dump = os.path.join(os.environ.get("BUILD", HERE + "/../../build"), "tests/chaos/dump_stacks")
    for words, command in (("python3", [e2e.PYTHON, "-c", PYTHON]), ("perl", ["perl", "-e", PERL])):
        target = e2e.start(["nice", "-n", "5"] + command)
        done = subprocess.run([dump, str(target.pid), "2000", "997"], timeout=e2e.PATIENCE_S, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
        target.kill()
        target.wait()
        print("# %s: %s" % (words, done.stderr.strip()))
        tap.ok(done.returncode == 0 and done.stdout.count("\n\n") > 50, words + ": stacks", done.stderr)
        status, text = judge(done.stdout)
        tap.ok(status == 0, "%s: %s" % (words, text.split("\n")[0]), text)
        # The check itself: return addresses that are one byte off, and stacks in which frames are left out.
        shifted = re.sub(r"<0x([0-9a-f]+)", lambda m: "<%#x" % (int(m.group(1), 16) + 1), done.stdout)
        tap.ok(judge(shifted)[0] == 1, words + ": shifted addresses are noticed")
        skipping = re.sub(r"(?m)^(.*\n)(.+ <0x.*\n)(?=.+ <0x)", r"\1", done.stdout)
        tap.ok(judge(skipping)[0] == 1, words + ": missing frames are noticed")
    tap.done()


main()
