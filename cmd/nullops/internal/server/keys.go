package server

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/seal"
)

// KeysCommand makes sealing keys. The program adds the commands that ask the control plane about
// its keys.
func KeysCommand() *cobra.Command {
	c := &cobra.Command{Use: "keys", Short: "Make, list, rotate and move sealing keys"}
	var id string
	make := &cobra.Command{
		Use: "new", Short: "Print a new sealing key, for NULLOPS_MASTER_KEYS", Args: exit.ExactArgs(0),
		Long: "The key seals every secret in the database. Whoever has both can read them;\n" +
			"without the key the secrets are lost. Keep it apart from the database's backups.",
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := seal.NewKey(id)
			if err != nil {
				return exit.AsUsageError(err)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), key)
			return err
		},
	}
	make.Flags().StringVar(&id, "id", "k1", "the key's name, in front of every sealed value")
	c.AddCommand(make)
	return c
}
