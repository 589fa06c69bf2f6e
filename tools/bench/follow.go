package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// chatty services write this many lines a second, all together.
	chatty      = 20
	chattyLines = 50_000
	followFor   = 15 * time.Second
	// warmFor is until every stream is at the end of what was written before.
	warmFor = 5 * time.Second
)

// followGroup is what twenty people cost who watch twenty services talk.
func followGroup() group {
	return group{
		figures: []figure{
			{name: "log_follow_cpu", unit: "% of a core", peer: goalPeer, better: "lower", goal: 25},
			{name: "log_follow_lines", unit: "lines/s", peer: goalPeer, better: "higher",
				goal: chattyLines},
		},
		prepare: prepareFollow,
	}
}

func prepareFollow(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	if err := l.apply(ctx, "chatty.yaml", chattyDocument(l.services())); err != nil {
		return nil, nil, err
	}
	d, _, err := l.deploy(ctx, chattyProject, "chatty")
	if err != nil {
		return nil, nil, err
	}
	do := func(ctx context.Context, s *samples) error {
		cpu, lines, err := l.follow(ctx, d.Id)
		s.addOurs("log_follow_cpu", cpu)
		s.addOurs("log_follow_lines", lines)
		return err
	}
	return do, func(ctx context.Context) error { return l.remove(ctx, d.Id) }, nil
}

func (l *lab) services() int {
	if l.small {
		return 2
	}
	return chatty
}

const chattyProject = "bench-chatty"

// chattyDocument has services that write the same hundred bytes again and again,
// many at a time: what is measured is reading.
func chattyDocument(services int) string {
	// A shell needs some of the time between two bursts for itself.
	const perBurst, forItself = 250, 15 * time.Millisecond
	const burst = perBurst*chatty*time.Second/chattyLines - forItself
	line := strings.Repeat("GET /cart 200 3ms ", 5)
	script := fmt.Sprintf(`b=""; i=0; while [ $i -lt %d ]; do b="${b}%s$i
"; i=$((i+1)); done; while :; do printf %%s "$b"; sleep %.3f; done`,
		perBurst, line, burst.Seconds())
	var b strings.Builder
	fmt.Fprintf(&b, "kind: service\nname: chatty\nregistry: local\nimage: bases/shell\n"+
		"tag_mode: pinned\ntag: \"1\"\n---\nkind: project\nname: %s\n"+
		"resources: {cpu: 1, memory_mib: 1024}\npipeline:\n  steps:\n", chattyProject)
	for i := range services {
		fmt.Fprintf(&b, "    - key: talk-%02d\n      position: {x: %d, y: 0}\n      service:\n"+
			"        name: chatty\n        command: [-c, %q]\n"+
			"        resources: {cpu: 0.05, memory_mib: 16}\n", i, 200*i, script)
	}
	return b.String()
}

// follow reads all services' logs, and returns what the agent used during that time and
// how many lines a second arrived.
func (l *lab) follow(ctx context.Context, deployment string) (cpu, perSecond float64, err error) {
	ctx, stop := context.WithCancel(ctx)
	var streams sync.WaitGroup
	defer func() { stop(); streams.Wait() }()
	a := newAsker(l.uiURL)
	a.web.Timeout = 0
	var lines atomic.Int64
	ended := make(chan error, chatty)
	for i := range l.services() {
		path := fmt.Sprintf("/api/v1/deployments/%s/services/talk-%02d/logs?follow=true&tail=1",
			deployment, i)
		streams.Go(func() { ended <- a.countLines(ctx, l.bearer, path, &lines) })
	}
	wait := func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case err := <-ended:
			return fmt.Errorf("a log ended: %w", err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := wait(warmFor); err != nil {
		return 0, 0, err
	}
	pid := l.agent.cmd.Process.Pid
	used, err := processorTime(pid)
	from, began := lines.Load(), time.Now()
	err = errors.Join(err, wait(followFor))
	after, err2 := processorTime(pid)
	took := time.Since(began)
	return 100 * (after - used).Seconds() / took.Seconds(),
		float64(lines.Load()-from) / took.Seconds(), errors.Join(err, err2)
}

// countLines counts events named line until the stream ends.
func (a *asker) countLines(
	ctx context.Context, token, path string, lines *atomic.Int64,
) error {
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
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // part of an error anyway
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	events := bufio.NewScanner(answer.Body)
	events.Buffer(nil, 1<<20)
	for events.Scan() {
		if bytes.Equal(events.Bytes(), []byte("event: line")) {
			lines.Add(1)
		}
	}
	return errors.Join(errors.New("the stream ended"), events.Err())
}

// processorTime is what a process has used so far. Linux counts in hundredths
// of a second.
func processorTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in brackets, may hold anything; what follows is numbers.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err, err2)
}
