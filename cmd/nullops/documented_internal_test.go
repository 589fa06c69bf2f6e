package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documentedCommand matches a command of ours in code, up to what is no part of it: the
// shell's own signs, an ellipsis, a comment, the end of the code.
var documentedCommand = regexp.MustCompile(
	"(?m)(?:`|^ {4,}(?:\\$ )?|^\\$ |^)nullops ((?:[a-z-][^`|>;&#…()\\\\\n]*))")

// Every command that the documentation names exists, with the flags that it names.
func TestDocs_NameCommandsThatExist(t *testing.T) {
	found := 0
	for _, name := range documentationFiles(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range documentedCommand.FindAllStringSubmatch(string(text), -1) {
			found++
			// promise: D-02
			if why := checkDocumented(match[1]); why != "" {
				t.Errorf("%s: nullops %s: %s", name, strings.TrimSpace(match[1]), why)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d commands were found: this test looks in the wrong place", found)
	}
}

func documentationFiles(t *testing.T) (names []string) {
	t.Helper()
	for _, root := range []string{"../../docs", "../../deploy", "../../README.md"} {
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && filepath.Ext(name) == ".md" {
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// checkDocumented looks a command up as the program does, and says what is wrong with it.
func checkDocumented(line string) string {
	args := strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(line))
	if args[0] == "script-runner" {
		return "" // A role that the program gives itself, see main.
	}
	root := rootCommand()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err.Error()
	}
	if cmd.HasSubCommands() && !cmd.Runnable() && len(rest) > 0 &&
		regexp.MustCompile(`^[a-z]+$`).MatchString(rest[0]) {
		return "there is no " + rest[0]
	}
	if cmd.DisableFlagParsing {
		return "" // Its flags are the settings, which another test holds to their page.
	}
	for _, arg := range rest {
		flag, ok := strings.CutPrefix(arg, "--")
		flag, _, _ = strings.Cut(flag, "=")
		if flag == "" && ok {
			break // What follows is a command of the service's own.
		}
		flag = strings.Trim(flag, ".,:'\"")
		if ok && flag != "help" && cmd.Flags().Lookup(flag) == nil &&
			cmd.InheritedFlags().Lookup(flag) == nil && cmd.PersistentFlags().Lookup(flag) == nil {
			return "it has no flag --" + flag
		}
	}
	return ""
}
