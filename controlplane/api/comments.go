package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
)

func (s *server) ListComments(
	ctx context.Context, r ListCommentsRequestObject,
) (ListCommentsResponseObject, error) {
	all, err := s.Lifecycle.ListComments(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id))
	if err != nil {
		return nil, err
	}
	return ListComments200JSONResponse{Items: convertAll(all, toDeploymentComment)}, nil
}

func (s *server) CreateComment(
	ctx context.Context, r CreateCommentRequestObject,
) (CreateCommentResponseObject, error) {
	c, err := s.Lifecycle.AddComment(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id), r.Body.Body)
	if err != nil {
		return nil, err
	}
	return CreateComment201JSONResponse(toDeploymentComment(c)), nil
}

func (s *server) DeleteComment(
	ctx context.Context, r DeleteCommentRequestObject,
) (DeleteCommentResponseObject, error) {
	err := s.Lifecycle.DeleteComment(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id),
		controlplane.CommentID(r.Comment))
	if err != nil {
		return nil, err
	}
	return DeleteComment204Response{}, nil
}

func (s *server) ListMentionable(
	ctx context.Context, r ListMentionableRequestObject,
) (ListMentionableResponseObject, error) {
	all, err := s.Lifecycle.ListMentionable(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id),
		valueOr(r.Params.Prefix, ""))
	if err != nil {
		return nil, err
	}
	return ListMentionable200JSONResponse{Items: convertAll(all, toMentionable)}, nil
}

func toDeploymentComment(c controlplane.Comment) DeploymentComment {
	return DeploymentComment{Id: string(c.ID), Author: c.Author, Body: c.Body,
		Mentions: orEmpty(c.Mentions), At: c.At}
}

func toMentionable(u controlplane.User) Mentionable {
	return Mentionable{Name: u.Name, DisplayName: ptrOrNil(u.DisplayName)}
}
