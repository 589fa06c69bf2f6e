package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// floodRate is how many a second try to sign in with a wrong password.
	floodRate = 100
	// floodAsks is how many calls a second other people make meanwhile.
	floodAsks = 20
	floodFor  = 15 * time.Second
	// floodFrom is from how many addresses they come, and for how many people:
	// nothing is refused because of who asks.
	floodFrom = 250
)

func floodGroup() group {
	return group{
		figures: []figure{
			{name: "login_flood_p99", unit: "ms", peer: goalPeer, better: "lower", goal: 100},
			{name: "login_flood_memory", unit: "MiB", peer: goalPeer, better: "lower", goal: 300},
		},
		prepare: prepareFlood,
	}
}

func prepareFlood(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	if err := l.seedDatabase(ctx); err != nil {
		return nil, nil, err
	}
	a := newAsker(l.uiURL)
	all, err := lookUpReaders(ctx, a, min(readers, l.company().users))
	if err != nil {
		return nil, nil, err
	}
	rate, lasts := floodRate, floodFor
	if l.small {
		rate, lasts = 20, 3*time.Second
	}
	do := func(ctx context.Context, s *samples) error {
		p99, grown, err := l.flood(ctx, a, all, rate, lasts)
		s.addOurs("login_flood_p99", p99)
		s.addOurs("login_flood_memory", grown)
		return err
	}
	return do, func(context.Context) error { a.web.CloseIdleConnections(); return nil }, nil
}

// flood makes strangers sign in while readers work, and returns how long the
// readers' calls took and by how much the control plane grew meanwhile.
func (l *lab) flood(
	ctx context.Context, a *asker, who []reader, rate int, lasts time.Duration,
) (p99, grown float64, err error) {
	if err := l.fresh(ctx, a, who); err != nil {
		return 0, 0, err
	}
	pid := l.controlPlane.cmd.Process.Pid
	before, err := residentMiB(pid)
	if err != nil {
		return 0, 0, err
	}
	flooding, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	var tried error
	all.Go(func() { tried = l.strangers(flooding, rate, lasts) })
	most := before
	all.Go(func() { most = watchMemoryPeak(flooding, pid) })
	c, err := a.calls(ctx, who, floodAsks, lasts-time.Second)
	stop()
	all.Wait()
	if err == nil {
		err = tried
	}
	return computePercentile(c.all, 0.99), most - before, err
}

// fresh starts the control plane again and uses it a little: what one flood left in its memory
// would hide the next.
func (l *lab) fresh(ctx context.Context, a *asker, who []reader) error {
	if err := l.controlPlane.stop(); err != nil {
		return err
	}
	a.web.CloseIdleConnections()
	if err := l.startControlPlane(ctx); err != nil {
		return err
	}
	_, err := a.calls(ctx, who, floodAsks, 3*time.Second)
	return err
}

// watchMemoryPeak watches a process until the context ends.
func watchMemoryPeak(ctx context.Context, pid int) (mib float64) {
	for {
		now, _ := residentMiB(pid) // if it is gone, the next request reports that
		mib = max(mib, now)
		select {
		case <-ctx.Done():
			return mib
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// strangers try passwords, each from the next of many addresses. That someone is refused, or told
// to come back, is what they expect.
func (l *lab) strangers(ctx context.Context, rate int, lasts time.Duration) error {
	users := l.company().users
	web := make([]*http.Client, floodFrom)
	for i := range web {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 3, byte(1+i))}
		t := &http.Transport{DialContext: (&net.Dialer{LocalAddr: from}).DialContext}
		web[i] = &http.Client{Transport: t, Timeout: startWithin}
		defer t.CloseIdleConnections()
	}
	_, err := callAtRate(ctx, rate, lasts, func(ctx context.Context, i int) error {
		return l.guess(ctx, web[i%len(web)], i%users)
	})
	if ctx.Err() != nil {
		return nil // enough of it
	}
	return err
}

func (l *lab) guess(ctx context.Context, web *http.Client, user int) error {
	body := fmt.Sprintf(`{"user":"seed-%d","password":"not the right one"}`, 1+user)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.uiURL+"/api/v1/sessions",
		bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := web.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusTooManyRequests:
		return err
	}
	return fmt.Errorf("sign in with a wrong password: %s: %s", answer.Status, text)
}
