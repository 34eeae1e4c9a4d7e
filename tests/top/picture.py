#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of strata top in the README: what `tmux capture-pane -p -e` has written to standard input, as SVG.

    tmux capture-pane -p -e | tests/top/picture.py > docs/images/top.svg
"""
import html
import re
import sys

COLUMN, LINE, SIZE = 8.4, 18, 14
PAPER, INK = "#16181d", "#eceae5"
BASIC = ["#1f2228", "#d7705f", "#7fd09c", "#f0bf5c", "#8ab4ff", "#c792ea", "#a3bdd6", "#eceae5"]
LEVELS = [0, 95, 135, 175, 215, 255]


def color_of(number):
    """Of xterm's 256: the first 16 by name, a cube of 216, 24 greys."""
    if number < 16:
        return BASIC[number % 8]
    if number < 232:
        number -= 16
        return "#%02x%02x%02x" % (LEVELS[number // 36], LEVELS[number // 6 % 6], LEVELS[number % 6])
    return "#%02x%02x%02x" % ((8 + 10 * (number - 232),) * 3)


class Style:
    def __init__(self):
        self.reset()

    def reset(self):
        self.ink, self.bold, self.reverse, self.underline = INK, False, False, False

    def change(self, codes):
        numbers = [int(code or 0) for code in codes.split(";")]
        while numbers:
            number = numbers.pop(0)
            if number == 0:
                self.reset()
            elif number == 1:
                self.bold = True
            elif number == 4:
                self.underline = True
            elif number == 7:
                self.reverse = True
            elif 30 <= number <= 37:
                self.ink = BASIC[number - 30]
            elif number == 39:
                self.ink = INK
            elif number == 38 and numbers[:1] == [5]:
                self.ink = color_of(numbers[1])
                del numbers[:2]


def draw(text, row, column, style):
    x, y = column * COLUMN + 10, row * LINE + 24
    out = []
    if style.reverse:
        out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"/>' % (x, y - 14, len(text) * COLUMN, LINE, style.ink))
    elif style.underline:
        out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="1" fill="%s"/>' % (x, y + 4, len(text) * COLUMN, style.ink))
    if text.strip():
        out.append('<text x="%.1f" y="%d" fill="%s"%s>%s</text>' % (
            x, y, PAPER if style.reverse else style.ink, ' font-weight="bold"' if style.bold else "", html.escape(text).replace(" ", "&#160;")))
    return out


def main():
    lines = sys.stdin.read().rstrip("\n").split("\n")
    width = max(len(re.sub("\033\\[[0-9;]*m", "", line)) for line in lines)
    style, body = Style(), []
    for row, line in enumerate(lines):
        column = 0
        for part in re.split("(\033\\[[0-9;]*m)", line):
            if part.startswith("\033["):
                style.change(part[2:-1])
            elif part:
                body += draw(part, row, column, style)
                column += len(part)
    print('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="monospace" font-size="%d">'
          % (width * COLUMN + 20, len(lines) * LINE + 20, SIZE))
    print('<rect width="100%%" height="100%%" rx="8" fill="%s"/>' % PAPER)
    print("\n".join(body))
    print("</svg>")


main()
