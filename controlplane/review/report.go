package review

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
)

// reportResult posts to the pull request: one comment, which later calls edit, and the
// commit's status. Failures are retried for an hour.
func (r *Reviews) reportResult(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) {
	err := r.postResult(ctx, rule, x)
	r.recordRefusal(ctx, rule, err)
	if err == nil || time.Now().After(x.GiveUpAt.Add(time.Hour)) {
		x.Told = x.Generation
		r.posted.forgetReview(x.ID)
		return
	}
	r.Log.WarnContext(ctx, "a pull request was not told", "rule", rule.Name, "review", x.Key,
		"error", err)
	x.Told, x.DueAt = min(x.Told, x.Generation-1), time.Now().Add(r.Ask)
}

// recordRefusal stores that a code host refused the rule's token, for those who can change it, or
// that it took what it was told. Other failures say nothing about the token.
func (r *Reviews) recordRefusal(ctx context.Context, rule controlplane.ReviewRule, err error) {
	refusal := describeRefusal(err)
	if ctx.Err() != nil || err != nil && refusal == "" {
		return
	}
	r.storeRefusal(ctx, rule, refusal)
}

// noteRefusal stores that a code host refused a question or a part of what it is told. That it took
// that says nothing about the rest.
func (r *Reviews) noteRefusal(ctx context.Context, rule controlplane.ReviewRule, err error) {
	if refusal := describeRefusal(err); refusal != "" && ctx.Err() == nil {
		r.storeRefusal(ctx, rule, refusal)
	}
}

func (r *Reviews) storeRefusal(
	ctx context.Context, rule controlplane.ReviewRule, refusal string,
) {
	err := r.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.ReviewRules().SetRefusal(ctx, rule.ID, refusal)
	})
	if err != nil {
		r.Log.WarnContext(ctx, "what a code host refused was not stored", "rule", rule.Name, "error",
			err)
	}
}

// describeRefusal says what a code host minds about a token; empty if it minds something else.
func describeRefusal(err error) string {
	refused, ok := errors.AsType[*refusedError](err)
	if !ok || refused.wait > 0 {
		return ""
	}
	said := ""
	switch refused.status {
	case http.StatusUnauthorized:
		said = "it does not accept the token of the rule, which may be revoked or too old"
	case http.StatusForbidden:
		said = "it does not allow the token of the rule to do that"
	case http.StatusNotFound:
		said = "it shows the token of the rule no such repository or pull request"
	default:
		return ""
	}
	return fmt.Sprintf("%s answered %d: %s", refused.source, refused.status, said)
}

func (r *Reviews) postResult(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) error {
	h, ok, err := r.codeHostOf(ctx, rule, x)
	if err != nil || !ok {
		return err
	}
	links, tests, err := r.deploymentResult(ctx, x)
	if err != nil {
		return err
	}
	text, err := r.describeReview(ctx, x, links, tests)
	if err != nil {
		return err
	}
	// Code hosts keep every status that they are sent: what they took is not sent again because
	// another part was refused.
	news := hashParts(text, strings.Join(links, " "), x.Commit, string(x.State))
	return errors.Join(
		r.posted.postOnce(x.ID, "comment", news, func() error { return h.postComment(ctx, x, text) }),
		r.posted.postOnce(x.ID, "status", news,
			func() error { return h.postStatus(ctx, *x, links, tests) }),
		r.posted.postOnce(x.ID, "record", news, func() error { return h.postRecord(ctx, x, links) }))
}

// describeReview returns the comment: what became of the review, and of the last commands.
func (r *Reviews) describeReview(ctx context.Context, x *controlplane.Review, links []string,
	tests *controlplane.TestSummary) (string, error) {
	var commands []controlplane.ReviewCommand
	err := r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		commands, err = tx.Reviews().ListLastCommands(ctx, x.ID)
		return err
	})
	var b strings.Builder
	b.WriteString(commentText(*x, links, tests))
	for _, c := range commands {
		fmt.Fprintf(&b, "\n%s wrote %s: %s\n", codeSpan(c.Author),
			codeSpan("/nullops "+c.Verb), quoteMarkdown(c.Answer))
	}
	return b.String(), err
}

