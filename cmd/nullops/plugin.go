package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/plugins/stdio"
)

func pluginCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "plugin", Short: "Write, check, try and publish plugins",
		Long: "A plugin is a folder with component.json, a program, and recorded inputs in\n" +
			"testdata: NAME.in.json goes in, NAME.out.json should come out. In both,\n" +
			"${NAME} stands for a value given with --set NAME=VALUE, and in an .out.json\n" +
			"the string \"<any>\" accepts any value. None of these commands needs a\n" +
			"control plane; only test needs Docker.",
	}
	c.AddCommand(pluginInitCommand(), pluginValidateCommand(), pluginTestCommand(),
		pluginBuildCommand(), pluginPushCommand())
	return c
}

// pluginFolder is a plugin's source on disk.
type pluginFolder struct {
	dir       string
	name      string
	text      []byte
	component stdio.Component
	// inputs is the folder with recorded inputs; an image alone has none.
	inputs string
}

func openPlugin(dir string) (pluginFolder, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return pluginFolder{}, fmt.Errorf("plugin %s: %w", dir, err)
	}
	p := pluginFolder{dir: full, name: filepath.Base(full),
		inputs: filepath.Join(full, "testdata")}
	if p.text, err = os.ReadFile(filepath.Join(full, "component.json")); err != nil {
		return p, usageError{fmt.Errorf("%s is not a plugin's folder: %w; "+
			"'nullops plugin init' makes one", dir, err)}
	}
	p.component, err = stdio.ParseComponent(p.text)
	return p, err
}

// sample is one recorded input with what should come out, if that is recorded.
type sample struct {
	name    string
	in, out []byte
	// missing are the values that --set did not give.
	missing []string
}

// request is the input as an object; nil if it is none, which is a fine sample.
func (s sample) request() map[string]any {
	var r map[string]any
	if json.Unmarshal(s.in, &r) != nil {
		return nil
	}
	return r
}

// succeeds reports whether the recorded answer is a success.
func (s sample) succeeds() bool {
	var answer struct{ Success bool }
	return json.Unmarshal(s.out, &answer) == nil && answer.Success
}

func (p pluginFolder) samples(values map[string]string) ([]sample, error) {
	if p.inputs == "" {
		return nil, nil
	}
	found, err := filepath.Glob(filepath.Join(p.inputs, "*.in.json"))
	if err != nil {
		return nil, fmt.Errorf("find recorded inputs: %w", err)
	}
	slices.Sort(found)
	var all []sample
	for _, path := range found {
		s := sample{name: strings.TrimSuffix(filepath.Base(path), ".in.json")}
		if s.in, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("recorded input: %w", err)
		}
		s.out, err = os.ReadFile(strings.TrimSuffix(path, ".in.json") + ".out.json")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("recorded answer: %w", err)
		}
		s.in, s.missing = fillIn(s.in, values)
		s.out, _ = fillIn(s.out, values)
		all = append(all, s)
	}
	return all, nil
}

// fillIn replaces ${NAME} and says which names have no value. References of
// pipelines, ${{ … }}, are left alone.
func fillIn(text []byte, values map[string]string) ([]byte, []string) {
	var missing []string
	var b strings.Builder
	rest := string(text)
	for {
		before, after, found := strings.Cut(rest, "${")
		b.WriteString(before)
		if !found {
			return []byte(b.String()), missing
		}
		name, tail, closed := strings.Cut(after, "}")
		value, known := values[name]
		switch {
		case !closed || strings.HasPrefix(name, "{"):
			b.WriteString("${")
			rest = after
			continue
		case known:
			b.WriteString(value)
		default:
			b.WriteString("${" + name + "}")
			missing = append(missing, name)
		}
		rest = tail
	}
}

// parseSettings reads NAME=VALUE pairs.
func parseSettings(settings []string) (map[string]string, error) {
	values := map[string]string{}
	for _, s := range settings {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Errorf("--set %q: write NAME=VALUE", s)}
		}
		values[name] = value
	}
	return values, nil
}
