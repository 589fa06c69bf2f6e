package pluginkit

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// scaffolds holds a folder per language. Names end in .txt, so that no tool
// takes a template for source.
//
//go:embed scaffold
var scaffolds embed.FS

func pluginInitCommand() *cobra.Command {
	var language string
	c := &cobra.Command{
		Use: "init NAME", Short: "Create a folder with a working plugin", Args: exit.ExactArgs(1),
		Long: "Creates the folder NAME with source, component.json, recorded inputs and a README.\n" +
			"The plugin can be built without NullOps.",
	}
	c.Flags().StringVar(&language, "lang", "go", "go, python or shell")
	c.RunE = func(c *cobra.Command, args []string) error {
		return initPlugin(c.OutOrStdout(), args[0], language)
	}
	return c
}

func initPlugin(out io.Writer, dir, language string) error {
	name := filepath.Base(dir)
	if !regexp.MustCompile(`^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$`).MatchString(name) {
		return exit.AsUsageError(fmt.Errorf("name %q: use up to 40 lower-case letters, digits and "+
			"hyphens, beginning with a letter", name))
	}
	root := path.Join("scaffold", language)
	if _, err := fs.Stat(scaffolds, root); err != nil {
		return exit.AsUsageError(fmt.Errorf("--lang %q: use go, python or shell", language))
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make the plugin's folder: %w", err)
	}
	for _, from := range []string{root, "scaffold/any"} {
		if err := copyScaffold(from, dir, name); err != nil {
			return errors.Join(fmt.Errorf("write the plugin: %w", err), os.RemoveAll(dir))
		}
	}
	from := "" // a script needs an image with what it runs in
	if language != "go" {
		from = " --from HOST/REPOSITORY:TAG"
	}
	_, err := fmt.Fprintf(out, "Made %s. Next:\n  nullops plugin validate %s\n  "+
		"nullops plugin test %s%s\n", dir, dir, dir, from)
	return err
}

func copyScaffold(from, dir, name string) error {
	return fs.WalkDir(scaffolds, from, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := scaffolds.ReadFile(at)
		if err != nil {
			return err
		}
		rel := strings.TrimSuffix(strings.TrimPrefix(at, from+"/"), ".txt")
		to := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if path.Base(rel) == "run" {
			mode = 0o755
		}
		return os.WriteFile(to, []byte(strings.ReplaceAll(string(text), "PLUGIN_NAME", name)), mode)
	})
}
