// Package lifecycle is the life of a deployment: creating, retrying, removing, and
// applying the reports of nodes.
//
// People write the goal (want, generation), reports write the status; both under the
// deployment's row lock, and only through legal moves of the status. Lifecycle never
// calls fleet: it changes a row, and the row's notification wakes those that need it.
//
// A report counts for the generation it names. A report about an older generation
// still updates its run's steps, but never moves the status.
package lifecycle

import (
	"context"
	"crypto"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/failpoint"
	"github.com/nullops/nullops/pipeline"
)

// Catalog is what lifecycle needs of what admins define.
type Catalog interface {
	// ResolveTag returns the digest that a tag names now. It asks the registry.
	ResolveTag(ctx context.Context, actor access.Actor, image pipeline.Image,
		tag string) (controlplane.ImageFacts, error)
	// InspectPinned asks whether the registry still has an image's digest.
	InspectPinned(ctx context.Context, actor access.Actor,
		image pipeline.Image) (controlplane.ImageFacts, error)
	// NewestTag returns the newest tag that the image's rules allow.
	NewestTag(ctx context.Context, actor access.Actor, image pipeline.Image) (string, error)
	// NewestOfBranch returns the branch that a tag was built from, and the newest tag of it.
	NewestOfBranch(ctx context.Context, actor access.Actor, image pipeline.Image, tag string) (
		branch, newest string, err error)
	// DescribeBuild says what a service's version was built from, and whether its branch has a
	// newer build.
	DescribeBuild(ctx context.Context, actor access.Actor, v controlplane.ServiceVersion) (
		controlplane.ServiceBuild, error)
	// AttachStatement puts a signed statement beside an image in its registry.
	AttachStatement(ctx context.Context, actor access.Actor, p controlplane.PendingAttachment) error
	// ParameterProblems holds the plugins' parameters to their schemas.
	ParameterProblems(p pipeline.Pipeline) ([]controlplane.Problem, error)
	// PinnedProblems holds pinned outputs to what their steps declare.
	PinnedProblems(p pipeline.Pipeline) ([]controlplane.Problem, error)
	// FillPipeline returns a draft as publishing would store it, and its problems.
	FillPipeline(ctx context.Context, actor access.Actor, project string,
		p pipeline.Pipeline) (pipeline.Pipeline, []controlplane.Problem, error)
}

// Keys is what lifecycle needs of the keyring.
type Keys interface {
	// NewRunKey makes the key that seals a run's secret outputs, itself sealed.
	NewRunKey(run controlplane.RunID) (controlplane.Sealed, error)
	// SealRunKey seals the key that an adopted run has; none makes a new one.
	SealRunKey(run controlplane.RunID, key []byte) (controlplane.Sealed, error)
	// SealGenerated seals a value that was generated for a deployment before.
	SealGenerated(deployment controlplane.DeploymentID, name string,
		value controlplane.Plain) (controlplane.Sealed, error)
	// SealRunSecret seals a value with the run that uses it.
	SealRunSecret(run controlplane.RunID, name string,
		value controlplane.Plain) (controlplane.Sealed, error)
	// VerdictSigner returns the key that signs verdicts; the first call makes it.
	VerdictSigner(ctx context.Context, tx *postgres.Tx) (
		key crypto.Signer, public controlplane.VerdictKey, err error)
}

// Config is what New needs.
type Config struct {
	Store   *postgres.Store
	Catalog Catalog
	Keys    Keys
	// IngressURL has the scheme and port of the deployments' URLs.
	IngressURL *url.URL
	// KeepRemoved is how long what is gone can still be looked at, and created
	// again; zero is for ever.
	KeepRemoved time.Duration
	Log         *slog.Logger
	// StepEnded is called after the commit for each step that ended; it may be nil.
	StepEnded func(controlplane.StepRow)
	// Refused hears why each node could not take a deployment that found no node: a word of
	// refusalClass. It may be nil.
	Refused func(class string)
	// Failpoint is for tests only.
	Failpoint failpoint.Hook
}

// Lifecycle holds the use cases around deployments.
type Lifecycle struct {
	store   *postgres.Store
	catalog Catalog
	keys    Keys
	ingress *url.URL
	keep    time.Duration
	log     *slog.Logger
	fail    failpoint.Hook
	feed    *changeReader
	memory  deploymentCache
	// stepEnded may be nil.
	stepEnded func(controlplane.StepRow)
	refused   func(class string)
}

// New makes the use cases.
func New(c Config) *Lifecycle {
	return &Lifecycle{store: c.Store, catalog: c.Catalog, keys: c.Keys,
		ingress: c.IngressURL, log: c.Log,
		keep: c.KeepRemoved, stepEnded: c.StepEnded, refused: c.Refused,
		fail: c.Failpoint, feed: newFeed(), memory: newMemory()}
}

// URL is how people open a host.
func (l *Lifecycle) URL(host string) string {
	u := url.URL{Scheme: l.ingress.Scheme, Host: host}
	if port := l.ingress.Port(); port != "" {
		u.Host = net.JoinHostPort(host, port)
	}
	return u.String()
}
