#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A small shop behind a web framework of 60 lines: what a Python service does all day, without a network.

Requests are made up, routed by regular expressions, pass through middleware, query SQLite, sort, render
templates or JSON; a pool of threads handles them and a child process compresses and hashes the access log.

    app.py [SECONDS]        prints one line at the end
"""
import collections
import functools
import hashlib
import json
import multiprocessing
import queue
import random
import re
import sqlite3
import sys
import threading
import time
import zlib

# ---- the framework: requests, routes, middleware, templates -------------------------------------------------------

Request = collections.namedtuple("Request", "method path query headers body")
Response = collections.namedtuple("Response", "status headers body")


class HttpError(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class App(object):
    """Routes and the middleware around their handlers."""

    CONVERTERS = {"int": r"\d+", "str": r"[^/]+"}

    def __init__(self):
        self.routes = []
        self.middleware = []

    def route(self, pattern, method="GET"):
        expression = re.sub(r"<(\w+):(\w+)>", self.placeholder, pattern)

        def register(handler):
            self.routes.append((method, re.compile("^%s$" % expression), handler))
            return handler

        return register

    def placeholder(self, match):
        return "(?P<%s>%s)" % (match.group(2), self.CONVERTERS[match.group(1)])

    def use(self, middleware):
        self.middleware.append(middleware)
        return middleware

    def find(self, request):
        for method, pattern, handler in self.routes:
            match = pattern.match(request.path)
            if match and method == request.method:
                return functools.partial(handler, **match.groupdict())
        raise HttpError(404, "no such page: %s" % request.path)

    def handle(self, request):
        handler = self.dispatch
        for middleware in reversed(self.middleware):
            handler = functools.partial(middleware, handler)
        return handler(request)

    def dispatch(self, request):
        return self.find(request)(request)


class Template(object):
    """`{{ name }}` and `{{ name|filter }}` in a text."""

    FILTERS = {
        "upper": str.upper,
        "money": lambda cents: "{:,.2f}".format(cents / 100.0),
        "text": lambda value: value,
    }
    FIELD = re.compile(r"\{\{\s*(\w+)(?:\|(\w+))?\s*\}\}")
    SPECIAL = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})

    def __init__(self, source):
        self.source = source

    def render(self, **values):
        def fill(match):
            name, filter_name = match.groups()
            return str(self.FILTERS[filter_name or "text"](values[name])).translate(self.SPECIAL)

        return self.FIELD.sub(fill, self.source)


# ---- the shop ----------------------------------------------------------------------------------------------------

app = App()
ROW = Template("<tr><td>{{ name|upper }}</td><td>{{ price|money }}</td><td>{{ stock }}</td></tr>")
PAGE = Template("<html><head><title>{{ title }}</title></head><body>{{ count }} products</body></html>")
EMAIL = re.compile(r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$")
WORDS = "amber basalt cedar delta ember flint gravel harbor indigo juniper kelp lime marble nectar opal".split()


class Store(object):
    """The products and orders; each worker thread has a database of its own, in memory."""

    local = threading.local()

    @classmethod
    def connection(cls):
        if not hasattr(cls.local, "connection"):
            cls.local.connection = cls.create()
        return cls.local.connection

    @staticmethod
    def create():
        connection = sqlite3.connect(":memory:")
        connection.row_factory = sqlite3.Row
        connection.create_function("discount", 2, lambda price, percent: price * (100 - percent) // 100)
        connection.executescript(
            "CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT, price INTEGER, stock INTEGER, category TEXT);"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, product INTEGER, email TEXT, quantity INTEGER);"
            "CREATE INDEX by_category ON product (category);"
        )
        dice = random.Random(7)
        rows = [("%s %s" % (dice.choice(WORDS), dice.choice(WORDS)), dice.randrange(100, 90000),
                 dice.randrange(50), dice.choice(WORDS)) for _ in range(400)]
        connection.executemany("INSERT INTO product (name, price, stock, category) VALUES (?, ?, ?, ?)", rows)
        return connection


@app.use
def log_access(handler, request):
    started = time.perf_counter()
    response = handler(request)
    LOG.append("%s %s %d %d %.6f" % (request.method, request.path, response.status, len(response.body),
                                     time.perf_counter() - started))
    return response


@app.use
def catch_errors(handler, request):
    try:
        return handler(request)
    except HttpError as error:
        return Response(error.status, {}, json.dumps({"error": str(error)}))


@app.use
def check_signature(handler, request):
    expected = hashlib.sha256((request.path + request.body).encode()).hexdigest()[:16]
    if request.headers.get("x-signature") != expected:
        raise HttpError(403, "bad signature")
    return handler(request)


def as_json(handler):
    @functools.wraps(handler)
    def wrapper(request, **arguments):
        return Response(200, {"content-type": "application/json"}, json.dumps(handler(request, **arguments)))

    return wrapper


@app.route("/products/<str:category>")
def list_products(request, category):
    rows = Store.connection().execute(
        "SELECT name, price, stock FROM product WHERE category = ? OR price < 20000", (category,)).fetchall()
    rows.sort(key=lambda row: (-row["stock"], row["name"]))
    body = "".join(ROW.render(**dict(row)) for row in rows[:25])
    return Response(200, {}, PAGE.render(title=category, count=len(rows)) + body)


@app.route("/product/<int:number>")
@as_json
def show_product(request, number):
    row = Store.connection().execute(
        "SELECT id, name, discount(price, 10) AS price FROM product WHERE id = ?", (int(number),)).fetchone()
    if row is None:
        raise HttpError(404, "no product %s" % number)
    return dict(row)


@app.route("/order", method="POST")
@as_json
def place_order(request):
    order = json.loads(request.body, object_hook=lambda found: {key.lower(): v for key, v in found.items()})
    if not EMAIL.match(order["email"]):
        raise HttpError(400, "not an address: %s" % order["email"])
    with Store.connection() as connection:
        connection.executemany("INSERT INTO orders (product, email, quantity) VALUES (?, ?, ?)",
                               [(item["id"], order["email"], item["quantity"]) for item in order["items"]])
        connection.execute("DELETE FROM orders WHERE id <= (SELECT max(id) FROM orders) - 500")
    return {"ok": True, "items": len(order["items"])}


@app.route("/report")
@as_json
def report(request):
    rows = Store.connection().execute("SELECT category, price, stock FROM product").fetchall()
    totals = collections.defaultdict(lambda: [0, 0])
    for category, price, stock in rows:
        totals[category][0] += price * stock
        totals[category][1] += 1
    best = sorted(totals.items(), key=lambda item: item[1][0], reverse=True)
    return [{"category": name, "value": value, "share": round(value / max(count, 1), 2)}
            for name, (value, count) in best]


# ---- visitors, workers, the archiver ------------------------------------------------------------------------------

LOG = collections.deque(maxlen=20000)


def visitors(dice):
    """Requests as they come, without end."""
    while True:
        kind = dice.random()
        method, path, body = "GET", "/products/" + dice.choice(WORDS), ""
        if kind < 0.35:
            path = "/product/%d" % dice.randrange(1, 420)
        elif kind < 0.6:
            method, path = "POST", "/order"
            body = json.dumps({"Email": "%s@example.org" % dice.choice(WORDS + ["not an address "]),
                               "Items": [{"Id": dice.randrange(400), "Quantity": 1 + n} for n in range(4)]})
        elif kind < 0.7:
            path = "/report"
        signature = hashlib.sha256((path + body).encode()).hexdigest()[:16]
        yield Request(method, path, {}, {"x-signature": signature}, body)


def work(requests, statuses):
    for request in iter(requests.get, None):
        statuses[app.handle(request).status] += 1


def archive(pipe):
    """The child process: compresses and hashes what the parent sends, answers with sizes."""
    while True:
        block = pipe.recv_bytes()
        if not block:
            break
        pipe.send((len(zlib.compress(block, 9)), hashlib.sha256(block).hexdigest()))


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    here, there = multiprocessing.Pipe()
    child = multiprocessing.Process(target=archive, args=(there,), name="archiver")
    child.start()
    requests = queue.Queue(maxsize=64)
    counters = [collections.Counter() for _ in range(4)]
    pool = [threading.Thread(target=work, args=(requests, counter), name="worker-%d" % number)
            for number, counter in enumerate(counters)]
    for thread in pool:
        thread.start()
    archived, waiting, sent = 0, False, 0
    end = time.time() + seconds
    for request in visitors(random.Random(1)):
        requests.put(request)
        sent += 1
        if waiting and here.poll():
            archived += here.recv()[0]
            waiting = False
        if not waiting and len(LOG) > 500:
            here.send_bytes("\n".join(LOG.copy()).encode() * 4)
            waiting = True
        if sent % 50 == 0 and time.time() > end:
            break
    for thread in pool:
        requests.put(None)
    for thread in pool:
        thread.join()
    if waiting:
        archived += here.recv()[0]
    here.send_bytes(b"")
    child.join()
    totals = sum(counters, collections.Counter())
    print("%d requests in %.1f s: %s; %d KB archived" % (
        sent, seconds, ", ".join("%d with status %d" % (count, status) for status, count in sorted(totals.items())),
        archived // 1024))


if __name__ == "__main__":
    main()
