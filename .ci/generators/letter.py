"""The letter that each client uploads, and how its answers are compared."""

from hashlib import sha256

content = b"%PDF-1.7 \xff\x00"
digest = sha256(content).hexdigest()


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")
