package api

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/nullops/nullops/controlplane"
)

// Kinds of errors that only exist in HTTP; no use case knows them.
const (
	kindTooLarge  controlplane.Kind = "too_large"
	kindMediaType controlplane.Kind = "media_type"
	kindMethod    controlplane.Kind = "method"
	kindTimeout   controlplane.Kind = "timeout"
)

// httpStatus is the only place that knows which error is which status.
func httpStatus(k controlplane.Kind) int {
	switch k {
	case controlplane.Invalid:
		return http.StatusBadRequest
	case controlplane.Unauthenticated:
		return http.StatusUnauthorized
	case controlplane.Forbidden:
		return http.StatusForbidden
	case controlplane.NotFound:
		return http.StatusNotFound
	case controlplane.Conflict, controlplane.Exhausted:
		return http.StatusConflict
	case controlplane.Unavailable:
		return http.StatusServiceUnavailable
	case controlplane.TooMany:
		return http.StatusTooManyRequests
	case kindTooLarge:
		return http.StatusRequestEntityTooLarge
	case kindMediaType:
		return http.StatusUnsupportedMediaType
	case kindChanged:
		return http.StatusPreconditionFailed
	case kindMethod:
		return http.StatusMethodNotAllowed
	case kindTimeout:
		return http.StatusRequestTimeout
	default:
		return http.StatusInternalServerError
	}
}

// statusClosed is logged for a request whose client disconnected and so reads no
// answer.
const statusClosed = 499

// writeError answers with an error. An internal error is logged in full, and the
// client gets only the request's id.
func (s *server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	ctx := r.Context()
	var known *controlplane.Error
	switch {
	case errors.As(err, &known) && httpStatus(known.Kind) != http.StatusInternalServerError:
		if known.Cause != nil {
			s.Log.WarnContext(ctx, "request refused", "request_id", requestID(ctx), "error", err.Error(),
				"cause", known.Cause.Error())
		}
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		w.WriteHeader(statusClosed)
		return
	default:
		s.Log.ErrorContext(ctx, "request failed", "request_id", requestID(ctx), "error", err.Error())
		known = internalError()
		if errors.Is(err, controlplane.ErrDatabaseAway) {
			known = databaseAway()
		}
	}
	if known.RetryAfter > 0 || known.Kind == controlplane.Unavailable {
		wait := int(math.Ceil(max(known.RetryAfter.Seconds(), 1)))
		w.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	if known.Kind == controlplane.Unauthenticated {
		w.Header().Set("WWW-Authenticate", `Bearer realm="nullops"`)
	}
	writeProblem(w, toProblem(known, requestID(ctx)))
}

func internalError() *controlplane.Error {
	return &controlplane.Error{Kind: "internal", Code: "internal",
		Message: "this failed on our side",
		Remedy:  "Try again; if it stays, give an admin the request id."}
}

// databaseAway says that nothing is wrong with the request. A change whose answer was lost may
// have been stored all the same: the same Idempotency-Key finds out.
func databaseAway() *controlplane.Error {
	return &controlplane.Error{Kind: controlplane.Unavailable, Code: "database_unavailable",
		Message: "the database does not answer, or cannot store anything at the moment",
		Remedy: "Try again in a moment. A change is made once if you send the same " +
			"Idempotency-Key again."}
}

func toProblem(e *controlplane.Error, request string) Problem {
	code := httpStatus(e.Kind)
	p := Problem{
		Type: "about:blank", Title: http.StatusText(code), Status: code, Code: e.Code,
		Detail: ptrOrNil(controlplane.Sentence(e.Message)), Field: ptrOrNil(e.Field),
		Remedy: ptrOrNil(e.Remedy), RequestId: request,
	}
	if p.Code == "" {
		p.Code = string(e.Kind)
	}
	if len(e.Problems) > 0 {
		all := fieldProblems(e.Problems)
		p.Problems = &all
	}
	if len(e.Users) > 0 {
		p.Users = &e.Users
	}
	if len(e.Placement) > 0 {
		all := make([]PlacementReason, len(e.Placement))
		for i, r := range e.Placement {
			all[i] = PlacementReason{Node: r.Node, Reason: r.Reason,
				CpuFree: r.CPUFree, MemoryFree: r.MemoryFree}
		}
		p.Placement = &all
	}
	return p
}

func fieldProblems(from []controlplane.Problem) []FieldProblem {
	all := make([]FieldProblem, len(from))
	for i, p := range from {
		all[i] = FieldProblem{Field: p.Field, Code: p.Code, Step: ptrOrNil(p.Step),
			Message: controlplane.Sentence(p.Message), Document: p.Document, Remedy: ptrOrNil(p.Remedy)}
		if len(p.Users) > 0 {
			all[i].Users = &p.Users
		}
	}
	return all
}

func writeProblem(w http.ResponseWriter, p Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

// writeUnknownPath answers what no operation of the contract answers.
func (s *server) writeUnknownPath(w http.ResponseWriter, r *http.Request) {
	s.writeError(w, r, &controlplane.Error{
		Kind: controlplane.NotFound, Code: "no_such_path",
		Message: "there is nothing at this path",
		Remedy:  "Check the path against the API's description.",
	})
}

// ptrOrNil is a pointer to what is not empty: the contract leaves out the rest.
func ptrOrNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// valueOr returns what p points to, or otherwise if p is nil.
func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
