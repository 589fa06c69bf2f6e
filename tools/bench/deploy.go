package main

import (
	"context"
	"path/filepath"
	"time"
)

func deployGroup() group {
	return group{
		figures: []figure{{name: "deploy_example", unit: "s",
			peer: "a shell script of docker commands", better: "lower", goal: 0.85}},
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
	do := func(ctx context.Context, s *samples) error {
		d, ours, err := l.deploy(ctx, "shop", "shop")
		if err != nil {
			return err
		}
		if l.tellSteps {
			if err := l.tell(ctx, d); err != nil {
				return err
			}
		}
		// Gone before the peer begins, so that both have the machine to themselves.
		if err := l.remove(ctx, d.Id); err != nil {
			return err
		}
		began := time.Now()
		err = l.script(ctx, "up")
		s.addOurs("deploy_example", ours.Seconds())
		s.addPeer("deploy_example", time.Since(began).Seconds())
		if err != nil {
			return err
		}
		return l.script(ctx, "down")
	}
	return do, func(ctx context.Context) error { return l.script(ctx, "down") }, nil
}

func (l *lab) script(ctx context.Context, what string) error {
	path := filepath.Join(l.root, "tools", "bench", "peer-deploy.sh")
	_, err := runCommand(ctx,
		[]string{"DOCKER_HOST=" + l.docker, "REGISTRY=" + l.registry}, path, what)
	return err
}
