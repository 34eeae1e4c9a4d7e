#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""passing.py COUNT: so many functions, made and called once, of which each is gone before the next one takes its place in memory."""
import sys

for i in range(int(sys.argv[1])):
    names = {}
    exec("def made_%d(): pass" % i, names)
    names["made_%d" % i]()
