package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/internal/wait"
)

const (
	// topSpan and topColumns make the small curve beside each service.
	topSpan    = 30 * time.Minute
	topColumns = 30
	// clearScreen puts the next table in the place of the last.
	clearScreen = "\x1b[H\x1b[2J"
)

func topCommand() *cobra.Command {
	var env string
	var every time.Duration
	c := &cobra.Command{
		Use: "top [DEPLOYMENT]", Args: cobra.MaximumNArgs(1),
		Short: "Show resource use of nodes, or of a deployment's services",
	}
	asJSON := output.JSONFlag[[]apiclient.Node](c)
	servicesJSON := output.JSONWith[apiclient.Metrics](c, "DEPLOYMENT")
	c.Flags().StringVar(&env, "env", "", "environment, if the name exists in several")
	c.Flags().DurationVar(&every, "watch", 0, "repeat at this interval, such as 5s")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		show := func(w io.Writer) error { return topNodes(c.Context(), api, w, asJSON) }
		if len(args) == 1 {
			d, err := api.findDeployment(c.Context(), args[0], env)
			if err != nil {
				return err
			}
			show = func(w io.Writer) error {
				return topServices(c.Context(), api, w, d, servicesJSON)
			}
		}
		return repeatEvery(c.Context(), c.OutOrStdout(), every, show)
	}
	return c
}

// repeatEvery shows something once, or repeatedly until it is interrupted.
func repeatEvery(ctx context.Context, w io.Writer, every time.Duration,
	show func(io.Writer) error) error {
	if every <= 0 {
		return show(w)
	}
	for {
		page := screen{columns: output.ColumnsOf(w)}
		if err := show(&page); err != nil {
			return err
		}
		if page.columns > 0 {
			fmt.Fprint(w, clearScreen)
		}
		fmt.Fprint(w, page.String())
		if wait.Sleep(ctx, max(every, time.Second)) != nil {
			return nil
		}
	}
}

// screen collects what is shown at once, as wide as the terminal.
type screen struct {
	strings.Builder
	columns int
}

// Columns is the terminal's width.
func (s *screen) Columns() int { return s.columns }

// watchFlag adds --watch, which refreshes a table.
func watchFlag(c *cobra.Command) *time.Duration {
	return c.Flags().Duration("watch", 0, "repeat at this interval, such as 5s")
}

func topNodes(
	ctx context.Context, api *client, w io.Writer, asJSON output.JSON[[]apiclient.Node],
) error {
	var all []apiclient.Node
	params := &apiclient.ListNodesParams{}
	for {
		r, err := api.ListNodesWithResponse(ctx, params)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		all = append(all, r.JSON200.Items...)
		if valueOrZero(r.JSON200.NextCursor) == "" {
			break
		}
		params.Cursor = r.JSON200.NextCursor
	}
	if asJSON.Wanted() {
		return asJSON.Print(w, all)
	}
	rows := [][]string{{"NODE", "STATE", "CPU", "MEMORY", "OURS", "PROMISED", "DISK FREE", "NET IN/s",
		"NET OUT/s", "MEASURED"}}
	for _, n := range all {
		rows = append(rows, topNode(n))
	}
	return output.PrintTable(w, rows)
}

func topNode(n apiclient.Node) []string {
	row := []string{n.Name, string(n.Status), "-", "-", "-",
		promisedText(n), "-", "-", "-", "-"}
	v, i := n.Vitals, n.Inventory
	if v == nil || i == nil {
		return row
	}
	row[2] = quantity.FormatShare(v.Cpu, i.Cpu, 1)
	row[3] = quantity.FormatBytes(v.MemoryUsed) + " of " + quantity.FormatBytes(i.Memory)
	row[4] = quantity.FormatBytes(valueOrZero(v.MemoryOurs))
	row[6] = quantity.FormatBytes(v.DiskFree)
	row[7] = quantity.FormatBytes(valueOrZero(v.NetIn))
	row[8] = quantity.FormatBytes(valueOrZero(v.NetOut))
	if row[9] = output.FormatAge(v.At) + " ago"; time.Since(v.At) > stale {
		row[9] += ", old"
	}
	return row
}

// promisedText is what is allocated, of how much CPU: the cores, times the overcommit of the
// environment.
func promisedText(n apiclient.Node) string {
	cpu := quantity.FormatCores(n.Allocated.CPU)
	if over := valueOrZero(n.CpuOvercommit); over > 0 && n.Inventory != nil {
		cpu = quantity.FormatShare(n.Allocated.CPU, n.Inventory.Cpu*over, over)
	}
	return cpu + ", " + quantity.FormatMemory(n.Allocated.MemoryMiB)
}

func topServices(ctx context.Context, api *client, w io.Writer, d apiclient.Deployment,
	asJSON output.JSON[apiclient.Metrics]) error {
	r, err := api.GetDeploymentMetricsWithResponse(ctx, d.Id,
		&apiclient.GetDeploymentMetricsParams{From: new(time.Now().Add(-topSpan))})
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	if asJSON.Wanted() {
		return asJSON.Print(w, *r.JSON200)
	}
	rows := [][]string{{"SERVICE", "CPU", "PEAK", "MEMORY", "PEAK", "NET IN/s", "NET OUT/s",
		"CPU, LAST HALF HOUR"}}
	for _, s := range r.JSON200.Series {
		if len(s.Points) > 0 {
			rows = append(rows, topService(valueOrZero(s.Step), s.Points))
		}
	}
	if len(rows) == 1 {
		fmt.Fprintln(w, "Nothing was measured in the last half hour.")
		return nil
	}
	return output.PrintTable(w, rows)
}

func topService(step string, points []apiclient.MetricPoint) []string {
	last := points[len(points)-1]
	cpu, memory := 0.0, int64(0)
	for _, p := range points {
		cpu, memory = max(cpu, p.CpuMax), max(memory, p.MemoryMax)
	}
	return []string{step, quantity.FormatNumber(last.Cpu), quantity.FormatNumber(cpu),
		quantity.FormatBytes(last.Memory), quantity.FormatBytes(memory), quantity.FormatBytes(last.NetIn),
		quantity.FormatBytes(last.NetOut), drawBars(peakColumns(points), cpu)}
}

// peakColumns takes the highest CPU of some neighbours each, so that peaks stay.
func peakColumns(points []apiclient.MetricPoint) []float64 {
	size := max(1, (len(points)+topColumns-1)/topColumns)
	var all []float64
	for some := range slices.Chunk(points, size) {
		top := 0.0
		for _, p := range some {
			top = max(top, p.Cpu)
		}
		all = append(all, top)
	}
	return all
}
