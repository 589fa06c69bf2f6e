package stdio

import (
	"encoding/json"
	"fmt"
	"io"
)

// Limits on what a plugin may print on stdout.
const (
	// MaxResponse is in bytes. It bounds what an agent keeps of a plugin that prints without
	// end.
	MaxResponse = 1 << 20
	// MaxDepth is how deep objects and lists may nest, the outermost being 1.
	MaxDepth = 64
	// MaxInteger is the largest whole number that survives JavaScript and
	// JSON's usual float64 unchanged: 2^53 - 1. Larger ones must be strings.
	MaxInteger = 1<<53 - 1
	// MaxOutputs bounds the outputs in bytes of JSON: an agent reports them twice
	// in one message, once sealed in base64, and a message has one MiB.
	MaxOutputs = 256 << 10
	// MaxMetadata bounds the metadata in bytes of JSON. It goes up in the same
	// message.
	MaxMetadata = 64 << 10
)

// Response is what a plugin prints on stdout.
type Response struct {
	Success bool `json:"success"`
	// Output is one line for people.
	Output string `json:"output,omitempty"`
	// Outputs are for later steps: strings, float64, bool, nil, lists and maps.
	Outputs map[string]any `json:"outputs,omitempty"`
	// Metadata is shown beside the step, in this order.
	Metadata []Metadatum `json:"metadata,omitempty"`
}

// CheckSize holds an answer to MaxOutputs and MaxMetadata.
func (r Response) CheckSize() error {
	for _, part := range []struct {
		name  string
		value any
		most  int
	}{{"outputs", r.Outputs, MaxOutputs}, {"metadata", r.Metadata, MaxMetadata}} {
		encoded, err := json.Marshal(part.value)
		if err != nil {
			return fmt.Errorf("the %s cannot be encoded: %w", part.name, err)
		}
		if len(encoded) > part.most {
			return fmt.Errorf("the %s has %d bytes; %d are the most", part.name, len(encoded),
				part.most)
		}
	}
	return nil
}

// Metadatum is one line shown beside a step. On the wire its value may be a
// string, a number or a boolean; here it is the text of it.
type Metadatum struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// UnmarshalJSON accepts any scalar as the value, since plugins report counts.
func (m *Metadatum) UnmarshalJSON(data []byte) error {
	var raw struct {
		Name  string `json:"name"`
		Value any    `json:"value"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	m.Name = raw.Name
	switch v := raw.Value.(type) {
	case nil:
	case string:
		m.Value = v
	case bool, float64:
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("metadata %q: %w", raw.Name, err)
		}
		m.Value = string(text)
	default:
		return fmt.Errorf("metadata %q: a value is a string, a number or a boolean", raw.Name)
	}
	return nil
}

// WriteResponse writes the one object an agent reads.
func WriteResponse(w io.Writer, r Response) error {
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("write the plugin's answer: %w", err)
	}
	return nil
}
