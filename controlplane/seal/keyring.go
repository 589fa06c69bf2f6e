package seal

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Keyring holds the master keys, newest first. It never prints them.
type Keyring struct {
	wrappers []Wrapper
	refresh  refreshLimit
}

// NewKeyring makes a ring of master keys. The first wrapper seals new values.
func NewKeyring(wrappers ...Wrapper) (*Keyring, error) {
	if len(wrappers) == 0 {
		return nil, errors.New("no master key is set")
	}
	r := &Keyring{wrappers: wrappers}
	seen := map[string]string{}
	for _, w := range wrappers {
		for _, kid := range w.KeyIDs() {
			if other, twice := seen[kid]; twice {
				return nil, fmt.Errorf("the name %s is used by a key of %s and by one of %s: "+
					"give one of them another name", kid, other, w.Source())
			}
			seen[kid] = w.Source()
		}
	}
	return r, nil
}

// ParseKeyring makes a ring of local keys from "k2:base64,k1:base64".
func ParseKeyring(setting string) (*Keyring, error) {
	keys, err := ParseLocalKeys(setting)
	if err != nil {
		return nil, err
	}
	return NewKeyring(keys)
}

// String hides the keys from every way of printing the ring.
func (r *Keyring) String() string { return "[keyring]" }

// GoString hides the keys from %#v.
func (r *Keyring) GoString() string { return "[keyring]" }

// PrimaryKeyID names the key that new values are sealed under.
func (r *Keyring) PrimaryKeyID() string { return r.wrappers[0].KeyIDs()[0] }

// KeyIDs names all keys, newest first.
func (r *Keyring) KeyIDs() []string {
	var kids []string
	for _, w := range r.wrappers {
		kids = append(kids, w.KeyIDs()...)
	}
	return kids
}

// SourceOf says where the key with this name is; "" if the ring does not have it.
func (r *Keyring) SourceOf(kid string) string {
	if w := r.wrapperOf(kid); w != nil {
		return w.Source()
	}
	return ""
}

// Refresh learns of keys that were added or rotated where they are kept.
func (r *Keyring) Refresh(ctx context.Context) error {
	for _, w := range r.wrappers {
		if err := w.Refresh(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *Keyring) wrapperOf(kid string) Wrapper {
	for _, w := range r.wrappers {
		if slices.Contains(w.KeyIDs(), kid) {
			return w
		}
	}
	return nil
}

// findWrapper looks again where keys are kept before it says that there is no such key:
// another control plane may already seal under one that is new.
func (r *Keyring) findWrapper(ctx context.Context, kid string) (Wrapper, error) {
	if w := r.wrapperOf(kid); w != nil {
		return w, nil
	}
	if r.refresh.mayRun() {
		if err := r.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	if w := r.wrapperOf(kid); w != nil {
		return w, nil
	}
	return nil, fmt.Errorf("master key %s is not in the ring: %w", kid, ErrUnopened)
}

// callContext bounds a call to a service that holds keys. It is no caller's context:
// values are opened in transactions, where a caller that leaves is noticed afterwards.
func (r *Keyring) callContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), callTimeout)
}

// asWaiting says which value waits if a service that holds its key does not work for us.
func (r *Keyring) asWaiting(p Location, kid string, err error) error {
	if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrRefused) {
		return err
	}
	return &WaitingError{Value: p, Key: kid, Source: r.SourceOf(kid), Err: err}
}
