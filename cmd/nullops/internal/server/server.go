package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/traefik/paerser/flag"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// serverCommand makes a command whose flags are the settings.
func serverCommand(name, short string, check func(Settings) error,
	run func(context.Context, Settings, *slog.Logger) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " [--SETTING=VALUE]…", Short: short, DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			return runServer(c, args, check, run)
		},
	}
}

// runServer reads the settings and runs what a server command is for.
func runServer(c *cobra.Command, args []string, check func(Settings) error,
	run func(context.Context, Settings, *slog.Logger) error) error {
	for _, a := range args {
		if a == "-h" || a == "--help" {
			return c.Help()
		}
	}
	s, err := loadSettings(args, os.Environ())
	if err == nil {
		err = check(s)
	}
	if err != nil {
		return exit.WithCode(err, exit.Usage)
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	go trimAtRest(ctx, usedCPU, debug.FreeOSMemory)
	return run(ctx, s, newLogger(s.Log, os.Stderr))
}

// SettingsCommand lists every setting with its names, default and meaning.
func SettingsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "settings", Short: "List the settings of the server commands",
		RunE: func(c *cobra.Command, _ []string) error { return printSettings(c.OutOrStdout()) },
	}
}

func printSettings(out io.Writer) error {
	s := defaultSettings()
	flats, err := flag.Encode(&s)
	if err != nil {
		return fmt.Errorf("list settings: %w", err)
	}
	rows := [][]string{{"FLAG", "ENVIRONMENT", "DEFAULT", "MEANING"}}
	for _, f := range flats {
		if !strings.Contains(f.Name, ".") {
			continue
		}
		rows = append(rows, []string{"--" + f.Name, envName(f.Name), f.Default, f.Description})
	}
	return output.PrintTable(out, rows)
}
