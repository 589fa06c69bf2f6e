package api

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/internal/tracing"
)

// router is the API's router. It wraps each route of the generated code with the
// policy of its operation: who may call it, and how requests are validated.
type router struct {
	server *server
	spec   *openapi3.T
	mux    *http.ServeMux
	err    error
	// tagged are the doors of objects with an ETag, by path and method.
	tagged map[string]map[string]*route
}

var _ ServeMux = (*router)(nil)

func newDoors(s *server) (*router, error) {
	spec, err := loadContract()
	if err != nil {
		return nil, err
	}
	s.schemas = spec.Components.Schemas
	d := &router{server: s, spec: spec, mux: http.NewServeMux(),
		tagged: map[string]map[string]*route{}}
	strict := NewStrictHandlerWithOptions(s, nil, StrictHTTPServerOptions{
		RequestErrorHandlerFunc:  s.writeMalformed,
		ResponseErrorHandlerFunc: s.writeError,
	})
	HandlerWithOptions(strict, StdHTTPServerOptions{
		BaseRouter: d, ErrorHandlerFunc: s.writeMalformed,
	})
	for _, path := range d.tagged {
		for method, one := range path {
			if method != http.MethodGet {
				one.reader = path[http.MethodGet]
			}
		}
	}
	return d, d.err
}

// loadContract returns the embedded contract, for validating requests. It is read once in a
// process: that takes long, and nobody changes it.
var loadContract = sync.OnceValues(readContract)

func readContract() (*openapi3.T, error) {
	spec, err := GetSpec()
	if err != nil {
		return nil, fmt.Errorf("api: read the contract: %w", err)
	}
	// People reach us by many names; the Host header is not the contract's.
	spec.Servers = nil
	// For 3.1 the library uses another validator, whose messages quote the
	// refused value: a password too short would be in the answer. The contract
	// uses nothing that the validator for 3.0 does not know.
	spec.OpenAPI = "3.0.3"
	return spec, nil
}

// HandleFunc registers a generated route, "METHOD /path", with its policy.
func (d *router) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	method, place, _ := strings.Cut(pattern, " ")
	item := d.spec.Paths.Value(place)
	if item == nil || item.GetOperation(method) == nil {
		d.err = fmt.Errorf("api: route %s is not in the contract", pattern)
		return
	}
	op := item.GetOperation(method)
	action, _ := op.Extensions["x-access"].(string)
	reads, _ := op.Extensions["x-reads"].(bool)
	once, _ := op.Extensions["x-once"].(string)
	stepUp, _ := op.Extensions["x-step-up"].(bool)
	beforeFactor, _ := op.Extensions["x-before-factor"].(bool)
	limit := int64(maxBody)
	if mib, ok := op.Extensions["x-max-mib"].(float64); ok {
		limit = int64(mib) << 20
	}
	door := &route{
		server: d.server, name: contractName(op.OperationID), action: access.Action(action),
		reads: reads || method == http.MethodGet, once: onceKind(once), limit: limit,
		stepUp: stepUp, beforeFactor: beforeFactor,
		route: &routers.Route{
			Spec: d.spec, Path: place, PathItem: item, Method: method, Operation: op,
		},
		next: h,
	}
	if isTaggable(item) {
		d.recordTagged(place, method, door)
	}
	d.mux.Handle(pattern, door)
}

// recordTagged notes a door of an object with an ETag.
func (d *router) recordTagged(place, method string, one *route) {
	if d.tagged[place] == nil {
		d.tagged[place] = map[string]*route{}
	}
	d.tagged[place][method], one.tags = one, method == http.MethodGet
}

// contractName undoes what the generator does to operation ids.
func contractName(id string) string {
	if id == "" {
		return ""
	}
	return strings.ToLower(id[:1]) + id[1:]
}

// ServeHTTP finds the route. Unknown paths and wrong methods are problems like
// all others, and no path is redirected to a cleaner one.
func (d *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path.Clean(r.URL.Path) != r.URL.Path {
		d.server.writeUnknownPath(w, r)
		return
	}
	if _, pattern := d.mux.Handler(r); pattern != "" {
		d.mux.ServeHTTP(w, r)
		return
	}
	allowed := d.allowedMethods(r)
	if len(allowed) == 0 {
		d.server.writeUnknownPath(w, r)
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	d.server.writeError(w, r, &controlplane.Error{
		Kind: kindMethod, Code: "method_not_allowed",
		Message: "this path does not know " + r.Method,
		Remedy:  "Use " + strings.Join(allowed, " or ") + ".",
	})
}

func (d *router) allowedMethods(r *http.Request) []string {
	var allowed []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = m
		if _, pattern := d.mux.Handler(other); pattern != "" && !slices.Contains(allowed, m) {
			allowed = append(allowed, m)
		}
	}
	return allowed
}

