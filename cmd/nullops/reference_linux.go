package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/cmd/nullops/internal/reference"
	"github.com/nullops/nullops/cmd/nullops/internal/server"
)

func programReference() reference.Program {
	return reference.Program{Root: rootCommand(), Settings: server.ListSettings()}
}

// referenceCommand writes the pages that are made of the commands; tools/generate.sh and
// tools/release run it.
func referenceCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reference docs|man FOLDER", Hidden: true, Args: exit.ExactArgs(2),
		Short: "Write the reference of all commands, or their man pages, into a folder",
		RunE: func(_ *cobra.Command, args []string) error {
			program := programReference()
			switch args[0] {
			case "docs":
				files, err := program.Docs()
				if err != nil {
					return err
				}
				return writeFiles(args[1], files)
			case "man":
				return writeFiles(args[1], program.ManPages())
			}
			return exit.AsUsageError(fmt.Errorf("%q is neither docs nor man", args[0]))
		},
	}
}

func writeFiles(folder string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
