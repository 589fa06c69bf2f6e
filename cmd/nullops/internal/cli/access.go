package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func accessCommand() *cobra.Command {
	c := &cobra.Command{Use: "access", Short: "What you may do, and why"}
	var as string
	explain := &cobra.Command{
		Use: "explain KIND/NAME", Args: exit.ExactArgs(1),
		Short: "Why you may do something with a project/, environment/ or deployment/, or may not",
	}
	explain.Flags().StringVar(&as, "as", "", "answer as this user, for admins")
	asJSON := output.JSONFlag[apiclient.AccessExplained](explain)
	explain.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ExplainAccessWithResponse(c.Context(),
			&apiclient.ExplainAccessParams{Object: args[0]}, viewAs(as))
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), *r.JSON200)
		}
		return printAccess(c.OutOrStdout(), r.JSON200)
	}
	c.AddCommand(explain)
	return c
}

// viewAs sets the header to view as another user; "" sets none.
func viewAs(name string) apiclient.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		if name != "" {
			r.Header.Set("X-Nullops-View-As", name)
		}
		return nil
	}
}

// unchangedSince has a change refused if the object changed since the ETag was read.
// "*" requires that it does not exist yet.
func unchangedSince(tag string) apiclient.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		if tag == "*" {
			r.Header.Set("If-None-Match", "*")
		} else if tag != "" {
			r.Header.Set("If-Match", tag)
		}
		return nil
	}
}

func printAccess(w io.Writer, x *apiclient.AccessExplained) error {
	level := map[apiclient.AccessLevel]string{apiclient.AccessLevelNone: "no access",
		apiclient.AccessLevelRead: "read access", apiclient.AccessLevelFull: "full access"}[x.Level]
	lines := []string{x.Object + ": " + level}
	for _, b := range x.Because {
		lines = append(lines, "  because "+b)
	}
	if x.Missing != nil {
		lines = append(lines, "  missing: "+*x.Missing, "  ask "+strings.Join(x.Ask, " or "))
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, output.SanitizeText(l)); err != nil {
			return err
		}
	}
	return nil
}
