// Uses the client that openapi-generator's go generates, against a running service.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"

	client "github.com/GIT_USER_ID/GIT_REPO_ID"
)

var content = []byte("%PDF-1.7 \xff\x00")
var digest = sha256.Sum256(content)
var request = os.Getenv("REQUEST")
var ctx = context.WithValue(context.Background(), client.ContextAccessToken, os.Getenv("KEY"))
var attachments = newClient().RequestAttachmentsAPI
var switches = newClient().SwitchesAPI

func newClient() *client.APIClient {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("URL")}}
	return client.NewAPIClient(configuration)
}

func equal[T comparable](actual, expected T) {
	if actual != expected {
		panic(fmt.Sprintf("%v is not %v", actual, expected))
	}
}

func must[T any](value T, _ *http.Response, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// The first of the typed errors of a call that must fail.
func errorOf(err error) client.ErrorObject {
	var failure *client.GenericOpenAPIError
	if !errors.As(err, &failure) {
		panic(fmt.Sprint("The call did not return an error document: ", err))
	}
	document := failure.Model().(client.ErrorDocument)
	return document.Errors[0]
}

func byForm(name string) string {
	os.WriteFile("loa.pdf", content, 0o600)
	file, err := os.Open("loa.pdf")
	must(file, nil, err)
	call := attachments.CreateRequestAttachment(ctx, request).DataFile(file).DataName(name).DataFileHint("LOA")
	created := must(call.Execute())
	equal(created.Data.FileHint, client.FILEHINT_LOA)
	equal(created.Data.Filename, "loa.pdf")
	return created.Data.Id
}

func directly(name string) string {
	announced := client.NewUploadCreateData("loa.pdf", int32(len(content)), hex.EncodeToString(digest[:]))
	announced.SetContentType("application/pdf")
	prepare := client.NewUploadCreate("upload", *announced)
	upload := must(attachments.CreateRequestAttachmentUpload(ctx, request).UploadCreate(*prepare).Execute()).Data
	put, err := http.NewRequest(upload.Method, upload.Url, bytes.NewReader(content))
	must(put, nil, err)
	for header, value := range upload.Headers {
		put.Header.Set(header, value)
	}
	sent, err := http.DefaultClient.Do(put)
	equal(must(sent, nil, err).StatusCode, 200)
	body := client.NewRequestAttachmentComplete("request_attachment", *client.NewAttachmentCompleteData(name))
	complete := attachments.CompleteRequestAttachmentUpload(ctx, request, upload.Id)
	created := must(complete.RequestAttachmentComplete(*body).Execute())
	equal(created.Data.Id, upload.Id)
	equal(created.Data.FileHint, client.FILEHINT_DEFAULT)
	return created.Data.Id
}

func walk() []client.RequestAttachmentDocument {
	var seen []client.RequestAttachmentDocument
	for call := attachments.ListRequestAttachments(ctx, request).First(2).Include("file"); ; {
		page := must(call.Execute()).Data
		seen = append(seen, page.Items...)
		after := page.PageInfo.After.Get()
		if after == nil {
			equal(int(page.PageInfo.Total), len(seen))
			return seen
		}
		call = call.After(*after)
	}
}

func main() {
	ids := []string{byForm("One"), byForm("Two")}
	fmt.Println("form")
	ids = append(ids, directly("Three"))
	fmt.Println("direct")
	listed := map[string]string{}
	for _, document := range walk() {
		listed[document.Data.Id] = document.Associations.File.Data.Sha256
	}
	for _, id := range ids {
		equal(listed[id], hex.EncodeToString(digest[:]))
	}
	fmt.Println("pages")
	changes := client.NewAttachmentUpdateData()
	changes.SetName("Countersigned")
	changes.SetNotesNil()
	update := client.NewRequestAttachmentUpdate("request_attachment", *changes)
	patched := must(attachments.UpdateRequestAttachment(ctx, request, ids[0]).RequestAttachmentUpdate(*update).Execute())
	equal(patched.Data.Name, "Countersigned")
	equal(patched.Data.Notes.Get(), nil)
	fmt.Println("patch")
	settings := client.NewSwitchCreateData("Go " + ids[0])
	settings.SetSmsProtocol(client.SMSPROTOCOL_HTTP)
	made := must(switches.CreateSwitch(ctx).SwitchCreate(*client.NewSwitchCreate("switch", *settings)).Execute()).Data
	equal(made.SmsProtocol, client.SMSPROTOCOL_HTTP)
	equal(made.SmsIdentity.Get(), nil)
	equal(len(made.SmsOptions), 0)
	fmt.Println("switch")
	for _, id := range ids {
		equal(must(attachments.DeleteRequestAttachment(ctx, request, id).Execute()).Data.Id, id)
	}
	_, _, err := attachments.ShowRequestAttachment(ctx, request, ids[0]).Execute()
	missing := errorOf(err)
	equal(missing.Code, client.ERRORCODE_NOT_FOUND)
	equal(missing.Params.Resource.Id, ids[0])
	enabled := client.NewSwitchUpdateData()
	enabled.SetSmsEnabled(true)
	_, _, err = switches.UpdateSwitch(ctx, made.Id).SwitchUpdate(*client.NewSwitchUpdate("switch", *enabled)).Execute()
	invalid := errorOf(err)
	equal(invalid.SubCode, client.ERRORSUBCODE_CONSTRAINT_REQUIRED)
	equal(invalid.Source.Pointer, "/data/sms_endpoints")
	fmt.Println("errors")
}
