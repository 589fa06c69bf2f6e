package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/documents"
)

func sourcesCommand() *cobra.Command {
	c := &cobra.Command{Use: "sources",
		Short: "Manage sources of definitions: git repositories whose documents are applied"}
	c.AddCommand(sourcesList(), sourcesSet(), sourcesShow(), sourcesSync(), sourcesApply(),
		sourcesDelete())
	return c
}

func sourcesList() *cobra.Command {
	c := &cobra.Command{Use: "list", Args: exit.ExactArgs(0), Short: "List sources of definitions"}
	asJSON := output.JSONFlag[[]apiclient.DefinitionSource](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListSourcesWithResponse(c.Context(), nil)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"NAME", "REPOSITORY", "BRANCH", "MODE", "STATUS", "APPLIED", "CHANGES",
			"DRIFT"}}
		for _, x := range r.JSON200.Items {
			rows = append(rows, []string{x.Name, x.Url, x.Branch, string(x.Mode), string(x.Status),
				shortCommit(x.Applied), fmt.Sprint(len(x.Changes)), fmt.Sprint(len(x.Drift))})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func shortCommit(c *apiclient.DefinitionSourceCommit) string {
	if c == nil {
		return "none"
	}
	return c.Hash[:min(len(c.Hash), 7)]
}

func sourcesSet() *cobra.Command {
	var body apiclient.DefinitionSourcePut
	var branch, folder, username, tokenFile, caFile, mode, webhook, secretFile string
	var kinds []string
	var every time.Duration
	var removes, off bool
	c := &cobra.Command{
		Use: "set NAME --url URL", Args: exit.ExactArgs(1),
		Short: "Create or change a source of definitions",
		Long: "Create or change a source of definitions: a folder of a git repository whose\n" +
			"documents the control plane reads. A person confirms each commit with 'nullops\n" +
			"sources apply', unless --mode is automatic. It applies in your name, and only while\n" +
			"you are an active admin.\n\n" +
			"With --webhook, the code host posts its events to /hooks/sources/NAME of the control\n" +
			"plane, signed with the secret that is made and shown once.",
	}
	f := c.Flags()
	f.StringVar(&body.Url, "url", "", "address of the repository, over HTTPS")
	f.StringVar(&branch, "branch", "main", "the branch that counts")
	f.StringVar(&folder, "folder", "", "the folder with the documents; the whole repository without")
	f.StringVar(&username, "username", "", "goes with the token, where the code host wants one")
	f.StringVar(&tokenFile, "token-file", "", "file with the code host's token; - is standard input")
	f.StringVar(&caFile, "ca-file", "", "certificates (PEM) of the authority of the code host")
	f.DurationVar(&every, "every", 5*time.Minute, "how often the branch is looked at")
	f.StringVar(&mode, "mode", "confirm", "confirm, or automatic to apply without asking")
	f.BoolVar(&removes, "remove", false, "delete what vanishes from the documents and is not used")
	f.StringSliceVar(&kinds, "kind", nil,
		"what it may define; all but user, team and node without (repeatable)")
	f.StringVar(&webhook, "webhook", "", "the code host that tells of pushes: github, gitlab, gitea "+
		"or generic")
	f.StringVar(&secretFile, "secret-file", "", "file with the webhook's secret, instead of a new one")
	f.BoolVar(&off, "off", false, "keep it, and do not look at it")
	_ = c.MarkFlagRequired("url")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if body.Token, err = readSecretValue(c, tokenFile); err != nil {
			return err
		}
		if body.Secret, err = readSecretValue(c, secretFile); err != nil {
			return err
		}
		if caFile != "" {
			text, err := os.ReadFile(caFile)
			if err != nil {
				return err
			}
			body.Ca = new(string(text))
		}
		active, minutes := !off, int(every/time.Minute)
		body.Branch, body.Folder, body.Username = nilIfZero(branch), nilIfZero(folder),
			nilIfZero(username)
		body.PeriodMinutes, body.Active, body.Removes = &minutes, &active, &removes
		body.Mode = nilIfZero(apiclient.DefinitionSourceMode(mode))
		body.Webhook = nilIfZero(apiclient.DefinitionSourcePutWebhook(webhook))
		if len(kinds) > 0 {
			all := make([]apiclient.DocumentKind, len(kinds))
			for i, k := range kinds {
				all[i] = apiclient.DocumentKind(k)
			}
			body.Kinds = &all
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.PutSourceWithResponse(c.Context(), args[0], body)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return toldSecret(c.OutOrStdout(), "source "+args[0], r.JSON200.Secret)
	}
	return c
}

func sourcesShow() *cobra.Command {
	c := &cobra.Command{Use: "show NAME", Args: exit.ExactArgs(1),
		Short: "Show what a source would change, what drifted, and what is wrong"}
	asJSON := output.JSONFlag[apiclient.DefinitionSource](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.GetSourceWithResponse(c.Context(), args[0])
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), *r.JSON200)
		}
		printSource(c.OutOrStdout(), *r.JSON200)
		return nil
	}
	return c
}

