package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

func deployGroup() group {
	return group{
		figures: []figure{{name: "deploy_example", unit: "s",
			peer: "a shell script of docker commands", better: "lower", goal: 0.6},
			{name: "deploy_example_compose", unit: "s", peer: "docker compose up --wait",
				better: "lower"}},
		prepare: prepareDeploy,
	}
}

func prepareDeploy(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	for _, image := range []string{"shop/postgres:15", "shop/api:v1.1.0", "shop/web:v1.1.0",
		"plugins/postgres-database:1.0.0", "plugins/sql-script:1.0.0", "plugins/http-check:1.0.0"} {
		if _, err := l.dockerSays(ctx, "pull", "--quiet", l.registry+"/"+image); err != nil {
			return nil, nil, err
		}
	}
	c, err := l.prepareCompose(ctx)
	if err != nil {
		return nil, nil, err
	}
	do := func(ctx context.Context, s *samples) error {
		return s.inTurn(func() error { return l.deployExample(ctx, s) }, func() error {
			return s.inTurn(func() error {
				return timePeer(s, "deploy_example",
					func(what string) error { return l.script(ctx, what) })
			}, func() error {
				return timePeer(s, "deploy_example_compose",
					func(what string) error { return c.run(ctx, what) })
			})
		})
	}
	undo := func(ctx context.Context) error {
		return errors.Join(l.script(ctx, "down"), c.run(ctx, "down"))
	}
	return do, undo, nil
}

func (l *lab) deployExample(ctx context.Context, s *samples) error {
	d, ours, err := l.deploy(ctx, "shop", "shop")
	if err != nil {
		return err
	}
	if l.tellSteps {
		if err := l.tell(ctx, d); err != nil {
			return err
		}
	}
	s.addOurs("deploy_example", ours.Seconds())
	s.addOurs("deploy_example_compose", ours.Seconds())
	// Gone before the next begins, so that each has the machine to itself.
	return l.remove(ctx, d.Id)
}

func timePeer(s *samples, row string, do func(what string) error) error {
	began := time.Now()
	if err := do("up"); err != nil {
		return err
	}
	s.addPeer(row, time.Since(began).Seconds())
	return do("down")
}

func (l *lab) script(ctx context.Context, what string) error {
	path := filepath.Join(l.root, "tools", "bench", "peer-deploy.sh")
	_, err := runCommand(ctx,
		[]string{"DOCKER_HOST=" + l.docker, "REGISTRY=" + l.registry}, path, what)
	return err
}

// compose is Docker Compose with the example's file.
type compose struct {
	binary, file string
	env          []string
}

// prepareCompose builds the health check of Compose's containers.
func (l *lab) prepareCompose(ctx context.Context) (c compose, err error) {
	c.file = filepath.Join(l.root, "tools", "bench", "compose", "shop.yaml")
	c.binary = peerBinary(l.root, "compose")
	probe := filepath.Join(l.dir, "probe")
	_, err = runCommand(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-o", probe,
		filepath.Join(l.root, "tools", "bench", "probe", "main.go"))
	c.env = []string{"DOCKER_HOST=" + l.docker, "REGISTRY=" + l.registry, "PROBE=" + probe}
	return c, err
}

func (c compose) run(ctx context.Context, what string) error {
	more := []string{"--wait", "--quiet-pull"}
	if what == "down" {
		more = []string{"--volumes", "--timeout", "1"}
	}
	_, err := runCommand(ctx, c.env, append([]string{c.binary, "--file", c.file, what}, more...)...)
	return err
}
