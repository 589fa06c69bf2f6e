package server

import (
	"context"
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
	"github.com/nullops/nullops/cmd/nullops/internal/reference"
	"github.com/nullops/nullops/internal/logs"
	"github.com/nullops/nullops/internal/tracing"
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
	s.logs = newLog(s.Log, os.Stderr)
	log := s.logs.Logger()
	traces, err := tracing.Start(ctx, "nullops-"+c.Name(), release, logs.Of(log, "tracing"))
	if err != nil {
		return exit.WithCode(err, exit.Usage)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), 5*time.Second)
		defer cancel()
		traces.Stop(ctx)
	}()
	s.tracing = traces
	return run(ctx, s, log)
}

// SettingsCommand lists every setting with its names, default and meaning.
func SettingsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "settings", Short: "List the settings of the server commands",
		RunE: func(c *cobra.Command, _ []string) error { return printSettings(c.OutOrStdout()) },
	}
}

// ListSettings returns every setting, for 'nullops settings' and the reference.
func ListSettings() (all []reference.Setting) {
	s := defaultSettings()
	flats, err := flag.Encode(&s)
	if err != nil {
		panic(err) // a field of Settings has a type that paerser does not know
	}
	for _, f := range flats {
		if strings.Contains(f.Name, ".") {
			all = append(all, reference.Setting{Flag: "--" + f.Name, Environment: envName(f.Name),
				Default: f.Default, Meaning: f.Description})
		}
	}
	return all
}

func printSettings(out io.Writer) error {
	rows := [][]string{{"FLAG", "ENVIRONMENT", "DEFAULT", "MEANING"}}
	for _, s := range ListSettings() {
		rows = append(rows, []string{s.Flag, s.Environment, s.Default, s.Meaning})
	}
	return output.PrintTable(out, rows)
}
