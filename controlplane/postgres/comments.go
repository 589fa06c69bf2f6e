package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func toComment(r dbsqlc.DeploymentComment) controlplane.Comment {
	return controlplane.Comment{ID: controlplane.CommentID(r.ID),
		Deployment: controlplane.DeploymentID(r.DeploymentID),
		User:       emptyIfNull[controlplane.UserID](r.UserID), Author: r.Author, Body: r.Body,
		Mentions: r.Mentions, At: r.At}
}

// Insert stores a comment.
func (t Comments) Insert(ctx context.Context, c controlplane.Comment) error {
	err := t.q.InsertComment(ctx, dbsqlc.InsertCommentParams{ID: string(c.ID),
		DeploymentID: string(c.Deployment), UserID: nullIfEmpty(c.User), Author: c.Author,
		Body: c.Body, Mentions: toStrings(c.Mentions)})
	if err != nil {
		return fmt.Errorf("store comment: %w", translateError(err))
	}
	return nil
}

// Get loads a comment of a deployment.
func (t Comments) Get(
	ctx context.Context, deployment controlplane.DeploymentID, id controlplane.CommentID,
) (controlplane.Comment, error) {
	r, err := t.q.GetComment(ctx, string(id), string(deployment))
	if err != nil {
		return controlplane.Comment{}, fmt.Errorf("load comment: %w",
			translateMissing(err, "comment", string(id)))
	}
	return toComment(r), nil
}

// List returns up to most comments of a deployment, the oldest first.
func (t Comments) List(
	ctx context.Context, deployment controlplane.DeploymentID, most int,
) ([]controlplane.Comment, error) {
	rows, err := t.q.ListComments(ctx, string(deployment), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list comments: %w", err)
	}
	all := make([]controlplane.Comment, len(rows))
	for i, r := range rows {
		all[i] = toComment(r)
	}
	return all, nil
}

// Delete deletes a comment.
func (t Comments) Delete(ctx context.Context, id controlplane.CommentID) error {
	if err := t.q.DeleteComment(ctx, string(id)); err != nil {
		return fmt.Errorf("delete comment: %w", err)
	}
	return nil
}

// Count returns how many comments a deployment has, and how many a person wrote since a time,
// anywhere.
func (t Comments) Count(ctx context.Context, deployment controlplane.DeploymentID,
	user controlplane.UserID, since time.Time) (here, lately int, err error) {
	r, err := t.q.CountComments(ctx, string(deployment), nullIfEmpty(user), since)
	if err != nil {
		return 0, 0, fmt.Errorf("count comments: %w", err)
	}
	return int(r.Here), int(r.Lately), nil
}

// ListPeopleNear returns active people whose name begins with the prefix, and who may see a
// deployment of the project in the environment, with some who may not: the caller must ask access
// about each.
func (t Users) ListPeopleNear(ctx context.Context, project controlplane.ProjectID,
	environment controlplane.EnvironmentID, prefix string, most int) ([]controlplane.User, error) {
	rows, err := t.q.ListPeopleNear(ctx, dbsqlc.ListPeopleNearParams{ProjectID: nullIfEmpty(project),
		EnvironmentID: nullIfEmpty(environment), Prefix: prefix, Most: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("list people: %w", err)
	}
	all := make([]controlplane.User, len(rows))
	for i, r := range rows {
		all[i] = controlplane.User{ID: controlplane.UserID(r.ID), Name: r.Name,
			DisplayName: r.DisplayName, Role: controlplane.Role(r.Role), Active: r.Active}
	}
	return all, nil
}

// ListPeopleNamed returns the active people of these names.
func (t Users) ListPeopleNamed(
	ctx context.Context, names []string,
) ([]controlplane.User, error) {
	rows, err := t.q.ListPeopleNamed(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("list people: %w", err)
	}
	all := make([]controlplane.User, len(rows))
	for i, r := range rows {
		all[i] = controlplane.User{ID: controlplane.UserID(r.ID), Name: r.Name,
			DisplayName: r.DisplayName, Role: controlplane.Role(r.Role), Active: r.Active}
	}
	return all, nil
}

// ListAdmins returns the active admins, with their addresses.
func (t Users) ListAdmins(ctx context.Context) ([]controlplane.User, error) {
	rows, err := t.q.ListAdmins(ctx)
	if err != nil {
		return nil, fmt.Errorf("list admins: %w", err)
	}
	all := make([]controlplane.User, len(rows))
	for i, r := range rows {
		all[i] = controlplane.User{ID: controlplane.UserID(r.ID), Name: r.Name, Address: r.Address,
			Role: controlplane.RoleAdmin, Active: true}
	}
	return all, nil
}
