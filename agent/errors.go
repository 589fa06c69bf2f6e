package agent

import "errors"

// ErrUnavailable means that the container engine could not be asked, so
// nothing is known. It is never a reason to stop, fail or delete.
var ErrUnavailable = errors.New("container engine unavailable")

// ErrDiskHangs means that a write to the agent's folder did not come back. The
// process is to end: what runs runs on, and the next one reads what is there.
var ErrDiskHangs = errors.New("the disk of the agent's data folder does not answer")

// ErrNotFound means that the engine answered: there is no such thing.
var ErrNotFound = errors.New("not found")
