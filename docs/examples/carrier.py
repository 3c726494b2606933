"""A carrier, written from docs/carrier.md. It needs Python 3.9 or later, and nothing else. With the variable CARRIER_TOKEN, it
takes only calls with that token. Put your own code into `problem_of` and `place_order`. It keeps its carts in a file:

    python3 carrier.py <port> <file>
"""

import hashlib
import hmac
import json
import os
import re
import sqlite3
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TABLES = """
CREATE TABLE IF NOT EXISTS orders (cart TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS letters (cart TEXT, request_id TEXT, id TEXT, idempotency_key TEXT, sha256 TEXT,
    metadata TEXT, file BLOB, PRIMARY KEY (cart, request_id, id));
CREATE TABLE IF NOT EXISTS responses (call TEXT PRIMARY KEY, status INTEGER, body TEXT);
"""
CART = re.compile(r"/carts/(\w+)")
CHECKOUT = re.compile(r"/carts/(\w+)/checkout")
LETTER = re.compile(r"/carts/(\w+)/requests/(\w+)/attachments/(\w+)")


class Failure(Exception):
    """A response that is not a 2xx. Nothing has changed, and the call can be repeated."""


def problem_of(metadata, file):
    """Returns why this letter is refused, in words for the customer, or None."""
    return "A program is not a letter." if file.startswith(b"MZ") else None


def place_order(cart, letters):
    """Called again for the same cart if this process is killed before it has stored the end of the call."""
    print(f"order {cart} with {letters} letters", flush=True)


def parse_form(content_type, body):
    """Returns the parts `metadata` and `file`. No file contains the boundary, which consists of ids."""
    boundary, parts = re.search(r'boundary="?([^";]+)', content_type), {}
    for part in body.split(b"\r\n--" + boundary[1].encode())[:-1] if boundary else []:
        head, _, content = part.partition(b"\r\n\r\n")
        name = re.search(rb' name="(\w+)"', head)
        if name:
            parts[name[1]] = content
    return json.loads(parts[b"metadata"]), parts[b"file"]


def store_letter(db, place, key, content_type, body):
    try:
        metadata, file = parse_form(content_type, body)
        declared = metadata["bytes"], metadata["sha256"]
    except (KeyError, TypeError, ValueError):
        raise Failure(400, {"error": "the body must be a form with metadata and file"}) from None
    sha256 = hashlib.sha256(file).hexdigest()
    if declared != (len(file), sha256) or (metadata.get("request_id"), metadata.get("id")) != place[1:]:
        raise Failure(400, {"error": "the letter is not the one that the metadata describe"})
    problem = problem_of(metadata, file)
    if problem:
        raise Failure(422, {"reason": problem})
    db.execute("REPLACE INTO letters VALUES (?, ?, ?, ?, ?, ?, ?)", (*place, key, sha256, json.dumps(metadata), file))
    return metadata


def check_out(db, cart, body):
    names = ("request_id", "id", "idempotency_key", "sha256")
    try:
        manifest = sorted(tuple(letter[name] for name in names) for letter in json.loads(body)["attachments"])
    except (KeyError, TypeError, ValueError):
        raise Failure(400, {"error": "the body must be a manifest"}) from None
    held = sorted(db.execute(f"SELECT {', '.join(names)} FROM letters WHERE cart = ?", (cart,)))
    if manifest != held:
        raise Failure(412, {"attachments": [dict(zip(names[:3], letter)) for letter in held]})
    db.execute("INSERT INTO orders VALUES (?)", (cart,))
    place_order(cart, len(held))
    return {"checked_out": True}


def respond(db, method, path, key, content_type, body):
    """Returns the status and the body of the response."""
    cart, checkout, letter = (pattern.fullmatch(path) for pattern in (CART, CHECKOUT, LETTER))
    found = cart if method == "GET" else checkout if method == "POST" else letter if method in ("PUT", "DELETE") else None
    if not found:
        raise Failure(404, {"error": "there is no such call"})
    is_checked_out = db.execute("SELECT 1 FROM orders WHERE cart = ?", (found[1],)).fetchone() is not None
    if method == "GET":
        return 200, {"checked_out": is_checked_out}
    if not key:
        raise Failure(400, {"error": "the Idempotency-Key is missing"})
    call = f"{method} {path} {key}"
    earlier = db.execute("SELECT status, body FROM responses WHERE call = ?", (call,)).fetchone()
    if earlier:
        return earlier[0], json.loads(earlier[1])
    if is_checked_out:
        raise Failure(409, {"error": "the cart is checked out"})
    result = {}
    if method == "PUT":
        result = store_letter(db, letter.groups(), key, content_type, body)
    elif method == "POST":
        result = check_out(db, found[1], body)
    else:
        db.execute("DELETE FROM letters WHERE (cart, request_id, id) = (?, ?, ?)", letter.groups())
    db.execute("INSERT INTO responses VALUES (?, 200, ?)", (call, json.dumps(result)))
    return 200, result


class Carrier(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    lock = threading.Lock()

    def handle_call(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:  # Patchbay has ended the call, so nothing may be stored.
            self.close_connection = True
            return
        token = os.environ.get("CARRIER_TOKEN")
        try:
            if token and not hmac.compare_digest(self.headers.get("Authorization", "").encode(), f"Bearer {token}".encode()):
                raise Failure(401, {"error": "the token is wrong"})
            key, content_type = self.headers.get("Idempotency-Key"), self.headers.get("Content-Type", "")
            # One call at a time. What it changes is stored together with its response.
            with self.lock, self.server.db as db:
                status, result = respond(db, self.command, self.path, key, content_type, body)
        except Failure as failure:
            status, result = failure.args
        text = json.dumps(result).encode()
        self.send_response(status)
        for name, value in (("Content-Type", "application/json"), ("Cache-Control", "no-store"), ("Content-Length", len(text))):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PUT = do_POST = do_DELETE = handle_call


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ThreadingHTTPServer.request_queue_size = 128  # With Python's limit of 5, some of sixteen connections at once break.
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Carrier)
    server.db = sqlite3.connect(sys.argv[2], check_same_thread=False)
    server.db.executescript(TABLES)
    print(f"carrier http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
