package offer_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/offer"
)

// noAnswer begins the reason after an answer that is none.
const noAnswer = "the site's program answered with something else"

const document = `{"id":"1","deployment":{"name":"cart"}}`

func shell(script string, arguments ...string) offer.Config {
	return offer.Config{Command: append([]string{"/bin/sh", "-c", script, "decide"}, arguments...),
		Timeout: 2 * time.Second, Log: slog.New(slog.DiscardHandler)}
}

func TestDecide_Program(t *testing.T) {
	t.Setenv("AGENT_TOKEN", "nopa1_secret")
	for name, c := range map[string]struct {
		config offer.Config
		claim  bool
		reason string
	}{
		"claims": {shell(`grep -q '"name":"cart"' && echo '{"claim": true}'`), true, ""},
		"declines": {shell(`printf %s "$1"`, `{"claim": false,
			"reason": "closed\u001b[2J\n\u202Etoday"}`), false, "closed\uFFFD[2J \uFFFDtoday"},
		"gets its arguments": {shell(`[ "$1" = 'a b;c' ] && echo '{"claim":true}'`, "a b;c"), true, ""},
		"does not read":      {shell(`echo '{"claim":true}'`), true, ""},
		"fails": {shell(`echo '{"claim":true}'; exit 3`), false,
			"the site's program failed: exit status 3"},
		"is killed":    {shell(`kill -9 $$`), false, "the site's program failed: signal: killed"},
		"says nothing": {shell(`true`), false, noAnswer},
		"says garbage": {shell(`echo yes`), false, noAnswer},
		"claims nothing": {shell(`echo '{"reason": "x"}'`), false,
			noAnswer},
		"says two things": {shell(`echo '{"claim":true}{"claim":false}'`), false,
			noAnswer},
		"floods": {shell(`yes`), false,
			"the site's program answered with more than 66 kB"},
		"floods the other pipe": {shell(`head -c 9000000 /dev/zero >&2;
			echo '{"claim":true}'`), true, ""},
		"sees no secret of the agent": {shell(`[ -z "$AGENT_TOKEN" ] &&
			echo '{"claim":true}'`), true, ""},
		"is not there": {offer.Config{Command: []string{"/nowhere/decide"}}, false,
			"the site's program failed: it does not start"},
		"is not set": {offer.Config{}, false, "nobody decides there: set agent.offers.command"},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.config.Decide(t.Context(), []byte(document))
			if got.Claim != c.claim || !strings.HasPrefix(got.Reason, c.reason) ||
				(c.reason == "") != (got.Reason == "") {
				t.Errorf("decided %+v", got)
			}
		})
	}
}

// A program that hangs, and a child that it leaves, are killed, and hold nothing up.
func TestDecide_NothingStays(t *testing.T) {
	for name, script := range map[string]string{
		"hangs":           `echo $$ > "$1"; sleep 1000`,
		"ignores its end": `trap '' TERM INT; echo $$ > "$1"; while :; do sleep 1000; done`,
		"leaves a child":  `sleep 1000 & echo $! > "$1"; echo '{"claim": true}'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			config := shell(script, file)
			config.Timeout = time.Second
			began := time.Now()
			got := config.Decide(t.Context(), []byte(document))
			if spent := time.Since(began); spent > 10*time.Second {
				t.Errorf("it took %s", spent)
			}
			if claims := name == "leaves a child"; got.Claim != claims ||
				!claims && got.Reason != "the site's program did not answer within 1 second" {
				t.Errorf("decided %+v", got)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			for isRunning(pid) {
				if time.Since(began) > 20*time.Second {
					t.Fatalf("process %d still runs", pid)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// isRunning does not count what has ended and was not reaped.
func isRunning(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(after, "Z")
}

func TestDecide_Webhook(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	defer elsewhere.Close()
	over := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /claim", func(w http.ResponseWriter, r *http.Request) {
		var got struct{ ID string }
		err := json.NewDecoder(r.Body).Decode(&got)
		if err != nil || got.ID != "1" || r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("asked with %+v, %v, %q", got, err, r.Header.Get("Authorization"))
		}
		_, _ = w.Write([]byte(`{"claim": true}`))
	})
	mux.HandleFunc("POST /moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("POST /flood", func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			_, _ = w.Write(make([]byte, 10_000))
		}
	})
	mux.HandleFunc("POST /hang", func(http.ResponseWriter, *http.Request) { <-over })
	server := httptest.NewServer(mux)
	defer server.Close()
	for path, want := range map[string]string{
		"/claim": "", "/moved": "it answered 307 instead of 200", "/none": "it answered 404",
		"/flood": "more than 66 kB", "/hang": "did not answer within",
	} {
		config := offer.Config{URL: server.URL + path, TokenFile: token, Timeout: 300 * time.Millisecond}
		if path == "/claim" {
			config.Timeout = 10 * time.Second
		}
		got := config.Decide(t.Context(), []byte(document))
		if got.Claim != (want == "") || !strings.Contains(got.Reason, want) {
			t.Errorf("%s: decided %+v", path, got)
		}
	}
	close(over)
	server.Close()
	config := offer.Config{URL: server.URL + "/?key=canary", TokenFile: token}
	if got := config.Decide(t.Context(), []byte(document)); got.Claim ||
		strings.Contains(got.Reason, "canary") || strings.Contains(got.Reason, "s3cret") {
		t.Errorf("unreachable: decided %+v", got)
	}
}

// The session's end ends a decision.
func TestDecide_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := shell(`sleep 1000`).Decide(ctx, []byte(document)); got.Claim {
		t.Errorf("decided %+v", got)
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		config offer.Config
		says   string
	}{
		"nothing":      {offer.Config{}, ""},
		"a program":    {offer.Config{Command: []string{"/opt/decide"}}, ""},
		"a webhook":    {offer.Config{URL: "https://site.example/offers", TokenFile: "/t"}, ""},
		"this machine": {offer.Config{URL: "http://127.0.0.1:9/offers"}, ""},
		"both": {offer.Config{Command: []string{"/opt/decide"},
			URL: "https://a.example"}, "both set"},
		"a word":      {offer.Config{Command: []string{"decide"}}, "absolute"},
		"not HTTPS":   {offer.Config{URL: "http://site.example"}, "neither https"},
		"a file":      {offer.Config{URL: "file:///etc/passwd"}, "neither https"},
		"a password":  {offer.Config{URL: "https://me:canary@site.example"}, "use file"},
		"token alone": {offer.Config{TokenFile: "/t"}, "without url"},
		"too long":    {offer.Config{Timeout: time.Minute}, "not from"},
	} {
		err := c.config.Check()
		if (err == nil) != (c.says == "") || err != nil &&
			(!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
