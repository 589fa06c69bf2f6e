package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
)

func usageCommand() *cobra.Command {
	var days usageDays
	var by []string
	var p apiclient.GetUsageParams
	var team, project, person, env string
	c := &cobra.Command{
		Use:  "usage [--by team,project,person,env,node,deployment,day] [--from DAY] [--to DAY]",
		Args: exit.ExactArgs(0), Short: "Show who used how much, and what it costs",
		Long: "Show what deployments had allocated, summed up from the usage ledger: by team, unless\n" +
			"--by says otherwise, in this month, unless days are given. Days are in UTC.",
	}
	asJSON := output.JSONFlag[*apiclient.UsageReport](c)
	days.add(c)
	f := c.Flags()
	f.StringSliceVar(&by, "by", []string{"team"}, "what it is summed up by")
	f.StringVar(&team, "team", "", "only of this team")
	f.StringVar(&project, "project", "", "only of this project")
	f.StringVar(&person, "person", "", "only of this person")
	f.StringVar(&env, "env", "", "only of this environment")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if p.From, p.To, err = days.read(); err != nil {
			return err
		}
		groups := joinGroups(by)
		p.By, p.Team, p.Project = &groups, nilIfZero(team), nilIfZero(project)
		p.Person, p.Environment = nilIfZero(person), nilIfZero(env)
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.GetUsageWithResponse(c.Context(), &p)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200)
		}
		return printUsage(c.OutOrStdout(), *r.JSON200)
	}
	c.AddCommand(usageExport(), usageCorrect(), usageIdle(), usagePrices(), usageBudget())
	return c
}

// usageDays are the days that the usage commands share.
// joinGroups names what usage is summed up by as the API does.
func joinGroups(by []string) string {
	all := slices.Clone(by)
	for i := range all {
		if all[i] == "env" {
			all[i] = "environment"
		}
	}
	return strings.Join(all, ",")
}

type usageDays struct{ from, to string }

func (d *usageDays) add(c *cobra.Command) {
	c.Flags().StringVar(&d.from, "from", "",
		"first day, as 2026-11-01; that of the month unless given")
	c.Flags().StringVar(&d.to, "to", "", "first day that is not meant; tomorrow unless given")
}

func (d usageDays) read() (from, to *string, err error) {
	if from, err = readDay("--from", d.from); err != nil {
		return nil, nil, err
	}
	to, err = readDay("--to", d.to)
	return from, to, err
}

func readDay(flag, text string) (*string, error) {
	if text == "" {
		return nil, nil
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return nil, exit.AsUsageError(fmt.Errorf("%s %s: give a day, as 2026-11-01", flag, text))
	}
	return &text, nil
}

func printUsage(w io.Writer, r apiclient.UsageReport) error {
	var head []string
	for _, by := range r.By {
		head = append(head, strings.ToUpper(by))
	}
	head = append(head, "CPU HOURS", "MEMORY GIB HOURS", "GPU HOURS", "VOLUME GIB HOURS",
		"TRAFFIC")
	if r.Currency != nil {
		head = append(head, "COST")
	}
	rows := [][]string{head}
	for _, item := range r.Items {
		row := make([]string, 0, len(head))
		for _, key := range item.Key {
			if key == "" {
				key = "-"
			}
			row = append(row, key)
		}
		row = append(row, amountCells(item.Amounts)...)
		if r.Currency != nil {
			row = append(row, formatCost(item.Cost, r.Currency))
		}
		rows = append(rows, row)
	}
	return output.PrintTable(w, rows)
}

func amountCells(a apiclient.UsageAmounts) []string {
	const gibHour = 3600 * (1 << 30)
	return []string{quantity.FormatNumber(a.CpuSeconds / 3600),
		quantity.FormatNumber(a.MemoryByteSeconds / gibHour), quantity.FormatNumber(a.GpuSeconds / 3600),
		quantity.FormatNumber(a.VolumeByteSeconds / gibHour),
		quantity.FormatBytes(int64(a.TrafficBytes))}
}

func formatCost(cost *float64, currency *string) string {
	return fmt.Sprintf("%.2f %s", valueOrZero(cost), valueOrZero(currency))
}

