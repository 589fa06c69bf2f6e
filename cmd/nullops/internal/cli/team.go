package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func teamCommand() *cobra.Command {
	c := &cobra.Command{Use: "team", Short: "Manage teams, their members and their access"}
	c.AddCommand(teamListCommand(), teamChangeCommand("add TEAM USER...", "Put users on a team",
		func(t *apiclient.Team, users []string) {
			t.Members = slices.Compact(slices.Sorted(slices.Values(append(t.Members, users...))))
		}), teamChangeCommand("drop TEAM USER...", "Take users off a team",
		func(t *apiclient.Team, users []string) {
			t.Members = slices.DeleteFunc(t.Members,
				func(m string) bool { return slices.Contains(users, m) })
		}), teamGrantCommand(), teamVerdictsCommand(), teamRemoveCommand())
	return c
}

func teamListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list",
		Short: "List teams with members and grants", Args: exit.ExactArgs(0)}
	asJSON := output.JSONFlag[[]apiclient.Team](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		all, err := everyPage(func(cursor *string) (*string, []apiclient.Team, error) {
			r, err := api.ListTeamsWithResponse(c.Context(), &apiclient.ListTeamsParams{Cursor: cursor})
			if err := checkAnswer(r, err); err != nil {
				return nil, nil, err
			}
			return r.JSON200.NextCursor, r.JSON200.Items, nil
		})
		if err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), all)
		}
		rows := [][]string{{"NAME", "MEMBERS", "MAY"}}
		for _, t := range all {
			rows = append(rows, []string{t.Name, strings.Join(t.Members, ", "), grantsText(t.Grants)})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func grantsText(all []apiclient.Grant) string {
	var texts []string
	for _, g := range all {
		texts = append(texts, string(g.Level)+" on "+strings.ReplaceAll(grantKey(g), "/", " "))
	}
	return strings.Join(texts, ", ")
}

// teamChangeCommand changes the members of a team, which it makes if need be.
func teamChangeCommand(
	use, short string, change func(*apiclient.Team, []string),
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return changeTeam(c, args[0], func(t *apiclient.Team) { change(t, args[1:]) })
		},
	}
}

// changeTeam reads a team, changes it, and writes it unless it was changed meanwhile.
func changeTeam(c *cobra.Command, name string, change func(*apiclient.Team)) error {
	api, err := newClient()
	if err != nil {
		return err
	}
	r, err := api.GetTeamWithResponse(c.Context(), name)
	if err := checkAnswer(r, err); err != nil && (r == nil || r.StatusCode() != 404) {
		return err
	}
	t := apiclient.Team{Name: name}
	tag := "*"
	if r.JSON200 != nil {
		t, tag = *r.JSON200, r.HTTPResponse.Header.Get("ETag")
	}
	change(&t)
	saved, err := api.PutTeamWithResponse(c.Context(), name, apiclient.TeamPut{
		Description: t.Description, Members: &t.Members, Grants: &t.Grants, Verdicts: t.Verdicts},
		unchangedSince(tag))
	return checkAnswer(saved, err)
}

func teamGrantCommand() *cobra.Command {
	var project, environment string
	c := &cobra.Command{
		Use:   "grant TEAM read|full|none --project P | --env E",
		Short: "Set what a team may do on a project or an environment", Args: exit.ExactArgs(2),
	}
	c.Flags().StringVar(&project, "project", "", "the project")
	c.Flags().StringVar(&environment, "env", "", "the environment")
	c.RunE = func(c *cobra.Command, args []string) error {
		if (project == "") == (environment == "") {
			return exit.AsUsageError(fmt.Errorf("usage: %s: say one of --project and --env", c.UseLine()))
		}
		if !slices.Contains([]string{"read", "full", "none"}, args[1]) {
			return exit.AsUsageError(fmt.Errorf("%q is not read, full or none", args[1]))
		}
		g := apiclient.Grant{Project: nilIfZero(project), Environment: nilIfZero(environment),
			Level: apiclient.Level(args[1])}
		return changeTeam(c, args[0], func(t *apiclient.Team) {
			t.Grants = slices.DeleteFunc(t.Grants,
				func(old apiclient.Grant) bool { return grantKey(old) == grantKey(g) })
			if args[1] != "none" {
				t.Grants = append(t.Grants, g)
			}
		})
	}
	return c
}

func teamVerdictsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verdicts TEAM yes|no", Args: exit.ExactArgs(2),
		Short: "Set whether a team may say QA's verdict on what it may see",
		RunE: func(c *cobra.Command, args []string) error {
			if args[1] != "yes" && args[1] != "no" {
				return exit.AsUsageError(fmt.Errorf("%q is not yes or no", args[1]))
			}
			may := args[1] == "yes"
			return changeTeam(c, args[0], func(t *apiclient.Team) { t.Verdicts = &may })
		},
	}
}

func teamRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Delete a team with its grants", Args: exit.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.DeleteTeamWithResponse(c.Context(), args[0])
			return checkAnswer(r, err)
		},
	}
}
