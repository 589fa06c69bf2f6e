package seal

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Wrapper protects data keys with master keys. [LocalKeys] does it in memory, and
// controlplane/vault with a key that never leaves Vault. This is the place for a cloud
// KMS: implement Wrapper with its encrypt and decrypt calls, put [NewCache] around it,
// and hand it to [NewKeyring]. All methods are safe for concurrent use.
type Wrapper interface {
	// Source says where the keys are, for people: "local", "vault transit nullops".
	Source() string
	// KeyIDs names the keys that Unwrap can use, newest first; the first one is what Wrap
	// uses. There is at least one. A name is stored with every value, has 1 to 20 letters
	// and digits, and is unique in the ring. A key that is rotated gets a new name, so that
	// values under the old version are found: vault2, vault1.
	KeyIDs() []string
	// Wrap encrypts a data key and binds it to the bytes given. It returns the name of the
	// key that it used.
	Wrap(ctx context.Context, dek, bound []byte) (kid string, wrapped []byte, err error)
	// Unwrap decrypts what Wrap made with the same bytes. It fails with ErrUnopened if the
	// key, the wrapped key or the bytes are wrong, with ErrUnavailable if that cannot be
	// found out now, and with ErrRefused if we may not.
	Unwrap(ctx context.Context, kid string, wrapped, bound []byte) (dek []byte, err error)
	// Refresh learns of keys that were added or rotated where they are kept.
	Refresh(ctx context.Context) error
}

// callTimeout bounds one call to a service that holds keys.
const callTimeout = 10 * time.Second

// ErrUnavailable means that the service that holds a master key does not answer, or
// cannot work now. The same call may succeed later.
var ErrUnavailable = errors.New("the service that holds the sealing key is unavailable")

// ErrRefused means that the service that holds a master key answered and refuses to use
// it for us: a policy, a role or a token is wrong.
var ErrRefused = errors.New("the service that holds the sealing key refuses to use it")

// WaitingError says which value waits for a service that holds its key.
type WaitingError struct {
	// Value is what waits, Key the master key that it is under, and Source where that is.
	Value       Location
	Key, Source string
	Err         error
}

func (e *WaitingError) Error() string {
	return e.Value.String() + " waits for its sealing key " + e.Key + " (" + e.Source + "): " +
		e.Err.Error()
}

// Unwrap returns the cause, which is an ErrUnavailable or an ErrRefused.
func (e *WaitingError) Unwrap() error { return e.Err }

// refreshEvery bounds how often an unknown key name makes the ring look for new keys.
const refreshEvery = 5 * time.Second

// refreshLimit limits refreshes that values cause.
type refreshLimit struct {
	mu   sync.Mutex
	last time.Time
}

func (l *refreshLimit) mayRun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() && time.Since(l.last) < refreshEvery {
		return false
	}
	l.last = time.Now()
	return true
}
