package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// KeyCommands are the commands below "keys" that speak to the control plane.
func KeyCommands() []*cobra.Command {
	return []*cobra.Command{keysListCommand(), keysRotateCommand()}
}

func keysListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "Sealing keys, and how many values are under each",
		Args: exit.ExactArgs(0)}
	asJSON := output.JSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListKeysWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if *asJSON {
			return output.PrintJSON(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"KEY", "STATE", "VALUES", "WHERE"}}
		for _, k := range r.JSON200.Items {
			rows = append(rows, keyRow(k))
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func keyRow(k apiclient.MasterKey) []string {
	state := "may be taken out"
	switch {
	case !k.Present:
		state = "missing"
	case k.Primary:
		state = "seals new values"
	case k.Values > 0:
		state = "still needed: run 'nullops keys rotate'"
	}
	where := []string{}
	for _, use := range k.Uses {
		where = append(where, fmt.Sprintf("%s %d", use.Place, use.Values))
	}
	return []string{k.Name, state, strconv.FormatInt(k.Values, 10), strings.Join(where, ", ")}
}

func keysRotateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Seal everything anew under the first key", Args: exit.ExactArgs(0),
		Long: "Put a new key in front of NULLOPS_MASTER_KEYS (new,old), restart every control plane\n" +
			"and ingress, then run this. It may be stopped and run again; everything goes on\n" +
			"working meanwhile. Afterwards 'nullops keys list' says which key may be taken out.",
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			for left := int64(1); left > 0; {
				r, err := api.RotateKeysWithResponse(c.Context())
				if err := checkAnswer(r, err); err != nil {
					return err
				}
				left = r.JSON200.Left
				fmt.Fprintf(c.OutOrStdout(), "%d rotated, %d left\n", r.JSON200.Rotated, left)
				if left > 0 && r.JSON200.Rotated == 0 {
					return fmt.Errorf("nothing moved although %d values are left", left)
				}
			}
			return nil
		},
	}
}
