package pipeline

import "cmp"

// Format is the number of the newest encoded form below. A reader refuses a form it
// does not know, so it only grows when old readers would misunderstand, and a pipeline
// is written in the oldest form that can hold it (see FormatOf):
//
//	1  services, plugins and approvals
//	2  jobs
//	3  scripts
//	4  input
const Format = 4

// StepKey names a step inside one pipeline: a DNS label, unique in it.
type StepKey string

// Pipeline is the graph an admin draws. A saved version is self-contained: it
// carries the image, schema and limits of every service and plugin it uses,
// so that later changes of the catalogue cannot alter it.
type Pipeline struct {
	Format int    `json:"format"`
	Steps  []Step `json:"steps"`
	// Order is the stable topological order of the steps, computed at save.
	Order []StepKey `json:"order,omitempty"`
	// Input declares what a request for a deployment may set besides versions.
	Input []InputField `json:"input,omitempty"`
	// Comments are for people; a run knows nothing of them.
	Comments []Comment `json:"comments,omitempty"`
}

// Comment is a piece of text on the editor's canvas. With Steps, it names a group: the
// editor draws a frame around them.
type Comment struct {
	Text     string    `json:"text"`
	Position *Position `json:"position,omitempty"`
	// Steps are the group's. A key that no step has is ignored.
	Steps []StepKey `json:"steps,omitempty"`
}

// Step is one node of the graph. Exactly one of Service, Plugin, Approval, Job and
// Script is set.
type Step struct {
	Key StepKey `json:"key"`
	// Needs are the edges into this step: all of them are done before it starts.
	Needs   []StepKey    `json:"needs,omitempty"`
	Service *ServiceStep `json:"service,omitempty"`
	Plugin  *PluginStep  `json:"plugin,omitempty"`
	// Approval asks a person before the run continues.
	Approval *ApprovalStep `json:"approval,omitempty"`
	// Job runs a container to its end, such as a migration.
	Job *JobStep `json:"job,omitempty"`
	// Script runs JavaScript without a container.
	Script *ScriptStep `json:"script,omitempty"`
	// Position is where the editor drew it; it has no meaning for a run.
	Position *Position `json:"position,omitempty"`
}

// Position is a place on the editor's canvas, in its own units.
type Position struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// ServiceStep starts one container that stays until the deployment goes.
type ServiceStep struct {
	// Name is the catalogue's service. The step key is its name inside the
	// deployment's network and in its URL.
	Name string `json:"name"`
	// Image is filled at save (registry, repository, tag mode) and completed
	// at create (tag, digest).
	Image *Image `json:"image,omitempty"`
	// Entrypoint replaces the image's, and then the image's command does not
	// count either, as in Docker. [""] is no entrypoint at all.
	Entrypoint []string `json:"entrypoint,omitempty"`
	Command    []string `json:"command,omitempty"`
	// Env values may hold references. One that touches a secret reaches the
	// process through the tmpfs init, never through the engine's files.
	Env       map[string]string `json:"env,omitempty"`
	Ports     []Port            `json:"ports,omitempty"`
	Volumes   []Volume          `json:"volumes,omitempty"`
	Files     []File            `json:"files,omitempty"`
	Resources Resources         `json:"resources"`
	Ready     *Readiness        `json:"ready,omitempty"`
	// Restart is what happens when the process ends; empty means RestartAlways.
	Restart Restart `json:"restart,omitempty"`
	GPUs    *GPUs   `json:"gpus,omitempty"`
	// User is the user the process runs as, in place of the image's user: a name or a number, and
	// after a colon a group.
	User string `json:"user,omitempty"`
	// Init starts the container engine's init as the first process: it passes
	// signals on and collects orphaned processes.
	Init bool `json:"init,omitempty"`
	// StopSignal asks the process to end, in place of the image's signal.
	StopSignal string `json:"stop_signal,omitempty"`
	// StopGraceSeconds is how long the process may take to end after the signal
	// before it is killed; zero means the node's, which is 10.
	StopGraceSeconds int         `json:"stop_grace_seconds,omitempty"`
	Tmpfs            []Tmpfs     `json:"tmpfs,omitempty"`
	ExtraHosts       []ExtraHost `json:"extra_hosts,omitempty"`
	// ReadOnly makes the root file system read-only; volumes and tmpfs are not.
	ReadOnly bool `json:"read_only,omitempty"`
}

// Tmpfs is a folder in memory. It is empty whenever the container starts, and
// what is in it counts as the service's memory.
type Tmpfs struct {
	Path string `json:"path"`
	// SizeMiB is its limit; zero means that only the service's memory limits it.
	SizeMiB int `json:"size_mib,omitempty"`
}

// ExtraHost is a host name that the service finds at an address, whatever DNS
// says of it.
type ExtraHost struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

// Restart says what happens when a service's process ends.
type Restart string

// The two behaviours. A service that is never restarted may end like a job: it is
// ready too when it ends with code 0, and stays stopped however it ends later.
const (
	RestartAlways Restart = "always"
	RestartNever  Restart = "never"
)

