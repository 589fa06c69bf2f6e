package agent

import (
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

var (
	testSize = wire.Inventory{CPU: 8, Memory: 32 << 30}
	atRest   = wire.Vitals{CPU: .1, MemoryUsed: 8 << 30, MemoryOurs: 4 << 30, DiskFree: 100 << 30,
		Services: []wire.ServiceVitals{{Deployment: "d", Step: "web", Health: wire.HealthHealthy,
			Detail: "200 OK in 3 ms"}}}
)

// countReports measures every five seconds for some time, and counts what is reported.
func countReports(p *vitalsPace, from time.Time, during time.Duration,
	measure func(after time.Duration) wire.Vitals) (n int) {
	for after := time.Duration(0); after < during; after += 5 * time.Second {
		now, v := from.Add(after), measure(after)
		if p.isDue(now, &v, testSize) {
			p.markReported(now, &v, 5*time.Second)
			n++
		}
	}
	return n
}

func unchanged(after time.Duration) wire.Vitals {
	v := atRest
	// What an idle machine does all the time.
	v.CPU += .05 * float64(after/(5*time.Second)%2)
	v.MemoryUsed += int64(after/time.Second) << 17
	v.Services = []wire.ServiceVitals{{Deployment: "d", Step: "web", Health: wire.HealthHealthy,
		Detail: "200 OK in " + after.String()}}
	return v
}

// A node at rest reports its vitals once a minute, and each measurement if it must not rest, or
// while somebody looks.
func TestVitalsPace_RestsOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var p vitalsPace
	if n := countReports(&p, began, time.Minute, unchanged); n != 12 {
		t.Errorf("an older control plane gets %d reports a minute instead of 12", n)
	}
	p.takeWatch(began, wire.Watch{Rest: 60})
	began = began.Add(time.Hour)
	// promise: P-05
	if n := countReports(&p, began, 10*time.Minute, unchanged); n != 10 {
		t.Errorf("at rest %d reports in ten minutes instead of 10", n)
	}
	began = began.Add(time.Hour)
	p.takeWatch(began, wire.Watch{Rest: 60, Seconds: 30})
	if n := countReports(&p, began, 30*time.Second, unchanged); n != 6 {
		t.Errorf("while somebody looks %d reports in 30 s instead of 6", n)
	}
	if n := countReports(&p, began.Add(30*time.Second), time.Minute, unchanged); n != 1 {
		t.Errorf("after they left %d reports in a minute instead of one", n)
	}
	p.takeWatch(began, wire.Watch{})
	if n := countReports(&p, began, time.Minute, unchanged); n != 12 {
		t.Errorf("a node that must not rest makes %d reports a minute instead of 12", n)
	}
}

// Whatever a decision depends on is reported with the measurement that shows it.
func TestVitalsPace_ReportsWhatDecisionsNeed(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for name, change := range map[string]func(*wire.Vitals){
		"a busy CPU":       func(v *wire.Vitals) { v.CPU = 4 },
		"some CPU":         func(v *wire.Vitals) { v.CPU += .3 },
		"memory":           func(v *wire.Vitals) { v.MemoryUsed += 1 << 30 },
		"foreign memory":   func(v *wire.Vitals) { v.MemoryOurs -= 1 << 30 },
		"the disk":         func(v *wire.Vitals) { v.DiskFree -= 3 << 30 },
		"an ended service": func(v *wire.Vitals) { v.Services = nil },
		"removed images":   func(v *wire.Vitals) { v.Images = &wire.ImageCare{Removed: 1} },
		"health": func(v *wire.Vitals) {
			v.Services = []wire.ServiceVitals{{Deployment: "d", Step: "web",
				Health: wire.HealthUnhealthy}}
		},
		"a restart": func(v *wire.Vitals) {
			v.Services = []wire.ServiceVitals{{Deployment: "d", Step: "web",
				Health: wire.HealthHealthy, Restarts: 1}}
		},
	} {
		var p vitalsPace
		p.takeWatch(began, wire.Watch{Rest: 60})
		before, after := atRest, atRest
		p.markReported(began, &before, 5*time.Second)
		if p.isDue(began.Add(5*time.Second), &after, testSize) {
			t.Fatalf("%s: reported although nothing changed", name)
		}
		change(&after)
		if !p.isDue(began.Add(5*time.Second), &after, testSize) {
			t.Errorf("%s: not reported", name)
		}
	}
	// A busy node reports everything, so that placement has every measurement of minutes.
	var p vitalsPace
	p.takeWatch(began, wire.Watch{Rest: 60})
	n := countReports(&p, began, time.Minute, func(time.Duration) wire.Vitals {
		return wire.Vitals{CPU: 7, MemoryUsed: 1 << 30}
	})
	if n != 12 {
		t.Errorf("a busy node makes %d reports a minute instead of 12", n)
	}
	// Where little is free, less makes a difference.
	full, less := atRest, atRest
	full.DiskFree, less.DiskFree = 1200<<20, 1100<<20
	full.MemoryUsed, less.MemoryUsed = 31<<30, 31<<30+200<<20
	if !differs(full, atRestWith(full, less.DiskFree, full.MemoryUsed), testSize) ||
		!differs(full, atRestWith(full, full.DiskFree, less.MemoryUsed), testSize) {
		t.Error("a node that is nearly full hides that it gets fuller")
	}
}

func atRestWith(v wire.Vitals, disk, memory int64) wire.Vitals {
	v.DiskFree, v.MemoryUsed = disk, memory
	return v
}
