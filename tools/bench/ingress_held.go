package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/internal/wait"
)

const (
	// held is how many WebSockets are open at once; echoing is how many of them
	// speak at a time.
	held, echoing = 5000, 64
	// echoFor is how long they speak, and echoRate how many messages a second they send together.
	echoFor, echoRate = 5 * time.Second, 2000
	// restFor lets a process come to rest after so many handshakes.
	restFor = 2 * time.Second
	// gib is what is downloaded.
	gib = 1 << 30
)

// heldGroup measures what lasts: connections that are held, and a download.
func heldGroup() group {
	return group{prepare: prepareHeld, figures: []figure{
		{name: "ingress_local_ws_p99", unit: "ms", peer: "httputil.ReverseProxy", better: "lower",
			goal: 1.1},
		{name: "ingress_ws_memory", unit: "KiB/connection", peer: goalPeer, better: "lower", goal: 24},
		{name: "ingress_local_download", unit: "MiB/s", peer: "httputil.ReverseProxy",
			better: "higher", goal: 1},
		{name: "ingress_tunnel_download", unit: "MiB/s", peer: "httputil.ReverseProxy",
			better: "higher", goal: 0.8},
	}}
}

func prepareHeld(ctx context.Context, l *lab) (round, func(context.Context) error, error) {
	d, _, err := l.deploy(ctx, webProject, "traffic")
	if err != nil {
		return nil, nil, err
	}
	var tunnel, peer contestant
	undo := func(ctx context.Context) error {
		return errors.Join(tunnel.server.stop(), peer.server.stop(), l.remove(ctx, d.Id))
	}
	ip, err := l.inspect(ctx, d.Id, "service", "web",
		"{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")
	if err == nil {
		peer, err = startPlainProxy(l.dir, ip+":8080")
	}
	if err == nil {
		tunnel, err = l.startTunnelIngress()
	}
	if err == nil {
		err = errors.Join(awaitTraffic(ctx, peer), awaitTraffic(ctx, tunnel))
	}
	if err != nil {
		return nil, nil, errors.Join(err, undo(ctx))
	}
	do := func(ctx context.Context, s *samples) error {
		if err := l.holdBoth(ctx, s, peer); err != nil {
			return err
		}
		return l.downloadAll(ctx, s, tunnel, peer)
	}
	return do, undo, nil
}

// freshIngress starts the ingress again: memory that an earlier round grew to is not to be had for
// nothing.
func (l *lab) freshIngress(ctx context.Context) (contestant, error) {
	if err := l.ingress.stop(); err != nil {
		return contestant{}, err
	}
	if err := l.startIngress(ctx); err != nil {
		return contestant{}, err
	}
	c := l.localIngress()
	return c, awaitTraffic(ctx, c)
}

func (l *lab) holdBoth(ctx context.Context, s *samples, peer contestant) error {
	n := held
	if l.small {
		n = 200
	}
	return s.inTurn(func() error {
		ours, err := l.freshIngress(ctx)
		if err != nil {
			return err
		}
		p99, kib, err := holdWebSockets(ctx, ours, n)
		s.addOurs("ingress_local_ws_p99", p99)
		s.addOurs("ingress_ws_memory", kib)
		return err
	}, func() error {
		p99, _, err := holdWebSockets(ctx, peer, n)
		s.addPeer("ingress_local_ws_p99", p99)
		return err
	})
}

// holdWebSockets opens n WebSockets, looks what that cost the proxy, and lets them echo.
func holdWebSockets(ctx context.Context, c contestant, n int) (p99, kib float64, err error) {
	before, err := residentMiB(c.server.cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	conns, err := dialAll(ctx, c, n)
	defer func() {
		for _, one := range conns {
			if one != nil {
				_ = one.CloseNow()
			}
		}
	}()
	if err != nil {
		return 0, 0, err
	}
	if err := wait.Sleep(ctx, restFor); err != nil {
		return 0, 0, err
	}
	after, err := residentMiB(c.server.cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	p99, err = measureEchoes(ctx, conns)
	return p99, (after - before) * 1024 / float64(n), err
}

func dialAll(ctx context.Context, c contestant, n int) ([]*websocket.Conn, error) {
	conns := make([]*websocket.Conn, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(echoing)
	for i := range conns {
		group.Go(func() (err error) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			conns[i], _, err = websocket.Dial(ctx, "ws://"+c.address+"/ws",
				&websocket.DialOptions{Host: c.host})
			return err
		})
	}
	return conns, group.Wait()
}

// measureEchoes returns the 99th percentile of a message's way there and back. Messages come at a
// fixed rate, and each speaker goes from one connection to the next.
func measureEchoes(ctx context.Context, conns []*websocket.Conn) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, echoFor+time.Minute)
	defer cancel()
	speakers := make([]func() error, echoing)
	for speaker := range speakers {
		next := speaker
		speakers[speaker] = func() error {
			c := conns[next%(len(conns)/echoing*echoing)]
			next += echoing
			return echoOnce(ctx, c)
		}
	}
	took, err := paceAll(speakers, echoRate, echoFor)
	if err != nil {
		return 0, err
	}
	return computePercentile(took, 0.99), nil
}

func echoOnce(ctx context.Context, c *websocket.Conn) error {
	const message = "forty bytes are a short message in a chat"
	if err := c.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
		return err
	}
	_, said, err := c.Read(ctx)
	if err == nil && string(said) != message {
		err = fmt.Errorf("the echo is %q", said)
	}
	return err
}

func (l *lab) downloadAll(ctx context.Context, s *samples, tunnel, peer contestant) error {
	size := gib
	if l.small {
		size = 1 << 20
	}
	for _, ours := range []contestant{l.localIngress(), tunnel} {
		row := "ingress_" + ours.key + "_download"
		err := s.inTurn(func() error {
			speed, err := measureDownload(ctx, ours, size)
			s.addOurs(row, speed)
			return err
		}, func() error {
			speed, err := measureDownload(ctx, peer, size)
			s.addPeer(row, speed)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measureDownload returns MiB a second for one body.
func measureDownload(ctx context.Context, c contestant, size int) (float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("http://%s/bytes/%d", c.address, size), nil)
	if err != nil {
		return 0, err
	}
	r.Host = c.host
	began := time.Now()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err == nil && (n != int64(size) || answer.StatusCode != http.StatusOK) {
		err = fmt.Errorf("%s answered %s with %d bytes", c.key, answer.Status, n)
	}
	return float64(n) / (1 << 20) / time.Since(began).Seconds(), err
}
