package main_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

func TestSamples(t *testing.T) {
	open := listen(t)
	closed := listen(t)
	closedPort := port(closed)
	_ = closed.Close()
	stdiotest.Samples(t, stdiotest.Build(t), "", map[string]string{
		"PORT": port(open), "CLOSED": closedPort,
	})
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func port(l net.Listener) string {
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
