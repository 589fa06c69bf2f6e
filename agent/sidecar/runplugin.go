package sidecar

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A plugin on Kubernetes is started over an exec stream, below the helper, and runs only for as
// long as its agent is heard. A machine that is cut off from its cluster cannot be asked to end a
// plugin, and its pods may run on; without a lease, nobody could ever say that they do not.
//
// The helper reads its clock every PluginBeat and sends the reading, a stamp. The agent returns it,
// and the plugin may run for PluginLease from that reading on. A return that was delayed therefore
// extends nothing, and no clocks are compared: PluginLease after the agent received the last stamp
// that it returned, nothing of the plugin runs. The clock counts the time that the machine sleeps.
//
// The agent sends a FrameRenew, then a FrameStart, FrameInput as often as needed and a FrameEnd,
// and from then on a FrameRenew for each FrameStamp. The helper sends the output, and FrameExit at
// the end.

const (
	// PluginLease is how long a plugin runs without hearing from its agent.
	PluginLease = time.Minute
	// PluginBeat is how often a stamp is sent.
	PluginBeat = 5 * time.Second
	// leaseGrace is how long before the end of its lease a plugin gets SIGTERM.
	leaseGrace = 10 * time.Second
	leaseLook  = 100 * time.Millisecond
	// killPause is the pause between two looks whether everything has ended that was killed, and
	// leaseKill bounds them at the end of a lease: something may fork while it is killed.
	killPause = 5 * time.Millisecond
	leaseKill = time.Minute
	// maxPluginInput bounds what is kept of a plugin's input before it starts.
	maxPluginInput = 64 << 20
	// ExitLease is the exit code of the helper when the lease ended.
	ExitLease = 114
)

// pluginProcess is a plugin below the helper.
type pluginProcess struct {
	to *FrameWriter
	mu sync.Mutex
	// until is the end of the lease, by the helper's clock; zero before the first renewal.
	until time.Duration
	// pid is zero before the plugin runs.
	pid int
	// signals are caught: the helper stays until the plugin has ended.
	signals chan os.Signal
}

// servePlugin runs a plugin for an agent that is connected through in and out.
func servePlugin(in io.Reader, out io.Writer) error {
	debug.SetGCPercent(relayGC)
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0)
	p := &pluginProcess{to: NewFrameWriter(out), signals: make(chan os.Signal, 8)}
	// Caught and not ignored, since the plugin would inherit that. Who asks the whole container to end
	// asks the plugin too. A stream that nobody reads any more is no reason to end before the lease.
	signal.Notify(p.signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	go p.sendStamps()
	s, input, err := p.readStart(in)
	if err != nil {
		return err
	}
	if p.leaseLeft() <= 0 {
		return &exitError{code: ExitLease, err: errors.New("the plugin was not started, since the " +
			"agent that asked for it has not been heard from since")}
	}
	go p.readRenewals(in)
	go p.watchLease()
	return p.to.JSON(FrameExit, p.runPlugin(s.Command, input))
}

// readStart reads what to run, and everything that the plugin gets on stdin: later, nothing may
// keep a renewal from being read.
func (p *pluginProcess) readStart(in io.Reader) (s Start, input []byte, err error) {
	for {
		f, err := ReadFrame(in)
		if err != nil {
			// The run ended before this step, or the agent died.
			return s, nil, &exitError{code: exitNoGo}
		}
		switch f.Kind {
		case FrameRenew:
			p.renewLease(f.Data)
		case FrameStart:
			err = json.Unmarshal(f.Data, &s)
		case FrameInput:
			input = append(input, f.Data...)
		case FrameEnd:
			if len(s.Command) == 0 {
				return s, nil, errUsage
			}
			return s, input, nil
		default:
			err = ErrFrame
		}
		if err != nil || len(input) > maxPluginInput {
			return s, nil, fmt.Errorf("read what to run: %w", errors.Join(err, ErrFrame))
		}
	}
}

