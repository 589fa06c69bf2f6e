package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ownFiles are what a measurement writes: they are no change of what is measured.
var ownFiles = []string{":(exclude)docs/benchmarks.md", ":(exclude)docs/benchmarks.json"}

// publisher writes docs/benchmarks.json for programs and .md for people.
type publisher struct {
	root    string
	machine machine
	runs    int
	all     []result
}

// openPage reads what is published, and refuses a tree that no commit holds.
func (p *publisher) openPage(ctx context.Context) error {
	changed, err := p.git(ctx, append([]string{"status", "--porcelain", "--", "."}, ownFiles...)...)
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("nothing is published from a tree with changes that no commit holds; "+
			"commit or stash them:\n%s", changed)
	}
	if p.all, err = readPublished(filepath.Join(p.root, "docs", "benchmarks.json")); err != nil {
		return err
	}
	if p.machine.commit, err = p.git(ctx, "rev-parse", "--short=10", "HEAD"); err != nil {
		return err
	}
	// A commit of results alone changes nothing that is measured: rows before and after it belong
	// together, under the name of the first.
	for _, r := range p.all {
		if p.isSameCode(ctx, r.Commit) {
			p.machine.commit = r.Commit
			break
		}
	}
	return nil
}

func (p *publisher) git(ctx context.Context, args ...string) (string, error) {
	return runCommand(ctx, nil, append([]string{"git", "-C", p.root}, args...)...)
}

// isSameCode says whether a commit differs from the present one in our own files only.
func (p *publisher) isSameCode(ctx context.Context, commit string) bool {
	if commit == "" {
		return false
	}
	args := append([]string{"-C", p.root, "diff", "--quiet", commit, "HEAD", "--", "."}, ownFiles...)
	return exec.CommandContext(ctx, "git", args...).Run() == nil
}

// isDone says whether all rows of a group are published of the present code.
func (p *publisher) isDone(g group) bool {
	return !slices.ContainsFunc(g.figures, func(f figure) bool {
		return !slices.ContainsFunc(p.all, func(r result) bool {
			return r.Name == f.name && r.Commit == p.machine.commit
		})
	})
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

// publish replaces the rows of one group.
func (p *publisher) publish(results []result) error {
	for i := range results {
		results[i].Measured, results[i].Commit = p.machine.date, p.machine.commit
	}
	p.all = mergeResults(p.all, results)
	docs := filepath.Join(p.root, "docs")
	text, err := json.MarshalIndent(p.all, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	err = os.WriteFile(filepath.Join(docs, "benchmarks.json"), append(text, '\n'), 0o644)
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	page, err := p.writePage()
	if err == nil {
		err = os.WriteFile(filepath.Join(docs, "benchmarks.md"), []byte(page), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	fmt.Println("bench: wrote docs/benchmarks.json and docs/benchmarks.md")
	return nil
}

// writePage writes the rows of one commit first: those of others cannot be compared with them.
func (p *publisher) writePage() (string, error) {
	folder := filepath.Join(p.root, "tools", "bench")
	method, err := os.ReadFile(filepath.Join(folder, "method.md"))
	if err != nil {
		return "", fmt.Errorf("read how it is measured: %w", err)
	}
	profile, err := os.ReadFile(filepath.Join(folder, "profile.md"))
	if err != nil {
		return "", fmt.Errorf("read where the time goes: %w", err)
	}
	var now, before []result
	for _, r := range p.all {
		if r.Commit == p.machine.commit {
			now = append(now, r)
		} else {
			before = append(before, r)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmarks\n\n<!-- Written by `make bench`; edit tools/bench instead. -->\n\n")
	fmt.Fprintf(&b, "Last written on %s. Medians of %d runs or more (lowest–highest behind them). "+
		"Ours and the peer took turns, and who\nbegan changed with every round, after one round of "+
		"each that does not count. The ratio is ours divided by peer.\n\nA row is published only if "+
		"the machine was quiet: %s. The last column\ntells the most that others did. A goal within "+
		"the middle half of the rounds' ratios is *met, within noise*: another\nday may be on its "+
		"other side.\n\n", p.machine.date, max(p.runs, 5), describeLimits())
	writeTable(&b, now)
	b.WriteString("\n" + listMisses(now) + listBehind(now))
	if len(before) > 0 {
		b.WriteString("\n## Not yet measured at this commit\n\nThese rows are of earlier commits and " +
			"may have been measured under other rules.\n\n")
		writeTable(&b, before)
		b.WriteString("\n" + listMisses(before) + listBehind(before))
	}
	fmt.Fprintf(&b, "\n## The machine\n\n%s\n", p.machine.list())
	b.Write(profile)
	b.WriteString("\n")
	b.Write(method)
	return b.String(), nil
}

func writeTable(b *strings.Builder, results []result) {
	for i, row := range buildRows(results) {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintln(b, "|"+strings.Repeat("---|", len(row)))
		}
	}
}

// listMisses names goals that the median did not reach, also within noise.
func listMisses(results []result) string {
	var missed []string
	for _, r := range results {
		if !r.isMet() {
			text := fmt.Sprintf("`%s` (%s, ratio %s", r.Name, goalText(r), formatNumber(r.Ratio))
			if r.isNoise() {
				text += ", within noise"
			}
			missed = append(missed, text+")")
		}
	}
	if len(missed) == 0 {
		return "Every goal was met.\n"
	}
	return "Missed: " + strings.Join(missed, ", ") + ".\n"
}

// listBehind names every row in which a peer does better, also without a goal.
func listBehind(results []result) string {
	var behind []string
	for _, r := range results {
		if r.isBehind() {
			behind = append(behind, fmt.Sprintf("`%s` (%s, ratio %s)", r.Name, r.PeerName,
				formatNumber(r.Ratio)))
		}
	}
	if len(behind) == 0 {
		return "\nBehind: in no row is a peer ahead.\n"
	}
	return "\nBehind, with or without a goal: " + strings.Join(behind, ", ") + ".\n"
}
