package wire

import (
	"encoding/json"
	"time"

	"github.com/nullops/nullops/pipeline"
)

// Command is what the control plane says. The family is closed.
type Command interface{ command() string }

// Report is what the agent says. The family is closed.
type Report interface{ report() string }

// Want is the end a goal asks for.
type Want string

// The two ends.
const (
	WantPresent Want = "present"
	WantGone    Want = "gone"
)

// Goal is what should be true of one deployment on this node. Deployment and
// Generation together name it: the same goal twice is one goal, a lower
// generation is stale and ignored.
type Goal struct {
	Deployment string `json:"deployment"`
	Generation int64  `json:"generation"`
	Want       Want   `json:"want"`
	// Run is the run that reaches the goal, made by the control plane.
	Run string `json:"run"`
	// Ready says that the control plane already knows this run to be ready: an
	// agent without memory of it starts services again, but no plugin.
	Ready bool `json:"ready,omitempty"`
	// Begun says that the control plane has heard of this run: an agent without memory
	// of it undoes it, since what ran already may not run twice.
	Begun bool `json:"begun,omitempty"`
	// Elsewhere says that the deployment is being moved and another node has it too. That
	// node's plugin results count: here no plugin is run, neither create nor delete.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Still says that no service runs: its volumes are being copied.
	Still bool `json:"still,omitempty"`
	// Attempt names the copy that may write the volumes while it is Still: a move to this
	// node if it is Elsewhere, otherwise a restore of what was backed up. Empty: none may.
	Attempt string `json:"attempt,omitempty"`
	// Resume lists services with restart "never" that the old node had to stop for the move:
	// they are started again here.
	Resume []pipeline.StepKey `json:"resume,omitempty"`
	// Limits is what all services and jobs of the deployment may use together at any time, as its
	// project says; zero is no limit.
	Limits pipeline.Resources `json:"limits,omitzero"`
	// Request is the ID of the request that caused this goal, for logs; empty if none did.
	Request string `json:"request,omitempty"`
	// Trace is the trace of the run, as the W3C traceparent header; empty without one.
	Trace string `json:"trace,omitempty"`
	// Version is the pipeline's version number, for logs and labels.
	Version  int               `json:"version"`
	Context  pipeline.Context  `json:"context"`
	Pipeline pipeline.Pipeline `json:"pipeline"`
	// Answers are the answers to the run's approval steps so far. They are sent again with
	// every goal, so that none gets lost; the first one counts.
	Answers map[pipeline.StepKey]Answer `json:"answers,omitempty"`
}

