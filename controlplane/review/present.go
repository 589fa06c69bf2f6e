package review

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// presentTime is how long a code host may take to say what a pull request is now, and pathsTime how
// long it may take to list the files that it changes, page by page.
const (
	presentTime = 5 * time.Second
	pathsTime   = 15 * time.Second
)

// present is a pull request as its code host shows it when it is asked.
type present struct {
	// Neither is set while GitLab merges: the request is locked.
	closed, open bool
	// commit and branch are its head's; empty if the host does not say.
	commit, branch string
	// at is the host's own time of this state; zero if it sends none.
	at     time.Time
	traits traits
	// filesCut is set if the host says that it does not list all changed files.
	filesCut bool
	// outside says why the rule's filter leaves it out; empty if it does not.
	outside string
}

// followHost asks the code host what a pull request is now, before something is made or removed
// for it: events may be delayed or lost, and of two in one second nobody knows which was first. It
// reports whether the review is changed by the answer. A host that cannot be asked or does not
// answer leaves the decision to the order of the events.
func (r *Reviews) followHost(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (changed bool, err error) {
	now, ok := r.askHost(ctx, rule, x)
	wanted := x.Want == controlplane.GoalPresent
	switch {
	case !ok && wanted && needsHost(rule):
		return false, &controlplane.Error{Kind: controlplane.Unavailable, Code: "host_silent",
			Message: "The code host does not say what the rule's filter asks for",
			Remedy:  "Check that its API can be reached and that the rule's token may read pull requests."}
	case !ok || now.closed && !wanted:
		return false, nil
	case now.closed:
		return true, r.closeReview(ctx, x, now.at, "")
	case now.outside != "" && now.at.Before(x.EventAt), now.outside != "" && !wanted:
		return false, nil
	case now.outside != "":
		return true, r.closeReview(ctx, x, now.at, now.outside)
	case now.changes(*x):
		return true, r.updateReview(ctx, rule, x, now)
	}
	return false, nil
}

// askHost reports whether the host answered all that the rule asks.
func (r *Reviews) askHost(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (now present, ok bool) {
	h, ok, err := r.codeHostOf(ctx, rule, x)
	if err != nil || !ok || rule.Source == controlplane.ReviewGeneric {
		return now, false
	}
	within, cancel := context.WithTimeout(ctx, presentTime)
	defer cancel()
	now, err = h.pullRequestState(within, *x)
	if err == nil && now.open && len(rule.Filter.Paths) > 0 {
		var all bool
		now.traits.paths, all, err = h.listPaths(ctx, *x)
		// Of a list that was cut, what it holds may decide, and what it lacks may not.
		now.traits.pathsUnknown = !all || now.filesCut
	}
	if err != nil {
		r.Log.InfoContext(ctx, "the state of a pull request is not known", "rule", rule.Name,
			"review", x.Key, "error", err)
		r.noteRefusal(ctx, rule, err)
		return now, false
	}
	if now.open {
		now.outside = now.traits.reasonOutside(rule.Filter)
	}
	return now, now.open || now.closed || !needsHost(rule)
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
	switch h.rule.Source {
	case controlplane.ReviewGitHub, controlplane.ReviewGitea:
		return h.hubState(ctx, x)
	case controlplane.ReviewGitLab:
		return h.labState(ctx, x)
	case controlplane.ReviewBitbucket:
		return h.bitbucketState(ctx, x)
	default:
		return now, nil // there is no such question
	}
}

func (h codeHost) hubState(ctx context.Context, x controlplane.Review) (now present, err error) {
	var said struct {
		State   string `json:"state"`
		Updated string `json:"updated_at"`
		Head    struct {
			Ref string `json:"ref"`
			SHA string `json:"sha"`
		} `json:"head"`
		hubTraits
	}
	path := fmt.Sprintf("/repos/%s/pulls/%d", h.repositoryPath(x), x.Number)
	if err := h.callAPI(ctx, http.MethodGet, path, nil, &said); err != nil {
		return now, fmt.Errorf("ask for the state: %w", err)
	}
	return present{closed: said.State == "closed", open: said.State == "open",
		commit: clipText(said.Head.SHA, 64), branch: said.Head.Ref, at: readTime(said.Updated),
		traits: said.traits()}, nil
}

func (h codeHost) labState(ctx context.Context, x controlplane.Review) (now present, err error) {
	var said struct {
		State   string   `json:"state"`
		Updated string   `json:"updated_at"`
		Branch  string   `json:"source_branch"`
		Onto    string   `json:"target_branch"`
		SHA     string   `json:"sha"`
		Draft   bool     `json:"draft"`
		Labels  []string `json:"labels"`
		// Changes is "1000+" where the list of changed files is cut.
		Changes string `json:"changes_count"`
		Author  struct {
			Name string `json:"username"`
		} `json:"author"`
	}
	path := fmt.Sprintf("/projects/%s/merge_requests/%d", h.repositoryPath(x), x.Number)
	if err := h.callAPI(ctx, http.MethodGet, path, nil, &said); err != nil {
		return now, fmt.Errorf("ask for the state: %w", err)
	}
	return present{closed: said.State == "closed" || said.State == "merged",
		open: said.State == "opened", commit: clipText(said.SHA, 64), branch: said.Branch,
		at: readTime(said.Updated), filesCut: strings.HasSuffix(said.Changes, "+"),
		traits: traits{target: said.Onto, author: said.Author.Name,
			labels: said.Labels, draft: said.Draft, pathsUnknown: true}}, nil
}

// A code host lists the changed files of a pull request in pages, which may be shorter than what is
// asked for; GitHub ends after 3,000 files.
const (
	filesOfPage  = 100
	mostFiles    = 3000
	maxFilePages = 100
)

// changedFile is one file of a pull request, in the words of GitHub and Gitea, or of GitLab.
type changedFile struct {
	Name     string `json:"filename"`
	Previous string `json:"previous_filename"`
	New      string `json:"new_path"`
	Old      string `json:"old_path"`
}

func (f changedFile) appendNames(all []string) []string {
	for _, name := range []string{f.Name, f.Previous, f.New, f.Old} {
		if name != "" {
			all = append(all, name)
		}
	}
	return all
}

// listPaths returns the files that a pull request changes, under their old and their new names, and
// whether those are all.
func (h codeHost) listPaths(ctx context.Context, x controlplane.Review,
) (names []string, all bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, pathsTime)
	defer cancel()
	path := fmt.Sprintf("/repos/%s/pulls/%d/files", h.repositoryPath(x), x.Number)
	if h.rule.Source == controlplane.ReviewGitLab {
		path = fmt.Sprintf("/projects/%s/merge_requests/%d/diffs", h.repositoryPath(x), x.Number)
	}
	listed := 0
	for page := 1; page <= maxFilePages && listed < mostFiles; page++ {
		query := fmt.Sprintf("?per_page=%d&limit=%d&page=%d", filesOfPage, filesOfPage, page)
		answer, header, err := h.send(ctx, http.MethodGet, path+query, nil)
		var files []changedFile
		if err == nil {
			err = json.Unmarshal(answer, &files)
		}
		if err != nil {
			return nil, false, fmt.Errorf("ask for the changed files: %w", err)
		}
		for _, f := range files {
			names = f.appendNames(names)
		}
		listed += len(files)
		if len(files) == 0 || len(files) < filesOfPage && !hasNextPage(header) {
			return names, listed < mostFiles, nil
		}
	}
	return names, false, nil
}

func hasNextPage(header http.Header) bool {
	return slices.ContainsFunc(header.Values("Link"),
		func(link string) bool { return strings.Contains(link, `rel="next"`) })
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

// closeReview stores that the code host calls a pull request closed, or that the rule's filter
// leaves out what it shows, as an event would. The next look removes what is there.
func (r *Reviews) closeReview(
	ctx context.Context, x *controlplane.Review, at time.Time, outside string,
) error {
	x.State, x.Outside = controlplane.ReviewWaiting, outside
	x.Detail = cmp.Or(outside, "the code host says that it is closed")
	return r.Store.InTx(ctx, func(tx *postgres.Tx) error { return tx.Reviews().Close(ctx, *x, at) })
}

// codeHostOf returns the API of the code host of a rule; ok is false if the rule does not use it
// for this review.
func (r *Reviews) codeHostOf(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (h codeHost, ok bool, err error) {
	token, err := r.Keys.LoadWebhookSecret(ctx, worker, tokenOf(rule.ID))
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
