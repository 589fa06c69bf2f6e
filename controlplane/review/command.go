package review

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Whoever may write to a repository may write commands below its pull requests: a line that begins
// with "/nullops". The event only stores the command; the loop asks the code host for the rights of
// its author and does it. The answer is part of the one comment.

// command is what somebody wrote below a pull request.
type command struct{ verb, argument, author, authorID string }

// commandVerbs are what follows "/nullops".
var commandVerbs = []string{"deploy", "extend", "retry", "stop", "approve"}

// interruptingVerbs are those that take time away from who is there; "anyway" after one does it all
// the same.
var interruptingVerbs = []string{"retry", "stop"}

const anyway = " anyway"

// mostCommands bounds how many lines of one comment are commands.
const mostCommands = 10

// readCommands finds the commands in a comment, in their order. What is shown as code is no
// command, and neither is what a comment quotes.
func readCommands(body, author, authorID string) (all []command) {
	if author = clipText(author, 100); author == "" {
		return nil
	}
	var fence string
	for line := range strings.Lines(body) {
		if mark := fenceMark(line); mark != "" {
			switch {
			case fence == "":
				fence = mark
			case strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark:
				fence = ""
			}
			continue
		}
		if fence != "" || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
			continue
		}
		words := strings.Fields(line)
		if len(words) == 0 || !strings.EqualFold(words[0], "/nullops") {
			continue
		}
		if all = append(all, parseCommand(words[1:], author, authorID)); len(all) == mostCommands {
			break
		}
	}
	return all
}

// fenceMark returns the characters that begin or end a block of code in Markdown; "" for other
// lines.
func fenceMark(line string) string {
	text := strings.TrimSpace(line)
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(text, mark)
		// After "```" at the beginning of a line, another "`" makes it code within the line.
		if n := len(text) - len(rest); n >= 3 && !(mark == "`" && strings.Contains(rest, mark)) {
			return text[:n]
		}
	}
	return ""
}

// parseCommand reads what follows "/nullops".
func parseCommand(words []string, author, authorID string) command {
	c := command{author: author, authorID: clipText(authorID, 100)}
	if len(words) > 0 {
		c.verb = clipText(strings.ToLower(words[0]), 40)
	}
	if c.verb == "" {
		c.verb = "help"
	}
	if len(words) < 2 {
		return c
	}
	if slices.Contains(interruptingVerbs, c.verb) {
		if strings.EqualFold(words[1], strings.TrimSpace(anyway)) {
			c.verb += anyway
		}
		return c
	}
	// People copy commits as code.
	c.argument = clipText(strings.ToLower(strings.Trim(words[1], "`")), 100)
	return c
}

// readHubComment reads comments of GitHub, and of Gitea, which uses the same form.
func readHubComment(body []byte) (*event, error) {
	var e struct {
		Action string `json:"action"`
		IsPull bool   `json:"is_pull"`
		Issue  struct {
			Number      int             `json:"number"`
			PullRequest json.RawMessage `json:"pull_request"`
		} `json:"issue"`
		Comment struct {
			Body string `json:"body"`
			User struct {
				Login string `json:"login"`
			} `json:"user"`
		} `json:"comment"`
		Repository struct {
			ID       int64  `json:"id"`
			FullName string `json:"full_name"`
		} `json:"repository"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Issue.Number <= 0 ||
		e.Issue.Number > math.MaxInt32 || e.Repository.FullName == "" {
		return nil, errForeign
	}
	pull := e.IsPull || len(e.Issue.PullRequest) > 0 && string(e.Issue.PullRequest) != "null"
	said := readCommands(e.Comment.Body, e.Comment.User.Login, "")
	if e.Action != "created" || !pull || len(said) == 0 {
		return nil, nil
	}
	return &event{repository: e.Repository.FullName, repositoryID: readID(e.Repository.ID),
		number: e.Issue.Number, commands: said}, nil
}

// readLabComment reads notes of GitLab below merge requests.
func readLabComment(body []byte) (*event, error) {
	var e struct {
		Project struct {
			ID   int64  `json:"id"`
			Path string `json:"path_with_namespace"`
		} `json:"project"`
		Object struct {
			Note   string `json:"note"`
			Of     string `json:"noteable_type"`
			Action string `json:"action"`
		} `json:"object_attributes"`
		Request struct {
			IID int `json:"iid"`
		} `json:"merge_request"`
		User struct {
			ID   int64  `json:"id"`
			Name string `json:"username"`
		} `json:"user"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Project.Path == "" {
		return nil, errForeign
	}
	said := readCommands(e.Object.Note, e.User.Name, readID(e.User.ID))
	changed := e.Object.Action != "" && e.Object.Action != "create"
	if e.Object.Of != "MergeRequest" || e.Request.IID <= 0 || changed || len(said) == 0 {
		return nil, nil
	}
	return &event{repository: e.Project.Path, repositoryID: readID(e.Project.ID),
		number: e.Request.IID, commands: said}, nil
}

// storeCommands stores the commands of a comment below a pull request that the rule knows.
func (r *Reviews) storeCommands(ctx context.Context, rule controlplane.ReviewRule, e event,
	d delivery) (said string, err error) {
	err = r.Store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := lockEvents(ctx, tx); err != nil {
			return err
		}
		x, known, err := findReview(ctx, tx, rule, &e)
		if err != nil || !known {
			said = "an unknown pull request"
			return err
		}
		fresh, err := d.recordDelivery(ctx, tx, rule.ID)
		if err != nil || !fresh {
			said = "seen before"
			return err
		}
		said = taken
		for _, c := range e.commands {
			stored, err := tx.Reviews().AddCommand(ctx, controlplane.ReviewCommand{Review: x.ID,
				Verb: c.verb, Argument: c.argument, Author: c.author, AuthorID: c.authorID})
			if err != nil {
				return err
			}
			if !stored {
				said = "too many commands wait"
			}
		}
		return nil
	})
	return said, err
}

