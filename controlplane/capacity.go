package controlplane

import (
	"cmp"
	"fmt"
	"time"
)

// CapacityRules is how an environment counts what its nodes have. A zero value is the default.
type CapacityRules struct {
	// CPUOvercommit is how many times the cores of a node may be reserved.
	CPUOvercommit float64 `json:"cpu_overcommit,omitempty"`
	// A node is busy if at least BusyCPUPercent of its CPU was in use, by whatever, all the
	// time during the last BusySeconds. A hundred percent switches this off.
	BusyCPUPercent int `json:"busy_cpu_percent,omitempty"`
	BusySeconds    int `json:"busy_seconds,omitempty"`
}

// The defaults. Services of QA environments idle most of the time, and CPU is shared fairly when
// they do not. Memory cannot be shared and is never reserved twice.
const (
	DefaultCPUOvercommit  = 4
	DefaultBusyCPUPercent = 90
	DefaultBusySeconds    = 300
)

// The limits of what can be set. Single measurements, five seconds apart, are kept for two hours.
const (
	minCPUOvercommit = 0.1
	maxCPUOvercommit = 100
	minBusySeconds   = 30
	maxBusySeconds   = 3600
)

// Check returns an error that says which rule is out of range.
func (r CapacityRules) Check(field string) error {
	if r.CPUOvercommit != 0 &&
		(r.CPUOvercommit < minCPUOvercommit || r.CPUOvercommit > maxCPUOvercommit) {
		return &Error{Kind: Invalid, Code: "range", Field: field + ".cpu_overcommit",
			Message: fmt.Sprintf("%g is out of range", r.CPUOvercommit),
			Remedy: fmt.Sprintf("Give %g to %d, or 0 for the default, %d.", minCPUOvercommit,
				maxCPUOvercommit, DefaultCPUOvercommit)}
	}
	if r.BusyCPUPercent < 0 || r.BusyCPUPercent > 100 {
		return outOfRange(field+".busy_cpu_percent", r.BusyCPUPercent, 100)
	}
	if s := r.BusySeconds; s != 0 && (s < minBusySeconds || s > maxBusySeconds) {
		return &Error{Kind: Invalid, Code: "range", Field: field + ".busy_seconds",
			Message: fmt.Sprintf("%d seconds are out of range", s),
			Remedy: fmt.Sprintf("Give %d to %d, or 0 for the default, %d.", minBusySeconds,
				maxBusySeconds, DefaultBusySeconds)}
	}
	return nil
}

// Overcommit is how many times the cores of a node may be reserved.
func (r CapacityRules) Overcommit() float64 {
	return cmp.Or(r.CPUOvercommit, DefaultCPUOvercommit)
}

// BusyShare is the used share of a node's CPU at which it is busy, and how long it has to be that
// high. ok is false if nodes are never busy.
func (r CapacityRules) BusyShare() (share float64, during time.Duration, ok bool) {
	percent := cmp.Or(r.BusyCPUPercent, DefaultBusyCPUPercent)
	seconds := cmp.Or(r.BusySeconds, DefaultBusySeconds)
	return float64(percent) / 100, time.Duration(seconds) * time.Second, percent < 100
}
