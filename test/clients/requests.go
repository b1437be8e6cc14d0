// Sends requests with net/http. Each line of standard input is a request: method, URL, value of
// Accept and body, separated by tabs; "-" is none. Each line of the output is a response: status,
// content type and the SHA-256 of its body.
package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		var body io.Reader
		if fields[3] != "-" {
			body = strings.NewReader(fields[3])
		}
		request, err := http.NewRequest(fields[0], fields[1], body)
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("apikey", os.Getenv("CORKBOARD_KEY"))
		if fields[2] != "-" {
			request.Header.Set("Accept", fields[2])
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		digest := sha256.New()
		if _, err := io.Copy(digest, response.Body); err != nil {
			log.Fatal(err)
		}
		response.Body.Close()
		fmt.Printf("%d\t%s\t%x\n", response.StatusCode, response.Header.Get("Content-Type"), digest.Sum(nil))
	}
}
