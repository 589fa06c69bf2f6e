package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Component describes a plugin to people and to the control plane; it is the plugin's
// component.json, with the names the control plane's API uses, so that the file can be registered
// as it is. The plugin's own name is not in it: it is given when the plugin is registered. The
// schemas are JSON Schema 2020-12 and are kept as written; anyone who uses them compiles them.
type Component struct {
	Description string `json:"description"`
	// Actions are those the plugin offers; create is always among them.
	Actions    []Action        `json:"actions"`
	Parameters json.RawMessage `json:"parameters"`
	// Outputs marks each secret property with "writeOnly": true.
	Outputs json.RawMessage `json:"outputs"`
	Secrets []SecretInput   `json:"secrets,omitempty"`
	// TimeoutSeconds limits one action; 0 means DefaultTimeout.
	TimeoutSeconds int       `json:"timeout_seconds,omitempty"`
	Resources      Resources `json:"resources,omitzero"`
	// Network asks for the deployment's network; without it there is none.
	Network bool `json:"network,omitempty"`
	// Idempotent says that a second create after a lost answer does no harm.
	Idempotent bool `json:"idempotent,omitempty"`
}

// Resources are the plugin's limits; 0 means the agent's default.
type Resources struct {
	CPU       float64 `json:"cpu,omitempty"` // in cores
	MemoryMiB int     `json:"memory_mib,omitempty"`
}

// SecretInput is a secret the plugin takes, under the name it knows it by.
type SecretInput struct {
	Name        string `json:"name"`
	Required    bool   `json:"required,omitempty"`
	Description string `json:"description,omitempty"`
}

// DefaultTimeout is the time limit of an action if the component declares none.
const DefaultTimeout = 5 * time.Minute

// ParseComponent reads a component.json strictly: an unknown field is refused,
// since it is a misspelt one, and so is a name that is there twice, since readers
// differ in which of the two they take.
func ParseComponent(data []byte) (Component, error) {
	var c Component
	if at := tooDeep(data); at >= 0 {
		return c, fmt.Errorf("component.json: it nests deeper than %d levels, at byte %d",
			MaxDepth, at)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return c, fmt.Errorf("component.json: %w", err)
	}
	if rest := bytes.TrimLeft(data[dec.InputOffset():], space); len(rest) > 0 {
		return c, fmt.Errorf("component.json: it goes on after the object, at byte %d",
			len(data)-len(rest))
	}
	var twice *ResponseError
	if errors.As(checkTokens(data), &twice) && twice.Problem == ProblemDuplicateKey {
		return c, fmt.Errorf("component.json: %q is there twice", twice.Field)
	}
	return c, c.validate()
}

// Timeout is the time after which the agent stops the plugin.
func (c Component) Timeout() time.Duration {
	if c.TimeoutSeconds == 0 {
		return DefaultTimeout
	}
	return time.Duration(c.TimeoutSeconds) * time.Second
}

// Offers says whether the plugin lists the action.
func (c Component) Offers(a Action) bool { return slices.Contains(c.Actions, a) }

func (c Component) validate() error {
	if !c.Offers(ActionCreate) {
		return fmt.Errorf("component.json: actions must list %q", ActionCreate)
	}
	for i, a := range c.Actions {
		if !a.isKnown() {
			return fmt.Errorf("component.json: action %q is not known; use %q, %q and %q",
				a, ActionCreate, ActionDelete, ActionCheck)
		}
		if slices.Contains(c.Actions[:i], a) {
			return fmt.Errorf("component.json: actions lists %q twice", a)
		}
	}
	if c.TimeoutSeconds < 0 || c.Resources.CPU < 0 || c.Resources.MemoryMiB < 0 {
		return errors.New("component.json: timeout_seconds, cpu and memory_mib cannot be negative")
	}
	return nil
}
