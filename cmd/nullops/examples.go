package main

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

// examples has a line or more for each command.
//
//go:embed examples.txt
var examples string

// addExamples gives each command its lines of examples.txt. The comment above some lines is about
// the command of the first of them.
func addExamples(root *cobra.Command) {
	var comment string
	var about *cobra.Command
	for line := range strings.Lines(examples) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			comment, about = "", nil
			continue
		case strings.HasPrefix(line, "#"):
			if about != nil {
				comment, about = "", nil
			}
			comment += "  " + line + "\n"
			continue
		}
		c, _, err := root.Find(strings.Fields(strings.TrimPrefix(line, root.Name()+" ")))
		if err != nil {
			continue // TestContract names lines that belong to no command
		}
		if c.Example != "" {
			c.Example += "\n"
		}
		if about == nil {
			c.Example += comment
			about = c
		}
		c.Example += "  " + line
	}
}
