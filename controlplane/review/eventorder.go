package review

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// alreadyClosed answers what happened to a pull request before it was closed
// and arrived after.
const alreadyClosed = "closed already"

// reasonUnchanged says why an event changes nothing; "" when it does. Events arrive in
// any order: the host's times decide, and where it sends none, that nothing but
// opening it again follows the close of a pull request.
func (e event) reasonUnchanged(old controlplane.Review, known bool) string {
	switch {
	case known && !e.at.IsZero() && e.at.Before(old.EventAt):
		return "an older event"
	case e.outside != "" && (!known || old.Want == controlplane.GoalGone):
		return e.outside
	case e.gone && (!known || old.Want == controlplane.GoalGone &&
		old.State == controlplane.ReviewRemoved):
		return "nothing to remove"
	case !e.gone && known && old.Want == controlplane.GoalGone && !e.reopensReview(old):
		return alreadyClosed
	case !e.gone && e.outside == "" && known && old.Want == controlplane.GoalPresent &&
		e.commit != "" && old.Commit == e.commit && old.Branch == clipText(e.branch, maxBranch):
		return "the same commit"
	default:
		return ""
	}
}

// reopensReview reports whether an event may follow the close of a pull request, or one that the
// rule's filter left out. Numbers are given once, so its opening does not; but where all we know
// is that close, and no time says which was first, it may. An update of a pull request that is
// open, at a later time, follows an opening that is still on its way.
func (e event) reopensReview(old controlplane.Review) bool {
	switch {
	case e.step == reopens, old.Outside != "":
		return true
	case e.step == opens:
		onlyClosed := old.Generation == 1
		return onlyClosed && (e.at.IsZero() || old.EventAt.IsZero() || e.at.After(old.EventAt))
	default:
		return e.open && !old.EventAt.IsZero() && e.at.After(old.EventAt)
	}
}

// rememberClosed stores that an unknown pull request is closed, or outside of the rule's filter:
// its earlier events may still arrive, and its rule's page says why it has no deployment.
func rememberClosed(ctx context.Context, tx *postgres.Tx, rule controlplane.ReviewRule,
	e event) (err error) {
	x := e.newReview(rule)
	if x.Deployment, err = chooseName(ctx, tx, rule, e); err != nil {
		return err
	}
	x.Detail = cmp.Or(e.outside, "closed before anything was made")
	return tx.Reviews().StoreClosed(ctx, x)
}

// seenFor is how long a body without an id is refused as a repetition. The same may
// really happen again: a pull request is closed, opened and closed again.
const seenFor = 5 * time.Minute

// delivery identifies one event as it was received.
type delivery struct {
	// id identifies it; empty if it came without one.
	id string
	// body is a hash of what was signed; empty if what the event says is looked up
	// elsewhere, so that it can do no harm twice.
	body string
}

// deliveryOf finds what identifies this delivery. Most sources sign the body
// only, so an id counts for its own body only: a replay under another id is not
// seen here, but is older than what the review knows by then.
func deliveryOf(source controlplane.ReviewSource, h http.Header, body []byte, e event) delivery {
	var id string
	switch source {
	case controlplane.ReviewGitHub:
		id = h.Get("X-GitHub-Delivery")
	case controlplane.ReviewGitea:
		id = h.Get("X-Gitea-Delivery")
	case controlplane.ReviewGitLab:
		id = h.Get("X-Gitlab-Event-UUID")
	case controlplane.ReviewBitbucket:
		id = h.Get("X-Request-UUID")
	case controlplane.ReviewGeneric:
		// It covers the time of sending: no two deliveries have the same.
		id = h.Get("X-Nullops-Signature") + h.Get("X-Request-UUID")
	case controlplane.ReviewRegistry:
		if e.delivery == "" {
			return delivery{}
		}
		return delivery{id: hashParts(e.delivery, e.repository, e.tag, e.commit)}
	}
	d := delivery{body: hashParts(string(body))}
	if id != "" {
		d.id = hashParts(id, string(body))
	}
	return d
}

func hashParts(parts ...string) string {
	h := sha256.New()
	for i, p := range parts {
		if i > 0 {
			_, _ = h.Write([]byte{0})
		}
		_, _ = h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// recordDelivery records a delivery, and reports whether it is new. For one with an id
// the body is recorded too, because a replay may omit the id.
func (d delivery) recordDelivery(ctx context.Context, tx *postgres.Tx,
	rule controlplane.ReviewRuleID) (fresh bool, err error) {
	fresh = true
	if d.body != "" {
		if fresh, err = tx.Reviews().RecordEvent(ctx, rule, d.body, seenFor); err != nil {
			return false, err
		}
	}
	if d.id == "" {
		return fresh, nil
	}
	return tx.Reviews().RecordEvent(ctx, rule, d.id, keepFor)
}
