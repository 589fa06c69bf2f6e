package pluginkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/plugins/packaging"
)

// buildFlags are what build, push and test have in common.
type buildFlags struct {
	program, from, user string
	passwordStdin       bool
}

func (f *buildFlags) register(c *cobra.Command) {
	f.registerCredentials(c)
	c.Flags().StringVar(&f.program, "program", "", "a static binary, or a folder with an "+
		"executable named run; default: what is built from the Go source in DIR, or DIR itself")
	c.Flags().StringVar(&f.from, "from", "", "image to build on, HOST/REPOSITORY:TAG: "+
		"a script needs one with its interpreter")
}

func (f *buildFlags) registerCredentials(c *cobra.Command) {
	c.Flags().StringVar(&f.user, "registry-user", "", "user of the registry; the password is read "+
		"from NULLOPS_REGISTRY_PASSWORD or, with --password-stdin, from standard input; "+
		"without both, what 'docker login' keeps is used")
	c.Flags().BoolVar(&f.passwordStdin, "password-stdin", false,
		"read the registry's password from standard input")
}

// readCredentials never come from arguments: those are public.
func (f *buildFlags) readCredentials(in io.Reader) (packaging.Credentials, error) {
	c := packaging.Credentials{User: f.user, Password: os.Getenv("NULLOPS_REGISTRY_PASSWORD")}
	if c.User == "" {
		c.User = os.Getenv("NULLOPS_REGISTRY_USER")
	}
	if f.passwordStdin {
		line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return c, fmt.Errorf("read the registry's password: %w", err)
		}
		c.Password = strings.TrimRight(line, "\r\n")
	}
	if c.Password != "" && c.User == "" {
		return c, exit.AsUsageError(
			errors.New("a registry password without a user: give --registry-user"))
	}
	return c, nil
}

func pluginBuildCommand() *cobra.Command {
	var f buildFlags
	var tag, out string
	var push bool
	c := &cobra.Command{
		Use: "build DIR --tag HOST/REPOSITORY:TAG (--out FILE | --push)", Args: exit.ExactArgs(1),
		Short: "Build a plugin's image, without Docker",
		Long: "Builds an OCI image from a static binary or from a folder. The same files produce the\n" +
			"same digest, whenever and in whatever folder. Without --from, this machine's\n" +
			"certificate authorities are among them; Go source is compiled with this machine's Go.\n" +
			"--out writes a file that 'docker load' takes.",
	}
	f.register(c)
	c.Flags().StringVar(&tag, "tag", "", "the image's name, HOST/REPOSITORY:TAG")
	c.Flags().StringVar(&out, "out", "", "file to write")
	c.Flags().BoolVar(&push, "push", false, "push it to its registry")
	c.RunE = func(c *cobra.Command, args []string) error {
		if tag == "" || out == "" && !push {
			return exit.AsUsageError(errors.New("give --tag, and --out or --push"))
		}
		credentials, err := f.readCredentials(c.InOrStdin())
		if err != nil {
			return err
		}
		p, image, err := f.buildImage(c.Context(), args[0], credentials)
		if err != nil {
			return err
		}
		if out != "" {
			if err := writeImage(out, tag, image); err != nil {
				return err
			}
		}
		if push {
			if err := packaging.Push(c.Context(), tag, image, credentials); err != nil {
				return err
			}
		}
		return sayBuilt(c.OutOrStdout(), p.name, tag, image)
	}
	return c
}

func sayBuilt(w io.Writer, name, tag string, image v1.Image) error {
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("digest of the image: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n%s@%s\n", name, tag, digest)
	return err
}

func pluginPushCommand() *cobra.Command {
	var f buildFlags
	var file string
	c := &cobra.Command{
		Use: "push HOST/REPOSITORY:TAG --file FILE", Args: exit.ExactArgs(1),
		Short: "Push an image that was built to a file",
		Long:  "Plain HTTP is spoken to loopback addresses only.",
	}
	c.Flags().StringVar(&file, "file", "", "what 'nullops plugin build --out' wrote")
	f.registerCredentials(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if file == "" {
			return exit.AsUsageError(errors.New("give --file"))
		}
		credentials, err := f.readCredentials(c.InOrStdin())
		if err != nil {
			return err
		}
		image, err := tarball.ImageFromPath(file, nil)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if err := packaging.Push(c.Context(), args[0], image, credentials); err != nil {
			return err
		}
		return sayBuilt(c.OutOrStdout(), filepath.Base(file), args[0], image)
	}
	return c
}

func writeImage(file, tag string, image v1.Image) error {
	ref, err := packaging.ParseReference(tag)
	if err != nil {
		return err
	}
	if err := tarball.WriteToFile(file, ref, image); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// buildImage makes the image of a plugin's folder.
func (f *buildFlags) buildImage(
	ctx context.Context,
	dir string,
	credentials packaging.Credentials,
) (
	pluginFolder, v1.Image, error,
) {
	p, err := openPlugin(dir)
	if err != nil {
		return p, nil, err
	}
	recipe := packaging.Plugin{Name: p.name, Component: p.text, Program: f.program,
		Cache: layerCache()}
	if f.from != "" {
		if recipe.From, err = packaging.Pull(ctx, f.from, credentials); err != nil {
			return p, nil, err
		}
	}
	if recipe.Program == "" {
		program, clean, err := p.buildProgram(ctx)
		if err != nil {
			return p, nil, err
		}
		defer clean()
		recipe.Program = program
	}
	image, err := recipe.Build()
	return p, image, err
}

// layerCache is the user's folder for image layers between builds.
func layerCache() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "nullops", "plugin")
}

// buildProgram is what goes into the image: Go source is compiled, anything else is
// the folder itself.
func (p pluginFolder) buildProgram(ctx context.Context) (string, func(), error) {
	nothing := func() {}
	if _, err := os.Stat(filepath.Join(p.dir, "main.go")); err != nil {
		return p.dir, nothing, nil
	}
	temp, err := os.MkdirTemp("", "nullops-plugin-")
	if err != nil {
		return "", nothing, fmt.Errorf("build %s: %w", p.name, err)
	}
	clean := func() { _ = os.RemoveAll(temp) } // only a temporary folder stays
	program := filepath.Join(temp, p.name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w", "-o", program, ".")
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		clean()
		return "", nothing, fmt.Errorf("build %s: %w\n%s", p.name, err, out)
	}
	return program, clean, nil
}
