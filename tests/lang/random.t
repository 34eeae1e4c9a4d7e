#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""random: random well-typed programs print what a small interpreter of their trees says. Needs root.

    random.t [FIRST_SEED [COUNT]]     by hand, for longer runs: COUNT 0 goes on until something differs

Each seed is one program. The interpreter below has the language's rules written down a second time: types of integers,
which grow by what is assigned, and arithmetic in 64 bits (docs/TRACE.md). Trees are nested tuples, (KIND, ...)."""
import os
import random
import re
import subprocess
import sys

STRATA = os.environ["STRATA"]
COUNT = 200
MASK = (1 << 64) - 1


# --- types: ("int", bytes, is_signed, is_flexible), ("bool",), ("str",), ("tuple", (types)), ("record", ((name, type), ...))

BOOL, STR, INT64, UINT64 = ("bool",), ("str",), ("int", 8, True, False), ("int", 8, False, False)
INTEGERS = {f"{'' if signed else 'u'}int{8 * size}": ("int", size, signed, False) for size in (1, 2, 4, 8) for signed in (True, False)}


def number_type(pattern, is_unsigned):
    value = signed(pattern)
    if value < 0 and is_unsigned:
        return UINT64
    size = next(size for size in (1, 2, 4, 8) if -(1 << 8 * size - 1) <= value < 1 << 8 * size - 1)
    return ("int", size, True, value >= 0)


def join(a, b):
    if a == b:
        return a
    if a[0] == "tuple":
        return ("tuple", tuple(join(x, y) for x, y in zip(a[1], b[1])))
    if a[0] == "record":
        return ("record", tuple((name, join(x, dict(b[1])[name])) for name, x in a[1]))
    if a[0] != "int" or b[0] != "int":
        return a if a[0] == "int" else b
    size = max(a[1], b[1])
    if a[3] or b[3]:
        return ("int", size, (b if a[3] else a)[2], a[3] and b[3])
    if a[2] == b[2]:
        return ("int", size, a[2], False)
    plus, minus = (b, a) if a[2] else (a, b)
    return ("int", size if minus[1] > plus[1] else min(8, 2 * size), True, False)


def arithmetic(op, a, b):
    a, b = (("int", 1, True, True) if x == BOOL else x for x in (a, b))
    is_signed = (a[2] or b[2]) if a[3] == b[3] else (b if a[3] else a)[2]
    return INT64 if op == "-" or is_signed else UINT64


# --- values: integers as patterns of 64 bits, records as pairs of name and value, sorted by name

def signed(pattern):
    return pattern - (1 << 64) if pattern >> 63 else pattern


def fit(value, kind):
    """A value as a variable of this type keeps it."""
    if kind[0] == "tuple":
        return tuple(fit(x, y) for x, y in zip(value, kind[1]))
    if kind[0] == "record":
        return tuple((name, fit(x, dict(kind[1])[name])) for name, x in value)
    if kind[0] != "int":
        return value
    bits = 8 * kind[1]
    value &= (1 << bits) - 1
    return value | MASK & ~((1 << bits) - 1) if kind[2] and value >> bits - 1 else value


def show(value, kind):
    if kind[0] == "tuple":
        return "(" + ", ".join(show(x, y) for x, y in zip(value, kind[1])) + ")"
    if kind[0] == "record":
        return "{ " + ", ".join(f".{name} = {show(dict(value)[name], x)}" for name, x in kind[1]) + " }"
    if kind[0] == "int":
        return str(signed(value) if kind[2] else value)
    return value if kind == STR else "true" if value else "false"


def divide(op, x, y, is_signed):
    if not y:
        return 1
    if not is_signed:
        return x // y if op == "/" else x % y
    a, b = signed(x), signed(y)
    size = abs(a) // abs(b) if op == "/" else abs(a) % abs(b)
    minus = (a < 0) != (b < 0) if op == "/" else a < 0
    return (-size if minus else size) & MASK


def operate(op, x, y, a, b):
    if op in "/%":
        wide = [t[0] == "int" and t[1] == 8 and not t[2] for t in (a, b)]
        return divide(op, x, y, not any(wide))
    if op == "<<":
        return x << (y & 63) & MASK
    if op == ">>":
        return (signed(x) >> (y & 63) if a[0] == "int" and a[2] else x >> (y & 63)) & MASK
    return {"+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y}[op] & MASK


def compare(op, x, y, a, b):
    kind = join(a, b)
    if kind[0] == "int" and kind[2]:
        x, y = signed(x), signed(y)
    elif kind[0] in ("tuple", "record"):
        x, y = fit(x, kind), fit(y, kind)
    return {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op]


# --- the checker: types of expressions, by passes over the program until none grows

class Types:
    def __init__(self, program):
        self.names, self.declared, self.changed = {}, set(), True
        self.constants = {}
        while self.changed:
            self.changed = False
            for statement in program:
                self.statement(statement)

    def grow(self, name, kind):
        if name in self.declared:
            return
        own = self.names.get(name)
        joined = join(own, kind) if own else kind
        if joined != own:
            self.names[name] = joined
            self.changed = True

    def of(self, node):
        """The type, and the number if it is known while compiling, else None."""
        kind, constant = self.look(node)
        self.constants[id(node)] = constant
        return kind, constant

    def type(self, node):
        return self.of(node)[0]

    def look(self, node):
        what = node[0]
        if what == "number":
            return number_type(node[1], True), node[1]
        if what == "truth":
            return BOOL, int(node[1])
        if what == "text":
            return STR, None
        if what == "variable":
            return self.names["$" + node[1]], None
        if what == "map":
            self.grow("[" + node[1], self.type(node[2]))
            return self.names["@" + node[1]], None
        if what == "has":
            self.grow("[" + node[1], self.type(node[2]))
            return BOOL, None
        if what == "length":
            return INT64, None
        if what == "sizeof":
            self.type(node[1])
            return UINT64, None
        if what == "binary":
            return self.binary(node)
        if what == "compare":
            self.type(node[2]), self.type(node[3])
            return BOOL, None
        if what == "logic":
            self.type(node[2]), self.type(node[3])
            return BOOL, None
        if what == "not":
            self.type(node[1])
            return BOOL, None
        if what == "minus":
            kind, constant = self.of(node[1])
            if constant is not None:
                return number_type(-constant & MASK, False), -constant & MASK
            return INT64, None
        if what == "complement":
            kind = self.type(node[1])
            return INT64 if kind[0] == "int" and kind[2] else UINT64, None
        if what == "choice":
            self.type(node[1])
            return join(self.type(node[2]), self.type(node[3])), None
        if what == "cast":
            self.type(node[2])
            return INTEGERS.get(node[1], BOOL), None
        if what == "tuple":
            return ("tuple", tuple(self.type(x) for x in node[1])), None
        if what == "record":
            return ("record", tuple((name, self.type(x)) for name, x in node[1])), None
        if what == "element":
            fields = self.type(node[1])
            return dict(fields[1])[node[2]] if fields[0] == "record" else fields[1][node[2]], None
        if what == "block":
            for statement in node[1]:
                self.statement(statement)
            return self.type(node[2]), None
        return self.of(node[3])  # macro

    def binary(self, node):
        op = node[1]
        (a, x), (b, y) = self.of(node[2]), self.of(node[3])
        if x is None or y is None or op in ("/", "%", ">>"):
            return arithmetic(op, a, b), None
        unsigned = op != "-" and all(not v >> 63 or not (t[0] == "int" and t[2]) for v, t in ((x, a), (y, b)))
        value = operate(op, x, y, a, b)
        return number_type(value, unsigned), value

    def statement(self, node):
        what = node[0]
        if what == "print":
            self.type(node[1])
        elif what == "let":
            if node[2]:
                self.declared.add("$" + node[1])
                self.names["$" + node[1]] = INTEGERS[node[2]]
            kind = self.type(node[3])
            self.grow("$" + node[1], kind)
        elif what == "set":
            kind = self.type(node[3])
            if node[2]:
                kind = arithmetic(node[2], self.names["$" + node[1]], kind)
            self.grow("$" + node[1], kind)
        elif what == "put":
            self.grow("[" + node[1], self.type(node[2]))
            kind = self.type(node[4])
            if node[3]:
                kind = arithmetic(node[3], self.names["@" + node[1]], kind)
            self.grow("@" + node[1], kind)
        elif what == "step":
            if node[2] is None:
                self.grow("$" + node[1], arithmetic(node[3][0], self.names["$" + node[1]], ("int", 1, True, True)))
            else:
                self.grow("[" + node[1], self.type(node[2]))
                self.grow("@" + node[1], arithmetic(node[3][0], self.names["@" + node[1]], ("int", 1, True, True)))
        elif what == "delete":
            self.grow("[" + node[1], self.type(node[2]))
        elif what == "if":
            self.type(node[1])
            for statement in node[2] + node[3]:
                self.statement(statement)
        elif what == "while":
            self.type(node[1])
            for statement in node[2]:
                self.statement(statement)
        elif what == "unroll":
            for statement in node[2]:
                self.statement(statement)
        elif what == "range":
            kind = join(self.type(node[2]), self.type(node[3]))
            self.grow("$" + node[1], kind if kind[0] == "int" else INT64)
            for statement in node[4]:
                self.statement(statement)
        elif what == "each":
            self.names["$" + node[1]] = ("tuple", (self.names["[" + node[2]], self.names["@" + node[2]]))
            for statement in node[3]:
                self.statement(statement)

    def size(self, kind):
        return kind[1] if kind[0] == "int" else 1


# --- the interpreter

class Break(Exception):
    pass


class Continue(Exception):
    pass


class Return(Exception):
    pass


class Interpreter:
    def __init__(self, program):
        self.types = Types(program)
        self.variables, self.maps, self.out = {}, {}, []
        try:
            self.run(program)
        except Return:
            pass

    def kind(self, node):
        return self.types.type(node)

    def zero(self, kind):
        if kind[0] == "record":
            return tuple(sorted((name, self.zero(x)) for name, x in kind[1]))
        return tuple(self.zero(x) for x in kind[1]) if kind[0] == "tuple" else "" if kind == STR else 0

    def key(self, name, node):
        return fit(self.value(node), self.types.names["[" + name])

    def value(self, node):
        what = node[0]
        if what in ("number", "truth", "text"):
            return node[1]
        if what == "variable":
            return self.variables[node[1]]
        if what == "map":
            return self.maps.get(node[1], {}).get(self.key(node[1], node[2]), self.zero(self.types.names["@" + node[1]]))
        if what == "has":
            return self.key(node[1], node[2]) in self.maps.get(node[1], {})
        if what == "length":
            return len(self.maps.get(node[1], {}))
        if what == "sizeof":
            return self.types.size(self.kind(node[1]))
        if what == "binary":
            a, b = self.kind(node[2]), self.kind(node[3])
            x = self.value(node[2])
            return operate(node[1], x, self.value(node[3]), a, b)
        if what == "compare":
            a, b = self.kind(node[2]), self.kind(node[3])
            x = self.value(node[2])
            return compare(node[1], x, self.value(node[3]), a, b)
        if what == "logic":
            left = bool(self.value(node[2]))
            return bool(self.value(node[3])) if left == (node[1] == "&&") else left
        if what == "not":
            return not self.value(node[1])
        if what == "minus":
            return -self.value(node[1]) & MASK
        if what == "complement":
            return ~self.value(node[1]) & MASK
        if what == "choice":
            return fit(self.value(node[2] if self.value(node[1]) else node[3]), self.kind(node))
        if what == "cast":
            value = self.value(node[2])
            return fit(value, INTEGERS[node[1]]) if node[1] in INTEGERS else bool(value)
        if what == "tuple":
            return tuple(self.value(x) for x in node[1])
        if what == "record":
            return tuple(sorted((name, self.value(x)) for name, x in node[1]))
        if what == "element":
            value = self.value(node[1])
            return dict(value)[node[2]] if isinstance(node[2], str) else value[node[2]]
        if what == "block":
            self.run(node[1])
            return self.value(node[2])
        return self.value(node[3])  # macro

    def run(self, statements):
        for statement in statements:
            self.statement(statement)

    def body(self, statements):
        """One turn of a loop. False: it was the last one."""
        try:
            self.run(statements)
        except Continue:
            pass
        except Break:
            return False
        return True

    def statement(self, node):
        what = node[0]
        if what == "print":
            self.out.append(show(self.value(node[1]), self.kind(node[1])))
        elif what == "let":
            self.variables[node[1]] = fit(self.value(node[3]), self.types.names["$" + node[1]])
        elif what == "set":
            kind, value = self.types.names["$" + node[1]], self.value(node[3])
            if node[2]:
                value = operate(node[2], self.variables[node[1]], value, kind, self.kind(node[3]))
            self.variables[node[1]] = fit(value, kind)
        elif what == "put":
            kind, value, key = self.types.names["@" + node[1]], self.value(node[4]), self.key(node[1], node[2])
            values = self.maps.setdefault(node[1], {})
            if node[3]:
                value = operate(node[3], values.get(key, 0), value, kind, self.kind(node[4]))
            values[key] = fit(value, kind)
        elif what == "step":
            self.step(node)
        elif what == "delete":
            self.maps.get(node[1], {}).pop(self.key(node[1], node[2]), None)
        elif what == "if":
            self.run(node[2] if self.value(node[1]) else node[3])
        elif what == "while":
            while self.value(node[1]) and self.body(node[2]):
                pass
        elif what == "unroll":
            for _ in range(node[1]):
                self.run(node[2])
        elif what == "range":
            for number in range(signed(self.value(node[2])), signed(self.value(node[3]))):
                self.variables[node[1]] = fit(number & MASK, self.types.names["$" + node[1]])
                if not self.body(node[4]):
                    break
        elif what == "each":
            for pair in list(self.maps.get(node[2], {}).items()):
                self.variables[node[1]] = pair
                self.run(node[3])
        else:
            raise {"break": Break, "continue": Continue, "return": Return}[what]

    def step(self, node):
        by = 1 if node[3] == "++" else -1
        if node[2] is None:
            kind = self.types.names["$" + node[1]]
            self.variables[node[1]] = fit(self.variables[node[1]] + by & MASK, kind)
        else:
            kind, values, key = self.types.names["@" + node[1]], self.maps.setdefault(node[1], {}), self.key(node[1], node[2])
            values[key] = fit(values.get(key, 0) + by & MASK, kind)


# --- the text of a program

def expression(node):
    what = node[0]
    if what == "number":
        return str(node[1])
    if what == "truth":
        return "true" if node[1] else "false"
    if what == "text":
        return f'"{node[1]}"'
    if what == "variable":
        return "$" + node[1]
    if what == "map":
        return f"@{node[1]}[{expression(node[2])}]"
    if what == "has":
        return f"has_key(@{node[1]}, {expression(node[2])})"
    if what == "length":
        return f"len(@{node[1]})"
    if what == "sizeof":
        return f"sizeof({expression(node[1])})"
    if what in ("binary", "compare", "logic"):
        return f"({expression(node[2])} {node[1]} {expression(node[3])})"
    if what in ("not", "minus", "complement"):
        return f"{ {'not': '!', 'minus': '-', 'complement': '~'}[what]}({expression(node[1])})"
    if what == "choice":
        if node[4]:
            return f"if {expression(node[1])} {{ {expression(node[2])} }} else {{ {expression(node[3])} }}"
        return f"({expression(node[1])} ? {expression(node[2])} : {expression(node[3])})"
    if what == "cast":
        return f"({node[1]})({expression(node[2])})"
    if what == "tuple":
        return "(" + ", ".join(expression(x) for x in node[1]) + ("," if len(node[1]) == 1 else "") + ")"
    if what == "record":
        return "(" + ", ".join(f"{name}={expression(x)}" for name, x in node[1]) + ")"
    if what == "element":
        return f"{expression(node[1])}.{node[2]}"
    if what == "block":
        return "{ " + lines(node[1]) + expression(node[2]) + " }"
    return f"{node[1]}({', '.join(expression(x) for x in node[2])})"


def lines(statements):
    return "".join(line(statement) + " " for statement in statements)


def line(node):
    what = node[0]
    if what == "print":
        return f"print({expression(node[1])});"
    if what == "let":
        return f"let ${node[1]}{': ' + node[2] if node[2] else ''} = {expression(node[3])};"
    if what == "set":
        return f"${node[1]} {node[2]}= {expression(node[3])};"
    if what == "put":
        return f"@{node[1]}[{expression(node[2])}] {node[3]}= {expression(node[4])};"
    if what == "step":
        place = f"${node[1]}" if node[2] is None else f"@{node[1]}[{expression(node[2])}]"
        return f"{node[3]}{place};" if node[4] else f"{place}{node[3]};"
    if what == "delete":
        return f"delete(@{node[1]}, {expression(node[2])});"
    if what == "if":
        otherwise = f" else {{ {lines(node[3])}}}" if node[3] else ""
        return f"if ({expression(node[1])}) {{ {lines(node[2])}}}{otherwise}"
    if what == "while":
        return f"while ({expression(node[1])}) {{ {lines(node[2])}}}"
    if what == "unroll":
        return f"unroll({node[1]}) {{ {lines(node[2])}}}"
    if what == "range":
        return f"for (${node[1]} : {expression(node[2])}..{expression(node[3])}) {{ {lines(node[4])}}}"
    if what == "each":
        return f"for (${node[1]} : @{node[2]}) {{ {lines(node[3])}}}"
    return what + ";"


MACROS = "macro triple(x) { x * 3 } macro pick(c, a, b) { if (c) { a } else { b } } "


def source(program):
    return "config = { print_maps_on_exit = 0; max_strlen = 64 } " + MACROS + "begin {\n" + "\n".join(line(x) for x in program) + "\n}"


# --- the generator: kinds are "i", "b", "s", tuples of kinds, and Fields

class Fields(tuple):
    """Of a record: pairs of name and kind."""


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.scopes = [{}]  # variable: kind
        self.declared = {}  # variable: its type, if it has one; what does not fit is an error when it is a literal
        self.fixed = set()  # not to be assigned: of loops
        self.maps = {}      # map: (kind of key, kind of value)
        self.serial = 0
        self.loops = 0
        self.pure = False   # of what is done for each entry of a map, in any order
        self.program = self.prologue() + [x for _ in range(self.random.randint(4, 14)) for x in self.statement(3)] + self.epilogue()

    def name(self, prefix):
        self.serial += 1
        return f"{prefix}{self.serial}"

    def shape(self, depth=0):
        if depth < 2 and self.random.random() < 0.1:
            return Fields((name, self.shape(depth + 1)) for name in self.random.sample("pqrs", self.random.randint(2, 3)))
        if depth < 2 and self.random.random() < 0.3:
            return tuple(self.shape(depth + 1) for _ in range(self.random.randint(2, 4)))
        return self.random.choice("iiiibs" if depth else "iiiis")

    def prologue(self):
        out = []
        for _ in range(self.random.randint(2, 5)):
            kind, name = self.shape(), self.name("v")
            declared = self.random.choice(list(INTEGERS)) if kind == "i" and self.random.random() < 0.3 else None
            value = self.value(kind, 1)
            out.append(("let", name, declared, ("cast", declared, value) if declared else value))
            self.declared[name] = declared
            self.scopes[0][name] = kind
        for _ in range(self.random.randint(1, 3)):
            key, kind, name = self.shape(), self.shape(), self.name("m")
            out.append(("put", name, self.value(key, 1), "", self.value(kind, 1)))
            self.maps[name] = (key, kind)
        return out

    def epilogue(self):
        out = [("print", ("variable", name)) for name in self.scopes[0]]
        out += [("print", ("sizeof", ("variable", name))) for name, kind in self.scopes[0].items() if kind == "i"]
        out += [("print", ("length", name)) for name in self.maps]
        return out

    def visible(self, kind):
        return [name for scope in self.scopes for name, own in scope.items() if own == kind]

    def literal(self):
        pick = self.random.random()
        if pick < 0.5:
            return ("number", self.random.randint(0, 10))
        edges = [1 << bits for bits in (7, 8, 15, 16, 31, 32, 63)]
        number = max(0, min(MASK, self.random.choice(edges) + self.random.randint(-2, 1)))
        if pick < 0.8:
            return ("number", number)
        return ("minus", ("number", min(number, 1 << 63)))

    def integer(self, depth):
        names, pick = self.visible("i"), self.random.random()
        if depth <= 0 or pick < 0.15:
            return ("variable", self.random.choice(names)) if names and self.random.random() < 0.7 else self.literal()
        if pick < 0.55:
            op = self.random.choice(["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"])
            right = self.integer(depth - 1)
            if op in "/%" and right[0] != "variable":
                # By a literal zero is an error.
                right = ("binary", "|", ("variable", self.random.choice(names)), right) if names else ("number", 3)
            return ("binary", op, self.integer(depth - 1), right)
        if pick < 0.62:
            return ("minus", self.integer(depth - 1))
        if pick < 0.67:
            return ("complement", self.integer(depth - 1))
        if pick < 0.77:
            return ("cast", self.random.choice(list(INTEGERS)), self.integer(depth - 1))
        if pick < 0.8:
            return ("macro", "triple", *self.expanded(lambda x: ("binary", "*", x, ("number", 3)), self.integer(depth - 1)))
        return self.general("i", depth)

    @staticmethod
    def expanded(body, *arguments):
        return list(arguments), body(*arguments)

    def boolean(self, depth):
        pick = self.random.random()
        if depth <= 0 or pick < 0.1:
            return ("truth", self.random.random() < 0.5)
        if pick < 0.5:
            return ("compare", self.random.choice(["==", "!=", "<", "<=", ">", ">="]), self.integer(depth - 1), self.integer(depth - 1))
        if pick < 0.6:
            kind = self.shape()
            if kind != "b":
                return ("compare", self.random.choice(["==", "!="]), self.value(kind, depth - 1), self.value(kind, depth - 1))
        if pick < 0.75:
            return ("logic", self.random.choice(["&&", "||"]), self.condition(depth - 1), self.condition(depth - 1))
        if pick < 0.85:
            return ("not", self.condition(depth - 1))
        if pick < 0.9 and self.maps and not self.pure:
            name = self.random.choice(list(self.maps))
            return ("has", name, self.value(self.maps[name][0], depth - 1))
        if pick < 0.94:
            return ("cast", "bool", self.integer(depth - 1))
        return self.general("b", depth)

    def condition(self, depth):
        return self.integer(depth) if self.random.random() < 0.3 else self.boolean(depth)

    def general(self, kind, depth):
        """What there is of every kind."""
        pick, names = self.random.random(), self.visible(kind)
        maps = [] if self.pure else [name for name, kinds in self.maps.items() if kinds[1] == kind]
        holders = [(name, at) for scope in self.scopes for name, own in scope.items() if isinstance(own, tuple)
                   for at, inner in (own if isinstance(own, Fields) else enumerate(own)) if inner == kind]
        if maps and pick < 0.3:
            name = self.random.choice(maps)
            return ("map", name, self.value(self.maps[name][0], depth - 2))
        if holders and pick < 0.55:
            name, at = self.random.choice(holders)
            return ("element", ("variable", name), at)
        if pick < 0.65:
            return ("choice", self.condition(depth - 1), self.value(kind, depth - 1), self.value(kind, depth - 1), False)
        if pick < 0.75:
            return ("macro", "pick", *self.expanded(lambda c, a, b: ("choice", c, a, b, True), self.condition(depth - 1),
                                                    self.value(kind, depth - 1), self.value(kind, depth - 1)))
        if pick < 0.85 and not self.pure:
            self.scopes.append({})
            inner = self.shape()
            name = self.name("t")
            begin = ("let", name, None, self.value(inner, depth - 1))
            self.scopes[-1][name] = inner
            end = self.value(kind, depth - 1)
            self.scopes.pop()
            return ("block", [begin], end)
        if names:
            return ("variable", self.random.choice(names))
        return self.value(kind, 0)

    def value(self, kind, depth):
        if kind == "i":
            return self.integer(depth)
        if kind == "b":
            return self.boolean(depth)
        if depth > 0 and self.random.random() < 0.5:
            return self.general(kind, depth)
        names = self.visible(kind)
        if names and self.random.random() < 0.4:
            return ("variable", self.random.choice(names))
        if kind == "s":
            return ("text", "".join(self.random.choice("abxy") for _ in range(self.random.randint(0, 12))))
        if isinstance(kind, Fields):
            return ("record", [(name, self.value(x, depth - 1)) for name, x in self.random.sample(kind, len(kind))])
        return ("tuple", [self.value(x, depth - 1) for x in kind])

    def block(self, depth, more=None):
        self.scopes.append(dict(more or {}))
        out = [x for _ in range(self.random.randint(1, 3)) for x in self.statement(depth)]
        self.scopes.pop()
        return out

    def assignable(self):
        return [(name, kind) for scope in self.scopes for name, kind in scope.items() if name not in self.fixed]

    def statement(self, depth):
        pick = self.random.random()
        if pick < 0.2:
            return [("print", self.value(self.shape(), 3))]
        if pick < 0.3:
            kind, name = self.shape(), self.name("v")
            value = self.value(kind, 3)
            self.scopes[-1][name] = kind
            return [("let", name, None, value)]
        if pick < 0.5 and self.assignable():
            name, kind = self.random.choice(self.assignable())
            op = self.random.choice(["", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]) if kind == "i" else ""
            value = self.value(kind, 3)
            cast = "int32" if op in ("/", "%") else None if op else self.declared.get(name)
            return [("set", name, op, ("cast", cast, value) if cast else value)]
        if pick < 0.65:
            name = self.random.choice(list(self.maps))
            key, kind = self.maps[name]
            op = self.random.choice(["", "", "+", "-", "*", "|", ">>"]) if kind == "i" else ""
            return [("put", name, self.value(key, 2), op, self.value(kind, 3))]
        if pick < 0.72:
            return self.steps()
        if pick < 0.76:
            name = self.random.choice(list(self.maps))
            return [("delete", name, self.value(self.maps[name][0], 1))]
        if depth <= 0:
            return [("print", self.integer(2))]
        if pick < 0.86:
            return [("if", self.condition(2), self.block(depth - 1), self.block(depth - 1) if self.random.random() < 0.5 else [])]
        return self.loop(depth)

    def steps(self):
        op, prefix = self.random.choice(["++", "--"]), self.random.random() < 0.5
        names = [name for name, kind in self.assignable() if kind == "i"]
        maps = [name for name, kinds in self.maps.items() if kinds[1] == "i"]
        if maps and self.random.random() < 0.5:
            name = self.random.choice(maps)
            return [("step", name, self.value(self.maps[name][0], 1), op, prefix)]
        return [("step", self.random.choice(names), None, op, prefix)] if names else []

    def loop(self, depth):
        pick, self.loops = self.random.random(), self.loops + 1
        if pick < 0.25:
            out = [("unroll", self.random.randint(1, 4), self.block(depth - 1))]
        elif pick < 0.5:
            out = self.counted(depth)
        elif pick < 0.75:
            name = self.name("i")
            self.fixed.add(name)
            first, last = self.random.randint(-3, 3), self.random.randint(0, 6)
            begin = ("minus", ("number", -first)) if first < 0 else ("number", first)
            if self.random.random() < 0.3:
                begin = ("cast", self.random.choice(["int8", "int16", "int64"]), begin)
            body = self.block(depth - 1, {name: "i"})
            out = [("range", name, begin, ("number", last), body + self.way_out())]
        else:
            out = self.each()
        self.loops -= 1
        return out

    def way_out(self):
        if self.random.random() < 0.7:
            return []
        return [("if", self.condition(2), [(self.random.choice(["break", "continue", "break", "continue", "return"]),)], [])]

    def counted(self, depth):
        name = self.name("w")
        self.fixed.add(name)
        self.scopes[-1][name] = "i"
        body = [("step", name, None, "++", False)] + self.way_out() + self.block(depth - 1)
        return [("let", name, None, ("number", 0)),
                ("while", ("compare", "<", ("variable", name), ("number", self.random.randint(0, 5))), body)]

    def each(self):
        """The order of a map's entries is nobody's: a sum does not tell."""
        name, pair, total = self.random.choice(list(self.maps)), self.name("p"), self.name("s")
        self.pure = True
        self.scopes.append({pair: self.maps[name], total: "b"})
        self.scopes[-1].pop(total)
        value = self.integer(3)
        self.scopes.pop()
        self.pure = False
        self.scopes[-1][total] = "i"
        self.fixed.add(total)
        return [("let", total, None, ("number", 0)), ("each", pair, name, [("set", total, "+", value)]), ("print", ("variable", total))]


# --- running

def run(program):
    result = subprocess.run([STRATA, "trace", "-q", "--no-warnings", "-e", source(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            timeout=120, check=False)
    return result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")


def differs(program):
    """None, or what was expected, what came, and the complaints."""
    expected = "".join(text + "\n" for text in Interpreter(program).out) + "\n\n"
    out, err = run(program)
    return None if out == expected and not err else (expected, out, err)


def smaller(program):
    """Each program with one statement less, at any level."""
    for at, node in enumerate(program):
        yield program[:at] + program[at + 1:]
        for part, inner in enumerate(node):
            if isinstance(inner, list) and inner and isinstance(inner[0], tuple) and node[0] in ("if", "while", "unroll", "range"):
                yield program[:at] + inner + program[at + 1:]
                for less in smaller(inner):
                    yield program[:at] + [node[:part] + (less,) + node[part + 1:]] + program[at + 1:]


def kind_of(complaints):
    """The first complaint without what changes with the program."""
    return re.sub(r"[\d'@$].*|^\S*:", "", complaints.split("\n", maxsplit=1)[0].split(": ", maxsplit=1)[-1])


def reduce(program, complaints):
    """The smallest program found that differs in the same way."""
    progress = True
    while progress:
        progress = False
        for less in smaller(program):
            try:
                found = differs(less)
            except (KeyError, RecursionError):
                continue
            if found and kind_of(found[2]) == kind_of(complaints):
                program, progress = less, True
                break
    return program


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    count = int(sys.argv[2]) if len(sys.argv) > 2 else COUNT
    seed, failed = first, 0
    while not failed and (not count or seed < first + count):
        program = Generator(seed).program
        found = differs(program)
        if found:
            failed += 1
            if len(sys.argv) > 1:
                program = reduce(program, found[2])
                found = differs(program) or found
            text = f"seed {seed}\n{source(program)}\nexpected {found[0]!r}\ngot {found[1]!r}\n{found[2]}"
            print("".join(f"# {x}\n" for x in text.splitlines()), end="")
        seed += 1
    print(f"{'not ok' if failed else 'ok'} 1 - {seed - first} random programs print what their trees mean")
    print("1..1")
    return failed


sys.exit(main())
