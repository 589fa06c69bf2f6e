// Package handover lets a new process of a server take the place of the old one: after an upgrade
// of the program, or to read its settings again. The new one inherits the listening sockets, so
// that no connection is refused, and the old one ends once its last connection has ended.
//
// It imports nothing else of this module.
package handover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// variable names what a process inherits, in the order of its descriptors.
	variable = "INHERITED_SOCKETS"
	// readyName is the pipe that tells the old process that the new one serves.
	readyName = "ready"
	// firstInherited is the first descriptor behind standard input, output and error.
	firstInherited = 3
	// startWithin is how long the new process may take.
	startWithin = time.Minute
	// drainWithin is how long the old process waits for its last connection.
	drainWithin = 24 * time.Hour
	// drainPause is how often it looks.
	drainPause = 100 * time.Millisecond
)

// Sockets are the listening sockets of this process.
type Sockets struct {
	program   string // where it was when this process began; an upgrade replaces it
	inherited map[string]*os.File
	replaced  chan struct{}

	mu   sync.Mutex
	open []*listener
}

// Inherit takes over what the process before this one has passed on, if there was one.
func Inherit() (*Sockets, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	s := &Sockets{program: program, inherited: map[string]*os.File{}, replaced: make(chan struct{})}
	names := strings.FieldsFunc(os.Getenv(variable), func(r rune) bool { return r == ',' })
	for i, name := range names {
		fd := uintptr(firstInherited + i)
		syscall.CloseOnExec(int(fd))
		s.inherited[name] = os.NewFile(fd, name)
	}
	return s, os.Unsetenv(variable)
}

// Listen returns the inherited socket of that name, or opens one. An inherited socket that listens
// elsewhere is closed: the address was changed.
func (s *Sockets) Listen(name, address string) (net.Listener, error) {
	under, err := s.claim(name, address)
	if err != nil {
		return nil, err
	}
	l := &listener{TCPListener: under, name: name, replaced: s.replaced, closed: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, l)
	return l, nil
}

func (s *Sockets) claim(name, address string) (*net.TCPListener, error) {
	wanted, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	file := s.inherited[name]
	delete(s.inherited, name)
	s.mu.Unlock()
	if file != nil {
		l, err := net.FileListener(file)
		_ = file.Close() // l has a descriptor of its own
		if err != nil {
			return nil, fmt.Errorf("take over the socket %s: %w", name, err)
		}
		at, ok := l.Addr().(*net.TCPAddr)
		if ok && at.Port == wanted.Port && (at.IP.Equal(wanted.IP) || isAny(at.IP) && isAny(wanted.IP)) {
			return l.(*net.TCPListener), nil
		}
		_ = l.Close()
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil
}

func isAny(ip net.IP) bool { return len(ip) == 0 || ip.IsUnspecified() }

// Ready tells the old process, if there is one, that this one serves now. All sockets that this
// process wants are open by then; others that it inherited are closed.
func (s *Sockets) Ready() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if file := s.inherited[readyName]; file != nil {
		_, err = file.Write([]byte{1})
	}
	for _, file := range s.inherited { // also of addresses that nobody listens on any more
		_ = file.Close()
	}
	clear(s.inherited)
	return err
}

// Replaced is closed once another process serves in the place of this one.
func (s *Sockets) Replaced() <-chan struct{} { return s.replaced }

// Replace starts the program again with the same arguments. When the new process is ready, this one
// accepts no more connections. When it does not become ready, this one goes on.
func (s *Sockets) Replace(ctx context.Context) (pid int, err error) {
	cmd := exec.Command(s.program, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	names, files, err := s.files()
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if err != nil {
		return 0, err
	}
	ready, tell, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("start the new process: %w", err)
	}
	defer ready.Close()
	files = append(files, tell)
	cmd.ExtraFiles = files
	cmd.Env = append(os.Environ(), variable+"="+strings.Join(append(names, readyName), ","))
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the new process: %w", err)
	}
	_ = tell.Close() // now only the new process can write to it, or end it
	if err := awaitByte(ctx, ready); err != nil {
		_ = cmd.Process.Kill()
		return 0, fmt.Errorf("the new process is not ready: %w; this one goes on", errors.Join(err,
			cmd.Wait()))
	}
	go func() { _ = cmd.Wait() }()
	close(s.replaced)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.open {
		_ = l.TCPListener.Close() // the new process has descriptors of its own
	}
	return cmd.Process.Pid, nil
}

func awaitByte(ctx context.Context, from *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = from.SetReadDeadline(time.Now()) })
	defer stop()
	_, err := from.Read(make([]byte, 1))
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return err
}

// files are descriptors of the sockets, to pass on.
func (s *Sockets) files() (names []string, files []*os.File, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.open {
		file, err := l.File()
		if err != nil {
			return nil, files, fmt.Errorf("pass the socket %s on: %w", l.name, err)
		}
		names, files = append(names, l.name), append(files, file)
	}
	return names, files, nil
}

// Drain returns when this process has no connection left, or when it has waited for a day.
func (s *Sockets) Drain(ctx context.Context, open func() int) {
	ctx, cancel := context.WithTimeout(ctx, drainWithin)
	defer cancel()
	tick := time.NewTicker(drainPause)
	defer tick.Stop()
	for open() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Wrap has clients of a replaced process connect anew for their next request. An idle connection
// is not closed for that: its client might send a request at the same time.
func (s *Sockets) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.replaced:
			w.Header().Set("Connection", "close")
		default:
		}
		h.ServeHTTP(w, r)
	})
}

// listener does not end when its process is replaced: its server serves what it has accepted.
type listener struct {
	*net.TCPListener
	name     string
	replaced <-chan struct{}
	closed   chan struct{}
	once     sync.Once
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if err == nil {
		return c, nil
	}
	select {
	case <-l.replaced:
		<-l.closed
	default:
	}
	return nil, err
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	err := l.TCPListener.Close()
	select {
	case <-l.replaced:
		return nil // it was closed by then
	default:
		return err
	}
}
