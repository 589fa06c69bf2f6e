package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// roundTo3 keeps three digits: more would pretend to a precision that a shared
// machine does not have.
func roundTo3(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	step := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-2)
	if step >= 1 {
		return math.Round(v/step) * step
	}
	// Divided, since a step like 0.01 has no exact form.
	return math.Round(v/step) / math.Round(1/step)
}

func formatNumber(v float64) string { return strconv.FormatFloat(roundTo3(v), 'f', -1, 64) }

// buildRows are the table's cells; all of them are plain text.
func buildRows(results []result) [][]string {
	all := [][]string{{"measured", "ours", "peer", "peer is", "unit", "ratio", "goal", "met",
		"when, load"}}
	for _, r := range results {
		all = append(all, []string{r.Name, formatNumber(r.Ours) + formatSpread(r.OursRange),
			formatNumber(r.Peer) + formatSpread(r.PeerRange), r.PeerName, r.Unit, formatNumber(r.Ratio),
			goalText(r), formatVerdict(r), formatTime(r)})
	}
	return all
}

// formatTime is a row's own: rows may be measured apart.
func formatTime(r result) string {
	if r.Measured == "" {
		return "–"
	}
	return r.Measured + ", " + r.Commit + ", load " + r.Load
}

// formatSpread formats how far single runs lay apart.
func formatSpread(between []float64) string {
	if len(between) != 2 {
		return ""
	}
	return " (" + formatNumber(between[0]) + "–" + formatNumber(between[1]) + ")"
}

func goalText(r result) string {
	switch {
	case r.figure.goal == 0:
		return "–"
	case r.PeerName == goalPeer && r.Better == "higher":
		return "≥ " + formatNumber(r.Peer)
	case r.PeerName == goalPeer:
		return "≤ " + formatNumber(r.Peer)
	case r.Better == "higher":
		return "ratio ≥ " + formatNumber(r.figure.goal)
	}
	return "ratio ≤ " + formatNumber(r.figure.goal)
}

func formatVerdict(r result) string {
	switch {
	case r.figure.goal == 0:
		return "–"
	case r.isMet():
		return "yes"
	}
	return "**no**"
}

func printTable(out io.Writer, results []result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range buildRows(results) {
		fmt.Fprintln(w, strings.ReplaceAll(strings.Join(row, "\t"), "**", ""))
	}
	_ = w.Flush() // a terminal that is gone has no remedy
}

// mergeResults puts new rows in the place of old ones, in the order of the groups. A
// row that nobody measures any more goes.
func mergeResults(old, fresh []result) []result {
	var all []result
	for _, g := range allGroups() {
		for _, f := range g.figures {
			for _, from := range [][]result{fresh, old} {
				i := slices.IndexFunc(from, func(r result) bool { return r.Name == f.name })
				if i >= 0 {
					r := from[i]
					r.figure = f.withGoalRatio()
					all = append(all, r)
					break
				}
			}
		}
	}
	return all
}

// readPublished reads what the page shows now; without one there is nothing.
func readPublished(path string) ([]result, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var old []result
	if err == nil {
		err = json.Unmarshal(text, &old)
	}
	if err != nil {
		return nil, fmt.Errorf("read the published results: %w", err)
	}
	return old, nil
}

// publishResults writes docs/benchmarks.json for programs and .md for people.
func publishResults(root string, results []result, m machine, runs int) error {
	docs := filepath.Join(root, "docs")
	old, err := readPublished(filepath.Join(docs, "benchmarks.json"))
	if err != nil {
		return err
	}
	for i := range results {
		results[i].Measured, results[i].Commit, results[i].Load = m.date, m.commit, m.load
	}
	results = mergeResults(old, results)
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	err = os.WriteFile(filepath.Join(docs, "benchmarks.json"), append(text, '\n'), 0o644)
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	method, err := os.ReadFile(filepath.Join(root, "tools", "bench", "method.md"))
	if err != nil {
		return fmt.Errorf("read how it is measured: %w", err)
	}
	var b strings.Builder
	writePage(&b, results, m, runs)
	b.Write(method)
	err = os.WriteFile(filepath.Join(docs, "benchmarks.md"), []byte(b.String()), 0o644)
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	fmt.Println("bench: wrote docs/benchmarks.json and docs/benchmarks.md")
	return nil
}

func writePage(b *strings.Builder, results []result, m machine, runs int) {
	fmt.Fprintf(b, "# Benchmarks\n\n<!-- Written by `make bench`; edit tools/bench instead. -->\n\n")
	fmt.Fprintf(b, "Last written on %s; each row tells when and at which commit it was measured, "+
		"and the load of the\nmachine before. Medians of %d runs or more (lowest–highest behind "+
		"them). Ours and the peer took turns,\nafter one round of each that does not count. "+
		"The ratio is ours divided by peer.\n\n", m.date, max(runs, 5))
	for i, row := range buildRows(results) {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintln(b, "|"+strings.Repeat("---|", len(row)))
		}
	}
	b.WriteString("\n" + listMisses(results))
	fmt.Fprintf(b, "\n## The machine\n\n%s\n", m.list())
}

func listMisses(results []result) string {
	var missed []string
	for _, r := range results {
		if !r.isMet() {
			missed = append(missed, fmt.Sprintf("`%s` (%s, ratio %s)", r.Name, goalText(r),
				formatNumber(r.Ratio)))
		}
	}
	if len(missed) == 0 {
		return "Every goal was met.\n"
	}
	return "Missed: " + strings.Join(missed, ", ") + ".\n"
}
