// Package reference writes the reference of the command line from the commands themselves: pages
// for the documentation, the published form of what --json prints, and man pages. Nothing in them
// is written by hand, so they cannot say what the program does not do.
package reference

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Setting is one setting of the server commands.
type Setting struct {
	Flag, Environment, Default, Meaning string
}

// Program is what the reference is made of.
type Program struct {
	Root     *cobra.Command
	Settings []Setting
}

// Docs are the pages below docs/, by their names there.
func (p Program) Docs() (map[string]string, error) {
	if missing := p.undescribed(); len(missing) > 0 {
		return nil, fmt.Errorf("no description has %s", strings.Join(missing, ", "))
	}
	schema, err := p.jsonSchema()
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"reference/commands.md": p.commandsPage(),
		"reference/settings.md": p.settingsPage(),
		"cli-json.md":           p.jsonPage(),
		"cli-json.schema.json":  schema,
	}, nil
}

// undescribed are commands, flags and settings without a description.
func (p Program) undescribed() (missing []string) {
	for _, c := range p.Commands() {
		if c.Short == "" {
			missing = append(missing, c.CommandPath())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				missing = append(missing, c.CommandPath()+" --"+f.Name)
			}
		})
	}
	for _, s := range p.Settings {
		if s.Meaning == "" {
			missing = append(missing, "setting "+s.Flag)
		}
	}
	return missing
}

// Commands are all commands that people run, each before those below it.
func (p Program) Commands() []*cobra.Command { return listCommands(p.Root) }

func listCommands(c *cobra.Command) (all []*cobra.Command) {
	for _, below := range c.Commands() {
		if below.Hidden || below.Name() == "help" {
			continue
		}
		all = append(append(all, below), listCommands(below)...)
	}
	return all
}

const generatedNote = "<!-- Made by tools/generate.sh from the commands. Do not edit. -->\n\n"

func (p Program) commandsPage() string {
	var b strings.Builder
	b.WriteString("# Commands\n\n" + generatedNote +
		"`nullops COMMAND --help` prints the same. [Settings](settings.md) are the flags of the " +
		"commands that\nrun servers; [what --json prints](../cli-json.md) has a page of its own.\n\n")
	writeContract(&b)
	for _, c := range p.Commands() {
		writeCommand(&b, c)
	}
	return b.String()
}

// writeContract writes what holds for all commands.
func writeContract(b *strings.Builder) {
	b.WriteString("## What holds for every command\n\n" +
		"- Standard output has what you asked for. Questions, warnings, hints and errors go to " +
		"standard error.\n" +
		"- Without a terminal, no command asks a question or waits for input that you did not " +
		"announce, as with\n  `--password-stdin`, `-f -` or `exec`.\n" +
		"- An error says what is wrong, and ends with a line that begins with `→` and says what you " +
		"can do.\n" +
		"- Colours are printed on a terminal only, and not if `NO_COLOR` is set or `TERM` is " +
		"`dumb`.\n" +
		"- `--json`, where a command has it, prints one document, and its form is published.\n\n" +
		"| exit code | meaning |\n|---|---|\n" +
		"| 0 | it worked |\n" +
		"| 1 | something failed: the network, a file, the control plane |\n" +
		"| 2 | the command line or a setting is wrong |\n" +
		"| 3 | the control plane refused: invalid, in use, no room, not there |\n" +
		"| 4 | you are not signed in, or have no access |\n" +
		"| 5 | the deployment failed, or is not as it should be |\n\n" +
		"`nullops exec` exits with the code of what it ran.\n")
}

func writeCommand(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", c.CommandPath(), strings.TrimSuffix(c.Short, "."))
	if c.Long != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimRight(c.Long, "\n"))
	}
	if !c.Runnable() {
		return
	}
	fmt.Fprintf(b, "\n```text\n%s\n```\n", c.UseLine())
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", unindent(c.Example))
	}
	writeFlags(b, c.NonInheritedFlags())
}

func unindent(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(text, "\n  ", "\n"), "  ")
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	rows := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		if rows++; rows == 1 {
			b.WriteString("\n| flag | meaning | default |\n|---|---|---|\n")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", flagName(f), cell(f.Usage), defaultCell(f))
	})
}

func flagName(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if kind := f.Value.Type(); kind != "bool" {
		name += " " + strings.ToUpper(cmp.Or(map[string]string{"stringArray": "text",
			"stringSlice": "text", "strings": "text", "string": "text", "int": "number"}[kind], kind))
	}
	return name
}

func defaultCell(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return ""
	}
	return "`" + f.DefValue + "`"
}

// cell is a text as a cell of a Markdown table, in which nothing is markup.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", ">", "&gt;", "*", "\\*",
		"{", "&#123;", "}", "&#125;").Replace(text)
}

func (p Program) settingsPage() string {
	var b strings.Builder
	b.WriteString("# Settings\n\n" + generatedNote +
		"Settings are flags, environment variables, or entries of a YAML, JSON or TOML file that " +
		"`--config=FILE` or\n`NULLOPS_CONFIG` names. A flag wins over the environment, which wins " +
		"over the file. In the file, a dot is a\nsection: `database.url` is `url` below `database`. " +
		"`nullops settings` prints this list.\n\n" +
		"| flag | environment | default | meaning |\n|---|---|---|---|\n")
	for _, s := range p.Settings {
		value := ""
		if s.Default != "" {
			value = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", s.Flag, s.Environment, value, cell(s.Meaning))
	}
	return b.String()
}
