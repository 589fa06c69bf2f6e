package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/plugins/packaging"
)

// built is an image that can be pushed.
type built struct {
	recipe
	image  v1.Image
	digest v1.Hash
}

// runBuild builds and says what came out.
func runBuild(ctx context.Context, o options, out io.Writer) error {
	images, err := buildAll(ctx, o, out)
	if err != nil {
		return err
	}
	for _, b := range images {
		_, _ = fmt.Fprintf(out, "%-44s %s\n", b.ref(), b.digest)
	}
	return nil
}

// buildAll builds all images, or those --only asks for.
func buildAll(ctx context.Context, o options, out io.Writer) ([]built, error) {
	recipes, err := listRecipes(o)
	if err != nil {
		return nil, err
	}
	unlock, err := lockCache(o.cache)
	if err != nil {
		return nil, err
	}
	defer unlock()
	b := builder{options: o, out: out, bases: map[string]packaging.Layer{}}
	switch _, err := os.Stat(o.nullops); {
	case o.applications:
	case err == nil:
		recipes = append(recipes, agentRecipe())
	case strings.HasPrefix(agentRecipe().repository, o.only):
		_, _ = fmt.Fprintf(out, "nullops/agent is left out: there is no %s\n", o.nullops)
	}
	recipes = selectRecipes(recipes, o.only)
	if err := b.compile(ctx, recipes); err != nil {
		return nil, err
	}
	var images []built
	for _, r := range recipes {
		image, err := b.assemble(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", r.ref(), err)
		}
		images = append(images, image)
	}
	return images, nil
}

// listRecipes lists those of this repository, or the applications of others.
func listRecipes(o options) ([]recipe, error) {
	if o.applications {
		return applicationRecipes(o.root), nil
	}
	return allRecipes(o.root)
}

func selectRecipes(all []recipe, prefix string) []recipe {
	var some []recipe
	for _, r := range all {
		if strings.HasPrefix(r.repository, prefix) {
			some = append(some, r)
		}
	}
	return some
}

// lockCache keeps two builds out of each other's cache.
func lockCache(cache string) (func(), error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the cache: %w", err), f.Close())
	}
	return func() { _ = f.Close() }, nil // closing unlocks
}

type builder struct {
	options
	out   io.Writer
	bases map[string]packaging.Layer
}

func (b builder) bin() string { return filepath.Join(b.cache, "bin") }

// compile builds the recipes' programs in one call; Go's own cache makes it
// quick when nothing changed, and -trimpath makes it the same everywhere.
func (b builder) compile(ctx context.Context, recipes []recipe) error {
	var sources []string
	for _, r := range recipes {
		for _, source := range append([]string{r.source}, r.more...) {
			if source != "" && !slices.Contains(sources, source) {
				sources = append(sources, source)
			}
		}
	}
	if len(sources) == 0 {
		return nil
	}
	if err := os.MkdirAll(b.bin(), 0o755); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	args := append([]string{
		"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", b.bin() + "/",
	}, sources...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile the programs: %w\n%s", err, out)
	}
	return nil
}

func (b builder) assemble(ctx context.Context, r recipe) (built, error) {
	layers, err := b.layers(ctx, r)
	if err != nil {
		return built{}, err
	}
	image, err := packaging.Assemble(packaging.Plan{
		Layers: layers, Config: r.config(), Created: r.created, By: "tools/images",
	})
	if err != nil {
		return built{}, err
	}
	digest, err := image.Digest()
	return built{recipe: r, image: image, digest: digest}, err
}

// config is the image's configuration for an engine.
func (r recipe) config() v1.Config {
	c := v1.Config{
		Entrypoint: r.entrypoint, Cmd: r.command, User: r.user, Env: r.env,
		StopSignal: r.stopSignal, WorkingDir: "/", Labels: map[string]string{
			"org.opencontainers.image.title":   r.title,
			"org.opencontainers.image.version": r.tag,
			"org.opencontainers.image.created": r.created.Format(time.RFC3339),
		},
	}
	if c.Entrypoint == nil {
		c.Entrypoint = []string{"/app/" + r.program}
	}
	maps.Copy(c.Labels, r.labels)
	if r.revision != "" {
		c.Labels["org.opencontainers.image.revision"] = r.revision
		c.Labels["org.opencontainers.image.ref.name"] = r.branch
	}
	if len(r.ports) > 0 {
		c.ExposedPorts = map[string]struct{}{}
	}
	for _, port := range r.ports {
		c.ExposedPorts[port] = struct{}{}
	}
	if len(r.volumes) > 0 {
		c.Volumes = map[string]struct{}{}
	}
	for _, path := range r.volumes {
		c.Volumes[path] = struct{}{}
	}
	return c
}

// layers are, from rarely to often changing: base, program, small files.
func (b builder) layers(ctx context.Context, r recipe) ([]packaging.Layer, error) {
	base, err := b.base(ctx, r.base)
	if err != nil {
		return nil, err
	}
	switch {
	case r.program == "" && len(r.files) == 0:
		return []packaging.Layer{base}, nil
	case r.program == "":
		own, err := packaging.MakeLayer(b.cache, r.files)
		return []packaging.Layer{base, own}, err
	}
	from := filepath.Join(b.bin(), r.program)
	if r.program == "nullops" {
		from = b.nullops
	}
	programs := []packaging.File{{Path: "app/" + r.program, From: from, Mode: 0o755}}
	for _, source := range r.more {
		name := filepath.Base(source)
		programs = append(programs, packaging.File{Path: "app/" + name,
			From: filepath.Join(b.bin(), name), Mode: 0o755})
	}
	program, err := packaging.MakeLayer(b.cache, programs)
	if err != nil {
		return nil, err
	}
	layers := []packaging.Layer{base, program}
	if len(r.files) > 0 {
		extra, err := packaging.MakeLayer(b.cache, r.files)
		if err != nil {
			return nil, err
		}
		layers = append(layers, extra)
	}
	return layers, nil
}

// base returns a base layer, made once per run.
func (b builder) base(ctx context.Context, name string) (packaging.Layer, error) {
	if l, made := b.bases[name]; made {
		return l, nil
	}
	var files []packaging.File
	var err error
	switch name {
	case "postgres":
		files, err = b.postgresBase(ctx)
	case "python":
		files, err = b.debianBase(ctx, name, packageSet{roots: pythonRoots()})
	case "shell":
		files, err = b.debianBase(ctx, name, packageSet{roots: shellRoots()})
	case "script":
		files, err = b.debianBase(ctx, name, packageSet{roots: scriptRoots()})
	case "mariadb":
		files, err = b.applicationBase(ctx, name, mariadbPackages())
	case "wordpress":
		files, err = b.applicationBase(ctx, name, wordpressPackages())
	default:
		files, err = packaging.StaticBase()
	}
	if err != nil {
		return packaging.Layer{}, err
	}
	l, err := packaging.MakeLayer(b.cache, files)
	if err == nil {
		b.bases[name] = l
	}
	return l, err
}
