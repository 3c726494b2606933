// Uses the client that ogen generates, against a running service.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"

	"github.com/google/uuid"
	ht "github.com/ogen-go/ogen/http"

	api "use/client"
)

var content = []byte("%PDF-1.7 \xff\x00")
var digest = sha256.Sum256(content)
var request = os.Getenv("REQUEST")
var ctx = context.Background()
var client = must(api.NewClient(os.Getenv("URL"), key{}))

type key struct{}

func (key) ApiKey(context.Context, api.OperationName) (api.ApiKey, error) {
	return api.ApiKey{Token: os.Getenv("KEY")}, nil
}

func equal[T comparable](actual, expected T) {
	if actual != expected {
		panic(fmt.Sprintf("%v is not %v", actual, expected))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Returns the response, which has a type for each status, as the expected type.
func as[T any](response any, err error) T {
	must(response, err)
	typed, ok := response.(T)
	if !ok {
		panic(fmt.Sprintf("%T: %+v", response, response))
	}
	return typed
}

func byForm(name string) string {
	form := api.RequestAttachmentCreateMultipart{
		DataFile:        ht.MultipartFile{Name: "loa.pdf", File: bytes.NewReader(content)},
		DataName:        name,
		DataFileHint:    api.NewOptRequestAttachmentCreateMultipartDataFileHint("LOA"),
		DataReferenceID: api.NewOptUUID(uuid.New()),
	}
	params := api.CreateRequestAttachmentParams{RequestID: request}
	created := as[*api.RequestAttachmentDocumentHeaders](client.CreateRequestAttachment(ctx, &form, params))
	data := created.Response.Data
	equal(data.FileHint, api.FileHintLOA)
	equal(data.Filename, "loa.pdf")
	equal(data.ReferenceID.Value, form.DataReferenceID.Value)
	return string(data.ID)
}

func directly(name string) string {
	announced := api.UploadCreateData{Filename: "loa.pdf", Bytes: len(content), SHA256: hex.EncodeToString(digest[:])}
	prepare := api.UploadCreate{Type: "upload", Data: announced}
	params := api.CreateRequestAttachmentUploadParams{RequestID: request}
	prepared := as[*api.UploadDocumentHeaders](client.CreateRequestAttachmentUpload(ctx, &prepare, params))
	upload := prepared.Response.Data
	put := must(http.NewRequest(upload.Method, upload.URL.String(), bytes.NewReader(content)))
	for header, value := range upload.Headers {
		put.Header.Set(header, value)
	}
	equal(must(http.DefaultClient.Do(put)).StatusCode, 200)
	body := api.RequestAttachmentComplete{Type: "request_attachment", Data: api.AttachmentCompleteData{Name: name}}
	complete := api.CompleteRequestAttachmentUploadParams{RequestID: request, UploadID: string(upload.ID)}
	created := as[*api.RequestAttachmentDocumentHeaders](client.CompleteRequestAttachmentUpload(ctx, &body, complete))
	equal(created.Response.Data.ID, upload.ID)
	return string(upload.ID)
}

func walk() (seen []api.RequestAttachmentDocument) {
	params := api.ListRequestAttachmentsParams{
		RequestID: request,
		First:     api.NewOptInt(2),
		Include:   api.NewOptString("file"),
	}
	for {
		page := as[*api.RequestAttachmentListHeaders](client.ListRequestAttachments(ctx, params)).Response.Data
		seen = append(seen, page.Items...)
		if page.PageInfo.After.Null {
			equal(page.PageInfo.Total, len(seen))
			return seen
		}
		params.After = api.NewOptString(page.PageInfo.After.Value)
	}
}

func patch(id string) {
	update := api.RequestAttachmentUpdate{Type: "request_attachment"}
	update.Data.Name = api.NewOptString("Countersigned")
	update.Data.Notes.SetToNull()
	params := api.UpdateRequestAttachmentParams{RequestID: request, AttachmentID: id}
	patched := as[*api.ShowRequestAttachmentOKHeaders](client.UpdateRequestAttachment(ctx, &update, params))
	equal(patched.Response.Data.Name, "Countersigned")
	equal(patched.Response.Data.Notes.Null, true)
	params.IfMatch = api.NewOptString(`"0"`)
	refused := as[*api.PreconditionFailedHeaders](client.UpdateRequestAttachment(ctx, &update, params))
	equal(refused.ETag.Value, patched.ETag.Value)
	equal(refused.Response.Errors[0].Code, api.ErrorCodePreconditionFailed)
}

func newSwitch() string {
	settings := api.SwitchCreateData{
		Name:         "ogen " + uuid.NewString(),
		SMSProtocol:  api.NewOptNilSmsProtocol(api.SmsProtocolHTTP),
		SMSEndpoints: api.NewOptNilStringArray([]string{"https://a.example/"}),
	}
	create := api.SwitchCreate{Type: "switch", Data: settings}
	created := as[*api.SwitchDocumentHeaders](client.CreateSwitch(ctx, &create, api.CreateSwitchParams{}))
	data := created.Response.Data
	equal(data.SMSProtocol, api.SmsProtocolHTTP)
	equal(data.SMSEndpoints[0], settings.SMSEndpoints.Value[0])
	equal(data.SMSIdentity.Null && data.SMSOptions.Null && data.MmsOptions.Null, true)
	return string(data.ID)
}

func breakSwitch(id string) {
	enable := api.SwitchUpdate{Type: "switch"}
	enable.Data.SMSEnabled = api.NewOptBool(true)
	enable.Data.SMSAuthMethod = api.NewOptAuthMethod(api.AuthMethodBEARER)
	params := api.UpdateSwitchParams{ID: id}
	invalid := as[*api.UpdateSwitchUnprocessableEntity](client.UpdateSwitch(ctx, &enable, params)).Response.Errors
	equal(len(invalid), 1)
	equal(invalid[0].SubCode, api.ErrorSubCodeConstraintRequired)
	equal(invalid[0].Source.Value.Pointer, "/data/sms_secret")
}

func main() {
	ids := []string{byForm("One"), byForm("Two")}
	fmt.Println("form")
	ids = append(ids, directly("Three"))
	fmt.Println("direct")
	listed := map[string]string{}
	for _, document := range walk() {
		listed[string(document.Data.ID)] = document.Associations.File.Value.Data.SHA256
	}
	for _, id := range ids {
		equal(listed[id], hex.EncodeToString(digest[:]))
	}
	fmt.Println("pages")
	patch(ids[0])
	fmt.Println("patch")
	made := newSwitch()
	fmt.Println("switch")
	for _, id := range ids {
		params := api.DeleteRequestAttachmentParams{RequestID: request, AttachmentID: id}
		deleted := as[*api.ShowRequestAttachmentOKHeaders](client.DeleteRequestAttachment(ctx, params))
		equal(string(deleted.Response.Data.ID), id)
	}
	params := api.ShowRequestAttachmentParams{RequestID: request, AttachmentID: ids[0]}
	missing := as[*api.ShowRequestAttachmentNotFound](client.ShowRequestAttachment(ctx, params)).Response.Errors[0]
	equal(missing.Params.Value.Resource.Value.ID, ids[0])
	breakSwitch(made)
	fmt.Println("errors")
}
