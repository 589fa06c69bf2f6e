package lifecycle

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// The bounds of comments.
const (
	// MostCommentLength is in characters.
	MostCommentLength = 4000
	// mostComments is more than people say about one deployment.
	mostComments = 500
	// mostMentions bounds how many people one comment calls.
	mostMentions = 10
	// A person writes at most so many comments within commentsWithin, so that nobody floods
	// the notices of others.
	mostCommentsLately = 30
	commentsWithin     = 10 * time.Minute
	// mostPeople is how many names are offered to mention, mostCandidates how many are looked at.
	mostPeople     = 20
	mostCandidates = 100
)

// ListComments lists what people said about a deployment, the oldest first.
func (l *Lifecycle) ListComments(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (all []controlplane.Comment, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		if _, err := readDeployment(ctx, tx, actor, id); err != nil {
			return err
		}
		all, err = tx.Comments().List(ctx, id, mostComments)
		return err
	})
	return all, err
}

// AddComment stores what the actor says about a deployment, and tells those whom it mentions, as
// far as they may see the deployment, and its creator.
func (l *Lifecycle) AddComment(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID, body string,
) (c controlplane.Comment, err error) {
	entry := actor.NewAuditEntry("comment on deployment", "deployment "+string(id))
	err = l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		d, err := readCommented(ctx, tx, actor, id, entry)
		if err != nil {
			return err
		}
		if body, err = cleanComment(body); err != nil {
			return err
		}
		if err := checkCommentLimits(ctx, tx, actor, id); err != nil {
			return err
		}
		people, err := findMentioned(ctx, tx, d, body)
		if err != nil {
			return err
		}
		c = controlplane.Comment{ID: controlplane.NewID[controlplane.CommentID](), Deployment: id,
			User: actor.UserID(), Author: actor.Name(), Body: body}
		for _, p := range people {
			c.Mentions = append(c.Mentions, p.Name)
		}
		if err := tx.Comments().Insert(ctx, c); err != nil {
			return err
		}
		if c, err = tx.Comments().Get(ctx, id, c.ID); err != nil {
			return err
		}
		return tellOfComment(ctx, tx, actor, d, c, people)
	})
	return c, err
}

// readCommented reads the deployment of a comment, which the actor may write or delete.
func readCommented(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	id controlplane.DeploymentID, entry *controlplane.AuditEntry) (controlplane.Deployment, error) {
	d, err := readDeployment(ctx, tx, actor, id)
	if err != nil {
		return d, err
	}
	entry.Object = "deployment " + d.Name
	entry.Project, entry.Environment = d.ProjectID, d.EnvironmentID
	return d, access.Check(actor, access.CommentDeployment, accessObject(d))
}

// DeleteComment takes a comment back. Its author may do that, and admins.
func (l *Lifecycle) DeleteComment(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, comment controlplane.CommentID) error {
	entry := actor.NewAuditEntry("delete comment", "deployment "+string(id))
	return l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		if _, err := readCommented(ctx, tx, actor, id, entry); err != nil {
			return err
		}
		if !controlplane.ValidID(string(comment)) {
			return controlplane.NewNotFoundError("comment", string(comment))
		}
		c, err := tx.Comments().Get(ctx, id, comment)
		if err != nil {
			return err
		}
		entry.Detail = "of " + c.Author
		if !actor.IsAdmin() && c.User != actor.UserID() {
			return &controlplane.Error{Kind: controlplane.Forbidden, Code: "not_the_author",
				Message: "the comment is of " + c.Author,
				Remedy:  "Ask " + c.Author + " or an admin to delete it."}
		}
		return tx.Comments().Delete(ctx, comment)
	})
}

// ListMentionable lists people whose name begins with the prefix and who may see the deployment,
// for somebody who wants to mention one.
func (l *Lifecycle) ListMentionable(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID, prefix string,
) (people []controlplane.User, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		all, err := tx.Users().ListPeopleNear(ctx, d.ProjectID, d.EnvironmentID,
			strings.ToLower(prefix), mostCandidates)
		if err != nil {
			return err
		}
		people, err = keepReaders(ctx, tx, d, all, mostPeople)
		return err
	})
	return people, err
}

