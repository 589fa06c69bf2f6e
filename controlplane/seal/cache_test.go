package seal_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/controlplane/seal"
)

// service wraps with a local key, counts what it unwraps, and may fail.
type service struct {
	*seal.LocalKeys
	unwrapped int
	fails     error
}

func (s *service) Unwrap(
	ctx context.Context, kid string, wrapped, bound []byte,
) ([]byte, error) {
	if s.unwrapped++; s.fails != nil {
		return nil, s.fails
	}
	return s.LocalKeys.Unwrap(ctx, kid, wrapped, bound)
}

// A data key stays for its time, is renewed halfway while it is used, survives an outage for
// the rest of its time, and goes at once when the service refuses it.
func TestCache_KeepsAndRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, setting := newRing(t, "k1")
		local, err := seal.ParseLocalKeys(setting)
		if err != nil {
			t.Fatal(err)
		}
		s := &service{LocalKeys: local}
		cached, err := seal.NewKeyring(seal.NewCache(s, time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := cached.Seal(testLocation(), []byte("value"))
		if err != nil {
			t.Fatal(err)
		}
		open := func(after time.Duration, fails, want error, unwrapped int) {
			t.Helper()
			time.Sleep(after)
			s.fails = fails
			_, err := cached.Open(testLocation(), sealed)
			synctest.Wait()
			if !errors.Is(err, want) || s.unwrapped != unwrapped {
				t.Errorf("%v, %d unwrapped; want %v, %d", err, s.unwrapped, want, unwrapped)
			}
		}
		open(29*time.Minute, nil, nil, 0)
		open(2*time.Minute, nil, nil, 1) // renewed: one more hour from here
		open(55*time.Minute, seal.ErrUnavailable, nil, 2)
		open(10*time.Minute, seal.ErrUnavailable, seal.ErrUnavailable, 3)
		open(0, nil, nil, 4)
		open(40*time.Minute, seal.ErrRefused, nil, 5) // the renewal is refused
		open(0, seal.ErrRefused, seal.ErrRefused, 6)
		moved := testLocation()
		moved.Row = "r2"
		open(0, nil, nil, 7)
		if _, err := cached.Open(moved, sealed); !errors.Is(err, seal.ErrUnopened) {
			t.Errorf("a cached key opened a moved value: %v", err)
		}
	})
}

// Two values have two data keys, also in the cache.
func TestCache_TellsValuesApart(t *testing.T) {
	_, setting := newRing(t, "k1")
	local, err := seal.ParseLocalKeys(setting)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{LocalKeys: local}
	cached, err := seal.NewKeyring(seal.NewCache(s, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	sealed := map[string][]byte{}
	for _, value := range []string{"one", "two"} {
		if sealed[value], err = cached.Seal(testLocation(), []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	for value, bytes := range sealed {
		if plain, err := cached.Open(testLocation(), bytes); err != nil || string(plain) != value {
			t.Errorf("%s opens as %q: %v", value, plain, err)
		}
	}
	if s.unwrapped != 0 {
		t.Errorf("%d keys were unwrapped", s.unwrapped)
	}
}
