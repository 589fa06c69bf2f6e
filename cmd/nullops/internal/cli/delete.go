package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/documents"
)

func deleteCommand() *cobra.Command {
	var paths []string
	var dryRun, yes bool
	c := &cobra.Command{
		Use:   "delete (-f PATH | KIND NAME...)",
		Short: "Delete definitions: services, projects, environments and other kinds",
		Long: "Delete definitions, all in one transaction: those that documents define (-f), or those\n" +
			"that are named, as 'service web' or 'service/web project/shop'. What is in use is\n" +
			"refused with who uses it, and then nothing is deleted. It shows what would be deleted\n" +
			"and asks first; without a terminal it needs --yes. A running deployment is removed by\n" +
			"'nullops remove', not by this.",
		RunE: func(c *cobra.Command, args []string) error {
			docs, err := documentsToDelete(c, paths, args)
			if err != nil {
				return err
			}
			api, err := newClient()
			if err != nil {
				return err
			}
			body := apiclient.Documents{}
			for _, d := range docs {
				body.Documents = append(body.Documents, apiclient.Document{
					Kind: apiclient.DocumentKind(d.Kind), Name: d.Name,
					Action: new(apiclient.DocumentActionDelete)})
			}
			if dryRun {
				return api.previewDocuments(c.Context(), c.OutOrStdout(), docs, body)
			}
			if !yes {
				if _, err := api.confirmDeleted(c, docs, body); err != nil {
					return err
				}
			}
			return api.applyDocuments(c.Context(), c.OutOrStdout(), docs, body)
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&paths, "file", "f", nil,
		"file, folder, or - for standard input; may be given several times")
	f.BoolVar(&dryRun, "dry-run", false, "say what would be deleted, and delete nothing")
	f.BoolVar(&yes, "yes", false, "do not ask before deleting")
	return c
}

func documentsToDelete(c *cobra.Command, paths, args []string) ([]documents.Document, error) {
	if (len(paths) == 0) == (len(args) == 0) {
		return nil, exit.AsUsageError(errors.New("say what to delete: -f PATH, or KIND NAME"))
	}
	if len(paths) > 0 {
		docs, err := readDocuments(paths, c.InOrStdin())
		if err != nil {
			return nil, exit.WithCode(err, exit.Refused)
		}
		return docs, nil
	}
	if slices.Contains(documents.Kinds[:], args[0]) {
		kind := args[0]
		if args = slices.Clone(args[1:]); len(args) == 0 {
			return nil, exit.AsUsageError(fmt.Errorf("say which %s to delete", kind))
		}
		for i := range args {
			args[i] = kind + "/" + args[i]
		}
	}
	if err := checkTargets(args); err != nil {
		return nil, err
	}
	var docs []documents.Document
	for _, target := range args {
		kind, name, named := strings.Cut(target, "/")
		if !named {
			return nil, exit.AsUsageError(fmt.Errorf("%q: write KIND NAME or KIND/NAME", target))
		}
		docs = append(docs, documents.Document{Kind: kind, Name: name})
	}
	return docs, nil
}

// confirmDeleted shows what would be deleted, asks, and returns what was shown. What is
// refused is refused before the person is asked to confirm.
func (c *client) confirmDeleted(
	command *cobra.Command, docs []documents.Document, body apiclient.Documents,
) ([]apiclient.Definition, error) {
	r, err := c.PreviewDocumentsWithResponse(command.Context(), body)
	if err := documentsAnswered(docs, r, err); err != nil {
		return nil, err
	}
	shown := []apiclient.Definition{}
	for _, r := range r.JSON200.Results {
		if r.Action != apiclient.DocumentResultActionDeleted {
			continue
		}
		fmt.Fprintf(command.ErrOrStderr(), "%-40s would be deleted\n", resultName(r))
		shown = append(shown, apiclient.Definition{Kind: r.Kind, Name: r.Name})
	}
	if len(shown) == 0 {
		return shown, nil
	}
	return shown, askToDelete(command)
}

// askToDelete returns an error unless a person at a terminal says yes.
func askToDelete(command *cobra.Command) error {
	return askToConfirm(command, "Delete this?", "add --yes to delete what is listed")
}

// askToConfirm returns an error unless a person at a terminal says yes. hint is what to do without
// a terminal.
func askToConfirm(command *cobra.Command, question, hint string) error {
	in := command.InOrStdin()
	if in != os.Stdin || !output.IsTerminal(os.Stdin) {
		return exit.WithCode(errors.New("nothing was changed: "+hint), exit.Refused)
	}
	fmt.Fprint(command.ErrOrStderr(), question+" Type yes: ")
	said, err := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(said) != "yes" {
		return exit.WithCode(errors.New("nothing was changed"), exit.Refused)
	}
	return nil
}
