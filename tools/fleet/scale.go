package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// curve is how one figure grows with the size of an installation.
type curve struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Goal   float64 `json:"goal,omitempty"`
	Points []point `json:"points"`
}

type point struct {
	Size  int     `json:"size"`
	Value float64 `json:"value"`
}

// scale is one run of `make bench-scale`.
type scale struct {
	options
	postgres            string
	Load                string   `json:"load"`
	Agents, Deployments []*curve `json:"-"`
	Curves              []*curve `json:"curves"`
}

// addPoint adds a point to the curve of that name.
func addPoint(curves *[]*curve, c curve, size int, value float64) {
	for _, have := range *curves {
		if have.Name == c.Name {
			have.Points = append(have.Points, point{size, value})
			return
		}
	}
	c.Points = []point{{size, value}}
	*curves = append(*curves, &c)
}

// agentSizes and deploymentSizes are where the curves are measured. Ten thousand agents are what
// one process with TLS holds on one machine beside the control plane.
var (
	agentSizes      = []int{1_000, 10_000}
	deploymentSizes = []int{1_000, 10_000, 100_000}
)

// runScale measures both curves and writes docs/scale.*.
func runScale(ctx context.Context, o options, postgres string) error {
	s := &scale{options: o, postgres: postgres, Load: loadNow()}
	if o.small {
		agentSizes, deploymentSizes = []int{20}, []int{200, 400}
	}
	for _, n := range agentSizes {
		if err := s.measureAgents(ctx, n); err != nil {
			return fmt.Errorf("%d agents: %w", n, err)
		}
	}
	for _, n := range deploymentSizes {
		if err := s.measureDeployments(ctx, n); err != nil {
			return fmt.Errorf("%d deployments: %w", n, err)
		}
	}
	return s.report(ctx)
}

// onPlane runs do with a control plane and a database of its own.
func (s *scale) onPlane(ctx context.Context, do func(context.Context, *plane) error) (err error) {
	dir, err := os.MkdirTemp("", "nullops-scale-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := newPlane(ctx, dir, s.binary, s.postgres)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return do(ctx, p)
}

func (s *scale) measureAgents(ctx context.Context, n int) error {
	return s.onPlane(ctx, func(ctx context.Context, p *plane) error {
		m := &measurement{options: s.options, plane: p}
		m.options.agents = n
		if err := m.all(ctx); err != nil {
			return err
		}
		for _, c := range []struct {
			curve
			value float64
		}{
			{curve{Name: "CPU at rest", Unit: "% of a core"}, 100 * m.steady},
			{curve{Name: "memory per idle agent", Unit: "KiB", Goal: 28}, m.idleKiB},
			{curve{Name: "all online after a restart", Unit: "s"}, m.online.Seconds()},
			{curve{Name: "API meanwhile, p99", Unit: "ms", Goal: 100}, toMilliseconds(m.slowest)},
			{curve{Name: "reports stored", Unit: "per second"}, m.reportsPerSecond},
		} {
			addPoint(&s.Agents, c.curve, n, c.value)
		}
		return nil
	})
}

// listPaths are the lists that people open: the first page, by name, of one project, and a search.
var listPaths = []string{"/api/v1/deployments", "/api/v1/deployments?sort=name",
	"/api/v1/deployments?project=shop&status=ready", "/api/v1/deployments?search=scale-7"}

const listTimes = 100

func (s *scale) measureDeployments(ctx context.Context, n int) error {
	return s.onPlane(ctx, func(ctx context.Context, p *plane) error {
		m := &measurement{options: s.options, plane: p}
		if err := m.begin(ctx); err != nil {
			return err
		}
		if err := p.seedDeployments(ctx, n); err != nil {
			return err
		}
		for _, path := range listPaths {
			var times []time.Duration
			for range listTimes {
				took, err := m.askOne(path)
				if err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				times = append(times, took)
			}
			name := strings.TrimPrefix(path, "/api/v1/") + ", p99"
			addPoint(&s.Deployments, curve{Name: name, Unit: "ms", Goal: 50}, n,
				toMilliseconds(computePercentile(times, 0.99)))
		}
		from, err := useOf(p.process.Process.Pid)
		if err != nil {
			return err
		}
		waits, err := p.measureListeners(ctx, s.listeners())
		if err != nil {
			return err
		}
		addPoint(&s.Deployments, curve{Name: "event to 1,000 listeners, p99", Unit: "ms", Goal: 150}, n,
			toMilliseconds(computePercentile(waits, 0.99)))
		to, err := useOf(p.process.Process.Pid)
		addPoint(&s.Deployments, curve{Name: "the control plane's memory", Unit: "MiB"}, n, to.kib/1024)
		addPoint(&s.Deployments, curve{Name: "CPU with 1,000 listeners", Unit: "% of a core"}, n,
			100*cpuShare(from, to))
		return err
	})
}

func (s *scale) listeners() int {
	if s.small {
		return 20
	}
	return 1_000
}

// report prints the curves, and writes them if asked to.
func (s *scale) report(ctx context.Context) error {
	tables := fmt.Sprintf("## Agents\n\n%s\n## Deployments\n\n%s", tabulate(s.Agents, agentSizes),
		tabulate(s.Deployments, deploymentSizes))
	fmt.Print(tables)
	if !s.publish {
		return nil
	}
	page := fmt.Sprintf(scalePage, time.Now().UTC().Format("2 January 2006, 15:04 UTC"),
		commitNow(ctx), s.Load, tables)
	if err := os.WriteFile("docs/scale.md", []byte(page), 0o644); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	s.Curves = append(s.Agents, s.Deployments...)
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return os.WriteFile("docs/scale.json", append(text, '\n'), 0o644)
}

// tabulate writes curves side by side; what misses its goal is marked.
func tabulate(curves []*curve, sizes []int) string {
	var b strings.Builder
	b.WriteString("| measured | unit | goal |")
	for _, n := range sizes {
		fmt.Fprintf(&b, " %d |", n)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(sizes)) + "\n")
	for _, c := range curves {
		goal := "–"
		if c.Goal > 0 {
			goal = fmt.Sprintf("≤ %g", c.Goal)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |", c.Name, c.Unit, goal)
		for _, p := range c.Points {
			mark := ""
			if c.Goal > 0 && p.Value > c.Goal {
				mark = " **missed**"
			}
			fmt.Fprintf(&b, " %.3g%s |", p.Value, mark)
		}
		b.WriteString("\n")
	}
	return b.String()
}
