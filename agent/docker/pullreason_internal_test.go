package docker

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// recordedEngine answers a pull and the question for a manifest with what an engine answered.
type recordedEngine struct {
	pullStatus   int
	pull         string
	reasonStatus int
	reason       string
	asked        int
}

func (r *recordedEngine) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Api-Version", "1.52")
	w.Header().Set("Content-Type", "application/json")
	status, text := http.StatusOK, "OK"
	switch {
	case strings.HasSuffix(q.URL.Path, "/images/create"):
		status, text = r.pullStatus, r.pull
	case strings.Contains(q.URL.Path, "/distribution/"):
		r.asked++
		status, text = r.reasonStatus, r.reason
	case strings.Contains(q.URL.Path, "/images/"):
		status, text = http.StatusNotFound, `{"message":"No such image"}`
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// pullFrom pulls an image with what this engine answers.
func (r *recordedEngine) pullFrom(t *testing.T) error {
	t.Helper()
	return pullFrom(t, r, time.Minute)
}

// pullFrom pulls an image from an engine that answers like this.
func pullFrom(t *testing.T, engineOf http.Handler, patience time.Duration) error {
	t.Helper()
	server := httptest.NewServer(engineOf)
	t.Cleanup(server.Close)
	api, err := client.New(client.WithHost("tcp://" + strings.TrimPrefix(server.URL, "http://")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	im := &images{&engine{api: api, config: Config{PullPatience: patience}}}
	return im.Pull(t.Context(), pipeline.Image{Registry: "127.0.0.1:5000", Repository: "team/app",
		Digest: "sha256:" + strings.Repeat("a", 64)}, nil, nil)
}

// Where the engine has asked for the manifest with HEAD, whose answer has no body, the registry's
// own reason is asked for, and is in the error.
func TestPull_ReasonBehindHead(t *testing.T) {
	t.Parallel()
	const ref = `failed to resolve reference \"127.0.0.1:5000/team/app@sha256:aaaa\": `
	const head = ref + `unexpected status from HEAD request to ` +
		`http://127.0.0.1:5000/v2/team/app/manifests/sha256:aaaa: `
	for name, c := range map[string]struct {
		engine recordedEngine
		want   string
		asked  int
	}{
		"too many": {recordedEngine{http.StatusInternalServerError,
			`{"message":"` + head + `429 Too Many Requests"}`, http.StatusTooManyRequests,
			`{"message":"toomanyrequests: come back later"}`, 0}, "come back later", 1},
		"unknown digest": {recordedEngine{http.StatusNotFound,
			`{"message":"` + ref + `127.0.0.1:5000/team/app@sha256:aaaa: not found"}`,
			http.StatusNotFound, `{"message":"manifest unknown: manifest unknown"}`, 0},
			"manifest unknown", 1},
		"in the stream": {recordedEngine{http.StatusOK,
			`{"errorDetail":{"message":"` + head + `429 Too Many Requests"},"error":"x"}`,
			http.StatusTooManyRequests, `{"message":"toomanyrequests: come back later"}`, 0},
			"come back later", 1},
		"no reason either": {recordedEngine{http.StatusInternalServerError,
			`{"message":"` + head + `503 Service Unavailable"}`, http.StatusOK, `{}`, 0},
			"503 Service Unavailable", 1},
		"the reason is there": {recordedEngine{http.StatusForbidden,
			`{"message":"error from registry: not for your team"}`, http.StatusOK, `{}`, 0},
			"not for your team", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.engine.pullFrom(t)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				errors.Is(err, agent.ErrUnavailable) || c.engine.asked != c.asked {
				t.Errorf("asked %d times, error is %v", c.engine.asked, err)
			}
		})
	}
}

// An engine that keeps reporting what has not changed, as Engine 29 does, does not make a silent
// registry look alive; one whose layer grows slowly is alive.
func TestPull_RepeatedReportsAreSilence(t *testing.T) {
	t.Parallel()
	const patience = 3 * time.Second
	for name, c := range map[string]struct {
		grows bool
		want  string
	}{"silent": {false, "the registry has sent nothing for"}, "slow": {true, "the end"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := pullFrom(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/images/create") {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				_, _ = w.Write([]byte(`{"status":"Pulling fs layer","id":"layer"}` + "\n"))
				for done := range 20 { // for twice the patience, unless the agent goes
					if !c.grows {
						done = 7
					}
					_, err := fmt.Fprintf(w, `{"status":"Downloading","id":"layer",`+
						`"progressDetail":{"current":%d,"total":100}}`+"\n", done)
					if err != nil || http.NewResponseController(w).Flush() != nil {
						return
					}
					time.Sleep(patience / 10)
				}
				_, _ = w.Write([]byte(`{"errorDetail":{"message":"the end"},"error":"the end"}`))
			}), patience)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v", err)
			}
		})
	}
}
