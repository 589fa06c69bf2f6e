// Package pluginkit holds the commands with which people write, check, try and publish plugins.
// They need no control plane.
package pluginkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/plugins/stdio"
)

// Command returns the command "plugin".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use: "plugin", Short: "Create, check, test and publish plugins",
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
		return p, exit.AsUsageError(fmt.Errorf("%s is not a plugin's folder: %w; "+
			"'nullops plugin init' makes one", dir, err))
	}
	p.component, err = stdio.ParseComponent(p.text)
	return p, err
}

// recordedSample is one recorded input with what should come out, if that is recorded.
type recordedSample struct {
	name    string
	in, out []byte
	// missing are the values that --set did not set.
	missing []string
}

// requestObject returns the input as an object; nil if it is not one, which is a valid sample.
func (s recordedSample) requestObject() map[string]any {
	var r map[string]any
	if json.Unmarshal(s.in, &r) != nil {
		return nil
	}
	return r
}

// isSuccess reports whether the recorded answer is a success.
func (s recordedSample) isSuccess() bool {
	var answer struct{ Success bool }
	return json.Unmarshal(s.out, &answer) == nil && answer.Success
}

// readSamples reads the recorded inputs in the order of their names.
func (p pluginFolder) readSamples(values map[string]string) ([]recordedSample, error) {
	if p.inputs == "" {
		return nil, nil
	}
	found, err := filepath.Glob(filepath.Join(p.inputs, "*.in.json"))
	if err != nil {
		return nil, fmt.Errorf("find recorded inputs: %w", err)
	}
	slices.Sort(found)
	var all []recordedSample
	for _, path := range found {
		s, err := readSample(path, values)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func readSample(path string, values map[string]string) (s recordedSample, err error) {
	s.name = strings.TrimSuffix(filepath.Base(path), ".in.json")
	if s.in, err = os.ReadFile(path); err != nil {
		return s, fmt.Errorf("recorded input: %w", err)
	}
	s.out, err = os.ReadFile(strings.TrimSuffix(path, ".in.json") + ".out.json")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("recorded answer: %w", err)
	}
	var more []string
	s.in, s.missing = fillIn(s.in, values)
	s.out, more = fillIn(s.out, values)
	s.missing = slices.Compact(slices.Sorted(slices.Values(append(s.missing, more...))))
	return s, nil
}

// settable is ${NAME}; references of pipelines, ${{ … }}, are none.
var settable = regexp.MustCompile(`\$\{[^{}]+\}`)

// fillIn replaces ${NAME} and returns the names without a value. Values are escaped as
// parts of JSON strings, so that quotes in a password do not end the string.
func fillIn(text []byte, values map[string]string) (filled []byte, missing []string) {
	filled = settable.ReplaceAllFunc(text, func(match []byte) []byte {
		name := string(match[2 : len(match)-1])
		value, known := values[name]
		if !known {
			missing = append(missing, name)
			return match
		}
		quoted, _ := json.Marshal(value) // strings always marshal
		return quoted[1 : len(quoted)-1]
	})
	return filled, missing
}

// parseSettings reads NAME=VALUE pairs.
func parseSettings(settings []string) (map[string]string, error) {
	values := map[string]string{}
	for _, s := range settings {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, exit.AsUsageError(fmt.Errorf("--set %q: write NAME=VALUE", s))
		}
		values[name] = value
	}
	return values, nil
}