// runCommands does what people wrote below a pull request. It reports whether something is to be
// answered.
func (r *Reviews) runCommands(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (answered bool, err error) {
	var all []controlplane.ReviewCommand
	err = r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Reviews().ListWaitingCommands(ctx, x.ID)
		return err
	})
	for _, c := range all {
		answer, err := r.runCommand(ctx, rule, x, c)
		if err != nil {
			return answered, err
		}
		err = r.Store.InTx(ctx, func(tx *postgres.Tx) error {
			return tx.Reviews().AnswerCommand(ctx, c.ID, clipText(answer, 500))
		})
		if err != nil {
			return answered, err
		}
		answered = true
	}
	return answered, err
}

// runCommand does one command, and says what became of it. An error means that it is tried again.
func (r *Reviews) runCommand(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, c controlplane.ReviewCommand) (answer string, err error) {
	h, ok, err := r.codeHostOf(ctx, rule, x)
	if err != nil {
		return "", err
	}
	if !ok {
		return "The rule has no token, so nobody knows what you may do.", nil
	}
	may, err := h.mayWrite(ctx, *x, c)
	r.noteRefusal(ctx, rule, err)
	switch {
	case err != nil && time.Since(c.At) < time.Hour:
		return "", &controlplane.Error{Kind: controlplane.Unavailable, Code: "host_silent",
			Message: "The code host does not say what the author of a command may do"}
	case err != nil:
		return "The code host did not say for an hour what you may do.", nil
	case !may:
		return "Only who may write to the repository may do that.", nil
	case !slices.Contains(commandVerbs, strings.TrimSuffix(c.Verb, anyway)):
		return "There is no such command. Write one of: /nullops " +
			strings.Join(commandVerbs, ", /nullops ") + ".", nil
	}
	actor := access.System("review for " + c.Author)
	if c.Verb == "approve" {
		return r.answerApproval(ctx, actor, rule, x, c.Argument)
	}
	if answer, err = r.doCommand(ctx, actor, rule, x, c.Verb); err != nil {
		return controlplane.Sentence(messageOf(err)), nil
	}
	return answer, nil
}

func (r *Reviews) doCommand(ctx context.Context, actor access.Actor,
	rule controlplane.ReviewRule, x *controlplane.Review, verb string) (string, error) {
	next, err := r.findNext(ctx, rule, x)
	if err != nil {
		return "", err
	}
	d, err := r.findDeployment(ctx, rule, x)
	if err != nil {
		return "", err
	}
	switch closed := x.Want != controlplane.GoalPresent; {
	case verb == "deploy":
		return r.deployAgain(ctx, rule, x, d, next)
	case d == nil && x.Outside != "":
		return leftOut(*x), nil
	case d == nil && closed:
		return closedAnswer, nil
	case d == nil && strings.TrimSuffix(verb, anyway) == "stop":
		return r.stopBeforeItRuns(ctx, x, next)
	case d == nil:
		return "There is no deployment. " + deployHint, nil
	}
	verb, interrupts := strings.CutSuffix(verb, anyway)
	visitors := controlplane.KnownVisitors(d.Visitors)
	if (verb == "stop" || verb == "retry") && !interrupts && len(visitors) > 0 {
		return fmt.Sprintf("It is in use by %s. Write /nullops %s%s to do it all the same.",
			countVisitors(visitors), verb, anyway), nil
	}
	switch verb {
	case "extend":
		_, err = r.Lifecycle.Extend(ctx, actor, d.ID)
		return "Its lifetime begins again.", err
	case "stop":
		if _, err := r.stopBeforeItRuns(ctx, x, next); err != nil {
			return "", err
		}
		if _, err = r.Lifecycle.Remove(ctx, actor, d.ID); x.Want != controlplane.GoalPresent {
			return "It is being removed.", err
		}
		return "It is being removed. " + deployHint, err
	default:
		failed := d
		if next != nil && next.Status == controlplane.Failed {
			failed = next
		}
		_, err = r.Lifecycle.Retry(ctx, actor, failed.ID, lifecycle.RetryOptions{})
		return "It is tried again.", err
	}
}

