package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// figure is one row of the table.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Goal is the most it may be, or the least if AtLeast; zero is none.
	Goal    float64 `json:"goal,omitempty"`
	AtLeast bool    `json:"at_least,omitempty"`
	// Cause is what it is missed by, when it is.
	Cause string `json:"-"`
}

const missing = "**no**"

func (f figure) isMet() string {
	switch {
	case f.Goal == 0:
		return "–"
	case f.AtLeast && f.Value >= f.Goal, !f.AtLeast && f.Value <= f.Goal:
		return "yes"
	}
	return missing
}

func (f figure) goal() string {
	switch {
	case f.Goal == 0:
		return "–"
	case f.AtLeast:
		return fmt.Sprintf("≥ %g", f.Goal)
	}
	return fmt.Sprintf("≤ %g", f.Goal)
}

func (m *measurement) figures() []figure {
	return []figure{
		{Name: "enrolled, one by one over the API", Value: m.enrolled.Seconds(), Unit: "s"},
		{Name: "all online after a restart of the control plane", Value: m.online.Seconds(),
			Unit: "s", Goal: 45, Cause: "every handshake costs both ends two signatures, and both " +
				"ends share the cores."},
		{Name: "API meanwhile, 99th percentile", Value: toMilliseconds(m.slowest), Unit: "ms",
			Goal: 100, Cause: "agents, PostgreSQL and the control plane share the cores. Two " +
				"handshakes begin four milliseconds apart or more, and how many are under way " +
				"follows how late a timer fires, down to eight; what is left waits for the other " +
				"processes, and for PostgreSQL."},
		{Name: "API meanwhile, median", Value: toMilliseconds(m.typical), Unit: "ms"},
		{Name: "API meanwhile, requests", Value: float64(m.requests), Unit: ""},
		{Name: "API meanwhile, failed", Value: float64(m.failed), Unit: ""},
		{Name: "resident memory per idle agent", Value: m.idleKiB, Unit: "KiB", Goal: 28,
			Cause: "one goroutine with a stack of 4 KiB, TLS state with the pinned certificate " +
				"and what the handshake left in its buffers, some 13 KiB, the session and its " +
				"timers, and the 18 % that the collector may leave."},
		{Name: "steady state", Value: 100 * m.steady, Unit: "% of a core", Goal: 10,
			Cause: "each agent is asked for a sign of life every ten seconds, and reports its vitals " +
				"and measurements once a minute; each is a TLS record with its system calls. The " +
				"control plane renews all leases and compares all nodes every few seconds, and the " +
				"collector's marking grows with the number of sessions too."},
		{Name: "reports stored", Value: m.reportsPerSecond, Unit: "per second", Goal: 3000,
			AtLeast: true, Cause: "a transaction takes up to sixteen reports of each of up to 32 " +
				"deployments, in about ten statements; three are under way at once. A report is " +
				"acknowledged after its commit."},
		{Name: "the control plane meanwhile", Value: 100 * m.atFlood, Unit: "% of a core"},
		{Name: "sessions lost", Value: float64(m.lost), Unit: ""},
	}
}

func toMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// report prints the table, and writes it if asked to.
func (m *measurement) report(ctx context.Context) error {
	all := m.figures()
	var b strings.Builder
	b.WriteString("| measured | value | unit | goal | met |\n|---|---|---|---|---|\n")
	for _, f := range all {
		fmt.Fprintf(&b, "| %s | %.3g | %s | %s | %s |\n", f.Name, f.Value, f.Unit, f.goal(), f.isMet())
	}
	fmt.Print(b.String())
	if !m.publish {
		return nil
	}
	page := fmt.Sprintf(page, len(m.agents), time.Now().UTC().Format("2 January 2006, 15:04 UTC"),
		commitNow(ctx), runtime.NumCPU(), m.load, b.String(), m.vitals, m.idle) +
		listMissed(all)
	if err := os.WriteFile("docs/fleet.md", []byte(page), 0o644); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	text, err := json.MarshalIndent(map[string]any{"agents": len(m.agents), "load": m.load,
		"figures": all}, "", "  ")
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return os.WriteFile("docs/fleet.json", append(text, '\n'), 0o644)
}

// listMissed says by what goals are missed. Nothing is missed in silence.
func listMissed(all []figure) string {
	var b strings.Builder
	for _, f := range all {
		if f.isMet() == missing {
			fmt.Fprintf(&b, "- **%s**: %.3g %s instead of %s. Why: %s\n", f.Name, f.Value,
				f.Unit, f.goal(), f.Cause)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n## Missed goals\n\n" + b.String()
}

func commitNow(ctx context.Context) string {
	commit, _ := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output()
	return strings.TrimSpace(string(commit))
}

// loadNow is the average of the minute before: the work of others.
func loadNow() string {
	text, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

const page = `# A fleet of agents

<!-- Written by ` + "`make bench-fleet`" + `; edit tools/fleet instead. -->

%d agents, measured on %s at commit %s, on %d cores that the agents, PostgreSQL and the control
plane share. Load of the machine before the measurement, caused by other work: %s.

%s
## How it is measured

The control plane is the real program with a real PostgreSQL. The agents run in one other
process. Each agent has its own loopback address, certificate and token, proves its identity and
speaks the real protocol over real TLS. Each measures every %s. Like the agent, it reports each
measurement while somebody looks at its node or until the control plane lets it rest; at rest it
reports once a minute, with its vitals and all measurements in one message, and measurements that
hardly differ are joined to one of half a minute.

- **All online**: the control plane gets SIGTERM and is started again. The time runs from its
  start until every agent has received the full set of its goals. Every handshake costs CPU time
  at both ends, so most of the time is spent by the agents.
- **API meanwhile**: fifty requests a second to lists and single objects, until all agents are
  online.
- **Resident memory** counts the pages that the process wrote itself (RssAnon) with all agents
  idle, minus those of the same process with no agent, per agent. Both are read half a minute or
  more after a restart. The control plane runs its garbage collector after many agents have
  reconnected, but not with no agent. Therefore the figure is too low by the garbage of its start,
  divided by the number of agents.
- **Steady state**: the CPU time of the control plane over %s, while nothing happens.
- **Reports**: fifty agents with one deployment each report steps as fast as reports are
  acknowledged, which happens after their commit.
`
