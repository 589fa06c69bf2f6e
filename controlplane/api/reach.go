package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/reach"
	"github.com/nullops/nullops/pipeline"
)

// CreateReachTicket returns a ticket for one connection into a service; it expires
// soon.
func (s *server) CreateReachTicket(
	ctx context.Context, r CreateReachTicketRequestObject,
) (CreateReachTicketResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	w := reach.ConnectionRequest{Deployment: id, Step: pipeline.StepKey(r.Step),
		Kind: controlplane.ReachKind(r.Body.Kind), Port: valueOr(r.Body.Port, 0)}
	if (w.Kind == controlplane.ReachForward) != (w.Port != 0) {
		return nil, &controlplane.Error{Kind: controlplane.Invalid, Code: "port_wrong", Field: "port",
			Message: "a forward needs a port, and nothing else has one",
			Remedy:  "Send port with the kind forward only."}
	}
	if err := s.checkReachable(ctx, id); err != nil {
		return nil, err
	}
	ticket, expires, err := s.Reach.IssueTicket(ctx, actorOf(ctx), w)
	if err != nil {
		return nil, err
	}
	return CreateReachTicket201JSONResponse{Ticket: ticket.Reveal(), ExpiresAt: expires}, nil
}

// checkReachable fails if this server cannot connect to services, after checking that
// the deployment may be seen.
func (s *server) checkReachable(ctx context.Context, id controlplane.DeploymentID) error {
	if s.Reach != nil {
		return nil
	}
	if _, err := s.Lifecycle.Get(ctx, actorOf(ctx), id); err != nil {
		return err
	}
	return &controlplane.Error{Kind: controlplane.Unavailable, Code: "no_node",
		Message: "no node can be reached from here"}
}

func (s *server) filePlace(ctx context.Context, id, step, path string) (reach.ServiceFile, error) {
	deployment, err := deploymentID(id)
	if err == nil {
		err = s.checkReachable(ctx, deployment)
	}
	return reach.ServiceFile{Deployment: deployment, Step: pipeline.StepKey(step), Path: path}, err
}

// ReadServiceFile copies a file out of a service.
func (s *server) ReadServiceFile(
	ctx context.Context, r ReadServiceFileRequestObject,
) (ReadServiceFileResponseObject, error) {
	p, err := s.filePlace(ctx, r.Id, r.Step, r.Body.Path)
	if err != nil {
		return nil, err
	}
	f, err := s.Reach.ReadFile(ctx, actorOf(ctx), p)
	if err != nil {
		return nil, err
	}
	return fileBody{f}, nil
}

// fileBody is a file as an answer. If reading it fails the connection is closed, so
// that no client takes a part for the whole.
type fileBody struct{ reach.File }

// fileAbout holds a file's name and permissions: its name may be any bytes.
const fileAbout = "Nullops-File"

// VisitReadServiceFileResponse implements ReadServiceFileResponseObject.
func (f fileBody) VisitReadServiceFileResponse(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(f.Size, 10))
	h.Set("Cache-Control", "no-store")
	h.Set(fileAbout, fmt.Sprintf("%o %s", f.Mode, base64.StdEncoding.EncodeToString([]byte(f.Name))))
	w.WriteHeader(http.StatusOK)
	_, err := io.Copy(w, f.Content)
	if closed := f.Content.Close(); err == nil {
		err = closed
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// WriteServiceFile copies a file into a service.
func (s *server) WriteServiceFile(
	ctx context.Context, r WriteServiceFileRequestObject,
) (WriteServiceFileResponseObject, error) {
	p, err := s.filePlace(ctx, r.Id, r.Step, r.Params.Path)
	if err != nil {
		return nil, err
	}
	mode, err := strconv.ParseUint(valueOr(r.Params.Mode, "644"), 8, 32)
	if err != nil || mode > 0o777 {
		return nil, &controlplane.Error{Kind: controlplane.Invalid, Code: "mode_wrong", Field: "mode",
			Message: "the permissions are not three octal digits", Remedy: "Send 644, say."}
	}
	err = s.Reach.WriteFile(
		ctx,
		actorOf(ctx),
		p,
		valueOr(r.Params.Name, ""),
		fs.FileMode(mode),
		r.Body,
	)
	if err != nil {
		return nil, err
	}
	return WriteServiceFile204Response{}, nil
}