// cleanComment returns the text as it is stored: without control characters but ends of lines and
// tabs, and without space around it.
func cleanComment(body string) (string, error) {
	body = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == utf8.RuneError {
			return -1
		}
		return r
	}, body)
	body = strings.TrimSpace(body)
	if n := utf8.RuneCountInString(body); n == 0 || n > MostCommentLength {
		return "", controlplane.NewInvalidError("body", "comment_length",
			fmt.Sprintf("a comment has 1 to %d characters, this one has %d", MostCommentLength, n),
			"Write something, or less.")
	}
	return body, nil
}

func checkCommentLimits(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	id controlplane.DeploymentID) error {
	now, err := tx.DatabaseTime(ctx)
	if err != nil {
		return err
	}
	here, lately, err := tx.Comments().Count(ctx, id, actor.UserID(), now.Add(-commentsWithin))
	switch {
	case err != nil:
		return err
	case here >= mostComments:
		return controlplane.NewConflictError("too_many_comments",
			fmt.Sprintf("the deployment has %d comments, which is the most", here),
			"Delete some that nobody needs any more.")
	case lately >= mostCommentsLately:
		return &controlplane.Error{Kind: controlplane.TooMany, Code: "comments_too_fast",
			RetryAfter: commentsWithin,
			Message:    fmt.Sprintf("you wrote %d comments in ten minutes", lately),
			Remedy:     "Wait some minutes."}
	}
	return nil
}

// mention is a name after an @ that no other word ends with: "ada@example.org" mentions nobody.
var mention = regexp.MustCompile(`(?:^|[^\pL\pN@._/-])@([a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?)`)

// findMentioned returns the people whom a text mentions and who may see the deployment.
func findMentioned(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	body string) ([]controlplane.User, error) {
	var names []string
	for _, m := range mention.FindAllStringSubmatch(strings.ToLower(body), -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	if len(names) > mostMentions {
		return nil, controlplane.NewInvalidError("body", "too_many_mentions",
			fmt.Sprintf("the comment mentions %d people", len(names)),
			fmt.Sprintf("Mention at most %d.", mostMentions))
	}
	all, err := tx.Users().ListPeopleNamed(ctx, names)
	if err != nil {
		return nil, err
	}
	return keepReaders(ctx, tx, d, all, mostMentions)
}

// keepReaders returns up to most of the people, those who may see the deployment now.
func keepReaders(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	all []controlplane.User, most int) ([]controlplane.User, error) {
	var kept []controlplane.User
	for _, u := range all {
		grants, err := tx.Teams().ListGrants(ctx, u.ID)
		if err != nil {
			return nil, err
		}
		person := access.User(u, grants)
		if access.Check(person, access.ReadDeployment, accessObject(d)) != nil {
			continue
		}
		if kept = append(kept, u); len(kept) == most {
			break
		}
	}
	return kept, nil
}

// tellOfComment leaves a notice for each person mentioned, and for the creator of the deployment.
func tellOfComment(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment, c controlplane.Comment, people []controlplane.User) error {
	notice := controlplane.PersonNotice{Kind: controlplane.NoticeMention, Deployment: d.ID,
		By: c.Author, Subject: c.Author + " mentioned you on " + d.Name, Body: c.Body,
		Link: "/d/" + string(d.ID) + "/comments"}
	told := map[controlplane.UserID]bool{actor.UserID(): true}
	for _, u := range people {
		if told[u.ID] {
			continue
		}
		told[u.ID], notice.User = true, u.ID
		if err := tx.Inbox().Add(ctx, notice); err != nil {
			return err
		}
	}
	creators, err := tx.Users().ListPeopleNamed(ctx, []string{d.CreatedBy})
	if err != nil {
		return err
	}
	if creators, err = keepReaders(ctx, tx, d, creators, 1); err != nil {
		return err
	}
	notice.Kind, notice.Subject = controlplane.NoticeComment, c.Author+" commented on "+d.Name
	for _, u := range creators {
		if told[u.ID] {
			continue
		}
		notice.User = u.ID
		if err := tx.Inbox().Add(ctx, notice); err != nil {
			return err
		}
	}
	return nil
}
