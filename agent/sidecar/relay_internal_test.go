package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

type lookupFunc = func(ctx context.Context, network, host string) ([]netip.Addr, error)

// loopback finds every service on this machine.
func loopback(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// startRelayWith runs a relay whose resolver is a function.
func startRelayWith(t *testing.T, lookup lookupFunc) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "relay")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		r := &relay{serviceResolver: newServiceResolver(lookup)}
		ended <- r.acceptRequests(ctx, l.(*net.UnixListener))
	}()
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		if err := <-ended; err != nil {
			t.Errorf("relay: %v", err)
		}
	})
	return socket
}

// listenOnce accepts connections on a port of this machine and says a word on each.
func listenOnce(t *testing.T, word string) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, word)
			_ = conn.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// A connection through the relay is one to the service, also with a context that has no deadline
// and more often than the relay returns its memory.
func TestDial_ReachesTheService(t *testing.T) {
	socket := startRelayWith(t, loopback)
	port := listenOnce(t, "hello")
	before := countDescriptors(t)
	for range returnEvery + 2 {
		conn, err := Dial(context.WithoutCancel(t.Context()), socket, "web", port)
		if err != nil {
			t.Fatal(err)
		}
		word, err := io.ReadAll(conn)
		if string(word) != "hello" || err != nil {
			t.Fatalf("it says %q, %v", word, err)
		}
		_ = conn.Close()
	}
	waitForDescriptors(t, before)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := Dial(ctx, socket, "web", port)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// The reasons that a relay gives, and the words for them.
func TestDial_SaysWhyNot(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	socket := startRelayWith(t, func(ctx context.Context, network, host string) (
		[]netip.Addr, error,
	) {
		switch host {
		case "gone.":
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		case "odd.":
			return nil, errors.New("out of order")
		case "empty.":
			return nil, nil
		}
		return loopback(ctx, network, host)
	})
	target := "web:" + strconv.Itoa(closed)
	for _, c := range []struct {
		service string
		port    int
		code    Code
		message string
	}{
		{"web", closed, CodeRefused, "nothing listens on " + target},
		{"gone", 80, CodeUnknown, "no running service is called gone"},
		{"empty", 80, CodeUnknown, "no running service is called empty"},
		{"odd", 80, CodeFailed, "dial odd:80: out of order"},
		{"web", 1, CodeRefused, "nothing listens on web:1"},
		{"web", 65535, CodeRefused, "nothing listens on web:65535"},
		{"web", -1, CodeBadTarget, `dial web:-1: not a service and a port: "web" port -1`},
		{"web", 65536, CodeBadTarget,
			`dial web:65536: not a service and a port: "web" port 65536`},
	} {
		_, err := Dial(t.Context(), socket, c.service, c.port)
		var answer *DialError
		if !errors.As(err, &answer) || answer.Code != c.code || err.Error() != c.message {
			t.Errorf("%s:%d is answered with %v", c.service, c.port, err)
		}
	}
	for service, want := range map[string]Code{"web": "", "gone": CodeUnknown, "A": CodeBadTarget} {
		err := LookupService(t.Context(), socket, service)
		var answer *DialError
		if errors.As(err, &answer); (err == nil) != (want == "") || err != nil && answer.Code != want {
			t.Errorf("%s is looked up with %v", service, err)
		}
	}
	late := &DialError{Service: "web", Port: 80, Code: CodeTimeout}
	if late.Error() != "web:80 did not answer in time" {
		t.Errorf("a service that is late: %v", late)
	}
}

// A relay takes the time that it is given, within a minute, and says when it was not enough.
func TestRelay_BoundsTheDial(t *testing.T) {
	given := make(chan time.Duration, 1)
	socket := startRelayWith(t, func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
		deadline, _ := ctx.Deadline()
		given <- time.Until(deadline)
		if time.Until(deadline) < time.Second {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, errors.New("out of order")
	})
	for _, c := range []struct {
		timeout int64
		want    time.Duration
		code    Code
	}{
		{50, 50 * time.Millisecond, CodeTimeout},
		{60_000, time.Minute, CodeFailed},
		{60_001, defaultDial, CodeFailed},
		{0, defaultDial, CodeFailed},
		{-1, defaultDial, CodeFailed},
	} {
		conn, err := connectSocket(t.Context(), socket)
		if err != nil {
			t.Fatal(err)
		}
		request := dialRequest{Service: "web", Port: 80, Timeout: c.timeout}
		if err := json.NewEncoder(conn).Encode(request); err != nil {
			t.Fatal(err)
		}
		reply, _, err := readReply(conn)
		_ = conn.Close()
		if err != nil || reply.Code != c.code || reply.Message == "" {
			t.Errorf("%d ms: %+v, %v", c.timeout, reply, err)
		}
		if got := <-given; got > c.want || got < c.want-5*time.Second {
			t.Errorf("%d ms: the resolver is given %s", c.timeout, got)
		}
	}
	// The deadline of a caller is what the relay is given.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, _ = Dial(ctx, socket, "web", 80)
	if got := <-given; got > 30*time.Second || got < 20*time.Second {
		t.Errorf("with a deadline in 30 s the resolver is given %s", got)
	}
	_, _ = Dial(context.WithoutCancel(t.Context()), socket, "web", 80)
	if got := <-given; got > defaultDial || got < defaultDial/2 {
		t.Errorf("without a deadline the resolver is given %s", got)
	}
}

// What a service is called is one DNS label, and neither an address nor this machine.
func TestIsLabel(t *testing.T) {
	for name, want := range map[string]bool{
		"web": true, "a-0": true, "az09": true, strings.Repeat("a", 63): true,
		"": false, strings.Repeat("a", 64): false, "localhost": false, "a.b": false,
		"Web": false, "a`": false, "a{": false, "a/": false, "a:": false, "a_": false, "ä": false,
	} {
		if isLabel(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// Every failure of a dial has its code.
func TestCodeOf(t *testing.T) {
	absent := &net.DNSError{Err: "no such host"}
	for want, all := range map[Code][]error{
		CodeRefused: {syscall.ECONNREFUSED},
		CodeUnknown: {absent, errors.Join(absent, syscall.ECONNREFUSED)},
		CodeTimeout: {context.DeadlineExceeded, os.ErrDeadlineExceeded},
		CodeFailed:  {errors.New("x"), syscall.EPIPE},
	} {
		for _, err := range all {
			if got := codeOf(err); got != want {
				t.Errorf("%v is %s", err, got)
			}
		}
	}
}

// A reply is taken with exactly one socket or a reason, and a socket that nobody wants is closed.
func TestReadReply(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	fd := int(file.Fd())
	long := strings.Repeat("x", 3000)
	for name, c := range map[string]struct {
		text    string
		rights  []int
		want    string
		hasFile bool
	}{
		"a socket":              {"{}\n", []int{fd}, "", true},
		"a reason":              {`{"code":"failed"}`, nil, "", false},
		"a long one":            {`{"code":"failed","message":"` + long + `"}`, nil, "", false},
		"neither":               {"{}\n", nil, "no socket came with it", false},
		"two sockets":           {"{}\n", []int{fd, fd}, "no socket came with it", false},
		"both":                  {`{"code":"failed"}`, []int{fd}, "", false},
		"nonsense and a socket": {"x", []int{fd}, "invalid character", false},
	} {
		before := countDescriptors(t)
		reply, got, err := exchangeReply(t, c.text, c.rights)
		if said := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(said, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(c.text, "code") && reply.Code != CodeFailed {
			t.Errorf("%s: %+v", name, reply)
		}
		if c.hasFile {
			if err := syscall.Close(got); err != nil {
				t.Errorf("%s: descriptor %d: %v", name, got, err)
			}
		}
		if len(c.rights) < 2 {
			waitForDescriptors(t, before)
		}
	}
}

// exchangeReply sends a reply through a pair of sockets.
func exchangeReply(t *testing.T, text string, rights []int) (dialReply, int, error) {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range pair {
		conn, err := connFromDescriptor(fd)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		ends[i] = conn.(*net.UnixConn)
	}
	var oob []byte
	if len(rights) > 0 {
		oob = syscall.UnixRights(rights...)
	}
	if _, _, err := ends[0].WriteMsgUnix([]byte(text), oob, nil); err != nil {
		t.Fatal(err)
	}
	_ = ends[0].CloseWrite()
	return readReply(ends[1])
}

func countDescriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// waitForDescriptors waits until no more are open than before: the relay closes its own when the
// caller has gone on already.
func waitForDescriptors(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); countDescriptors(t) > before; {
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors are open, before there were %d", countDescriptors(t), before)
		}
		time.Sleep(time.Millisecond)
	}
}

// The two ends of the isolation probe: one is reached while it listens, and not afterwards.
func TestReachRole_SaysWhetherItConnects(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := reachRole(t.Context(), address); err != nil {
		t.Errorf("who listens is not reached: %v", err)
	}
	_ = l.Close()
	var exit *exitError
	if err := reachRole(t.Context(), address); !errors.As(err, &exit) ||
		exit.code != ExitUnreachable {
		t.Errorf("nobody listens: %v", err)
	}
	if err := reachRole(t.Context(), "127.0.0.1:1"); !errors.As(err, &exit) {
		t.Errorf("the first port is none: %v", err)
	}
	for _, bad := range []string{"127.0.0.1", "web:80", "127.0.0.1:x", "127.0.0.1:0", ":80"} {
		if err := reachRole(t.Context(), bad); err == nil || errors.As(err, &exit) {
			t.Errorf("%q is taken: %v", bad, err)
		}
	}
	for _, bad := range []string{"x", "0", "-1"} {
		if err := listenRole(t.Context(), port, []string{bad}); err == nil {
			t.Errorf("%q seconds are taken", bad)
		}
	}
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- listenRole(t.Context(), port, []string{"1"}) }()
	conn := dialSoon(t, address)
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the connection is not closed: %v", err)
	}
	_ = conn.Close()
	if err := <-ended; err != nil || time.Since(began) < time.Second {
		t.Errorf("listening ends after %s with %v", time.Since(began), err)
	}
	if err := listenRole(t.Context(), "x", nil); err == nil {
		t.Error("a port that is none is listened on")
	}
}

// dialSoon connects as soon as somebody listens.
func dialSoon(t *testing.T, address string) net.Conn {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("tcp4", address)
		if err == nil {
			return conn
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// The role prints where something listens on loopback alone, and takes a port.
func TestPrintLoopbackOnly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	var out strings.Builder
	if err := printLoopbackOnly(port, &out); err != nil || out.String() != l.Addr().String()+"\n" {
		t.Errorf("it prints %q, %v", out.String(), err)
	}
	for _, bad := range []string{"", "x", "-1", "65536"} {
		if err := printLoopbackOnly(bad, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q is taken for a port: %v", bad, err)
		}
	}
}

// A relay takes the place of the socket that an older one left, and says when it cannot.
func TestServeRelay_ReplacesTheOldSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "relay")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	socket := filepath.Join(dir, "s")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	_ = old.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ServeRelay(ctx, socket, "") }()
	var answer *DialError
	for deadline := time.Now().Add(10 * time.Second); !errors.As(err, &answer); {
		if time.Now().After(deadline) {
			t.Fatalf("the new relay does not answer: %v", err)
		}
		_, err = Dial(t.Context(), socket, "no label", 80)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the relay ended with %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "folder", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"folder": "remove old socket", "no/s": "listen"} {
		err := ServeRelay(t.Context(), filepath.Join(dir, name), "")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("at %s: %v", name, err)
		}
	}
}
