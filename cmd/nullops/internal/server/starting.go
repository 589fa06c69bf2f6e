package server

import "fmt"

// StartSettings are for services that are not ready yet.
type StartSettings struct {
	CPU float64 `description:"Processors that a slow start may use above the limit; 0 is none."`
}

// mostStartCPU is more than any node has.
const mostStartCPU = 1024

func (s StartSettings) check() error {
	if !(s.CPU >= 0 && s.CPU <= mostStartCPU) { // NaN is neither.
		return fmt.Errorf("setting agent.starting.cpu: %v is not a number of processors from 0 to %d; "+
			"write one such as 2, or 0 for the limit of each service", s.CPU, mostStartCPU)
	}
	return nil
}
