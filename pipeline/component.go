package pipeline

import "slices"

// Component is what a plugin says about itself when it is registered.
type Component struct {
	Description string `json:"description,omitempty"`
	// Parameters and Outputs are JSON Schemas (2020-12) of type object. An
	// output property with "writeOnly": true is secret.
	Parameters map[string]any `json:"parameters,omitempty"`
	Outputs    map[string]any `json:"outputs,omitempty"`
	// Secrets are the names the plugin reads from its input's secrets.
	Secrets []SecretInput `json:"secrets,omitempty"`
	// Actions always holds create; delete means it can undo what it did.
	Actions []string `json:"actions,omitempty"`
	// TimeoutSeconds is the limit of one action; zero means 300.
	TimeoutSeconds int       `json:"timeout_seconds,omitempty"`
	Resources      Resources `json:"resources"`
	// Network joins the deployment's network; without it there is none.
	Network bool `json:"network,omitempty"`
	// Idempotent allows a second create after an unknown outcome.
	Idempotent bool `json:"idempotent,omitempty"`
}

// SecretInput is one secret a plugin reads.
type SecretInput struct {
	Name        string `json:"name"`
	Required    bool   `json:"required,omitempty"`
	Description string `json:"description,omitempty"`
}

// CanUndo reports whether the plugin declares the delete action.
func (c *Component) CanUndo() bool {
	return slices.Contains(c.Actions, "delete")
}
