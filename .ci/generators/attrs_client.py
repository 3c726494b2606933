"""Uses the client that openapi-python-client generates, against a running service."""

from io import BytesIO
from os import environ
from uuid import uuid4

import httpx
from letter import content, digest, equal
from patchbay_client import AuthenticatedClient, models
from patchbay_client.api.request_attachments import (
    complete_request_attachment_upload,
    create_request_attachment,
    create_request_attachment_upload,
    delete_request_attachment,
    list_request_attachments,
    show_request_attachment,
    update_request_attachment,
)
from patchbay_client.api.switches import create_switch, update_switch
from patchbay_client.types import UNSET, File

request = environ["REQUEST"]
client = AuthenticatedClient(base_url=environ["URL"], token=environ["KEY"])


def by_form(name):
    reference = uuid4()
    form = models.RequestAttachmentCreate(
        datafile=File(BytesIO(content), "LOA (1).pdf", "application/pdf"), dataname=name, datareference_id=reference
    )
    created = create_request_attachment.sync(request, client=client, body=form).data
    equal((created.filename, created.reference_id), ("LOA (1).pdf", reference))
    return created.id


def directly(name):
    announced = models.UploadCreateData(filename="loa.pdf", bytes_=len(content), sha256=digest)
    body = models.UploadCreate(models.UploadCreateType.UPLOAD, announced)
    target = create_request_attachment_upload.sync(request, client=client, body=body).data
    headers = target.headers.additional_properties
    equal(httpx.request(target.method.value, target.url, headers=headers, content=content).status_code, 200)
    of_request = models.RequestAttachmentCompleteType.REQUEST_ATTACHMENT
    body = models.RequestAttachmentComplete(of_request, models.AttachmentCompleteData(name))
    created = complete_request_attachment_upload.sync(request, target.id, client=client, body=body).data
    equal(created.id, target.id)
    return created.id


def walk():
    seen, after = [], UNSET
    while after is not None:
        query = {"first": 2, "after": after, "include": "file,order"}
        page = list_request_attachments.sync(request, client=client, **query).data
        seen += page.items
        after = page.page_info.after
    equal(page.page_info.total, len(seen))
    return seen


ids = [by_form("One"), by_form("Two")]
print("form")
ids.append(directly("Three"))
print("direct")
included = {item.data.id: item.associations for item in walk()}
equal({(included[id].file.data.sha256, included[id].order.data.id) for id in ids}, {(digest, environ["ORDER"])})
print("pages")
of_request = models.RequestAttachmentUpdateType.REQUEST_ATTACHMENT
changes = models.RequestAttachmentUpdate(of_request, models.AttachmentUpdateData(name="Countersigned", notes=None))
patched = update_request_attachment.sync(request, ids[0], client=client, body=changes).data
equal((patched.name, patched.notes), ("Countersigned", None))
print("patch")
settings = models.SwitchCreateData(name=f"attrs {uuid4()}", sms_protocol=models.SmsProtocol.HTTP)
body = models.SwitchCreate(models.SwitchCreateType.SWITCH, settings)
switch = create_switch.sync(client=client, body=body).data
equal((switch.sms_protocol, switch.sms_identity, switch.sms_options), (models.SmsProtocol.HTTP, None, None))
print("switch")
for id in ids:
    equal(delete_request_attachment.sync(request, id, client=client).data.id, id)
missing = show_request_attachment.sync(request, ids[0], client=client).errors[0]
equal((missing.code, missing.params.resource.id), (models.ErrorCode.NOT_FOUND, ids[0]))
update = models.SwitchUpdate(models.SwitchUpdateType.SWITCH, models.SwitchUpdateData(sms_enabled=True))
invalid = update_switch.sync(switch.id, client=client, body=update).errors
equal([(error.source.pointer, error.sub_code) for error in invalid], [("/data/sms_endpoints", "constraint.required")])
print("errors")
