package handover_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/internal/handover"
)

// addressVariable makes this test program the server. With brokenVariable its successor ends
// before it serves.
const (
	addressVariable = "HANDOVER_TEST_ADDRESS"
	brokenVariable  = "HANDOVER_TEST_BROKEN"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(addressVariable); address != "" {
		if err := serveUntilReplaced(address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveUntilReplaced answers with its process id; /talk becomes a raw connection that echoes.
func serveUntilReplaced(address string) error {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR2)
	sockets, err := handover.Inherit()
	if err != nil {
		return err
	}
	if _, err := os.Stat(os.Getenv(brokenVariable)); err == nil {
		return fmt.Errorf("broken")
	}
	l, err := sockets.Listen("plain", address)
	if err != nil {
		return err
	}
	var open atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/pid", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, os.Getpid())
	})
	mux.HandleFunc("/talk", func(w http.ResponseWriter, _ *http.Request) {
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(conn, in)
			_ = conn.Close()
			open.Add(-1)
		}()
	})
	server := &http.Server{Handler: sockets.Wrap(mux), IdleTimeout: time.Second,
		ReadHeaderTimeout: time.Second, ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed:
				open.Add(-1)
			}
		}}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	if err := sockets.Ready(); err != nil {
		return err
	}
	for {
		<-asked
		if _, err := sockets.Replace(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		sockets.Drain(context.Background(), func() int { return int(open.Load()) })
		return server.Close()
	}
}

// A server that is replaced twice under load answers every request; an open connection stays with
// the process that has it, which ends after it.
func TestReplace_LosesNothing(t *testing.T) {
	address := freeAddress(t)
	first := startServer(t, address)
	talk := openTalk(t, address)
	stop, asked := make(chan struct{}), atomic.Int64{}
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := askPID(address); err != nil {
					t.Error(err)
					return
				}
				asked.Add(1)
			}
		})
	}
	pid := first.Process.Pid
	for range 2 {
		if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		pid = awaitOther(t, address, pid)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	close(stop)
	clients.Wait()
	if asked.Load() < 10 {
		t.Errorf("only %d requests were sent", asked.Load())
	}
	sayHello(t, talk)
	_ = talk.Close()
	if err := first.Wait(); err != nil {
		t.Errorf("the first process ended with %v", err)
	}
}

// When the new process does not come up, the old one goes on.
func TestReplace_GoesOnWithoutASuccessor(t *testing.T) {
	address, broken := freeAddress(t), t.TempDir()+"/broken"
	first := startServer(t, address, brokenVariable+"="+broken)
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := first.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	said, err := awaitLine(first, "this one goes on")
	if err != nil {
		t.Fatal(err, said)
	}
	if pid, err := askPID(address); err != nil || pid != first.Process.Pid {
		t.Errorf("process %d answers, %v", pid, err)
	}
}

// awaitLine waits until a process has printed a text.
func awaitLine(cmd *exec.Cmd, text string) (said string, err error) {
	late := time.Now().Add(time.Minute)
	for ; time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		all, err := os.ReadFile(cmd.Stderr.(*os.File).Name())
		if said = string(all); err != nil || strings.Contains(said, text) {
			return said, err
		}
	}
	return said, fmt.Errorf("it did not say %q", text)
}

func startServer(t *testing.T, address string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), addressVariable+"="+address), env...)
	said, err := os.Create(t.TempDir() + "/said") // successors hold it open too
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	awaitOther(t, address, 0)
	return cmd
}

// awaitOther waits until another process than one answers.
func awaitOther(t *testing.T, address string, than int) int {
	t.Helper()
	late := time.Now().Add(time.Minute)
	for ; time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		if pid, err := askPID(address); err == nil && pid != than {
			return pid
		}
	}
	t.Fatal("no other process answers")
	return 0
}

// clients keep their connections, as browsers do. A request that meets a closed one fails.
var kept = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}

func askPID(address string) (pid int, err error) {
	answer, err := kept.Post("http://"+address+"/pid", "text/plain", strings.NewReader("x"))
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = fmt.Fscan(answer.Body, &pid)
	return pid, err
}

func openTalk(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, _ = io.WriteString(conn, "GET /talk HTTP/1.1\r\nHost: x\r\n\r\n")
	sayHello(t, conn)
	return conn
}

func sayHello(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(conn, "hello\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "hello\n" {
		t.Errorf("the open connection says %q, %v", line, err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
