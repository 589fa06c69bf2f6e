package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/nullops/nullops/controlplane"
)

// kindChanged is for writes based on an outdated version (412).
const kindChanged controlplane.Kind = "changed"

// isTaggable reports whether an object can be read and replaced at this path, and
// its operations do not count versions by themselves.
func isTaggable(item *openapi3.PathItem) bool {
	return item.Get != nil && item.Put != nil && !countsItself(item.Get) && !countsItself(item.Put)
}

func countsItself(op *openapi3.Operation) bool {
	return slices.ContainsFunc(op.Parameters, func(p *openapi3.ParameterRef) bool {
		return p.Value != nil && p.Value.In == "header" && p.Value.Name == "If-Match"
	})
}

// bufferedResponse is an answer that is looked at before it is sent.
type bufferedResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *bufferedResponse) Header() http.Header         { return k.header }
func (k *bufferedResponse) Write(b []byte) (int, error) { return k.body.Write(b) }
func (k *bufferedResponse) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
}

// restless are fields that change without anybody editing the object.
var restless = []string{"last_sign_in_at", "last_used_at", "nodes", "nodes_online", "usage",
	"deployments", "last_saved_at", "reviews", "certificates", "vitals", "inventory", "allocated"}

// restlessInRule are such fields of a rule, which is read together with its reviews.
var restlessInRule = []string{"next_run_at", "refusal"}

// computeETag names one content of an object.
func computeETag(body []byte) string {
	var all map[string]any
	if json.Unmarshal(body, &all) == nil {
		for _, field := range restless {
			delete(all, field)
		}
		if rule, ok := all["rule"].(map[string]any); ok {
			for _, field := range restlessInRule {
				delete(rule, field)
			}
		}
		if text, err := json.Marshal(all); err == nil {
			body = text
		}
	}
	return fmt.Sprintf(`"%x"`, sha256.Sum256(body))[:34] + `"`
}

// serveTagged answers a GET with the ETag of what it shows.
func (d *route) serveTagged(w http.ResponseWriter, r *http.Request) {
	k := &bufferedResponse{header: w.Header()}
	d.next(k, r)
	if k.status == http.StatusOK {
		w.Header().Set("ETag", computeETag(k.body.Bytes()))
	}
	w.WriteHeader(k.status)
	_, _ = k.body.WriteTo(w)
}

// serveConditional changes the object only if it is what the caller read: If-Match has
// its ETag, If-None-Match: * requires that there is none.
func (d *route) serveConditional(w http.ResponseWriter, r *http.Request) {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if d.reader == nil || match == "" && none == "" {
		d.next(w, r)
		return
	}
	err := d.server.Accounts.RunSerialized(
		r.Context(),
		actorOf(r.Context()),
		r.URL.Path,
		func() error {
			if err := d.checkCondition(r, match, none); err != nil {
				return d.turnedAway(r, actorOf(r.Context()), err)
			}
			d.next(w, r)
			return nil
		},
	)
	if err != nil {
		d.server.writeError(w, r, err)
	}
}

func (d *route) checkCondition(r *http.Request, match, none string) error {
	now := d.reader.currentETag(r)
	switch {
	case none == "*" && now != "":
		return changedError("this exists already", "Read it, and change it with If-Match.")
	case match == "*" && now != "", match == "":
		return nil
	case now == "":
		return changedError("this does not exist any more", "Create it without If-Match.")
	}
	for one := range strings.SplitSeq(match, ",") {
		if strings.TrimSpace(one) == now {
			return nil
		}
	}
	return changedError("somebody changed this after you read it",
		"Read it again, and repeat your change on what it is now.")
}

// currentETag is the tag of what a GET would show, "" for nothing.
func (d *route) currentETag(r *http.Request) string {
	k, again := &bufferedResponse{header: http.Header{}}, r.Clone(r.Context())
	again.Method, again.Body = http.MethodGet, http.NoBody
	d.next(k, again)
	if k.status != http.StatusOK {
		return ""
	}
	return computeETag(k.body.Bytes())
}

func changedError(message, remedy string) error {
	return &controlplane.Error{Kind: kindChanged, Code: "changed_meanwhile", Field: "If-Match",
		Message: message, Remedy: remedy}
}
