"""Uses the client that openapi-generator's python generates, against a running service."""

from datetime import datetime
from os import environ
from uuid import uuid4

import openapi_client as api
import urllib3
from letter import content, digest, equal

request = environ["REQUEST"]
configuration = api.Configuration(host=environ["URL"], access_token=environ["KEY"])
client = api.ApiClient(configuration)
attachments = api.RequestAttachmentsApi(client)
switches = api.SwitchesApi(client)


def errors_of(call):
    """The typed errors of a call that must fail."""
    try:
        call()
    except api.ApiException as error:
        return api.ErrorDocument.from_json(error.body).errors
    raise AssertionError("The call succeeded.")


def by_form(name):
    reference = uuid4()
    created = attachments.create_request_attachment(
        request, ("loa.pdf", content), name, data_file_hint=api.FileHint.LOA, data_reference_id=reference
    )
    equal((created.data.file_hint, created.data.reference_id), (api.FileHint.LOA, reference))
    assert isinstance(created.data.inserted_at, datetime)
    return created


def directly(name):
    announced = api.UploadCreateData(
        filename="loa.pdf", content_type="application/pdf", bytes=len(content), sha256=digest
    )
    prepare = api.UploadCreate(type="upload", data=announced)
    target = attachments.create_request_attachment_upload(request, prepare).data
    sent = urllib3.request(target.method, target.url, headers=target.headers, body=content)
    equal(sent.status, 200)
    body = api.RequestAttachmentComplete(type="request_attachment", data=api.AttachmentCompleteData(name=name))
    created = attachments.complete_request_attachment_upload(request, target.id, body)
    equal((created.data.id, created.data.file_hint), (target.id, api.FileHint.DEFAULT))
    return created


def walk():
    seen, after = [], None
    while True:
        page = attachments.list_request_attachments(request, first=2, after=after, include="file").data
        seen += page.items
        after = page.page_info.after
        if after is None:
            equal(page.page_info.total, len(seen))
            return seen


created = [by_form("One"), by_form("Two")]
print("form")
created.append(directly("Three"))
print("direct")
ids = [document.data.id for document in created]
equal(
    [(item.data.id, item.associations.file.data.sha256) for item in walk() if item.data.id in ids],
    [(id, digest) for id in ids],
)
print("pages")
changes = api.RequestAttachmentUpdate(
    type="request_attachment", data=api.AttachmentUpdateData(name="Countersigned", notes=None)
)
patched = attachments.update_request_attachment(request, ids[0], changes).data
equal((patched.name, patched.notes, patched.file_hint), ("Countersigned", None, api.FileHint.LOA))
print("patch")
settings = api.SwitchCreateData(name=f"Python {uuid4()}", sms_protocol=api.SmsProtocol.HTTP)
switch = switches.create_switch(api.SwitchCreate(type="switch", data=settings)).data
equal((switch.sms_protocol, switch.sms_identity, switch.sms_options), (api.SmsProtocol.HTTP, None, None))
print("switch")
for id in ids:
    equal(attachments.delete_request_attachment(request, id).data.id, id)
missing = errors_of(lambda: attachments.show_request_attachment(request, ids[0]))[0]
equal((missing.code, missing.params.resource.id), (api.ErrorCode.NOT_FOUND, ids[0]))
enabled = api.SwitchUpdateData(sms_enabled=True)
invalid = errors_of(lambda: switches.update_switch(switch.id, api.SwitchUpdate(type="switch", data=enabled)))
equal([error.source.pointer for error in invalid], ["/data/sms_endpoints"])
equal(invalid[0].sub_code, api.ErrorSubCode.CONSTRAINT_DOT_REQUIRED)
print("errors")
