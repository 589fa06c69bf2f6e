// Package sources keeps definitions in step with git repositories: it reads the documents of a
// folder at the tip of a branch, finds what applying them would change, and applies them, either by
// itself or once a person has confirmed exactly that commit.
//
// A source applies in the name of the admin who saved it last, and only for as long as that person
// is an active admin. What it may define is limited to kinds; secrets never come from a repository.
// A commit is applied in one transaction, with the operations and checks of POST /documents: with a
// problem in one document nothing changes. What somebody changed in NullOps since is drift: it is
// listed, and stays until a person has the commit applied again or a newer one is applied.
package sources

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/documents"
	"github.com/nullops/nullops/internal/gitfetch"
)

// The rhythm.
const (
	lookEvery = 2 * time.Second
	// lookTime is how long one look may last, and holdFor how long a claim does, before another
	// control plane may take the source.
	lookTime = 2 * time.Minute
	holdFor  = 3 * time.Minute
	atOnce   = 4
	// retryAfter is how long after a failure the next look is; it doubles up to the period.
	retryAfter = 30 * time.Second
)

// Set is a commit's documents, to be applied or tried.
type Set struct {
	// Owner is the source's name, which its definitions are recorded under.
	Owner     string
	Documents []documents.Document
	// Removes deletes what the owner holds besides, and nothing uses.
	Removes bool
	// DryRun does the same work and undoes it.
	DryRun bool
}

// Apply applies a set in one transaction. It returns what was done, and what the owner holds
// besides. Documents that are refused are a *controlplane.Error with problems.
type Apply func(ctx context.Context, actor access.Actor, set Set) (
	[]controlplane.DefinitionChange, []controlplane.Definition, error)

// Config is what New needs.
type Config struct {
	Store *postgres.Store
	Keys  *keyring.Keyring
	// Off is where the addresses of repositories may not lead.
	Off    controlplane.OffLimits
	Limits gitfetch.Limits
	Log    *slog.Logger
}

// Sources is the door to sources of definitions, and the loop that looks at them.
type Sources struct {
	Config
	apply Apply
}

// New makes it; nothing happens before Run.
func New(c Config) *Sources { return &Sources{Config: c} }

// ApplyWith says how documents are applied: the API, which has the operations of every kind, is
// made after this package. It must be called before Run.
func (s *Sources) ApplyWith(apply Apply) { s.apply = apply }

// worker is the actor of what a source does before it applies anything.
var worker = access.System("sources")

// Run looks at sources that are due until ctx ends.
func (s *Sources) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := s.lookAtDue(ctx); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "sources of definitions are behind", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *Sources) lookAtDue(ctx context.Context) error {
	var due []controlplane.DefinitionSource
	err := s.Store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		due, err = tx.DefinitionSources().ClaimDue(ctx, holdFor, atOnce)
		return err
	})
	errs := []error{err}
	for _, x := range due {
		_, err := s.lookAt(ctx, x)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// repositoryOf is how the repository of a source is reached.
func (s *Sources) repositoryOf(
	ctx context.Context, x controlplane.DefinitionSource,
) (gitfetch.Repository, func(), error) {
	token, err := s.Keys.LoadWebhookSecret(ctx, worker, tokenOf(x.ID))
	if err != nil {
		return gitfetch.Repository{}, nil, err
	}
	trusted, err := trustedBy(x.CA)
	if err != nil {
		return gitfetch.Repository{}, nil, err
	}
	transport := &http.Transport{
		DialContext: s.Off.Dialer(5 * time.Second).DialContext, TLSHandshakeTimeout: 5 * time.Second,
		TLSClientConfig: trusted, ResponseHeaderTimeout: 30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
	return gitfetch.Repository{URL: x.URL, Branch: x.Branch, Username: usernameOf(x),
		Password: token.Reveal(), Limits: s.Limits, Client: &http.Client{Transport: transport,
			// The token goes nowhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}, transport.CloseIdleConnections, nil
}

// usernameOf is the source's own, or the one that goes with a token at every known code host.
func usernameOf(x controlplane.DefinitionSource) string {
	if x.Username != "" {
		return x.Username
	}
	return "x-token-auth"
}
