package agent

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/mask"
	"github.com/nullops/nullops/pipeline"
)

// Runtime is the interface to a container engine, in terms of deployments, services, plugins,
// relays and logs; it exposes no engine-specific type.
//
// All methods are safe for concurrent use. Every method that creates something is
// idempotent by the names in its argument: an existing object, for example from before a
// lost response, is adopted if it is the same and replaced if not. Cancelling the context
// ends a call soon, but what it has created stays: the caller removes it. Errors wrap
// ErrUnavailable if the engine could not be asked; then nothing is known, and nothing may
// be concluded.
type Runtime interface {
	// Inventory describes the node.
	Inventory(ctx context.Context) (wire.Inventory, error)
	// List returns every object of this installation, in every state.
	List(ctx context.Context) ([]Object, error)
	// Prepare makes the deployment's network and relay.
	Prepare(ctx context.Context, deployment string) error
	// Pull makes the image present, and fails unless the registry lets these
	// credentials have it, also when the image is present already. Progress is
	// called from one goroutine.
	Pull(ctx context.Context, image pipeline.Image, auth *wire.RegistryAuth,
		progress func(PullProgress)) error
	// Present reports whether the image is on the node, whichever deployment pulled it.
	HasImage(ctx context.Context, image pipeline.Image) (bool, error)
	// StartService creates and starts the container; it does not wait for it
	// to be ready. The container of a job (Once) is started once in a run: one that has been
	// started before, whatever became of it, is left as it is.
	StartService(ctx context.Context, s ServiceSpec) error
	// StopService asks a service to end, and kills it when it takes longer than
	// the grace period. It returns once the service has ended, and
	// whether it ran before; the container stays for StartService.
	StopService(ctx context.Context, deployment string, service pipeline.StepKey) (bool, error)
	// Probe asks once whether a started service is ready, or a job has ended; it may wait for the
	// end of a job for a second. A container that
	// does not exist, or a job's that was never started, is ErrNotFound.
	Probe(ctx context.Context, s ServiceSpec) (ProbeResult, error)
	// CreatePlugin prepares the sandbox of a plugin before its turn: its container is started, but
	// no instruction of the image runs before RunPlugin. RunPlugin also works without it. A node
	// without room for another one refuses.
	CreatePlugin(ctx context.Context, p PluginSpec) error
	// RunPlugin feeds stdin, streams stderr lines, waits, and removes the
	// container. A plugin that says no is a result; an error means that it
	// is not known whether it ran.
	RunPlugin(ctx context.Context, p PluginSpec, stdin []byte,
		line func(text string)) (PluginResult, error)
	// Remove deletes one object and what hangs on it; a service is stopped first,
	// as by StopService. Gone already is success.
	Remove(ctx context.Context, o Object) error
	// RemoveDeployment stops the deployment's services, all at once and each within its grace
	// period, and deletes everything of it: services, plugins, volumes, relay, network and tmpfs
	// folder, and returns what is left.
	RemoveDeployment(ctx context.Context, deployment string) ([]Object, error)
	// Dial connects to a service's port through the deployment's relay.
	Dial(ctx context.Context, deployment string, service pipeline.StepKey,
		port int) (net.Conn, error)
	// Logs streams a service's lines, oldest first, as "RFC3339Nano text". Lines
	// are whole, however the engine cuts them.
	Logs(ctx context.Context, deployment string, service pipeline.StepKey,
		o LogOptions) (io.ReadCloser, error)
	// Inside starts the sidecar's inside role in a service, and connects to it.
	// Closing the connection ends whatever was started. A service without a
	// container is ErrNotFound.
	ExecInService(ctx context.Context, deployment string,
		service pipeline.StepKey) (io.ReadWriteCloser, error)
	// Vitals measures the node and the given services.
	Vitals(ctx context.Context, services []ServiceSpec) (wire.Vitals, error)
	// WatchChanges sends a hint whenever an object of this installation may have changed. Hints may
	// be lost or doubled; the channel closes when ctx ends.
	WatchChanges(ctx context.Context) <-chan struct{}
}

// Object is one thing in the engine that carries our labels.
type Object struct {
	Kind ObjectKind
	// ID is the engine's own name for it.
	ID         string
	Name       string
	Deployment string
	Run        string
	Step       pipeline.StepKey
	// Running is meaningful for containers only.
	Running bool
	// Waiting: it is a sandbox whose turn has not come.
	Waiting bool
	// Spec is a digest of what the container was made from, to see drift.
	Spec string
}

// ObjectKind says what an Object is.
type ObjectKind string

// The kinds of objects we make.
const (
	KindNetwork ObjectKind = "network"
	KindService ObjectKind = "service"
	KindPlugin  ObjectKind = "plugin"
	KindRelay   ObjectKind = "relay"
	KindVolume  ObjectKind = "volume"
	KindTmpfs   ObjectKind = "tmpfs"
	// KindHolder is a container that does nothing: plugins of a run share its place in the network.
	KindHolder ObjectKind = "holder"
	// KindCopy is a container that never runs: through it, a volume is read or
	// written.
	KindCopy ObjectKind = "copy"
)

// PullProgress is how far a pull is, in bytes and in layers. Totals grow as
// layers appear; a layer that was here before counts as done.
type PullProgress struct {
	Done       int64
	Total      int64
	LayersDone int
	Layers     int
}

