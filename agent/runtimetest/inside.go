package runtimetest

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/internal/wait"
)

// A person writes a file into a service and reads it again, and runs a command there, which ends
// with its exit code. What was started in a terminal ends with the connection.
func personGetsInside(b *testDeployment) {
	if b.Actor == nil {
		return
	}
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	if _, err := b.Runtime.ExecInService(b.ctx, b.deployment, "web"); !errors.Is(err,
		agent.ErrNotFound) {
		b.Errorf("a service that is not there: %v", err)
	}
	s := b.newService("web")
	b.Actor(&s, "echo", "7")
	b.startReady(s)
	if _, end := b.performInside(sidecar.Start{Write: "/note", Most: 100}, "a note"); end.Code !=
		0 {
		b.Fatalf("writing a file: %+v", end)
	}
	if out, end := b.performInside(sidecar.Start{Read: "/note", Most: 100}, ""); out != "a note" {
		b.Errorf("the file holds %q, %+v", out, end)
	}
	if _, end := b.performInside(sidecar.Start{Command: []string{"/actor", "exit", "5"}},
		""); end.Code != 5 {
		b.Errorf("a command that exits with 5: %+v", end)
	}
	terminal := b.startInside(sidecar.Start{TTY: true, Command: []string{"/actor", "echo", "9"}})
	listens := func() bool {
		conn, err := b.Runtime.Dial(b.ctx, b.deployment, "web", 9)
		if err == nil {
			// A relay connects first and learns then that nothing listens.
			_ = conn.SetDeadline(time.Now().Add(patience))
			if _, err = io.WriteString(conn, "x"); err == nil {
				_, err = io.ReadFull(conn, make([]byte, 1))
			}
			_ = conn.Close()
		}
		return err == nil
	}
	for !listens() {
		b.mustSucceed(wait.Sleep(b.ctx, 50*time.Millisecond))
	}
	b.mustSucceed(terminal.Close())
	for listens() {
		b.mustSucceed(wait.Sleep(b.ctx, 50*time.Millisecond))
	}
}

func (b *testDeployment) startInside(s sidecar.Start) io.ReadWriteCloser {
	b.Helper()
	conn, err := b.Runtime.ExecInService(b.ctx, b.deployment, "web")
	b.mustSucceed(err)
	b.Cleanup(func() { _ = conn.Close() })
	b.mustSucceed(sidecar.NewFrameWriter(conn).JSON(sidecar.FrameStart, s))
	return conn
}

// performInside does one thing with this input, and returns what comes out.
func (b *testDeployment) performInside(s sidecar.Start, in string) (out string, end sidecar.Exit) {
	b.Helper()
	conn := b.startInside(s)
	to := sidecar.NewFrameWriter(conn)
	_ = to.Write(sidecar.FrameInput, []byte(in)) // it may have ended already
	_ = to.Write(sidecar.FrameEnd, nil)
	for {
		f, err := sidecar.ReadFrame(conn)
		b.mustSucceed(err)
		switch f.Kind {
		case sidecar.FrameOutput:
			out += string(f.Data)
		case sidecar.FrameExit:
			b.mustSucceed(json.Unmarshal(f.Data, &end))
			return out, end
		}
	}
}
