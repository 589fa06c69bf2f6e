package docker

import (
	"bytes"
	"strings"
	"testing"
)

// Marks are found however the stream is cut, and all that only looks like one is the plugin's.
func TestMarks_AreKeptOutOfTheOutput(t *testing.T) {
	nonce := strings.Repeat("ab", 8)
	stdout := nonce + "s\x00" + nonce[:9] + "text" + nonce[:15] + nonce + "k\x07beyond"
	stderr := "log" + nonce + "k\x07"
	for cut := 1; cut < 20; cut++ {
		m := newMarks([]byte(nonce))
		var out, log bytes.Buffer
		split, other := m.splitMarks(&out), m.splitMarks(&log)
		for rest := []byte(stdout); len(rest) > 0; {
			n := min(cut, len(rest))
			if _, err := split.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if _, told := m.endMark(); told {
			t.Fatal("the end of one stream is taken for that of both")
		}
		_, _ = other.Write([]byte(stderr))
		<-m.ended
		end, told := m.endMark()
		if out.String() != nonce[:9]+"text"+nonce[:15] || log.String() != "log" || !told ||
			!m.hasBegun() || end != (endMark{code: 7, mayBeOOM: true}) {
			t.Errorf("cut at %d: %q, %q, %+v", cut, &out, &log, end)
		}
	}
	m := newMarks([]byte(nonce))
	var out bytes.Buffer
	split := m.splitMarks(&out)
	_, _ = split.Write([]byte("killed" + nonce[:5]))
	if split.flush(); out.String() != "killed"+nonce[:5] || m.hasBegun() {
		t.Errorf("a stream without an end mark gave %q", &out)
	}
}
