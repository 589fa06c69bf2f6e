package registry

import (
	"context"
	"io"
	"net/http"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Ping asks whether a registry is one and takes our credentials, without
// naming a repository: the address every registry answers at.
func (c *Client) Ping(ctx context.Context, s Source) error {
	// The repository is never asked for; a reference needs one.
	s.Repository = "nullops/ping"
	q, err := c.startConversation(ctx, s)
	if err != nil {
		return err
	}
	defer q.cancel()
	ctx, cancel := context.WithTimeout(ctx, c.answerTime)
	defer cancel()
	if err := pingRegistry(ctx, q.repo.Registry, s, q.guard); err != nil {
		return c.explainError(s, "", q, err)
	}
	return nil
}

func pingRegistry(ctx context.Context, r name.Registry, s Source, g http.RoundTripper) error {
	// This fetches a token when the registry wants one, which proves the credentials; a registry
	// with basic authentication gets another request below.
	signed, err := transport.NewWithContext(ctx, r, newAuthenticator(s.Credentials), g, nil)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		s.baseURL(r).String()+"/v2/", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := signed.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody))
	return transport.CheckError(answer, http.StatusOK)
}
