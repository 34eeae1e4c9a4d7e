# SPDX-License-Identifier: GPL-2.0-or-later
"""What the object model calls: __init__, __call__, metaclasses, descriptors, properties, __getattr__, operators."""


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


class Base(object):
    def __init__(self, size):
        self.size = size
        spin(100)

    def __call__(self, extra):
        return spin(self.size + extra)

    @classmethod
    def build(cls, size):
        return cls(size)

    @staticmethod
    def helper(n):
        return spin(n)


class Derived(Base):
    def __init__(self, size):
        super().__init__(
            size
        )
        self.twice = spin(50)

    def __call__(self, extra):
        return super().__call__(extra) + \
            Base.helper(30)


def initialisers(n):
    for _ in range(n):
        Derived(20)(100)
        Derived.build(10)
        Base(50)(10)


class OnlyNew(object):
    def __new__(cls, n):
        spin(n)
        return object.__new__(cls)


def allocators(n):
    for _ in range(n):
        OnlyNew(200)


# gap: 600
class Field(object):
    def __set_name__(self, owner, name):
        self.name = "_" + name
        spin(30)

    def __get__(self, instance, owner):
        if instance is None:
            return self
        return spin(80) + instance.__dict__.get(self.name, 0)

    def __set__(self, instance, value):
        spin(40)
        instance.__dict__[self.name] = value

    def __delete__(self, instance):
        spin(40)
        instance.__dict__.pop(self.name)


class Record(object):
    first = Field()
    second = Field()

    @property
    def area(self):
        return self.first * \
            self.second

    @area.setter
    def area(self, value):
        self.first = value
        self.second = 1


def descriptors(n):
    record = Record()
    for _ in range(n):
        record.first = 3
        record.second = record.first
        record.area
        record.area = 12
        del record.first
        Record.first


class Proxy(object):
    def __init__(self, target):
        self.target = target

    def __getattr__(self, name):
        spin(50)
        return getattr(self.target, name)


class Watcher(object):
    def __getattribute__(self, name):
        spin(60)
        return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        spin(60)
        object.__setattr__(self, name, value)

    def value(self):
        return spin(60)


def attribute_hooks(n):
    proxy = Proxy(Proxy(Record()))
    watcher = Watcher()
    for _ in range(n):
        proxy.area
        getattr(proxy, "nothing", None)
        watcher.x = 1
        watcher.value()


class Meta(type):
    @classmethod
    def __prepare__(mcs, name, bases, **options):
        spin(30)
        return {}

    def __new__(mcs, name, bases, namespace, **options):
        spin(30)
        return super().__new__(mcs, name, bases, namespace)

    def __init__(cls, name, bases, namespace, **options):
        spin(30)
        super().__init__(name, bases, namespace)

    def __call__(cls, *args):
        spin(30)
        return super().__call__(*args)

    def __instancecheck__(cls, instance):
        return spin(50) > 0


class Plugin(object):
    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        spin(40)


def class_statements(n):
    for _ in range(n // 2):
        class Made(metaclass=Meta):
            field = Field()
            total = spin(60)

            def method(self):
                return spin(50)

        Made().method()
        isinstance(3, Made)

        class Added(Plugin):
            inner = [
                spin(k)
                for k in range(5)
            ]


# gap: 200
class Number(object):
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Number(spin(50) + self.value)

    __radd__ = __add__

    def __lt__(self, other):
        spin(10)
        return self.value < other.value

    def __eq__(self, other):
        spin(20)
        return self.value == other.value

    def __hash__(self):
        return spin(20) * 0 + self.value

    def __bool__(self):
        return spin(30) > 0

    def __len__(self):
        return spin(30) % 5

    def __getitem__(self, key):
        if key > 6:
            raise IndexError(key)
        return spin(30)

    def __contains__(self, key):
        return spin(30) == key

    def __index__(self):
        return spin(30) % 3

    def __repr__(self):
        return "Number(%d)" % spin(40)

    def __format__(self, spec):
        return str(spin(40))


def operators(n):
    one, two = Number(1), Number(2)
    for _ in range(n):
        one + two
        1 + one
        if one and len(two):
            [10, 20, 30][one]
        list(one)
        one[2]
        3 in one
        {one: 1, two: 2}[one]
        "{:x} and {!r}".format(one, two)
        "%s" % one
        str(f"{one:>3} {two!r}")


SCENARIOS = [
    ("initialisers", initialisers),
    ("allocators", allocators),
    ("descriptors", descriptors),
    ("attribute_hooks", attribute_hooks),
    ("class_statements", class_statements),
    ("operators", operators),
]
