package controlplane

import "slices"

// Inventory is what a node is. Sizes are in bytes, CPU in cores.
type Inventory struct {
	Hostname      string  `json:"hostname"`
	OS            string  `json:"os"`
	Kernel        string  `json:"kernel"`
	Arch          string  `json:"arch"`
	EngineVersion string  `json:"engine_version"`
	APIVersion    string  `json:"api_version"`
	RuncVersion   string  `json:"runc_version,omitempty"`
	CgroupVersion string  `json:"cgroup_version,omitempty"`
	CgroupDriver  string  `json:"cgroup_driver,omitempty"`
	StorageDriver string  `json:"storage_driver,omitempty"`
	LogDriver     string  `json:"log_driver,omitempty"`
	LiveRestore   bool    `json:"live_restore,omitempty"`
	CPU           float64 `json:"cpu"`
	Memory        int64   `json:"memory"`
	Disk          int64   `json:"disk"`
	Disks         []Disk  `json:"disks,omitempty"`
	Subnets       int     `json:"subnets"`
	// Checks are what the node needs for our promises, and whether it has it.
	Checks   []Check  `json:"checks,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// GPUs are what the node's own tools list.
	GPUs []GPU `json:"gpus,omitempty"`
	// Plugins are those of the catalogue, and whether their images are there.
	Plugins []HeldPlugin `json:"plugins,omitempty"`
	// Cluster is nil for a machine with a Docker Engine.
	Cluster *Cluster `json:"cluster,omitempty"`
}

// HeldPlugin is one plugin of the catalogue on a node.
type HeldPlugin struct {
	Name   string      `json:"name"`
	Image  string      `json:"image"`
	State  PluginState `json:"state"`
	Detail string      `json:"detail,omitempty"`
}

// PluginState is whether a plugin's image is on the node. A run pulls what is not there,
// whatever the state says.
type PluginState string

// The states, as agents report them.
const (
	PluginHere    PluginState = "here"
	PluginPulling PluginState = "pulling"
	PluginWaiting PluginState = "waiting"
	PluginFailed  PluginState = "failed"
)

// Disk is one file system that deployments fill.
type Disk struct {
	Holds string `json:"holds"`
	Path  string `json:"path"`
	Size  int64  `json:"size"`
}

// GPU is one device that a container engine can hand to a service. ID is what
// the engine calls it, such as 0; memory is in bytes.
type GPU struct {
	ID     string `json:"id"`
	Model  string `json:"model"`
	Memory int64  `json:"memory"`
}

// Check is one thing that a node needs. Remedy says what to do unless it is ok.
type Check struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Detail   string   `json:"detail"`
	Remedy   string   `json:"remedy,omitempty"`
}

// Severity is how bad what a check found is.
type Severity string

// The severities.
const (
	SeverityOK       Severity = "ok"
	SeverityUnknown  Severity = "unknown"
	SeverityWarning  Severity = "warning"
	SeverityCritical Severity = "critical"
)

// blockingChecks are the checks without which a node would not protect the
// deployments it has (docs/threats.md, T22 and T26), or could not begin one. A disk that is full of
// images is none of them: placement considers it by itself, with a fresher number.
func blockingChecks() []string {
	return []string{"isolation", "memory-limit", "pids-limit", "log-driver", "oci-runtime", "journal",
		"rights"}
}

// DegradedReason returns what is wrong with a connected node, in one sentence, or "": why it takes
// no new deployments, or why operations are slow.
func (i *Inventory) DegradedReason() string {
	if why := i.BlockedReason(); why != "" || i == nil {
		return why
	}
	for _, c := range i.Checks {
		if c.ID == "journal" && c.Severity == SeverityWarning || c.engineDown() {
			return c.Detail
		}
	}
	return ""
}

func (c Check) engineDown() bool {
	return c.ID == "engine" && c.Severity == SeverityCritical
}

// EngineDown reports whether the node's agent is connected but its container engine does not
// answer. That is usually temporary, so the node is not given up.
func (i *Inventory) EngineDown() bool {
	return i != nil && slices.ContainsFunc(i.Checks, Check.engineDown)
}

// LacksSecrets reports whether the node has no folder in memory for secrets. An agent that does not
// check it is not judged.
func (i *Inventory) LacksSecrets() bool {
	return i != nil && slices.ContainsFunc(i.Checks, func(c Check) bool {
		return c.ID == "secrets" && (c.Severity == SeverityWarning || c.Severity == SeverityCritical)
	})
}

// BlockedReason returns why a connected node may take no new deployment, or "".
func (i *Inventory) BlockedReason() string {
	if i == nil {
		return ""
	}
	for _, c := range i.Checks {
		if c.Severity == SeverityCritical && slices.Contains(blockingChecks(), c.ID) {
			return c.Detail
		}
	}
	return ""
}

// CarryAlarms keeps an alarm that was raised and is now only unknown, since an agent that has just
// started has not checked again yet. An agent that could not reach its engine reports no inventory:
// the earlier one is kept.
func (i *Inventory) CarryAlarms(before *Inventory) {
	if before == nil {
		return
	}
	if i.EngineDown() && i.CPU == 0 {
		now := *i
		*i = *before
		i.Checks, i.Warnings, i.Plugins = now.Checks, now.Warnings, now.Plugins
	}
	for _, c := range before.Checks {
		if c.Severity != SeverityCritical || !slices.Contains(blockingChecks(), c.ID) {
			continue
		}
		at := slices.IndexFunc(i.Checks, func(n Check) bool { return n.ID == c.ID })
		switch {
		case at < 0:
			i.Checks = append(i.Checks, c)
		case i.Checks[at].Severity == SeverityUnknown:
			i.Checks[at] = c
		}
	}
}
