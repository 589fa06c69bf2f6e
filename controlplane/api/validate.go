package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/reach"
	"github.com/nullops/nullops/pipeline"
)

// maxBody is the most a request may bring, unless its operation has x-max-mib: the
// largest pipelines we know, with their files, are a fifth of it.
const maxBody = 1 << 20

// maxName is how much of an unknown name an error repeats.
const maxName = 64

// maxProblems bounds the problems in one answer.
const maxProblems = 50

// validateRequest holds the request to the contract. What it refuses is answered by
// naming the field and never by quoting the value: that may be a secret.
func (d *route) validateRequest(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	file, err := d.fileBody(w, r)
	var body []byte
	if err == nil && !file {
		wanted := d.route.Operation.RequestBody
		body, err = readBody(w, r, d.limit, wanted != nil && wanted.Value.Required)
	}
	if err != nil {
		return r, err
	}
	if !file {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	params := map[string]string{}
	query, err := wholeQuery(r)
	if err != nil {
		return r, err
	}
	for _, p := range d.route.Operation.Parameters {
		name := p.Value.Name
		values := query[name]
		switch p.Value.In {
		case openapi3.ParameterInPath:
			params[name] = r.PathValue(name)
			values = []string{params[name]}
		case openapi3.ParameterInHeader:
			values = r.Header.Values(name)
		}
		if err := checkStorable(name, values); err != nil {
			return r, err
		}
	}
	if err := d.knownQuery(query); err != nil {
		return r, err
	}
	err = openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: d.route,
		Options: &openapi3filter.Options{
			MultiError: true, SkipSettingDefaults: true, ExcludeRequestBody: file,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		},
	})
	if err != nil {
		return r, validationError(err)
	}
	if !file {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return r, nil
}

// wholeQuery refuses a query of which a part cannot be read: left out, it would
// be a filter that filters nothing.
func wholeQuery(r *http.Request) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &controlplane.Error{Kind: controlplane.Invalid, Code: "query_invalid",
			Message: "the part of the address behind the ? cannot be read",
			Remedy:  "Escape ; and % in it, as %3B and %25."}
	}
	return query, nil
}

