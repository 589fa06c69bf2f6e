package main

import (
	"fmt"
	"io"
	"math"
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
		"when, commit, others"}}
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
	if r.Others == nil {
		return r.Measured + ", " + r.Commit + ", load " + r.Load
	}
	return fmt.Sprintf("%s, %s, %.0f %% of a core, %.1f %% stolen", r.Measured, r.Commit,
		100*r.Others.Others, 100*r.Others.Stolen)
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
	case r.isNoise():
		return "met, within noise"
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