// sendStamps sends readings of the clock, until the process ends.
func (p *pluginProcess) sendStamps() {
	for {
		stamp := binary.BigEndian.AppendUint64(nil, uint64(readClock()))
		if p.to.Write(FrameStamp, stamp) != nil {
			return
		}
		time.Sleep(PluginBeat)
	}
}

func (p *pluginProcess) readRenewals(in io.Reader) {
	for {
		f, err := ReadFrame(in)
		if err != nil {
			return // the lease runs out
		}
		if f.Kind == FrameRenew {
			p.renewLease(f.Data)
		}
	}
}

// renewLease takes a stamp that the agent returned.
func (p *pluginProcess) renewLease(stamp []byte) {
	if len(stamp) != 8 {
		return
	}
	until := time.Duration(binary.BigEndian.Uint64(stamp)) + PluginLease
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = max(p.until, until)
}

func (p *pluginProcess) leaseLeft() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.until - readClock()
}

// watchLease ends everything when the lease does, and asks it to end before.
func (p *pluginProcess) watchLease() {
	for asked := false; ; time.Sleep(leaseLook) {
		left := p.leaseLeft()
		if left <= 0 {
			p.killAll(leaseKill)
			if isContained() {
				_ = syscall.Kill(1, syscall.SIGTERM) // the pod ends too
			}
			os.Exit(ExitLease)
		}
		if left <= leaseGrace && !asked {
			asked = true
			p.signalAll(syscall.SIGTERM)
		}
	}
}

// runPlugin runs it to its end, and ends what it left running. The thread stays ours: the kernel
// ends the plugin when the thread that started it does.
func (p *pluginProcess) runPlugin(command []string, input []byte) Exit {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	path, err := LookPath(command[0], os.Environ())
	if err != nil {
		return p.refuse(exitNotFound, err)
	}
	c := &exec.Cmd{Path: path, Args: command, Env: os.Environ(), Stdin: bytes.NewReader(input),
		Stdout: lastingStream{frameStream{p.to, FrameOutput}},
		Stderr: lastingStream{frameStream{p.to, FrameErrors}}, WaitDelay: endGrace,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}}
	p.mu.Lock()
	err = c.Start()
	if err == nil {
		p.pid = c.Process.Pid
	}
	p.mu.Unlock()
	if err != nil {
		return p.refuse(exitNotExecutable, fmt.Errorf("start %s: %w", path, err))
	}
	err = c.Wait()
	p.killAll(endWithin)
	return exitFromCommand(c, err)
}

// refuse says in the plugin's log why it was not started.
func (p *pluginProcess) refuse(code int, err error) Exit {
	_ = p.to.Write(FrameErrors, []byte("nullops: "+err.Error()+"\n")) // the code says it too
	return Exit{Code: code}
}

// isContained reports whether everything that the helper sees belongs to its container: then its
// parent, which entered the container from outside, has no number.
func isContained() bool { return os.Getppid() == 0 }

// signalAll sends a signal to the plugin, and in a container to everything but the first process.
func (p *pluginProcess) signalAll(s syscall.Signal) (there bool) {
	if isContained() {
		return !errors.Is(syscall.Kill(-1, s), syscall.ESRCH)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid > 0 && syscall.Kill(-p.pid, s) == nil
}

// killAll returns when nothing of the plugin is there any more, or after some time: what waits for
// a disk ends only when that answers, without another instruction.
func (p *pluginProcess) killAll(within time.Duration) {
	deadline := time.Now().Add(within)
	for p.signalAll(syscall.SIGKILL) && isContained() && time.Now().Before(deadline) {
		time.Sleep(killPause) // the container's first process collects what has ended
	}
}

// lastingStream goes on taking what nobody reads any more: whether the plugin ends is decided by
// the lease alone.
type lastingStream struct{ to frameStream }

func (s lastingStream) Write(p []byte) (int, error) {
	_, _ = s.to.Write(p)
	return len(p), nil
}

// readClock is the time since the machine was started, with the time that it slept.
func readClock() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 1 << 62 // no lease is long enough
	}
	return time.Duration(t.Nano())
}
