package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// settleWithin bounds one deployment.
const settleWithin = 5 * time.Minute

// deploy creates a deployment and returns how long it took from the request
// until the control plane told that it is ready.
func (l *lab) deploy(
	ctx context.Context, project, name string,
) (apiclient.Deployment, time.Duration, error) {
	return l.deployIn(ctx, "qa", project, name)
}

func (l *lab) deployIn(
	ctx context.Context, environment, project, name string,
) (apiclient.Deployment, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	began := time.Now()
	r, err := l.api.CreateDeploymentWithResponse(ctx, &apiclient.CreateDeploymentParams{},
		apiclient.DeploymentCreate{Name: name, Project: project, Environment: environment})
	if err != nil {
		return apiclient.Deployment{}, 0, fmt.Errorf("create %s: %w", name, err)
	}
	if r.JSON201 == nil {
		return apiclient.Deployment{}, 0, fmt.Errorf("create %s: %s", name, r.Body)
	}
	d, err := l.settle(ctx, r.JSON201.Id, apiclient.DeploymentStatusReady,
		apiclient.DeploymentStatusFailed)
	took := time.Since(began)
	if err == nil && d.Status != apiclient.DeploymentStatusReady {
		err = fmt.Errorf("deployment %s is %s: %+v", name, d.Status, d.Failure)
	}
	return d, took, err
}

// remove removes a deployment and waits until nothing is left of it.
func (l *lab) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	r, err := l.api.DeleteDeploymentWithResponse(ctx, id,
		&apiclient.DeleteDeploymentParams{Anyway: new(true)})
	if err != nil {
		return fmt.Errorf("remove %s: %w", id, err)
	}
	if r.JSON202 == nil {
		return fmt.Errorf("remove %s: %s", id, r.Body)
	}
	d, err := l.settle(ctx, id, apiclient.DeploymentStatusRemoved, apiclient.DeploymentStatusStuck)
	if err == nil && d.Status != apiclient.DeploymentStatusRemoved {
		told, _ := json.Marshal(d) // what was just read can be written
		err = fmt.Errorf("deployment %s is not removed: %s", d.Name, told)
	}
	return err
}

// settle follows a deployment's events until it has one of the statuses.
func (l *lab) settle(
	ctx context.Context, id string, until ...apiclient.DeploymentStatus,
) (apiclient.Deployment, error) {
	var d apiclient.Deployment
	for ctx.Err() == nil {
		r, err := l.api.StreamDeployment(ctx, id, &apiclient.StreamDeploymentParams{})
		if err != nil {
			return d, fmt.Errorf("follow %s: %w", id, err)
		}
		settled, err := readUntil(r, &d, until)
		if settled || err != nil {
			return d, err
		}
	}
	return d, fmt.Errorf("deployment %s is still %s: %w", id, d.Status, context.Cause(ctx))
}

func readUntil(
	r *http.Response, d *apiclient.Deployment, until []apiclient.DeploymentStatus,
) (settled bool, err error) {
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<10))
		return false, fmt.Errorf("follow a deployment: %s: %s", r.Status, body)
	}
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 4<<20)
	event := ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "event":
			event = value
		case name == "data" && event == "deployment":
			if err := json.Unmarshal([]byte(value), d); err != nil {
				return false, fmt.Errorf("read a deployment: %w", err)
			}
			if slices.Contains(until, d.Status) {
				return true, nil
			}
		}
	}
	return false, nil // the stream was cut: ask again
}

// tell shows when each step began and ended, in seconds from the creation.
func (l *lab) tell(ctx context.Context, d apiclient.Deployment) error {
	steps, err := l.steps(ctx, d)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.StartedAt != nil && s.EndedAt != nil {
			fmt.Fprintf(os.Stderr, "bench: %-12s %6.3f to %6.3f\n", s.Key,
				s.StartedAt.Sub(d.CreatedAt).Seconds(), s.EndedAt.Sub(d.CreatedAt).Seconds())
		}
	}
	return nil
}

// steps returns the steps of a deployment's latest run, in order.
func (l *lab) steps(ctx context.Context, d apiclient.Deployment) ([]apiclient.Step, error) {
	r, err := l.api.GetRunWithResponse(ctx, d.Id, d.Run)
	if err != nil {
		return nil, fmt.Errorf("read run %d: %w", d.Run, err)
	}
	if r.JSON200 == nil {
		return nil, fmt.Errorf("read run %d: %s", d.Run, r.Body)
	}
	steps := r.JSON200.Steps
	if len(steps) < 2 {
		return nil, errors.New("the run has too few steps to measure")
	}
	slices.SortFunc(steps, func(a, b apiclient.Step) int { return a.Position - b.Position })
	return steps, nil
}
