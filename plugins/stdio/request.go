package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Action is what the plugin must do.
type Action string

// A plugin that does not list ActionDelete in its component is never called
// with it: there is then nothing to undo. ActionCheck asks whether what create
// made is still there, with create's outputs, and changes nothing: success means
// that it is. It is for people and tools, such as 'nullops check' and
// 'nullops plugin test': a run creates and deletes, and never calls it.
const (
	ActionCreate Action = "create"
	ActionDelete Action = "delete"
	ActionCheck  Action = "check"
)

func (a Action) isKnown() bool {
	return a == ActionCreate || a == ActionDelete || a == ActionCheck
}

// MaxRequest is the most a plugin reads from stdin, in bytes. Requests carry
// whole SQL scripts, so it is larger than [MaxResponse].
const MaxRequest = 8 << 20

// Request is what a plugin reads from stdin. Every field but Action may be missing: a
// plugin that knows only action, parameters and secrets works.
type Request struct {
	Action     Action            `json:"action"`
	Parameters map[string]any    `json:"parameters,omitempty"`
	Secrets    map[string]string `json:"secrets,omitempty"`
	Deployment Deployment        `json:"deployment,omitzero"`
	// Services are the deployment's services started before this step, by
	// key. A plugin reaches them only when its component asks for a network.
	Services map[string]Service `json:"services,omitempty"`
	// Outputs are what the same step returned on create; given on delete and check.
	// They are empty when create never got as far as answering.
	Outputs map[string]any `json:"outputs,omitempty"`
	Run     Run            `json:"run,omitzero"`
}

// Deployment says on whose behalf the plugin runs.
type Deployment struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Environment string `json:"environment"`
	Project     string `json:"project"`
	// Domain is the suffix of the deployment's host names.
	Domain string `json:"domain"`
}

// Service is where a service of the deployment answers.
type Service struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// Run names this very attempt. A plugin whose effect must not happen twice uses
// the three together as its idempotency key.
type Run struct {
	ID      string `json:"id"`
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
}

// WriteRequest writes the one object a plugin reads. Secrets are in it: the
// writer must be the plugin's stdin and nothing that keeps a copy.
func WriteRequest(w io.Writer, r Request) error {
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("write the plugin's request: %w", err)
	}
	return nil
}

// ReadRequest reads the one object on a plugin's stdin.
func ReadRequest(r io.Reader) (Request, error) {
	var req Request
	data, err := io.ReadAll(io.LimitReader(r, MaxRequest+1))
	if err != nil {
		return req, fmt.Errorf("read the request from stdin: %w", err)
	}
	switch {
	case len(data) > MaxRequest:
		return req, fmt.Errorf("the request on stdin is larger than %d bytes", MaxRequest)
	case len(bytes.TrimSpace(data)) == 0:
		return req, errors.New("stdin is empty; write one JSON object with an \"action\" to it")
	}
	if err := json.Unmarshal(data, &req); err != nil {
		return req, fmt.Errorf("the request on stdin is not one JSON object: %w", err)
	}
	if !req.Action.isKnown() {
		return req, fmt.Errorf("action %q is not known; use %q, %q or %q",
			req.Action, ActionCreate, ActionDelete, ActionCheck)
	}
	return req, nil
}

// Bind decodes the parameters into dst, a pointer to a struct, and refuses
// those the struct does not know: a misspelt parameter must not be ignored.
func (r Request) Bind(dst any) error {
	return decodeInto("parameter", r.Parameters, dst)
}

// BindOutputs decodes the earlier outputs into dst. Unknown ones are skipped:
// they may come from a newer version of the same plugin.
func (r Request) BindOutputs(dst any) error {
	data, err := json.Marshal(r.Outputs)
	if err != nil {
		return fmt.Errorf("outputs: %w", err)
	}
	if err := json.Unmarshal(data, dst); err != nil {
		return fmt.Errorf("outputs: %w", err)
	}
	return nil
}

func decodeInto(what string, values map[string]any, dst any) error {
	if values == nil {
		values = map[string]any{}
	}
	data, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(dst); err != nil {
		if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
			return fmt.Errorf("%s %q must be a %s, not a %s",
				what, wrong.Field, wrong.Type.Kind(), wrong.Value)
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
