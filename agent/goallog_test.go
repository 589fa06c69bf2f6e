package agent_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// said is a log that several write to.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// String implements fmt.Stringer.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// The log names the request that wanted a goal, once for each.
func TestAgent_LogNamesTheRequest(t *testing.T) {
	p, log := newPlane(t), &said{}
	n := p.bootWith(agent.Config{Data: t.TempDir(), Log: slog.New(slog.NewTextHandler(log, nil))},
		dummy.New(dummy.Hooks{Plugin: runMaker}))
	g := shopGoal("d1")
	g.Request = "request-1"
	s := n.connect()
	p.want(s, g)
	p.want(s, g)
	p.untilPhase("d1", wire.PhaseReady)
	log.mu.Lock()
	defer log.mu.Unlock()
	// promise: G-10
	if n := strings.Count(log.text.String(), "run_id=run-d1 request_id=request-1"); n != 1 {
		t.Errorf("%d lines name it:\n%s", n, log.text.String())
	}
}
