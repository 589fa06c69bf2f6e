package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// soakResult is docs/soak.json.
type soakResult struct {
	soakHeader
	Minutes float64     `json:"minutes"`
	Rows    []soakRow   `json:"rows"`
	Tables  []soakTable `json:"tables"`
	Counts  soakCounts  `json:"counts"`
	// Database is how much larger it became in an hour.
	Database float64 `json:"database_mib_per_hour"`
	// P99 is the median of what the slowest visits of each sample took, in milliseconds.
	P99  float64 `json:"visits_p99_ms"`
	Load float64 `json:"load_median"`
}

func (r *soakRun) result() soakResult {
	second, last := r.thirds()
	end := r.samples[len(r.samples)-1]
	all := soakResult{soakHeader: r.soakHeader, Minutes: r.lasts().Minutes(), Counts: end.Counts,
		P99: computeMedian(valuesOf(r.samples[1:], "visits.p99_ms"))}
	for _, limit := range soakLimits() {
		all.Rows = append(all.Rows, limit.judge(r.samples[0], second, last, r.rest))
	}
	warm := r.samples[min(len(r.samples)-1, int(warmUp*float64(len(r.samples))))]
	all.Tables = r.tables(warm, end)
	all.Database = (end.Values["database.mib"] - warm.Values["database.mib"]) /
		(end.After - warm.After) * 3600
	var loads []float64
	for _, s := range r.samples {
		loads = append(loads, s.Load)
	}
	all.Load = computeMedian(loads)
	return all
}

// problems are what must not be.
func (r soakResult) problems() (all []string) {
	for _, row := range r.Rows {
		if !row.Flat {
			all = append(all, fmt.Sprintf("%s grows from %s to %s", row.Name, formatNumber(row.Second),
				formatNumber(row.Last)))
		}
	}
	for _, t := range r.Tables {
		if !t.isFlat() {
			all = append(all, fmt.Sprintf("table %s grows from %s to %s MiB", t.Name,
				formatNumber(t.First), formatNumber(t.Last)))
		}
	}
	for what, n := range map[string]int{"visits failed": r.Counts.Failed,
		"changes failed": r.Counts.Broken, "streams were cut": r.Counts.Cut} {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	slices.Sort(all)
	return all
}

// report prints what was found, and writes it if asked to. What grows is an error.
func (r *soakRun) report(root string, publish bool) error {
	result := r.result()
	page := result.page()
	fmt.Print(page)
	if publish {
		text, err := json.MarshalIndent(result, "", "  ")
		if err != nil {
			return err
		}
		docs := filepath.Join(root, "docs")
		if err := errors.Join(
			os.WriteFile(filepath.Join(docs, "soak.json"), append(text, '\n'), 0o644),
			os.WriteFile(filepath.Join(docs, "soak.md"), []byte(page), 0o644)); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	if problems := result.problems(); len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

func (r soakResult) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, soakIntroduction, r.Minutes, r.Began.UTC().Format("2 January 2006, 15:04 UTC"),
		r.Commit, r.Deployments, r.Visits, formatNumber(r.Load))
	if r.Note != "" {
		b.WriteString(r.Note + "\n\n")
	}
	b.WriteString("| measured | before | second third | last third | at rest | unit | may grow by " +
		"| flat |\n|---|---|---|---|---|---|---|---|\n")
	for _, row := range r.Rows {
		flat, rest := "yes", "–"
		if !row.Flat {
			flat = "**no**"
		}
		if row.Rest != nil {
			rest = formatNumber(*row.Rest)
		}
		fmt.Fprintf(&b, "| %s | %s | %s (%s) | %s (%s) | %s | %s | %s | %s |\n", row.Name,
			formatNumber(row.First), formatNumber(row.Second), formatNumber(row.SecondLow),
			formatNumber(row.Last), formatNumber(row.LastLow), rest, row.Unit,
			formatTolerance(row), flat)
	}
	c := r.Counts
	fmt.Fprintf(&b, "\n| done | times | failed |\n|---|---|---|\n| visits | %d | %d |\n"+
		"| deployments created, cloned, retried or removed | %d | %d |\n| streams opened | %d | %d |\n",
		c.Visits, c.Failed, c.Changes, c.Broken, c.Streams, c.Cut)
	fmt.Fprintf(&b, "\nThe slowest hundredth of visits took %s ms or more (median of all samples).\n",
		formatNumber(r.P99))
	if problems := r.problems(); len(problems) > 0 {
		b.WriteString("\nNot as it has to be: " + strings.Join(problems, "; ") + ".\n")
	}
	fmt.Fprintf(&b, soakDatabase, formatNumber(r.Database))
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", t.Name, formatNumber(t.First),
			formatNumber(t.Last), map[bool]string{true: "history", false: "changed rows"}[t.History])
	}
	b.WriteString(soakMethod)
	for _, f := range r.Machine {
		if f[0] != "load" && f[1] != "unknown" {
			fmt.Fprintf(&b, "- %s: %s\n", f[0], f[1])
		}
	}
	return b.String()
}

func formatTolerance(r soakRow) string {
	if r.Share == 0 {
		return formatNumber(r.Slack)
	}
	return fmt.Sprintf("%s %% and %s", formatNumber(100*r.Share), formatNumber(r.Slack))
}

const soakIntroduction = `# Soak

<!-- Written by ` + "`make soak`" + `; edit tools/bench/soak*.go instead. -->

An installation was used for %.0f minutes, to see whether anything in it grows: on %s
at commit %s, with %d deployments on one node and %d visits a second. Other work shared
the machine all the time; its load was %s (median of one-minute averages), so times say little.

Medians of the second and of the last third, after a warm-up of a tenth; the lowest value of each
third is in parentheses. *Before* is before anybody used it, *at rest* after everybody left.

`

const soakDatabase = `
## The database

It grows with use, by %s MiB an hour here, because it keeps what happened: removed deployments with
their runs and logs for ` + "`removed.keep`" + `, the audit, and the usage of nodes and services
([how long](nodes.md)). No other table may grow by more than 1 MiB. MiB after the warm-up and at
the end, of the tables that grew among the twelve largest:

| table | then | at the end | keeps |
|---|---|---|---|
`

const soakMethod = `
## How it is measured

Control plane, ingress and agent are three processes of the real program, with a real PostgreSQL, a
Docker Engine and a registry.

- **Deployments**: four fifths of them stay and are visited. Two people change the others all the
  time, every ten seconds: they create one, clone it and remove the original, let one fail after its
  service is ready, retry it, and remove it.
- **Visits** come at a steady rate, whether or not earlier ones have been answered. One in ten comes
  over a new connection. An answer other than 200, or none within 20 seconds, is a failure.
- **Streams**: twenty listeners follow all deployments, one deployment, the log of a service, or the
  nodes. Half of them stay; the others leave after a minute and come again.
- **Samples** are taken every 15 seconds: memory that a process wrote itself (RssAnon), goroutines,
  open descriptors and TCP connections of each process, the largest relay, connections of the
  database, what the engine has with our label, and the files in the agent's folders and the
  engine's folders of containers and volumes.
- **At rest**: once more, two and a half minutes after the last visit, with the same deployments.
- **Flat**: the median of the last third exceeds that of the second by no more than the tolerance,
  or the lowest value does, or at rest it is as before. What leaks does not come back, so it raises
  all three; a machine that other work slows down only keeps more requests open at a time.

` + "`make soak MINUTES=5`" + ` is a shorter run, which writes no page.
` + "`tools/run bench --samples .cache/soak.jsonl`" + ` judges the samples of a run again.

## The machine

`
