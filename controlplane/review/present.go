package review

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// presentTime is how long a code host may take to say what a pull request is now.
const presentTime = 5 * time.Second

// present is a pull request as its code host shows it when it is asked.
type present struct {
	// Neither is set while GitLab merges: the request is locked.
	closed, open bool
	// commit and branch are its head's; empty if the host does not say.
	commit, branch string
	// at is the host's own time of this state; zero if it sends none.
	at time.Time
}

// followHost asks the code host what a pull request is now, before something is made or removed
// for it: events may be delayed or lost, and of two in one second nobody knows which was first. It
// reports whether the review is changed by the answer. A host that cannot be asked or does not
// answer leaves the decision to the order of the events.
func (r *Reviews) followHost(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (changed bool, err error) {
	now, ok := r.askHost(ctx, rule, x)
	switch {
	case !ok || now.closed && x.Want == controlplane.GoalGone:
		return false, nil
	case now.closed:
		return true, r.closeReview(ctx, x, now.at)
	case now.changes(*x):
		return true, r.updateReview(ctx, rule, x, now)
	}
	return false, nil
}

// askHost reports whether the host answered.
func (r *Reviews) askHost(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (now present, ok bool) {
	h, ok, err := r.codeHostOf(ctx, rule, x)
	if err != nil || !ok || rule.Source == controlplane.ReviewGeneric {
		return now, false
	}
	ctx, cancel := context.WithTimeout(ctx, presentTime)
	defer cancel()
	now, err = h.pullRequestState(ctx, *x)
	if err != nil {
		r.Log.InfoContext(ctx, "the state of a pull request is not known", "rule", rule.Name,
			"review", x.Key, "error", err)
	}
	return now, err == nil
}

// changes reports whether an open pull request is something else than its review says. A state
// that is older than the newest event, from a copy at the host that is behind, changes nothing.
func (p present) changes(x controlplane.Review) bool {
	if p.at.IsZero() || p.at.Before(x.EventAt) {
		return false
	}
	if x.Want == controlplane.GoalGone {
		return p.open && !x.EventAt.IsZero()
	}
	return p.commit != "" && p.commit != x.Commit
}

// pullRequestState returns the state of a pull request on its code host.
func (h codeHost) pullRequestState(ctx context.Context, x controlplane.Review) (
	now present, err error) {
	path := ""
	switch h.rule.Source {
	case controlplane.ReviewGitHub, controlplane.ReviewGitea:
		path = fmt.Sprintf("/repos/%s/pulls/%d", h.repositoryPath(x), x.Number)
	case controlplane.ReviewGitLab:
		path = fmt.Sprintf("/projects/%s/merge_requests/%d", h.repositoryPath(x), x.Number)
	default:
		return now, nil // there is no such question
	}
	var said struct {
		State   string `json:"state"`
		Updated string `json:"updated_at"`
		Head    struct {
			Ref string `json:"ref"`
			SHA string `json:"sha"`
		} `json:"head"`
		// GitLab's head.
		Branch string `json:"source_branch"`
		SHA    string `json:"sha"`
	}
	if err := h.callAPI(ctx, http.MethodGet, path, nil, &said); err != nil {
		return now, fmt.Errorf("ask for the state: %w", err)
	}
	return present{closed: said.State == "closed" || said.State == "merged",
		open:   said.State == "open" || said.State == "opened",
		commit: clipText(cmp.Or(said.Head.SHA, said.SHA), 64),
		branch: cmp.Or(said.Head.Ref, said.Branch), at: readTime(said.Updated)}, nil
}

// updateReview stores the head that the code host shows, as its event would, unless an event
// came in meanwhile.
func (r *Reviews) updateReview(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, now present) error {
	e := event{repository: x.Repository, repositoryID: x.RepositoryID, number: x.Number,
		branch: cmp.Or(now.branch, x.Branch), commit: cmp.Or(now.commit, x.Commit),
		title: x.Title, link: x.Link, at: now.at}
	x.State, x.Detail = controlplane.ReviewWaiting, ""
	return r.Store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := lockEvents(ctx, tx); err != nil {
			return err
		}
		old, known, err := tx.Reviews().ByKey(ctx, rule.ID, x.Key)
		if err != nil || !known || old.Generation != x.Generation {
			return err
		}
		return putReview(ctx, tx, rule, e, old, known)
	})
}

// closeReview stores that the code host calls a pull request closed, as its event
// would. The next look removes what is there.
func (r *Reviews) closeReview(
	ctx context.Context, x *controlplane.Review, at time.Time,
) error {
	x.State, x.Detail = controlplane.ReviewWaiting, "the code host says that it is closed"
	return r.Store.InTx(ctx, func(tx *postgres.Tx) error { return tx.Reviews().Close(ctx, *x, at) })
}

// codeHostOf returns the API of the code host of a rule; ok is false if the rule does not use it
// for this review.
func (r *Reviews) codeHostOf(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (h codeHost, ok bool, err error) {
	token, err := r.openSecret(ctx, tokenOf(rule.ID))
	if err != nil {
		return h, false, err
	}
	base := apiOf(rule)
	if token.IsEmpty() || base == "" || x.Number == 0 {
		return h, false, nil
	}
	return codeHost{
		reviews: r,
		rule:    rule,
		base:    strings.TrimSuffix(base, "/"),
		token:   token,
	}, true, nil
}
