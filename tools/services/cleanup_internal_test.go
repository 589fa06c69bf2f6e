package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const savedRules = `*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:DOCKER - [0:0]
:DOCKER-USER - [0:0]
-A FORWARD -j DOCKER-USER
-A FORWARD -o docker0 -j DOCKER
-A FORWARD -i br-0123456789ab -o br-0123456789ab -j ACCEPT
-A FORWARD -i eth1 -j ACCEPT
-A DOCKER-USER -j RETURN
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:DOCKER - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE
-A POSTROUTING -s 10.9.0.0/16 -o eth0 -j MASQUERADE
COMMIT
`

func TestWithoutDocker_KeepsTheRulesOfOthers(t *testing.T) {
	want := `*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
-A FORWARD -i eth1 -j ACCEPT
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
-A POSTROUTING -s 10.9.0.0/16 -o eth0 -j MASQUERADE
COMMIT
`
	if got := withoutDocker(savedRules, "ACCEPT"); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestMountsBelow_DeepestFirstAndNoNeighbors(t *testing.T) {
	table := "22 1 8:1 / /run/a/docker rw - ext4 /dev/x rw\n" +
		"23 22 0:9 / /run/a/docker/netns/default rw - nsfs nsfs rw\n" +
		"24 1 0:9 / /run/ab/docker rw - nsfs nsfs rw\n"
	got := strings.Join(mountsBelow(table, "/run/a"), " ")
	if got != "/run/a/docker/netns/default /run/a/docker" {
		t.Error(got)
	}
}

// Who does not refer to a run's lock keeps it all the same: garbage collection once
// closed its file, and the next run took live servers for stale.
func TestNewRunDir_StaysLocked(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := newRunDir()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // finalizers run some time after a collection
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	if unlock, err := tryLock(dir); err == nil {
		_ = unlock()
		t.Error("a second run gets the lock of a live one")
	}
}

// Runs that start side by side each keep their folder: a sweep once took one that was not
// locked yet for a stale one.
func TestNewRunDir_IsNotSweptByAnotherRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ended := make(chan struct{})
	var sweeps sync.WaitGroup
	for range 4 {
		sweeps.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					sweepStale()
				}
			}
		})
	}
	for range 200 {
		dir, err := newRunDir()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		}
	}
	close(ended)
	sweeps.Wait()
}

// A server that ignores its stop signal, and one whose child outlives it, are
// both gone after close, and so is the folder.
func TestGroup_LeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := newRunDir()
	if err != nil {
		t.Fatal(err)
	}
	g := &group{dir: dir}
	if _, err := g.newMemoryDir(nil); err != nil {
		t.Fatal(err)
	}
	ready := filepath.Join(dir, "ready")
	stubborn := exec.Command("sh", "-c", `trap "" TERM; : >"$0"; while :; do sleep 1; done`, ready)
	c, err := g.start("stubborn", syscall.SIGTERM, stubborn)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := c.close(200 * time.Millisecond); err == nil {
		t.Error("a killed server is not mentioned")
	}
	if err := g.close(); err != nil {
		t.Error(err)
	}
	if users := usersOf(dir); len(users) > 0 {
		t.Errorf("processes %v are left", users)
	}
	for _, one := range []string{dir, memoryDirOf(dir)} {
		if _, err := os.Stat(one); err == nil {
			t.Errorf("%s is left", one)
		}
	}
}

// A folder on the disk is no place in memory, nor is one that is not there.
func TestRoomIn_CountsMemoryOnly(t *testing.T) {
	for _, dir := range []string{"/proc", filepath.Join(t.TempDir(), "absent")} {
		if room := roomIn(dir); room != 0 {
			t.Errorf("%s has room for %d bytes in memory", dir, room)
		}
	}
	if availableMemory() < 1<<20 {
		t.Error("the machine has less than a megabyte of memory")
	}
}

func TestSweep_RemovesOnlyWhatNobodyHolds(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	held, err := newRunDir()
	if err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(os.TempDir(), dirPrefix+"stale")
	for _, dir := range []string{filepath.Join(stale, "postgres"), memoryDirOf(stale)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sweepStale()
	for _, dir := range []string{stale, memoryDirOf(stale)} {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("the stale folder %s is left", dir)
		}
	}
	if _, err := os.Stat(held); err != nil {
		t.Error("the folder in use is gone")
	}
}

func TestRunCommand_GivesTheExitCode(t *testing.T) {
	g := &group{dir: t.TempDir()}
	code, err := g.runCommand(t.Context(), []string{"sh", "-c", "exit 7"}, os.Environ())
	if code != 7 || err != nil {
		t.Errorf("exit code %d, %v", code, err)
	}
	if _, err := g.runCommand(t.Context(), []string{"/no/such/program"}, nil); err == nil {
		t.Error("a missing program is no error")
	}
}
