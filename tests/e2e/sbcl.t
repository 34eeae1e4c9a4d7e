#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SBCL's code, at any instruction: its frames are made by the caller, and its arithmetic has none. The program's functions call
each other in one order, and write a perf map."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

PROGRAM = r"""
(defun f6 (n) (let ((x 0)) (dotimes (i 5) (setq x (+ x (- n i)))) x))
(defun f5 (n &rest r) (+ (f6 n) (length r)))
(defun f4 (n) (values (+ (apply #'f5 n (list 1 2 3 4)) (f6 n)) n n n))
(defun f3 (n) (multiple-value-bind (a b c d) (f4 n) (+ a b c d)))
(defun f2 (n) (+ (f3 n) (funcall #'f3 (- n 1))))
(defun f1 (n) (let ((a (f2 n))) (+ a (f2 (+ n a)))))
(defun work ()
  (let ((end (+ (get-internal-run-time) (floor (* %f internal-time-units-per-second)))))
    (loop while (< (get-internal-run-time) end) do (dotimes (i 1000) (f1 i)))))
(with-open-file (map (format nil "/tmp/perf-~d.map" (sb-unix:unix-getpid)) :direction :output :if-exists :supersede)
  (dolist (f '(f1 f2 f3 f4 f5 f6 work))
    (let ((code (sb-kernel:fun-code-header (fdefinition f))))
      (format map "~x ~x ~a~%%" (sb-sys:sap-int (sb-kernel:code-instructions code)) (sb-kernel:%%code-text-size code) f))))
(work)
(with-open-file (pid "%s" :direction :output) (format pid "~d" (sb-unix:unix-getpid)))
"""
SECONDS = 1.5
# f4 calls f6 as well.
WHOLE = re.compile(r"(_start|work)?( work)?( F1( F2( F3( F4( F5( F6)?| F6)?)?)?)?)?$", re.I)

tap = e2e.Tap()
if not shutil.which("sbcl"):
    tap.skip("SBCL", "no sbcl")
    tap.done()
    sys.exit(0)
with e2e.folder() as where:
    with open(where + "/program.lisp", "w") as file:
        file.write(PROGRAM % (SECONDS, where + "/pid"))
    out, stats = where + "/out.folded", where + "/stats.json"
    done = e2e.record("-F", 4999, "-o", out, "--stats", stats, "--", "sbcl", "--script", where + "/program.lisp")
    if tap.equal(done.returncode, 0, "recorded"):
        with open(where + "/pid") as file:
            os.unlink("/tmp/perf-%s.map" % file.read())
    figures, seen, wrong = e2e.load(stats), {}, []
    for frames, count in e2e.folded(out):
        if any(frame.startswith("[incomplete") for frame in frames):
            continue  # it says what it lacks; how many do is asked below
        names = [re.sub(r" \(.*|\[(unknown|k)\b.*", "", frame) for frame in frames[1:] if not frame.endswith("[k]")]
        words = [name for name in names if re.fullmatch("F[1-6]|WORK", name)]
        if words:
            seen[words[-1]] = seen.get(words[-1], 0) + count
            if not WHOLE.match(" ".join(words)) or (words[0] != "WORK" or "_start" not in names[0]):
                wrong.append((count, words, frames[-2:]))
    tap.equal(sorted(wrong, key=str)[:3], [], "the calls that the program makes")
    tap.ok(min(seen.get("F%d" % i, 0) for i in range(1, 7)) > 10, "seen in each", seen)
    known = figures["samples"] - figures["lost"].get("late", 0) - figures["lost"].get("stack-missing", 0)
    tap.ok(figures["complete"] >= 0.99 * known, "complete: %d of %d" % (figures["complete"], known), figures["lost"])
tap.done()