// stopBeforeItRuns stops what was pushed and does not run yet: an update that is prepared, and what
// waits for an image, would come in the place of what somebody stops.
func (r *Reviews) stopBeforeItRuns(ctx context.Context, x *controlplane.Review,
	next *lifecycle.View) (string, error) {
	prepared := next != nil && !next.Status.IsGone()
	if prepared {
		if err := r.takeDown(ctx, *next); err != nil {
			return "", err
		}
	}
	waits := x.Want == controlplane.GoalPresent && x.Done != x.Generation
	if waits {
		x.Done = x.Generation
	}
	if !prepared && !waits {
		return "There is no deployment. " + deployHint, nil
	}
	return "What was pushed is not deployed. " + deployHint, nil
}

// Answers that several commands have in common.
const (
	closedAnswer = "The pull request is closed."
	deployHint   = "Write /nullops deploy to have it created."
)

func leftOut(x controlplane.Review) string {
	return "The rule leaves this pull request out: " + x.Outside
}

// deployAgain has a deployment created that is not there, or looks for newer images.
func (r *Reviews) deployAgain(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, d, next *lifecycle.View) (string, error) {
	switch {
	case x.Outside != "":
		return leftOut(*x), nil
	case x.Want != controlplane.GoalPresent:
		return closedAnswer, nil
	case x.AwaitsApproval():
		return "This commit of a fork waits until somebody writes " + approveText(x.Commit) + ".", nil
	case d != nil && d.Goal == controlplane.GoalGone:
		return "It is still being removed. Write the command again in a moment.", nil
	case next != nil && !next.Status.IsGone() && next.Status != controlplane.Failed:
		return "An update is being prepared already.", nil
	}
	if d != nil {
		_, news, err := r.chooseVersions(ctx, rule, x, d)
		if err != nil {
			return "", err
		}
		if !news {
			return "It runs the newest build already.", nil
		}
	}
	err := r.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Reviews().Restart(ctx, *x, time.Now().Add(rule.Wait))
	})
	if err == nil {
		x.Generation++
		x.State, x.Detail = controlplane.ReviewWaiting, ""
		x.GiveUpAt = time.Now().Add(rule.Wait)
	}
	return "The newest build is being deployed.", err
}

// mayWrite asks the code host whether the author of a command may write to the repository.
func (h codeHost) mayWrite(
	ctx context.Context, x controlplane.Review, c controlplane.ReviewCommand,
) (bool, error) {
	if h.rule.Source == controlplane.ReviewBitbucket {
		return h.mayWriteOnBitbucket(ctx, x, c)
	}
	var said struct {
		Permission string `json:"permission"`
		Level      int    `json:"access_level"`
	}
	path := fmt.Sprintf("/repos/%s/collaborators/%s/permission", h.repositoryPath(x),
		url.PathEscape(c.Author))
	if h.rule.Source == controlplane.ReviewGitLab {
		path = fmt.Sprintf("/projects/%s/members/all/%s", h.repositoryPath(x),
			url.PathEscape(c.AuthorID))
	}
	err := h.callAPI(ctx, http.MethodGet, path, nil, &said)
	if isRefused(err) {
		return false, nil // nobody that the repository knows
	}
	const developer = 30
	writes := slices.Contains([]string{"write", "maintain", "admin", "owner"}, said.Permission)
	return writes || said.Level >= developer, err
}

// reportAnswer brings the answer to a command into the comment while the deployment is on its way.
func (r *Reviews) reportAnswer(
	ctx context.Context, rule controlplane.ReviewRule, x *controlplane.Review,
) {
	h, ok, err := r.codeHostOf(ctx, rule, x)
	if err == nil && ok {
		var text string
		if text, err = r.describeReview(ctx, x, nil, nil); err == nil {
			err = h.postComment(ctx, x, text)
		}
	}
	r.noteRefusal(ctx, rule, err)
	if err != nil {
		r.Log.WarnContext(ctx, "a command was not answered", "rule", rule.Name, "review", x.Key,
			"error", err)
	}
}
