"""Uses the client that openapi-python-client generates, against a running service."""

from io import BytesIO
from os import environ
from uuid import uuid4

from client import AuthenticatedClient
from client.api.request_attachments import (
    create_request_attachment,
    delete_request_attachment,
    list_request_attachments,
    show_request_attachment,
    update_request_attachment,
)
from client.api.switches import create_switch, delete_switch, update_switch
from client.models import (
    AttachmentUpdateData,
    AuthMethod,
    ErrorCode,
    ErrorDocument,
    ErrorSubCode,
    FileHint,
    RequestAttachmentCreate,
    RequestAttachmentDocument,
    RequestAttachmentList,
    RequestAttachmentUpdate,
    SmsProtocol,
    SwitchCreate,
    SwitchCreateData,
    SwitchDocument,
    SwitchUpdate,
    SwitchUpdateData,
)
from client.types import UNSET, File

request = environ["REQUEST"]
api = AuthenticatedClient(base_url=environ["URL"], token=environ["KEY"])


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def upload(name):
    reference = uuid4()
    body = RequestAttachmentCreate(
        datafile=File(BytesIO(b"%PDF-1.7 \xff\x00"), file_name="loa.pdf", mime_type="application/pdf"),
        dataname=name,
        datafile_hint=FileHint.LOA,
        datareference_id=reference,
    )
    created = create_request_attachment.sync(request, client=api, body=body)
    assert isinstance(created, RequestAttachmentDocument), created
    equal(created.data.name, name)
    equal(created.data.file_hint, FileHint.LOA)
    equal(created.data.reference_id, reference)
    equal(created.data.filename, "loa.pdf")
    equal(created.associations.request.data.id, request)
    return created.data.id


def walk():
    seen, after = [], UNSET
    while after is not None:
        page = list_request_attachments.sync(request, client=api, first=2, after=after)
        assert isinstance(page, RequestAttachmentList), page
        equal(page.data.page_info.limit, 2)
        seen += [item.data.id for item in page.data.items]
        after = page.data.page_info.after
    equal(page.data.page_info.total, len(seen))
    return seen


ids = [upload(f"Letter {number}") for number in range(3)]
equal([id for id in walk() if id in ids], ids)

changes = AttachmentUpdateData(name="Countersigned", notes=None)
patched = update_request_attachment.sync(
    request, ids[0], client=api, body=RequestAttachmentUpdate(type_="request_attachment", data=changes)
)
assert isinstance(patched, RequestAttachmentDocument), patched
equal((patched.data.name, patched.data.notes, patched.data.file_hint), ("Countersigned", None, FileHint.LOA))

for id in ids:
    deleted = delete_request_attachment.sync(request, id, client=api)
    assert isinstance(deleted, RequestAttachmentDocument), deleted
    equal(deleted.data.id, id)

missing = show_request_attachment.sync(request, ids[0], client=api)
assert isinstance(missing, ErrorDocument), missing
equal(missing.errors[0].code, ErrorCode.NOT_FOUND)
equal(missing.errors[0].params.resource.id, ids[0])

settings = SwitchCreateData(name=f"Python {uuid4()}", sms_auth_method=AuthMethod.BASIC, sms_protocol=SmsProtocol.HTTP)
switch = create_switch.sync(client=api, body=SwitchCreate(type_="switch", data=settings))
assert isinstance(switch, SwitchDocument), switch
equal((switch.data.sms_auth_method, switch.data.sms_options), (AuthMethod.BASIC, None))

enabled = SwitchUpdate(type_="switch", data=SwitchUpdateData(sms_enabled=True, sms_endpoints=["https://a.example/"]))
invalid = update_switch.sync(switch.data.id, client=api, body=enabled)
assert isinstance(invalid, ErrorDocument), invalid
equal([error.source.pointer for error in invalid.errors], ["/data/sms_identity", "/data/sms_secret"])
equal({error.sub_code for error in invalid.errors}, {ErrorSubCode.CONSTRAINT_REQUIRED})
equal(delete_switch.sync(switch.data.id, client=api), switch)
