"""Uploads a letter of authorization and a large file to a request, waits until the carrier has both, and prints their events.

It needs httpx. Set URL, KEY, REQUEST, and EVENTS, the URL of the events:

    python3 docs/examples/client.py loa.pdf scan.bin
"""

import re
import sys
from hashlib import file_digest
from os import environ
from pathlib import Path
from time import sleep
from uuid import uuid4

if len(sys.argv) != 3 or not all(environ.get(name) for name in ("URL", "KEY", "REQUEST")):
    print(__doc__, file=sys.stderr)
    sys.exit(2)

import httpx

request = f"/api/v1/requests/{environ['REQUEST']}"
patchbay = httpx.Client(
    base_url=environ["URL"], headers={"Authorization": f"Bearer {environ['KEY']}"}, timeout=60
)


def succeeded(response):
    """Returns the document of a response, or raises its errors."""
    document = response.json()
    if response.is_error:
        errors = [f"{error.get('source', {}).get('pointer', 'request')}: {error['detail']}" for error in document["errors"]]
        raise SystemExit("; ".join(errors))
    return document


def create(path, **body):
    """Sends an Idempotency-Key, so that a request can be sent again if its response was lost: nothing is created twice."""
    return succeeded(patchbay.post(request + path, headers={"Idempotency-Key": str(uuid4())}, **body))["data"]


def upload_by_form(path):
    """One call, for a file of up to 4.6 MB."""
    form = {"data[name]": "Letter of authorization", "data[file_hint]": "LOA"}
    with path.open("rb") as file:
        return create("/attachments", data=form, files={"data[file]": (path.name, file, "application/pdf")})["id"]


def send_to_storage(upload, path):
    for attempt in range(1, 6):
        try:
            with path.open("rb") as file:
                response = httpx.request(
                    upload["method"], upload["url"], headers=upload["headers"], content=file, timeout=600
                )
            # 412: the file is already stored. An earlier attempt arrived, but its response was lost. 409: it is still on its way.
            if response.is_success or response.status_code == 412:
                return
            reason = f"Storage returned {response.status_code}"
        except httpx.TransportError as error:
            reason = str(error)
        sleep(attempt)
    raise SystemExit(reason)


def upload_directly(path):
    """Three calls, for a file of up to 100 MB: prepare the upload, send the file to storage, complete the upload."""
    with path.open("rb") as file:
        sha256 = file_digest(file, "sha256").hexdigest()
    announced = {"bytes": path.stat().st_size, "sha256": sha256, "content_type": "application/octet-stream"}
    # The characters that a name cannot have: control characters, and those that change the direction of text.
    filename = re.sub(r"[\\\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", "_", path.name)
    upload = create("/uploads", json={"type": "upload", "data": {"filename": filename, **announced}})
    send_to_storage(upload, path)
    body = {"type": "request_attachment", "data": {"name": "Scan"}}
    return create(f"/uploads/{upload['id']}/complete", json=body)["id"]


def wait_for_carrier(attachment):
    """An attachment reaches the carrier when its order is checked out."""
    for _ in range(600):
        shown = succeeded(patchbay.get(f"{request}/attachments/{attachment}", params={"include": "forwarding"}))
        state = shown["associations"]["forwarding"]["data"]["state"]
        if state == "forwarded":
            return print(attachment, "is with the carrier")
        if state == "refused":
            raise SystemExit(f"The carrier has refused {attachment}.")
        sleep(1)
    raise SystemExit("The carrier does not have the files after ten minutes.")


def follow(events, attachments):
    """Prints the events of these attachments until each has been forwarded. An event can arrive twice, in any order."""
    pending, after = set(attachments), ""
    while pending:
        for event in httpx.get(events, params={"after": after}).raise_for_status().json()["events"]:
            after, attachment = event["detail"]["id"], event["detail"]["resource"]["id"]
            if attachment not in attachments:
                continue
            print(event["time"], event["detail-type"], attachment)
            if event["detail-type"] == "request_attachment.forwarded":
                pending.discard(attachment)
        sleep(1)


loa, scan = (Path(name) for name in sys.argv[1:])
attachments = [upload_by_form(loa), upload_directly(scan)]
print("Uploaded. Waiting until the carrier has them ...", flush=True)
for attachment in attachments:
    wait_for_carrier(attachment)
if environ.get("EVENTS"):
    follow(environ["EVENTS"], attachments)
