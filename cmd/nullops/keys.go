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
	c := &cobra.Command{Use: "keys", Short: "Make, list and rotate sealing keys"}
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
	c.AddCommand(make, keysListCommand(), keysRotateCommand())
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
		rows := [][]string{{"KEY", "STATE", "VALUES", "WHERE"}}
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
	return []string{k.Name, state, strconv.FormatInt(k.Values, 10), strings.Join(where, ", ")}
}

func keysRotateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Seal everything anew under the first key", Args: exactArgs(0),
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
