package server

import "fmt"

// SandboxSettings bound what is prepared before its turn.
type SandboxSettings struct {
	Ahead  int `description:"Containers of later steps that a run may have ready; 0 is none."`
	Memory int `description:"MiB that waiting sandboxes may take on the node; one takes 16."`
}

// mostSandboxes is far beyond what makes a run faster.
const mostSandboxes = 50

func defaultSandboxes() SandboxSettings { return SandboxSettings{Ahead: 4, Memory: 256} }

func (s SandboxSettings) check() error {
	switch {
	case s.Ahead < 0 || s.Ahead > mostSandboxes:
		return fmt.Errorf("setting agent.sandboxes.ahead: %d is not a number from 0 to %d",
			s.Ahead, mostSandboxes)
	case s.Memory < 0:
		return fmt.Errorf("setting agent.sandboxes.memory: %d is not a number of MiB", s.Memory)
	}
	return nil
}

// memoryBytes is in the runtime's terms: none is negative there.
func (s SandboxSettings) memoryBytes() int64 {
	if s.Ahead == 0 || s.Memory == 0 {
		return -1
	}
	return int64(s.Memory) << 20
}
