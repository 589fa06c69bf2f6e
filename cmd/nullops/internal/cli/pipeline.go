package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/text"
	"github.com/nullops/nullops/pipeline"
)

func pipelineCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "pipeline", Args: exit.ExactArgs(0),
		Short: "List, compare and restore versions of a project's pipeline",
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(pipelineVersionsCommand(), pipelineDiffCommand(), pipelineRestoreCommand())
	return c
}

func pipelineVersionsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "versions PROJECT", Args: exit.ExactArgs(1),
		Short: "List all versions, newest first, and which deployments run them",
	}
	asJSON := output.JSONFlag[[]apiclient.PipelineVersion](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		items := []apiclient.PipelineVersion{}
		params := &apiclient.ListPipelineVersionsParams{}
		for {
			r, err := api.ListPipelineVersionsWithResponse(c.Context(), args[0], params)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			items = append(items, r.JSON200.Items...)
			if params.Cursor = r.JSON200.NextCursor; valueOrZero(params.Cursor) == "" {
				break
			}
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), items)
		}
		return printVersions(c.OutOrStdout(), items)
	}
	return c
}

func printVersions(w io.Writer, items []apiclient.PipelineVersion) error {
	rows := [][]string{{"VERSION", "STEPS", "SAVED BY", "AGE", "DEPLOYMENTS", "NOTE"}}
	for _, v := range items {
		var names []string
		for _, u := range valueOrZero(v.UsedBy) {
			names = append(names, u.Name+"."+u.Environment)
		}
		users := strconv.Itoa(len(names))
		if len(names) > 0 {
			users += ": " + strings.Join(names, ", ")
		}
		rows = append(rows, []string{fmt.Sprintf("v%d", v.Version),
			strconv.Itoa(len(v.Pipeline.Steps)), v.CreatedBy, output.FormatAge(v.CreatedAt), users,
			valueOrZero(v.Note)})
	}
	return output.PrintTable(w, rows)
}

func pipelineDiffCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "diff PROJECT A B", Args: exit.ExactArgs(3),
		Short: "Show what differs from version A to version B, field by field",
	}
	asJSON := output.JSONFlag[apiclient.PipelineDiff](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		from, err := versionNumber(args[1])
		if err != nil {
			return err
		}
		to, err := versionNumber(args[2])
		if err != nil {
			return err
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.DiffPipelineVersionWithResponse(c.Context(), args[0], to,
			&apiclient.DiffPipelineVersionParams{Against: &from})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), *r.JSON200)
		}
		if r.JSON200.Diff.Empty() {
			fmt.Fprintf(c.OutOrStdout(), "v%d and v%d are the same\n", from, to)
		}
		printDiff(c.OutOrStdout(), "", r.JSON200.Diff)
		return nil
	}
	return c
}

// versionNumber reads 3 or v3.
func versionNumber(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(text, "v"))
	if err != nil || n < 1 {
		return 0, exit.AsUsageError(fmt.Errorf("%q is not the number of a version, such as 3", text))
	}
	return n, nil
}

func printDiff(w io.Writer, indent string, d pipeline.Diff) {
	for _, s := range d.Removed {
		fmt.Fprintf(w, "%s- step %s (%s)\n", indent, s.Key, whatStep(s))
	}
	for _, s := range d.Added {
		fmt.Fprintf(w, "%s+ step %s (%s)\n", indent, s.Key, whatStep(s))
	}
	for _, s := range d.Changed {
		fmt.Fprintf(w, "%s~ step %s\n", indent, s.Key)
		printFields(w, indent+"    ", s.Fields)
	}
	for _, f := range d.Input {
		printFields(w, indent+"~ ", []pipeline.FieldChange{f})
	}
	if d.Order != nil {
		fmt.Fprintf(w, "%s~ order: %s → %s\n", indent, joinKeys(d.Order.Old), joinKeys(d.Order.New))
	}
}

func whatStep(s pipeline.Step) string {
	switch {
	case s.Service != nil:
		return "service " + s.Service.Name
	case s.Job != nil:
		return "job " + s.Job.Name
	case s.Script != nil:
		return "script"
	case s.Plugin != nil:
		return "plugin " + s.Plugin.Name
	case s.Approval != nil:
		return "approval"
	}
	return "nothing"
}

func joinKeys(all []pipeline.StepKey) string {
	text := make([]string, len(all))
	for i, key := range all {
		text[i] = string(key)
	}
	return strings.Join(text, ", ")
}

// printFields writes "path: old → new", one line each.
func printFields(w io.Writer, indent string, fields []pipeline.FieldChange) {
	for _, f := range fields {
		fmt.Fprintf(w, "%s%s: %s → %s\n", indent, output.SanitizeText(f.Path), valueText(f.Old),
			valueText(f.New))
	}
}

func valueText(v json.RawMessage) string {
	const most = 200
	if v == nil {
		return "(none)"
	}
	return text.Clip(output.SanitizeText(string(v)), most)
}

func pipelineRestoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore PROJECT N", Args: exit.ExactArgs(2),
		Short: "Save version N again as the newest; running deployments keep theirs",
		RunE: func(c *cobra.Command, args []string) error {
			number, err := versionNumber(args[1])
			if err != nil {
				return err
			}
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.RestorePipelineVersionWithResponse(c.Context(), args[0], number, nil)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			if !r.JSON200.Changed {
				fmt.Fprintf(c.OutOrStdout(), "v%d is what is current (v%d); nothing changed\n",
					number, r.JSON200.Version)
				return nil
			}
			fmt.Fprintf(c.OutOrStdout(), "v%d is restored as v%d\n", number, r.JSON200.Version)
			return nil
		},
	}
}
