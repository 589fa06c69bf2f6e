package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nullops/nullops/controlplane"
)

func (s *server) GetDraft(
	ctx context.Context, r GetDraftRequestObject,
) (GetDraftResponseObject, error) {
	d, err := s.Catalog.Draft(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	body, err := toDraft(d)
	return GetDraft200JSONResponse{Body: body,
		Headers: GetDraft200ResponseHeaders{ETag: formatETag(d.Revision)}}, err
}

func (s *server) PutDraft(
	ctx context.Context, r PutDraftRequestObject,
) (PutDraftResponseObject, error) {
	revision, err := ifMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(r.Body.Content)
	if err != nil {
		return nil, fmt.Errorf("write a draft: %w", err)
	}
	d, err := s.Catalog.SaveDraft(ctx, actorOf(ctx), r.Name, controlplane.Draft{
		Base: r.Body.BaseVersion, Revision: revision, Content: content})
	if err != nil {
		return nil, err
	}
	body, err := toDraft(d)
	return PutDraft200JSONResponse{Body: body,
		Headers: PutDraft200ResponseHeaders{ETag: formatETag(d.Revision)}}, err
}

func (s *server) DeleteDraft(
	ctx context.Context, r DeleteDraftRequestObject,
) (DeleteDraftResponseObject, error) {
	revision, err := ifMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	if err := s.Catalog.DeleteDraft(ctx, actorOf(ctx), r.Name, revision); err != nil {
		return nil, err
	}
	return DeleteDraft204Response{}, nil
}

func toDraft(d controlplane.Draft) (Draft, error) {
	out := Draft{Revision: d.Revision, BaseVersion: d.Base}
	if d.Revision == 0 {
		return out, nil
	}
	var content map[string]any
	if err := json.Unmarshal(d.Content, &content); err != nil {
		return out, fmt.Errorf("read a draft: %w", err)
	}
	out.Content, out.SavedAt = &content, &d.SavedAt
	return out, nil
}

func formatETag(revision int64) *string {
	tag := strconv.Quote(strconv.FormatInt(revision, 10))
	return &tag
}

// ifMatch reads the revision; the contract has checked its form.
func ifMatch(header *string) (int64, error) {
	if header == nil {
		return 0, nil
	}
	revision, err := strconv.ParseInt(strings.Trim(*header, `"`), 10, 64)
	if err != nil {
		return 0, &controlplane.Error{Kind: controlplane.Invalid, Code: "invalid",
			Field: "If-Match", Message: "this is no revision of a draft",
			Remedy: "Send the ETag of the draft that you read."}
	}
	return revision, nil
}
