package accounts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
)

// guess sends wrong passwords until the limit refuses one, and says how many
// were verified.
func (w *world) guess(t *testing.T, actor access.Actor, name string) (verified int) {
	t.Helper()
	for range 500 {
		_, err := w.SignIn(t.Context(), actor, accounts.Login{User: name,
			Password: controlplane.NewPlain("guess guess")})
		switch controlplane.CodeOf(err) {
		case "sign_in_refused":
			verified++
		case "too_many_attempts":
			return verified
		default:
			t.Fatalf("guess: %v", err)
		}
	}
	return verified
}

func (w *world) signInAs(
	t *testing.T, actor access.Actor, name string,
) (accounts.SignedIn, error) {
	t.Helper()
	return w.SignIn(t.Context(), actor, accounts.Login{User: name,
		Password: controlplane.NewPlain(password)})
}

// rememberDevice stores a key for the browser of a signed-in person.
func (w *world) rememberDevice(t *testing.T, actor access.Actor) controlplane.Plain {
	t.Helper()
	key, err := w.RememberDevice(t.Context(), actor)
	if err != nil || key.IsEmpty() {
		t.Fatalf("device key: %v", err)
	}
	return key
}

// All addresses in a /64 count as one party; another /64 is another.
func TestSignIn_CountsNetworksOfIPv6(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	verified := 0
	for i := range 40 {
		verified += w.guess(t, actorFrom(fmt.Sprintf("2001:db8:0:1::%x", i+1)), "ada")
	}
	if verified > 10 {
		t.Errorf("%d guesses from one /64 were verified", verified)
	}
	if _, err := w.signInAs(t, actorFrom("2001:db8:0:2::1"), "ada"); err != nil {
		t.Errorf("another /64: %v", err)
	}
	if verified := w.guess(t, actorFrom("::ffff:10.0.0.9"), "ada"); verified == 0 {
		t.Error("an IPv4 address was counted with the IPv6 network")
	}
	if verified := w.guess(t, actorFrom("10.0.0.9"), "ada"); verified > 0 {
		t.Errorf("one IPv4 address in two spellings got %d more guesses", verified)
	}
}

// Anyone who signed in with a browser continues with it, though others use up every limit from the
// same address: a proxy nobody configured, or an office.
func TestSignIn_KnownDeviceIsNotLockedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	w.user(t, "bob", controlplane.RoleUser)
	shared := actorFrom("10.9.9.9")
	in, err := w.signInAs(t, actorFrom("10.0.0.2"), "ada")
	if err != nil {
		t.Fatal(err)
	}
	key := w.rememberDevice(t, in.Actor)
	if err := w.SignOut(t.Context(), in.Actor); err != nil {
		t.Fatal(err)
	}
	w.guess(t, shared, "ada")
	for i := range 20 {
		w.guess(t, shared, fmt.Sprintf("nobody-%d", i))
	}
	if _, err := w.signInAs(t, shared, "ada"); controlplane.CodeOf(err) != "too_many_attempts" {
		t.Fatalf("a new browser: %v", err)
	}
	known := shared.WithDeviceKey(key)
	again, err := w.signInAs(t, known, "ada")
	if err != nil {
		t.Fatalf("the known browser: %v", err)
	}
	again.Actor = again.Actor.WithDeviceKey(key)
	if second, err := w.RememberDevice(t.Context(), again.Actor); err != nil || !second.IsEmpty() {
		t.Errorf("a known browser got another key: %v", err)
	}
	if _, err := w.signInAs(t, known, "bob"); controlplane.CodeOf(err) != "too_many_attempts" {
		t.Errorf("the browser of somebody else: %v", err)
	}
	// Who took the browser guesses under a limit as well.
	if verified := w.guess(t, known, "ada"); verified > 10 {
		t.Errorf("%d guesses with the known browser", verified)
	}
}

// Guesses from many networks use up the person's own limit; the owner still gets
// a try from a network that nobody guessed from.
func TestSignIn_GuessesFromManyNetworksDoNotLockOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	verified := 0
	for i := range 60 {
		verified += w.guess(t, actorFrom(fmt.Sprintf("10.3.%d.1", i)), "ada")
	}
	if verified > 100+60*3 {
		t.Errorf("%d guesses were verified", verified)
	}
	if more := w.guess(t, actorFrom("10.4.0.1"), "ada"); more != 3 {
		t.Errorf("a new network gets %d tries during the attack, wanted 3", more)
	}
	if _, err := w.signInAs(t, actorFrom("10.5.0.1"), "ada"); err != nil {
		t.Errorf("the owner at a new network: %v", err)
	}
}

// A network with a live session of the person has a limit of its own: the command
// line keeps no cookie.
func TestSignIn_KnownNetworkIsNotLockedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	if _, err := w.signInAs(t, actorFrom("10.7.0.1"), "ada"); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		w.guess(t, actorFrom("10.7.0.1"), fmt.Sprintf("nobody-%d", i))
	}
	if _, err := w.signInAs(t, actorFrom("10.7.0.1"), "ada"); err != nil {
		t.Errorf("the owner at a known network: %v", err)
	}
}

// A new password makes strangers of the browsers of the old one, and time does.
func TestSignIn_DevicesAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	in := w.signIn(t, "ada")
	w.rememberDevice(t, w.admin)
	key := w.rememberDevice(t, in.Actor)
	if _, err := w.ChangePassword(t.Context(), in.Actor.WithDeviceKey(key),
		controlplane.NewPlain(password), controlplane.NewPlain(password+"2")); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, "SELECT count(*)::int FROM known_devices"); n != 1 {
		t.Errorf("%d known devices after a new password of Ada, wanted the admin's", n)
	}
	w.pass(accounts.DeviceLife + time.Hour)
	if err := w.DeleteExpired(t.Context(), access.System("jobs")); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, "SELECT count(*)::int FROM known_devices"); n != 0 {
		t.Errorf("%d devices are kept for ever", n)
	}
}
