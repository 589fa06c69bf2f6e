package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/traefik/paerser/flag"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/internal/tracing"
)

// settled is how long a server must run to count as started.
const settled = 10 * time.Second

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
	// Starting takes more memory than running: migrations, the contract, the helper for
	// agents. Without this, Go would keep that memory for minutes.
	trim := time.AfterFunc(settled, debug.FreeOSMemory)
	defer trim.Stop()
	log := newLogger(s.Log, os.Stderr)
	traces, err := tracing.Start(c.Context(), "nullops-"+c.Name(), release, log)
	if err != nil {
		return exit.WithCode(err, exit.Usage)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), 5*time.Second)
		defer cancel()
		traces.Stop(ctx)
	}()
	s.tracing = traces
	return run(c.Context(), s, log)
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
