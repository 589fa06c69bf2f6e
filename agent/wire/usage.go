package wire

import "github.com/nullops/nullops/pipeline"

// Flow is what moved through network and disks, in bytes per second.
type Flow struct {
	NetIn       float64 `json:"net_in,omitempty"`
	NetOut      float64 `json:"net_out,omitempty"`
	DiskRead    float64 `json:"disk_read,omitempty"`
	DiskWritten float64 `json:"disk_written,omitempty"`
}

// Samples are measurements for the record. Unlike Vitals they are kept by the
// agent until Stored, so that a cut of the link leaves no gap.
type Samples struct {
	// Boot names the life of the agent that numbered them.
	Boot  string   `json:"boot"`
	Items []Sample `json:"items"`
}

// Sample is one measurement of everything, or several in a row that hardly differ.
type Sample struct {
	// Number is that of the last measurement in it.
	Number int64 `json:"number"`
	// Count is how many measurements it is; 0 is one. All figures are their mean then, but for
	// DiskFree, which is the least.
	Count int `json:"count,omitempty"`
	// Age is how long ago it was taken, in milliseconds, when it was sent. The
	// agent's wall clock is not asked: it may be years off. Of several, it is the middle.
	Age      int64        `json:"age"`
	CPU      float64      `json:"cpu"`
	Memory   int64        `json:"memory"`
	DiskFree int64        `json:"disk_free"`
	Flow     Flow         `json:"flow,omitzero"`
	Services []ServiceUse `json:"services,omitempty"`
}

// ServiceUse is what one service used: CPU in cores, memory in bytes.
type ServiceUse struct {
	Deployment string           `json:"deployment"`
	Step       pipeline.StepKey `json:"step"`
	CPU        float64          `json:"cpu"`
	Memory     int64            `json:"memory"`
	Flow       Flow             `json:"flow,omitzero"`
}

// Stored says that samples up to Number are committed in the database.
type Stored struct {
	Boot   string `json:"boot"`
	Number int64  `json:"number"`
}

// Watch says how often the node's vitals are needed. It is sent only to an agent whose Welcome says
// that it Rests. Before the first one, an agent reports every measurement.
type Watch struct {
	// Seconds is for how long somebody needs every measurement; 0: nobody does.
	Seconds int `json:"seconds,omitempty"`
	// Rest is the longest time between two reports, in seconds, while nothing changes and nobody
	// needs them; 0: the agent must not rest.
	Rest int `json:"rest,omitempty"`
}
