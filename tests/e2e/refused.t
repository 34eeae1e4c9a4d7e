#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which form of the sampler's programs the kernel takes: the best one for it, and where that is refused another, which is told."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

# Refuses the first object that is loaded, as the kernel might: the programs themselves are fine.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
int bpf_object__load(void *object)
{
	static int calls;
	int (*next)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "bpf_object__load");
	return calls++ ? next(object) : -EINVAL;
}
"""


def main():
    tap = e2e.Tap()
    with e2e.folder() as where:
        subprocess.run(["gcc", "-xc", "-", "-shared", "-fPIC", "-o", where + "/shim.so", "-ldl"], input=SHIM.encode(), check=True)
        for shim in (None, where + "/shim.so"):
            environment = dict(os.environ, **({"LD_PRELOAD": shim} if shim else {}))
            done = subprocess.run([e2e.STRATA, "record", "-o", where + "/x.folded", "--stats", where + "/x.json", "--",
                                   "python3", "-c", "sum(range(10**7))"], env=environment, stderr=subprocess.PIPE, check=False)
            tap.equal(done.returncode, 0, "recorded")
            stats = e2e.load(where + "/x.json")
            told = [remark for remark in stats["remarks"] if "refused" in remark]
            what = "the first form is refused" if shim else "no form is refused"
            tap.ok(done.returncode == 0 and stats["complete"] > 0 and stats["complete"] >= stats["samples"] - e2e.early(stats),
                   "%s: a program is sampled" % what, stats, done.stderr.decode())
            tap.ok(len(told) == bool(shim) and (not shim or "Invalid argument" in told[0]),
                   "%s: %s" % (what, "it is told, with the reason" if shim else "nothing is told"), stats["remarks"])
            tap.ok(("refused the best form" in done.stderr.decode()) == bool(shim), "%s: the summary, too" % what,
                   done.stderr.decode())
    tap.done()


if __name__ == "__main__":
    main()
