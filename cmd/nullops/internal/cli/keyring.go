package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

const (
	// keyringService is what our entries of the system's keyring are filed under.
	keyringService = "nullops"
	// keyringPatience is how long a person has to unlock it.
	keyringPatience = time.Minute
)

// hasKeyring reports whether the system may have a keyring. On Linux it is a service on the session
// bus; asking where there is no bus would start one.
func hasKeyring() bool {
	if runtime.GOOS != "linux" {
		return true
	}
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	_, err := os.Stat(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bus"))
	return os.Getenv("XDG_RUNTIME_DIR") != "" && err == nil
}

// moveToKeyring moves the token of a login to the system's keyring. Where there is none, or it
// does not take the token, the login stays as it is and is kept in the file.
func (l login) moveToKeyring() login {
	if !hasKeyring() {
		return l
	}
	entry := rand.Text()
	err := withinPatience(func() error { return keyring.Set(keyringService, entry, l.Token) })
	if err != nil {
		return l
	}
	l.Token, l.Keyring = "", entry
	return l
}

// withToken returns the login with its token, wherever that is kept.
func (l login) withToken() (login, error) {
	if l.Keyring == "" {
		return l, nil
	}
	if !hasKeyring() {
		return l, exit.WithCode(fmt.Errorf("the token of %s is in the system's keyring, which cannot "+
			"be reached from here: there is no session bus; use the desktop's own terminal, or run "+
			"'nullops login %s' again, which keeps it in a file", l.URL, l.URL), exit.Forbidden)
	}
	err := withinPatience(func() (err error) {
		l.Token, err = keyring.Get(keyringService, l.Keyring)
		return err
	})
	if err != nil {
		return l, exit.WithCode(fmt.Errorf("the system's keyring does not give the token of %s: %w; "+
			"unlock it, or run 'nullops login %s' again", l.URL, err, l.URL), exit.Forbidden)
	}
	return l, nil
}

// forgetInKeyring removes an entry. One that stays is of no use to anybody once its token is
// revoked.
func forgetInKeyring(entry string) {
	if entry != "" && hasKeyring() {
		_ = withinPatience(func() error { return keyring.Delete(keyringService, entry) })
	}
}

// withinPatience ends waiting for a keyring that asks somebody who is not there.
func withinPatience(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(keyringPatience):
		return errors.New("it was not unlocked within a minute")
	}
}
