package api_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/pipeline"
)

// piped is a node whose service writes when the test says so.
type piped struct {
	mu      sync.Mutex
	writers []*io.PipeWriter
	began   chan logbook.NodeLogOptions
	err     error
}

func (p *piped) Follow(ctx context.Context, _ controlplane.NodeID, _ controlplane.DeploymentID,
	_ pipeline.StepKey, o logbook.NodeLogOptions) (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	r, w := io.Pipe()
	p.writers = append(p.writers, w)
	context.AfterFunc(ctx, func() { _ = w.Close() })
	p.began <- o
	return r, nil
}

func (p *piped) last() *io.PipeWriter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writers[len(p.writers)-1]
}

func logTexts(t *testing.T, l *listener) (lines []string, ids []string) {
	t.Helper()
	for {
		e, ok := l.next()
		switch {
		case !ok:
			t.Fatal("the stream has no end")
		case e.name == "end":
			return lines, ids
		case e.name == "line":
			line := decodeEvent[api.DeploymentLogLine](t, e)
			lines = append(lines, line.Source+":"+line.Text)
			ids = append(ids, e.id)
		default:
			lines = append(lines, e.name)
		}
	}
}

// Several sources are merged into one log in the order of time; each can be left out, and search,
// since and until apply to all of them.
func TestLogs_MergedByTime(t *testing.T) {
	t.Parallel()
	logs := &nodeLogs{text: "2000-01-01T00:00:01Z one\n2000-01-01T00:00:02Z \x1b[31mTwo\x1b[0m\n" +
		"2000-01-01T00:00:02Z two again\n2000-01-01T00:00:04Z four\n"}
	w := newWorld(t, func(c *api.Config) { c.Logs = logs })
	w.shop()
	d := w.deploy("first")
	w.write(d, "seed", 1, "seeded")
	path, token := "/api/v1/deployments/"+string(d.ID)+"/logs", w.token("reader")
	all := "api:one|api:\x1b[31mTwo\x1b[0m|api:two again|api:four|seed:seeded"
	var ids []string
	for query, want := range map[string]string{
		"":                            all,
		"?source=seed":                "seed:seeded",
		"?search=TWO":                 "api:\x1b[31mTwo\x1b[0m|api:two again",
		"?search=two&tail=1":          "api:two again",
		"?until=2000-01-01T00:00:03Z": "api:one|api:\x1b[31mTwo\x1b[0m|api:two again",
		"?since=2000-01-01T00:00:03Z": "api:four|seed:seeded",
	} {
		lines, at := logTexts(t, w.open(path+query, token, ""))
		if got := strings.Join(lines, "|"); got != want {
			t.Errorf("%q gives %q, want %q", query, got, want)
		}
		if query == "" {
			ids = at
		}
	}
	// Two lines of one moment: who saw the first of them gets the second.
	rest, _ := logTexts(t, w.open(path, token, ids[1]))
	if got := strings.Join(rest, "|"); got != "api:two again|api:four|seed:seeded" {
		t.Errorf("resumed with %q", got)
	}
	text := w.call("GET", path+"/download", token, nil)
	if !strings.Contains(string(text.body), "2000-01-01T00:00:02.000Z api | Two\n") ||
		!strings.Contains(string(text.body), " seed | seeded\n") {
		t.Errorf("the file is %q", text.body)
	}
	if got := text.header.Get("Content-Disposition"); !regexp.MustCompile(
		`^attachment; filename="[a-z0-9.-]+\.log"$`).MatchString(got) {
		t.Errorf("the file is sent as %q", got)
	}
	if a := w.call("GET", path+"?source=nobody", token, nil); a.status != http.StatusNotFound {
		t.Errorf("an unknown source: %d", a.status)
	}
	logs.err = controlplane.NewNotFoundError("node", "x")
	if lines, _ := logTexts(t, w.open(path, token, "")); lines[0] != "trouble" ||
		lines[1] != "seed:seeded" {
		t.Errorf("without the node: %q", lines)
	}
}

// Following returns lines as they come, continues when the service restarts, and ends with the
// deployment, whose last lines stay readable.
func TestLogs_FollowedToTheEndAndKept(t *testing.T) {
	t.Parallel()
	node := &piped{began: make(chan logbook.NodeLogOptions, 10)}
	w := newWorld(t, func(c *api.Config) { c.Logs = node })
	w.shop()
	d := w.deploy("first")
	path, token := "/api/v1/deployments/"+string(d.ID)+"/logs", w.token("reader")
	l := w.open(path+"?source=api&follow=true&tail=7", token, "")
	if o := <-node.began; !o.Follow || o.Tail != 7 {
		t.Errorf("the node is asked for %+v", o)
	}
	say := func(text string) {
		t.Helper()
		if _, err := io.WriteString(node.last(), text+"\n"); err != nil {
			t.Fatal(err)
		}
		e, ok := l.next()
		// promise: N-281
		if !ok || !strings.Contains(e.data, text[len("2000-01-01T00:00:01Z "):]) {
			t.Fatalf("said %q, heard %v", text, e)
		}
	}
	say("2000-01-01T00:00:01Z hello")
	_ = node.last().Close()
	again := <-node.began
	if again.Since.IsZero() || again.Tail != 0 {
		t.Errorf("after it ended, the node is asked for %+v", again)
	}
	say("2000-01-01T00:00:05Z back")
	w.report(d, lifecycle.Report{Status: controlplane.Failed, Code: "x", Message: "it broke"})
	w.write(d, "api", 1, "last words")
	_ = node.last().Close()
	if rest, _ := logTexts(t, l); len(rest) != 0 {
		t.Errorf("more came: %q", rest)
	}
	kept, _ := logTexts(t, w.open(path+"?source=api", token, ""))
	if strings.Join(kept, "|") != "api:last words" {
		t.Errorf("kept is %q", kept)
	}
}
