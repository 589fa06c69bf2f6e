package api

import (
	"bytes"
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
)

func (s *server) CreateSupportArchive(
	ctx context.Context, r CreateSupportArchiveRequestObject,
) (CreateSupportArchiveResponseObject, error) {
	archive, err := s.Diagnosis.Archive(ctx, actorOf(ctx), valueOr(r.Params.Node, nil))
	if err != nil {
		return nil, err
	}
	name := `attachment; filename="nullops-support-` +
		time.Now().UTC().Format("20060102T150405Z") + `.tar.gz"`
	return CreateSupportArchive200ApplicationgzipResponse{Body: bytes.NewReader(archive),
		ContentLength: int64(len(archive)),
		Headers:       CreateSupportArchive200ResponseHeaders{ContentDisposition: &name}}, nil
}

func (s *server) ListLogLevels(
	ctx context.Context, _ ListLogLevelsRequestObject,
) (ListLogLevelsResponseObject, error) {
	all, err := s.Diagnosis.ListLevels(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return ListLogLevels200JSONResponse{Items: convertAll(all, toLogLevel),
		Components: s.Diagnosis.Components, AgentComponents: s.Diagnosis.AgentComponents}, nil
}

func (s *server) SetLogLevel(
	ctx context.Context, r SetLogLevelRequestObject,
) (SetLogLevelResponseObject, error) {
	l, err := s.Diagnosis.SetLevel(ctx, actorOf(ctx), controlplane.LogLevel{
		Component: r.Component, Level: string(r.Body.Level), Until: r.Body.Until,
		Node: valueOr(r.Body.Node, "")})
	if err != nil {
		return nil, err
	}
	return SetLogLevel200JSONResponse(toLogLevel(l)), nil
}

func (s *server) EndLogLevel(
	ctx context.Context, r EndLogLevelRequestObject,
) (EndLogLevelResponseObject, error) {
	err := s.Diagnosis.EndLevel(ctx, actorOf(ctx), valueOr(r.Params.Node, ""), r.Component)
	if err != nil {
		return nil, err
	}
	return EndLogLevel204Response{}, nil
}

func toLogLevel(l controlplane.LogLevel) LogLevel {
	return LogLevel{Component: l.Component, Node: ptrOrNil(l.Node), Level: LogLevelName(l.Level),
		Until: l.Until, SetBy: l.SetBy, SetAt: l.SetAt}
}