func sourcesSync() *cobra.Command {
	c := &cobra.Command{Use: "sync NAME", Args: exit.ExactArgs(1),
		Short: "Look at the repository now",
		Long: "Look at the repository now. An automatic source applies what it finds. If nothing\n" +
			"can be applied, the reason is printed and the exit code is that of a refusal."}
	asJSON := output.JSONFlag[apiclient.DefinitionSource](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.SyncSourceWithResponse(c.Context(), args[0])
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), *r.JSON200)
		}
		return reportSource(c.OutOrStdout(), *r.JSON200)
	}
	return c
}

func sourcesApply() *cobra.Command {
	var commit string
	var yes bool
	c := &cobra.Command{Use: "apply NAME", Args: exit.ExactArgs(1),
		Short: "Confirm a commit of a source, or undo what drifted from it",
		Long: "Apply exactly one commit of a source. Without --commit it shows what the commit that\n" +
			"was found last changes, and asks; without a terminal it needs --yes. If the\n" +
			"branch has moved on meanwhile, nothing is applied. When that commit is applied\n" +
			"already, applying it again undoes what was changed in NullOps since."}
	c.Flags().StringVar(&commit, "commit", "", "the whole hash of the commit that you have looked at")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		if commit == "" {
			r, err := api.GetSourceWithResponse(c.Context(), args[0])
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			if r.JSON200.Found == nil {
				return exit.WithCode(errors.New("the source has read no commit yet; run 'nullops sources "+
					"sync "+args[0]+"'"), exit.Refused)
			}
			commit = r.JSON200.Found.Hash
			printSource(c.OutOrStdout(), *r.JSON200)
			if !yes {
				err := askToConfirm(c, "Apply "+shortCommit(r.JSON200.Found)+"?",
					"add --yes to apply what is shown")
				if err != nil {
					return err
				}
			}
		}
		r, err := api.ApplySourceWithResponse(c.Context(), args[0],
			apiclient.DefinitionSourceApply{Commit: commit})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return reportSource(c.OutOrStdout(), *r.JSON200)
	}
	return c
}

func sourcesDelete() *cobra.Command {
	c := &cobra.Command{Use: "delete NAME", Args: exit.ExactArgs(1),
		Short: "Delete a source of definitions; what it defined stays"}
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.DeleteSourceWithResponse(c.Context(), args[0])
		return checkAnswer(r, err)
	}
	return c
}

// reportSource prints how a source stands; a failure is an error.
func reportSource(out io.Writer, x apiclient.DefinitionSource) error {
	if x.Failure == nil {
		printSource(out, x)
		return nil
	}
	return exit.WithCode(errors.New(describeFailure(*x.Failure)), exit.Refused)
}

func describeFailure(f apiclient.DefinitionSourceFailure) string {
	lines := []string{f.Message}
	for _, p := range f.Problems {
		found := documents.Problem{File: valueOrZero(p.File), Line: valueOrZero(p.Line),
			What: valueOrZero(p.What), Step: valueOrZero(p.Step), Field: valueOrZero(p.Field),
			Message: p.Message, Remedy: valueOrZero(p.Remedy), Users: valueOrZero(p.Users)}
		lines = append(lines, "  "+strings.ReplaceAll(found.String(), "\n", "\n  "))
	}
	if f.Remedy != nil {
		lines = append(lines, *f.Remedy)
	}
	return output.SanitizeText(strings.Join(lines, "\n"))
}

func printSource(out io.Writer, x apiclient.DefinitionSource) {
	fmt.Fprintf(out, "%s of %s, branch %s, %s\n", x.Name, x.Url, x.Branch, x.Status)
	for _, c := range []struct {
		word   string
		commit *apiclient.DefinitionSourceCommit
	}{{"found", x.Found}, {"applied", x.Applied}} {
		if c.commit != nil {
			fmt.Fprintf(out, "%-8s %s  %s  %s\n", c.word, shortCommit(c.commit),
				output.SanitizeText(valueOrZero(c.commit.Author)),
				output.SanitizeText(valueOrZero(c.commit.Subject)))
		}
	}
	if x.Failure != nil {
		fmt.Fprintf(out, "\n%s\n", describeFailure(*x.Failure))
	}
	printSourceChanges(out, "Applying "+shortCommit(x.Found)+" changes:", x.Changes)
	printSourceChanges(out, "Changed in NullOps since; applying "+shortCommit(x.Applied)+
		" again undoes it:", x.Drift)
	if len(x.Unlisted) > 0 {
		fmt.Fprintln(out, "\nNo longer in the documents, and kept:")
		for _, d := range x.Unlisted {
			fmt.Fprintf(out, "  %s %s\n", d.Kind, d.Name)
		}
	}
}

func printSourceChanges(out io.Writer, title string, all []apiclient.DefinitionSourceChange) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", title)
	for _, c := range all {
		result := apiclient.DocumentResult{Kind: c.Kind, Name: c.Name, Part: c.Part,
			Action: apiclient.DocumentResultAction(c.Action), Changes: c.Changes, Diff: c.Diff}
		said := resultWords[result.Action][1]
		if c.ChangedBy != nil {
			said += "; changed by " + *c.ChangedBy + " " + output.FormatAge(*c.ChangedAt) + " ago"
		}
		fmt.Fprintf(out, "  %-40s %s\n", resultName(result), said)
		printChanges(out, result)
		if c.ChangedBy != nil || strings.HasPrefix(title, "Changed") {
			fmt.Fprintf(out, "    to keep it: nullops export %s/%s\n", c.Kind, c.Name)
		}
	}
}