// Answer is a person's answer to one approval step.
type Answer struct {
	Approved bool      `json:"approved"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	// Fields are the declared ones, defaults filled in.
	Fields map[string]any `json:"fields,omitempty"`
}

// Goals is the desired state. A full set is sent after the greeting: a deployment that it
// does not list is removed. Otherwise only the listed deployments changed. A full set may
// come in parts: it is complete with the first part that has no More.
type Goals struct {
	Full  bool   `json:"full"`
	More  bool   `json:"more,omitempty"`
	Goals []Goal `json:"goals"`
	// Unknown lists deployments that the control plane does not know and that
	// are left alone all the same: its database was restored, and people have
	// not decided yet. Keep leaves alone whatever else it may not know. Both are
	// said with a full set, in its last part.
	Unknown []string `json:"unknown,omitempty"`
	Keep    bool     `json:"keep,omitempty"`
}

// Ack says that every report up to Seq is committed in the database.
type Ack struct {
	Seq int64 `json:"seq"`
}

// Secrets answers SecretsWanted. It is kept in memory only.
type Secrets struct {
	Run string `json:"run"`
	// Generation is the question's. A deployment keeps its run when it is removed, so an answer to
	// an earlier goal must not count for the later one.
	Generation int64 `json:"generation,omitempty"`
	// Refused is set, and the rest empty, when this node may not have them.
	Refused string `json:"refused,omitempty"`
	// Key seals what the agent must keep on disk or report but may not store
	// readable: the run's secret outputs. 32 bytes.
	Key    []byte            `json:"key,omitempty"`
	Values map[string]string `json:"values,omitempty"`
	// Outputs are the sealed outputs that the control plane has of steps done.
	Outputs map[pipeline.StepKey][]byte `json:"outputs,omitempty"`
	// Begun are the steps that the control plane has heard begin, and not undone: what
	// an agent without memory of the run undoes.
	Begun []pipeline.StepKey `json:"begun,omitempty"`
	// Registries holds pull credentials by registry host.
	Registries map[string]RegistryAuth `json:"registries,omitempty"`
}

// RegistryAuth signs in to one registry for one pull.
type RegistryAuth struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// Plugins is the catalogue's list of plugin images, sent on every change.
type Plugins struct {
	Images []PluginImage `json:"images"`
}

// PluginImage is one plugin of the catalogue.
type PluginImage struct {
	Name  string         `json:"name"`
	Image pipeline.Image `json:"image"`
}

// Registries answers RegistriesWanted. It is kept in memory for one round of
// pulls; hosts that need no sign-in are left out.
type Registries struct {
	Auth map[string]RegistryAuth `json:"auth,omitempty"`
}

// Keep lists the images that stay on the node whatever room there is: those of
// kept pipeline versions and of recent deployments. A long list comes in parts:
// it is complete with the first one without More.
type Keep struct {
	Images []pipeline.Image `json:"images"`
	More   bool             `json:"more,omitempty"`
}

// RefuseToken revokes a token: the agent stores the refusal, then closes every
// connection that used it.
type RefuseToken struct {
	Kid string `json:"kid"`
}

// AuditHead is the end of the control plane's audit at some time: how many
// entries there were, and the link of the last.
type AuditHead struct {
	Seq  int64     `json:"seq"`
	Link []byte    `json:"link"`
	At   time.Time `json:"at"`
}

// Witness has the agent remember the newest entry (head) of the audit chain. The agent
// reports the heads only in its Welcome; an attacker who can rewrite the database cannot
// rewrite those.
type Witness struct {
	Head AuditHead `json:"head"`
}

// Offer asks the agent whether it takes a deployment. It decides by its own configuration
// and answers with OfferAnswer; the offer is over after Seconds. It may come again, after the
// link was lost.
type Offer struct {
	ID      string `json:"id"`
	Seconds int    `json:"seconds"`
	// Deployment is a JSON object for the site's program; it has no secrets.
	Deployment json.RawMessage `json:"deployment"`
}

// OfferAnswer answers an Offer. A decline has a reason for people.
type OfferAnswer struct {
	ID     string `json:"id"`
	Claim  bool   `json:"claim"`
	Reason string `json:"reason,omitempty"`
}

// Welcome is the agent's first message: who it is and what it remembers.
type Welcome struct {
	Build string `json:"build"`
	// At is the agent's clock when it was sent, to see how far it is off.
	At        time.Time `json:"at,omitzero"`
	Inventory Inventory `json:"inventory"`
	// LastSeq is the highest report it ever made; FirstSeq the oldest it kept.
	FirstSeq int64 `json:"first_seq"`
	LastSeq  int64 `json:"last_seq"`
	// Acked is the last report that a control plane confirmed as stored. A database
	// that has fewer was restored from a backup.
	Acked       int64             `json:"acked,omitempty"`
	Deployments []DeploymentState `json:"deployments"`
	// Lines says that step logs wait for a connection of their own.
	Lines bool `json:"lines,omitempty"`
	// Audit lists the audit heads that the agent was asked to remember, oldest first. An agent
	// that omits the field, instead of sending an empty list, cannot remember any and is not
	// asked.
	Audit []AuditHead `json:"audit"`
	// TunnelAccess says that the agent understands the message of that name.
	TunnelAccess bool `json:"tunnel_access,omitempty"`
	// Offers says that the agent answers offers.
	Offers bool `json:"offers,omitempty"`
	// Rests says that the agent understands Watch.
	Rests bool `json:"rests,omitempty"`
}

// DeploymentState is what the agent knows about one deployment.
type DeploymentState struct {
	Deployment string `json:"deployment"`
	Generation int64  `json:"generation"`
	Run        string `json:"run"`
	Phase      Phase  `json:"phase"`
	// Abandoned says that a control plane did not want it: it is being removed.
	Abandoned bool `json:"abandoned,omitempty"`
	// Name, Project and Environment are the goal's, for people.
	Name        string `json:"name,omitempty"`
	Project     string `json:"project,omitempty"`
	Environment string `json:"environment,omitempty"`
}

// Phase is where a deployment stands on its node.
//
//	applying ─▶ ready ─▶ removing ─▶ removed
//	   │                    │ ▲
//	   ▼                    ▼ │
//	undoing ─▶ failed     stuck
//	   └─▶ stuck
type Phase string

// The phases.
const (
	PhaseApplying Phase = "applying"
	PhaseReady    Phase = "ready"
	PhaseUndoing  Phase = "undoing"
	PhaseFailed   Phase = "failed"
	PhaseRemoving Phase = "removing"
	PhaseRemoved  Phase = "removed"
	PhaseStuck    Phase = "stuck"
)

// Event is a change that must not be lost: numbered, kept until acknowledged,
// applied once. Exactly one of Phase and Status is set.
type Event struct {
	Seq        int64     `json:"seq"`
	Deployment string    `json:"deployment"`
	Generation int64     `json:"generation"`
	Run        string    `json:"run"`
	At         time.Time `json:"at"`
	// Phase is set when the deployment moved.
	Phase Phase `json:"phase,omitempty"`
	// Step and Status are set when a step moved.
	Step   pipeline.StepKey    `json:"step,omitempty"`
	Status pipeline.StepStatus `json:"status,omitempty"`
	// Code is a stable word for why, Message one masked sentence for people.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// ExitCode is a plugin's, when it ended by itself.
	ExitCode *int `json:"exit_code,omitempty"`
	// Outputs are readable by people: secret ones are "[secret]".
	Outputs map[string]any `json:"outputs,omitempty"`
	// Sealed holds all outputs under the run's key, for a restarted agent.
	Sealed []byte `json:"sealed,omitempty"`
	// Metadata is what a plugin wants shown beside its step.
	Metadata []Metadatum `json:"metadata,omitempty"`
	// Tests is what a job's test runner reported.
	Tests *TestReport `json:"tests,omitempty"`
	// Parts are how the step has spent its time since its last event, in the order in which they
	// ended. An older agent tells none.
	Parts []StepPart `json:"parts,omitempty"`
	// Deadline is until when an approval that is waiting does so; its question
	// is the Message.
	Deadline time.Time `json:"deadline,omitzero"`
	// Left names what could not be removed, when stuck.
	Left []string `json:"left,omitempty"`
}

// Metadatum is one name and its value as text, masked.
type Metadatum struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SecretsWanted asks for a run's whole bundle.
type SecretsWanted struct {
	Deployment string `json:"deployment"`
	Generation int64  `json:"generation"`
	Run        string `json:"run"`
}

// RegistriesWanted asks for the sign-ins of the registries that plugins of the
// catalogue come from, to pull those ahead.
type RegistriesWanted struct {
	Hosts []string `json:"hosts"`
}

// Progress is a sign of life of a running step, once a second at most. It may
// be lost.
type Progress struct {
	Deployment  string           `json:"deployment"`
	Run         string           `json:"run"`
	Step        pipeline.StepKey `json:"step"`
	PulledBytes int64            `json:"pulled_bytes,omitempty"`
	TotalBytes  int64            `json:"total_bytes,omitempty"`
	// PulledLayers and TotalLayers count the image's layers, those that were
	// here before as pulled.
	PulledLayers int       `json:"pulled_layers,omitempty"`
	TotalLayers  int       `json:"total_layers,omitempty"`
	Lines        int64     `json:"lines,omitempty"`
	Bytes        int64     `json:"bytes,omitempty"`
	LastOutput   time.Time `json:"last_output,omitzero"`
}

// Vitals is the node's measured use: every few seconds, or less often while the node rests, see
// Watch. It may be lost.
type Vitals struct {
	At time.Time `json:"at"`
	// CPU is in cores used over the last interval, the rest in bytes.
	CPU        float64 `json:"cpu"`
	MemoryUsed int64   `json:"memory_used"`
	// MemoryOurs is what of it is used by containers of this installation.
	MemoryOurs int64           `json:"memory_ours,omitempty"`
	DiskFree   int64           `json:"disk_free"`
	Flow       Flow            `json:"flow,omitzero"`
	Services   []ServiceVitals `json:"services,omitempty"`
	// Images is nil where the engine keeps none on the node.
	Images *ImageCare `json:"images,omitempty"`
	// Within is after how many seconds at most the next ones come; 0 is a few.
	Within int `json:"within,omitempty"`
	// Pong asks for a sign of life: this message replaces a ping.
	Pong bool `json:"pong,omitempty"`
	// Samples are those that are not stored yet. They are answered like a message of their own.
	Samples *Samples `json:"samples,omitempty"`
}

// ImageCare is what images take, and what collecting them has freed since the
// agent started. Sizes are in bytes; below Floor bytes free, what nothing needs
// is removed.
type ImageCare struct {
	Count   int       `json:"count"`
	Bytes   int64     `json:"bytes"`
	Floor   int64     `json:"floor"`
	Removed int       `json:"removed"`
	Freed   int64     `json:"freed"`
	At      time.Time `json:"at,omitzero"`
}

// Health is the result of the last probe of a service. Both sides use the type of pipeline.
type Health = pipeline.Health

// The healths.
const (
	HealthStarting  = pipeline.HealthStarting
	HealthHealthy   = pipeline.HealthHealthy
	HealthUnhealthy = pipeline.HealthUnhealthy
	HealthStopped   = pipeline.HealthStopped
	HealthUnknown   = pipeline.HealthUnknown
)

// ServiceVitals is one service's health and use.
type ServiceVitals struct {
	Deployment string           `json:"deployment"`
	Step       pipeline.StepKey `json:"step"`
	Health     Health           `json:"health"`
	// Ended says that a healthy service has ended with exit code 0, as its step lets it.
	Ended    bool    `json:"ended,omitempty"`
	Detail   string  `json:"detail,omitempty"`
	CPU      float64 `json:"cpu"`
	Memory   int64   `json:"memory"`
	Flow     Flow    `json:"flow,omitzero"`
	Restarts int     `json:"restarts"`
}

// TokenRefused answers RefuseToken, after the refusal is on disk.
type TokenRefused struct {
	Kid string `json:"kid"`
}

// LogLine is one line a plugin wrote to stderr, on the log connection. Lines
// are numbered from 1 per run and step; Dropped counts lines left out before
// this one.
type LogLine struct {
	Deployment string           `json:"deployment"`
	Run        string           `json:"run"`
	Step       pipeline.StepKey `json:"step"`
	Number     int64            `json:"number"`
	At         time.Time        `json:"at"`
	Text       string           `json:"text"`
	Dropped    int64            `json:"dropped,omitempty"`
}

// LogBatch carries lines up the log connection; Ack with its Seq comes back.
type LogBatch struct {
	Seq   int64     `json:"seq"`
	Lines []LogLine `json:"lines"`
}

func (Goals) command() string        { return "goals" }
func (Ack) command() string          { return "ack" }
func (Secrets) command() string      { return "secrets" }
func (Plugins) command() string      { return "plugins" }
func (Registries) command() string   { return "registries" }
func (Keep) command() string         { return "keep" }
func (RefuseToken) command() string  { return "refuse_token" }
func (Stored) command() string       { return "stored" }
func (Witness) command() string      { return "witness" }
func (TunnelAccess) command() string { return "tunnel_access" }
func (Offer) command() string        { return "offer" }
func (Watch) command() string        { return "watch" }

func (Welcome) report() string          { return "welcome" }
func (Event) report() string            { return "event" }
func (SecretsWanted) report() string    { return "secrets_wanted" }
func (RegistriesWanted) report() string { return "registries_wanted" }
func (Progress) report() string         { return "progress" }
func (Vitals) report() string           { return "vitals" }
func (TokenRefused) report() string     { return "token_refused" }
func (LogBatch) report() string         { return "log_batch" }
func (InventoryChanged) report() string { return "inventory_changed" }
func (Samples) report() string          { return "samples" }
func (OfferAnswer) report() string      { return "offer_answer" }
