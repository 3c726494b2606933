"""Uses the models that datamodel-codegen generates, with a plain HTTP client, against a running service.

Creates a document of each kind, with null for what is unset. Then reads it, changes it, and writes it back whole.
"""

from hashlib import sha256
from os import environ
from urllib.request import Request, urlopen
from uuid import uuid4

import models

api = f"{environ['URL']}/api/v1"
content = b"%PDF-1.7"


def send(method, url, model, body=None):
    """Sends a model, and returns the response as a model. An error status raises an exception."""
    data = body and body.model_dump_json().encode()
    headers = {"Authorization": f"Bearer {environ['KEY']}", "Content-Type": "application/json"}
    with urlopen(Request(url, data, headers, method=method)) as response:
        return model.model_validate_json(response.read())


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def new_attachment(kind):
    parent, name = f"{api}/{kind}s/{environ[kind.upper()]}", f"{kind.title()}Attachment"
    complete, document = getattr(models, f"{name}Complete"), getattr(models, f"{name}Document")
    file = models.UploadCreateData(filename="loa.pdf", bytes=len(content), sha256=sha256(content).hexdigest())
    prepared = send("POST", f"{parent}/uploads", models.UploadDocument, models.UploadCreate(type="upload", data=file))
    upload = prepared.data
    with urlopen(Request(str(upload.url), content, upload.headers, method=upload.method)) as response:
        equal(response.status, 200)
    body = complete(type=f"{kind}_attachment", data={"name": "LOA"})
    created = send("POST", f"{parent}/uploads/{upload.id.root}/complete", document, body)
    equal((created.data.file_hint, created.data.notes), (models.FileHint.DEFAULT, None))
    return f"{parent}/attachments/{created.data.id.root}", document


def new_switch():
    settings = models.SwitchCreateData(name=f"datamodel {uuid4()}", sms_protocol="HTTP", sms_endpoints=["http://a.example"])
    created = send("POST", f"{api}/switches", models.SwitchDocument, models.SwitchCreate(type="switch", data=settings))
    equal((created.data.sms_protocol, created.data.mms_endpoints), (models.SmsProtocol.HTTP, []))
    return f"{api}/switches/{created.data.id.root}", models.SwitchDocument


def write_back(url, document):
    """Sends each change twice, as after a lost response."""
    for number in range(int(environ.get("ROUNDS", "3"))):
        read = send("GET", url, document)
        read.data.name = f"Changed {number} {uuid4()}"
        written = [send("PATCH", url, document, read) for _ in range(2)]
        equal([one.data.name for one in written], [read.data.name] * 2)
        equal(written[0].data.inserted_at, read.data.inserted_at)
        equal(written[1], written[0])


made = [new_attachment("request"), new_attachment("order"), new_switch()]
print("created")
for url, document in made:
    write_back(url, document)
    send("DELETE", url, document)
print("written back")
