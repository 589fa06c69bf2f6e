package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// setLastUse sets the last use of a deployment to a time in the past.
func (r *rig) setLastUse(id controlplane.DeploymentID, ago time.Duration) {
	r.t.Helper()
	pgtest.Exec(r.t, r.url, `UPDATE deployments SET active_at = now() - $1::interval WHERE id = $2`,
		ago.String(), id)
}

func (r *rig) expire() int {
	r.t.Helper()
	n, err := r.Expire(r.t.Context(), system)
	r.failOnError(nil, err)
	return n
}

func TestExpire_RemovesOnlyWhatNobodyUsedForItsTime(t *testing.T) {
	r := newRig(t)
	used, idle := r.createDeployment("used"), r.createDeployment("idle")
	for _, d := range []controlplane.Deployment{used, idle} {
		r.applyStatuses(d.ID, controlplane.Applying, controlplane.Ready)
	}
	r.setLastUse(used.ID, 47*time.Hour)
	r.setLastUse(idle.ID, 49*time.Hour)
	if n := r.expire(); n != 1 {
		t.Errorf("it removed %d", n)
	}
	if got := r.get(idle.ID); got.Status != controlplane.Removing ||
		got.Goal != controlplane.GoalGone {
		t.Errorf("the idle one is %s", got.Status)
	}
	if got := r.get(used.ID); got.Status != controlplane.Ready {
		t.Errorf("the used one is %s", got.Status)
	}
	var lives map[controlplane.DeploymentID]controlplane.LifetimeInfo
	r.failOnError(nil, r.store.Read(t.Context(), func(tx *postgres.Tx) (err error) {
		lives, err = tx.Lifetimes().ListOf(t.Context(), idle.ID)
		return err
	}))
	if got := lives[idle.ID].RemovedBy; got != "cleanup" {
		t.Errorf("it was removed by %q", got)
	}
	if n := r.expire(); n != 0 {
		t.Errorf("it removed %d once more", n)
	}
}

func TestExpire_ExtendingOrVisitingStartsTheTimeAgain(t *testing.T) {
	r := newRig(t)
	for name, use := range map[string]func(controlplane.DeploymentID) error{
		"extended": func(id controlplane.DeploymentID) error {
			_, err := r.Extend(t.Context(), system, id)
			return err
		},
		"visited": func(id controlplane.DeploymentID) error {
			return r.RecordVisit(t.Context(), system,
				id)
		},
	} {
		d := r.createDeployment(name)
		r.applyStatuses(d.ID, controlplane.Applying, controlplane.Ready)
		r.setLastUse(d.ID, 49*time.Hour)
		r.failOnError(nil, use(d.ID))
		if n := r.expire(); n != 0 {
			t.Errorf("%s, it was removed all the same", name)
		}
	}
}

func TestExpire_LeavesWhatIsHeldUntilTheHoldEnds(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	r.applyStatuses(d.ID, controlplane.Applying, controlplane.Ready)
	until := time.Now().Add(time.Hour)
	if _, err := r.Hold(t.Context(), system, d.ID, "demo", &until); err != nil {
		t.Fatal(err)
	}
	r.setLastUse(d.ID, 99*time.Hour)
	if n := r.expire(); n != 0 {
		t.Error("it was removed while it was held")
	}
	if _, err := r.Release(t.Context(), system, d.ID); err != nil {
		t.Fatal(err)
	}
	if n := r.expire(); n != 1 {
		t.Error("it stays after it was released")
	}
}

func TestExpire_NoticesOncePerThreshold(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	r.applyStatuses(d.ID, controlplane.Applying, controlplane.Ready)
	for _, c := range []struct {
		ago  time.Duration
		want int
	}{{20 * time.Hour, 0}, {30 * time.Hour, 1}, {30 * time.Hour, 0}} {
		if c.want == 1 || c.ago == 20*time.Hour {
			r.setLastUse(d.ID, c.ago)
		}
		if n, err := r.NotifyExpiries(t.Context(), system); err != nil || n != c.want {
			t.Errorf("idle for %v: %d notices, %v; wanted %d", c.ago, n, err, c.want)
		}
	}
}

func TestForgetRemoved_DeletesWhatWasGoneLongEnough(t *testing.T) {
	r := newRig(t)
	old, fresh := r.createDeployment("old"), r.createDeployment("fresh")
	live := r.createDeployment("live")
	for _, d := range []controlplane.Deployment{old, fresh} {
		stages["removed"](r, d.ID)
	}
	for _, id := range []controlplane.DeploymentID{old.ID, live.ID} {
		pgtest.Exec(t, r.url, `UPDATE deployments SET changed_at = now() - interval '25 hours'
			WHERE id = $1`, id)
	}
	if n, err := r.DeleteRemovedDeployments(t.Context(), system); err != nil || n != 1 {
		t.Errorf("it forgot %d, %v", n, err)
	}
	_, err := r.Get(t.Context(), system, old.ID)
	if controlplane.KindOf(err) != controlplane.NotFound {
		t.Errorf("it is still there: %v", err)
	}
	r.get(fresh.ID)
	r.get(live.ID)
}

func TestHold_KeepsOthersFromRemovingAndEndsByItself(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	uma := r.newProjectUser("uma", controlplane.LevelFull)
	ben := r.newProjectUser("ben", controlplane.LevelFull)
	past := time.Now().Add(-time.Minute)
	_, err := r.Hold(t.Context(), uma, d.ID, "demo", &past)
	if controlplane.CodeOf(err) != "range" {
		t.Errorf("a hold that is over already: %v", err)
	}
	_, err = r.Hold(t.Context(), uma, d.ID, "demo", nil)
	r.failOnError(nil, err)
	for what, do := range map[string]func(access.Actor) error{
		"remove": func(a access.Actor) error { _, err := r.Remove(t.Context(), a, d.ID); return err },
		"hold": func(a access.Actor) error {
			_, err := r.Hold(t.Context(), a, d.ID, "", nil)
			return err
		},
		"release": func(a access.Actor) error { _, err := r.Release(t.Context(), a, d.ID); return err },
	} {
		err := do(ben)
		if controlplane.CodeOf(err) != "held" || !strings.Contains(err.Error(), "uma") ||
			!strings.Contains(err.Error(), "demo") {
			t.Errorf("%s by another: %v", what, err)
		}
	}
	until := time.Now().Add(time.Hour)
	_, err = r.Hold(t.Context(), uma, d.ID, "demo", &until)
	r.failOnError(nil, err)
	pgtest.Exec(t, r.url, `UPDATE deployment_lives SET hold_since = now() - interval '2 hours',
		hold_until = now() - interval '1 hour' WHERE deployment_id = $1`, d.ID)
	if _, err := r.Remove(t.Context(), ben, d.ID); err != nil {
		t.Errorf("after the hold ended: %v", err)
	}
}
