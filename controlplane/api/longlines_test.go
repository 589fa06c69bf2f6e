package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
)

// A line of 1 MiB comes as one, also when it holds what looks like a time where a
// reader might cut it. What is longer is cut, and each piece has the line's own time.
func TestLogs_LongLinesAreOneLine(t *testing.T) {
	t.Parallel()
	const stamp, other = "2000-01-01T00:00:01Z ", "2001-02-03T04:05:06Z "
	long := strings.Repeat("x", 64<<10-len(stamp)) + other + strings.Repeat("y", 1<<20)
	longer := strings.Repeat("x", 1152<<10-len(stamp)) + other + "tail"
	logs := &nodeLogs{text: stamp + long + "\n" + stamp + longer + "\n" + other + "last\n"}
	w := newWorld(t, func(c *api.Config) { c.Logs = logs })
	w.shop()
	d := w.deploy("first")
	token := w.token("reader")
	var lines []api.ServiceLogLine
	l := w.open("/api/v1/deployments/"+string(d.ID)+"/services/api/logs", token, "")
	for {
		e, ok := l.next()
		if !ok || e.name == "end" {
			break
		}
		lines = append(lines, decodeEvent[api.ServiceLogLine](t, e))
	}
	if len(lines) != 4 || lines[0].Text != long || lines[1].Text+lines[2].Text != longer ||
		lines[2].At.Year() != 2000 || lines[3].Text != "last" || lines[3].At.Year() != 2001 {
		t.Errorf("%d lines came, with other texts or times", len(lines))
		for _, line := range lines {
			t.Errorf("%v %d bytes: %.40s", line.At, len(line.Text), line.Text)
		}
	}
}

// A line too long for a capsule is shown in part, and those after it are there.
func TestCapsule_ShowsWhatFollowsALongLine(t *testing.T) {
	t.Parallel()
	logs := &nodeLogs{text: "2000-01-01T00:00:01Z " + strings.Repeat("x", 2<<20) + "\n" +
		"2000-01-01T00:00:02Z why it failed\n"}
	w := newWorld(t, func(c *api.Config) { c.Logs = logs })
	w.shop()
	d := w.deploy("first")
	w.reaches(d, controlplane.Applying)
	w.reaches(d, controlplane.Ready)
	var c api.Capsule
	w.expect(http.StatusOK, "GET", "/deployments/"+string(d.ID)+"/capsule", w.token("reader"), nil, &c)
	if len(c.Services) != 1 || len(c.Services[0].Log) != 2 ||
		!strings.HasPrefix(c.Services[0].Log[0], "xxx") || len(c.Services[0].Log[0]) > 130<<10 ||
		c.Services[0].Log[1] != "why it failed" {
		t.Errorf("the capsule has %d services", len(c.Services))
		for _, s := range c.Services {
			for _, line := range s.Log {
				t.Errorf("%d bytes: %.40s", len(line), line)
			}
		}
	}
}
