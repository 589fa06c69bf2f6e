package agent

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/mask"
	"github.com/nullops/nullops/pipeline"
)

// bundle holds the secrets of one deployment, in memory only. It is never modified once it
// is shared: withOutputs returns a changed copy.
type bundle struct {
	deployment string
	// goal is the run's; nil where it is not known.
	goal    *wire.Goal
	key     []byte
	values  map[string]string
	auths   map[string]wire.RegistryAuth
	outputs map[pipeline.StepKey]stepOutputs
	masker  *mask.Masker
}

// stepOutputs are a step's outputs in full, and which of them are secret.
type stepOutputs struct {
	Values map[string]any  `json:"values"`
	Secret map[string]bool `json:"secret,omitempty"`
}

// newBundle opens what it can of the sealed outputs, ours first.
func newBundle(
	deployment string, g *wire.Goal, s wire.Secrets, ours map[pipeline.StepKey][]byte,
) *bundle {
	b := &bundle{deployment: deployment, goal: g, key: s.Key, values: s.Values, auths: s.Registries,
		outputs: map[pipeline.StepKey]stepOutputs{}}
	for _, sealed := range []map[pipeline.StepKey][]byte{s.Outputs, ours} {
		for step, blob := range sealed {
			if out, err := b.openOutputs(step, blob); err == nil {
				b.outputs[step] = out
			}
		}
	}
	b.masker = b.makeMasker()
	return b
}

// makeMasker returns a masker for the secrets and for what the functions of the pipeline's
// references make of them: the lower-case form of a secret must be masked too.
func (b *bundle) makeMasker() *mask.Masker {
	secrets, values := b.secretTexts(), slices.Collect(maps.Values(b.values))
	if b.goal == nil {
		return mask.New(secrets, values...)
	}
	for _, d := range pipeline.DeriveSecrets(b.goal.Pipeline, newScope(b.goal, b)) {
		if d.From.Scope == pipeline.ScopeSecrets {
			values = append(values, d.Text)
		} else {
			secrets = append(secrets, d.Text)
		}
	}
	return mask.New(secrets, values...)
}

// secretTexts lists every text that has to be masked.
func (b *bundle) secretTexts() []string {
	var all []string
	for _, v := range b.values {
		all = append(all, v)
	}
	for _, a := range b.auths {
		all = append(all, a.Password)
	}
	for _, out := range b.outputs {
		for name := range out.Secret {
			all = append(all, collectTexts(out.Values[name])...)
		}
	}
	return all
}

// collectTexts collects the strings of a JSON tree, and numbers long enough to be
// a secret.
func collectTexts(tree any) []string {
	switch v := tree.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, collectTexts(item)...)
		}
		return all
	case map[string]any:
		var all []string
		for _, item := range v {
			all = append(all, collectTexts(item)...)
		}
		return all
	case float64:
		encoded, err := json.Marshal(v)
		if err != nil {
			return nil
		}
		return []string{string(encoded)}
	}
	return nil
}

// withOutputs returns a bundle that knows a step's outputs too. An output is secret
// if its schema says so, or if it holds a secret that is known.
func (b *bundle) withOutputs(
	step pipeline.StepKey, outputs map[string]any, c *pipeline.Component,
) (*bundle, stepOutputs) {
	out := stepOutputs{Values: outputs, Secret: map[string]bool{}}
	for name, value := range outputs {
		_, tainted := b.masker.MaskTree(value)
		if tainted || c != nil && c.SecretOutput(name) {
			out.Secret[name] = true
		}
	}
	next := *b
	next.outputs = maps.Clone(b.outputs)
	next.outputs[step] = out
	next.masker = next.makeMasker()
	return &next, out
}

// maskOutputs returns a copy of the outputs with all secrets masked.
func (b *bundle) maskOutputs(out stepOutputs) map[string]any {
	shown := make(map[string]any, len(out.Values))
	for name, value := range out.Values {
		hidden, _ := b.masker.MaskTree(value)
		if out.Secret[name] {
			hidden = mask.Placeholder
		}
		shown[b.masker.Mask(name)] = hidden
	}
	return shown
}

// maskMetadata returns a plugin's metadata with all secrets masked.
func (b *bundle) maskMetadata(all []wire.Metadatum) []wire.Metadatum {
	var shown []wire.Metadatum
	for _, m := range all {
		shown = append(shown, wire.Metadatum{Name: b.masker.Mask(m.Name),
			Value: b.masker.Mask(m.Value)})
	}
	return shown
}

// sealOutputs encrypts outputs for journal and report, bound to deployment and step.
func (b *bundle) sealOutputs(step pipeline.StepKey, out stepOutputs) ([]byte, error) {
	aead, err := b.newAEAD()
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode outputs of step %s: %w", step, err)
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails: the process dies instead
	return aead.Seal(nonce, nonce, plain, b.outputsAAD(step)), nil
}

func (b *bundle) openOutputs(step pipeline.StepKey, blob []byte) (stepOutputs, error) {
	var out stepOutputs
	aead, err := b.newAEAD()
	if err != nil {
		return out, err
	}
	if len(blob) < aead.NonceSize() {
		return out, errors.New("sealed outputs are too short")
	}
	nonce, rest := blob[:aead.NonceSize()], blob[aead.NonceSize():]
	plain, err := aead.Open(nil, nonce, rest, b.outputsAAD(step))
	if err != nil {
		return out, fmt.Errorf("open outputs of step %s: %w", step, err)
	}
	if err := json.Unmarshal(plain, &out); err != nil {
		return out, fmt.Errorf("decode outputs of step %s: %w", step, err)
	}
	return out, nil
}

func (b *bundle) newAEAD() (cipher.AEAD, error) {
	block, err := aes.NewCipher(b.key)
	if err != nil {
		return nil, fmt.Errorf("the run's key: %w", err)
	}
	return cipher.NewGCM(block)
}

func (b *bundle) outputsAAD(step pipeline.StepKey) []byte {
	return []byte(b.deployment + "|" + string(step))
}
