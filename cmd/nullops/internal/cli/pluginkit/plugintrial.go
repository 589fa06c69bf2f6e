package pluginkit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/uuid"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/plugins/conformance"
	"github.com/nullops/nullops/plugins/packaging"
	"github.com/nullops/nullops/plugins/stdio"
)

// localEngine is where a Docker Engine listens unless somebody says otherwise.
const localEngine = "unix:///var/run/docker.sock"

// pluginTrial runs one plugin on one engine.
type pluginTrial struct {
	plugin  pluginFolder
	runtime *docker.Docker
	spec    agent.PluginSpec
	// temporary are folders to remove.
	temporary []string
	serial    int
}

// openTrial connects to the engine and puts the plugin's image there.
func (f *tryFlags) openTrial(
	ctx context.Context,
	credentials packaging.Credentials,
	p pluginFolder,
) (
	*pluginTrial, error,
) {
	t := &pluginTrial{plugin: p}
	err := t.connectEngine(ctx, f.engine)
	if err == nil {
		err = f.prepareSpec(ctx, credentials, t)
	}
	if err != nil {
		t.close(ctx)
		return nil, err
	}
	return t, nil
}

func (t *pluginTrial) connectEngine(ctx context.Context, engine string) error {
	data, err := t.makeFolder("")
	if err != nil {
		return err
	}
	// What an agent keeps in memory only is kept in memory here too.
	run, err := t.makeFolder("/dev/shm")
	if err != nil {
		return err
	}
	t.runtime, err = docker.New(ctx, docker.Config{
		Host:    cmp.Or(engine, os.Getenv("DOCKER_HOST"), localEngine),
		Install: "try-" + uuid.NewString()[:8], DataDir: data, RunDir: run,
		Log: slog.New(slog.DiscardHandler)})
	return err
}

// makeFolder makes a temporary folder that close removes.
func (t *pluginTrial) makeFolder(in string) (string, error) {
	dir, err := os.MkdirTemp(in, "nullops-try-")
	if err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	t.temporary = append(t.temporary, dir)
	return dir, nil
}

// prepareSpec sets how the plugin runs: with the limits that an agent uses.
func (f *tryFlags) prepareSpec(
	ctx context.Context,
	credentials packaging.Credentials,
	t *pluginTrial,
) error {
	image, err := f.provideImage(ctx, credentials, t)
	if err != nil {
		return err
	}
	c := t.plugin.component
	t.spec = agent.PluginSpec{Deployment: uuid.NewString(), Run: "try", Image: image,
		Resources: pipeline.Resources{CPU: c.Resources.CPU, MemoryMiB: c.Resources.MemoryMiB},
		Network:   c.Network, Timeout: c.Timeout(), StdoutLimit: stdio.MaxResponse}
	if !c.Network {
		return nil
	}
	return t.runtime.Prepare(ctx, t.spec.Deployment)
}

// provideImage gets the image into the engine: the named one, or one that is built
// now.
func (f *tryFlags) provideImage(
	ctx context.Context,
	credentials packaging.Credentials,
	t *pluginTrial,
) (
	pipeline.Image, error,
) {
	if f.image != "" {
		return t.pullImage(ctx, f.image, credentials)
	}
	_, built, err := f.buildImage(ctx, t.plugin.dir, credentials)
	if err != nil {
		return pipeline.Image{}, err
	}
	return loadIntoEngine(ctx, t.runtime, t.plugin.name, built)
}

func (t *pluginTrial) pullImage(
	ctx context.Context,
	named string,
	credentials packaging.Credentials,
) (
	pipeline.Image, error,
) {
	ref, err := packaging.ParseReference(named)
	if err != nil {
		return pipeline.Image{}, exit.AsUsageError(err)
	}
	auth, err := pullAuth(ctx, named, credentials)
	if err != nil {
		return pipeline.Image{}, err
	}
	image := pipeline.Image{Registry: ref.RegistryStr(), Repository: ref.RepositoryStr(),
		Tag: ref.TagStr()}
	return image, t.runtime.Pull(ctx, image, auth, nil)
}

// loadIntoEngine hands an image that was just built to the engine, through a registry that
// lives as long as this call: engines have no other door that every one of them
// opens.
func loadIntoEngine(ctx context.Context, runtime *docker.Docker, name string, built v1.Image) (
	pipeline.Image, error,
) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return pipeline.Image{}, fmt.Errorf("serve the image: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second,
		Handler: registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))}
	go func() { _ = server.Serve(l) }() // ends with Close, below
	defer func() { _ = server.Close() }()
	image := pipeline.Image{Registry: l.Addr().String(), Repository: "nullops-try/" + name}
	ref := image.Registry + "/" + image.Repository + ":built"
	if err := packaging.Push(ctx, ref, built, packaging.Credentials{}); err != nil {
		return image, err
	}
	digest, err := built.Digest()
	if err != nil {
		return image, fmt.Errorf("digest of the image: %w", err)
	}
	image.Digest = digest.String()
	if err := runtime.Pull(ctx, image, nil, nil); err != nil {
		return image, fmt.Errorf("the engine must be on this machine: %w", err)
	}
	return image, nil
}

// close removes everything of the trial from the engine and the disk.
func (t *pluginTrial) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if t.spec.Deployment != "" {
		left, err := t.runtime.RemoveDeployment(ctx, t.spec.Deployment)
		if err != nil || len(left) > 0 {
			fmt.Fprintln(os.Stderr, "nullops: left in the engine:", left, err)
		}
	}
	if t.runtime != nil {
		_ = t.runtime.Close() // the engine forgets us by itself
	}
	for _, dir := range t.temporary {
		_ = os.RemoveAll(filepath.Clean(dir)) // only temporary folders stay
	}
}

// run runs the plugin once; each run has a container of its own.
func (t *pluginTrial) run(ctx context.Context, stdin []byte) (conformance.RunResult, error) {
	spec := t.spec
	t.serial++
	spec.Step, spec.Action = pipeline.StepKey(fmt.Sprintf("try-%d", t.serial)), "create"
	var log []string
	// Making the container must not be cut short with the plugin.
	if err := t.runtime.CreatePlugin(context.WithoutCancel(ctx), spec); err != nil {
		return conformance.RunResult{}, err
	}
	r, err := t.runtime.RunPlugin(ctx, spec, stdin, func(line string) { log = append(log, line) })
	return conformance.RunResult{Stdout: r.Stdout, Log: log, ExitCode: r.ExitCode,
		TimedOut: r.TimedOut, OutOfMemory: r.OOM, Overflow: r.Overflow}, err
}