func apiOf(rule controlplane.ReviewRule) string {
	switch {
	case rule.APIURL != "":
		return rule.APIURL
	case rule.Source == controlplane.ReviewGitHub:
		return "https://api.github.com"
	case rule.Source == controlplane.ReviewGitLab:
		return "https://gitlab.com/api/v4"
	case rule.Source == controlplane.ReviewBitbucket:
		return "https://api.bitbucket.org/2.0"
	default:
		return ""
	}
}

// deploymentResult returns the deployment's addresses, its page last, and what its tests came
// to; nil if there are no results.
func (r *Reviews) deploymentResult(ctx context.Context, x *controlplane.Review) (
	all []string, tests *controlplane.TestSummary, err error) {
	if x.DeploymentID == "" {
		return nil, nil, nil
	}
	v, err := r.Lifecycle.View(ctx, worker, x.DeploymentID)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return nil, nil, nil // it was forgotten; what is to be told is not about it
	}
	if err != nil {
		return nil, nil, err
	}
	if x.State == controlplane.ReviewReady {
		all = serviceLinks(v.Services)
	}
	// Of an update that failed, the page says why.
	page := cmp.Or(x.NextID, x.DeploymentID)
	return append(all, r.URL+"/deployments/"+string(page)), v.Tests, nil
}

// serviceLinks returns the URLs of the services, and then those of their further exposed ports.
func serviceLinks(services []lifecycle.ServiceView) (all []string) {
	var further []string
	for _, s := range services {
		if s.URL != "" {
			all = append(all, s.URL)
		}
		for _, p := range s.Ports {
			if u := s.PortURLs[p.Name]; u != "" && u != s.URL {
				further = append(further, u)
			}
		}
	}
	return append(all, further...)
}

// codeHost is one code host's API.
type codeHost struct {
	reviews *Reviews
	rule    controlplane.ReviewRule
	base    string
	token   controlplane.Plain
}

func (h codeHost) repositoryPath(x controlplane.Review) string {
	repository := x.Repository
	if repository == "" {
		repository = x.Key[:strings.LastIndex(x.Key, "#")]
	}
	if h.rule.Source == controlplane.ReviewGitLab {
		return url.PathEscape(repository)
	}
	owner, name, _ := strings.Cut(repository, "/")
	return url.PathEscape(owner) + "/" + url.PathEscape(name)
}

// postComment updates the one comment. One that somebody deleted, or that belongs to another token,
// is written anew.
func (h codeHost) postComment(ctx context.Context, x *controlplane.Review, body string) error {
	before := x.CommentID
	err := h.writeComment(ctx, x, body)
	if before == "" || !isRefused(err) || h.rule.Source == controlplane.ReviewGeneric {
		return err
	}
	x.CommentID = ""
	if err = h.writeComment(ctx, x, body); err != nil {
		x.CommentID = before
	}
	return err
}

func (h codeHost) writeComment(ctx context.Context, x *controlplane.Review, body string) error {
	method, path := http.MethodPost, ""
	form := any(map[string]string{"body": body})
	switch h.rule.Source {
	case controlplane.ReviewGitHub, controlplane.ReviewGitea:
		path = fmt.Sprintf("/repos/%s/issues/%d/comments", h.repositoryPath(*x), x.Number)
		if x.CommentID != "" {
			method, path = http.MethodPatch,
				fmt.Sprintf("/repos/%s/issues/comments/%s", h.repositoryPath(*x), x.CommentID)
		}
	case controlplane.ReviewGitLab:
		path = fmt.Sprintf("/projects/%s/merge_requests/%d/notes", h.repositoryPath(*x), x.Number)
		if x.CommentID != "" {
			method, path = http.MethodPut, path+"/"+x.CommentID
		}
	case controlplane.ReviewBitbucket:
		path = h.bitbucketPath(*x) + "/comments"
		form = map[string]any{"content": map[string]string{"raw": body}}
		if x.CommentID != "" {
			method, path = http.MethodPut, path+"/"+x.CommentID
		}
	default:
		form = map[string]any{"key": x.Key, "number": x.Number, "state": x.State, "text": body,
			"deployment": x.Deployment, "commit": x.Commit}
	}
	var made struct {
		ID int64 `json:"id"`
	}
	if err := h.callAPI(ctx, method, path, form, &made); err != nil {
		return fmt.Errorf("comment: %w", err)
	}
	if made.ID > 0 {
		x.CommentID = strconv.FormatInt(made.ID, 10)
	}
	return nil
}

