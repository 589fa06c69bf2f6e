package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/internal/intoto"
)

func (s *server) ListVerdicts(
	ctx context.Context, r ListVerdictsRequestObject,
) (ListVerdictsResponseObject, error) {
	v, err := s.Lifecycle.ListVerdicts(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id))
	if err != nil {
		return nil, err
	}
	out := ListVerdicts200JSONResponse{Items: convertAll(v.Items, toVerdict),
		DigestSet: v.DigestSet, May: v.Refused == nil}
	if said, ok := errors.AsType[*controlplane.Error](v.Refused); ok {
		out.Refusal = ptrOrNil(strings.TrimSpace(controlplane.Sentence(said.Message) + " " + said.Remedy))
	}
	return out, nil
}

func (s *server) GiveVerdict(
	ctx context.Context, r GiveVerdictRequestObject,
) (GiveVerdictResponseObject, error) {
	v, err := s.Lifecycle.GiveVerdict(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id),
		lifecycle.VerdictRequest{Outcome: controlplane.VerdictOutcome(r.Body.Outcome),
			Remarks: valueOr(r.Body.Remarks, ""), DigestSet: r.Body.DigestSet})
	if err != nil {
		return nil, err
	}
	return GiveVerdict201JSONResponse(toVerdict(v)), nil
}

func (s *server) GetVerdictStatement(
	ctx context.Context, r GetVerdictStatementRequestObject,
) (GetVerdictStatementResponseObject, error) {
	v, err := s.Lifecycle.GetVerdict(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id),
		controlplane.VerdictID(r.Verdict))
	if err != nil {
		return nil, err
	}
	var out GetVerdictStatement200JSONResponse
	if err := json.Unmarshal(v.Bundle, &out); err != nil {
		return nil, fmt.Errorf("read the statement of verdict %s: %w", v.ID, err)
	}
	return out, nil
}

func (s *server) GetVerdictKey(
	ctx context.Context, _ GetVerdictKeyRequestObject,
) (GetVerdictKeyResponseObject, error) {
	out, err := s.readVerdictKeys(ctx)
	return GetVerdictKey200JSONResponse(out), err
}

func (s *server) RotateVerdictKey(
	ctx context.Context, _ RotateVerdictKeyRequestObject,
) (RotateVerdictKeyResponseObject, error) {
	if err := s.Keys.RotateVerdictKey(ctx, actorOf(ctx)); err != nil {
		return nil, err
	}
	out, err := s.readVerdictKeys(ctx)
	return RotateVerdictKey200JSONResponse(out), err
}

func (s *server) readVerdictKeys(ctx context.Context) (out VerdictKey, err error) {
	all, err := s.Lifecycle.ListVerdictKeys(ctx, actorOf(ctx))
	if err != nil {
		return out, err
	}
	now := all[0]
	out = VerdictKey{PublicKey: now.PublicKey, CreatedAt: &now.CreatedAt,
		Hint: ptrOrNil(intoto.KeyHint(now.PublicKey))}
	if former := convertAll(all[1:], toFormerVerdictKey); len(former) > 0 {
		out.Former = &former
	}
	return out, nil
}

func toFormerVerdictKey(k controlplane.VerdictKey) FormerVerdictKey {
	return FormerVerdictKey{PublicKey: k.PublicKey, Hint: intoto.KeyHint(k.PublicKey),
		CreatedAt: k.CreatedAt, EndedAt: *k.EndedAt}
}

func toVerdict(v controlplane.Verdict) Verdict {
	out := Verdict{Id: string(v.ID), Outcome: VerdictOutcome(v.Outcome),
		Remarks: ptrOrNil(v.Remarks), DigestSet: v.DigestSet, Run: v.Run, Author: v.Author, At: v.At,
		Commit: ptrOrNil(v.Commit), VoidedAt: v.VoidedAt, VoidedReason: ptrOrNil(v.VoidedReason)}
	if len(v.Images) > 0 {
		all := convertAll(v.Images, func(i controlplane.VerdictImage) VerdictImage {
			return VerdictImage{Image: i.Image, Digest: i.Digest, AttachedAt: i.AttachedAt,
				Problem: ptrOrNil(i.Problem)}
		})
		out.Images = &all
	}
	return out
}
