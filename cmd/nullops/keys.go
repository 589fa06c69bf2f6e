package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/seal"
)

func keysCommand() *cobra.Command {
	c := &cobra.Command{Use: "keys", Short: "Make, list, rotate and move sealing keys"}
	var id string
	make := &cobra.Command{
		Use: "new", Short: "Print a new sealing key, for NULLOPS_MASTER_KEYS", Args: exactArgs(0),
		Long: "The key seals every secret in the database. Whoever has both can read them;\n" +
			"without the key the secrets are lost. Keep it apart from the database's backups.",
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := seal.NewKey(id)
			if err != nil {
				return usageError{err}
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), key)
			return err
		},
	}
	make.Flags().StringVar(&id, "id", "k1", "the key's name, in front of every sealed value")
	c.AddCommand(make, keysListCommand(), keysRotateCommand(), keysMoveCommand())
	return c
}

func keysListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "Sealing keys, and how many values are under each",
		Args: exactArgs(0)}
	asJSON := jsonFlag(c)
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
			return printJSON(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"KEY", "KEPT IN", "STATE", "VALUES", "WHERE"}}
		for _, k := range r.JSON200.Items {
			rows = append(rows, keyRow(k))
		}
		return printTable(c.OutOrStdout(), rows)
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
		Use: "rotate", Short: "Seal everything anew under the first key", Args: exactArgs(0),
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
		Use: "move local|vault", Short: "Seal everything anew under the key there", Args: exactArgs(1),
		ValidArgs: []string{"local", "vault"},
		Long: "Give every control plane and ingress the settings of both keys and the new\n" +
			"master.primary, and restart them one after the other; then run this. It refuses if\n" +
			"new values go elsewhere. It may be stopped and run again; everything keeps working\n" +
			"meanwhile. When 'nullops keys list' says that a key may be taken out, remove its\n" +
			"settings and restart again. docs/vault.md shows each step.",
		RunE: func(c *cobra.Command, args []string) error {
			to := apiclient.RotateKeysParamsTo(args[0])
			if to != apiclient.RotateKeysParamsToLocal && to != apiclient.RotateKeysParamsToVault {
				return usageError{fmt.Errorf("keys are moved to local or to vault, not to %q", args[0])}
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
