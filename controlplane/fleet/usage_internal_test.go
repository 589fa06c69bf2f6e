package fleet

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// What was measured is dated by its age and our clock, whatever the agent's says.
func TestUseBatch_IsDatedByAge(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	got := useBatch("n", sampleBatch{at: now, samples: wire.Samples{Boot: "b", Items: []wire.Sample{
		{Number: 7, Age: 90_000, CPU: 1.5, Memory: 10, DiskFree: 5, Flow: wire.Flow{NetIn: 3},
			Services: []wire.ServiceUse{{Deployment: "d", Step: "web", CPU: .5, Memory: 4}}},
		{Number: 8, Age: -5}, {Number: 9, Age: math.MaxInt64},
	}}})
	if got.Boot != "b" || len(got.Items) != 3 || got.Items[0].Number != 7 {
		t.Fatalf("made %+v", got)
	}
	node, web := got.Items[0].All[0], got.Items[0].All[1]
	if !node.At.Equal(now.Add(-90*time.Second)) || node.Subject != "n" || node.CPUMax != 1.5 ||
		node.Flow.NetIn != 3 || node.DiskFree != 5 {
		t.Errorf("node: %+v", node)
	}
	if web.Subject != "d" || web.Step != "web" || web.Node != "n" || web.MemoryMax != 4 {
		t.Errorf("service: %+v", web)
	}
	if late := got.Items[1].All[0]; late.At.After(now) {
		t.Errorf("from the future: %+v", late)
	}
	if old := got.Items[2].All[0]; !old.At.Equal(now.Add(-oldest)) {
		t.Errorf("from before the flood: %+v", old)
	}
}

// A sample of several measurements counts as many, up to a limit.
func TestUseBatch_SumsUpWhatWasJoined(t *testing.T) {
	b := useBatch("n", sampleBatch{at: time.Now(), samples: wire.Samples{Items: []wire.Sample{
		{Number: 6, Count: 6, CPU: .5, Memory: 10, DiskFree: 5, Flow: wire.Flow{NetIn: 3},
			Services: []wire.ServiceUse{{Deployment: "d", Step: "web", CPU: .25, Memory: 4}}},
		{Number: 7, Count: 1 << 30, CPU: 1}, {Number: 8, Count: -3, CPU: 1},
	}}})
	node, web := b.Items[0].All[0], b.Items[0].All[1]
	if b.Items[0].Count != 6 || node.Count != 6 || node.CPU != 3 || node.CPUMax != .5 ||
		node.Memory != 60 || node.MemoryMax != 10 || node.Flow.NetIn != 18 || node.DiskFree != 5 {
		t.Errorf("node: %+v", node)
	}
	if web.Count != 6 || web.CPU != 1.5 || web.Memory != 24 {
		t.Errorf("service: %+v", web)
	}
	if n := b.Items[1].Count; n != mostJoined {
		t.Errorf("a dishonest count is taken for %d", n)
	}
	if n := b.Items[2].Count; n != 1 {
		t.Errorf("a negative count is taken for %d", n)
	}
}

// A clock that is off is said to be, by how much and in which direction.
func TestClockSkew(t *testing.T) {
	now := time.Now()
	for skew, want := range map[time.Duration]string{
		0: "agree", -4 * time.Second: "agree", 4 * time.Second: "agree",
		time.Hour:                  "1 hour ahead of",
		-10 * 365 * 24 * time.Hour: "3650 days behind",
	} {
		c := clockSkew(now.Add(skew), now)
		bad := !strings.Contains(want, "agree")
		if !strings.Contains(c.Detail, want) || bad == (c.Severity == controlplane.SeverityOK) ||
			bad == (c.Remedy == "") {
			t.Errorf("off by %s: %+v", skew, c)
		}
	}
}

// Health that did not change is stored again only from time to time.
func TestTold_LeavesOutWhatDidNotChange(t *testing.T) {
	var s storedHealth
	now := time.Now()
	services := []wire.ServiceVitals{{Deployment: "d", Step: "web", Health: wire.HealthHealthy},
		{Deployment: "d", Step: "db", Health: wire.HealthHealthy}}
	if got := s.changedServices(services, now); len(got) != 2 {
		t.Errorf("at first: %+v", got)
	}
	services[0].CPU, services[0].Detail = 3, "up for one second"
	if got := s.changedServices(services, now.Add(time.Second)); len(got) != 0 {
		t.Errorf("another measurement: %+v", got)
	}
	services[1].Health = wire.HealthStopped
	if got := s.changedServices(services, now.Add(2*time.Second)); len(got) != 1 ||
		got[0].Step != "db" {
		t.Errorf("a change: %+v", got)
	}
	services[0].Ended = true
	if got := s.changedServices(services, now.Add(3*time.Second)); len(got) != 1 || !got[0].Ended {
		t.Errorf("one has ended: %+v", got)
	}
	if got := s.changedServices(services, now.Add(healthAgain)); len(got) != 2 {
		t.Errorf("after a while: %+v", got)
	}
}

// What a node dates ten years ahead happened now, in reports and in logs; what it dates earlier, or
// a little later, stays as it is.
func TestNewReport_ClockTenYearsAhead(t *testing.T) {
	now := time.Now()
	for given, want := range map[time.Time]time.Time{now.AddDate(10, 0, 0): now,
		now.Add(-time.Hour): now.Add(-time.Hour), now.Add(time.Second): now.Add(time.Second)} {
		lines, _ := logLines([]wire.LogLine{{At: given}})
		for what, got := range map[string]time.Time{"a report": newReport("n",
			wire.Event{At: given}).At, "a line": lines[0].At} {
			if got.Sub(want).Abs() > 500*time.Millisecond {
				t.Errorf("%s of %s is dated %s", what, given, got)
			}
		}
	}
}
