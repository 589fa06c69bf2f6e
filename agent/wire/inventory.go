package wire

import "time"

// Inventory is what the node is. Sizes are in bytes, CPU in cores.
type Inventory struct {
	Hostname      string `json:"hostname"`
	OS            string `json:"os"`
	Kernel        string `json:"kernel"`
	Arch          string `json:"arch"`
	EngineVersion string `json:"engine_version"`
	APIVersion    string `json:"api_version"`
	// RuncVersion is that of runc, or name and version of what runs containers in its place.
	RuncVersion   string  `json:"runc_version,omitempty"`
	CgroupVersion string  `json:"cgroup_version,omitempty"`
	CgroupDriver  string  `json:"cgroup_driver,omitempty"`
	StorageDriver string  `json:"storage_driver,omitempty"`
	LogDriver     string  `json:"log_driver,omitempty"`
	LiveRestore   bool    `json:"live_restore,omitempty"`
	CPU           float64 `json:"cpu"`
	Memory        int64   `json:"memory"`
	// Disk is the size of the smallest of Disks.
	Disk    int64   `json:"disk"`
	Disks   []Disk  `json:"disks,omitempty"`
	GPUs    []GPU   `json:"gpus,omitempty"`
	Subnets int     `json:"subnets"`
	Checks  []Check `json:"checks,omitempty"`
	// Plugins are those of the catalogue, and whether their images are here.
	Plugins []HeldPlugin `json:"plugins,omitempty"`
	// Warnings are what could not even be asked.
	Warnings []string `json:"warnings,omitempty"`
}

// Disk is one file system that deployments fill.
type Disk struct {
	// Holds says what is on it: images and containers, or the agent's data.
	Holds string `json:"holds"`
	Path  string `json:"path"`
	Size  int64  `json:"size"`
}

// GPU is one graphics card that containers can be given.
type GPU struct {
	Index  int    `json:"index"`
	UUID   string `json:"uuid"`
	Model  string `json:"model"`
	Memory int64  `json:"memory"`
	Driver string `json:"driver,omitempty"`
}

// HeldPlugin is one plugin of the catalogue on this node. Image is spelled as
// registry/repository@digest; Detail says why a pull failed, or is put off.
type HeldPlugin struct {
	Name   string      `json:"name"`
	Image  string      `json:"image"`
	State  PluginState `json:"state"`
	Detail string      `json:"detail,omitempty"`
}

// PluginState is whether a plugin's image is on the node.
type PluginState string

// The states. A run pulls what is not here, whatever the state says.
const (
	PluginHere    PluginState = "here"
	PluginPulling PluginState = "pulling"
	PluginWaiting PluginState = "waiting"
	PluginFailed  PluginState = "failed"
)

// Check is one thing that a node needs to keep what NullOps promises.
type Check struct {
	// ID is a stable word, such as "isolation".
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Detail says what was found, Remedy what to do unless it is fine.
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// CheckEngine is the id of the check that the container engine answers. It is
// critical while it does not: then nothing is placed on the node, and that passes
// by itself.
const CheckEngine = "engine"

// Severity is how bad what a check found is.
type Severity string

// The severities. A node with a critical one takes no new deployment.
const (
	SeverityOK       Severity = "ok"
	SeverityUnknown  Severity = "unknown"
	SeverityWarning  Severity = "warning"
	SeverityCritical Severity = "critical"
)

// InventoryChanged carries the node's present inventory. It may be lost: the next
// welcome carries it again.
type InventoryChanged struct {
	At        time.Time `json:"at"`
	Inventory Inventory `json:"inventory"`
}
