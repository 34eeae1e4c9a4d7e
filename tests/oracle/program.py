# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that knows its own stacks.

    program.py --truth FILE            writes down every stack that it can have (truth.py)
    program.py --seconds N             does the same things for N seconds of CPU time, to be sampled; the main thread's
                                       scenarios one after the other, eight more threads beside it
      --ready FILE                     creates FILE when the scenarios begin
      --self-sample FILE               samples itself by sys._current_frames() into a folded file (selftest.t)

Both runs must do the same: no clock, no random number and no garbage collection but an asked-for one decides where a
scenario goes. How long it stays there is its argument n.
"""
import argparse
import gc
import os
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import roles
import spread
from roles import set_role

HERE = os.path.dirname(os.path.abspath(__file__))
# The modules and the first version that can read them; the file name that their code objects bear, if another.
MODULES = (
    ("basics", (3, 6), None),
    ("classes", (3, 6), None),
    ("iterate", (3, 6), None),
    ("errors", (3, 6), None),
    ("awaits", (3, 6), None),
    ("callbacks", (3, 6), None),
    ("sources", (3, 6), None),
    ("names", (3, 6), "/ünïcødé/пример/例え 1 (a) µ.py"),
    ("processes", (3, 6), None),
    ("workers", (3, 6), None),
    ("since308", (3, 8), None),
    ("since310", (3, 10), None),
    ("since311", (3, 11), None),
    ("since312", (3, 12), None),
)

TRUTH_ROUNDS = 2
TRUTH_N = 10
SAMPLED_N = 20


class Plan(object):
    """How long the program goes on: rounds in the run for the truth, seconds of CPU time in the one that is sampled."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.rounds = 0
        self.end = 0.0
        self.n = SAMPLED_N if seconds else TRUTH_N
        self.stop = False
        self.verbose = False

    def goes_on(self):
        self.rounds += 1
        return self.rounds <= TRUTH_ROUNDS or time.process_time() < self.end


def load_modules():
    loaded = []
    for name, version, shown_as in MODULES:
        if sys.version_info >= version:
            path = os.path.join(HERE, "scenarios", name + ".py")
            loaded.append(spread.load(name, path, shown_as))
    return loaded


def worker(role, work, plan):
    set_role(role)
    while not plan.stop:
        work(plan.n)
        time.sleep(0.02)
    set_role(roles.EXIT)


def play(scenarios, plan):
    """The main thread's part: the root of every stack that the checker judges on it."""
    set_role("or-main")
    while plan.goes_on():
        for name, scenario in scenarios:
            if plan.verbose:
                sys.stderr.write("%.1f %s\n" % (time.process_time() - plan.end, name))
            scenario(plan.n)
            gc.collect()
    set_role(roles.EXIT)


def start_self_sampling(path, plan):
    from selfsample import SelfSampler
    sampler = SelfSampler(path, plan)
    thread = threading.Thread(target=sampler.run, daemon=True)
    thread.start()
    return sampler, thread


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--truth")
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--ready")
    parser.add_argument("--self-sample")
    parser.add_argument("--verbose", action="store_true", help="names the scenarios as they begin")
    parser.add_argument("--only", help="names of scenarios, separated by commas")
    options = parser.parse_args()

    set_role(roles.SETUP)
    gc.disable()
    plan = Plan(0 if options.truth else options.seconds)
    plan.verbose = options.verbose
    modules = load_modules()
    scenarios = [s for m in modules for s in getattr(m, "SCENARIOS", ())]
    workers = [w for m in modules for w in getattr(m, "WORKERS", ())]
    if options.only:
        scenarios = [s for s in scenarios if s[0] in options.only.split(",")]
    rules = [r for m in modules for r in getattr(m, "NATIVE_RULES", ())]
    truth = None
    if options.truth:
        from truth import Truth
        truth = Truth(options.truth)
        truth.start()
    elif options.self_sample:
        sampler, sampler_thread = start_self_sampling(options.self_sample, plan)
    threads = [threading.Thread(target=worker, args=(role, work, plan), name=role, daemon=True)
               for role, work in workers]
    for thread in threads:
        thread.start()
    if options.ready:
        open(options.ready, "w").close()
    plan.end = time.process_time() + plan.seconds
    play(scenarios, plan)
    plan.stop = True
    for thread in threads:
        thread.join()
    if truth is not None:
        truth.stop()
        truth.write(options.truth, rules=rules, scenarios=[name for name, _ in scenarios])
    elif options.self_sample:
        sampler_thread.join()
        sampler.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
