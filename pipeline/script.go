package pipeline

import "cmp"

// ScriptStep runs a JavaScript module on the node, without a container: a light transformation
// or a check. Its default function is called like a plugin's create, its function remove, if
// it exports one, like a plugin's delete.
type ScriptStep struct {
	// Source is the module. It holds no references: values come in as parameters.
	Source     string         `json:"source"`
	Parameters map[string]any `json:"parameters,omitempty"`
	// Secrets maps the names that the script knows to one reference each. A script gets no
	// other secrets.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Outputs is a JSON Schema (2020-12) of type object. A property with "writeOnly": true is
	// secret.
	Outputs map[string]any `json:"outputs,omitempty"`
	// TimeoutSeconds limits one call; zero means DefaultScriptSeconds.
	TimeoutSeconds int `json:"timeout_seconds,omitempty"`
	// Clock lets the script read the time.
	Clock bool `json:"clock,omitempty"`
	// Removes is filled at save: the module exports remove.
	Removes bool `json:"removes,omitempty"`
}

// Limits of a script step.
const (
	MaxScript            = 64 << 10
	MaxScripts           = 50
	DefaultScriptSeconds = 10
	MaxScriptSeconds     = 300
)

// Seconds is how long one call may take.
func (s *ScriptStep) Seconds() int { return cmp.Or(s.TimeoutSeconds, DefaultScriptSeconds) }

// component describes the script as what it is to a run: a plugin without an image. It reaches
// nothing outside of its process, so it may always run again.
func (s *ScriptStep) component() *Component {
	c := &Component{Outputs: s.Outputs, Actions: []string{"create"}, Idempotent: true,
		TimeoutSeconds: s.Seconds()}
	for name := range s.Secrets {
		c.Secrets = append(c.Secrets, SecretInput{Name: name, Required: true})
	}
	if s.Removes {
		c.Actions = append(c.Actions, "delete")
	}
	return c
}

// Declares is what a plugin or a script declares about itself, or nil for steps of another
// kind. Code that treats both alike uses it instead of Plugin.Component.
func (s Step) Declares() *Component {
	switch {
	case s.Plugin != nil:
		return s.Plugin.Component
	case s.Script != nil:
		return s.Script.component()
	}
	return nil
}
