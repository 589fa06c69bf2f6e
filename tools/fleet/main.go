// Command fleet measures a control plane with thousands of agents.
//
//	make bench-fleet                  10,000 agents, written to docs/fleet.*
//	make bench-fleet AGENTS=500       fewer; nothing is written
//	make bench-scale                  how costs grow with agents and deployments, in docs/scale.*
//
// The control plane is the real program with a real PostgreSQL. The agents are all in this one
// process: each has its own loopback address, certificate and token, listens, proves itself and
// speaks the real protocol over real TLS; only the container engine of each agent is simulated.
//
// It runs under `tools/run services --only postgres,registry`. Numbers are
// published as they are, also where a goal is missed.
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
	"syscall"
	"time"
)

type options struct {
	agents  int
	binary  string
	vitals  time.Duration
	idle    time.Duration
	publish bool
	keep    bool
	// scale measures curves instead; small does so with little.
	scale, small bool
}

func main() {
	// Children die with the thread that started them; it must be this one.
	runtime.LockOSThread()
	var o options
	flag.IntVar(&o.agents, "agents", 10000, "how many agents")
	flag.StringVar(&o.binary, "binary", "bin/nullops", "the program to measure")
	flag.DurationVar(&o.vitals, "vitals", 5*time.Second, "how often an agent tells its vitals")
	flag.DurationVar(&o.idle, "idle", 60*time.Second, "how long the steady state is watched")
	flag.BoolVar(&o.publish, "publish", false, "write docs/fleet.* or docs/scale.*")
	flag.BoolVar(&o.scale, "scale", false, "measure how costs grow; publish writes docs/scale.*")
	flag.BoolVar(&o.small, "small", false, "measure little, to try the tool")
	flag.BoolVar(&o.keep, "keep", false, "keep the control plane's log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := runFleet(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "fleet: FAILED:", err)
		os.Exit(1)
	}
}

func runFleet(ctx context.Context, o options) (err error) {
	postgres := os.Getenv("NULLOPS_TEST_POSTGRES")
	if postgres == "" {
		return errors.New("run it with `make bench-fleet`, which starts PostgreSQL and a registry")
	}
	if o.binary, err = filepath.Abs(o.binary); err != nil {
		return err
	}
	if o.scale {
		return runScale(ctx, o, postgres)
	}
	dir, err := os.MkdirTemp("", "nullops-fleet-")
	if err != nil {
		return err
	}
	p, err := newPlane(ctx, dir, o.binary, postgres)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, p.close())
		if o.keep {
			fmt.Println("the control plane's log is", p.log())
		} else {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &measurement{options: o, plane: p}
	if err := m.all(ctx); err != nil {
		return err
	}
	return m.report(ctx)
}
