# SPDX-License-Identifier: GPL-2.0-or-later
# thread_state.t's program: sleeping threads, one that computes, and, where the interpreter can, threads in other interpreters.
import sys
import threading
import time


def start(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.daemon = True
    thread.start()


def compute():
    x = 0
    while True:
        x += 1



def sub_interpreters():
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            module = __import__(name)
            made = [module.create() for _ in range(2)]
        except Exception:
            continue
        run = getattr(module, "run_string")
        for one in made:
            start(run, one, "import time; time.sleep(600)")
        return len(made)
    return 0


for _ in range(int(sys.argv[1])):
    start(time.sleep, 600)
others = sub_interpreters()
start(compute)
sys.stdout.write("ready %d\n" % others)
sys.stdout.flush()
time.sleep(600)
