package logbook_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/pipeline"
)

// node is one that has a log.
type node struct{ log io.Reader }

func (n node) Follow(context.Context, controlplane.NodeID, controlplane.DeploymentID,
	pipeline.StepKey, logbook.NodeLogOptions) (io.ReadCloser, error) {
	return io.NopCloser(n.log), nil
}

func openStream(t *testing.T, log io.Reader, limit int) *logbook.NodeStream {
	t.Helper()
	r := &logbook.Reader{Nodes: node{log}}
	s, err := r.OpenNodeStream(t.Context(), controlplane.Deployment{NodeID: "n"}, "api",
		logbook.NodeLogOptions{}, limit)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A line that is too long comes in pieces, each with the line's own time, and why the log broke is
// known after the last line.
func TestNodeStream_LinesThenWhyItBroke(t *testing.T) {
	broken := errors.New("the node went away")
	// More than is read at once, and what looks like a time where the line is cut.
	long := strings.Repeat("x", 128<<10-len("2026-01-02T03:04:05Z ")) + "2027-01-01T00:00:00Z tail"
	s := openStream(t, io.MultiReader(strings.NewReader("2026-01-02T03:04:05Z "+long+"\nno time\n"),
		iotest.ErrReader(broken)), 128<<10)
	var texts []string
	for l := range s.Lines() {
		texts = append(texts, l.Text)
		if at := l.At.Format(time.RFC3339); at != "2026-01-02T03:04:05Z" {
			t.Errorf("%.30s… is of %s", l.Text, at)
		}
		s.Release(l)
	}
	if len(texts) != 3 || texts[0]+texts[1] != long || texts[2] != "no time" {
		t.Errorf("%d lines came, or others", len(texts))
	}
	if err := s.Close(); !errors.Is(err, broken) {
		t.Errorf("the log broke because of %v", err)
	}
}

// A node that writes faster than anybody reads waits, and closing ends it.
func TestNodeStream_WaitsForItsReader(t *testing.T) {
	from, to := io.Pipe()
	s := openStream(t, from, logbook.MaxLine)
	written := make(chan int)
	go func() {
		n := 0
		for ; n < 100_000; n++ {
			if _, err := to.Write([]byte(strings.Repeat("x", 1000) + "\n")); err != nil {
				break
			}
		}
		written <- n
	}()
	<-s.Lines()
	if err := s.Close(); err != nil {
		t.Errorf("closing fails with %v", err)
	}
	_ = from.Close()
	if n := <-written; n > 10_000 {
		t.Errorf("%d lines were read that nobody took", n)
	}
}

func TestOpenNodeStream_WithoutANode(t *testing.T) {
	_, err := (&logbook.Reader{}).OpenNodeStream(t.Context(), controlplane.Deployment{}, "api",
		logbook.NodeLogOptions{}, logbook.MaxLine)
	if problem, known := logbook.NodeLogError(err); !known || problem.Code != "no_node" {
		t.Errorf("the error is %v", err)
	}
}

func TestReadFirstLines_CutsLongOnes(t *testing.T) {
	log := "2026-01-02T03:04:05Z a\n" + strings.Repeat("b", 200<<10) + "\nc\nd\n"
	lines := logbook.ReadFirstLines(strings.NewReader(log), 3, 64<<10)
	if len(lines) != 3 || lines[0] != "a" || lines[1] != strings.Repeat("b", 64<<10)+"…" ||
		lines[2] != "c" {
		t.Errorf("%d lines, or others", len(lines))
	}
}
