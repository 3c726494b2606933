"""Uses the client that openapi-python-client generates, against a running service."""

from hashlib import sha256
from io import BytesIO
from os import environ
from uuid import uuid4

import httpx
from client import AuthenticatedClient
from client.api.request_attachments import (
    complete_request_attachment_upload,
    create_request_attachment,
    create_request_attachment_upload,
    delete_request_attachment,
    list_request_attachments,
    show_request_attachment,
    update_request_attachment,
)
from client.api.switches import create_switch, delete_switch, show_switch, update_switch
from client.models import (
    AttachmentCompleteData,
    AttachmentUpdateData,
    AuthMethod,
    ErrorCode,
    ErrorDocument,
    ErrorSubCode,
    FileHint,
    ForwardingState,
    RequestAttachmentComplete,
    RequestAttachmentCompleteType,
    RequestAttachmentCreate,
    RequestAttachmentCreateDatafileHint,
    RequestAttachmentDocument,
    RequestAttachmentList,
    RequestAttachmentUpdate,
    RequestAttachmentUpdateType,
    SmsProtocol,
    SwitchCreate,
    SwitchCreateData,
    SwitchCreateType,
    SwitchDocument,
    SwitchUpdate,
    SwitchUpdateData,
    SwitchUpdateType,
    UploadCreate,
    UploadCreateData,
    UploadCreateType,
    UploadDocument,
)
from client.types import UNSET, File

request = environ["REQUEST"]
api = AuthenticatedClient(base_url=environ["URL"], token=environ["KEY"])
content = b"%PDF-1.7 \xff\x00"
digest = sha256(content).hexdigest()


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def by_form(name):
    reference = uuid4()
    body = RequestAttachmentCreate(
        datafile=File(BytesIO(content), file_name="loa.pdf", mime_type="application/pdf"),
        dataname=name,
        datafile_hint=RequestAttachmentCreateDatafileHint.LOA,
        datareference_id=reference,
    )
    created = create_request_attachment.sync(request, client=api, body=body)
    assert isinstance(created, RequestAttachmentDocument), created
    equal((created.data.file_hint, created.data.reference_id), (FileHint.LOA, reference))
    return created


def directly(name):
    announced = UploadCreateData(
        filename="loa.pdf", content_type="application/pdf", bytes_=len(content), sha256=digest
    )
    prepared = create_request_attachment_upload.sync(
        request, client=api, body=UploadCreate(type_=UploadCreateType.UPLOAD, data=announced)
    )
    assert isinstance(prepared, UploadDocument), prepared
    target = prepared.data
    httpx.request(target.method, target.url, headers=target.headers.to_dict(), content=content).raise_for_status()
    body = RequestAttachmentComplete(
        type_=RequestAttachmentCompleteType.REQUEST_ATTACHMENT, data=AttachmentCompleteData(name=name)
    )
    created = complete_request_attachment_upload.sync(request, target.id, client=api, body=body)
    assert isinstance(created, RequestAttachmentDocument), created
    equal((created.data.id, created.data.file_hint), (target.id, FileHint.DEFAULT))
    again = complete_request_attachment_upload.sync(request, target.id, client=api, body=body)
    assert isinstance(again, ErrorDocument), again
    equal(
        [(error.sub_code, error.source.pointer) for error in again.errors],
        [(ErrorSubCode.CONSTRAINT_REFERENCE, "/upload_id")],
    )
    return created


def walk():
    seen, after = [], UNSET
    while after is not None:
        page = list_request_attachments.sync(request, client=api, first=2, after=after, include="file")
        assert isinstance(page, RequestAttachmentList), page
        equal(page.data.page_info.limit, 2)
        seen += page.data.items
        after = page.data.page_info.after
    equal(page.data.page_info.total, len(seen))
    return seen


created = [by_form("One"), by_form("Two")]
print("form")
created.append(directly("Three"))
print("direct")
ids = [document.data.id for document in created]
equal(
    [(document.data.name, document.data.filename, document.associations.request.data.id) for document in created],
    [(name, "loa.pdf", request) for name in ["One", "Two", "Three"]],
)
equal(
    [(item.data.id, item.associations.file.data.sha256) for item in walk() if item.data.id in ids],
    [(id, digest) for id in ids],
)
print("pages")

changes = AttachmentUpdateData(name="Countersigned", notes=None)
patched = update_request_attachment.sync(
    request,
    ids[0],
    client=api,
    body=RequestAttachmentUpdate(type_=RequestAttachmentUpdateType.REQUEST_ATTACHMENT, data=changes),
)
assert isinstance(patched, RequestAttachmentDocument), patched
equal((patched.data.name, patched.data.notes, patched.data.file_hint), ("Countersigned", None, FileHint.LOA))
print("patch")

shown = show_request_attachment.sync(request, ids[0], client=api, include="file,forwarding")
assert isinstance(shown, RequestAttachmentDocument), shown
file, forwarding = shown.associations.file.data, shown.associations.forwarding.data
equal((file.bytes_, forwarding.state), (len(content), ForwardingState.PENDING))

for id in ids:
    deleted = delete_request_attachment.sync(request, id, client=api)
    assert isinstance(deleted, RequestAttachmentDocument), deleted
    equal(deleted.data.id, id)

missing = show_request_attachment.sync(request, ids[0], client=api)
assert isinstance(missing, ErrorDocument), missing
equal(missing.errors[0].code, ErrorCode.NOT_FOUND)
equal(missing.errors[0].params.resource.id, ids[0])

settings = SwitchCreateData(name=f"Python {uuid4()}", sms_auth_method=AuthMethod.BASIC, sms_protocol=SmsProtocol.HTTP)
switch = create_switch.sync(client=api, body=SwitchCreate(type_=SwitchCreateType.SWITCH, data=settings))
assert isinstance(switch, SwitchDocument), switch
equal((switch.data.sms_auth_method, switch.data.sms_options), (AuthMethod.BASIC, None))

enabled = SwitchUpdate(
    type_=SwitchUpdateType.SWITCH, data=SwitchUpdateData(sms_enabled=True, sms_endpoints=["https://a.example/"])
)
invalid = update_switch.sync(switch.data.id, client=api, body=enabled)
assert isinstance(invalid, ErrorDocument), invalid
equal([error.source.pointer for error in invalid.errors], ["/data/sms_identity", "/data/sms_secret"])
equal({error.sub_code for error in invalid.errors}, {ErrorSubCode.CONSTRAINT_REQUIRED})
whose = show_switch.sync(switch.data.id, client=api, include="account")
assert isinstance(whose, SwitchDocument), whose
equal(whose.associations.account.type_, "account")
equal(delete_switch.sync(switch.data.id, client=api), switch)
print("errors")
