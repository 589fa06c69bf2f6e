// Package call describes one call of a script: what goes into the confined process, what comes
// out, and the limits. The control plane knows scripts by these types alone; what runs them is in
// package script, and passed to it by the program that starts the server.
package call

import (
	"errors"
	"fmt"
	"time"

	"github.com/nullops/nullops/pipeline"
)

// Actions of a request.
const (
	// ActionCheck loads the script without calling it, to find its errors and exports.
	ActionCheck = "check"
	// ActionCreate calls the default export.
	ActionCreate = "create"
	// ActionDelete calls the export remove.
	ActionDelete = "delete"
)

// Limits of a script. They hold against hostile code.
const (
	// MaxSource is the largest source in bytes.
	MaxSource = pipeline.MaxScript
	// DefaultTimeout and MaxTimeout limit one call.
	DefaultTimeout = pipeline.DefaultScriptSeconds * time.Second
	MaxTimeout     = pipeline.MaxScriptSeconds * time.Second
	// CheckTimeout limits loading a script without calling it.
	CheckTimeout = 3 * time.Second
	// MemoryMiB is what a script may use; MaxCalls is how deep its functions may call each other.
	MemoryMiB = 128
	MaxCalls  = 2000
	// MaxLine and MaxLog are in bytes: what is longer is cut, and what is more is left out.
	MaxLine = 8 << 10
	MaxLog  = 1 << 20
)

// Request is one call of a script. It travels on the stdin of the confined process.
type Request struct {
	Action string `json:"action"`
	Source string `json:"source"`
	Input  Input  `json:"input"`
	// Clock lets the script read the time. Without it, asking for the time is an error.
	Clock bool `json:"clock,omitempty"`
	// Timeout limits the call; zero means DefaultTimeout.
	Timeout time.Duration `json:"timeout"`
}

// Input is the argument of the script's functions.
type Input struct {
	Parameters map[string]any    `json:"parameters"`
	Secrets    map[string]string `json:"secrets"`
	// Outputs are the script's own, when remove is called.
	Outputs    map[string]any     `json:"outputs"`
	Services   map[string]Service `json:"services"`
	Deployment Deployment         `json:"deployment"`
	Run        Run                `json:"run"`
}

// Service is a service that was started before the script.
type Service struct {
	Host string `json:"host"`
	Port int    `json:"port,omitempty"`
}

// Deployment says what the script runs for.
type Deployment struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Environment string `json:"environment"`
	Project     string `json:"project"`
	Domain      string `json:"domain"`
}

// Run says which step of which run the script is.
type Run struct {
	ID      string `json:"id"`
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
}

// Response is what came of a call. Problem is nil if it succeeded.
type Response struct {
	Outputs map[string]any `json:"outputs,omitempty"`
	// Removes reports whether the script exports remove.
	Removes bool     `json:"removes,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
	// Dropped counts the log lines that were left out because there were too many.
	Dropped int64 `json:"dropped,omitempty"`
}

// Kind says what went wrong with a script.
type Kind string

// The kinds of problems.
const (
	// Syntax: the source is no valid module.
	Syntax Kind = "syntax"
	// Contract: the source is valid, but does not export what it must.
	Contract Kind = "contract"
	// Thrown: the script threw an error.
	Thrown Kind = "thrown"
	// Outputs: what the script returned cannot be outputs.
	Outputs Kind = "outputs"
	// TimedOut, Memory and Recursion: the script was stopped at a limit.
	TimedOut  Kind = "timeout"
	Memory    Kind = "memory"
	Recursion Kind = "recursion"
	// Crashed: the process ended in another way.
	Crashed Kind = "crashed"
)

// Problem is why a script failed: one sentence, and a place in its source if that is known.
type Problem struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	// Line and Column count from 1; zero is unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// Error implements error: the message with its place.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
}

// Limit is how long the call may take.
func (r Request) Limit() time.Duration {
	switch {
	case r.Timeout > 0:
		return min(r.Timeout, MaxTimeout)
	case r.Action == ActionCheck:
		return CheckTimeout
	}
	return DefaultTimeout
}

// ErrConfine says that the machine does not let a process give up its rights. No script runs
// there.
var ErrConfine = errors.New("this machine cannot confine scripts: the kernel needs seccomp " +
	"filters, and a container must be allowed to use them")

// ErrBusy says that the machine had so much else to do that the script did not begin. That is no
// fault of the script; it may run again.
var ErrBusy = errors.New("the machine is so busy that the script did not begin in time")
