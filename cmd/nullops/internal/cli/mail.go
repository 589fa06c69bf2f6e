package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
)

func mailCommand() *cobra.Command {
	c := &cobra.Command{Use: "mail", Short: "Read the mails that a deployment sent",
		Long: "Read the mails that a deployment sent.\n" +
			"Its services send them to the host mail, port 1025. They are caught on the node, and never\n" +
			"delivered."}
	c.AddCommand(mailListCommand(), mailShowCommand(), mailRawCommand(), mailWaitCommand(),
		mailClearCommand())
	return c
}

// mailFilter are the flags that choose mails.
type mailFilter struct {
	to              []string
	subject, search string
	after           int64
}

func (f *mailFilter) registerFlags(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.to, "to", nil, "part of a recipient's address; with several, a "+
		"mail to one of them is enough")
	c.Flags().StringVar(&f.subject, "subject", "", "part of the subject")
	c.Flags().StringVar(&f.search, "search", "", "part of the subject, the addresses or the text")
	c.Flags().Int64Var(&f.after, "after", 0, "only mails with a higher number")
}

// listMails lists the newest mails that the filter takes. The control plane takes one recipient
// at a time.
func (c *client) listMails(
	ctx context.Context, d apiclient.Deployment, f mailFilter, most int,
) (*apiclient.MailList, error) {
	var all *apiclient.MailList
	for _, to := range f.listRecipients() {
		r, err := c.ListMailsWithResponse(ctx, d.Id, &apiclient.ListMailsParams{To: nilIfZero(to),
			Subject: nilIfZero(f.subject), Search: nilIfZero(f.search), After: nilIfZero(f.after),
			Limit: &most})
		if err := checkAnswer(r, err); err != nil {
			return nil, err
		}
		if all == nil {
			all = r.JSON200
		} else {
			addMails(all, r.JSON200, most)
		}
	}
	return all, nil
}

// listRecipients lists the addresses to ask for, one after the other; an empty one is of all mails.
func (f *mailFilter) listRecipients() []string {
	if len(f.to) == 0 {
		return []string{""}
	}
	return f.to
}

// addMails merges the mails to another recipient into a list: a mail to both is one.
func addMails(all, others *apiclient.MailList, most int) {
	all.Items = append(all.Items, others.Items...)
	slices.SortFunc(all.Items, func(a, b apiclient.MailSummary) int {
		return cmp.Compare(b.Number, a.Number)
	})
	all.Items = slices.CompactFunc(all.Items, func(a, b apiclient.MailSummary) bool {
		return a.Number == b.Number
	})
	all.More = all.More || others.More || len(all.Items) > most
	all.Items = all.Items[:min(most, len(all.Items))]
	all.Last = max(all.Last, others.Last)
}

func mailListCommand() *cobra.Command {
	var f mailFilter
	var most int
	c := &cobra.Command{Use: "list DEPLOYMENT", Args: exit.ExactArgs(1),
		Short: "List mails, newest first"}
	f.registerFlags(c)
	c.Flags().IntVar(&most, "limit", 100, "at most so many")
	asJSON := output.JSONFlag[*apiclient.MailList](c)
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, _ []string,
	) error {
		l, err := api.listMails(c.Context(), d, f, most)
		if err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), l)
		}
		return printMails(c.OutOrStdout(), l)
	})
}

func printMails(w io.Writer, l *apiclient.MailList) error {
	if why := noMailsText(l.State); why != "" {
		fmt.Fprintln(w, why)
	}
	rows := [][]string{{"NUMBER", "AT", "TO", "SUBJECT", "SIZE"}}
	for _, m := range l.Items {
		rows = append(rows, []string{strconv.FormatInt(m.Number, 10),
			m.At.Local().Format(time.DateTime), strings.Join(m.To, ", "), m.Subject,
			quantity.FormatBytes(m.Bytes)})
	}
	if len(l.Items) > 0 {
		if err := output.PrintTable(w, rows); err != nil {
			return err
		}
	} else if l.State == apiclient.MailListStateOn {
		fmt.Fprintln(w, "no such mails")
	}
	if l.Dropped > 0 {
		fmt.Fprintf(w, "%d older mails made room for newer ones\n", l.Dropped)
	}
	if l.Refused > 0 {
		fmt.Fprintf(w, "%d mails were refused: one may have %s, and the node's disk must have room\n",
			l.Refused, quantity.FormatBytes(l.MaxMail))
	}
	return nil
}

