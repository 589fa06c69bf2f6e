package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func userCommand() *cobra.Command {
	c := &cobra.Command{Use: "user", Short: "Manage users: list, invite, reset, switch off"}
	c.AddCommand(userListCommand(), userInviteCommand(), userInvitationsCommand(),
		userUninviteCommand(), userServiceCommand(), userResetCommand(), userResetFactorsCommand(),
		userActiveCommand("activate", "Let a user in again", true),
		userActiveCommand("deactivate", "Shut a user out: sessions, tokens and streams end", false),
		userRemoveCommand())
	return c
}

func userListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List all users", Args: exit.ExactArgs(0)}
	asJSON := output.JSONFlag[[]apiclient.User](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		all, err := everyPage(func(cursor *string) (*string, []apiclient.User, error) {
			r, err := api.ListUsersWithResponse(c.Context(), &apiclient.ListUsersParams{Cursor: cursor})
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
		rows := [][]string{{"NAME", "KIND", "ROLE", "STATE", "TEAMS", "ADDRESS", "LAST SIGN-IN"}}
		for _, u := range all {
			rows = append(rows, userRow(u))
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

// everyPage reads a list to its end.
func everyPage[T any](page func(cursor *string) (*string, []T, error)) ([]T, error) {
	all := []T{}
	var cursor *string
	for {
		next, items, err := page(cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if cursor = next; valueOrZero(cursor) == "" {
			return all, nil
		}
	}
}

func userRow(u apiclient.User) []string {
	state, last := "active", "never"
	if !u.Active {
		state = "switched off"
	}
	if u.LastSignInAt != nil {
		last = output.FormatAge(*u.LastSignInAt) + " ago"
	}
	return []string{u.Name, string(u.Kind), string(u.Role), state, strings.Join(u.Teams, ", "),
		valueOrZero(u.Address), last}
}

func userInviteCommand() *cobra.Command {
	var admin bool
	var teams []string
	c := &cobra.Command{
		Use: "invite ADDRESS", Short: "Print a link that lets one person in, once",
		Args: exit.ExactArgs(1),
		Long: "The link is for this e-mail address, works once, and ends after seven days. It is\n" +
			"shown only now: send it to the person yourself.",
	}
	c.Flags().BoolVar(&admin, "admin", false, "the person will be an admin")
	c.Flags().StringSliceVar(&teams, "team", nil, "a team the person will be on; may be repeated")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		body := apiclient.InvitationCreate{Address: args[0], Role: apiclient.RoleUser}
		if admin {
			body.Role = apiclient.RoleAdmin
		}
		if len(teams) > 0 {
			body.Teams = &teams
		}
		r, err := api.CreateInvitationWithResponse(c.Context(), nil, body)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return printLink(c, r.JSON201)
	}
	return c
}

func printLink(c *cobra.Command, l *apiclient.LinkCreated) error {
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s\nIt works once, until %s.\n", l.Url,
		l.ExpiresAt.Local().Format("2006-01-02 15:04"))
	return err
}

func userInvitationsCommand() *cobra.Command {
	c := &cobra.Command{Use: "invitations", Short: "List unused invitations",
		Args: exit.ExactArgs(0)}
	asJSON := output.JSONFlag[[]apiclient.Invitation](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListInvitationsWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"ID", "ADDRESS", "ROLE", "TEAMS", "BY", "ENDS"}}
		for _, i := range r.JSON200.Items {
			rows = append(rows, []string{i.Id, i.Address, string(i.Role), strings.Join(i.Teams, ", "),
				i.CreatedBy, i.ExpiresAt.Local().Format("2006-01-02 15:04")})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func userUninviteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "uninvite ID", Short: "Withdraw an invitation", Args: exit.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.DeleteInvitationWithResponse(c.Context(), args[0])
			return checkAnswer(r, err)
		},
	}
}

func userServiceCommand() *cobra.Command {
	return &cobra.Command{
		Use: "service NAME", Short: "Create a service user, which has tokens but no password",
		Args: exit.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			kind := apiclient.UserKindService
			r, err := api.PutUserWithResponse(c.Context(), args[0],
				apiclient.UserPut{Role: apiclient.RoleUser, Kind: &kind})
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(),
				"%s is a service user. Put it on a team, then: nullops token create NAME --user %s\n",
				args[0], args[0])
			return err
		},
	}
}

func userResetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reset NAME", Short: "Print a link that sets a person's password, once",
		Args: exit.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.CreateResetLinkWithResponse(c.Context(), args[0], nil)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			return printLink(c, r.JSON201)
		},
	}
}

func userResetFactorsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reset-factors NAME", Short: "Remove the second factors of a person who lost them",
		Long: "Passkeys, authenticator apps, recovery codes and sessions of the person go. They sign\n" +
			"in with the password alone then, and add new ones. The audit log records it.",
		Args: exit.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.ResetUserFactorsWithResponse(c.Context(), args[0])
			return checkAnswer(r, err)
		},
	}
}

// userActiveCommand changes one thing of a user and leaves the rest.
func userActiveCommand(verb, short string, active bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Args: exit.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.GetUserWithResponse(c.Context(), args[0])
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			u := r.JSON200
			saved, err := api.PutUserWithResponse(c.Context(), args[0], apiclient.UserPut{
				Active: &active, DisplayName: &u.DisplayName, Role: u.Role, Address: u.Address})
			return checkAnswer(saved, err)
		},
	}
}

func userRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Delete a user with sessions, tokens and memberships",
		Args: exit.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.DeleteUserWithResponse(c.Context(), args[0])
			return checkAnswer(r, err)
		},
	}
}
