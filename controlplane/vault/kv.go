package vault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nullops/nullops/controlplane/seal"
)

// ReadKV reads one field of a value in a KV engine, version 2. Mount is the path of the
// engine, and path that of the value in it.
func (c *Client) ReadKV(ctx context.Context, mount, path, field string) (string, error) {
	mount, path = strings.Trim(mount, "/"), strings.Trim(path, "/")
	answer, err := c.call(ctx, mount+"/data/"+path, nil)
	if err != nil {
		return "", fmt.Errorf("read %s of %s in Vault: %w", path, mount, err)
	}
	data, ok := answer.Data["data"].(map[string]any)
	if !ok {
		// A deleted version has no data; an engine of version 1 has no such path.
		return "", fmt.Errorf("read %s of %s in Vault: %w: it was deleted, or the engine is not "+
			"of version 2", path, mount, ErrNotFound)
	}
	value, ok := data[field].(string)
	if !ok {
		return "", fmt.Errorf("read %s of %s in Vault: %w: it has no field %s that is a text",
			path, mount, ErrNotFound, field)
	}
	return value, nil
}

// KVKeys are local keys that are read from a KV engine and kept in memory. The value is
// written as in a setting: k2:base64,k1:base64.
type KVKeys struct {
	client             *Client
	mount, path, field string

	mu   sync.Mutex
	keys *seal.LocalKeys
}

var _ seal.Wrapper = (*KVKeys)(nil)

// NewKVKeys reads the keys.
func NewKVKeys(ctx context.Context, c *Client, mount, path, field string) (*KVKeys, error) {
	k := &KVKeys{client: c, mount: mount, path: path, field: field}
	return k, k.Refresh(ctx)
}

// String hides the keys from every way of printing them.
func (k *KVKeys) String() string { return "[keys]" }

// GoString hides the keys from %#v.
func (k *KVKeys) GoString() string { return "[keys]" }

// Source implements seal.Wrapper.
func (k *KVKeys) Source() string { return "vault kv " + k.mount + "/" + k.path }

// KeyIDs implements seal.Wrapper.
func (k *KVKeys) KeyIDs() []string { return k.current().KeyIDs() }

// Wrap implements seal.Wrapper.
func (k *KVKeys) Wrap(
	ctx context.Context, dek, bound []byte,
) (kid string, wrapped []byte, err error) {
	return k.current().Wrap(ctx, dek, bound)
}

// Unwrap implements seal.Wrapper.
func (k *KVKeys) Unwrap(
	ctx context.Context, kid string, wrapped, bound []byte,
) (dek []byte, err error) {
	return k.current().Unwrap(ctx, kid, wrapped, bound)
}

// Refresh implements seal.Wrapper.
func (k *KVKeys) Refresh(ctx context.Context) error {
	text, err := k.client.ReadKV(ctx, k.mount, k.path, k.field)
	if errors.Is(err, ErrNotFound) || errors.Is(err, errRejected) {
		return fmt.Errorf("%w: %w", seal.ErrRefused, err)
	}
	if err != nil {
		return err
	}
	keys, err := seal.ParseLocalKeys(text)
	if err != nil {
		return fmt.Errorf("%w: the field %s of %s/%s: %w", seal.ErrRefused, k.field, k.mount,
			k.path, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = keys
	return nil
}

func (k *KVKeys) current() *seal.LocalKeys {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys
}
