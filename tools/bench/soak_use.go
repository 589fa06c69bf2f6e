package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/wait"
)

const (
	// soakWorkers are the people who change deployments, each their own ones.
	soakWorkers = 2
	// changePause is between two changes of one of them.
	changePause = 10 * time.Second
	// freshVisit is how many visits come over a connection of their own: one of so many.
	freshVisit = 10
	// visitWithin is how long a visitor waits.
	visitWithin = 20 * time.Second
	// listenFor is how long some of the listeners stay, as people close their tabs.
	listenFor = time.Minute
)

const soakProject = "soak-doomed"

// soakDocument is a project whose deployments fail after their service is ready.
//
// Other work may keep the machine busy, which must not refuse deployments.
const soakDocument = `kind: environment
name: qa
domain: localhost
capacity: {busy_cpu_percent: 100}
---
kind: project
name: ` + soakProject + `
resources: {cpu: 1, memory_mib: 512}
pipeline:
  steps:
    - key: web
      position: {x: 0, y: 0}
      service:
        name: shop-web
        env: {API_URL: "http://nobody:1", GOGC: "50"}
        ports: [{name: http, port: 8080, expose: true}]
        resources: {cpu: 0.03, memory_mib: 16}
        ready: {tcp: {port: 8080}}
        volumes: [{name: data, path: /data}]
    - key: "no"
      position: {x: 200, y: 0}
      needs: [web]
      plugin: {name: trivial, parameters: {mode: say-no}}
`

// soakCounts is what was done since the beginning.
type soakCounts struct {
	Visits  int `json:"visits"`
	Failed  int `json:"failed_visits"`
	Changes int `json:"changes"`
	// Broken are changes that did not end as they have to.
	Broken int `json:"failed_changes"`
	// Streams were opened, and Cut ended by themselves.
	Streams int `json:"streams"`
	Cut     int `json:"cut_streams"`
}

func (s *soak) count(change func(*soakCounts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.counts)
}

// complain tells what failed; the run goes on, and the report has the number.
func (s *soak) complain(what string, err error) {
	fmt.Fprintf(os.Stderr, "soak: after %s: %s: %v\n", time.Since(s.began).Round(time.Second), what,
		err)
}

// visit opens pages of the deployments that do not change, at a steady rate, whether or not earlier
// visitors have their answers.
func (s *soak) visit(ctx context.Context) error {
	lasting := &http.Client{Timeout: visitWithin,
		Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	fresh := &http.Client{Timeout: visitWithin, Transport: &http.Transport{DisableKeepAlives: true}}
	var all errgroup.Group
	all.SetLimit(mostWaiting)
	for i := 0; ; i++ {
		due := s.began.Add(time.Duration(i) * time.Second / soakVisits)
		if err := wait.Sleep(ctx, time.Until(due)); err != nil {
			return all.Wait()
		}
		visitor := lasting
		if i%freshVisit == 0 {
			visitor = fresh
		}
		all.Go(func() error {
			s.countVisit(ctx, due, s.visitPage(ctx, visitor, crowdName(i%s.stable())))
			return nil
		})
	}
}

// countVisit leaves out the visits that the end of the run cut off.
func (s *soak) countVisit(ctx context.Context, due time.Time, err error) {
	if ctx.Err() != nil {
		return
	}
	s.count(func(c *soakCounts) {
		c.Visits++
		s.slow = append(s.slow, time.Since(due))
		if err != nil {
			c.Failed++
		}
	})
	if err != nil {
		s.complain("a visit", err)
	}
}

// visitPage reads a page to its end.
func (s *soak) visitPage(ctx context.Context, visitor *http.Client, name string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+s.ingressAddr+"/healthz", nil)
	if err != nil {
		return err
	}
	r.Host = "web." + name + ".qa.localhost"
	answer, err := visitor.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", r.Host, answer.Status, body)
	}
	return err
}

// listen keeps streams open: half of them all the time, the others for a minute at a time.
func (s *soak) listen(ctx context.Context, ids []string) error {
	a := newAsker(s.uiURL)
	a.web.Timeout = 0
	group, ctx := errgroup.WithContext(ctx)
	for i := range soakListeners {
		paths := []string{"/api/v1/events", "/api/v1/deployments/" + ids[i%len(ids)] + "/events",
			"/api/v1/deployments/" + ids[i%len(ids)] + "/services/web/logs?follow=true&tail=10",
			"/api/v1/events/nodes"}
		path := paths[i%len(paths)]
		group.Go(func() error {
			for ctx.Err() == nil {
				s.follow(ctx, a, path, i%2 == 1)
			}
			return nil
		})
	}
	return group.Wait()
}