func usageExport() *cobra.Command {
	var days usageDays
	var format string
	var by []string
	c := &cobra.Command{Use: "export", Args: exit.ExactArgs(0),
		Short: "Write the rows of the usage ledger, or what they come to, to standard output"}
	days.add(c)
	c.Flags().StringVar(&format, "format", "csv", "csv, jsonl or prometheus")
	c.Flags().StringSliceVar(&by, "by", nil, "write what the rows come to, summed up by these: "+
		"team, project, person, env, node, deployment, day")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !slices.Contains([]string{"csv", "jsonl", "prometheus"}, format) {
			return exit.AsUsageError(fmt.Errorf("--format %s: choose csv, jsonl or prometheus", format))
		}
		from, to, err := days.read()
		if err != nil {
			return err
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		return exportUsage(c.Context(), api, c.OutOrStdout(), &apiclient.ExportUsageParams{
			From: from, To: to, Format: nilIfZero(apiclient.ExportUsageParamsFormat(format)),
			By: nilIfZero(joinGroups(by))})
	}
	return c
}

// exportUsage copies the stream; it can be longer than memory.
func exportUsage(ctx context.Context, api *client, to io.Writer,
	params *apiclient.ExportUsageParams) error {
	r, err := api.ExportUsage(ctx, params)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		parsed, err := apiclient.ParseExportUsageResponse(r)
		return checkAnswer(parsed, err)
	}
	_, err = io.Copy(to, r.Body)
	return err
}

func usageCorrect() *cobra.Command {
	var row int64
	var reason string
	c := &cobra.Command{Use: "correct --row ROW --reason TEXT", Args: exit.ExactArgs(0),
		Short: "Take back a row of the usage ledger",
		Long: "Take back what is left of a row of the usage ledger: a new row names it. 'nullops\n" +
			"usage export' shows the rows with their numbers."}
	c.Flags().Int64Var(&row, "row", 0, "the number of the row")
	c.Flags().StringVar(&reason, "reason", "", "why, for those who read the ledger")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if row < 1 || reason == "" {
			return exit.AsUsageError(errors.New("give --row and --reason"))
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.CorrectUsageWithResponse(c.Context(), row,
			apiclient.UsageCorrection{Reason: reason})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "row %d takes back row %d\n", r.JSON200.Id, row)
		return err
	}
	return c
}

func usageIdle() *cobra.Command {
	var hours int
	c := &cobra.Command{Use: "idle [--hours HOURS]", Args: exit.ExactArgs(0),
		Short: "List deployments that nobody used for a while, those that hold most first"}
	asJSON := output.JSONFlag[*apiclient.IdleList](c)
	c.Flags().IntVar(&hours, "hours", 72, "for how long nobody used them")
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListIdleDeploymentsWithResponse(c.Context(),
			&apiclient.ListIdleDeploymentsParams{Hours: &hours})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200)
		}
		rows := [][]string{{"DEPLOYMENT", "OWNER", "TEAM", "PROJECT", "ENVIRONMENT", "IDLE FOR",
			"CPU", "USES", "MEMORY", "GPUS", "PER DAY", "THIS MONTH"}}
		for _, d := range r.JSON200.Items {
			day, month := "-", "-"
			if r.JSON200.Currency != nil {
				day = formatCost(d.CostPerDay, r.JSON200.Currency)
				month = formatCost(d.Cost, r.JSON200.Currency)
			}
			rows = append(rows, []string{d.Name, d.Person, d.Team, d.Project, d.Environment,
				output.FormatAge(d.ActiveAt), quantity.FormatNumber(d.Cpu),
				quantity.FormatNumber(d.Cores), quantity.FormatBytes(d.MemoryMib << 20),
				fmt.Sprint(d.Gpus), day, month})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func usagePrices() *cobra.Command {
	var currency string
	var cpu, memory, gpu, traffic float64
	c := &cobra.Command{Use: "prices [--currency EUR --cpu-hour PRICE …]", Args: exit.ExactArgs(0),
		Short: "Show what things cost, or set it",
		Long: "Show what things cost, or set it: with --currency, all prices are replaced, and those\n" +
			"that are not given are 0. --currency '' deletes them."}
	asJSON := output.JSONFlag[*apiclient.UsagePrices](c)
	f := c.Flags()
	f.StringVar(&currency, "currency", "", "such as EUR")
	f.Float64Var(&cpu, "cpu-hour", 0, "a core for an hour")
	f.Float64Var(&memory, "memory-gib-hour", 0, "a GiB of memory for an hour")
	f.Float64Var(&gpu, "gpu-hour", 0, "a GPU for an hour")
	f.Float64Var(&traffic, "traffic-gib", 0, "a GiB sent or received")
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		if f.Changed("currency") {
			r, err := api.PutUsagePricesWithResponse(c.Context(), apiclient.UsagePrices{
				Currency: currency, CpuHour: &cpu, MemoryGibHour: &memory, GpuHour: &gpu,
				TrafficGib: &traffic})
			if err := checkAnswer(r, err); err != nil {
				return err
			}
		}
		r, err := api.GetUsagePricesWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200)
		}
		p := r.JSON200
		return output.PrintTable(c.OutOrStdout(), [][]string{
			{"CURRENCY", "CPU HOUR", "MEMORY GIB HOUR", "GPU HOUR", "TRAFFIC GIB"},
			{p.Currency, fmt.Sprint(valueOrZero(p.CpuHour)), fmt.Sprint(valueOrZero(p.MemoryGibHour)),
				fmt.Sprint(valueOrZero(p.GpuHour)), fmt.Sprint(valueOrZero(p.TrafficGib))}})
	}
	return c
}

