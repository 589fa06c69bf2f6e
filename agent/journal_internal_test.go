package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/internal/durable/durabletest"
)

// Whatever is cut off at the end or changed in the middle: what is read back is
// a beginning of what was written, or the file is put aside. It never lies. With its mark, which
// only a loss of power can make older, nothing is lost without a word.
//
// fault: F22
func TestJournal_NeverLies(t *testing.T) {
	dir := durabletest.TempDir(t)
	rapid.Check(t, func(rt *rapid.T) {
		sub, err := os.MkdirTemp(dir, "j")
		if err != nil {
			rt.Fatal(err)
		}
		written := rapid.SliceOfN(rapid.SliceOfN(rapid.ByteMin(1), 1, 50), 1, 8).Draw(rt, "payloads")
		j, _, _, err := openJournal(fastDisk(rt, sub), sub, nil)
		if err != nil {
			rt.Fatal(err)
		}
		if err := j.appendPayloads(written); err != nil {
			rt.Fatal(err)
		}
		_ = j.close()
		data, err := os.ReadFile(j.path)
		if err != nil {
			rt.Fatal(err)
		}
		at := rapid.IntRange(0, len(data)-1).Draw(rt, "place")
		torn := rapid.Bool().Draw(rt, "torn")
		if torn {
			data = data[:at]
		} else {
			data[at] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
		}
		if err := os.WriteFile(j.path, data, 0o600); err != nil {
			rt.Fatal(err)
		}
		marked := rapid.Bool().Draw(rt, "marked")
		if !marked {
			if err := os.Remove(filepath.Join(sub, markName)); err != nil {
				rt.Fatal(err)
			}
		}
		checkRead(rt, sub, written, torn, marked)
	})
}

// fastDisk is a folder that is not really synced: the tests' disk is slow, and its power stays on.
func fastDisk(t interface {
	Helper()
	Fatal(args ...any)
}, dir string) *durabletest.Disk {
	t.Helper()
	d, err := durabletest.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func checkRead(t *rapid.T, dir string, written [][]byte, torn, marked bool) {
	j, read, damage, err := openJournal(fastDisk(t, dir), dir, nil)
	if err != nil {
		// A flipped bit may make the format look newer; that is refused.
		if torn || marked {
			t.Fatal(err)
		}
		return
	}
	defer func() { _ = j.close() }()
	if torn && damage != nil && !marked {
		t.Fatal("a torn tail was taken for damage")
	}
	if marked && (damage == nil || len(read) > 0) {
		t.Fatalf("%d payloads of a damaged journal, damage %v", len(read), damage)
	}
	if len(read) > len(written) || !torn && damage == nil && len(read) < len(written)-1 {
		t.Fatalf("%d of %d payloads, and nobody was told", len(read), len(written))
	}
	for i := range read {
		if !bytes.Equal(read[i], written[i]) {
			t.Fatalf("payload %d differs", i)
		}
	}
	more := []byte("goes on")
	if err := j.appendPayloads([][]byte{more}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(j.path)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := readFrames(data, j.size)
	if err != nil || len(again) != len(read)+1 || !bytes.Equal(again[len(read)], more) {
		t.Fatalf("after the repair %d payloads, %v", len(again), err)
	}
}

// While the disk refuses, nothing is half written.
func TestJournal_AnAppendThatFailsLeavesNoTrace(t *testing.T) {
	for _, place := range []string{"journal.append", "journal.sync"} {
		refuse := true
		j, _, _, err := openJournal(durable.OS{}, t.TempDir(), func(name string) error {
			if refuse && name == place {
				return fmt.Errorf("no space left")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.appendPayloads([][]byte{[]byte("lost")}); err == nil {
			t.Fatalf("%s: the refusal was swallowed", place)
		}
		refuse = false
		if err := j.appendPayloads([][]byte{[]byte("kept")}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(j.path)
		if err != nil {
			t.Fatal(err)
		}
		read, _, err := readFrames(data, 0)
		if err != nil || len(read) != 1 || string(read[0]) != "kept" {
			t.Errorf("%s: read %q, %v", place, read, err)
		}
	}
}

// A compaction that fails once the new file has the journal's name must not leave
// the old one, which has none any more, to be written to; and what is written next
// counts only when a crash can no longer bring the old one back.
func TestJournal_GoesOnInTheFileThatHasItsName(t *testing.T) {
	refuse := false
	dir := t.TempDir()
	j, _, _, err := openJournal(durable.OS{}, dir, func(name string) error {
		if refuse && name == "journal.compacted" {
			return fmt.Errorf("the folder cannot be synced")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	refuse = true
	if err := j.rewrite([][]byte{[]byte("short")}); err == nil {
		t.Error("the refusal was swallowed")
	}
	if err := j.appendPayloads([][]byte{[]byte("lost")}); err == nil {
		t.Error("something counts that a crash can take back")
	}
	refuse = false
	if err := j.appendPayloads([][]byte{[]byte("kept")}); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	_, read, _, err := openJournal(durable.OS{}, dir, nil)
	if err != nil || len(read) != 2 || string(read[0]) != "short" || string(read[1]) != "kept" {
		t.Errorf("read %q, %v", read, err)
	}
}

// What a process left that died while it compacted is removed by the next one.
func TestStore_TidiesWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, journalName+".tmp-1")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, _, err := openStore(durable.OS{}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.close() }()
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

func FuzzReadFrames(f *testing.F) {
	f.Add([]byte(headerLine()))
	f.Add(append([]byte(headerLine()), encodeFrame([]byte("payload"))...))
	f.Fuzz(func(t *testing.T, data []byte) {
		payloads, good, err := readFrames(data, 0)
		if err == nil && good > int64(len(data)) {
			t.Fatalf("%d good bytes of %d, %d payloads", good, len(data), len(payloads))
		}
	})
}

// One record per write, each on disk before the next: what a step costs at
// least. `make bench` shows it as journal_fsync.
func BenchmarkJournal_Fsync(b *testing.B) {
	j, _, _, err := openJournal(durable.OS{}, b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	payload := [][]byte{bytes.Repeat([]byte("r"), 512)}
	for b.Loop() {
		if err := j.appendPayloads(payload); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	if err := j.close(); err != nil {
		b.Fatal(err)
	}
}
