package main_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

func TestSamples(t *testing.T) {
	open := listenLoopback(t)
	closed := listenLoopback(t)
	closedPort := portOf(closed)
	_ = closed.Close()
	stdiotest.Samples(t, stdiotest.Build(t), "", map[string]string{
		"PORT": portOf(open), "CLOSED": closedPort,
	})
}

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func portOf(l net.Listener) string {
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
