package vault

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nullops/nullops/controlplane/seal"
)

// transitType is the kind of transit key that we use. Sealed values are AES-256
// throughout, and only an authenticated cipher binds a data key to its place.
const transitType = "aes256-gcm96"

// Transit wraps data keys with a key of the transit engine, which never leaves Vault. The
// key's version is part of the names that values are stored with: vault2, vault1.
type Transit struct {
	client     *Client
	mount, key string

	mu                sync.Mutex
	oldest, newest    int
	exportableWarning sync.Once
}

var _ seal.Wrapper = (*Transit)(nil)

// NewTransit finds the key. Mount is the path of the engine.
func NewTransit(ctx context.Context, c *Client, mount, key string) (*Transit, error) {
	t := &Transit{client: c, mount: strings.Trim(mount, "/"), key: key}
	return t, t.Refresh(ctx)
}

// Source implements seal.Wrapper.
func (t *Transit) Source() string { return "vault transit " + t.key }

// KeyIDs implements seal.Wrapper: the versions that Vault still decrypts with.
func (t *Transit) KeyIDs() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []string
	for v := t.newest; v >= t.oldest; v-- {
		all = append(all, transitKeyID(v))
	}
	return all
}

func transitKeyID(version int) string { return "vault" + strconv.Itoa(version) }

// Refresh implements seal.Wrapper.
func (t *Transit) Refresh(ctx context.Context) error {
	answer, err := t.client.call(ctx, t.mount+"/keys/"+t.key, nil)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: the transit engine at %s has no key %s: "+
			"create it with 'vault write -f %s/keys/%s'", seal.ErrRefused, t.mount, t.key, t.mount, t.key)
	}
	if err != nil {
		return fmt.Errorf("read the transit key %s: %w", t.key, err)
	}
	kind, _ := answer.Data["type"].(string)
	derived, _ := answer.Data["derived"].(bool)
	if kind != transitType || derived {
		return fmt.Errorf("%w: the transit key %s is of type %s, derived: %t: "+
			"create one of type %s that is not derived", seal.ErrRefused, t.key, kind, derived, transitType)
	}
	newest, err1 := intOf(answer.Data["latest_version"])
	oldest, err2 := intOf(answer.Data["min_decryption_version"])
	if err := errors.Join(err1, err2); err != nil || newest < 1 || oldest > newest {
		return fmt.Errorf("%w: the transit key %s has versions %d to %d", seal.ErrUnavailable,
			t.key, oldest, newest)
	}
	if exportable, _ := answer.Data["exportable"].(bool); exportable {
		t.exportableWarning.Do(func() {
			t.client.log.WarnContext(ctx, "the transit key may be exported from Vault: "+
				"a key that is created without exportable never leaves it", "key", t.key)
		})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newest, t.oldest = newest, max(oldest, 1)
	return nil
}

// Wrap implements seal.Wrapper.
func (t *Transit) Wrap(
	ctx context.Context, dek, bound []byte,
) (kid string, wrapped []byte, err error) {
	answer, err := t.client.call(ctx, t.mount+"/encrypt/"+t.key, map[string]any{
		"plaintext":       base64.StdEncoding.EncodeToString(dek),
		"associated_data": base64.StdEncoding.EncodeToString(bound),
	})
	if err != nil {
		return "", nil, fmt.Errorf("wrap a data key: %w", asRefusal(err))
	}
	text, _ := answer.Data["ciphertext"].(string)
	version, err := versionOf(text)
	if err != nil {
		return "", nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// Somebody rotated the key in Vault: it encrypts with the newest version by itself.
	t.newest = max(t.newest, version)
	return transitKeyID(version), []byte(text), nil
}

// Unwrap implements seal.Wrapper.
func (t *Transit) Unwrap(
	ctx context.Context, kid string, wrapped, bound []byte,
) (dek []byte, err error) {
	if version, err := versionOf(string(wrapped)); err != nil || transitKeyID(version) != kid {
		return nil, seal.ErrUnopened
	}
	answer, err := t.client.call(ctx, t.mount+"/decrypt/"+t.key, map[string]any{
		"ciphertext":      string(wrapped),
		"associated_data": base64.StdEncoding.EncodeToString(bound),
	})
	if errors.Is(err, errRejected) {
		// Vault says why, and that would tell an attacker apart what we do not.
		return nil, seal.ErrUnopened
	}
	if err != nil {
		return nil, fmt.Errorf("unwrap a data key: %w", asRefusal(err))
	}
	text, _ := answer.Data["plaintext"].(string)
	if dek, err = base64.StdEncoding.DecodeString(text); err != nil || len(dek) != 32 {
		return nil, seal.ErrUnopened
	}
	return dek, nil
}

// asRefusal makes what can only be a wrong set-up of Vault a refusal.
func asRefusal(err error) error {
	if errors.Is(err, errRejected) || errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %w", seal.ErrRefused, err)
	}
	return err
}

// versionOf reads the version in "vault:v3:base64".
func versionOf(ciphertext string) (int, error) {
	parts := strings.SplitN(ciphertext, ":", 3)
	if len(parts) == 3 && parts[0] == "vault" && strings.HasPrefix(parts[1], "v") {
		if n, err := strconv.Atoi(parts[1][1:]); err == nil && n > 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: it returned no ciphertext of the transit engine", seal.ErrRefused)
}

func intOf(v any) (int, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, errors.New("no number")
	}
	return strconv.Atoi(n.String())
}
