package script

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
)

// Role is the hidden command of this binary that runs one script.
const Role = "script-runner"

// ServeIfAsked runs one script and ends the process, if the process was started in the role.
// Every program that uses a Runner calls it first in main, its tests in TestMain.
func ServeIfAsked() {
	if len(os.Args) != 2 || os.Args[1] != Role {
		return
	}
	os.Exit(serveRequest())
}

// exitConfine is the exit code of a process that could not be confined.
const exitConfine = 3

// serveRequest reads one request from stdin and answers on stdout. It reads nothing before the
// process is confined.
func serveRequest() int {
	runtime.LockOSThread()
	if err := confineProcess(); err != nil {
		fmt.Fprintln(os.Stderr, "nullops: confine the script runner:", err)
		return exitConfine
	}
	text, err := io.ReadAll(io.LimitReader(rawFile(syscall.Stdin), maxRequest))
	if err != nil {
		return 1
	}
	var request Request
	if err := json.Unmarshal(text, &request); err != nil {
		return 1
	}
	// A Go program may grow its heap to several times its limit before the kernel's limit ends
	// it; a collector that knows the limit lets scripts use what they have.
	debug.SetMemoryLimit(MemoryMiB << 20)
	debug.SetMaxStack(64 << 20)
	debug.SetTraceback("none")
	if err := limitResources(request); err != nil {
		return exitConfine
	}
	var once sync.Once
	respond := func(answer Response) {
		once.Do(func() { os.Exit(writeFrame(frame{Response: &answer})) })
	}
	respond(evaluateSafely(request, respond))
	return 0
}

// evaluateSafely turns a fault of the interpreter into a problem of the script.
func evaluateSafely(r Request, abort func(Response)) (answer Response) {
	defer func() {
		if fault := recover(); fault != nil {
			answer = Response{Problem: &Problem{Kind: Crashed,
				Message: "the interpreter cannot run this script"}}
		}
	}()
	return evaluateScript(r, output{begin: func() { writeFrame(frame{Begun: true}) },
		log: func(line string) { writeFrame(frame{Log: &line}) }, abort: abort})
}

func writeFrame(f frame) int {
	text, err := json.Marshal(f)
	if err != nil {
		return 1
	}
	text = append(text, '\n')
	for len(text) > 0 {
		n, err := syscall.Write(syscall.Stdout, text)
		if err != nil && err != syscall.EINTR {
			return 1
		}
		text = text[max(n, 0):]
	}
	return 0
}

// rawFile reads a file without the runtime's poller, whose system calls the confined process
// does not have.
type rawFile int

func (f rawFile) Read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(f), p)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
