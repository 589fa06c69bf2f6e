package accounts_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// A person is mailed what changed of how they sign in, by whom and from where, and never a secret;
// a new address is told to the former one too.
func TestSecurityMail_SaysWhatChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	people, err := accounts.New(accounts.Config{Store: w.store, Log: slog.New(slog.DiscardHandler),
		Now: w.now, MemoryKiB: 1 << 10, Iterations: 1, Parallelism: 1, Mails: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Accounts = people
	put := func(address, secret string) {
		t.Helper()
		_, err := w.PutUser(t.Context(), w.admin, accounts.UserPut{Name: "ada", Active: true,
			Role: controlplane.RoleUser, Address: address, Password: controlplane.NewPlain(secret)})
		if err != nil {
			t.Fatal(err)
		}
	}
	mails := func() string {
		return pgtest.QueryValue[string](t, w.url, `SELECT coalesce(string_agg(email || ': ' ||
			subject || ' ' || body, '|' ORDER BY created_at, email), '') FROM deliveries`)
	}
	put("ada@example.org", password)
	if got := mails(); got != "" {
		t.Errorf("a new person is told: %s", got)
	}
	const next = "a tin mug on a grey shelf"
	_, err = w.ChangePassword(t.Context(), w.signIn(t, "ada").Actor, controlplane.NewPlain(password),
		controlplane.NewPlain(next))
	if err != nil {
		t.Fatal(err)
	}
	_, value, err := w.CreateToken(t.Context(), actorFrom("10.0.0.9"), accounts.Login{User: "ada",
		Password: controlplane.NewPlain(next)}, accounts.TokenRequest{Name: "laptop"})
	if err != nil {
		t.Fatal(err)
	}
	put("ada@example.com", "")
	got := mails()
	for _, want := range []string{
		"ada@example.org: NullOps: Your password was changed", "By: ada, from 10.0.0.2",
		"ada@example.org: NullOps: A new API token of yours was made", "By: ada, from 10.0.0.9",
		"ada@example.org: NullOps: Your e-mail address was changed",
		"ada@example.com: NullOps: Your e-mail address was changed", "By: admin,",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	if strings.Count(got, "|") != 3 || strings.Contains(got, next) ||
		strings.Contains(got, value.Reveal()) {
		t.Errorf("the mails are %s", got)
	}
}
