package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
)

// printFacts prints what a node reported: its inventory, its usage, and its checks.
func printFacts(w io.Writer, n apiclient.Node) error {
	if n.Blocked != nil {
		fmt.Fprintf(w, "takes no new deployment: %s\n", output.SanitizeText(*n.Blocked))
	}
	i := n.Inventory
	if i == nil {
		fmt.Fprintln(w, "it has not told what it is")
		return nil
	}
	rows := engineRows(*i)
	rows = append(rows, []string{"size",
		quantity.FormatCores(i.Cpu) + ", " + quantity.FormatBytes(i.Memory) + " of memory"})
	for _, d := range valueOrZero(i.Disks) {
		rows = append(rows, []string{"disk",
			fmt.Sprintf("%s for %s, %s", quantity.FormatBytes(d.Size), d.Holds, d.Path)})
	}
	for _, g := range valueOrZero(i.Gpus) {
		rows = append(rows, []string{"GPU " + g.Id,
			g.Model + ", " + quantity.FormatBytes(g.Memory)})
	}
	if v := n.Vitals; v != nil {
		rows = append(rows, []string{"in use", fmt.Sprintf("%s, %s of memory, %s of disk free, "+
			"%s ago", quantity.FormatCores(v.Cpu), quantity.FormatBytes(v.MemoryUsed),
			quantity.FormatBytes(v.DiskFree),
			output.FormatAge(v.At))})
	}
	if i.Cluster != nil {
		rows = append(rows, []string{"does not apply", "image clean-up, the disk floor and the range " +
			"of addresses: the cluster looks after them"})
	}
	if err := output.PrintTable(w, rows); err != nil {
		return err
	}
	for _, warning := range valueOrZero(i.Warnings) {
		fmt.Fprintln(w, output.SanitizeText(warning))
	}
	fmt.Fprintln(w)
	if err := printNodePlugins(w, valueOrZero(i.Plugins)); err != nil {
		return err
	}
	return printNodeChecks(w, valueOrZero(i.Checks))
}

// runtimeText names what runs containers. A node whose engine uses another program than runc
// reports that one's name in front of the version.
func runtimeText(version string) string {
	if strings.Contains(version, " ") {
		return version
	}
	return "runc " + version
}

// printNodePlugins shows which plugins' images wait on the node for a run.
func printNodePlugins(w io.Writer, all []apiclient.NodePlugin) error {
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{{"PLUGIN", "STATE", "IMAGE"}}
	for _, p := range all {
		rows = append(rows, []string{p.Name, string(p.State), p.Image})
		if p.Detail != nil {
			rows = append(rows, []string{"", "", "→ " + *p.Detail})
		}
	}
	if err := output.PrintTable(w, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func printNodeChecks(w io.Writer, all []apiclient.NodeCheck) error {
	rows := [][]string{{"SEVERITY", "CHECK", "FOUND"}}
	for _, c := range all {
		rows = append(rows, []string{string(c.Severity), c.Id, c.Detail})
		if c.Severity != apiclient.CheckSeverityOk && c.Remedy != nil {
			rows = append(rows, []string{"", "", "→ " + *c.Remedy})
		}
	}
	return output.PrintTable(w, rows)
}

// drawBars draws values from 0 to most, one column each.
func drawBars(values []float64, most float64) string {
	const levels = "▁▂▃▄▅▆▇█"
	runes := []rune(levels)
	var b strings.Builder
	for _, v := range values {
		at := 0
		if most > 0 {
			at = min(len(runes)-1, max(0, int(v/most*float64(len(runes)))))
		}
		b.WriteRune(runes[at])
	}
	return b.String()
}

// stale is when a measurement is no longer what a node uses now. A node at rest reports once a
// minute, and at once what changes.
const stale = 90 * time.Second
