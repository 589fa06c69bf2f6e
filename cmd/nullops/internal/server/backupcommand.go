package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// copyOptions are the options of backup and restore that are no settings.
type copyOptions struct {
	volumes, running     bool
	folder, environment  string
	node                 string
	deployments          []string
	switches, parameters map[string]func(string)
}

const backupHelp = `Without options, 'nullops backup > FILE' writes the database, encrypted.
What is in the volumes of deployments is not in it.

With --volumes, the backup is a folder with the database and one encrypted file for each volume:

  --volumes            copy the volumes too
  --to FOLDER          where to; started again with the same options, it continues there
  --deployment NAME    only this deployment, by name or ID; may be repeated
  --env NAME           only the deployments of this environment
  --running            do not stop services while their volumes are copied: what they write
                       meanwhile may be copied in part

Services are stopped while their deployment's volumes are copied, one deployment after the other.
All other flags are settings, see 'nullops settings'.`

const restoreHelp = `'nullops restore < FILE', or --from FOLDER, fills an empty database.

With --volumes, and a control plane running, it writes the volumes that are in FOLDER:

  --from FOLDER        a backup that was made with --volumes
  --volumes            restore volumes, not the database
  --deployment NAME    only this deployment, by name or ID; may be repeated
  --env NAME           only the deployments of this environment
  --node NAME          restore on this node; without it, where the deployment is while that node is
                       online, otherwise where there is room

All other flags are settings, see 'nullops settings'.`

func backupCommand() *cobra.Command {
	return copyCommand("backup [--volumes --to FOLDER]", "Write everything to standard output, "+
		"encrypted: nullops backup > FILE", backupHelp, newBackupOptions,
		func(ctx context.Context, s Settings, log *slog.Logger, o *copyOptions) error {
			if o.volumes {
				return backUpVolumes(ctx, s, log, o)
			}
			return writeBackup(ctx, s, log)
		})
}

func restoreCommand() *cobra.Command {
	return copyCommand("restore [--from FOLDER [--volumes]]", "Fill an empty database from standard "+
		"input: nullops restore < FILE", restoreHelp, newRestoreOptions,
		func(ctx context.Context, s Settings, log *slog.Logger, o *copyOptions) error {
			switch {
			case o.volumes:
				return restoreVolumes(ctx, s, log, o)
			case o.folder != "":
				return restoreFolder(ctx, s, log, o.folder)
			}
			return restoreFrom(ctx, s, log, os.Stdin)
		})
}

func newBackupOptions() *copyOptions {
	o := newCopyOptions()
	o.switches["--running"] = func(string) { o.running = true }
	o.parameters["--to"] = func(v string) { o.folder = v }
	return o
}

func newRestoreOptions() *copyOptions {
	o := newCopyOptions()
	o.parameters["--from"] = func(v string) { o.folder = v }
	o.parameters["--node"] = func(v string) { o.node = v }
	return o
}

func newCopyOptions() *copyOptions {
	o := &copyOptions{}
	o.switches = map[string]func(string){"--volumes": func(string) { o.volumes = true }}
	o.parameters = map[string]func(string){
		"--deployment": func(v string) { o.deployments = append(o.deployments, v) },
		"--env":        func(v string) { o.environment = v },
	}
	return o
}

// copyCommand makes a command that has options besides the settings.
func copyCommand(use, short, long string, options func() *copyOptions,
	run func(context.Context, Settings, *slog.Logger, *copyOptions) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " [--SETTING=VALUE]…", Short: short, Long: long, DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			o := options()
			settings, err := o.take(args)
			if err != nil {
				return exit.WithCode(err, exit.Usage)
			}
			return runServer(c, settings, Settings.checkBackup,
				func(ctx context.Context, s Settings, log *slog.Logger) error {
					return run(ctx, s, log, o)
				})
		},
	}
}

// take reads the options, and returns the other arguments: settings.
func (o *copyOptions) take(args []string) (settings []string, err error) {
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		set, isSwitch := o.switches[name]
		if isSwitch && !given {
			set("")
			continue
		}
		set, known := o.parameters[name]
		if !known {
			settings = append(settings, args[i])
			continue
		}
		if !given {
			if i++; i == len(args) {
				return nil, fmt.Errorf("the option %s needs a value", name)
			}
			value = args[i]
		}
		if value == "" {
			return nil, fmt.Errorf("the option %s needs a value", name)
		}
		set(value)
	}
	return settings, o.check(settings)
}

func (o *copyOptions) check(settings []string) error {
	for _, a := range settings {
		if a == "-h" || a == "--help" {
			return nil
		}
	}
	_, isBackup := o.parameters["--to"]
	switch {
	case o.volumes && o.folder == "" && isBackup:
		return errors.New("--volumes needs --to FOLDER: what is written to standard output cannot be " +
			"continued after an interruption")
	case o.volumes && o.folder == "":
		return errors.New("--volumes needs --from FOLDER")
	case o.volumes:
		return nil
	case o.folder != "" && isBackup:
		return errors.New("--to needs --volumes; without them, write to a file: nullops backup > FILE")
	case len(o.deployments) > 0, o.environment != "", o.running, o.node != "":
		return errors.New("--deployment, --env, --node and --running need --volumes: the database is " +
			"copied as a whole")
	}
	return nil
}

func (o *copyOptions) selection() lifecycle.VolumeSelection {
	return lifecycle.VolumeSelection{Deployments: o.deployments, Environment: o.environment}
}
