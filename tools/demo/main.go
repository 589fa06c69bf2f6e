// Command demo starts the whole product and performs its main job on real input, for the person who
// runs it: a node is enrolled, a project with a pipeline is defined, a deployment is created with
// chosen tags, every step is shown as it happens, and its URLs answer.
//
//	make demo           keeps everything running until Ctrl-C
//	make demo CHECK=1   verifies each part, stops everything, ends with "demo: OK"
//	make demo-clean     removes what demos of this checkout left, on Docker Engines and on the disk
//	demo COMMAND...     starts all but the deployment, runs a command, stops it
//
// It runs under `tools/run services --only docker,registry`, which gives it a
// Docker Engine and a registry filled from this repository's own sources.
// Everything it does, it does through the command line a user has.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// startWithin bounds each thing that is waited for.
const startWithin = 2 * time.Minute

func main() {
	// Children die with the thread that started them; it must be this one.
	runtime.LockOSThread()
	ends := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	check := os.Getenv("CHECK") != "" && os.Getenv("CHECK") != "0"
	command := os.Args[1:]
	if len(command) == 1 && command[0] == "--clean" {
		if err := cleanUp(ctx, dataDir); err != nil {
			fmt.Fprintln(os.Stderr, "demo-clean:", err)
			stop()
			os.Exit(1)
		}
		return
	}
	if err := runDemo(ctx, check, command); err != nil {
		if errors.Is(err, context.Canceled) && len(command) == 0 {
			return
		}
		fmt.Fprintln(os.Stderr, "demo: FAILED:", err)
		stop()
		os.Exit(1)
	}
	if check && len(command) == 0 {
		fmt.Println("demo: OK")
	}
}

func runDemo(ctx context.Context, check bool, command []string) (err error) {
	p, err := newProduct(check || len(command) > 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	steps := []struct {
		title string
		do    func(context.Context) error
	}{
		{"Start PostgreSQL, control plane, UI and ingress", p.startControlPlane},
		{"Sign in on the command line", p.signIn},
		{"Define the example shop (nullops apply -f deploy/examples/shop)", p.apply},
		{"Enrol a node: add it, start its agent with the token", p.enrol},
		{"Create a deployment with chosen versions, and watch it", p.deploy},
		{"Open it", p.open},
	}
	if len(command) > 0 {
		steps = steps[:4]
		if err := p.startTraces(); err != nil {
			return fmt.Errorf("collect traces: %w", err)
		}
	}
	for i, s := range steps {
		fmt.Printf("\n== %d. %s\n", i+1, s.title)
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
	}
	if len(command) > 0 {
		return p.with(ctx, command)
	}
	if check {
		fmt.Printf("\n== 7. Remove it, and look for leftovers\n")
		return p.remove(ctx)
	}
	return p.stay(ctx)
}

// stay prints where everything is, and waits until Ctrl-C.
func (p *product) stay(ctx context.Context) error {
	fmt.Printf("\nEverything runs.\n  UI       %s\n", p.uiURL)
	if p.password != "" {
		fmt.Printf("  sign in  admin, with the password %s (change it)\n", p.password)
	} else {
		fmt.Println("  sign in  admin, with the password the first demo showed " +
			"(to begin anew, run make demo-clean)")
	}
	fmt.Printf("  shop     %s\n  try      XDG_CONFIG_HOME=%s bin/nullops list\n"+
		"  logs     %s\nCtrl-C stops it; the data stays in %s.\n", p.webURL, p.config,
		filepath.Join(p.dir, "*.log"), p.dir)
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.ended:
		return err
	}
}
