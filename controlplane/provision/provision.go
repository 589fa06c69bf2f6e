package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
)

// The rhythm of the work.
const (
	// lease is how long a control plane counts as alive without renewing its claim; it
	// renews every third of that.
	lease = 30 * time.Second
	// lookEvery bounds how late an attempt starts if its notification is lost.
	lookEvery = 5 * time.Second
	// atOnce bounds how many machines are worked on.
	atOnce = 4
	// attemptLimit bounds one attempt: installing Docker over a slow line is the
	// longest part of it.
	attemptLimit = 30 * time.Minute
)

var (
	errStopped = errors.New("the control plane stops")
	errTooLong = errors.New("the attempt takes too long")
	errNotOurs = errors.New("another control plane ended the attempt")
)

// Config is what provisioning needs.
type Config struct {
	Store    *postgres.Store
	Nodes    *nodes.Nodes
	Listener *postgres.Listener
	Connect  Connect
	// Program is the path of the agent's binary: this very program.
	Program string
	// Build is what the program says of itself.
	Build  string
	Holder string
	Log    *slog.Logger
	// Ended hears how long an attempt took, and the code of its failure, empty for none. Nil hears
	// of nothing.
	Ended func(ctx context.Context, took time.Duration, failure string)
}

// Provisioner works on attempts until its context ends.
type Provisioner struct{ Config }

// New makes a provisioner.
func New(c Config) *Provisioner {
	if c.Ended == nil {
		c.Ended = func(context.Context, time.Duration, string) {}
	}
	return &Provisioner{c}
}

func systemActor() access.Actor { return access.System("provision") }

// HostKey asks a host for its key, for an admin to compare.
func (p *Provisioner) HostKey(
	ctx context.Context, who access.Actor, host string, port int,
) (HostKey, error) {
	if err := access.Check(who, access.Admin, access.Object{}); err != nil {
		return HostKey{}, err
	}
	where, err := p.Nodes.SSHAddress(host, port)
	if err != nil {
		return HostKey{}, err
	}
	return ReadHostKey(ctx, p.Connect, where)
}

// Run runs attempts, a few at a time, and ends those whose control plane died.
func (p *Provisioner) Run(ctx context.Context) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	wake := p.Listener.Subscribe("", controlplane.TopicNode)
	defer wake.Close()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for working.Err() == nil {
		if err := p.startClaimed(working, group); err != nil && working.Err() == nil {
			p.Log.WarnContext(ctx, "looking for machines to provision", "error", err)
		}
		select {
		case <-working.Done():
		case <-wake.Wake:
		case <-tick.C:
		}
	}
	return group.Wait()
}

// startClaimed claims and starts as many attempts as there is room for.
func (p *Provisioner) startClaimed(ctx context.Context, group *errgroup.Group) error {
	if err := p.endLost(ctx); err != nil {
		return err
	}
	for {
		taken := make(chan bool, 1)
		free := group.TryGo(func() error {
			attempt, ok, err := p.claimAttempt(ctx)
			if err != nil {
				p.Log.WarnContext(ctx, "claim an attempt", "error", err)
			}
			taken <- ok
			if ok {
				p.runAttempt(ctx, attempt)
			}
			return nil
		})
		if !free || !<-taken {
			return nil
		}
	}
}

func (p *Provisioner) claimAttempt(
	ctx context.Context,
) (a controlplane.ProvisionAttempt, ok bool, err error) {
	err = p.Store.InTx(ctx, func(tx *postgres.Tx) error {
		if a, ok, err = tx.Provisions().Claim(ctx, p.Holder, lease); err != nil || !ok {
			return err
		}
		return tx.NodeEvents().Add(ctx, a.NodeID, controlplane.NodeProvisioning,
			fmt.Sprintf("attempt %d by %s", a.Number, a.StartedBy))
	})
	return a, ok && err == nil, err
}

// endLost ends attempts whose control plane died, since it is unknown how far they
// came.
func (p *Provisioner) endLost(ctx context.Context) error {
	return p.Store.InTx(ctx, func(tx *postgres.Tx) error {
		lost, err := tx.Provisions().ListLost(ctx)
		if err != nil {
			return err
		}
		for _, l := range lost {
			gone := newFault("interrupted", "the control plane that worked on it is gone",
				"Begin a new attempt; what is there already is found.", nil)
			if err := endAttempt(ctx, tx, l.Attempt, l.Holder, gone); err != nil {
				return err
			}
		}
		return nil
	})
}

// endAttempt writes down how an attempt ended; nil is success.
func endAttempt(ctx context.Context, tx *postgres.Tx, a controlplane.ProvisionAttempt,
	holder string, why *controlplane.Error) error {
	a.State = controlplane.ProvisionReady
	detail := fmt.Sprintf("attempt %d: ready", a.Number)
	if why != nil {
		a.State, a.Code, a.Message = controlplane.ProvisionError, why.Code, why.Message
		a.Remedy = why.Remedy
		detail = fmt.Sprintf("attempt %d: error: %s", a.Number, why.Message)
	}
	ended, err := tx.Provisions().End(ctx, a, holder)
	if err != nil || !ended {
		return err
	}
	return tx.NodeEvents().Add(ctx, a.NodeID, controlplane.NodeProvisioning, clipText(detail))
}

func clipText(s string) string {
	const most = 1500
	if len(s) <= most {
		return s
	}
	return "…" + s[len(s)-most:]
}

// runAttempt does one attempt from its beginning to its end.
func (p *Provisioner) runAttempt(stop context.Context, a controlplane.ProvisionAttempt) {
	log := p.Log.With("node_id", a.NodeID, "attempt", a.Number)
	ctx, give := context.WithCancelCause(context.WithoutCancel(stop))
	defer give(nil)
	defer context.AfterFunc(stop, func() { give(errStopped) })()
	limit := time.AfterFunc(attemptLimit, func() { give(errTooLong) })
	defer limit.Stop()
	var alive sync.WaitGroup
	alive.Go(func() { p.renewLease(ctx, a, give) })
	j := &provisionJob{Provisioner: p, attempt: a, give: give}
	began, code := time.Now(), ""
	why := j.runSteps(ctx)
	if why != nil {
		code = why.Code
	}
	p.Ended(stop, time.Since(began), code)
	give(nil)
	alive.Wait()
	j.storeOutput(nil)
	if why != nil {
		log.WarnContext(stop, "provisioning failed", "code", why.Code, "error", why.Message,
			"cause", why.Cause)
	} else {
		log.InfoContext(stop, "provisioned")
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(stop), 10*time.Second)
	defer cancel()
	err := p.Store.InTx(last, func(tx *postgres.Tx) error {
		if why == nil && j.where.Forget {
			if _, err := tx.Provisions().DeleteSSH(last, a.NodeID); err != nil {
				return err
			}
		}
		return endAttempt(last, tx, a, p.Holder, why)
	})
	if err != nil {
		log.ErrorContext(stop, "end of provisioning was not stored", "error", err)
	}
}

// renewLease renews the claim until the attempt ends or another control plane has it.
func (p *Provisioner) renewLease(
	ctx context.Context, a controlplane.ProvisionAttempt, give func(error),
) {
	tick := time.NewTicker(lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ours := true
		err := p.Store.InTx(ctx, func(tx *postgres.Tx) (err error) {
			ours, err = tx.Provisions().Renew(ctx, a, p.Holder, lease)
			return err
		})
		if err == nil && !ours {
			give(errNotOurs)
			return
		}
	}
}
