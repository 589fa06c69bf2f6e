package kubernetes

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/internal/wait"
)

// Two agents of one installation would undo each other's work. In a cluster, a new pod may start
// while the old one still runs, on a machine that only seems to be lost. So the agent holds a
// Lease for as long as it runs.
const (
	// leaseSeconds is how long a Lease lasts without being renewed.
	leaseSeconds = 30
	leaseRenew   = 8 * time.Second
	leaseLook    = time.Second
)

// lease is the agent's.
type lease struct {
	*base
	namespace, name, holder string
	// lost is called once when another agent has taken the lease.
	lost func(error)
	// seen is another holder's last renewal, and at is when it was first seen: whatever the clocks
	// of machines say, a holder that renews is alive.
	seen metav1.MicroTime
	at   time.Time
	stop context.CancelFunc
	done chan struct{}
}

// holdLease waits until no other agent of this installation has the lease, takes it, and keeps it.
func (b *base) holdLease(ctx context.Context, holder string, lost func(error)) (*lease, error) {
	l := &lease{base: b, namespace: b.config.AgentNamespace, name: b.names.prefix + "-agent",
		holder: holder, lost: lost, done: make(chan struct{})}
	for told := false; ; told = true {
		other, err := l.takeLease(ctx)
		if err != nil {
			return nil, fmt.Errorf("take the lease %s of this installation's agent: %w", l.name, err)
		}
		if other == "" {
			break
		}
		if !told {
			b.log.WarnContext(ctx, "another agent of this installation runs; this one waits until "+
				"it has ended", "holder", other)
		}
		if err := wait.Sleep(ctx, leaseLook); err != nil {
			return nil, err
		}
	}
	keep, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go l.renewLease(keep)
	return l, nil
}

// takeLease takes or renews the lease. It returns who has it, unless that is us now.
func (l *lease) takeLease(ctx context.Context) (other string, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	there, err := l.leases.get(ctx, l.namespace, l.name)
	now := metav1.NowMicro()
	if apierrors.IsNotFound(err) {
		_, err = l.leases.create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: l.name, Namespace: l.namespace,
				Labels: map[string]string{labelInstall: l.names.install}},
			Spec: l.spec(now, now)})
		if apierrors.IsAlreadyExists(err) {
			return "another one", nil
		}
		return "", wrapMutationErr(err)
	}
	if err != nil {
		return "", wrapQueryErr(err)
	}
	s := there.Spec
	if s.HolderIdentity != nil && *s.HolderIdentity != "" && *s.HolderIdentity != l.holder &&
		s.RenewTime != nil && l.isAlive(*s.RenewTime) {
		return *s.HolderIdentity, nil
	}
	acquired := now
	if s.HolderIdentity != nil && *s.HolderIdentity == l.holder && s.AcquireTime != nil {
		acquired = *s.AcquireTime
	}
	there.Spec = l.spec(acquired, now)
	_, err = l.leases.update(ctx, there)
	if apierrors.IsConflict(err) {
		return "another one", nil
	}
	return "", wrapMutationErr(err)
}

// isAlive reports whether the other holder has renewed the lease within its time.
func (l *lease) isAlive(renewed metav1.MicroTime) bool {
	if l.at.IsZero() || !renewed.Equal(&l.seen) {
		l.seen, l.at = renewed, time.Now()
	}
	return time.Since(l.at) < leaseSeconds*time.Second
}

func (l *lease) spec(acquired, renewed metav1.MicroTime) coordinationv1.LeaseSpec {
	return coordinationv1.LeaseSpec{HolderIdentity: &l.holder, AcquireTime: &acquired,
		RenewTime: &renewed, LeaseDurationSeconds: new(int32(leaseSeconds))}
}

// renewLease renews the lease. An API server that does not answer takes it from nobody, so the
// agent goes on; only another holder ends it.
func (l *lease) renewLease(ctx context.Context) {
	defer close(l.done)
	for wait.Sleep(ctx, leaseRenew) == nil {
		other, err := l.takeLease(ctx)
		switch {
		case err != nil:
			l.log.DebugContext(ctx, "the lease was not renewed", "error", err)
		case other != "":
			l.lost(fmt.Errorf("the agent %s has taken the lease %s: this one must end, since two "+
				"would undo each other's work", other, l.name))
			return
		}
	}
}

// releaseLease gives the lease back, so that the next agent need not wait for its end.
func (l *lease) releaseLease(ctx context.Context) error {
	l.stop()
	<-l.done
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	there, err := l.leases.get(ctx, l.namespace, l.name)
	if err != nil || there.Spec.HolderIdentity == nil || *there.Spec.HolderIdentity != l.holder {
		return ignoreNotFound(err)
	}
	return ignoreNotFound(l.leases.remove(ctx, l.namespace, l.name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &there.UID}}))
}
