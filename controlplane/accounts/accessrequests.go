package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// The objects of requests that are no project and no environment.
const (
	// ObjectAdmin is the role.
	ObjectAdmin = "admin"
	// ObjectCreate is full access to anything, to create a deployment at all.
	ObjectCreate = "create"
)

// The bounds of requests. A person asks for a few things a day, or tells the admins nothing new.
const (
	mostRequestsADay = 10
	mostRequestNote  = 500
	mostRequests     = 200
)

// AccessWish is what a person asks an admin for.
type AccessWish struct {
	// Object is project/NAME, environment/NAME, ObjectAdmin or ObjectCreate. The caller has seen to
	// it that the person may see it.
	Object string
	// Place is the same for decisions.
	Place access.Object
	Note  string
}

// RequestAccess stores what the actor asks for and tells the admins: in the UI, by mail if they
// have an address, and through webhooks. Asking twice is asking once.
func (a *Accounts) RequestAccess(
	ctx context.Context, actor access.Actor, w AccessWish,
) (r controlplane.AccessRequest, err error) {
	entry := actor.NewAuditEntry("request access", w.Object)
	err = a.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		if err := checkWish(actor, w); err != nil {
			return err
		}
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		lately, err := tx.AccessRequests().CountSince(ctx, actor.UserID(), now.Add(-24*time.Hour))
		if err != nil {
			return err
		}
		made := false
		if lately < mostRequestsADay {
			made, err = tx.AccessRequests().Insert(ctx, controlplane.AccessRequest{
				ID: controlplane.NewID[controlplane.AccessRequestID](), User: actor.UserID(),
				Object: w.Object, Note: w.Note})
			if err != nil {
				return err
			}
		}
		if r, err = tx.AccessRequests().GetOpen(ctx, actor.UserID(), w.Object); err != nil {
			return limitedIfMissing(err)
		}
		if !made {
			return nil
		}
		return a.tellAdmins(ctx, tx, *entry, r)
	})
	return r, err
}

func checkWish(actor access.Actor, w AccessWish) error {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return err
	}
	if actor.IsReadOnly() {
		return actor.ReadOnlyError()
	}
	if n := utf8.RuneCountInString(w.Note); n > mostRequestNote || !isPlain(w.Note) {
		return controlplane.NewInvalidError("note", "note_invalid",
			fmt.Sprintf("the note has %d characters, or some that are not text", n),
			fmt.Sprintf("Write at most %d characters of text.", mostRequestNote))
	}
	if hasWished(actor, w.Object, w.Place) {
		return controlplane.NewConflictError("has_access", "you have that access already",
			"Load the page again.")
	}
	return nil
}

func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == utf8.RuneError
	})
}

func hasWished(actor access.Actor, object string, place access.Object) bool {
	switch object {
	case ObjectAdmin:
		return actor.IsAdmin()
	case ObjectCreate:
		return access.CanCreate(actor)
	default:
		return access.Level(actor, place) == controlplane.LevelFull
	}
}

// limitedIfMissing turns "no open request" into the limit that kept it from being made.
func limitedIfMissing(err error) error {
	if controlplane.KindOf(err) != controlplane.NotFound {
		return err
	}
	return &controlplane.Error{Kind: controlplane.TooMany, Code: "too_many_requests",
		RetryAfter: time.Hour,
		Message:    fmt.Sprintf("you asked for access %d times within a day", mostRequestsADay),
		Remedy:     "Talk to an admin, or wait until tomorrow."}
}

// WantedAccess says what a request is for, as the end of a sentence.
func WantedAccess(object string) string {
	kind, name, _ := strings.Cut(object, "/")
	switch kind {
	case ObjectAdmin:
		return "the role Admin"
	case ObjectCreate:
		return "full access to a project or an environment"
	default:
		return "full access to " + kind + " " + name
	}
}

func (a *Accounts) tellAdmins(ctx context.Context, tx *postgres.Tx, e controlplane.AuditEntry,
	r controlplane.AccessRequest) error {
	notice := controlplane.PersonNotice{Kind: controlplane.NoticeAccessAsked, By: r.UserName,
		Subject: r.UserName + " asks for " + WantedAccess(r.Object), Body: r.Note,
		Link: requestLink(r)}
	admins, err := tx.Users().ListAdmins(ctx)
	if err != nil {
		return err
	}
	for _, admin := range admins {
		notice.User = admin.ID
		if err := tx.Inbox().Add(ctx, notice); err != nil {
			return err
		}
		if err := a.mailRequest(ctx, tx, admin, notice); err != nil {
			return err
		}
	}
	data, err := json.Marshal(map[string]string{"by": r.UserName, "object": r.Object,
		"wanted": WantedAccess(r.Object), "note": r.Note, "link": notice.Link})
	if err != nil {
		return err
	}
	return tx.Notifications().Add(ctx, controlplane.Notice{Event: controlplane.EventAccessAsked,
		Data: data, RequestID: e.RequestID})
}

