package agent_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// An agent remembers the ends of the audit across a restart, the newest ones and
// some that are old, and says them first thing.
func TestWitness_RemembersTheAudit(t *testing.T) {
	t.Parallel()
	p, dir, runtime := newPlane(t), t.TempDir(), dummy.New(dummy.Hooks{})
	n := p.boot(dir, runtime, nil)
	s := n.connect()
	link := bytes.Repeat([]byte{7}, 32)
	for seq := int64(1); seq <= 40; seq++ {
		err := s.Send(t.Context(), wire.Witness{Head: wire.AuditHead{Seq: seq, Link: link,
			At: time.Now()}})
		if err != nil {
			t.Fatal(err)
		}
		// Of those that come faster than the disk only the newest counts.
		for deadline := time.Now().Add(patience); !onDisk(dir, seq); {
			if time.Now().After(deadline) {
				t.Fatalf("end %d is not stored", seq)
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	n.stop()
	p.update(func() { p.welcome = wire.Welcome{} })
	p.boot(dir, runtime, nil).connect()
	p.until("the agent greets", func() bool { return p.welcome.Build != "" })
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.welcome.Audit
	if len(all) < 8 || len(all) > 16 || all[0].Seq != 1 || all[len(all)-2].Seq != 39 ||
		!bytes.Equal(all[0].Link, link) {
		t.Errorf("it remembers %d: %+v", len(all), all)
	}
}

func onDisk(dir string, seq int64) bool {
	state, err := os.ReadFile(filepath.Join(dir, "state.json"))
	return err == nil && bytes.Contains(state, fmt.Appendf(nil, `{"seq":%d,`, seq))
}
