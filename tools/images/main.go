// Command images builds every container image of this repository without a
// container engine, and serves them from a small registry of its own.
//
//	tools/run images build                          builds into .cache/images
//	tools/run images push --to 127.0.0.1:5555       builds, then pushes what is missing there
//	tools/run images serve --listen 127.0.0.1:5555  serves what was pushed, from disk
//	tools/run images list                           names all images, builds nothing
//
// An image is a few layers and a config. A layer is made once for its content
// and kept in the cache; the rest is computed in milliseconds, the same each
// time, so equal sources give equal digests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := runImages(ctx, os.Args[1:], os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

const usage = `use one of
  images build [--cache DIR] [--only PREFIX] [--applications]
  images push  --to HOST:PORT [--cache DIR] [--only PREFIX] [--applications]
  images serve --listen HOST:PORT [--data DIR]
  images list  [--only PREFIX] [--applications]`

// options are the flags of every subcommand.
type options struct {
	root, cache, only, to, listen, data, nullops string
	packages                                     string
	// applications means those of others instead of the images of this repository.
	applications bool
}

func runImages(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	o := options{root: root}
	flags := flag.NewFlagSet("images "+args[0], flag.ContinueOnError)
	flags.StringVar(&o.cache, "cache", filepath.Join(root, ".cache", "images"),
		"where layers are kept")
	flags.StringVar(&o.only, "only", "", "only images whose name begins with this, such as shop/")
	flags.StringVar(&o.to, "to", "", "registry to push to, host:port")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:5555", "address to serve on")
	flags.StringVar(&o.data, "data", filepath.Join(root, ".nullops", "registry"),
		"where the registry keeps what was pushed")
	flags.StringVar(&o.nullops, "nullops", filepath.Join(root, "bin", "nullops"),
		"the program for the image nullops/agent; left out when it is not there")
	flags.StringVar(&o.packages, "packages", "",
		"folder with .deb files to use for shop/postgres instead of downloading them")
	flags.BoolVar(&o.applications, "applications", false,
		"instead of this repository's images: the applications of make test-apps")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "build":
		return runBuild(ctx, o, out)
	case "push":
		return runPush(ctx, o, out)
	case "serve":
		return runServe(ctx, o, out)
	case "list":
		return runList(o, out)
	default:
		return fmt.Errorf("unknown command %q; %s", args[0], usage)
	}
}

// findRoot walks up to the folder of our go.mod.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.Contains(string(data), "module github.com/nullops/nullops\n") {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the repository: run this inside it")
		}
		dir = parent
	}
}

func runList(o options, out io.Writer) error {
	recipes, err := listRecipes(o)
	if err != nil {
		return err
	}
	for _, r := range recipes {
		if strings.HasPrefix(r.repository, o.only) {
			_, _ = fmt.Fprintln(out, r.ref())
		}
	}
	return nil
}
