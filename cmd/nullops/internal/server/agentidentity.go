package server

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// agentIdentity prints the thumbprint that the agent will show, before it runs.
// Provisioning reads it on the machine itself, so that first contact is no leap of
// faith.
func agentIdentity() *cobra.Command {
	data := defaultSettings().Agent.Data
	c := &cobra.Command{
		Use: "identity --agent.data=FOLDER", Args: exit.ExactArgs(0),
		Short: "Make the agent's certificate if there is none, and print its thumbprint",
	}
	c.Flags().StringVar(&data, "agent.data", data, "the agent's data folder")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !filepath.IsAbs(data) {
			return exit.AsUsageError(errors.New("--agent.data: give an absolute path"))
		}
		if err := os.MkdirAll(data, 0o700); err != nil {
			return fmt.Errorf("--agent.data: %w", err)
		}
		identity, err := wire.LoadOrCreateIdentity(data)
		if err != nil {
			return err
		}
		t := identity.Thumbprint()
		_, err = fmt.Fprintln(c.OutOrStdout(), hex.EncodeToString(t[:]))
		return err
	}
	return c
}
