package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func catalogueCommand() *cobra.Command {
	c := &cobra.Command{Use: "catalogue",
		Short: "List the starter catalogue, and add services of it (admins)"}
	c.AddCommand(listStarterEntries(), showStarterEntry(), addStarterEntry())
	return c
}

func listStarterEntries() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List what can be added, and what it needs",
		Args: exit.ExactArgs(0)}
	asJSON := output.JSONFlag[[]apiclient.StarterEntry](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListStarterEntriesWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"NAME", "GPUS", "SECRETS", "PLUGINS", "DESCRIPTION"}}
		for _, e := range r.JSON200.Items {
			rows = append(rows, []string{e.Name, fmt.Sprint(e.Gpus), joinOrDash(e.Secrets),
				joinOrDash(e.Plugins), e.Description})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func joinOrDash(all []string) string { return firstOf(strings.Join(all, ","), "-") }

func showStarterEntry() *cobra.Command {
	return &cobra.Command{Use: "show NAME", Args: exit.ExactArgs(1),
		Short: "Print the YAML documents of an entry, to change and apply them",
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.ListStarterEntriesWithResponse(c.Context())
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			for _, e := range r.JSON200.Items {
				if e.Name == args[0] {
					_, err := fmt.Fprint(c.OutOrStdout(), e.Document)
					return err
				}
			}
			return exit.WithCode(fmt.Errorf("the starter catalogue has no entry %s; 'nullops catalogue "+
				"list' lists them", output.SanitizeText(args[0])), exit.Refused)
		}}
}

func addStarterEntry() *cobra.Command {
	var name, registry, plugins string
	var dryRun bool
	c := &cobra.Command{Use: "add NAME", Args: exit.ExactArgs(1),
		Short: "Add an entry as a service; what exists is never changed"}
	f := c.Flags()
	f.StringVar(&name, "name", "", "name of the new service; the entry's by default")
	f.StringVar(&registry, "registry", "", "registry that mirrors the images; the entry's by default")
	f.StringVar(&plugins, "plugin-registry", "",
		"registry with the plugins' images, as plugins/NAME; without it, no plugin is added")
	f.BoolVar(&dryRun, "dry-run", false, "say what would be created, and create nothing")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.AddStarterEntryWithResponse(c.Context(), args[0], apiclient.StarterAdd{
			Name: nilIfZero(name), Registry: nilIfZero(registry), PluginRegistry: nilIfZero(plugins),
			DryRun: nilIfZero(dryRun)})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return printResults(c.OutOrStdout(), *r.JSON200, apiclient.Documents{}, dryRun)
	}
	return c
}