// knownQuery refuses a parameter that the operation does not have. If it were ignored,
// a filter with a misspelt name would return everything.
func (d *route) knownQuery(query url.Values) error {
	var known []string
	for _, p := range d.route.Operation.Parameters {
		if p.Value.In == openapi3.ParameterInQuery {
			known = append(known, p.Value.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if slices.Contains(known, name) {
			continue
		}
		remedy := "Leave it out: there are none here."
		if len(known) > 0 {
			remedy = "Leave it out, or use one of " + strings.Join(known, ", ") + "."
		}
		return &controlplane.Error{Kind: controlplane.Invalid, Code: "unknown_parameter",
			Field:   strings.ToValidUTF8(name[:min(len(name), maxName)], ""),
			Message: "there is no such parameter", Remedy: remedy}
	}
	return nil
}

// fileBody reports whether the operation takes a file, which is read as it comes.
// A form on a foreign page cannot send one of this media type.
func (d *route) fileBody(w http.ResponseWriter, r *http.Request) (bool, error) {
	body := d.route.Operation.RequestBody
	if body == nil || body.Value.Content["application/octet-stream"] == nil {
		return false, nil
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/octet-stream" {
		return true, &controlplane.Error{Kind: kindMediaType, Code: "media_type",
			Message: "the body is not declared as a file",
			Remedy:  "Send Content-Type: application/octet-stream."}
	}
	if r.ContentLength > reach.MaxFile {
		return true, &controlplane.Error{Kind: kindTooLarge, Code: "body_too_large",
			Message: sidecar.TooLargeMessage(reach.MaxFile).Error()}
	}
	r.Body = http.MaxBytesReader(w, r.Body, reach.MaxFile+1)
	return true, nil
}

// checkStorable refuses text that the database would: the contract's patterns do
// not cover every parameter.
func checkStorable(name string, values []string) error {
	for _, v := range values {
		if !utf8.ValidString(v) || strings.Contains(v, "\x00") {
			return &controlplane.Error{Kind: controlplane.Invalid, Code: "invalid", Field: name,
				Message: "the text is not valid UTF-8, or holds a NUL character",
				Remedy:  "Take out what cannot be seen in it."}
		}
	}
	return nil
}

// readBody reads one JSON document. Any other media type is refused, since
// those are what a form on a foreign page can send.
func readBody(
	w http.ResponseWriter, r *http.Request, limit int64, wanted bool,
) ([]byte, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	var known *controlplane.Error
	switch {
	case errors.As(err, &large):
		return nil, &controlplane.Error{Kind: kindTooLarge, Code: "body_too_large",
			Message: fmt.Sprintf("the body is larger than %d bytes", limit),
			Remedy:  "Send less; large files belong into an image."}
	case errors.As(err, &known):
		return nil, err
	case err != nil:
		return nil, invalidBody("the body could not be read to its end")
	case len(body) == 0 && !wanted:
		return nil, nil
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		media != "application/json" {
		return nil, &controlplane.Error{Kind: kindMediaType, Code: "media_type",
			Message: "the body is not declared as JSON",
			Remedy:  "Send Content-Type: application/json."}
	}
	return body, wellFormed(body)
}

// wellFormed holds the body to what every JSON reader reads the same: no key
// twice, no text that is not UTF-8, no number that would be rounded, and not
// too deep.
func wellFormed(body []byte) error {
	if !json.Valid(body) {
		return invalidSyntax(body)
	}
	err := pipeline.CheckJSON(body)
	var wrong *pipeline.JSONError
	if !errors.As(err, &wrong) {
		return err
	}
	if wrong.Path == "" {
		return invalidBody("the body: " + wrong.Message)
	}
	// Spelled as the validator spells places: steps.0.key.
	field := strings.NewReplacer("[", ".", "]", "").Replace(wrong.Path)
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "body_invalid", Field: field,
		Message: wrong.Message, Remedy: "Send it as the API's description says."}
}

func invalidSyntax(body []byte) error {
	var syntax *json.SyntaxError
	var v any
	if err := json.Unmarshal(body, &v); errors.As(err, &syntax) {
		return invalidBody(fmt.Sprintf("the body is not one JSON document: wrong at byte %d",
			syntax.Offset))
	}
	return invalidBody("the body is not one JSON document")
}

func invalidBody(message string) error {
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "body_invalid",
		Message: message, Remedy: "Send one JSON object as the API's description says."}
}

// writeMalformed answers what the generated code could not read although the
// contract allows it.
func (s *server) writeMalformed(w http.ResponseWriter, r *http.Request, err error) {
	refused := &controlplane.Error{Kind: controlplane.Invalid, Code: "request_invalid",
		Message: "the request could not be read",
		Remedy:  "Send it as the API's description says."}
	var wrong *json.UnmarshalTypeError
	var param *InvalidParamFormatError
	switch {
	case errors.As(err, &wrong):
		refused.Field = wrong.Field
		refused.Message = "this is not the type that belongs here"
	case errors.As(err, &param):
		refused.Field = param.ParamName
		refused.Message = "this cannot be read"
	}
	s.writeError(w, r, refused)
}

// validationError converts what the validator found into one controlplane.Error.
func validationError(err error) error {
	found := collectProblems(nil, "", err)
	if len(found) > maxProblems {
		found = found[:maxProblems]
	}
	if len(found) == 0 {
		return invalidBody("the request does not match the API's description")
	}
	first := found[0]
	out := &controlplane.Error{
		Kind: controlplane.Invalid, Code: first.Code, Field: first.Field, Message: first.Message,
		Remedy: cmp.Or(first.Remedy, "Send it as the API's description says."),
	}
	if len(found) > 1 {
		out.Problems = found
	}
	return out
}

// collectProblems walks the validator's errors. at is the parameter, "" in the body.
func collectProblems(all []controlplane.Problem, at string, err error) []controlplane.Problem {
	var many openapi3.MultiError
	var request *openapi3filter.RequestError
	var schema *openapi3.SchemaError
	switch {
	case asMultiError(err, &many):
		for _, one := range many {
			all = collectProblems(all, at, one)
		}
		return all
	case errors.As(err, &request):
		if request.Parameter != nil {
			at = request.Parameter.Name
		}
		if request.Err != nil {
			return collectProblems(all, at, request.Err)
		}
		return append(all, controlplane.Problem{Field: at, Code: "invalid",
			Message: reasonText(request)})
	case errors.As(err, &schema):
		return append(all, schemaProblem(at, schema))
	default:
		return append(all, controlplane.Problem{Field: at, Code: "invalid",
			Message: "this is missing or cannot be read"})
	}
}

// asMultiError is errors.As without unwrapping: a list found inside the error of one
// parameter must not lose the parameter's name.
func asMultiError(err error, many *openapi3.MultiError) bool {
	list, ok := err.(openapi3.MultiError) //nolint:errorlint // no deeper, on purpose
	*many = list
	return ok
}

// reasonText is the reason without its details, which quote values.
func reasonText(e *openapi3filter.RequestError) string {
	if e.Reason == "" {
		return "this cannot be read"
	}
	return e.Reason
}