// noMailsText says why no mails are caught; empty if they are.
func noMailsText(s apiclient.MailListState) string {
	switch s {
	case apiclient.MailListStateOff:
		return "The node catches no mails: agent.mails.deployment is 0 there."
	case apiclient.MailListStateService:
		return "A step of the pipeline is called mail, and gets the mails."
	case apiclient.MailListStateUnsupported:
		return "The node cannot catch mails: its agent is of an earlier release, on a cluster. " +
			"Upgrade it."
	case apiclient.MailListStateOldRelay:
		return "An earlier release made the deployment: retry it, and mails are caught."
	case apiclient.MailListStateWaiting:
		return "The deployment is on no node yet."
	case apiclient.MailListStateGone:
		return "The deployment is gone, and its mails with it."
	}
	return ""
}

func mailShowCommand() *cobra.Command {
	c := &cobra.Command{Use: "show DEPLOYMENT NUMBER", Args: exit.ExactArgs(2),
		Short: "Show one mail"}
	asJSON := output.JSONFlag[*apiclient.CaughtMail](c)
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, words []string,
	) error {
		number, err := parseMailNumber(words[0])
		if err != nil {
			return err
		}
		return api.showMail(c, d, number, asJSON)
	})
}

func mailRawCommand() *cobra.Command {
	c := &cobra.Command{Use: "raw DEPLOYMENT NUMBER", Args: exit.ExactArgs(2),
		Short: "Print one mail as the application sent it"}
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, words []string,
	) error {
		number, err := parseMailNumber(words[0])
		if err != nil {
			return err
		}
		return api.copyRawMail(c, d, number)
	})
}

func parseMailNumber(text string) (int64, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 1 {
		return 0, exit.AsUsageError(fmt.Errorf("%q is not the number of a mail", text))
	}
	return number, nil
}

func (c *client) showMail(cmd *cobra.Command, d apiclient.Deployment, number int64,
	asJSON output.JSON[*apiclient.CaughtMail]) error {
	r, err := c.GetMailWithResponse(cmd.Context(), d.Id, number)
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	if asJSON.Wanted() {
		return asJSON.Print(cmd.OutOrStdout(), r.JSON200)
	}
	printMail(cmd.OutOrStdout(), r.JSON200)
	return nil
}

func printMail(w io.Writer, m *apiclient.CaughtMail) {
	fmt.Fprintf(w, "number %d, caught %s, %s\n", m.Number, m.At.Local().Format(time.DateTime),
		quantity.FormatBytes(m.Bytes))
	fmt.Fprintf(w, "sent to %s\n", output.SanitizeText(strings.Join(m.To, ", ")))
	for _, f := range m.Header {
		fmt.Fprintf(w, "%s: %s\n", output.SanitizeText(f.Name), output.SanitizeText(f.Value))
	}
	for _, a := range m.Attachments {
		fmt.Fprintf(w, "attachment %d: %s, %s\n", a.Index, output.SanitizeText(a.Name),
			quantity.FormatBytes(a.Bytes))
	}
	for _, l := range m.Links {
		fmt.Fprintf(w, "link: %s\n", output.SanitizeText(l))
	}
	for _, p := range m.Problems {
		fmt.Fprintf(w, "! %s\n", output.SanitizeText(p))
	}
	fmt.Fprintln(w)
	text := m.Text
	if text == "" && m.Html != "" {
		text = "It has HTML only: --json has it, and the page of the deployment shows it."
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		fmt.Fprintln(w, output.SanitizeText(line))
	}
}

// copyRawMail prints a mail as it came. It is for files and programs: nothing is left out.
func (c *client) copyRawMail(cmd *cobra.Command, d apiclient.Deployment, number int64) error {
	response, err := c.DownloadMail(cmd.Context(), d.Id, number)
	if err != nil {
		return fmt.Errorf("ask the control plane: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		return problemOf(response.StatusCode, response.Status, body)
	}
	_, err = io.Copy(cmd.OutOrStdout(), response.Body)
	return err
}

func mailClearCommand() *cobra.Command {
	c := &cobra.Command{Use: "clear DEPLOYMENT", Args: exit.ExactArgs(1),
		Short: "Delete all mails of a deployment"}
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, _ []string,
	) error {
		r, err := api.ClearMailsWithResponse(c.Context(), d.Id)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		fmt.Fprintf(c.OutOrStdout(), "deleted the mails of %s\n", d.Name)
		return nil
	})
}
