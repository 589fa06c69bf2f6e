package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// limitedServer answers every request, with a limit of so many connections.
func limitedServer(t *testing.T, most int, proxies ...netip.Prefix) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limit := newConnectionLimit(most, proxies)
	server := &http.Server{ReadHeaderTimeout: time.Minute, ConnState: limit.trackState,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "well")
		})}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(limit.limitListener(l)) }()
	return l.Addr().String()
}

func dialServer(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// exchangeOnce sends a request over the connection and reads the answer.
func exchangeOnce(c net.Conn) error {
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
		return err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err == nil && string(text) != "well" {
		err = errors.New("it answers " + string(text))
	}
	return err
}

// isClosed reports whether the server closed the connection.
func isClosed(c net.Conn) bool {
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	return err != nil && (!errors.As(err, &timeout) || !timeout.Timeout())
}

// One network that stalls as many connections as it can leaves room for others.
func TestConnections_OfOneNetworkAreLimited(t *testing.T) {
	t.Parallel()
	address := limitedServer(t, 32)
	for range 4 {
		if _, err := io.WriteString(dialServer(t, address), "GET / HT"); err != nil {
			t.Fatal(err)
		}
	}
	if !isClosed(dialServer(t, address)) {
		t.Error("a fifth stalled connection of one network is kept open")
	}
	other := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	c, err := other.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if err := exchangeOnce(c); err != nil {
		t.Errorf("another network: %v", err)
	}
}

// A closed connection frees its slot.
func TestConnections_AreGivenBack(t *testing.T) {
	t.Parallel()
	address := limitedServer(t, 16)
	for range 20 {
		c := dialServer(t, address)
		if err := exchangeOnce(c); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		time.Sleep(10 * time.Millisecond)
	}
}

// When all connections are in use, the one that has been idle longest makes room;
// stalled ones do not, and the new one is refused.
func TestConnections_IdleOnesMakeRoom(t *testing.T) {
	t.Parallel()
	address := limitedServer(t, 3, netip.MustParsePrefix("127.0.0.0/8"))
	idle := make([]net.Conn, 3)
	for i := range idle {
		idle[i] = dialServer(t, address)
		if err := exchangeOnce(idle[i]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	fresh := dialServer(t, address)
	if err := exchangeOnce(fresh); err != nil {
		t.Fatalf("no room beside idle connections: %v", err)
	}
	if !isClosed(idle[0]) {
		t.Error("the connection that was idle longest is still open")
	}
	if err := exchangeOnce(idle[2]); err != nil {
		t.Errorf("the connection used last was closed: %v", err)
	}
}

func TestParseProxies(t *testing.T) {
	t.Parallel()
	all, err := parseProxies("http.proxies", " 127.0.0.1, 10.1.2.3/8 ,::1")
	if err != nil || len(all) != 3 || all[1].String() != "10.0.0.0/8" {
		t.Errorf("read as %v, %v", all, err)
	}
	if all, err := parseProxies("http.proxies", ""); err != nil || len(all) != 0 {
		t.Errorf("nothing is read as %v, %v", all, err)
	}
	for _, bad := range []string{"proxy.example.org", "10.0.0.0/40", "0.0.0.0/0", "::/0"} {
		if _, err := parseProxies("http.proxies", bad); err == nil ||
			!strings.Contains(err.Error(), "http.proxies") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
