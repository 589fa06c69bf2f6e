package accounts_test

import (
	"crypto/sha1"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
)

// A new password that is common, a pattern, or made of what everybody knows about the person is
// refused by each way to set one; any other is accepted, whatever characters it has.
func TestPassword_WeakOnesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "marguerite", controlplane.RoleUser)
	put := func(text string) error {
		_, err := w.PutUser(t.Context(), w.admin, accounts.UserPut{Name: "marguerite", Active: true,
			Role: controlplane.RoleUser, DisplayName: "Marguerite Duras",
			Address: "duras@example.org", Password: controlplane.NewPlain(text)})
		return err
	}
	for _, weak := range []string{"password1234", "passwordpassword", "P@ssw0rd1234",
		"123456789012", "qwertyuiop12", "aaaaaaaaaaaa", "abcdefghijkl", "iloveyou1234",
		"administrator1", "nullopsnullops", "marguerite12",
		"Marguerite1999", "durasdurasduras"} {
		if err := put(weak); controlplane.CodeOf(err) != "password_common" {
			t.Errorf("%q: %v", weak, err)
		}
	}
	for _, fine := range []string{"tin mug on a grey shelf", "ÄÖÜ ßéñ 漢字 🎈 ok", "vjqkxzwpfmbt",
		strings.Repeat("seven odd words ", 60)} {
		if err := put(fine); err != nil {
			t.Errorf("%q: %v", fine, err)
		}
	}
	weak := controlplane.NewPlain("password1234")
	_, err := w.ChangePassword(t.Context(), w.signIn2(t, "ada"), controlplane.NewPlain(password),
		weak)
	if controlplane.CodeOf(err) != "password_common" {
		t.Errorf("changing it: %v", err)
	}
	_, err = w.AcceptInvitation(t.Context(), actorFrom("10.0.0.3"),
		accounts.JoinRequest{Name: "ida", Address: "ida@example.org", Password: weak})
	if controlplane.CodeOf(err) != "password_common" {
		t.Errorf("joining: %v", err)
	}
	err = w.ResetPassword(t.Context(), actorFrom("10.0.0.3"), controlplane.NewPlain("x"), weak)
	if controlplane.CodeOf(err) != "password_common" {
		t.Errorf("resetting: %v", err)
	}
}

// Each password of the operator's list is refused, wherever it is in the file, and no other.
func TestPassword_BreachedOnesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var lines, breached []string
	for i := range 300 {
		breached = append(breached, fmt.Sprintf("a leaked phrase, number %d of many", i))
		lines = append(lines, fmt.Sprintf("%X:%d\r\n", sha1.Sum([]byte(breached[i])), i*i))
	}
	slices.Sort(lines)
	list := filepath.Join(t.TempDir(), "breached.txt")
	if err := os.WriteFile(list, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	config := accounts.Config{Store: w.store, Log: slog.New(slog.DiscardHandler),
		MemoryKiB: 1 << 10, Iterations: 1, Parallelism: 1, Breached: list}
	people, err := accounts.New(config)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) error {
		_, err := people.PutUser(t.Context(), w.admin, accounts.UserPut{Name: "ada", Active: true,
			Role: controlplane.RoleUser, Password: controlplane.NewPlain(text)})
		return err
	}
	for _, text := range append(breached[:10], breached[290:]...) {
		if err := put(text); controlplane.CodeOf(err) != "password_breached" {
			t.Errorf("%q: %v", text, err)
		}
	}
	for i := range 5 {
		if err := put(fmt.Sprintf("a phrase of my own, number %d", i)); err != nil {
			t.Errorf("a password that is not in the list: %v", err)
		}
	}
	config.Breached = list + ".gone"
	if _, err := accounts.New(config); err == nil {
		t.Error("a list that is not there is not missed at the start")
	}
}
