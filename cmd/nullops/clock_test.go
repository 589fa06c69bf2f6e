package main_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clockVariable names the file of a program's clock.
const clockVariable = "CHAOS_CLOCK"

// clock is a machine's, as its programs see it: a file with the seconds that it is off. The
// machine's own cannot be set, since everything else runs by it too.
type clock struct{ path string }

func newClock(t *testing.T, dir, name string) clock {
	t.Helper()
	k := clock{filepath.Join(dir, name+".clock")}
	if err := os.WriteFile(k.path, make([]byte, 8), 0o644); err != nil {
		t.Fatal(err)
	}
	return k
}

// set lets the clock jump to so much from what it really is. Monotonic clocks go on.
func (k clock) set(t *testing.T, off time.Duration) {
	t.Helper()
	f, err := os.OpenFile(k.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	seconds := binary.NativeEndian.AppendUint64(nil, uint64(int64(off/time.Second)))
	if _, err := f.WriteAt(seconds, 0); err != nil {
		t.Fatal(err)
	}
}

// preload compiles what gives PostgreSQL another clock.
func (k clock) preload(t *testing.T) []string {
	t.Helper()
	library := strings.TrimSuffix(k.path, ".clock") + ".so"
	runTool(t, ".", "cc", "-shared", "-fPIC", "-O1", "-o", library, "testdata/chaos_clock.c")
	return []string{"LD_PRELOAD=" + library, clockVariable + "=" + k.path}
}
