package reach

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// connectPeer returns a connection into a service, and starts its other end: the sidecar there.
func connectPeer(
	t *testing.T, serve func(conn net.Conn, out *sidecar.FrameWriter),
) *OpenConnection {
	t.Helper()
	near, far := net.Pipe()
	deadline := time.Now().Add(10 * time.Second)
	if err := errors.Join(near.SetDeadline(deadline), far.SetDeadline(deadline)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = far.Close() }()
		serve(far, sidecar.NewFrameWriter(far))
	}()
	t.Cleanup(func() {
		_ = near.Close()
		<-ended
	})
	return &OpenConnection{Conn: near}
}

func expectCode(t *testing.T, err error, code, says string) {
	t.Helper()
	var e *controlplane.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, says) {
		t.Errorf("the error is %v, wanted %s: %s", err, code, says)
	}
}

func TestSendStream_ArrivesWhole(t *testing.T) {
	t.Parallel()
	file := bytes.Repeat([]byte("0123456789"), sidecar.MaxFrame/4)
	var start sidecar.Frame
	var got bytes.Buffer
	v := connectPeer(t, func(conn net.Conn, out *sidecar.FrameWriter) {
		start, _ = sidecar.ReadFrame(conn)
		for {
			f, err := sidecar.ReadFrame(conn)
			if err != nil || f.Kind == sidecar.FrameEnd {
				break
			}
			got.Write(f.Data)
		}
		_ = out.JSON(sidecar.FrameExit, sidecar.Exit{})
	})
	err := sendStream(v, sidecar.Start{Write: "/data/file", Most: MaxFile}, bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if start.Kind != sidecar.FrameStart || !strings.Contains(string(start.Data), "/data/file") {
		t.Errorf("it starts with %q %s", start.Kind, start.Data)
	}
	if !bytes.Equal(got.Bytes(), file) {
		t.Errorf("%d of %d bytes arrived", got.Len(), len(file))
	}
}

// A source that has no end stops at a refusal: the service's disk may be full by then.
func TestSendStream_EndsWhenRefused(t *testing.T) {
	t.Parallel()
	v := connectPeer(t, func(conn net.Conn, out *sidecar.FrameWriter) {
		_, _ = sidecar.ReadFrame(conn)
		_, _ = sidecar.ReadFrame(conn)
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		_ = out.JSON(sidecar.FrameExit, sidecar.Exit{Code: 1, Message: "no space left"})
	})
	expectCode(t, sendStream(v, sidecar.Start{Write: "/f", Most: 1 << 40}, endlessReader{}),
		"copy_refused", "no space left")
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) { return len(p), nil }

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("cut off") }

// What does not arrive whole must not be reported as written.
func TestSendStream_Fails(t *testing.T) {
	t.Parallel()
	drain := func(conn net.Conn, _ *sidecar.FrameWriter) { _, _ = io.Copy(io.Discard, conn) }
	for name, c := range map[string]struct {
		from       io.Reader
		serve      func(net.Conn, *sidecar.FrameWriter)
		code, says string
	}{
		"a file that is too large": {endlessReader{}, drain, "copy_refused", "1 MiB"},
		"a source that breaks":     {brokenReader{}, drain, "copy_refused", "did not arrive"},
		"a node that goes away": {strings.NewReader("x"), func(conn net.Conn, _ *sidecar.FrameWriter) {
			_, _ = sidecar.ReadFrame(conn)
			_, _ = sidecar.ReadFrame(conn)
		}, "connection_lost", "did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := connectPeer(t, c.serve)
			expectCode(t, sendStream(v, sidecar.Start{Write: "/f", Most: 1 << 20}, c.from), c.code, c.says)
		})
	}
}

// A file that is cut off must not look complete: only the exit of its sender is an end.
func TestContent_EndsOnlyWithAnExit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end        func(out *sidecar.FrameWriter)
		code, says string
	}{
		"complete": {func(out *sidecar.FrameWriter) {
			_ = out.JSON(sidecar.FrameExit, sidecar.Exit{})
		}, "", ""},
		"failed": {func(out *sidecar.FrameWriter) {
			_ = out.JSON(sidecar.FrameExit, sidecar.Exit{Code: 1, Message: "the file shrank"})
		}, "copy_refused", "the file shrank"},
		"cut off": {func(*sidecar.FrameWriter) {}, "connection_lost", "did not answer"},
		"garbage": {func(out *sidecar.FrameWriter) {
			_ = out.Write(sidecar.FrameExit, []byte("{"))
		}, "connection_lost", "did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := connectPeer(t, func(_ net.Conn, out *sidecar.FrameWriter) {
				_ = out.Write(sidecar.FrameOutput, []byte("one "))
				_ = out.Write(sidecar.FrameOutput, []byte("two"))
				c.end(out)
			})
			text, err := io.ReadAll(&content{visit: v})
			if string(text) != "one two" {
				t.Errorf("read %q", text)
			}
			if c.code == "" && err != nil {
				t.Error(err)
			} else if c.code != "" {
				expectCode(t, err, c.code, c.says)
			}
		})
	}
}

func TestReadAbout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer     func(out *sidecar.FrameWriter)
		code, says string
	}{
		"a file": {func(out *sidecar.FrameWriter) {
			_ = out.JSON(sidecar.FrameFile, sidecar.File{Name: "app.log", Size: 7})
		}, "", ""},
		"no such file": {func(out *sidecar.FrameWriter) {
			_ = out.JSON(sidecar.FrameExit, sidecar.Exit{Code: 1, Message: "no such file"})
		}, "copy_refused", "no such file"},
		"another frame": {func(out *sidecar.FrameWriter) {
			_ = out.Write(sidecar.FrameOutput, []byte("x"))
		}, "connection_lost", "did not answer"},
		"nothing": {func(*sidecar.FrameWriter) {}, "connection_lost", "did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := connectPeer(t, func(_ net.Conn, out *sidecar.FrameWriter) { c.answer(out) })
			var about sidecar.File
			err := readAbout(v, &about)
			if c.code != "" {
				expectCode(t, err, c.code, c.says)
			} else if err != nil || about.Name != "app.log" || about.Size != 7 {
				t.Errorf("it is %+v, %v", about, err)
			}
		})
	}
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	if err := checkPath("/var/log/app.log"); err != nil {
		t.Error(err)
	}
	for _, p := range []string{"", "relative", "/a/../b", "/a\x00b"} {
		expectCode(t, checkPath(p), "copy_refused", "")
	}
}

func TestDeclaresPort(t *testing.T) {
	t.Parallel()
	d := controlplane.Deployment{Versions: []controlplane.ServiceVersion{
		{Step: "db", Ports: []pipeline.Port{{Name: "sql", Port: 5432}}}, {Step: "web"}}}
	db, ok := serviceOf(d, "db")
	if !ok || !declaresPort(db, 5432) || declaresPort(db, 5433) {
		t.Errorf("db is %+v, %t", db, ok)
	}
	if web, ok := serviceOf(d, "web"); !ok || declaresPort(web, 5432) {
		t.Errorf("web is %+v, %t", web, ok)
	}
	if _, ok := serviceOf(d, "other"); ok {
		t.Error("a service that the deployment does not have was found")
	}
}

// A connection that cannot be half-closed says so: a caller would wait for an answer for ever.
func TestCloseWrite_NeedsAConnectionThatCan(t *testing.T) {
	t.Parallel()
	v := connectPeer(t, func(net.Conn, *sidecar.FrameWriter) {})
	if err := v.CloseWrite(); !errors.Is(err, errNoHalfClose) {
		t.Errorf("closing one way: %v", err)
	}
}
