package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
)

func (s *server) ListKeys(
	ctx context.Context, _ ListKeysRequestObject,
) (ListKeysResponseObject, error) {
	all, err := s.Keys.ListKeys(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return ListKeys200JSONResponse{Items: convertAll(all, masterKey)}, nil
}

func masterKey(k controlplane.KeyState) MasterKey {
	out := MasterKey{Name: k.Key, Present: k.Present, Primary: k.Primary, Values: k.Values,
		Source: ptrOrNil(k.Source)}
	out.Uses = make([]struct {
		Place  string `json:"place"`
		Values int64  `json:"values"`
	}, len(k.Uses))
	for i, use := range k.Uses {
		out.Uses[i].Place, out.Uses[i].Values = use.Place, use.Values
	}
	return out
}

func (s *server) RotateKeys(
	ctx context.Context, r RotateKeysRequestObject,
) (RotateKeysResponseObject, error) {
	done, left, err := s.Keys.RotateKeys(ctx, actorOf(ctx), string(valueOr(r.Params.To, "")))
	if err != nil {
		return nil, err
	}
	return RotateKeys200JSONResponse{Rotated: done, Left: left}, nil
}