// requestLink leads to where an admin grants what was asked for.
func requestLink(r controlplane.AccessRequest) string {
	if _, name, ok := strings.Cut(r.Object, "/"); ok {
		return "/teams/access?q=" + name
	}
	return "/users?open=" + r.UserName
}

func (a *Accounts) mailRequest(ctx context.Context, tx *postgres.Tx, admin controlplane.User,
	n controlplane.PersonNotice) error {
	if !a.mails || admin.Address == "" {
		return nil
	}
	return tx.Deliveries().Insert(ctx, controlplane.Delivery{
		ID: controlplane.NewID[controlplane.DeliveryID](), User: admin.ID, Email: admin.Address,
		Event: controlplane.EventAccessAsked, Subject: "NullOps: " + n.Subject,
		Body: n.Subject + ".\n\n" + n.Body + "\n\nThe page Notices lists all requests.\n",
	}, time.Time{})
}

// ListOwnAccessRequests lists what the actor asked for and waits for.
func (a *Accounts) ListOwnAccessRequests(
	ctx context.Context, actor access.Actor,
) (all []controlplane.AccessRequest, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil || actor.IsSystem() {
		return nil, err
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) error {
		all, err = tx.AccessRequests().List(ctx, actor.UserID(), mostRequests)
		return err
	})
	return all, err
}

// ListAccessRequests lists what people wait for, the newest first.
func (a *Accounts) ListAccessRequests(
	ctx context.Context, actor access.Actor,
) (all []controlplane.AccessRequest, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) error {
		all, err = tx.AccessRequests().List(ctx, "", mostRequests)
		return err
	})
	return all, err
}

// CloseAccessRequest ends a request and tells the person what they have by now. Granting is done
// before, as all granting is: by a team.
func (a *Accounts) CloseAccessRequest(
	ctx context.Context, actor access.Actor, id controlplane.AccessRequestID,
) error {
	entry := actor.NewAuditEntry("close access request", "access request "+string(id))
	return a.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		if !controlplane.ValidID(string(id)) {
			return controlplane.NewNotFoundError("access request", string(id))
		}
		r, err := tx.AccessRequests().Close(ctx, id, actor.Name())
		if err != nil {
			return err
		}
		entry.Object = "access request of " + r.UserName
		entry.Detail = r.Object
		has, err := hasByNow(ctx, tx, r)
		if err != nil {
			return err
		}
		n := controlplane.PersonNotice{User: r.User, Kind: controlplane.NoticeAccessAnswered,
			By: actor.Name(), Link: "/deployments",
			Subject: actor.Name() + " closed your request for " + WantedAccess(r.Object),
			Body:    "Nothing changed. Ask " + actor.Name() + " why."}
		if has {
			n.Subject, n.Body = "You have "+WantedAccess(r.Object)+" now", ""
		}
		return tx.Inbox().Add(ctx, n)
	})
}

// hasByNow reports whether a person has what they asked for.
func hasByNow(
	ctx context.Context, tx *postgres.Tx, r controlplane.AccessRequest,
) (bool, error) {
	u, err := tx.Users().ForAccess(ctx, r.User)
	if err != nil {
		return false, err
	}
	grants, err := tx.Teams().ListGrants(ctx, r.User)
	if err != nil {
		return false, err
	}
	var place access.Object
	kind, name, _ := strings.Cut(r.Object, "/")
	switch kind {
	case "project":
		p, err := tx.Projects().ByName(ctx, name)
		if found, err := controlplane.IsFound(err); !found {
			return false, err
		}
		place = access.Object{Project: p.ID, Limited: p.Environments}
	case "environment":
		e, err := tx.Environments().ByName(ctx, name)
		if found, err := controlplane.IsFound(err); !found {
			return false, err
		}
		place = access.Object{Environment: e.ID, Restricted: e.Restricted}
	}
	return hasWished(access.User(u, grants), r.Object, place), nil
}
