# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that writes down its garbage collections, imports and audits, as the interpreter tells them: the truth for
tests/python/events.t. event_truth.py OUTPUT FOLDER; FOLDER is for modules. In OUTPUT a line for each, between the
imports of strata_begin and strata_end."""
import builtins
import gc
import importlib
import os
import sys

OUTPUT, FOLDER = sys.argv[1:]
log = []
original = builtins.__import__


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "strata_called":  # by importlib: no marker tells that
            log.append("import-start %s" % name)
        return None


def imported(name, *rest, **more):
    begun, found = len(log), 0
    try:
        result = original(name, *rest, **more)
        found = 1
        return result
    finally:
        if "import-start %s" % name in log[begun:]:
            log.append("import-done %s %d" % (name, found))


def collected(phase, info):
    if phase == "start":
        log.append("gc-start %d" % info["generation"])
    else:
        log.append("gc-done %d" % (info["collected"] + info["uncollectable"]))


class Ring:
    def __init__(self, finalizer=None):
        self.ring = self
        self.finalizer = finalizer

    def __del__(self):
        if self.finalizer:
            self.finalizer()


def program(turns):
    for turn in range(turns):
        for count in range(turn % 7):
            Ring()
        gc.collect(turn % 3)
        gc.collect()
        Ring(gc.collect)  # within a collection: does nothing
        gc.collect()
        try:
            __import__("strata_missing")
        except ImportError:
            pass
        for name in ("strata_outer", "strata_inner", "strata_called"):
            sys.modules.pop(name, None)
        __import__("strata_outer")
        importlib.import_module("strata_called")
        compile("1", "<string>", "exec")
        with open(os.devnull):
            pass
        if hasattr(sys, "audit"):
            sys.audit("strata.turn", turn)
            try:
                sys._getframe().f_code.replace(co_name="x")
            except AttributeError:
                pass


def module(name, text):
    with open(os.path.join(FOLDER, name + ".py"), "w") as file:
        file.write(text)


if __name__ == "__main__":
    gc.disable()
    sys.dont_write_bytecode = True
    for name, text in (("begin", ""), ("end", ""), ("outer", "import strata_inner\n"), ("inner", "x = 1\n"),
                       ("called", "x = 1\n")):
        module("strata_" + name, text)
    sys.path.insert(0, FOLDER)
    sys.meta_path.insert(0, Finder)
    builtins.__import__ = imported
    if hasattr(sys, "addaudithook"):
        sys.addaudithook(lambda event, arguments: log.append("audit %s" % event))
    gc.callbacks.append(collected)
    __import__("strata_begin")
    del log[:]
    program(20)
    told = list(log)
    __import__("strata_end")
    gc.callbacks.remove(collected)
    with open(OUTPUT, "w") as out:
        out.write("".join("%s\n" % line for line in told))