// GPUs are requested from the container engine as devices. Exactly one of Count and DeviceIDs is
// set.
type GPUs struct {
	// Count is any so many of the node's.
	Count int `json:"count,omitempty"`
	// DeviceIDs are the ones with these ids, as the node's driver calls them.
	DeviceIDs []string `json:"device_ids,omitempty"`
	// VRAMMiB is how much memory the service uses on all its GPUs together. Zero is unknown.
	VRAMMiB int `json:"vram_mib,omitempty"`
}

// TagMode says who chooses a service's version.
type TagMode string

// The two tag modes.
const (
	Pinned     TagMode = "pinned"
	Selectable TagMode = "selectable"
)

// Image is where a container comes from.
type Image struct {
	// Registry is host[:port] as an image reference spells it.
	Registry string `json:"registry"`
	// Insecure allows plain HTTP, which is refused beyond loopback.
	Insecure   bool    `json:"insecure,omitempty"`
	Repository string  `json:"repository"`
	TagMode    TagMode `json:"tag_mode,omitempty"`
	// Pattern limits what a user may select; empty means every tag.
	Pattern string `json:"pattern,omitempty"`
	Tag     string `json:"tag,omitempty"`
	// Digest is sha256:… and decides; Tag is for people once it is set.
	Digest string `json:"digest,omitempty"`
}

// Port is one port a service listens on inside the deployment's network.
type Port struct {
	Name string `json:"name"`
	Port int    `json:"port"`
	// Expose makes the port reachable through the ingress. The first exposed
	// port answers at service.deployment.environment.domain.
	Expose bool `json:"expose,omitempty"`
}

// Volume is storage that lives and dies with the deployment.
type Volume struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// ReadOnly lets the service read it only.
	ReadOnly bool `json:"read_only,omitempty"`
	// Shared names storage of the deployment: all volumes with the same name
	// here, of any service, are one. Name is the service's own name for it.
	Shared string `json:"shared,omitempty"`
	// Stays says that what is in it cannot be copied to another node.
	Stays bool `json:"stays,omitempty"`
}

// File is a rendered configuration file, mounted read-only.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Resources are hard limits, enforced by the container engine.
type Resources struct {
	// CPU is in cores: 0.5 is half of one.
	CPU float64 `json:"cpu,omitempty"`
	// MemoryMiB is in MiB; swap is not added to it.
	MemoryMiB int `json:"memory_mib,omitempty"`
}

// Readiness says how we know that a service can be used. Exactly one of HTTP,
// TCP, Command and Image is set.
type Readiness struct {
	HTTP    *HTTPProbe `json:"http,omitempty"`
	TCP     *TCPProbe  `json:"tcp,omitempty"`
	Command []string   `json:"command,omitempty"`
	// Image waits for the health check that the image itself declares.
	Image bool `json:"image,omitempty"`
	// Times are in seconds; zero means the default (1, 5, 60 tries, 0).
	IntervalSeconds    int `json:"interval_seconds,omitempty"`
	TimeoutSeconds     int `json:"timeout_seconds,omitempty"`
	Retries            int `json:"retries,omitempty"`
	StartPeriodSeconds int `json:"start_period_seconds,omitempty"`
}

// HTTPProbe is satisfied by a status below 400, or by exactly Status if given.
type HTTPProbe struct {
	Port   int    `json:"port"`
	Path   string `json:"path"`
	Status int    `json:"status,omitempty"`
}

// TCPProbe is satisfied by an accepted connection.
type TCPProbe struct {
	Port int `json:"port"`
}

// PluginStep runs one container to its end: JSON in, JSON out.
type PluginStep struct {
	// Name is the catalogue's plugin.
	Name string `json:"name"`
	// Image and Component are the catalogue's at save, Image with its digest.
	Image      *Image         `json:"image,omitempty"`
	Component  *Component     `json:"component,omitempty"`
	Parameters map[string]any `json:"parameters,omitempty"`
	// Secrets maps the plugin's secret names to one reference each.
	Secrets map[string]string `json:"secrets,omitempty"`
	// TimeoutSeconds, when not zero, replaces the component's.
	TimeoutSeconds int `json:"timeout_seconds,omitempty"`
	// Resources replace the component's, each number that is not zero.
	Resources *Resources `json:"resources,omitempty"`
	// Network, when given, replaces the component's.
	Network *bool `json:"network,omitempty"`
}

// Limits are the step's own where it has some, the component's elsewhere.
func (p *PluginStep) Limits() Resources {
	var own, all Resources
	if p.Component != nil {
		all = p.Component.Resources
	}
	if p.Resources != nil {
		own = *p.Resources
	}
	return Resources{CPU: cmp.Or(own.CPU, all.CPU), MemoryMiB: cmp.Or(own.MemoryMiB, all.MemoryMiB)}
}

// Networked reports whether the plugin joins the deployment's network.
func (p *PluginStep) Networked() bool {
	if p.Network != nil {
		return *p.Network
	}
	return p.Component != nil && p.Component.Network
}
