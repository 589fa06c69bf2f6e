package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

const (
	// idleStandbys is how many connections an agent keeps ready. One that is taken is replaced
	// at once.
	idleStandbys = 4
	// maxCarried bounds how many that were taken an agent serves at once.
	maxCarried = 1024
	// firstStandbyPause and longestStandbyPause bound how long an agent waits before it dials
	// again, with a jitter.
	firstStandbyPause   = 250 * time.Millisecond
	longestStandbyPause = 15 * time.Second
)

// StandbyConfig is how an agent dials its control plane.
type StandbyConfig struct {
	// URL is the control plane's, ws or wss, possibly with the path that it has behind a
	// reverse proxy.
	URL *url.URL
	// Client makes the outer connections.
	Client *http.Client
	// Credential returns the token's id and key at each dial. It returns ErrUnknownKid once the
	// token was revoked.
	Credential func() (kid string, key Key, err error)
	Log        *slog.Logger
}

// StandbyListener keeps connections to the control plane ready, and accepts each of them as soon
// as the control plane uses it. From then on it is the same as one that was dialed to the agent:
// TLS, pin and proof follow.
type StandbyListener struct {
	config StandbyConfig
	log    *slog.Logger
	taken  chan net.Conn
	slots  chan struct{}
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu      sync.Mutex
	problem string
}

var _ net.Listener = (*StandbyListener)(nil)

// NewStandbyListener begins to dial at once. Close ends what it started, except connections that
// were accepted.
func NewStandbyListener(c StandbyConfig) *StandbyListener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &StandbyListener{config: c, log: c.Log, taken: make(chan net.Conn),
		slots: make(chan struct{}, maxCarried), ctx: ctx, cancel: cancel}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	for range idleStandbys {
		l.tasks.Go(l.keepReady)
	}
	return l
}

// Accept implements net.Listener.
func (l *StandbyListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.taken:
		return c, nil
	case <-l.ctx.Done():
		return nil, fmt.Errorf("accept: %w", net.ErrClosed)
	}
}

// Addr implements net.Listener. It is the control plane's URL.
func (l *StandbyListener) Addr() net.Addr { return carrierAddr(l.config.URL.Redacted()) }

// Close implements net.Listener.
func (l *StandbyListener) Close() error {
	l.cancel()
	l.tasks.Wait()
	return nil
}

// keepReady keeps one connection ready until the listener is closed.
func (l *StandbyListener) keepReady() {
	pause := firstStandbyPause
	for l.ctx.Err() == nil {
		select {
		case l.slots <- struct{}{}:
		case <-l.ctx.Done():
			return
		}
		began := time.Now()
		err := l.dialAndWait()
		if err == nil {
			pause = firstStandbyPause
			continue
		}
		<-l.slots
		if l.ctx.Err() != nil {
			return
		}
		if time.Since(began) > longestStandbyPause {
			pause = firstStandbyPause
		}
		if errors.Is(err, ErrRefused) || errors.Is(err, ErrUnknownKid) {
			pause = longestStandbyPause
		}
		_ = wait.Sleep(l.ctx, pause/2+rand.N(pause/2)) // the loop ends with l.ctx
		pause = min(2*pause, longestStandbyPause)
	}
}

// dialAndWait opens a connection and waits until the control plane uses it. On success the
// connection is Accept's, and gives its slot back when it ends.
func (l *StandbyListener) dialAndWait() error {
	c, err := l.dial()
	l.logChange(err)
	if err != nil {
		return err
	}
	select {
	case <-c.used:
	case <-c.Done():
		if err := c.Err(); err != nil {
			return err
		}
		return net.ErrClosed
	case <-l.ctx.Done():
		return c.Close()
	}
	context.AfterFunc(c.ctx, func() { <-l.slots })
	select {
	case l.taken <- c:
	case <-l.ctx.Done():
		_ = c.Close()
	}
	return nil
}

func (l *StandbyListener) dial() (*Carrier, error) {
	kid, key, err := l.config.Credential()
	if err != nil {
		return nil, err
	}
	return DialStandby(l.ctx, StandbyDial{URL: StandbyURL(l.config.URL), Client: l.config.Client,
		Role: StandbyAgent, Kid: kid, Key: key})
}

// logChange logs the first success, and each failure that differs from the last.
func (l *StandbyListener) logChange(err error) {
	now := "none"
	if err != nil {
		now = err.Error()
	}
	l.mu.Lock()
	changed := now != l.problem
	l.problem = now
	l.mu.Unlock()
	switch {
	case l.ctx.Err() != nil || !changed:
	case err != nil:
		l.log.Warn("cannot reach the control plane", "url", l.config.URL.Redacted(), "error", err)
	default:
		l.log.Info("connected to the control plane", "url", l.config.URL.Redacted())
	}
}

// StandbyURL is where the control plane at base accepts standby connections.
func StandbyURL(base *url.URL) string {
	at := *base
	at.Path = strings.TrimSuffix(at.Path, "/") + PathStandby
	at.RawPath, at.RawQuery, at.Fragment = "", "", ""
	return at.String()
}
