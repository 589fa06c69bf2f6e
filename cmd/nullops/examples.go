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

// addExamples gives each command its lines of examples.txt, with the comment above them.
func addExamples(root *cobra.Command) {
	comment := ""
	for line := range strings.Lines(examples) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			comment = ""
			continue
		case strings.HasPrefix(line, "#"):
			comment = line
			continue
		}
		c, _, err := root.Find(strings.Fields(strings.TrimPrefix(line, root.Name()+" ")))
		if err != nil {
			continue // TestContract names lines that belong to no command
		}
		if c.Example != "" {
			c.Example += "\n"
		}
		if comment != "" && !strings.Contains(c.Example, comment) {
			c.Example += "  " + comment + "\n"
		}
		c.Example += "  " + line
	}
}
