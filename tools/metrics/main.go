// Command metrics writes the lists of docs/observability.md: every metric, every alert and every
// key of the logs, from the code that declares them. A metric that was removed or renamed is a
// difference that `make verify` finds.
//
//	tools/run metrics
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/instrument"
	"github.com/nullops/nullops/internal/logs"
)

const page = "docs/observability.md"

func main() {
	if err := writePage(); err != nil {
		fmt.Fprintln(os.Stderr, "metrics:", err)
		os.Exit(1)
	}
}

func writePage() error {
	b, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text := string(b)
	for name, list := range map[string]string{"metrics": metricTables(), "alerts": alertSections(),
		"keys": keyTable(), "components": componentList()} {
		if text, err = replaceBetween(text, name, list); err != nil {
			return err
		}
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

// replaceBetween replaces what is between two comments of the page.
func replaceBetween(text, name, list string) (string, error) {
	begin, end := "<!-- "+name+": written by make generate -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", errors.New(page + " has no place for its " + name)
	}
	return before + begin + "\n" + list + "\n" + end + after, nil
}

func metricTables() string {
	var b strings.Builder
	for i, area := range instrument.Areas() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "### %s\n\n| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n",
			area.Title)
		for _, m := range area.Metrics {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Kind, m.Unit,
				quoteAll(m.Labels), m.Help)
		}
	}
	return b.String()
}

func quoteAll(labels []string) string {
	all := make([]string, len(labels))
	for i, l := range labels {
		all[i] = "`" + l + "`"
	}
	return strings.Join(all, ", ")
}

// keyTable lists what lines of logs say things under.
func keyTable() string {
	var b strings.Builder
	b.WriteString("| key | meaning |\n|---|---|\n")
	for _, k := range logs.Keys() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", k.Name, k.Meaning)
	}
	return b.String()
}

func componentList() string {
	all := logs.Components()
	return fmt.Sprintf("Components of control planes and ingresses: %s. Of agents: %s.\n",
		quoteAll(all["server"]), quoteAll(all["agent"]))
}

func alertSections() string {
	var b strings.Builder
	for i, r := range controlplane.AlertRules() {
		if i > 0 {
			b.WriteString("\n")
		}
		after := ""
		if r.Delay > 0 {
			after = fmt.Sprintf(", after %s", strings.TrimSuffix(r.Delay.String(), "0s"))
		}
		fmt.Fprintf(&b, "### %s\n\n*%s%s.* %s\n\n%s\n", r.Condition, r.Severity, after, r.Sentence,
			r.Remedy)
	}
	return b.String()
}
