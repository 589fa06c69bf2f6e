package api

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
)

// onceHeader names a request: the same name makes nothing twice.
const onceHeader = "Idempotency-Key"

// onceKind is an operation's x-once: "answer" repeats the stored answer. It is empty
// for operations that create nothing, and for those whose use case stores the key with
// the object.
type onceKind string

// onceShown refuses: the answer shows what is shown once, and is not kept.
const onceShown onceKind = "shown"

// onlyOnce repeats the answer of a request whose key was used before. A refusal is not
// stored: after fixing its cause, the client may use the key again.
func (d *route) onlyOnce(w http.ResponseWriter, r *http.Request, key string) {
	use, err := d.useOf(r, key)
	if err != nil {
		d.server.writeError(w, r, err)
		return
	}
	k := &bufferedResponse{header: w.Header()}
	before, err := d.server.Accounts.RunOnce(r.Context(), actorOf(r.Context()), use,
		func() accounts.StoredResponse {
			d.next(k, r)
			if d.once == onceShown {
				return accounts.StoredResponse{Status: k.status}
			}
			return accounts.StoredResponse{Status: k.status, Body: bytes.Clone(k.body.Bytes())}
		})
	switch {
	case err != nil:
		d.server.writeError(w, r, d.turnedAway(r, actorOf(r.Context()), err))
	case before == nil:
		w.WriteHeader(k.status)
		_, _ = k.body.WriteTo(w)
	case d.once == onceShown:
		d.server.writeError(w, r, d.turnedAway(r, actorOf(r.Context()), &controlplane.Error{
			Kind: controlplane.Conflict, Code: "already_created", Field: onceHeader,
			Message: "this request was answered before, and what it made was shown once",
			Remedy:  "Revoke or delete what it made, and use a new key.",
		}))
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Idempotency-Replayed", "true")
		w.WriteHeader(before.Status)
		_, _ = w.Write(before.Body)
	}
}

// useOf digests all that was asked for.
func (d *route) useOf(r *http.Request, key string) (accounts.KeyUse, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return accounts.KeyUse{}, fmt.Errorf("read the body: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	asked := fmt.Appendf(nil, "%s %q %q\n", r.Method, r.URL.Path, r.URL.RawQuery)
	return accounts.KeyUse{Operation: d.name, Key: key,
		Request: sha256.Sum256(append(asked, body...))}, nil
}
