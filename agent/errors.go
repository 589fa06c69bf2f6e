package agent

import (
	"errors"
	"fmt"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// ErrUnavailable means that the container engine could not be asked, so
// nothing is known. It is never a reason to stop, fail or delete.
var ErrUnavailable = errors.New("container engine unavailable")

// ErrDiskHangs means that a write to the data folder did not return. The process must exit:
// services keep running, and the next process reads the journal.
var ErrDiskHangs = errors.New("the disk of the agent's data folder does not answer")

// ErrNotFound means that the engine answered: there is no such thing.
var ErrNotFound = errors.New("not found")

// ErrNoImage says that a container was not created, because somebody removed its image since it was
// pulled. Nothing has run.
var ErrNoImage = errors.New("its image is not on the node any more")

// ErrNoMailPort says that a deployment takes no mails: its relay is an earlier release's, or was
// made without a mail port.
var ErrNoMailPort = errors.New("the deployment's relay takes no mails")

// StartError says why the engine could not start a container: its command is missing, or something
// that is mounted. People read it without the calls that led to it.
type StartError struct {
	Reason string
	Cause  error
}

func (e *StartError) Error() string { return "the container cannot be started: " + e.Reason }

// Unwrap returns the engine's own answer.
func (e *StartError) Unwrap() error { return e.Cause }

// LoopbackError says why a service's port refuses connections: something listens
// there, but on loopback addresses only, where nobody outside its container can
// connect to it.
type LoopbackError struct {
	Service   pipeline.StepKey
	Port      int
	Addresses wire.ListenAddrs
}

func (e *LoopbackError) Error() string {
	return fmt.Sprintf("%s:%d refuses connections: it listens on %s only; make it listen on 0.0.0.0",
		e.Service, e.Port, e.Addresses)
}
