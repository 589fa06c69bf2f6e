package controlplane

import (
	"time"

	"github.com/nullops/nullops/pipeline"
)

// Flow is what moved through network and disks, in bytes per second.
type Flow struct {
	NetIn       float64 `json:"net_in,omitempty"`
	NetOut      float64 `json:"net_out,omitempty"`
	DiskRead    float64 `json:"disk_read,omitempty"`
	DiskWritten float64 `json:"disk_written,omitempty"`
}

// UsageSum sums up Count measurements of a node or of a service: CPU is in cores,
// memory and disk in bytes. Divided by Count, the sums are means.
type UsageSum struct {
	// Node measured. Subject is its id, or that of a deployment with a step.
	Node    NodeID
	Subject string
	Step    pipeline.StepKey
	// Width is the stretch of time from At on; zero is one measurement, or a few that hardly differ.
	Width     time.Duration
	At        time.Time
	Count     int
	CPU       float64
	CPUMax    float64
	Memory    float64
	MemoryMax int64
	// DiskFree is the least there was.
	DiskFree int64
	Flow     Flow
}

// UsageBatch is what one node measured, oldest first, with the numbers its agent
// gave in the life called Boot.
type UsageBatch struct {
	Boot  string
	Items []UsageItem
}

// UsageItem is one measurement of a node and of its services, or the sum of several in a row.
type UsageItem struct {
	// Number is that of the last one, and Count how many they are.
	Number int64
	Count  int
	All    []UsageSum
}

// UsageMark says how far a node's measurements are stored.
type UsageMark struct {
	Node   NodeID
	Boot   string
	Number int64
}
