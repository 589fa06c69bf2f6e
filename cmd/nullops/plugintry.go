package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/plugins/conformance"
	"github.com/nullops/nullops/plugins/packaging"
	"github.com/nullops/nullops/plugins/stdio"
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
		Use: "test DIR|IMAGE", Short: "Run a plugin's recorded inputs in a real container",
		Args: exactArgs(1),
		Long: "Runs testdata/*.in.json against the plugin's image, as an agent would: the same\n" +
			"limits, no privileges, no network unless component.json asks for one. Shows input,\n" +
			"log, output and time, and compares the output with *.out.json.\n\n" +
			"Without --image, the image is built from DIR; it stays in the engine afterwards.\n\n" +
			"Of an IMAGE, HOST/REPOSITORY:TAG, no source is needed: what it offers is read from\n" +
			"its label " + packaging.ComponentLabel + " or from --component, and recorded inputs\n" +
			"from --inputs. Without a recorded create that works, the conformance suite skips\n" +
			"what needs one.",
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
		return f.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), args[0])
	}
	return c
}

func (f *tryFlags) run(ctx context.Context, in io.Reader, out io.Writer, what string) error {
	values, err := parseSettings(f.settings)
	if err != nil {
		return err
	}
	credentials, err := f.credentials(in)
	if err != nil {
		return err
	}
	p, err := f.subject(ctx, what, credentials)
	if err != nil {
		return err
	}
	samples, err := p.samples(values)
	if err != nil {
		return err
	}
	t, err := f.open(ctx, credentials, p)
	if err != nil {
		return err
	}
	defer t.close(ctx)
	failed := t.samples(ctx, out, samples)
	if f.conformance {
		more, err := t.conform(ctx, out, samples)
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

// trial runs one plugin on one engine.
type trial struct {
	plugin  pluginFolder
	runtime *docker.Docker
	spec    agent.PluginSpec
	// temporary are folders to remove.
	temporary []string
	serial    int
}

func (f *tryFlags) open(ctx context.Context, credentials packaging.Credentials, p pluginFolder) (
	t *trial, err error,
) {
	t = &trial{plugin: p}
	defer func() {
		if err != nil {
			t.close(ctx)
		}
	}()
	data, err := os.MkdirTemp("", "nullops-try-")
	if err != nil {
		return t, fmt.Errorf("make a folder: %w", err)
	}
	t.temporary = append(t.temporary, data)
	// What an agent keeps in memory stays in memory here too.
	run, err := os.MkdirTemp("/dev/shm", "nullops-try-")
	if err != nil {
		return t, fmt.Errorf("make a folder: %w", err)
	}
	t.temporary = append(t.temporary, run)
	t.runtime, err = docker.New(ctx, docker.Config{Host: dockerHost(f.engine),
		Install: "try-" + uuid.NewString()[:8], DataDir: data, RunDir: run,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return t, err
	}
	image, err := f.place(ctx, credentials, t)
	if err != nil {
		return t, err
	}
	c := p.component
	t.spec = agent.PluginSpec{Deployment: uuid.NewString(), Run: "try", Image: image,
		Resources: pipeline.Resources{CPU: c.Resources.CPU, MemoryMiB: c.Resources.MemoryMiB},
		Network:   c.Network, Timeout: c.Timeout(), StdoutLimit: stdio.MaxResponse}
	if c.Network {
		if err := t.runtime.Prepare(ctx, t.spec.Deployment); err != nil {
			return t, err
		}
	}
	return t, nil
}

// place gets the image into the engine. One that was just built goes through a
// registry that lives as long as this call: engines have no other door that
// every one of them opens.
func (f *tryFlags) place(ctx context.Context, credentials packaging.Credentials, t *trial) (
	pipeline.Image, error,
) {
	if f.image != "" {
		ref, err := packaging.ParseReference(f.image)
		if err != nil {
			return pipeline.Image{}, usageError{err}
		}
		image := pipeline.Image{Registry: ref.RegistryStr(), Repository: ref.RepositoryStr(),
			Tag: ref.TagStr()}
		return image, t.runtime.Pull(ctx, image, pullAuth(credentials), nil)
	}
	_, built, err := f.build(ctx, t.plugin.dir, credentials)
	if err != nil {
		return pipeline.Image{}, err
	}
	return lend(ctx, t.runtime, t.plugin.name, built)
}

func lend(ctx context.Context, runtime *docker.Docker, name string, built v1.Image) (
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
func (t *trial) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if t.runtime != nil {
		if t.spec.Deployment != "" {
			if left, err := t.runtime.RemoveDeployment(ctx, t.spec.Deployment); err != nil ||
				len(left) > 0 {
				fmt.Fprintln(os.Stderr, "nullops: left in the engine:", left, err)
			}
		}
		_ = t.runtime.Close()
	}
	for _, dir := range t.temporary {
		_ = os.RemoveAll(filepath.Clean(dir)) // only temporary folders stay
	}
}

// run runs the plugin once; each run has a container of its own.
func (t *trial) run(ctx context.Context, stdin []byte) (conformance.Ran, error) {
	spec := t.spec
	t.serial++
	spec.Step, spec.Action = pipeline.StepKey(fmt.Sprintf("try-%d", t.serial)), "create"
	var log []string
	// Making the container must not be cut short with the plugin.
	if err := t.runtime.CreatePlugin(context.WithoutCancel(ctx), spec); err != nil {
		return conformance.Ran{}, err
	}
	r, err := t.runtime.RunPlugin(ctx, spec, stdin, func(line string) { log = append(log, line) })
	return conformance.Ran{Stdout: r.Stdout, Log: log, ExitCode: r.ExitCode,
		TimedOut: r.TimedOut || r.OOM, Overflow: r.Overflow}, err
}

// samples runs the recorded inputs in their order and counts those that failed.
func (t *trial) samples(ctx context.Context, out io.Writer, samples []sample) int {
	failed := 0
	for _, s := range samples {
		if len(s.missing) > 0 {
			fmt.Fprintf(out, "SKIP %s: give --set for %s\n", s.name, strings.Join(s.missing, ", "))
			continue
		}
		begun := time.Now()
		ran, err := t.run(ctx, s.in)
		took := time.Since(begun).Round(time.Millisecond)
		if err == nil {
			err = compareAnswer(ran, s.out)
		}
		verdict := "ok  "
		if err != nil {
			verdict = "FAIL"
			failed++
		}
		fmt.Fprintf(out, "%s %s (%s)\n", verdict, s.name, took)
		show(out, "in ", strings.TrimSpace(string(s.in)))
		for _, line := range ran.Log {
			show(out, "log", line)
		}
		show(out, "out", strings.TrimSpace(string(ran.Stdout)))
		if err != nil {
			show(out, "why", err.Error())
		}
	}
	return failed
}

func show(out io.Writer, what, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(out, "     %s %s\n", what, visible(strings.TrimRight(line, "\n")))
	}
}

// compareAnswer holds an answer to the contract and to the recorded one.
func compareAnswer(ran conformance.Ran, want []byte) error {
	answer, err := stdio.ParseResponse(ran.Stdout)
	switch {
	case ran.TimedOut:
		return errors.New("it did not end in time, or ran out of memory")
	case err != nil:
		return err
	case answer.Success != (ran.ExitCode == 0):
		return fmt.Errorf("success is %v, but the exit code is %d", answer.Success, ran.ExitCode)
	case len(want) == 0:
		return nil
	}
	var is, should any
	if err := errors.Join(json.Unmarshal(ran.Stdout, &is), json.Unmarshal(want, &should)); err != nil {
		return fmt.Errorf("the recorded answer: %w", err)
	}
	return differs("answer", is, should)
}

// differs names the first place where two answers differ.
func differs(at string, is, should any) error {
	if should == "<any>" && is != nil {
		return nil
	}
	switch want := should.(type) {
	case map[string]any:
		got, same := is.(map[string]any)
		if !same || len(got) != len(want) {
			return fmt.Errorf("%s is %v instead of %v", at, is, should)
		}
		for name, value := range want {
			if err := differs(at+"."+name, got[name], value); err != nil {
				return err
			}
		}
		return nil
	case []any:
		got, same := is.([]any)
		if !same || len(got) != len(want) {
			return fmt.Errorf("%s is %v instead of %v", at, is, should)
		}
		for i, value := range want {
			if err := differs(fmt.Sprintf("%s[%d]", at, i), got[i], value); err != nil {
				return err
			}
		}
		return nil
	}
	if !reflect.DeepEqual(is, should) {
		return fmt.Errorf("%s is %v instead of %v", at, is, should)
	}
	return nil
}

// conform runs the conformance suite and counts what failed.
func (t *trial) conform(ctx context.Context, out io.Writer, samples []sample) (int, error) {
	subject := conformance.Subject{Component: t.plugin.component, Run: t.run}
	for _, s := range samples {
		r := s.request()
		if r["action"] == string(stdio.ActionCreate) && s.succeeds() && len(s.missing) == 0 {
			subject.Create = r
			break
		}
	}
	if schema, err := schemaOf("outputs", t.plugin.component.Outputs); err == nil {
		subject.Fits = func(outputs map[string]any) error { return fits(schema, outputs) }
	}
	verdicts, err := conformance.Check(ctx, subject)
	failed := 0
	for _, v := range verdicts {
		took := v.Took.Round(time.Millisecond)
		switch {
		case v.Skipped != "":
			fmt.Fprintf(out, "SKIP %s: %s\n", v.Check, visible(v.Skipped))
		case v.Problem != "":
			failed++
			fmt.Fprintf(out, "FAIL %s (%s): %s\n", v.Check, took, visible(v.Problem))
		default:
			fmt.Fprintf(out, "ok   %s (%s)\n", v.Check, took)
		}
	}
	return failed, err
}
