// Command probe is the health check of the containers that Docker Compose starts as our peer: their
// images hold no program that could ask. It ends well if a page has a text: probe URL TEXT.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	if err := checkPage(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func checkPage(url, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && (answer.StatusCode != http.StatusOK || !strings.Contains(string(body), text)) {
		err = errors.New(url + " answered " + answer.Status + " without the text")
	}
	return err
}
