package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// seedStatements make deployments: nine of ten are gone, and every tenth is there, on nodes that
// are disabled. What a row has that is not named here is its default.
const seedStatements = `
INSERT INTO nodes (id, name, environment_id, address, status)
SELECT gen_random_uuid(), 'scale-' || i, e.id, '192.0.2.1:' || 5000 + i, 'disabled'
FROM generate_series(1, 100) i, environments e WHERE e.name = 'qa';
INSERT INTO deployments (id, name, project_id, environment_id, node_id, node_name, cpu, memory_mib,
	created_by, created_at, status, want)
SELECT (lpad(to_hex(extract(epoch FROM now())::bigint * 1000 - %[1]d + i), 12, '0') || '7000'
		|| '8' || substr(md5(i::text), 1, 15))::uuid,
	'scale-' || i, p.id, n.environment_id, n.id, n.name, 0.1, 64, 'admin',
	now() - (%[1]d - i) * interval '1 minute',
	CASE i %% 10 WHEN 0 THEN 'ready' ELSE 'removed' END,
	CASE i %% 10 WHEN 0 THEN 'present' ELSE 'gone' END
FROM generate_series(1, %[1]d) i, projects p, nodes n
WHERE p.name = 'shop' AND n.name = 'scale-' || (1 + i %% 100);
INSERT INTO runs (id, deployment_id, number, project_id, pipeline_version, pipeline, key_sealed,
	status, started_by, created_at, ended_at)
SELECT d.id, d.id, 1, d.project_id, v.version, v.pipeline, '', d.status, 'admin',
	d.created_at, d.created_at
FROM deployments d JOIN pipeline_versions v ON v.project_id = d.project_id AND v.version = 1;
INSERT INTO run_steps (run_id, key, position, kind, title, status)
SELECT r.id, 'step-' || k, k, 'service', 'step', 'done' FROM runs r, generate_series(1, 5) k;
INSERT INTO queue (run_id, deployment_id, scope, started_at, left_at)
SELECT r.id, r.deployment_id, d.node_id, r.created_at, r.created_at
FROM runs r JOIN deployments d ON d.id = r.deployment_id;
INSERT INTO deployment_events (deployment_id, seq, kind)
SELECT d.id, k, 'deployment' FROM deployments d, generate_series(1, 3) k;
UPDATE deployments SET last_event = 3;
VACUUM ANALYZE`

func (p *plane) seedDeployments(ctx context.Context, n int) error {
	at, err := url.Parse(p.database)
	if err != nil {
		return err
	}
	at.Path = "/" + p.name
	for statement := range strings.SplitSeq(fmt.Sprintf(seedStatements, n), ";\n") {
		_, err := runCommand(ctx, "psql", "-v", "ON_ERROR_STOP=1", "-q", "-c", statement, at.String())
		if err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}
	return nil
}

// changes is how many events all listeners wait for.
const changes = 10

// measureListeners has many people follow the list of deployments, and returns how long each waited
// for each change, from when it was asked for.
func (p *plane) measureListeners(ctx context.Context, many int) (waits []time.Duration, err error) {
	first, err := p.api.ListDeploymentsWithResponse(ctx, nil)
	if err != nil || first.JSON200 == nil || len(first.JSON200.Items) == 0 {
		return nil, errors.Join(errors.New("list deployments"), err)
	}
	id := first.JSON200.Items[0].Id
	ctx, hush := context.WithCancel(ctx)
	heard := make(chan time.Time, many*changes)
	var streams sync.WaitGroup
	defer func() { hush(); streams.Wait() }()
	opening, _ := errgroup.WithContext(ctx)
	opening.SetLimit(32)
	for range many {
		opening.Go(func() error {
			lines, err := p.openStream(ctx)
			if err == nil {
				streams.Go(func() { reportArrivals(lines, id, heard) })
			}
			return err
		})
	}
	if err := opening.Wait(); err != nil {
		return nil, err
	}
	for range changes {
		began := time.Now()
		r, err := p.api.ExtendDeploymentWithResponse(ctx, id)
		if err != nil || r.StatusCode() != http.StatusOK {
			return nil, errors.Join(fmt.Errorf("extend a deployment: %s", r.Body), err)
		}
		late := time.After(time.Minute)
		for range many {
			select {
			case at := <-heard:
				waits = append(waits, at.Sub(began))
			case <-late:
				return nil, errors.New("not all listeners heard of a change")
			}
		}
	}
	return waits, nil
}

// openStream opens a stream of events and reads until it follows.
func (p *plane) openStream(ctx context.Context) (*bufio.Scanner, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/v1/events", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+p.bearer)
	answer, err := p.people.Do(r)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if lines.Text() == "event: reset" {
			return lines, nil
		}
	}
	return nil, fmt.Errorf("a stream ended before it began: %s: %w", answer.Status, lines.Err())
}

func reportArrivals(lines *bufio.Scanner, id string, heard chan<- time.Time) {
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte("data:")) &&
			bytes.Contains(lines.Bytes(), []byte(id)) {
			heard <- time.Now()
		}
	}
}
