// Uses the client that oapi-codegen generates, against a running service.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"

	"use/client"
)

var content = []byte("%PDF-1.7 \xff\x00")
var request = os.Getenv("REQUEST")
var ctx = context.Background()
var api = must(client.NewClientWithResponses(os.Getenv("URL"), client.WithRequestEditorFn(authorize)))

func authorize(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
	return nil
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

func digest() string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// The client takes a form as a stream, which mime/multipart writes.
func byForm(name string) string {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	must(must(form.CreateFormFile("data[file]", "loa.pdf")).Write(content))
	form.WriteField("data[name]", name)
	form.WriteField("data[file_hint]", string(client.LOA))
	form.Close()
	created := must(api.CreateRequestAttachmentWithBodyWithResponse(ctx, request, nil, form.FormDataContentType(), &body))
	equal(created.StatusCode(), 201)
	equal(created.JSON201.Data.FileHint, client.LOA)
	equal(created.JSON201.Data.Filename, "loa.pdf")
	return created.JSON201.Data.Id
}

func directly(name string) string {
	var prepare client.UploadCreate
	mediaType := "application/pdf"
	prepare.Type = "upload"
	prepare.Data = client.UploadCreateData{Filename: "loa.pdf", ContentType: &mediaType, Bytes: len(content), Sha256: digest()}
	upload := must(api.CreateRequestAttachmentUploadWithResponse(ctx, request, nil, prepare)).JSON201.Data
	put := must(http.NewRequest(string(upload.Method), upload.Url, bytes.NewReader(content)))
	for header, value := range upload.Headers {
		put.Header.Set(header, value)
	}
	equal(must(http.DefaultClient.Do(put)).StatusCode, 200)
	var body client.RequestAttachmentComplete
	body.Type = "request_attachment"
	body.Data.Name = name
	created := must(api.CompleteRequestAttachmentUploadWithResponse(ctx, request, upload.Id, nil, body))
	equal(created.JSON201.Data.Id, upload.Id)
	again := must(api.CompleteRequestAttachmentUploadWithResponse(ctx, request, upload.Id, nil, body))
	equal(again.JSON422.Errors[0].SubCode, client.ErrorSubCodeConstraintReference)
	equal(again.JSON422.Errors[0].Source.Pointer, "/upload_id")
	return upload.Id
}

func walk() map[string]string {
	first, include := 2, "file"
	digests := map[string]string{}
	for params := (client.ListRequestAttachmentsParams{First: &first, Include: &include}); ; {
		page := must(api.ListRequestAttachmentsWithResponse(ctx, request, &params)).JSON200.Data
		for _, document := range page.Items {
			digests[document.Data.Id] = document.Associations.File.Data.Sha256
		}
		if page.PageInfo.After == nil {
			equal(page.PageInfo.Total, len(digests))
			return digests
		}
		params.After = page.PageInfo.After
	}
}

func main() {
	ids := []string{byForm("One"), byForm("Two")}
	fmt.Println("form")
	ids = append(ids, directly("Three"))
	fmt.Println("direct")
	listed := walk()
	for _, id := range ids {
		equal(listed[id], digest())
	}
	fmt.Println("pages")
	name := "Countersigned"
	var update client.RequestAttachmentUpdate
	update.Type = "request_attachment"
	update.Data.Name = &name
	patched := must(api.UpdateRequestAttachmentWithResponse(ctx, request, ids[0], nil, update)).JSON200.Data
	equal(patched.Name, name)
	equal(patched.FileHint, client.LOA)
	fmt.Println("patch")
	for _, id := range ids {
		equal(must(api.DeleteRequestAttachmentWithResponse(ctx, request, id, nil)).JSON200.Data.Id, id)
	}
	missing := must(api.ShowRequestAttachmentWithResponse(ctx, request, ids[0], nil)).JSON404.Errors[0]
	equal(missing.Code, client.ErrorCodeNotFound)
	equal(missing.Params.Resource.Id, ids[0])
	fmt.Println("errors")
}
