package offer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// callWebhook posts the document to the site's webhook. Redirects are not followed, and no
// proxy is used: the token goes where it was meant to go.
func (c Config) callWebhook(ctx context.Context, document []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(document))
	if err != nil {
		return nil, errors.New("its URL is not one")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "nullops-agent")
	if c.TokenFile != "" {
		token, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("its token cannot be read: %w", err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	answer, err := client.Do(r)
	if err != nil {
		// What is around it repeats the URL.
		if said, ok := errors.AsType[*url.Error](err); ok {
			err = said.Err
		}
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %d instead of 200", answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooMuch
	}
	return body, err
}
