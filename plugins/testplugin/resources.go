package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/nullops/nullops/plugins/stdio"
)

// writeFill writes Bytes bytes as lines of 64, and stops when nobody reads.
func (t trial) writeFill(w io.Writer) {
	chunk := bytes.Repeat(append(bytes.Repeat([]byte("x"), 63), '\n'), 1024)
	for left := t.p.Bytes; left > 0; left -= int64(len(chunk)) {
		if _, err := w.Write(chunk[:min(left, int64(len(chunk)))]); err != nil {
			return
		}
	}
}

func (t trial) floodStdout() int {
	t.writeFill(t.out)
	return 0
}

// floodStderr fills the log and answers properly after it.
func (t trial) floodStderr() int {
	t.writeFill(t.log)
	return t.succeed()
}

func (t trial) floodBoth() int {
	var both sync.WaitGroup
	both.Go(func() { t.writeFill(t.out) })
	both.Go(func() { t.writeFill(t.log) })
	both.Wait()
	return 0
}

// longLine logs one line of Bytes bytes without an end.
func (t trial) longLine() int {
	chunk := bytes.Repeat([]byte("y"), 64<<10)
	for left := t.p.Bytes; left > 0; left -= int64(len(chunk)) {
		_, _ = t.log.Write(chunk[:min(left, int64(len(chunk)))])
	}
	return t.succeed()
}

// sleepForever is a wait that ends with the container only. Not select{}, which
// the Go runtime would call a deadlock and end by itself.
func sleepForever() {
	for {
		time.Sleep(time.Hour)
	}
}

// hang never ends, but goes when asked to.
func (t trial) hang() int {
	t.logf("hanging")
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	<-asked
	t.logf("asked to stop; stopping")
	return 143
}

func (t trial) ignoreSigterm() int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	t.logf("ignoring SIGTERM")
	sleepForever()
	return 0
}

// closeAndHang answers properly, closes its streams and does not go.
func (t trial) closeAndHang() int {
	t.succeed()
	_ = os.Stdout.Close()
	_ = os.Stderr.Close()
	signal.Ignore(syscall.SIGTERM)
	sleepForever()
	return 0
}

// childHolds answers and goes, but leaves a child holding stdout. The child
// dies with the container, whose first process this is.
func (t trial) childHolds() int {
	cmd := exec.Command("/proc/self/exe")
	cmd.Stdin = bytes.NewReader([]byte(`{"action":"create","parameters":{"mode":"ignore-sigterm"}}`))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		exitWithError("start a child: %v", err)
	}
	return t.succeed()
}

// sleep takes its time, logs as it goes, and succeeds.
func (t trial) sleep() int {
	const beat = 200 * time.Millisecond
	for slept := time.Duration(0); slept < t.sleepDuration(); slept += beat {
		t.logf("slept %s", slept)
		time.Sleep(min(beat, t.sleepDuration()-slept))
	}
	return t.succeed()
}

// clock takes its time, and tells in metadata when it began and ended.
func (t trial) clock() int {
	time.Sleep(t.sleepDuration())
	return t.writeAnswer(stdio.Response{Success: true, Metadata: []stdio.Metadatum{
		{Name: "began", Value: strconv.FormatInt(began.UnixNano(), 10)},
		{Name: "ended", Value: strconv.FormatInt(time.Now().UnixNano(), 10)}}})
}

// memory takes and touches memory until it is killed.
func (t trial) memory() int {
	debug.SetGCPercent(-1)
	var kept [][]byte
	for total := 0; ; total += 8 << 20 {
		block := make([]byte, 8<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		kept = append(kept, block)
		t.logf("took %d MiB in %d blocks", (total+8<<20)>>20, len(kept))
	}
}

// forkBomb starts children that start children. Each waits, so that only the
// pids limit ends it; when that is met, the answer says how far it came.
func (t trial) forkBomb() int {
	started := 0
	var last error
	for range 10000 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Stdin = bytes.NewReader([]byte(`{"action":"create","parameters":{"mode":"child"}}`))
		if last = cmd.Start(); last != nil {
			break
		}
		started++
	}
	t.logf("started %d children", started)
	t.p.Outputs = map[string]any{"started": started, "limited": last != nil}
	return t.succeed()
}

// child is what the fork bomb starts.
func (t trial) child() int {
	signal.Ignore(syscall.SIGTERM)
	sleepForever()
	return 0
}
