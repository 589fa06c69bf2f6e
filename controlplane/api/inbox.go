package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
)

func (s *server) GetInbox(
	ctx context.Context, _ GetInboxRequestObject,
) (GetInboxResponseObject, error) {
	all, err := s.Notify.ListInbox(ctx, actorOf(ctx))
	return GetInbox200JSONResponse(toInbox(all)), err
}

func (s *server) MarkInbox(
	ctx context.Context, r MarkInboxRequestObject,
) (MarkInboxResponseObject, error) {
	ids := convertAll(r.Body.Ids, func(id string) controlplane.PersonNoticeID {
		return controlplane.PersonNoticeID(id)
	})
	if err := s.Notify.MarkInbox(ctx, actorOf(ctx), ids, r.Body.Read); err != nil {
		return nil, err
	}
	all, err := s.Notify.ListInbox(ctx, actorOf(ctx))
	return MarkInbox200JSONResponse(toInbox(all)), err
}

func toInbox(all []controlplane.PersonNotice) Inbox {
	box := Inbox{Items: convertAll(all, toPersonNotice)}
	for _, n := range box.Items {
		if !n.Read {
			box.Unread++
		}
	}
	return box
}

func toPersonNotice(n controlplane.PersonNotice) PersonNotice {
	return PersonNotice{Id: string(n.ID), Kind: PersonNoticeKind(n.Kind), By: ptrOrNil(n.By),
		Subject: n.Subject, Body: ptrOrNil(n.Body), Link: ptrOrNil(n.Link), At: n.At,
		Read: n.ReadAt != nil}
}

func (s *server) ListOwnAccessRequests(
	ctx context.Context, _ ListOwnAccessRequestsRequestObject,
) (ListOwnAccessRequestsResponseObject, error) {
	all, err := s.Accounts.ListOwnAccessRequests(ctx, actorOf(ctx))
	return ListOwnAccessRequests200JSONResponse{Items: convertAll(all, toAccessRequest)}, err
}

func (s *server) CreateAccessRequest(
	ctx context.Context, r CreateAccessRequestRequestObject,
) (CreateAccessRequestResponseObject, error) {
	actor := actorOf(ctx)
	w := accounts.AccessWish{Object: r.Body.Object, Note: valueOr(r.Body.Note, "")}
	if w.Object != accounts.ObjectAdmin && w.Object != accounts.ObjectCreate {
		found, err := s.findObject(ctx, actor, w.Object)
		if err != nil {
			return nil, err
		}
		w.Place, w.Object = found.object, "environment/"+found.environment
		if found.project != "" {
			w.Object = "project/" + found.project
		}
	}
	made, err := s.Accounts.RequestAccess(ctx, actor, w)
	if err != nil {
		return nil, err
	}
	return CreateAccessRequest200JSONResponse(toAccessRequest(made)), nil
}

func (s *server) ListAccessRequests(
	ctx context.Context, _ ListAccessRequestsRequestObject,
) (ListAccessRequestsResponseObject, error) {
	all, err := s.Accounts.ListAccessRequests(ctx, actorOf(ctx))
	return ListAccessRequests200JSONResponse{Items: convertAll(all, toAccessRequest)}, err
}

func (s *server) CloseAccessRequest(
	ctx context.Context, r CloseAccessRequestRequestObject,
) (CloseAccessRequestResponseObject, error) {
	err := s.Accounts.CloseAccessRequest(ctx, actorOf(ctx), controlplane.AccessRequestID(r.Id))
	if err != nil {
		return nil, err
	}
	return CloseAccessRequest204Response{}, nil
}

func toAccessRequest(r controlplane.AccessRequest) AccessRequest {
	return AccessRequest{Id: string(r.ID), User: r.UserName, Object: r.Object,
		Wanted: accounts.WantedAccess(r.Object), Note: ptrOrNil(r.Note), At: r.At}
}