// follow reads a stream until it is left, or ends.
func (s *soak) follow(ctx context.Context, a *asker, path string, leaves bool) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	if leaves {
		time.AfterFunc(listenFor, stop)
	}
	s.count(func(c *soakCounts) { c.Streams++ })
	err := a.readStream(reading, s.bearer, path)
	if reading.Err() == nil {
		s.count(func(c *soakCounts) { c.Cut++ })
		s.complain("a stream ended: "+path, err)
		_ = wait.Sleep(ctx, time.Second) // the caller looks at the context
	}
}

// readStream reads until the stream ends.
func (a *asker) readStream(ctx context.Context, token, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := a.web.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// change makes and removes deployments in turn, and retries and clones them.
func (s *soak) change(ctx context.Context, worker int) error {
	slots := (s.crowd - s.stable()) / soakWorkers
	ids := make([]string, slots)
	for turn := 0; ctx.Err() == nil; turn++ {
		err := s.changeOne(ctx, fmt.Sprintf("turn-%d-%d", worker, turn%slots), &ids[turn%slots],
			turn/slots)
		if ctx.Err() != nil {
			break
		}
		s.count(func(c *soakCounts) {
			c.Changes++
			if err != nil {
				c.Broken++
			}
		})
		if err != nil {
			s.complain("a change", err)
		}
		_ = wait.Sleep(ctx, changePause) // the loop looks at the context
	}
	var errs []error
	for _, id := range ids {
		if id != "" {
			errs = append(errs, s.remove(context.WithoutCancel(ctx), id))
		}
	}
	return errors.Join(errs...)
}

// changeOne does to a slot what its turn is: it makes a deployment, clones it in its own place,
// lets one fail and retries it, and ends with an empty slot.
func (s *soak) changeOne(ctx context.Context, name string, id *string, turn int) error {
	create := apiclient.DeploymentCreate{Name: name, Project: crowdProject, Environment: "qa"}
	switch turn % 4 {
	case 0:
		return s.makeOne(ctx, create, id, apiclient.DeploymentStatusReady)
	case 1:
		former := *id
		if former == "" {
			return errors.New("there is nothing to clone")
		}
		create.Name, create.ClonedFrom = name+"-clone", &former
		err := s.makeOne(ctx, create, id, apiclient.DeploymentStatusReady)
		return errors.Join(err, s.remove(ctx, former))
	case 2:
		if err := s.remove(ctx, *id); err != nil {
			return err
		}
		create.Project = soakProject
		return s.makeOne(ctx, create, id, apiclient.DeploymentStatusFailed)
	default:
		r, err := s.api.RetryDeploymentWithResponse(ctx, *id, apiclient.Retry{})
		if err == nil && r.StatusCode() >= http.StatusBadRequest {
			err = fmt.Errorf("retry: %s", r.Body)
		}
		if err == nil {
			err = s.settleAs(ctx, *id, apiclient.DeploymentStatusFailed)
		}
		former := *id
		*id = ""
		return errors.Join(err, s.remove(ctx, former))
	}
}

func (s *soak) makeOne(ctx context.Context, create apiclient.DeploymentCreate, id *string,
	becomes apiclient.DeploymentStatus) error {
	*id = ""
	r, err := s.api.CreateDeploymentWithResponse(ctx, &apiclient.CreateDeploymentParams{}, create)
	if err != nil {
		return err
	}
	if r.JSON201 == nil {
		return fmt.Errorf("create %s: %s", create.Name, r.Body)
	}
	*id = r.JSON201.Id
	return s.settleAs(ctx, *id, becomes)
}

// settleAs waits until a deployment is ready or has failed, whichever it has to.
func (s *soak) settleAs(ctx context.Context, id string, becomes apiclient.DeploymentStatus) error {
	ctx, stop := context.WithTimeout(ctx, settleWithin)
	defer stop()
	d, err := s.settle(ctx, id, apiclient.DeploymentStatusReady, apiclient.DeploymentStatusFailed)
	if err == nil && d.Status != becomes {
		err = fmt.Errorf("deployment %s is %s: %+v", d.Name, d.Status, d.Failure)
	}
	return err
}
