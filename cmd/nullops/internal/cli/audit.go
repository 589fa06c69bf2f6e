package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func auditCommand() *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Who did what, when, and from where"}
	c.AddCommand(auditListCommand(), auditExportCommand(), auditVerifyCommand())
	return c
}

// auditFlags are the filters that list and export share.
type auditFlags struct {
	actor, action, object, result string
	since                         time.Duration
}

func (f *auditFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.actor, "actor", "", "only actions of this user (or system:TASK)")
	c.Flags().StringVar(&f.action, "action", "", "only actions that begin with this, such as \"put\"")
	c.Flags().StringVar(&f.object, "object", "", "only objects with this in their name")
	c.Flags().StringVar(&f.result, "result", "", "only ok, refused or failed")
	c.Flags().DurationVar(&f.since, "since", 0, "only entries of the last period, such as 24h")
}

func (f *auditFlags) sinceTime() *time.Time {
	if f.since <= 0 {
		return nil
	}
	t := time.Now().Add(-f.since)
	return &t
}

func auditListCommand() *cobra.Command {
	var f auditFlags
	var most int
	c := &cobra.Command{Use: "list",
		Short: "List the newest entries that you may see", Args: exit.ExactArgs(0)}
	asJSON := output.JSONFlag[[]apiclient.AuditEntry](c)
	f.add(c)
	c.Flags().IntVarP(&most, "limit", "n", 50, "maximum number of entries, up to 500")
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListAuditWithResponse(c.Context(), &apiclient.ListAuditParams{
			Actor: nilIfZero(f.actor), Action: nilIfZero(f.action), Object: nilIfZero(f.object),
			Result: nilIfZero(apiclient.AuditResult(f.result)), Since: f.sinceTime(), Limit: &most})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		return printAudit(c.OutOrStdout(), r.JSON200.Items)
	}
	return c
}

func printAudit(w io.Writer, items []apiclient.AuditEntry) error {
	rows := [][]string{{"TIME", "ACTOR", "ACTION", "OBJECT", "RESULT", "DETAIL", "FROM"}}
	for _, e := range items {
		rows = append(rows, []string{e.At.Local().Format(time.DateTime), e.Actor, e.Action, e.Object,
			string(e.Result), valueOrZero(e.Detail), valueOrZero(e.From)})
	}
	return output.PrintTable(w, rows)
}

func auditExportCommand() *cobra.Command {
	var f auditFlags
	var format string
	c := &cobra.Command{Use: "export", Short: "Write all entries you may see to standard output",
		Args: exit.ExactArgs(0)}
	f.add(c)
	c.Flags().StringVar(&format, "format", "csv", "csv or jsonl")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if format != "csv" && format != "jsonl" {
			return exit.AsUsageError(fmt.Errorf("--format %s: choose csv or jsonl", format))
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		return exportAudit(c.Context(), api, c.OutOrStdout(), &apiclient.ExportAuditParams{
			Actor: nilIfZero(f.actor), Action: nilIfZero(f.action), Object: nilIfZero(f.object),
			Result: nilIfZero(apiclient.AuditResult(f.result)), Since: f.sinceTime(),
			Format: nilIfZero(apiclient.ExportAuditParamsFormat(format))})
	}
	return c
}

// exportAudit copies the stream; it can be longer than memory.
func exportAudit(ctx context.Context, api *client, to io.Writer,
	params *apiclient.ExportAuditParams) error {
	r, err := api.ExportAudit(ctx, params)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		parsed, err := apiclient.ParseExportAuditResponse(r)
		return checkAnswer(parsed, err)
	}
	_, err = io.Copy(to, r.Body)
	return err
}

func auditVerifyCommand() *cobra.Command {
	c := &cobra.Command{Use: "verify", Args: exit.ExactArgs(0),
		Short: "Prove that no entry was changed, moved or deleted",
		Long: "Walks the whole chain, compares it with the ends that nodes remember, and exits\n" +
			"with 1 when it does not hold. The printed end may be kept elsewhere, too: a later\n" +
			"chain must hold the same link at the same place."}
	asJSON := output.JSONFlag[apiclient.AuditVerification](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.VerifyAuditWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			err = asJSON.Print(c.OutOrStdout(), *r.JSON200)
		} else {
			err = printVerification(c.OutOrStdout(), *r.JSON200)
		}
		if err == nil && !r.JSON200.Ok {
			return exit.WithCode(exit.ErrSilent, exit.Failed)
		}
		return err
	}
	return c
}

func printVerification(w io.Writer, v apiclient.AuditVerification) error {
	for _, f := range v.Findings {
		fmt.Fprintln(w, output.SanitizeText(f.Problem))
	}
	if !v.Ok {
		_, err := fmt.Fprintf(w, "audit: BROKEN in %d places (%d entries checked)\n",
			len(v.Findings), v.Entries)
		return err
	}
	_, err := fmt.Fprintf(w, "audit: OK, %d entries, as %d nodes remember them; the end is %d %s\n",
		v.Entries, valueOrZero(v.Witnesses), v.Head, v.HeadLink)
	return err
}
