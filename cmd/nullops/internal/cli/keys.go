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
	return []*cobra.Command{keysListCommand(), keysRotateCommand(), keysMoveCommand()}
}

func keysListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List sealing keys, and how many values each has sealed",
		Args: exit.ExactArgs(0)}
	asJSON := output.JSONFlag[[]apiclient.MasterKey](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListKeysWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"KEY", "KEPT IN", "STATE", "VALUES", "WHERE"}}
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
	return []string{k.Name, valueOrZero(k.Source), state, strconv.FormatInt(k.Values, 10),
		strings.Join(where, ", ")}
}

func keysRotateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Reseal everything with the first key", Args: exit.ExactArgs(0),
		Long: "A local key: put a new key in front of NULLOPS_MASTER_KEYS (new,old), restart every\n" +
			"control plane and ingress, then run this. A key in Vault: rotate the transit key\n" +
			"there, or put a new key in front of the KV value, then run this without a restart.\n" +
			"It may be stopped and run again; everything keeps working meanwhile. Afterwards\n" +
			"'nullops keys list' says which key may be taken out.",
		RunE: func(c *cobra.Command, _ []string) error {
			return rotateKeys(c, &apiclient.RotateKeysParams{})
		},
	}
}

func keysMoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "move local|vault", Short: "Reseal everything with the key there",
		Args:      exit.ExactArgs(1),
		ValidArgs: []string{"local", "vault"},
		Long: "Give every control plane and ingress the settings of both keys and the new\n" +
			"master.primary, and restart them one after the other; then run this. It refuses if\n" +
			"new values go elsewhere. It may be stopped and run again; everything keeps working\n" +
			"meanwhile. When 'nullops keys list' says that a key may be taken out, remove its\n" +
			"settings and restart again. docs/vault.md shows each step.",
		RunE: func(c *cobra.Command, args []string) error {
			to := apiclient.RotateKeysParamsTo(args[0])
			if to != apiclient.RotateKeysParamsToLocal && to != apiclient.RotateKeysParamsToVault {
				return exit.AsUsageError(fmt.Errorf("keys are moved to local or to vault, not to %q", args[0]))
			}
			return rotateKeys(c, &apiclient.RotateKeysParams{To: &to})
		},
	}
}

// rotateKeys calls until nothing is left.
func rotateKeys(c *cobra.Command, params *apiclient.RotateKeysParams) error {
	api, err := newClient()
	if err != nil {
		return err
	}
	for left := int64(1); left > 0; {
		r, err := api.RotateKeysWithResponse(c.Context(), params)
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
}