func (h codeHost) postStatus(ctx context.Context, x controlplane.Review, links []string,
	tests *controlplane.TestSummary) error {
	generic := h.rule.Source == controlplane.ReviewGeneric // its one message holds the state
	if x.Commit == "" || x.State == controlplane.ReviewRemoved || generic {
		return nil
	}
	state, target := statusFailure, ""
	if x.State == controlplane.ReviewReady {
		state = statusSuccess
	}
	if len(links) > 0 {
		target = links[0]
	}
	detail := x.Detail
	if detail == "" && tests != nil {
		detail = describeTests(*tests)
	}
	return h.postCommitStatus(ctx, x, commitStatus{name: "nullops/" + h.rule.Name, state: state,
		target: target, words: x.Deployment + ": " + string(x.State) + " " + detail})
}

// refusedError is an answer of a code host that is no success.
type refusedError struct {
	source controlplane.ReviewSource
	status int
	// wait is for how long the code host wants to be asked nothing; zero if it says no such thing.
	wait time.Duration
}

func (e *refusedError) Error() string {
	if e.wait > 0 {
		return fmt.Sprintf("%s takes no requests for %s", e.source, quantity.FormatDuration(e.wait))
	}
	return fmt.Sprintf("%s answered %d", e.source, e.status)
}

// isRefused reports whether a code host says that something is not there, or not for our token.
func isRefused(err error) bool {
	return hasStatus(err, http.StatusForbidden, http.StatusNotFound, http.StatusGone)
}

// isInvalid reports whether a code host never takes what it was sent, as of a commit that was
// pushed away.
func isInvalid(err error) bool {
	return hasStatus(err, http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity)
}

func hasStatus(err error, all ...int) bool {
	refused, ok := errors.AsType[*refusedError](err)
	return ok && refused.wait == 0 && slices.Contains(all, refused.status)
}

// maxAnswer bounds what is read of an answer. A page of changed files holds their patches too.
const maxAnswer = 8 << 20

func (h codeHost) callAPI(ctx context.Context, method, path string, form, into any) error {
	answer, _, err := h.send(ctx, method, path, form)
	if err == nil && into != nil && len(answer) > 0 {
		// An answer that is no comment leaves us without its id: the next one is new. One
		// that is no pull request leaves us without its state.
		_ = json.Unmarshal(answer, into)
	}
	return err
}

// send returns the body and the headers of an answer that is a success.
func (h codeHost) send(
	ctx context.Context, method, path string, form any,
) (answer []byte, header http.Header, err error) {
	if left := h.reviews.limits.waitFor(h.rule.ID); left > 0 {
		return nil, nil, &refusedError{source: h.rule.Source, status: http.StatusTooManyRequests,
			wait: left}
	}
	var body []byte
	if form != nil {
		if body, err = json.Marshal(form); err != nil {
			return nil, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, h.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, errors.New("the address of the API is not one")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "NullOps")
	switch h.rule.Source {
	case controlplane.ReviewGitLab:
		req.Header.Set("Private-Token", h.token.Reveal())
	case controlplane.ReviewGitea:
		req.Header.Set("Authorization", "token "+h.token.Reveal())
	default:
		req.Header.Set("Authorization", "Bearer "+h.token.Reveal())
	}
	resp, err := h.reviews.client.Do(req)
	if u, ok := errors.AsType[*url.Error](err); ok {
		return nil, nil, u.Err // without the address, which may hold something secret
	}
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil || resp.StatusCode/100 != 2 {
		refused := &refusedError{source: h.rule.Source, status: resp.StatusCode,
			wait: rateLimitOf(resp, answer, time.Now())}
		h.reviews.limits.setWait(h.rule.ID, refused.wait)
		return nil, nil, refused
	}
	return answer, resp.Header, nil
}
