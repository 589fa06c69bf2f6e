// Command services starts the real servers our tests talk to, runs one command
// with their addresses in its environment, and stops every one of them again.
//
//	tools/run services -- go test ./...
//	tools/run services --only docker,postgres -- bash
//	tools/run services --engine 29-classic --oci crun -- go test ./agent/docker
//	tools/run services            keeps them running until it is interrupted
//
// It leaves nothing running or stored: no process, mount, folder, bridge or firewall rule, also
// when the command fails, hangs after SIGTERM, or services itself is killed (the next start sweeps
// what a killed one left). It never touches a server it did not start: where a Docker daemon
// answers already, that one is used and left running.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// startLimit bounds the start of all servers together. dockerd takes under a
// second on an idle machine and has been seen to take 20 on a loaded one.
const startLimit = 3 * time.Minute

func main() {
	// Pdeathsig is per thread: children die with the thread that started them.
	// All of them are started from this goroutine, on the process's main thread.
	runtime.LockOSThread()
	code, err := runServices(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "services:", err)
	}
	os.Exit(code)
}

// options is the parsed command line.
type options struct {
	only    []string // of docker, postgres, registry
	images  bool     // fill the registry from this repository's own sources
	engine  engine   // which Docker Engine
	onDisk  bool     // keep databases on the disk, as those of users
	command []string // empty: wait for a signal
}

func (o options) wants(name string) bool { return slices.Contains(o.only, name) }

func parseOptions(args []string) (options, error) {
	flags := flag.NewFlagSet("services", flag.ContinueOnError)
	only := flags.String("only", "docker,postgres,registry", "which servers to start")
	images := flags.Bool("images", true, "push the images of this repository to the registry")
	onDisk := flags.Bool("disk", false, "keep databases on the disk, also if there is memory for them")
	var wanted engine
	flags.StringVar(&wanted.version, "engine", os.Getenv(engineVariable),
		"start this Docker Engine: 20.10, 29 or 29-classic; empty is whatever answers, or Debian's")
	flags.StringVar(&wanted.oci, "oci", os.Getenv(ociVariable),
		"start an engine that runs containers with this: runc or crun")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	o := options{only: strings.Split(*only, ","), images: *images, engine: wanted,
		onDisk: *onDisk, command: flags.Args()}
	for _, name := range o.only {
		if !slices.Contains([]string{"docker", "postgres", "registry"}, name) {
			return o, fmt.Errorf("--only %s: use docker, postgres, registry", name)
		}
	}
	return o, wanted.validate()
}

// runServices returns the exit code of the command, or 1 when the servers did not start.
func runServices(args []string) (int, error) {
	o, err := parseOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0, nil
	}
	if err != nil {
		return 2, err
	}
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()

	sweepStale()
	dir, err := newRunDir()
	if err != nil {
		return 1, err
	}
	g := &group{dir: dir}
	code, err := serveAll(ctx, g, o)
	return code, errors.Join(err, g.close())
}

func serveAll(ctx context.Context, g *group, o options) (int, error) {
	env, err := startAll(ctx, g, o)
	if ctx.Err() != nil {
		return 130, errors.New("interrupted")
	}
	if err != nil {
		return 1, err
	}
	if len(o.command) == 0 {
		fmt.Println("export " + strings.Join(env, "\nexport "))
		fmt.Fprintln(os.Stderr, "services: running until interrupted")
		<-ctx.Done()
		return 0, nil
	}
	return g.runCommand(ctx, o.command, append(os.Environ(), env...))
}

// startAll starts what was asked for and returns the variables tests read.
func startAll(ctx context.Context, g *group, o options) ([]string, error) {
	if o.wants("docker") {
		// Before the limit begins: the first time, an engine is built, which takes minutes.
		if err := o.engine.install(ctx, g.dir); err != nil {
			return nil, err
		}
	}
	starting, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	env := []string{"NULLOPS_TEST_STRICT=1"}
	starters := []struct {
		name  string
		start func(context.Context, *group) ([]string, error)
	}{
		{"docker", o.engine.startDocker},
		{"postgres", o.startPostgres},
		{"registry", startRegistry},
	}
	for _, s := range starters {
		if !o.wants(s.name) {
			continue
		}
		added, err := s.start(starting, g)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", s.name, err)
		}
		env = append(env, added...)
	}
	if o.images && o.wants("registry") {
		if err := pushImages(ctx, g, env); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// repoRoot is where go.mod is, seen from the working folder upwards.
func repoRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.Contains(string(text), "module github.com/nullops/nullops\n") {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("run this inside the nullops repository")
		}
		dir = filepath.Dir(dir)
	}
}
