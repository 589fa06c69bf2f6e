package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// manyTags is how many tags the largest repository has.
const manyTags = 20_000

// choicesGroup is what someone waits for who chooses versions.
func choicesGroup() group {
	return group{
		figures: []figure{
			{name: "tags_first_page", unit: "ms", peer: goalPeer, better: "lower", goal: 50},
			{name: "preflight_p99", unit: "ms", peer: "GET of the three manifests, in a row",
				better: "lower"},
		},
		prepare: prepareChoices,
	}
}

func prepareChoices(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	tags := manyTags
	if l.small {
		tags = 500
	}
	server := httptest.NewServer(largeRepository(tags))
	undo := func(context.Context) error { server.Close(); return nil }
	a := newAsker(l.uiURL)
	if err := l.defineMany(ctx, a, server.Listener.Addr().String(), tags); err != nil {
		return nil, nil, errors.Join(err, undo(ctx))
	}
	do := func(ctx context.Context, s *samples) error {
		took, err := callAtRate(ctx, 20, 5*time.Second, func(ctx context.Context, _ int) error {
			_, err := a.get(ctx, l.bearer, "/api/v1/services/many/tags")
			return err
		})
		if err != nil {
			return err
		}
		s.addOurs("tags_first_page", computePercentile(took, 0.99))
		return s.inTurn(func() error {
			took, err := callAtRate(ctx, 5, 10*time.Second, l.preflight)
			s.addOurs("preflight_p99", computePercentile(took, 0.99))
			return err
		}, func() error {
			took, err := callAtRate(ctx, 5, 10*time.Second, l.manifests)
			s.addPeer("preflight_p99", computePercentile(took, 0.99))
			return err
		})
	}
	return do, undo, nil
}

// largeRepository is a registry with one image under many tags.
func largeRepository(many int) http.Handler {
	config := []byte(`{"architecture":"amd64","os":"linux","created":"2026-11-01T00:00:00Z",` +
		`"config":{},"rootfs":{"type":"layers","diff_ids":[]}}`)
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,`+
		`"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":`+
		`"application/vnd.oci.image.config.v1+json","digest":"sha256:%x","size":%d},"layers":[]}`,
		sha256.Sum256(config), len(config))
	all := make([]string, many)
	for i := range all {
		all[i] = fmt.Sprintf("feat-%05d-%07x", i, 7919*i)
	}
	slices.Sort(all)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/many/tags/list", func(w http.ResponseWriter, r *http.Request) {
		from, _ := slices.BinarySearch(all, r.FormValue("last")+"\x00")
		n, err := strconv.Atoi(r.FormValue("n"))
		if err != nil {
			n = many
		}
		to := min(many, from+n)
		if to < many {
			w.Header().Set("Link",
				fmt.Sprintf(`</v2/many/tags/list?n=%d&last=%s>; rel="next"`, n, all[to-1]))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "many", "tags": all[from:to]})
	})
	mux.HandleFunc("GET /v2/many/manifests/{reference}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", fmt.Sprintf("sha256:%x", sha256.Sum256(manifest)))
		_, _ = w.Write(manifest)
	})
	mux.HandleFunc("GET /v2/many/blobs/{digest}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(config)
	})
	return mux
}

// defineMany makes the service and waits until all its tags are known.
func (l *lab) defineMany(ctx context.Context, a *asker, host string, tags int) error {
	err := l.apply(ctx, "many.yaml", "kind: registry\nname: large\nhost: "+host+
		"\ninsecure: true\n---\nkind: service\nname: many\nregistry: large\nimage: many\n"+
		"tag_mode: selectable\n")
	if err != nil {
		return err
	}
	return l.controlPlane.await(ctx, func(ctx context.Context) error {
		body, err := a.get(ctx, l.bearer, "/api/v1/services/many/tags")
		if err != nil {
			return err
		}
		var list struct{ Total int }
		if err := json.Unmarshal(body, &list); err != nil || list.Total != tags {
			return errors.Join(fmt.Errorf("%d of %d tags are known", list.Total, tags), err)
		}
		return nil
	})
}

// preflight checks the example, which nobody deploys now.
func (l *lab) preflight(ctx context.Context, i int) error {
	r, err := l.api.PreflightDeploymentWithResponse(ctx, apiclient.DeploymentCreate{
		Name: fmt.Sprintf("preflight-%d", i), Project: "shop", Environment: "qa",
		Versions: &map[string]string{"api": "v1.1.0", "web": "v1.1.0"}})
	if err != nil {
		return err
	}
	if r.JSON200 == nil {
		return fmt.Errorf("pre-flight: %s: %s", r.Status(), r.Body)
	}
	return nil
}

// manifests asks the registry itself for what the example chooses.
func (l *lab) manifests(ctx context.Context, _ int) error {
	for _, image := range []string{"postgres/manifests/15", "api/manifests/v1.1.0",
		"web/manifests/v1.1.0"} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet,
			"http://"+l.registry+"/v2/shop/"+image, nil)
		if err != nil {
			return err
		}
		r.Header.Set("Accept", strings.Join([]string{
			"application/vnd.oci.image.manifest.v1+json",
			"application/vnd.docker.distribution.manifest.v2+json"}, ", "))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		var body bytes.Buffer
		_, err = io.Copy(&body, answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			return errors.Join(fmt.Errorf("%s: %s", image, answer.Status), err)
		}
	}
	return nil
}
