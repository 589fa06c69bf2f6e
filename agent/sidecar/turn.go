package sidecar

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// The container of a service or a job may be started before its turn. Its first process is then the
// init role, which waits until its turn; until then, no instruction of the image runs.
//
// It waits on TurnFile, a named pipe beside its file with the environment. The agent opens the pipe
// when the init has, and writes TurnHello. At the turn it puts the file with the environment in its
// place, and then writes TurnGo: the file is the go signal, the byte only says when to look. When
// the agent dies, the pipe ends; the init then goes on if the file is there, and otherwise ends. A
// container that is started again later finds no pipe, and does not wait.

const (
	// TurnFile is the name of the pipe.
	TurnFile = "turn"
	// TurnHello is what the agent writes to it first.
	TurnHello byte = 'h'
	// TurnGo says that the file is there, if it is the turn.
	TurnGo byte = 'g'

	// helloWait is how long the init waits for an agent that may have died.
	helloWait = time.Minute
	helloPoll = 5 * time.Millisecond
)

// awaitTurn returns once the command may run. That is at once where there is no pipe, or the agent
// died when the turn had come and before it removed the pipe.
func awaitTurn(file string, command []string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	path := filepath.Join(filepath.Dir(file), TurnFile)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() != fs.ModeNamedPipe {
		return nil
	}
	debug.SetGCPercent(relayGC)
	runtime.GOMAXPROCS(1)
	// The engine would refuse to start an image without the command. Ending early leaves it to say so.
	if err := findCommand(command[0]); err != nil {
		return &exitError{code: exitNotFound, err: err}
	}
	// Without a reader, opening it for writing fails: that is how the agent sees whether we live.
	pipe, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return &exitError{code: exitNoGo, err: fmt.Errorf("wait for the turn: %w", err)}
	}
	defer func() { _ = pipe.Close() }()
	if awaitByte(pipe, TurnHello, time.Now().Add(helloWait)) {
		awaitByte(pipe, TurnGo, time.Time{})
	}
	if _, err := os.Stat(file); err != nil {
		// The run ended before this step, or the agent died.
		return &exitError{code: exitNoGo}
	}
	return nil
}

// awaitByte reports whether the byte came. Until the deadline, a pipe that nobody writes to is one
// that somebody will; without a deadline, its writer has ended.
func awaitByte(pipe io.Reader, want byte, deadline time.Time) bool {
	got := make([]byte, 1)
	for {
		n, err := pipe.Read(got)
		switch {
		case n == 1:
			return got[0] == want
		case time.Now().After(deadline) || !errors.Is(err, io.EOF):
			return false
		}
		time.Sleep(helloPoll)
	}
}

// findCommand looks for the command as the image's environment has it.
func findCommand(command string) error {
	path, err := LookPath(command, os.Environ())
	if err != nil || !strings.Contains(command, "/") {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0) {
		err = fmt.Errorf("start %s: %w", path, fs.ErrPermission)
	}
	return err
}
