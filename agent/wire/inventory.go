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
	// Cluster is set if the node is a Kubernetes cluster, or a part of one. Otherwise the node is a
	// machine with a Docker Engine.
	Cluster *Cluster `json:"cluster,omitempty"`
}

// Cluster is what a node is that is a Kubernetes cluster.
type Cluster struct {
	// Version is that of the API server, such as v1.34.3.
	Version string `json:"version"`
	// Network is the network plugin, if it is known by what it leaves in the cluster.
	Network string `json:"network,omitempty"`
	// MachineCount counts the machines that deployments may use, Machines are the first of them
	// by name.
	MachineCount   int            `json:"machine_count"`
	Machines       []Machine      `json:"machines,omitempty"`
	StorageClasses []StorageClass `json:"storage_classes,omitempty"`
}

// Machine is one machine of a cluster.
type Machine struct {
	Name  string       `json:"name"`
	State MachineState `json:"state"`
	// Version is that of its kubelet.
	Version string `json:"version"`
	// CPU and Memory are what pods may have of it.
	CPU    float64 `json:"cpu"`
	Memory int64   `json:"memory"`
	// Detail says why it is not ready, in the cluster's words.
	Detail string `json:"detail,omitempty"`
}

// MachineState is whether a machine of a cluster takes pods.
type MachineState string

// The states. A cordoned machine keeps its pods and takes no new ones.
const (
	MachineReady    MachineState = "ready"
	MachineCordoned MachineState = "cordoned"
	MachineNotReady MachineState = "not_ready"
)

// StorageClass is a kind of volumes that a cluster has.
type StorageClass struct {
	Name        string `json:"name"`
	Provisioner string `json:"provisioner"`
	Default     bool   `json:"default,omitempty"`
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
