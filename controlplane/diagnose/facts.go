package diagnose

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// mostAlerts bounds how many alerts an archive lists.
const mostAlerts = 500

// facts are what the database knows of the installation.
type facts struct {
	processes []controlplane.Process
	nodes     []controlplane.Node
	alerts    []controlplane.Alert
	levels    []controlplane.LogLevel
}

func (d *Diagnosis) readFacts(ctx context.Context) (f facts, err error) {
	err = d.Store.Read(ctx, func(tx *postgres.Tx) error {
		if f.processes, err = tx.Diagnosis().ListProcesses(ctx); err != nil {
			return err
		}
		if f.levels, err = tx.Diagnosis().ListLevels(ctx); err != nil {
			return err
		}
		if f.alerts, err = tx.Alerts().List(ctx, false, mostAlerts); err != nil {
			return err
		}
		f.nodes, err = listNodes(ctx, tx)
		return err
	})
	return f, err
}

func listNodes(ctx context.Context, tx *postgres.Tx) (all []controlplane.Node, err error) {
	for page := (controlplane.Page{Limit: controlplane.MaxPage}); ; {
		rows, err := tx.Nodes().List(ctx, page)
		if err != nil {
			return nil, err
		}
		items, next := controlplane.CutPage(page, rows,
			func(n controlplane.Node) string { return n.Name })
		all = append(all, items...)
		if next == "" {
			return all, nil
		}
		page.After = next
	}
}

// versionFacts is versions.json.
type versionFacts struct {
	Release   string         `json:"release"`
	TakenAt   time.Time      `json:"taken_at"`
	Processes []processFacts `json:"processes"`
	Nodes     []nodeFacts    `json:"nodes"`
}

type processFacts struct {
	ID        string    `json:"id"`
	Role      string    `json:"role"`
	Release   string    `json:"release"`
	StartedAt time.Time `json:"started_at"`
	SeenAt    time.Time `json:"seen_at"`
	Skew      float64   `json:"clock_skew_seconds"`
}

type nodeFacts struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
	Build  string `json:"build"`
	OS     string `json:"os,omitempty"`
	Kernel string `json:"kernel,omitempty"`
	Arch   string `json:"arch,omitempty"`
	Engine string `json:"engine,omitempty"`
}

// checkFacts is checks.json: everything that is wrong.
type checkFacts struct {
	Alerts    []alertFacts            `json:"alerts"`
	Nodes     map[string][]checkFact  `json:"node_checks"`
	LogLevels []controlplane.LogLevel `json:"log_levels"`
}

type alertFacts struct {
	Condition string    `json:"condition"`
	Severity  string    `json:"severity"`
	Summary   string    `json:"summary"`
	StartedAt time.Time `json:"started_at"`
}

type checkFact struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Detail   string `json:"detail"`
	Remedy   string `json:"remedy,omitempty"`
}

// writeFacts makes files of the facts.
func (d *Diagnosis) writeFacts(f facts) ([]controlplane.DiagnosisFile, error) {
	versions := versionFacts{Release: d.Release, TakenAt: time.Now().UTC()}
	for _, p := range f.processes {
		versions.Processes = append(versions.Processes, processFacts{ID: p.ID, Role: string(p.Role),
			Release: p.Release, StartedAt: p.StartedAt, SeenAt: p.SeenAt, Skew: p.Skew.Seconds()})
	}
	checks := checkFacts{Nodes: map[string][]checkFact{}, LogLevels: f.levels}
	for _, n := range f.nodes {
		one := nodeFacts{Name: n.Name, Status: string(n.Status), Detail: n.Detail, Build: n.Build}
		if i := n.Inventory; i != nil {
			one.OS, one.Kernel, one.Arch, one.Engine = i.OS, i.Kernel, i.Arch, i.EngineVersion
			checks.Nodes[n.Name] = listFaults(i.Checks)
		}
		versions.Nodes = append(versions.Nodes, one)
	}
	for _, a := range f.alerts {
		checks.Alerts = append(checks.Alerts, alertFacts{Condition: a.Condition,
			Severity: string(a.Severity), Summary: a.Summary(), StartedAt: a.StartedAt})
	}
	return encodeFiles(map[string]any{"versions.json": versions, "checks.json": checks})
}

// listFaults are the checks that are not ok.
func listFaults(all []controlplane.Check) (faults []checkFact) {
	for _, c := range all {
		if c.Severity != controlplane.SeverityOK {
			faults = append(faults, checkFact{ID: c.ID, Severity: string(c.Severity), Detail: c.Detail,
				Remedy: c.Remedy})
		}
	}
	return faults
}

func encodeFiles(all map[string]any) (files []controlplane.DiagnosisFile, err error) {
	for name, value := range all {
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		files = append(files, controlplane.DiagnosisFile{Name: name, Data: append(data, '\n')})
	}
	slices.SortFunc(files, func(a, b controlplane.DiagnosisFile) int {
		return strings.Compare(a.Name, b.Name)
	})
	return files, nil
}
