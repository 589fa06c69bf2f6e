package sidecar_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/sidecar"
)

// asSidecar makes the test binary the sidecar.
const asSidecar = "NULLOPS_TEST_AS_SIDECAR"

func TestMain(m *testing.M) {
	if os.Getenv(asSidecar) != "" {
		os.Exit(sidecar.Run(os.Args[1:], os.Stderr))
	}
	os.Exit(m.Run())
}

// visit is one connection to the inside role, run as a process of its own.
type visit struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	to  *sidecar.FrameWriter
	out io.Reader
}

func openVisit(t *testing.T, s sidecar.Start) *visit {
	t.Helper()
	v := &visit{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0], "inside", "-")}
	v.cmd.Env = append(os.Environ(), asSidecar+"=1")
	var err error
	if v.in, err = v.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if v.out, err = v.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.in.Close(); _ = v.cmd.Wait() })
	if f, err := sidecar.ReadFrame(v.out); err != nil || f.Kind != sidecar.FrameHello {
		t.Fatalf("it says %v, %v instead of hello", f, err)
	}
	v.to = sidecar.NewFrameWriter(v.in)
	if err := v.to.JSON(sidecar.FrameStart, s); err != nil {
		t.Fatal(err)
	}
	return v
}

// rest reads to the end: everything written, and how it ended.
func (v *visit) rest() (output, errors string, end sidecar.Exit) {
	v.t.Helper()
	for {
		f, err := sidecar.ReadFrame(v.out)
		if err != nil {
			v.t.Fatalf("no exit: %v; so far %q", err, output)
		}
		switch f.Kind {
		case sidecar.FrameOutput:
			output += string(f.Data)
		case sidecar.FrameErrors:
			errors += string(f.Data)
		case sidecar.FrameExit:
			if err := json.Unmarshal(f.Data, &end); err != nil {
				v.t.Fatal(err)
			}
			return output, errors, end
		}
	}
}

// until reads until the output holds the text.
func (v *visit) until(text string) string {
	v.t.Helper()
	var output string
	for !strings.Contains(output, text) {
		f, err := sidecar.ReadFrame(v.out)
		if err != nil {
			v.t.Fatalf("%q never came: %v; so far %q", text, err, output)
		}
		output += string(f.Data)
	}
	return output
}

// A command gets its input, both of its outputs come, and its exit code.
func TestInside_Command(t *testing.T) {
	v := openVisit(t, sidecar.Start{Command: []string{"sh", "-c", "cat; echo bad >&2; exit 7"}})
	if err := v.to.Write(sidecar.FrameInput, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := v.to.Write(sidecar.FrameEnd, nil); err != nil {
		t.Fatal(err)
	}
	out, bad, end := v.rest()
	if out != "hello" || bad != "bad\n" || end.Code != 7 {
		t.Errorf("output %q, errors %q, end %+v", out, bad, end)
	}
	_, _, end = openVisit(t, sidecar.Start{Command: []string{"no-such-program"}}).rest()
	if end.Code != 127 || !strings.Contains(end.Message, "no-such-program") {
		t.Errorf("a program that is not there: %+v", end)
	}
}

// A terminal is one to the command, and has the size of its window.
func TestInside_Terminal(t *testing.T) {
	v := openVisit(t, sidecar.Start{TTY: true, Window: sidecar.Window{Cols: 101, Rows: 31},
		Command: []string{"sh", "-c", "stty size; read x; stty size; read x; exit 3"}})
	v.until("31 101")
	if err := v.to.JSON(sidecar.FrameWindow, sidecar.Window{Cols: 77, Rows: 22}); err != nil {
		t.Fatal(err)
	}
	if err := v.to.Write(sidecar.FrameInput, []byte("\n")); err != nil {
		t.Fatal(err)
	}
	v.until("22 77")
	if err := v.to.Write(sidecar.FrameInput, []byte("\n")); err != nil {
		t.Fatal(err)
	}
	if _, _, end := v.rest(); end.Code != 3 {
		t.Errorf("ended with %+v", end)
	}
}

// Everything that a command started ends with the connection, even a process in its own session
// that ignores SIGTERM.
func TestInside_EndsWithItsConnection(t *testing.T) {
	stubborn := `trap '' HUP TERM; sh -c 'trap "" HUP TERM; echo pid $$.; sleep 600' & wait`
	for _, tty := range []bool{false, true} {
		v := openVisit(t, sidecar.Start{TTY: tty, Command: []string{"sh", "-c",
			"setsid sh -c '" + strings.ReplaceAll(stubborn, "'", `'\''`) + "'"}})
		said := v.until(".")
		_, after, _ := strings.Cut(said, "pid ")
		pid, err := strconv.Atoi(after[:strings.Index(after, ".")])
		if err != nil {
			t.Fatalf("%q: %v", said, err)
		}
		if err := v.in.Close(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; {
			if time.Now().After(deadline) {
				t.Fatalf("terminal %v: process %d lives on", tty, pid)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// What is copied in is written at its own name only: through no link, into no other folder.
//
// threat: T45
func TestInside_Files(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put := func(s sidecar.Start, content string) sidecar.Exit {
		t.Helper()
		v := openVisit(t, s)
		_ = v.to.Write(sidecar.FrameInput, []byte(content)) // It may have refused already.
		_ = v.to.Write(sidecar.FrameEnd, nil)
		_, _, end := v.rest()
		return end
	}
	if end := put(sidecar.Start{Write: dir, Name: "a.txt", Most: 100}, "text"); end.Code != 0 {
		t.Fatalf("write: %+v", end)
	}
	out, _, end := openVisit(t, sidecar.Start{Read: at("a.txt"), Most: 100}).rest()
	if out != "text" || end.Code != 0 {
		t.Errorf("read %q, %+v", out, end)
	}
	if err := os.Symlink(at("a.txt"), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, s := range map[string]sidecar.Start{
		"a link":          {Write: at("link"), Most: 100},
		"a pipe":          {Write: at("pipe"), Most: 100},
		"above":           {Write: dir + "/../x", Most: 100},
		"relative":        {Write: "x", Most: 100},
		"a name with two": {Write: dir, Name: "../x", Most: 100},
		"too large":       {Write: at("b"), Most: 3},
		"reading a pipe":  {Read: at("pipe"), Most: 100},
		"reading above":   {Read: dir + "/../x", Most: 100},
		"reading a lot":   {Read: at("a.txt"), Most: 3},
		"reading folders": {Read: dir, Most: 100},
	} {
		if end := put(s, "text"); end.Code == 0 || end.Message == "" {
			t.Errorf("%s was let: %+v", what, end)
		}
	}
	v := openVisit(t, sidecar.Start{Write: at("half"), Most: 100})
	if err := v.to.Write(sidecar.FrameInput, []byte("only the beg")); err != nil {
		t.Fatal(err)
	}
	_ = v.in.Close()
	if _, _, end := v.rest(); end.Code == 0 {
		t.Error("half a file was taken for a whole one")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("in the folder are %v, %v", left, err)
	}
}