func usageBudget() *cobra.Command {
	c := &cobra.Command{Use: "budget",
		Short: "Manage budgets, which give notice when they are used up"}
	c.AddCommand(budgetList(), budgetSet(), budgetDelete())
	return c
}

func budgetList() *cobra.Command {
	c := &cobra.Command{Use: "list", Args: exit.ExactArgs(0),
		Short: "List budgets, with what this month came to"}
	asJSON := output.JSONFlag[[]apiclient.Budget](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListBudgetsWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"NAME", "OF", "MEASURE", "USED", "AMOUNT", "SHARE", "NOTICES AT",
			"REMOVES"}}
		for _, b := range r.JSON200.Items {
			removes := "no"
			if b.RemoveAt != nil {
				removes = b.RemoveAt.Local().Format(time.DateTime)
			} else if b.Remove {
				removes = "when used up"
			}
			rows = append(rows, []string{b.Name, string(b.Scope) + " " + b.Subject,
				string(b.Measure), quantity.FormatNumber(b.Used), quantity.FormatNumber(b.Amount),
				quantity.FormatPercent(b.Used / b.Amount), joinPercent(b.Shares), removes})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func joinPercent(shares []int) string {
	var all []string
	for _, share := range shares {
		all = append(all, quantity.FormatPercent(float64(share)/100))
	}
	return strings.Join(all, ", ")
}

func budgetSet() *cobra.Command {
	var body apiclient.BudgetPut
	var scope, measure string
	var shares []int
	var remove bool
	c := &cobra.Command{
		Use:  "set NAME --scope SCOPE --subject NAME --amount AMOUNT",
		Args: exit.ExactArgs(1), Short: "Create or change a budget",
		Long: "Create or change a budget: how much a team, a project, a person or an environment\n" +
			"should use in a calendar month. Webhooks with the event budget.reached are told of each\n" +
			"share once. Nothing is removed, unless --remove says so: a day after budget.removing."}
	f := c.Flags()
	f.StringVar(&scope, "scope", "team", "team, project, person or environment")
	f.StringVar(&body.Subject, "subject", "", "its name")
	f.StringVar(&measure, "measure", "cpu_hours", "cpu_hours, memory_gib_hours, gpu_hours or cost")
	f.Float64Var(&body.Amount, "amount", 0, "for a month")
	f.IntSliceVar(&shares, "share", []int{50, 80, 100}, "percentages at which a notice is given")
	f.BoolVar(&remove, "remove", false, "remove deployments a day after all of it is used")
	c.RunE = func(c *cobra.Command, args []string) error {
		body.Scope, body.Measure = apiclient.BudgetScope(scope), apiclient.BudgetMeasure(measure)
		body.Shares, body.Remove = &shares, &remove
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.PutBudgetWithResponse(c.Context(), args[0], body)
		return checkAnswer(r, err)
	}
	return c
}

func budgetDelete() *cobra.Command {
	c := &cobra.Command{Use: "delete NAME", Args: exit.ExactArgs(1), Short: "Delete a budget"}
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.DeleteBudgetWithResponse(c.Context(), args[0])
		return checkAnswer(r, err)
	}
	return c
}
