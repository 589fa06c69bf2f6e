package pluginkit

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/plugins/packaging"
)

// tryFlags are those of 'nullops plugin test'.
type tryFlags struct {
	buildFlags
	conformance       bool
	settings          []string
	image, engine     string
	component, inputs string
}

func pluginTestCommand() *cobra.Command {
	var f tryFlags
	c := &cobra.Command{
		Use: "test DIR|IMAGE|SCRIPT", Short: "Run a plugin's recorded inputs in a real container",
		Args: exit.ExactArgs(1),
		Long: "Runs testdata/*.in.json against the plugin's image, as an agent would: the same\n" +
			"limits, no privileges, no network unless component.json asks for one. Shows input,\n" +
			"log, output and time, and compares the output with *.out.json.\n\n" +
			"Without --image, the image is built from DIR; it stays in the engine afterwards.\n\n" +
			"Of an IMAGE, HOST/REPOSITORY:TAG, no source is needed: what it offers is read from\n" +
			"its label " + packaging.ComponentLabel + " or from --component, and recorded inputs\n" +
			"from --inputs. Without a recorded create that works, the conformance suite skips\n" +
			"what needs one.\n\n" +
			"A SCRIPT is the source of a script step, a file that ends in .js, .mjs or .ts. It\n" +
			"runs in the same confined process as on an agent, without a container engine;\n" +
			"its recorded inputs may grant the clock with \"clock\": true.",
	}
	f.register(c)
	c.Flags().BoolVar(&f.conformance, "conformance", false, "also run the conformance suite")
	c.Flags().StringArrayVar(&f.settings, "set", nil, "NAME=VALUE for ${NAME} in recorded inputs")
	c.Flags().StringVar(&f.image, "image", "", "HOST/REPOSITORY:TAG to test instead of building")
	c.Flags().StringVar(&f.component, "component", "",
		"component.json of an IMAGE that has none in its label")
	c.Flags().StringVar(&f.inputs, "inputs", "", "folder with NAME.in.json and NAME.out.json "+
		"(default: DIR/testdata)")
	c.Flags().StringVar(&f.engine, "docker", "", "engine to use (default: DOCKER_HOST)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if isScript(args[0]) {
			return f.runScript(c.Context(), c.OutOrStdout(), args[0])
		}
		return f.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), args[0])
	}
	return c
}

func (f *tryFlags) run(ctx context.Context, in io.Reader, out io.Writer, what string) error {
	values, err := parseSettings(f.settings)
	if err != nil {
		return err
	}
	credentials, err := f.readCredentials(in)
	if err != nil {
		return err
	}
	p, err := f.openSubject(ctx, what, credentials)
	if err != nil {
		return err
	}
	samples, err := p.readSamples(values)
	if err != nil {
		return err
	}
	t, err := f.openTrial(ctx, credentials, p)
	if err != nil {
		return err
	}
	defer t.close(ctx)
	failed := t.runSamples(ctx, out, samples)
	if f.conformance {
		more, err := t.runConformance(ctx, out, samples)
		if err != nil {
			return err
		}
		failed += more
	}
	if failed > 0 {
		return fmt.Errorf("%s: %d failed", p.name, failed)
	}
	return nil
}
