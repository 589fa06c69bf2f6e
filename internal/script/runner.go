package script

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nullops/nullops/internal/text"
)

const (
	// maxRequest bounds what the confined process reads, maxAnswer what it may write.
	maxRequest = 10 << 20
	maxAnswer  = 8 << 20
	// maxCrash is how much of a crash is looked at.
	maxCrash = 16 << 10
	// beginTime is how long a process may take before its script begins. What it may compute until
	// then is limited as well, so that only a busy machine needs more.
	beginTime = time.Minute
	// grace is how long a process may take to notice that its time is over.
	grace = 2 * time.Second
	// MaxProcesses bounds how many scripts of one Runner run at a time.
	MaxProcesses = 4
)

// Runner runs scripts, each in a confined process of its own. The zero value is ready to use.
type Runner struct {
	once sync.Once
	free chan struct{}
	// bare is set once the machine has refused namespaces.
	mu   sync.Mutex
	bare bool
}

// Run runs one script and passes its log lines on as they come, from one goroutine. What the
// script did wrong is in the response; an error means that it could not be run, or that the
// context ended.
func (r *Runner) Run(
	ctx context.Context, request Request, line func(text string),
) (Response, error) {
	if len(request.Source) > MaxSource {
		return Response{Problem: &Problem{Kind: Syntax, Message: fmt.Sprintf(
			"the source has %d bytes; %d are the most", len(request.Source), MaxSource)}}, nil
	}
	input, err := json.Marshal(request)
	if err != nil {
		return Response{}, fmt.Errorf("encode the script's input: %w", err)
	}
	if len(input) > maxRequest {
		return Response{}, fmt.Errorf("the script's input has %d bytes; %d are the most",
			len(input), maxRequest)
	}
	r.once.Do(func() { r.free = make(chan struct{}, MaxProcesses) })
	select {
	case r.free <- struct{}{}:
		defer func() { <-r.free }()
	case <-ctx.Done():
		return Response{}, context.Cause(ctx)
	}
	return r.runConfined(ctx, request, input, line)
}

func (r *Runner) runConfined(
	ctx context.Context, request Request, input []byte, line func(text string),
) (Response, error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := process{input: input, line: line}
	// The kernel ends the process with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := r.start(limited, &p)
	if err != nil {
		return Response{}, fmt.Errorf("start the script runner: %w", err)
	}
	late := time.AfterFunc(beginTime, func() { cancel(ErrBusy) })
	defer func() { late.Stop() }()
	p.begun = func() {
		if late.Stop() {
			late = time.AfterFunc(request.Limit()+grace, func() { cancel(errTimedOut) })
		}
	}
	answer, readErr := p.readFrames(func() { cancel(errTooMuch) })
	err = p.cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return Response{}, context.Cause(ctx)
	case errors.Is(readErr, errTooMuch):
		return problemResponse(Crashed, "the script's process wrote too much and was killed"), nil
	case errors.Is(context.Cause(limited), ErrBusy):
		return Response{}, ErrBusy
	case limited.Err() != nil:
		return problemResponse(TimedOut, timeoutSentence(request)), nil
	case answer != nil && err == nil:
		return *answer, nil
	case p.cmd.ProcessState.ExitCode() == exitConfine:
		return Response{}, fmt.Errorf("%w (%s)", ErrConfine, strings.TrimSpace(p.crash.String()))
	}
	return explainCrash(request, p.cmd.ProcessState, p.crash.String()), nil
}

// start starts the process, in namespaces of its own where the machine permits that. They are
// a second wall: the filter of system calls holds without them.
func (r *Runner) start(ctx context.Context, p *process) error {
	r.mu.Lock()
	bare := r.bare
	r.mu.Unlock()
	if bare {
		return p.start(ctx, false)
	}
	err := p.start(ctx, true)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if bareErr := p.start(ctx, false); bareErr != nil {
		return bareErr
	}
	if errors.Is(err, syscall.EPERM) {
		r.mu.Lock()
		r.bare = true
		r.mu.Unlock()
	}
	return nil
}

// explainCrash says why the process ended without an answer. The runtime's last words are not
// repeated: they are about our program, not the script.
func explainCrash(r Request, state *os.ProcessState, crash string) Response {
	status, _ := state.Sys().(syscall.WaitStatus)
	killed := status.Signaled() && status.Signal() == syscall.SIGKILL
	switch {
	case killed && state.UserTime()+state.SystemTime() > r.Limit(),
		strings.Contains(crash, "CPU time limit"), strings.Contains(crash, "SIGXCPU"):
		return problemResponse(TimedOut, timeoutSentence(r))
	case strings.Contains(crash, "stack exceeds"), strings.Contains(crash, "stack overflow"):
		return problemResponse(Recursion, recursionSentence)
	// Without memory, the kernel kills without a word and the runtime fails in many ways.
	case killed, strings.Contains(crash, "memory"), usedMost(state):
		return problemResponse(Memory, memorySentence)
	}
	return problemResponse(Crashed, "the script's process ended without an answer")
}

// usedMost reports whether the process has used nearly all the memory that it may.
func usedMost(state *os.ProcessState) bool {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	return ok && usage.Maxrss > MemoryMiB<<10/2
}

func problemResponse(kind Kind, message string) Response {
	return Response{Problem: &Problem{Kind: kind, Message: message}}
}

// process is one confined process.
type process struct {
	cmd   *exec.Cmd
	input []byte
	line  func(text string)
	// begun is called once, when the script's own time begins.
	begun  func()
	stdout io.ReadCloser
	crash  cappedBuffer
}

func (p *process) start(ctx context.Context, namespaces bool) error {
	p.crash = cappedBuffer{}
	// The running binary, even if an upgrade has replaced its file.
	p.cmd = exec.CommandContext(ctx, "/proc/self/exe", Role)
	p.cmd.Args[0] = "nullops"
	p.cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}
	p.cmd.Dir = "/"
	p.cmd.Stdin = bytes.NewReader(p.input)
	p.cmd.Stderr = &p.crash
	p.cmd.SysProcAttr = confinedAttributes(namespaces)
	p.cmd.WaitDelay = grace
	var err error
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return err
	}
	return p.cmd.Start()
}

var errTooMuch = errors.New("the script's process wrote too much")

// readFrames reads what the process writes until it ends, passes log lines on, and returns the
// response. It trusts nothing: a script that has taken over its process writes here what it
// likes.
func (p *process) readFrames(kill func()) (*Response, error) {
	in := bufio.NewReaderSize(io.LimitReader(p.stdout, maxAnswer), 64<<10)
	total := 0
	for {
		one, err := in.ReadBytes('\n')
		total += len(one)
		if total >= maxAnswer {
			kill()
			return nil, errTooMuch
		}
		if err != nil {
			return nil, err
		}
		var f frame
		if json.Unmarshal(one, &f) != nil {
			kill()
			return nil, errors.New("the script's process wrote no frame")
		}
		if f.Begun && p.begun != nil {
			p.begun()
			p.begun = nil // a process that says it again gains no time
		}
		if f.Response != nil {
			return f.Response, nil
		}
		if f.Log != nil && p.line != nil {
			for part := range strings.SplitSeq(text.Clip(*f.Log, MaxLine), "\n") {
				p.line(part)
			}
		}
	}
}

// cappedBuffer keeps the beginning of what is written.
type cappedBuffer struct{ bytes.Buffer }

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if room := maxCrash - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
