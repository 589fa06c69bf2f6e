package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// openFor is how long requests come at a fixed rate.
const openFor = 2 * time.Second

// openRate is how many requests a second come, whether or not answers keep up: less than half of
// what the slowest proxy sustains on two cores.
func (l *lab) openRate() int {
	if l.small {
		return 200
	}
	return 1500
}

// measureOpenLoop returns the 99th percentile in milliseconds. Time counts from when a request was
// due: a proxy that stalls delays those behind too.
func measureOpenLoop(ctx context.Context, c contestant, h2 bool, rate int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, openFor+startWithin)
	defer cancel()
	connect := connectPlain
	if h2 {
		connect = connectH2
	}
	asks := make([]func() error, connections)
	for i := range asks {
		ask, end, err := connect(ctx, c)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.key, err)
		}
		defer end()
		if err := ask(); err != nil { // the first opens what is kept then
			return 0, fmt.Errorf("%s: %w", c.key, err)
		}
		asks[i] = ask
	}
	took, err := paceAll(asks, rate, openFor)
	if err != nil {
		return 0, fmt.Errorf("%s at a fixed rate: %w", c.key, err)
	}
	return computePercentile(took, 0.99), nil
}

// paceAll lets several ask in turn, so many times a second altogether.
func paceAll(asks []func() error, rate int, lasts time.Duration) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var group errgroup.Group
	between := time.Second / time.Duration(rate)
	start := time.Now()
	for i, ask := range asks {
		group.Go(func() error {
			var mine []time.Duration
			for at := time.Duration(i) * between; at < lasts; at += time.Duration(len(asks)) * between {
				due := start.Add(at)
				time.Sleep(time.Until(due))
				if err := ask(); err != nil {
					return err
				}
				mine = append(mine, time.Since(due))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
			return nil
		})
	}
	err := group.Wait()
	return all, err
}

// connectPlain asks over one connection of HTTP/1.1, with as little of its own work as it can.
func connectPlain(ctx context.Context, c contestant) (ask func() error, end func(), err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, nil, err
	}
	host := c.host
	if host == "" {
		host = c.address
	}
	request := []byte("GET " + body + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
	in := bufio.NewReader(conn)
	ask = func() error {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		return readAnswer(answer)
	}
	return ask, func() { _ = conn.Close() }, nil
}

// connectH2 asks over one connection of HTTP/2.
func connectH2(_ context.Context, c contestant) (ask func() error, end func(), err error) {
	transport := &http.Transport{ForceAttemptHTTP2: true, MaxConnsPerHost: 1,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the certificate is our own
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, c.secure)
		}}
	client := &http.Client{Transport: transport, Timeout: startWithin}
	ask = func() error {
		answer, err := client.Get("https://" + trafficHost + ":" + portOf(c.secure) + body)
		if err != nil {
			return err
		}
		if answer.ProtoMajor != 2 {
			return fmt.Errorf("%s answered with %s", c.key, answer.Proto)
		}
		return readAnswer(answer)
	}
	return ask, transport.CloseIdleConnections, nil
}

func readAnswer(answer *http.Response) error {
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || n != 1024) {
		err = fmt.Errorf("the answer is %s with %d bytes", answer.Status, n)
	}
	return err
}
