"""The rules of Patchbay that openapi.json cannot express, for Schemathesis."""

import re
from uuid import uuid4

import schemathesis

# Rules that no schema expresses, each as the sub_code and the pointer of its error.
BEYOND_THE_SCHEMA = [
    # Depends on earlier requests.
    ("constraint.unique", r"/data/(name|reference_id)"),
    # Cursors are opaque and belong to one list; `first` and `after` cannot be combined with `last` and `before`.
    ("constraint.format", r"/(first|after|last|before)"),
    # An enabled channel needs what its protocol and its authentication method use.
    ("constraint.required", r"/data/(sms|mms)_(endpoints|identity|secret)"),
    # The protocol decides what an endpoint must be.
    ("constraint.format", r"/data/(sms|mms)_endpoints/\d+"),
    # An endpoint is given once. With `uniqueItems`, Java's generator makes a set of the list.
    ("constraint.unique", r"/data/(sms|mms)_endpoints/\d+"),
    # The authentication method decides which characters an identity and a secret may have.
    ("constraint.format", r"/data/(sms|mms)_(identity|secret)"),
    # The file of an upload has arrived, and it is used once.
    ("constraint.reference", r"/upload_id"),
    # A file is not empty. The length of a text in a schema is not that of a file.
    ("constraint.length", r"/data/file"),
    # A PATCH may repeat immutable properties, but not change them.
    ("constraint.immutable", r"/data/\w+"),
]


def is_beyond_the_schema(error):
    pointer = error["source"]["pointer"]
    return any(error["sub_code"] == rule and re.fullmatch(path, pointer) for rule, path in BEYOND_THE_SCHEMA)


def is_valid(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


def has_blank_ends(body):
    """Whether a text of the body begins or ends with a blank, as JavaScript's `trim` sees it."""
    texts = [*body.values(), *(body["data"].values() if isinstance(body.get("data"), dict) else [])]
    return any(isinstance(text, str) and text != text.strip().strip("\ufeff") for text in texts)


@schemathesis.hook
def filter_case(context, case):
    """Leaves out what Patchbay accepts although the schema does not.

    - Invalid JSON with blanks at the ends of a text, which is trimmed before it is checked.
    - Invalid forms, because some become valid when they are sent as text. A boolean becomes the text `true`; a name that breaks its
      pattern gets a character that fits it. test/faults/fuzz.test.ts tries hostile forms.

    Also leaves out names of a form that end with a backslash, which urllib3 does not escape: the backslash escapes the closing
    quote, and the form cannot be read.
    """
    if case.media_type == "multipart/form-data":
        return is_valid(case) and not any(name.endswith("\\") for name in case.body)
    return is_valid(case) or not (isinstance(case.body, dict) and has_blank_ends(case.body))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Gives each valid request its own key, because a repeated key returns a resource that may have been deleted since.

    Keeps invalid requests as they are. Schemathesis judges a changed request again, by its declared parameters, so it would take
    one without `Authorization` for valid, and send the header.
    """
    if is_valid(case) and re.fullmatch(r"[\x21-\x7e]{1,255}", (case.headers or {}).get("Idempotency-Key", "")):
        case.headers["Idempotency-Key"] = str(uuid4())


@schemathesis.check
def valid_request_acceptance(ctx, response, case):
    """A request that fits the schema is accepted, or breaks a rule that the schema cannot express."""
    if not is_valid(case):
        return
    if response.status_code == 412 or response.status_code < 400 or response.status_code in (401, 403, 404, 429, 503):
        return
    errors = response.json()["errors"]
    if response.status_code != 422 or not all(is_beyond_the_schema(error) for error in errors):
        raise AssertionError(f"A request that fits the schema was rejected: {response.status_code} {errors}")
