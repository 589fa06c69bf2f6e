package main_test

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/coder/websocket"
)

// replacedIngress has a new ingress take over while people ask and a WebSocket is open: no request
// fails, and the WebSocket goes on.
func (s *tale) replacedIngress(t *testing.T) {
	address, err := url.Parse(serviceURL(t, s.d, "api"))
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := websocket.Dial(t.Context(), "ws://"+address.Host+"/ws",
		&websocket.DialOptions{HTTPClient: s.p.client()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	checkEcho(t, conn)
	var asked atomic.Int64
	stop := make(chan struct{})
	var people sync.WaitGroup
	for range 4 {
		client := s.p.client()
		people.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				answer, err := client.Get(address.String() + "/bytes/16")
				if err != nil || answer.StatusCode != http.StatusOK {
					t.Errorf("a request failed: %v %v", answer, err)
					return
				}
				_ = answer.Body.Close()
				asked.Add(1)
			}
		})
	}
	old := s.p.ingress
	if err := old.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	successor := awaitSuccessor(t, old)
	seen := asked.Load()
	eventually(t, "the new ingress answers", func() string {
		if asked.Load() < seen+20 {
			return strconv.FormatInt(asked.Load()-seen, 10)
		}
		return ""
	})
	close(stop)
	people.Wait()
	checkEcho(t, conn)
	old.stop(t)
	s.p.startIngressAgain(t, successor)
}

var successorLine = regexp.MustCompile(`another ingress serves now.*"pid":(\d+)`)

func awaitSuccessor(t *testing.T, old *process) (pid int) {
	t.Helper()
	eventually(t, "a new ingress serves", func() string {
		text, err := os.ReadFile(old.log)
		if err != nil {
			return err.Error()
		}
		found := successorLine.FindSubmatch(text)
		if found == nil {
			return "no line about it"
		}
		pid, err = strconv.Atoi(string(found[1]))
		if err != nil {
			return err.Error()
		}
		return ""
	})
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// startIngressAgain ends a process that the test did not start itself, and starts one that it can
// stop.
func (p *product) startIngressAgain(t *testing.T, successor int) {
	t.Helper()
	if err := syscall.Kill(successor, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new ingress has ended", func() string {
		if syscall.Kill(successor, 0) == nil && !isZombie(successor) {
			return "it is there"
		}
		return ""
	})
	p.startIngress(t)
}

// isZombie says that a process has ended and nobody has asked how.
func isZombie(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || regexp.MustCompile(`\) Z `).Match(text)
}

func checkEcho(t *testing.T, conn *websocket.Conn) {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, got, err := conn.Read(t.Context()); err != nil || string(got) != "hello" {
		t.Fatalf("the echo is %q, %v", got, err)
	}
}
