package docker_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/internal/testpart"
)

// runInService starts something in a service and, unless it is to continue, reads to its end.
func runInService(
	t testing.TB, c io.ReadWriter, s sidecar.Start, input string,
) (string, sidecar.Exit) {
	t.Helper()
	to := sidecar.NewFrameWriter(c)
	if err := to.JSON(sidecar.FrameStart, s); err != nil {
		t.Fatal(err)
	}
	_ = to.Write(sidecar.FrameInput, []byte(input)) // It may have refused already.
	_ = to.Write(sidecar.FrameEnd, nil)
	var output string
	for {
		f, err := sidecar.ReadFrame(c)
		if err != nil {
			t.Fatalf("no end: %v; so far %q", err, output)
		}
		switch f.Kind {
		case sidecar.FrameOutput, sidecar.FrameErrors:
			output += string(f.Data)
		case sidecar.FrameExit:
			var end sidecar.Exit
			if err := json.Unmarshal(f.Data, &end); err != nil {
				t.Fatal(err)
			}
			return output, end
		}
	}
}

// People's commands run in the service's container, files go in and out, and what
// a command started is gone when the connection is, as when the agent is killed.
func TestInside(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	deployment := r.deployment()
	web := r.service(deployment, "web")
	r.start(web)
	enter := func() io.ReadWriteCloser {
		t.Helper()
		c, err := r.ExecInService(ctx, deployment, "web")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const secret = "canary-5e1f"
	put := enter()
	_, end := runInService(t, put, sidecar.Start{Write: "/note.txt", Most: 100}, secret)
	if end.Code != 0 {
		t.Fatalf("write: %+v", end)
	}
	_ = put.Close()
	get := enter()
	out, end := runInService(t, get, sidecar.Start{Read: "/note.txt", Most: 100}, "")
	if out != secret {
		t.Errorf("read %q, %+v", out, end)
	}
	_ = get.Close()
	if _, err := r.ExecInService(ctx, deployment, "other"); err == nil {
		t.Error("a service that is not there can be entered")
	}

	running := enter()
	err := sidecar.NewFrameWriter(running).JSON(sidecar.FrameStart, sidecar.Start{
		TTY: true, Command: []string{"/.nullops/init", "listen", "9", "600"}})
	if err != nil {
		t.Fatal(err)
	}
	listens := func() bool { return strings.Contains(r.processes(ctx, "web"), "listen 9 600") }
	dockertest.WaitUntil(ctx, t, "the command runs", listens)
	_ = running.Close()
	dockertest.WaitUntil(ctx, t, "the command is gone", func() bool { return !listens() })
	if p := r.processes(ctx, "web"); strings.Contains(p, "inside") {
		t.Errorf("the helper is still there: %s", p)
	}
}

// processes lists what runs in a service's container.
func (r *rig) processes(ctx context.Context, step string) string {
	r.t.Helper()
	all, err := r.List(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		if string(o.Step) != step {
			continue
		}
		top, err := r.api.ContainerTop(ctx, o.ID, client.ContainerTopOptions{})
		if err != nil {
			r.t.Fatal(err)
		}
		var lines []string
		for _, p := range top.Processes {
			lines = append(lines, strings.Join(p, " "))
		}
		return strings.Join(lines, "\n")
	}
	return ""
}
