package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// A test or story runs each command that the documentation names: it says the command's words one
// after the other, as arguments or in one text.
func TestDocs_CommandsAreRunByTests(t *testing.T) {
	root := rootCommand()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	documented := map[string]bool{}
	for _, name := range documentationFiles(t) {
		if strings.Contains(name, "/reference/") || strings.HasSuffix(name, "/cli-json.md") {
			continue // its examples are run by TestContract
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range documentedCommand.FindAllStringSubmatch(string(text), -1) {
			cmd, _, err := root.Find(strings.Fields(match[1]))
			if err == nil && cmd.Runnable() && !cmd.HasSubCommands() {
				documented[strings.TrimPrefix(cmd.CommandPath(), "nullops ")] = true
			}
		}
	}
	tests := testSources(t)
	for _, path := range runElsewhere {
		documented[path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(documented)) {
		words := strings.Fields(strings.TrimPrefix(path, "plugin ")) // the kit's tests leave it out
		quoted := regexp.QuoteMeta(`"` + strings.Join(words, `", "`) + `"`)
		if len(words) == 1 { // the word alone may be anything
			quoted = `(?:\(|\{|, )` + quoted + `[,)}]`
		}
		// promise: D-02
		if !regexp.MustCompile(quoted + `|nullops ` + path + `\b`).MatchString(tests) {
			t.Errorf("no test runs nullops %s", path)
		}
	}
	if len(documented) < 80 {
		t.Errorf("only %d commands were found: this test looks in the wrong place", len(documented))
	}
}

// testSources are the tests of the program and of its commands, the browser's and the demo.
func testSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, root := range []string{".", "../../ui/e2e", "../../tools/demo", "../../deploy"} {
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			test := strings.HasSuffix(name, "_test.go") || root != "." &&
				slices.Contains([]string{".go", ".mjs", ".sh"}, filepath.Ext(name))
			if err != nil || entry.IsDir() || !test || strings.Contains(name, "documented_") {
				return err
			}
			text, err := os.ReadFile(name)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
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
	switch args[0] {
	case "script-runner":
		return "" // A role that the program gives itself, see main.
	case "enrolment":
		return "" // A text that machines sign, which the contract spells out.
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
