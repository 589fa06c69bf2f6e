package review

import (
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

// isClosed asks the code host whether a pull request is closed by now, before
// something is made for it: the events that were delayed or lost are not known
// here. A host that cannot be asked or does not answer leaves the decision to the
// order of the events.
func (r *Reviews) isClosed(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (closed bool, at time.Time) {
	h, ok, err := r.codeHostOf(ctx, rule, x)
	if err != nil || !ok {
		return false, at
	}
	ctx, cancel := context.WithTimeout(ctx, presentTime)
	defer cancel()
	closed, at, err = h.pullRequestState(ctx, *x)
	if err != nil {
		r.Log.InfoContext(ctx, "the state of a pull request is not known", "rule", rule.Name,
			"review", x.Key, "error", err)
		return false, at
	}
	return closed, at
}

// pullRequestState returns the state of a pull request on its code host.
func (h codeHost) pullRequestState(ctx context.Context, x controlplane.Review) (
	closed bool, at time.Time, err error) {
	path := ""
	switch h.rule.Source {
	case controlplane.ReviewGitHub, controlplane.ReviewGitea:
		path = fmt.Sprintf("/repos/%s/pulls/%d", h.repositoryPath(x), x.Number)
	case controlplane.ReviewGitLab:
		path = fmt.Sprintf("/projects/%s/merge_requests/%d", h.repositoryPath(x), x.Number)
	default:
		return false, at, nil // there is no such question
	}
	var said struct {
		State   string `json:"state"`
		Updated string `json:"updated_at"`
	}
	if err := h.callAPI(ctx, http.MethodGet, path, nil, &said); err != nil {
		return false, at, fmt.Errorf("ask for the state: %w", err)
	}
	return said.State == "closed" || said.State == "merged", readTime(said.Updated), nil
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
