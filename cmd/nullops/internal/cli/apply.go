package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/documents"
)

type applyOptions struct {
	paths    []string
	settings []string
	dryRun   bool
	owner    string
	takeOver bool
	prune    bool
	yes      bool
}

func applyCommand() *cobra.Command {
	var o applyOptions
	c := &cobra.Command{
		Use: "apply -f PATH", Args: exit.ExactArgs(0),
		Short: "Create or change what YAML documents define; applying them again changes nothing",
		Long: "Create or change what YAML documents define. All documents are read first, then the\n" +
			"control plane checks and applies them in one transaction: with a problem in one of\n" +
			"them nothing is changed, and every problem is printed with its file, line and field.\n" +
			"What --dry-run accepts, apply does.\n\n" +
			"A secret or password whose environment variable is empty keeps the stored value.\n\n" +
			"--owner NAME records that these documents hold what they define. With it, --prune\n" +
			"also deletes what they held when they were last applied under that name and no longer\n" +
			"define. It shows what that is and asks first; without a terminal it needs\n" +
			"--yes. What is in use is not deleted, and then nothing is applied.",
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	f := c.Flags()
	f.StringArrayVarP(&o.paths, "file", "f", nil,
		"file, folder, or - for standard input; may be given several times")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would change, and change nothing")
	f.StringArrayVar(&o.settings, "set", nil, "override a field: KIND/NAME.FIELD=VALUE")
	f.StringVar(&o.owner, "owner", "",
		"record that these documents, under this name, hold what they define")
	f.BoolVar(&o.takeOver, "take-over", false, "also take definitions that another owner holds")
	f.BoolVar(&o.prune, "prune", false,
		"delete what the owner held before and the documents no longer define")
	f.BoolVar(&o.yes, "yes", false, "do not ask before deleting")
	_ = c.MarkFlagRequired("file")
	return c
}

func (o applyOptions) run(c *cobra.Command) error {
	switch {
	case o.prune && o.owner == "":
		return exit.AsUsageError(errors.New("--prune needs --owner NAME: without it nobody knows which " +
			"other definitions are yours; apply once with --owner, and prune from then on"))
	case o.takeOver && o.owner == "":
		return exit.AsUsageError(errors.New("--take-over needs --owner NAME, the owner to be"))
	}
	docs, err := readDocuments(o.paths, c.InOrStdin())
	if err != nil {
		return exit.WithCode(err, exit.Refused)
	}
	if err := applyOverrides(docs, o.settings); err != nil {
		return err
	}
	if err := completeDocuments(docs); err != nil {
		return exit.WithCode(err, exit.Refused)
	}
	api, err := newClient()
	if err != nil {
		return err
	}
	return o.sendDocuments(c, api, docs)
}

func (o applyOptions) sendDocuments(
	c *cobra.Command, api *client, docs []documents.Document,
) error {
	body := apiclient.Documents{Documents: make([]apiclient.Document, len(docs)),
		Owner: nilIfZero(o.owner), TakeOver: nilIfZero(o.takeOver), Prune: nilIfZero(o.prune)}
	for i, d := range docs {
		definition, err := json.Marshal(d.Body)
		if err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
		body.Documents[i] = apiclient.Document{Kind: apiclient.DocumentKind(d.Kind), Name: d.Name,
			Definition: new(json.RawMessage(definition))}
	}
	if o.dryRun {
		return api.previewDocuments(c.Context(), c.OutOrStdout(), docs, body)
	}
	if o.prune && !o.yes {
		shown, err := api.confirmDeleted(c, docs, body)
		if err != nil {
			return err
		}
		body.PruneOnly = &shown
	}
	return api.applyDocuments(c.Context(), c.OutOrStdout(), docs, body)
}

// applyDocuments has everything done, or nothing.
func (c *client) applyDocuments(
	ctx context.Context, out io.Writer, docs []documents.Document, body apiclient.Documents,
) error {
	r, err := c.ApplyDocumentsWithResponse(ctx, body)
	if err := documentsAnswered(docs, r, err); err != nil {
		return err
	}
	return printResults(out, *r.JSON200, body, false)
}

// previewDocuments has the same done and undone.
func (c *client) previewDocuments(
	ctx context.Context, out io.Writer, docs []documents.Document, body apiclient.Documents,
) error {
	r, err := c.PreviewDocumentsWithResponse(ctx, body)
	if err := documentsAnswered(docs, r, err); err != nil {
		return err
	}
	return printResults(out, *r.JSON200, body, true)
}

// documentsAnswered turns a refusal into problems at their places in the files.
func documentsAnswered(docs []documents.Document, r answer, err error) error {
	err = checkAnswer(r, err)
	refused, ok := errors.AsType[*problemError](err)
	switch {
	case !ok:
		return err
	case refused.Code == "no_such_path":
		return exit.WithCode(errors.New("the control plane is older than this command, and cannot "+
			"apply documents in one transaction: update it, or use the command of its release"),
			exit.Refused)
	case refused.Code != "documents_refused" || refused.Problems == nil:
		return err
	}
	found := &documents.Error{}
	for _, p := range *refused.Problems {
		found.Problems = append(found.Problems, locateProblem(docs, p))
	}
	return exit.WithCode(found, exit.Refused)
}

// locateProblem finds the line that a problem of the control plane is about.
func locateProblem(docs []documents.Document, p apiclient.FieldProblem) documents.Problem {
	out := documents.Problem{Step: valueOrZero(p.Step), Field: p.Field, Message: p.Message,
		Remedy: valueOrZero(p.Remedy), Users: valueOrZero(p.Users)}
	if p.Document == nil || *p.Document >= len(docs) {
		return out
	}
	return out.At(docs[*p.Document])
}
