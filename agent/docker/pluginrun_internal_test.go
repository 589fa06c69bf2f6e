package docker

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

// aRun is a plugin on an engine that says yes to everything, except to waiting.
func aRun(t *testing.T, wait http.HandlerFunc) *pluginRun {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/wait") {
				wait(w, r)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		}))
	t.Cleanup(server.Close)
	api, err := client.New(client.WithHost("tcp://" + server.Listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _, _ = api.Close(), ours.Close(), theirs.Close() })
	s := &sandbox{
		containers: &containers{engine: &engine{api: api, log: slog.New(slog.DiscardHandler)}},
		id:         "plugin", spec: agent.PluginSpec{StdoutLimit: 64},
		conn: client.NewHijackedResponse(ours, ""), stop: func() {}}
	return newPluginRun(s, func(string) {}, nil)
}

// A plugin that prints an answer, then too much, and ends before anybody can kill it
// gave no answer: what was kept is a beginning.
func TestPluginRun_EndsRightBehindTooMuch(t *testing.T) {
	for range 30 { // which of the two is noticed first varies
		r := aRun(t, nil)
		_, _ = r.out.Stdout().Write([]byte(`{"success":true}`))
		_, _ = r.out.Stdout().Write([]byte(strings.Repeat("x", 100)))
		close(r.streams)
		exit := make(chan container.WaitResponse, 1)
		exit <- container.WaitResponse{}
		r.exit = client.ContainerWaitResult{Result: exit}
		got, err := r.awaitEnd(t.Context())
		if err != nil || !got.Overflow {
			t.Fatalf("taken for an answer: %q, %v", got.Stdout, err)
		}
	}
}

// An engine that freezes between two questions does not hold who cancels.
func TestPluginRun_CancelsWhileTheEngineIsFrozen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := aRun(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	r.stop = stop
	if r.requestExitWait(ctx, watch); watch.Err() == nil {
		t.Error("it waits on")
	}
	r.hangUp()
}

// What cannot be put in its place is not left beside it.
func TestWriteFile_LeavesNoHalf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "place")
	if err := os.MkdirAll(filepath.Join(path, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(path, []byte("data"), 0o400); err == nil {
		t.Error("a folder was replaced")
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}
