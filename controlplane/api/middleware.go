package api

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/internal/logs"
)

// contextKey is the type of our keys in a request's context.
type contextKey int

const noteKey contextKey = iota

// requestNote carries facts about one request between the layers.
type requestNote struct {
	request string
	// operation and user are filled in once they are known, for the log.
	operation string
	user      string
	who       caller
	// cookies are sent with the answer, besides those of the operation.
	cookies []string
	// asked is the request itself, for answers that take its connection over.
	asked *http.Request
}

func noteOf(ctx context.Context) *requestNote {
	n, ok := ctx.Value(noteKey).(*requestNote)
	if !ok {
		return &requestNote{}
	}
	return n
}

func requestID(ctx context.Context) string { return noteOf(ctx).request }

// withRequestID assigns the request ID. One sent by the client is ignored: ours must
// be unique and safe to log.
func (s *server) withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := &requestNote{request: uuid.Must(uuid.NewV7()).String()}
		w.Header().Set("X-Request-Id", n.request)
		ctx := logs.WithRequest(context.WithValue(r.Context(), noteKey, n), n.request)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// withAccessLog logs one line for each request, without query values, headers and
// bodies, which may hold secrets.
func (s *server) withAccessLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &recorder{ResponseWriter: w, note: noteOf(r.Context())}
		next.ServeHTTP(seen, r)
		took := time.Since(began)
		n := noteOf(r.Context())
		if s.Metrics != nil {
			s.Metrics(r.Context(), n.operation, seen.statusCode(), took)
		}
		level := slog.LevelInfo
		if n.operation == "" && seen.statusCode() < http.StatusBadRequest {
			// Pages and probes; they drown what matters.
			level = slog.LevelDebug
		}
		s.Log.LogAttrs(r.Context(), level, "request",
			slog.String(logs.RequestID, n.request), slog.String("method", r.Method),
			slog.String("path", r.URL.Path), slog.String("operation", n.operation),
			slog.Int("status", seen.statusCode()), slog.Int64("bytes", seen.bytes),
			slog.Float64("seconds", took.Seconds()), slog.String("user", n.user),
			slog.String("user_id", string(n.who.actor.UserID())),
			slog.String("from", clientAddress(r)))
	})
}

// withRecovery answers a panic like any other internal error. ErrAbortHandler is how a handler cuts
// a connection on purpose.
func (s *server) withRecovery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				s.Log.ErrorContext(r.Context(), "request panicked",
					"request_id", requestID(r.Context()), "panic", fmt.Sprint(p),
					"stack", string(debug.Stack()))
				writeProblem(w, toProblem(internalError(), requestID(r.Context())))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// withSecurityHeaders sets headers so that browsers load nothing from elsewhere and
// frame nothing.
func (s *server) withSecurityHeaders(next http.Handler) http.Handler {
	const policy = "default-src 'self'; img-src 'self' data:; object-src 'none'; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	transport := "max-age=31536000"
	// Below a company's own domain are servers that are not ours and may have no TLS.
	if !catalog.IsRegistrable(s.URL.Hostname()) {
		transport += "; includeSubDomains"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		if s.secure {
			h.Set("Strict-Transport-Security", transport)
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses what another site's page makes a browser send. Changes
// are covered by the standard library's check; on top of it a change with our
// cookie must say where it comes from, and reading, streams above all, is
// refused to other sites too.
func (s *server) sameOrigin(next http.Handler) http.Handler {
	standard := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if standard.Check(r) != nil && r.Header.Get("Origin") != s.origin || !s.fromUs(r) {
			s.writeError(w, r, &controlplane.Error{
				Kind: controlplane.Forbidden, Code: "cross_origin",
				Message: "the request comes from another site",
				Remedy:  "Open " + s.origin + " itself, or use an API token in a program.",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) fromUs(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if origin != "" && origin != s.origin && !sameHost(origin, r.Host) {
		return false
	}
	switch site {
	case "", "same-origin", "none":
	default:
		return false
	}
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	// Every browser of the last years sends one of the two with a change.
	return safe || site != "" || origin != "" || len(r.CookiesNamed(s.cookieName())) == 0
}

func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && host != "" && u.Host == host
}

// clientAddress is where the request comes from: the connection's address, or the one
// that a trusted proxy names (see believeProxies).
func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// recorder remembers what was answered, for the log.
type recorder struct {
	http.ResponseWriter
	note   *requestNote
	status int
	bytes  int64
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader takes the final status: of what comes before it, only a change of
// protocols is final too.
func (r *recorder) WriteHeader(status int) {
	final := status >= http.StatusOK || status == http.StatusSwitchingProtocols
	if r.status == 0 && final {
		r.status = status
		for _, cookie := range r.note.cookies {
			r.Header().Add("Set-Cookie", cookie)
		}
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

func (r *recorder) statusCode() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

var _ interface{ Unwrap() http.ResponseWriter } = (*recorder)(nil)
