package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// soakRun is what a file of samples holds.
type soakRun struct {
	soakHeader
	samples []soakSample
	// rest is the sample after everybody left, if there is one.
	rest []soakSample
}

// warmUp is the beginning of a run that does not count: pools and caches fill.
const warmUp = 0.1

// soakRow is one thing that must not grow.
type soakRow struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Second and Last are the medians of these thirds; the others are the lowest values there.
	Second    float64 `json:"second_third"`
	Last      float64 `json:"last_third"`
	SecondLow float64 `json:"second_third_lowest"`
	LastLow   float64 `json:"last_third_lowest"`
	// Share and Slack are how much more of it may be there: a share of it, and a bit for small ones.
	Share float64 `json:"tolerance"`
	Slack float64 `json:"slack"`
	// First is before anybody used it, and Rest after everybody left; of some rows, it is not known.
	First float64  `json:"before"`
	Rest  *float64 `json:"at_rest,omitempty"`
	Flat  bool     `json:"flat"`
}

// soakLimits says what must stay flat, by the ends of the names.
func soakLimits() []soakRow {
	var all []soakRow
	for _, name := range soakProcesses() {
		all = append(all, soakRow{Name: name + ".own_mib", Unit: "MiB", Share: 0.1, Slack: 2},
			soakRow{Name: name + ".goroutines", Share: 0.1, Slack: 5},
			soakRow{Name: name + ".descriptors", Share: 0.1, Slack: 5},
			soakRow{Name: name + ".connections", Share: 0.1, Slack: 5})
	}
	return append(all,
		soakRow{Name: "relays.largest_own_mib", Unit: "MiB", Share: 0.1, Slack: 0.5},
		soakRow{Name: "database.connections", Share: 0.1, Slack: 2},
		soakRow{Name: "engine.containers", Slack: 2}, soakRow{Name: "engine.networks", Slack: 2},
		soakRow{Name: "engine.volumes", Slack: 2},
		soakRow{Name: "engine.containers_mib", Unit: "MiB", Share: 0.1, Slack: 1},
		soakRow{Name: "engine.volumes_mib", Unit: "MiB", Share: 0.1, Slack: 1},
		soakRow{Name: "agent.data_mib", Unit: "MiB", Share: 0.1, Slack: 1},
		soakRow{Name: "agent.data_files", Share: 0.1, Slack: 2},
		soakRow{Name: "agent.tmpfs_mib", Unit: "MiB", Share: 0.1, Slack: 0.1})
}

// judge fills in what was seen. Something grows if its median and its lowest value do, and if it is
// not as before when everybody has left: what leaks does not come back, but a busy machine keeps
// more requests open at a time.
func (r soakRow) judge(first soakSample, second, last, rest []soakSample) soakRow {
	before, after := valuesOf(second, r.Name), valuesOf(last, r.Name)
	if len(before) == 0 || len(after) == 0 {
		return r
	}
	r.Second, r.Last = computeMedian(before), computeMedian(after)
	r.SecondLow, r.LastLow = slices.Min(before), slices.Min(after)
	r.First = first.Values[r.Name]
	r.Flat = r.within(r.Second, r.Last) || r.within(r.SecondLow, r.LastLow)
	if left := valuesOf(rest, r.Name); len(left) > 0 {
		r.Rest = &left[0]
		r.Flat = r.Flat || r.within(r.First, left[0])
	}
	return r
}

func (r soakRow) within(before, after float64) bool { return after <= before*(1+r.Share)+r.Slack }

func valuesOf(samples []soakSample, name string) (all []float64) {
	for _, s := range samples {
		if v, found := s.Values[name]; found {
			all = append(all, v)
		}
	}
	return all
}

// historyTables keep what happened for as long as the settings and docs/nodes.md say. They grow
// with use, and only they may.
func historyTables() []string {
	return []string{"audit", "deployment_events", "deployment_hosts", "deployments", "log_lines",
		"queue", "run_steps", "runs", "use_samples"}
}

// soakTable is how large a table of the database became.
type soakTable struct {
	Name    string  `json:"name"`
	First   float64 `json:"first_mib"`
	Last    float64 `json:"last_mib"`
	History bool    `json:"history"`
}

// mostTableGrowth is how much a table may grow that keeps no history: rows that were changed take
// place until PostgreSQL cleans up.
const mostTableGrowth = 1

func (t soakTable) isFlat() bool { return t.History || t.Last <= t.First+mostTableGrowth }

// tables are those that grew, after the warm-up.
func (r *soakRun) tables(from, to soakSample) (all []soakTable) {
	for name, size := range to.Tables {
		t := soakTable{Name: name, First: from.Tables[name], Last: size,
			History: slices.Contains(historyTables(), name)}
		if t.Last > t.First {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b soakTable) int {
		return cmp.Or(cmp.Compare(b.Last-b.First, a.Last-a.First), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// thirds are the second and the last third of a run, after its warm-up.
func (r *soakRun) thirds() (second, last []soakSample) {
	from := warmUp * r.lasts().Seconds()
	third := (r.lasts().Seconds() - from) / 3
	for _, s := range r.samples {
		switch {
		case s.After >= from+2*third:
			last = append(last, s)
		case s.After >= from+third:
			second = append(second, s)
		}
	}
	return second, last
}

func (r *soakRun) lasts() time.Duration {
	return time.Duration(r.samples[len(r.samples)-1].After * float64(time.Second))
}

func readSoak(path string) (*soakRun, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := &soakRun{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 0; lines.Scan(); n++ {
		if n == 0 {
			err = json.Unmarshal(lines.Bytes(), &r.soakHeader)
		} else {
			var s soakSample
			err = json.Unmarshal(lines.Bytes(), &s)
			if s.Rest {
				r.rest = append(r.rest, s)
			} else {
				r.samples = append(r.samples, s)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n+1, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(r.samples) < 4 {
		return nil, errors.New(path + " has too few samples: let it run for two minutes or more")
	}
	return r, nil
}