// route enforces the policy of one operation before its handler runs.
type route struct {
	server *server
	name   string
	// action is the operation's x-access. The empty one, which is no action,
	// is refused to everybody by access.Check.
	action access.Action
	// reads is set for operations that change nothing: every GET, and those with x-reads
	// in the contract.
	reads bool
	// stepUp is the operation's x-step-up: it cannot be undone, or lets somebody in, so a session
	// is asked who uses it.
	stepUp bool
	// beforeFactor is the operation's x-before-factor: people who must have a second factor and
	// have none use it to add one.
	beforeFactor bool
	// limit is the most bytes that its body may have.
	limit int64
	route *routers.Route
	next  http.HandlerFunc
	// once is how a repeated request with the same idempotency key is answered.
	once onceKind
	// tags is set if reading returns an ETag, reader if writing may require one.
	tags   bool
	reader *route
}

func (d *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	noteOf(r.Context()).operation = d.name
	tracing.Rename(r.Context(), d.name)
	r, err := d.authorizeRequest(w, r)
	if err != nil {
		d.server.writeError(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if d.tags {
		d.serveTagged(w, r)
		return
	}
	if key := r.Header.Get(onceHeader); key != "" && d.once != "" {
		d.onlyOnce(w, r, key)
		return
	}
	d.serveConditional(w, r)
}

// authorizeRequest checks the caller, their access, and whether the request matches the
// contract, in this order, so that unauthenticated requests reveal nothing about the contract
// and cost little.
func (d *route) authorizeRequest(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	who, err := d.server.authenticate(r, d.action)
	if err != nil {
		return r, err
	}
	n := noteOf(r.Context())
	n.who, n.user, n.asked = who, who.actor.Name(), r
	err = access.Check(who.actor, actionWithoutObject(d.action), access.Object{})
	if err == nil && who.actor.LacksFactor() && !d.beforeFactor && d.action != access.Public {
		err = access.FactorError()
	}
	if err == nil && who.actor.IsReadOnly() && !d.allowsReadOnly(who.actor, r) {
		err = who.actor.ReadOnlyError()
	}
	if err == nil && d.stepUp && who.actor.NeedsStepUp() {
		err = stepUpError()
	}
	if err != nil {
		return r, d.turnedAway(r, who.actor, err)
	}
	valid, err := d.validateRequest(w, r)
	return valid, d.turnedAway(r, who.actor, err)
}

func stepUpError() error {
	return &controlplane.Error{
		Kind: controlplane.Forbidden, Code: "step_up_needed",
		Message: "this cannot be undone or lets somebody in, so you have to prove again who you are",
		Remedy:  "Confirm it with your passkey, a code or your password, and try again.",
	}
}

// allowsReadOnly reports whether a read-only actor may call this. When viewing as
// another user only GET is allowed.
func (d *route) allowsReadOnly(actor access.Actor, r *http.Request) bool {
	return d.reads && (actor.Viewer() == "" || r.Method == http.MethodGet)
}

// turnedAway records in the audit that a signed-in actor was refused before the use case began.
// Unauthenticated requests are only logged: otherwise they could fill the audit.
func (d *route) turnedAway(r *http.Request, actor access.Actor, why error) error {
	if why == nil || d.reads || !actor.SignedIn() {
		return why
	}
	object := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	err := d.server.Audit.RecordRefusal(r.Context(), actor, spellOperation(d.name), object, why)
	if err != nil {
		d.server.Log.ErrorContext(r.Context(), "audit a refusal", "error", err)
	}
	return why
}

// spellOperation spells an operation as the audit spells actions: "put team".
func spellOperation(operation string) string {
	var b strings.Builder
	for _, c := range operation {
		if unicode.IsUpper(c) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// actionWithoutObject is the action that can be checked before the object is known.
// Access to a project or deployment is checked by the use case; here it is enough to
// be signed in.
func actionWithoutObject(a access.Action) access.Action {
	switch a {
	case access.ReadProject, access.ReadDeployment, access.WriteDeployment,
		access.AnswerDeployment, access.CommentDeployment, access.RevealSecret,
		access.GiveVerdict:
		return access.Self
	default:
		return a
	}
}