// ServiceSpec is a service step with every reference resolved.
type ServiceSpec struct {
	Deployment string
	Run        string
	Step       pipeline.StepKey
	Image      pipeline.Image
	Entrypoint []string
	Command    []string
	// Env is public; SecretEnv reaches the process through tmpfs only.
	Env       map[string]string
	SecretEnv map[string]string
	Ports     []pipeline.Port
	Volumes   []pipeline.Volume
	// Files are rendered. They live in tmpfs, since they may hold secrets.
	Files     []pipeline.File
	Resources pipeline.Resources
	Ready     *pipeline.Readiness
	GPUs      *pipeline.GPUs
	// User, Init, StopSignal, Tmpfs, ExtraHosts and ReadOnly are the step's.
	User       string
	Init       bool
	StopSignal string
	// StopGrace is how long the service may take to end; zero means the node's.
	StopGrace  time.Duration
	Tmpfs      []pipeline.Tmpfs
	ExtraHosts []pipeline.ExtraHost
	ReadOnly   bool
	// Once: it is a job, whose container is started once in a run.
	Once bool
	// Never: only StartService starts it again when it has ended. Runtimes whose engine starts
	// nothing by itself need not know.
	Never bool
	// Starting: the service has not been ready in this run. A runtime may let it use more
	// processors than its limit, which holds again when Probe says that it is healthy.
	Starting bool
	// Results is where a job leaves files that are read when it has ended, as a pattern of
	// FileReader.ReadFiles; empty if none are. Runtimes that can read any file then need not know.
	Results string
	// Late names the variables that refer to outputs of earlier steps. Before the service's turn,
	// their values are not known.
	Late []string
	// Prepared: the container is made to be started before its turn. The runtime sets it.
	Prepared bool
}

// ServicePreparer is a Runtime that can start the container of a service or a job before its turn.
type ServicePreparer interface {
	// CreateService makes and starts the container, but no instruction of the image runs before
	// StartService, which also works without it. It needs no values of secret and late variables,
	// and no contents of files. A service whose container exists is refused, and on a node without
	// room for another one all are.
	CreateService(ctx context.Context, s ServiceSpec) error
}

// MailHost and MailPort are where the containers of a deployment send mails to.
const (
	MailHost = "mail"
	MailPort = 1025
)

// MailCatcher is a Runtime in whose deployments something can listen for mails.
type MailCatcher interface {
	// PrepareWithMail is Prepare for a deployment in whose network MailHost and MailPort lead to
	// AcceptMail. A step must not have that name.
	PrepareWithMail(ctx context.Context, deployment string) error
	// AcceptMail waits for the next connection that a container of the deployment opens to its mail
	// port. Until it is called, clients wait. A deployment that is not prepared is ErrNotFound, one
	// that was prepared without a mail port ErrNoMailPort.
	AcceptMail(ctx context.Context, deployment string) (net.Conn, error)
}

// DeploymentLimiter is a Runtime whose engine can hold all containers of a deployment together to a
// limit, beside that of each.
type DeploymentLimiter interface {
	// LimitDeployment is called after Prepare, with what the services and jobs of the deployment may
	// use together, and their number: what the runtime itself needs for each is not theirs. Zero
	// takes a limit away. What runs already is left alone.
	LimitDeployment(ctx context.Context, deployment string, limits pipeline.Resources,
		containers int) error
}

// ProbeResult is one answer of a probe. Ended means the container stopped.
type ProbeResult struct {
	Health   wire.Health
	Detail   string
	Ended    bool
	ExitCode int
	OOM      bool
	// Cluster is why the cluster ended a process that would have gone on, as a sentence with its
	// reason: an eviction, a lost machine. It is empty where the process ended by itself, was killed
	// by somebody, or was stopped by us.
	Cluster string
	// StartedAt is when the process that runs was started, by the engine's clock.
	StartedAt time.Time
}

// PluginSpec is a plugin step, ready to run.
type PluginSpec struct {
	Deployment string
	Run        string
	Step       pipeline.StepKey
	// Action is create, delete or check; it is part of the container's name.
	Action    string
	Image     pipeline.Image
	Resources pipeline.Resources
	Network   bool
	// SharesNetwork: several plugins of the pipeline join the network. They work one after the
	// other, and may share one place in it.
	SharesNetwork bool
	Timeout       time.Duration
	// Traceparent is the trace that the plugin's work belongs to, which it has in the variable
	// TRACEPARENT; empty without one.
	Traceparent string
	// StdoutLimit is in bytes: one more, and the plugin is killed.
	StdoutLimit int64
	// Pieces takes the pieces of a line that is too long to be given whole, except
	// the last. When it is nil, pieces are given as lines.
	Pieces PieceTaker
}

// PieceTaker takes a piece of a line whose rest is still to come.
type PieceTaker interface{ TakePiece(text string) }

// PluginResult is how a plugin ended.
type PluginResult struct {
	ExitCode int
	// Stdout is complete unless Overflow is set.
	Stdout   []byte
	Overflow bool
	// At most one is set, and says why the exit code is 137.
	TimedOut bool
	Canceled bool
	OOM      bool
	// Lines and Bytes count the output on stderr, Dropped the lines that were left out.
	Lines   int64
	Bytes   int64
	Dropped int64
}

// LogOptions choose lines of a service's log.
type LogOptions struct {
	Follow bool
	// Tail is a number of lines; zero means all.
	Tail  int
	Since time.Time
	// Mask hides secrets where a line has to be cut. Whole lines are passed on unmasked: their
	// reader masks them.
	Mask *mask.Masker
}
