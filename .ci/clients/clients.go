// Uploads each case of $CASES with Go's own client.
package main

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"runtime"
	"strings"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	cases, err := os.ReadFile(os.Getenv("CASES"))
	check(err)
	values := strings.Split(string(cases), "\x00")
	for at := 0; at+1 < len(values); at += 2 {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		check(form.WriteField("data[name]", "LOA"))
		if values[at+1] != "" {
			check(form.WriteField("data[notes]", values[at+1]))
		}
		file, err := form.CreateFormFile("data[file]", values[at])
		check(err)
		file.Write([]byte("%PDF-1.7"))
		check(form.Close())
		url := fmt.Sprintf("%s/Go/%s/%d", os.Getenv("TO"), strings.TrimPrefix(runtime.Version(), "go"), at/2)
		response, err := http.Post(url, form.FormDataContentType(), &body)
		check(err)
		response.Body.Close()
	}
}
