package accounts

import (
	"context"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// viewNoted is for how long one audit entry covers an admin's viewing.
const viewNoted = 5 * time.Minute

// viewAsLog remembers which views as another user are in the audit already.
type viewAsLog struct {
	mu    sync.Mutex
	noted map[[2]string]time.Time
}

// shouldRecord reports whether it is time for an entry, and takes it as written.
func (v *viewAsLog) shouldRecord(viewer, viewed string, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.noted == nil || len(v.noted) > 10_000 {
		v.noted = map[[2]string]time.Time{}
	}
	key := [2]string{viewer, viewed}
	if last, ok := v.noted[key]; ok && now.Sub(last) < viewNoted {
		return false
	}
	v.noted[key] = now
	return true
}

// ViewAs lets an admin view as another user who is no admin, read-only. It is audited.
func (a *Accounts) ViewAs(
	ctx context.Context, actor access.Actor, name string,
) (access.Actor, error) {
	var u postgres.UserWithHash
	var grants []controlplane.Grant
	look := func(tx *postgres.Tx) (err error) {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		if u, err = tx.Users().ByName(ctx, name); err != nil {
			return err
		}
		if u.Role == controlplane.RoleAdmin || !u.Active {
			return &controlplane.Error{
				Kind: controlplane.Forbidden, Code: "view_refused",
				Message: "nobody looks through the eyes of an admin, or of somebody who is inactive",
				Remedy:  "Choose an active user without the role admin.",
			}
		}
		grants, err = tx.Teams().ListGrants(ctx, u.ID)
		return err
	}
	err := a.store.Read(ctx, look)
	if err != nil || a.views.shouldRecord(actor.Name(), name, a.now()) {
		e := actor.NewAuditEntry("view as", "user "+clipAddress(name))
		if err != nil {
			return access.Nobody(), a.auditRefusal(ctx, e, err)
		}
		if err := a.store.InAuditedTx(ctx, e, look); err != nil {
			return access.Nobody(), err
		}
	}
	return access.User(u.User, grants).
			WithOrigin(actor.RemoteAddress(), actor.Request()).
			WithDevice(actor.Device()).
			ViewedBy(actor),
		nil
}
