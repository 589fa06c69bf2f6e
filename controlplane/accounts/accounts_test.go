package accounts_test

import (
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

const password = "correct horse battery"

type world struct {
	*accounts.Accounts
	url   string
	store *postgres.Store
	admin access.Actor
	clock atomic.Int64
	keys  *keyring.Keyring
	site  *url.URL
	rule  accounts.FactorRule
}

func (w *world) now() time.Time { return time.Unix(w.clock.Load(), 0) }

func (w *world) pass(d time.Duration) { w.clock.Add(int64(d / time.Second)) }

// again is the control plane after a restart.
func (w *world) again(t *testing.T) *accounts.Accounts {
	t.Helper()
	// Cheap hashes keep the tests fast; what they cost is not tested here.
	a, err := accounts.New(accounts.Config{
		Store: w.store, Log: slog.New(slog.DiscardHandler), Now: w.now,
		MemoryKiB: 1 << 10, Iterations: 1, Parallelism: 1,
		Keys: w.keys, URL: w.site, SecondFactor: w.rule,
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{url: pgtest.URL(t, migrations.FS)}
	w.store = pgtest.Open(t, w.url)
	w.keys, w.site = keyringtest.New(t, w.store), &url.URL{Scheme: "https", Host: "nullops.test"}
	w.clock.Store(1_800_000_000)
	w.Accounts = w.again(t)
	first, created, err := w.EnsureFirstAdmin(t.Context(), access.System("setup"), "admin")
	if err != nil || !created {
		t.Fatalf("first admin: %v %v", created, err)
	}
	in, err := w.SignIn(t.Context(), actorFrom("10.0.0.1"), accounts.Login{User: "admin",
		Password: first})
	if err != nil {
		t.Fatal(err)
	}
	w.admin = in.Actor
	return w
}

func actorFrom(address string) access.Actor { return access.Nobody().WithOrigin(address, "req-1") }

func (w *world) user(t *testing.T, name string, role controlplane.Role) {
	t.Helper()
	_, err := w.PutUser(t.Context(), w.admin, accounts.UserPut{
		Name: name, Role: role, Active: true, Password: controlplane.NewPlain(password),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) signIn(t *testing.T, name string) accounts.SignedIn {
	t.Helper()
	in, err := w.SignIn(t.Context(), actorFrom("10.0.0.2"), accounts.Login{User: name,
		Password: controlplane.NewPlain(password)})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func (w *world) count(t *testing.T, sql string) int {
	t.Helper()
	return pgtest.QueryValue[int](t, w.url, sql)
}

func TestEnsureFirstAdmin_OnceOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, created, err := w.EnsureFirstAdmin(t.Context(), access.System("setup"), "admin")
	if err != nil || created || !p.IsEmpty() {
		t.Errorf("second start: %v %v %v", p, created, err)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	in := w.signIn(t, "ada")
	// promise: N-005
	if in.Actor.Name() != "ada" || in.Actor.IsAdmin() {
		t.Errorf("signed in as %s, admin %v", in.Actor.Name(), in.Actor.IsAdmin())
	}
	wrong, errWrong := w.SignIn(t.Context(), actorFrom("10.0.0.3"), accounts.Login{User: "ada",
		Password: controlplane.NewPlain("not the password")})
	_, errNobody := w.SignIn(t.Context(), actorFrom("10.0.0.3"), accounts.Login{User: "nobody-here",
		Password: controlplane.NewPlain("not the password")})
	if errWrong == nil || !wrong.Cookie.IsEmpty() {
		t.Fatal("a wrong password signs in")
	}
	if errWrong.Error() != errNobody.Error() || controlplane.CodeOf(errWrong) != "sign_in_refused" {
		t.Errorf("a wrong name can be told from a wrong password:\n%v\n%v", errWrong, errNobody)
	}
	hash := pgtest.QueryValue[string](t, w.url, `SELECT password_hash FROM users WHERE name = 'ada'`)
	clear := w.count(t, `SELECT count(*) FROM users WHERE users::text LIKE '%correct horse%'`)
	if !strings.HasPrefix(hash, "$argon2id$") || clear != 0 {
		t.Errorf("stored as %s", hash)
	}
	if n := w.count(t, `SELECT count(*) FROM audit WHERE action = 'sign in' AND
		result = 'refused' AND origin = '10.0.0.3'`); n != 2 {
		t.Errorf("%d refusals in the journal, want 2", n)
	}
}

// A password that nobody changed for thirty years still signs in, and nobody is asked for another.
func TestPassword_DoesNotExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	pgtest.Exec(t, w.url, "UPDATE users SET created_at = now() - interval '30 years'")
	w.pass(30 * 365 * 24 * time.Hour)
	in := w.signIn(t, "ada")
	if _, err := w.Authenticate(t.Context(), actorFrom("10.0.0.2"),
		accounts.Credential{Session: in.Cookie}); err != nil {
		t.Errorf("after thirty years: %v", err)
	}
}

// A session lives through a restart of the control plane; the cookie's value
// is nowhere in the database.
func TestAuthenticate_SurvivesRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	in := w.signIn(t, "ada")
	who, err := w.again(t).Authenticate(t.Context(), actorFrom("10.0.0.2"),
		accounts.Credential{Session: in.Cookie})
	// promise: N-004
	if err != nil || who.Name() != "ada" || who.RemoteAddress() != "10.0.0.2" {
		t.Errorf("after a restart: %s, %v", who.Name(), err)
	}
	if n := w.count(t, `SELECT count(*) FROM sessions WHERE sessions::text LIKE '%`+
		in.Cookie.Reveal()+`%'`); n != 0 {
		t.Error("the session's id is readable in the database")
	}
	_, err = w.Authenticate(t.Context(), actorFrom(""),
		accounts.Credential{Session: controlplane.NewPlain(in.Cookie.Reveal() + "x")})
	if controlplane.KindOf(err) != controlplane.Unauthenticated {
		t.Errorf("a wrong cookie: %v", err)
	}
}

func TestSession_Ends(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	alive := func(in accounts.SignedIn) bool {
		_, err := w.Authenticate(t.Context(), actorFrom(""), accounts.Credential{Session: in.Cookie})
		return err == nil
	}
	idle := w.signIn(t, "ada")
	w.pass(accounts.SessionIdle + time.Minute)
	if alive(idle) {
		t.Error("an idle session still opens")
	}
	old := w.signIn(t, "ada")
	for range 14 {
		w.pass(accounts.SessionIdle - time.Minute)
		if w.now().Before(old.Expires) && !alive(old) {
			t.Fatal("a used session ended early")
		}
	}
	w.pass(accounts.SessionIdle - time.Minute)
	if alive(old) {
		t.Error("a session lives longer than seven days")
	}
	out := w.signIn(t, "ada")
	who, _ := w.Authenticate(t.Context(), actorFrom(""), accounts.Credential{Session: out.Cookie})
	if err := w.SignOut(t.Context(), who); err != nil || alive(out) {
		t.Errorf("signed out, still alive: %v", err)
	}
}

func TestChangePassword_EndsOtherSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	here, there := w.signIn(t, "ada"), w.signIn(t, "ada")
	who, err := w.Authenticate(t.Context(), actorFrom("10.0.0.2"),
		accounts.Credential{Session: here.Cookie})
	if err != nil {
		t.Fatal(err)
	}
	next := controlplane.NewPlain("another fine password")
	_, err = w.ChangePassword(t.Context(), who, controlplane.NewPlain("wrong one here"), next)
	if controlplane.CodeOf(err) != "password_wrong" {
		t.Fatalf("a wrong current password: %v", err)
	}
	_, err = w.ChangePassword(t.Context(), who, controlplane.NewPlain(password),
		controlplane.NewPlain("short"))
	if controlplane.CodeOf(err) != "password_length" {
		t.Fatalf("a short password: %v", err)
	}
	again, err := w.ChangePassword(t.Context(), who, controlplane.NewPlain(password), next)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Authenticate(t.Context(), actorFrom(""),
		accounts.Credential{Session: again.Cookie}); err != nil {
		t.Errorf("the own session ended: %v", err)
	}
	if _, err := w.Authenticate(t.Context(), actorFrom(""),
		accounts.Credential{Session: here.Cookie}); err == nil {
		t.Error("the session kept its id")
	}
	if _, err := w.Authenticate(t.Context(), actorFrom(""),
		accounts.Credential{Session: there.Cookie}); err == nil {
		t.Error("the other session did not end")
	}
}

// A token ends by itself, and reaches no further than it was made for.
func TestToken_ExpiresAndOnlyReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	make := func(r accounts.TokenRequest) (controlplane.Plain, error) {
		_, value, err := w.CreateToken(t.Context(), actorFrom("10.0.0.2"), accounts.Login{User: "ada",
			Password: controlplane.NewPlain(password)}, r)
		return value, err
	}
	value, err := make(accounts.TokenRequest{Name: "ci", Scope: controlplane.ScopeRead,
		Lasts: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	who, err := w.Authenticate(t.Context(), actorFrom(""), accounts.Credential{Bearer: value})
	if err != nil || !who.IsReadOnly() {
		t.Errorf("a read token: %v, read-only %v", err, who.IsReadOnly())
	}
	w.clock.Add(int64(25 * time.Hour / time.Second))
	_, err = w.Authenticate(t.Context(), actorFrom(""), accounts.Credential{Bearer: value})
	if controlplane.CodeOf(err) != "token_expired" {
		t.Errorf("a day later: %v", err)
	}
	for code, bad := range map[string]accounts.TokenRequest{
		"token_name": {}, "token_scope": {Name: "x", Scope: "root"},
		"token_expiry": {Name: "x", Lasts: 4000 * 24 * time.Hour},
	} {
		if _, err := make(bad); controlplane.CodeOf(err) != code {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// People see where they are signed in, and end a session from elsewhere.
func TestSessions_ListedAndEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	in := func(device string) accounts.SignedIn {
		t.Helper()
		s, err := w.SignIn(t.Context(), actorFrom("10.0.0.2").WithDevice(device), accounts.Login{
			User:     "ada",
			Password: controlplane.NewPlain(password)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	here, there := in("laptop"), in("phone\x1b[31m"+strings.Repeat("x", 300))
	all, err := w.ListSessions(t.Context(), here.Actor)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d sessions: %v", len(all), err)
	}
	for _, s := range all {
		if s.From != "10.0.0.2" || strings.Contains(s.Device, "\x1b") || len(s.Device) > 200 {
			t.Errorf("session %+v", s)
		}
	}
	w.user(t, "eve", controlplane.RoleUser)
	eve, err := w.SignIn(t.Context(), actorFrom("10.0.0.3"), accounts.Login{User: "eve",
		Password: controlplane.NewPlain(password)})
	if err != nil {
		t.Fatal(err)
	}
	err = w.EndSession(t.Context(), eve.Actor, there.Actor.Session())
	if controlplane.KindOf(err) != controlplane.NotFound {
		t.Errorf("eve ends ada's session: %v", err)
	}
	if err := w.EndSession(t.Context(), here.Actor, there.Actor.Session()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cookie controlplane.Plain
		open   bool
	}{{here.Cookie, true}, {there.Cookie, false}} {
		_, err := w.Authenticate(t.Context(), actorFrom(""), accounts.Credential{Session: c.cookie})
		if (err == nil) != c.open {
			t.Errorf("a session is open: %v, want %v", err == nil, c.open)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	made, secret, err := w.CreateToken(t.Context(), actorFrom("10.0.0.2"), accounts.Login{User: "ada",
		Password: controlplane.NewPlain(password)}, accounts.TokenRequest{Name: "laptop"})
	if err != nil || !strings.HasPrefix(secret.Reveal(), "nop_"+made.Prefix+"_") {
		t.Fatalf("token: %v", err)
	}
	who, err := w.Authenticate(t.Context(), actorFrom(""), accounts.Credential{Bearer: secret})
	if err != nil || who.Name() != "ada" || who.Session() != "" {
		t.Fatalf("authenticate: %s %v", who.Name(), err)
	}
	for _, bad := range []string{
		"nop_" + made.Prefix + "_x", secret.Reveal() + "x", "nop__", "nop_", "x", made.Prefix,
		strings.ToUpper(secret.Reveal()),
	} {
		_, err := w.Authenticate(t.Context(), actorFrom(""),
			accounts.Credential{Bearer: controlplane.NewPlain(bad)})
		if controlplane.KindOf(err) != controlplane.Unauthenticated {
			t.Errorf("%q: %v", bad, err)
		}
	}
	all, err := w.ListTokens(t.Context(), who)
	if err != nil || len(all) != 1 || all[0].LastUsedAt == nil {
		t.Errorf("list: %+v %v", all, err)
	}
	if err := w.DeleteToken(t.Context(), w.admin, made.ID); err == nil {
		t.Error("somebody else deleted the token")
	}
	if err := w.DeleteToken(t.Context(), who, made.ID); err != nil {
		t.Error(err)
	}
	if _, err := w.Authenticate(t.Context(), actorFrom(""),
		accounts.Credential{Bearer: secret}); err == nil {
		t.Error("a revoked token opens")
	}
}

// Guessing is stopped per person and address; the right password costs nothing, so its owner is not
// locked out by using it.
//
// threat: T10
func TestSignIn_SlowsGuessing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "ada", controlplane.RoleUser)
	for range 15 {
		w.signIn(t, "ada")
	}
	verified := 0
	for range 40 {
		_, err := w.SignIn(t.Context(), actorFrom("10.0.0.9"), accounts.Login{User: "ada",
			Password: controlplane.NewPlain("guess guess")})
		switch controlplane.CodeOf(err) {
		case "sign_in_refused":
			verified++
		case "too_many_attempts":
			var said *controlplane.Error
			if !errors.As(err, &said) || said.RetryAfter <= 0 {
				t.Fatalf("no time to wait: %v", err)
			}
		default:
			t.Fatalf("guess: %v", err)
		}
	}
	if verified > 10 {
		t.Errorf("%d guesses were verified", verified)
	}
	w.signIn(t, "ada")
}

// A flood of sign-ins is turned away before it costs memory.
//
// threat: T11
func TestSignIn_Flood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var wg sync.WaitGroup
	var busy, refused atomic.Int64
	for i := range 120 {
		wg.Go(func() {
			_, err := w.SignIn(t.Context(), actorFrom("10.1.0."+string(rune('a'+i))), accounts.Login{
				User:     "nobody-here",
				Password: controlplane.NewPlain("guess guess")})
			switch controlplane.CodeOf(err) {
			case "sign_in_busy", "too_many_attempts":
				busy.Add(1)
			case "sign_in_refused":
				refused.Add(1)
			default:
				t.Errorf("flood: %v", err)
			}
		})
	}
	wg.Wait()
	if refused.Load() == 0 || busy.Load()+refused.Load() != 120 {
		t.Errorf("%d busy, %d refused", busy.Load(), refused.Load())
	}
}

func TestPutUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := accounts.UserPut{
		Name: "ada", DisplayName: "Ada", Role: controlplane.RoleUser, Active: true,
		Password: controlplane.NewPlain(password),
	}
	out, err := w.PutUser(t.Context(), w.admin, put)
	if err != nil || !out.Created || !out.Changed {
		t.Fatalf("create: %+v %v", out, err)
	}
	if out, err = w.PutUser(t.Context(), w.admin, put); err != nil || out.Changed || out.Created {
		t.Errorf("the same again: %+v %v", out, err)
	}
	in := w.signIn(t, "ada")
	put.Role, put.Password = controlplane.RoleAdmin, controlplane.Plain{}
	if out, err = w.PutUser(t.Context(), w.admin, put); err != nil || !out.Changed {
		t.Errorf("promote: %+v %v", out, err)
	}
	if _, err := w.Authenticate(t.Context(), actorFrom(""),
		accounts.Credential{Session: in.Cookie}); err == nil {
		t.Error("a session outlived a change of role")
	}
	put.Active = false
	if _, err = w.PutUser(t.Context(), w.admin, put); err != nil {
		t.Error(err)
	}
	_, err = w.SignIn(t.Context(), actorFrom("10.0.0.2"), accounts.Login{User: "ada",
		Password: controlplane.NewPlain(password)})
	if controlplane.CodeOf(err) != "sign_in_refused" {
		t.Errorf("an inactive person: %v", err)
	}
	for field, bad := range map[string]accounts.UserPut{
		"name":     {Name: "Not A Label", Role: controlplane.RoleUser, Password: put.Password},
		"role":     {Name: "bob", Role: "root", Password: controlplane.NewPlain(password)},
		"password": {Name: "bob", Role: controlplane.RoleUser},
	} {
		_, err := w.PutUser(t.Context(), w.admin, bad)
		var said *controlplane.Error
		if !errors.As(err, &said) || said.Field != field || said.Remedy == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestLastAdmin_CannotGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	demote := accounts.UserPut{Name: "admin", Role: controlplane.RoleUser, Active: true}
	_, err := w.PutUser(t.Context(), w.admin, demote)
	if controlplane.CodeOf(err) != "last_admin" {
		t.Errorf("demote: %v", err)
	}
	if err := w.DeleteUser(t.Context(), w.admin, "admin"); controlplane.CodeOf(err) != "last_admin" {
		t.Errorf("delete: %v", err)
	}
	w.user(t, "bob", controlplane.RoleAdmin)
	if err := w.DeleteUser(t.Context(), w.admin, "admin"); err != nil {
		t.Errorf("delete one of two: %v", err)
	}
}

// Admin operations are refused to everyone else, and the attempt is audited.
func TestAdminOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "eve", controlplane.RoleUser)
	eve := w.signIn(t, "eve").Actor
	ctx := t.Context()
	for name, do := range map[string]func() error{
		"put user": func() error {
			_, err := w.PutUser(ctx, eve, accounts.UserPut{Name: "eve", Role: controlplane.RoleAdmin})
			return err
		},
		"delete user": func() error { return w.DeleteUser(ctx, eve, "admin") },
		"put team": func() error {
			_, err := w.PutTeam(ctx, eve, accounts.TeamPut{Name: "qa", Members: []string{"eve"}})
			return err
		},
		"delete team": func() error { return w.DeleteTeam(ctx, eve, "qa") },
	} {
		// promise: N-010
		if err := do(); controlplane.KindOf(err) != controlplane.Forbidden {
			t.Errorf("%s: %v", name, err)
		}
		if n := w.count(t, `SELECT count(*) FROM audit WHERE actor = 'eve' AND
			result = 'refused' AND action = '`+name+`'`); n != 1 {
			t.Errorf("%s: %d entries in the journal", name, n)
		}
	}
	if _, _, err := w.ListUsers(ctx, eve, controlplane.Page{}); err == nil {
		t.Error("list users")
	}
}

func TestTeams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.user(t, "ada", controlplane.RoleUser)
	w.user(t, "bob", controlplane.RoleUser)
	project := controlplane.NewID[controlplane.ProjectID]()
	err := w.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Projects().Put(ctx, controlplane.Project{ID: project, Name: "shop"})
	})
	if err != nil {
		t.Fatal(err)
	}
	put := accounts.TeamPut{
		Name: "qa", Members: []string{"bob", "ada"},
		Grants: []controlplane.TeamGrant{{Project: "shop", Level: controlplane.LevelRead}},
	}
	out, err := w.PutTeam(ctx, w.admin, put)
	if err != nil || !out.Created {
		t.Fatalf("put: %+v %v", out, err)
	}
	if out, err = w.PutTeam(ctx, w.admin, put); err != nil || out.Changed {
		t.Errorf("the same again: %+v %v", out, err)
	}
	in := w.signIn(t, "ada")
	level := func() controlplane.Level {
		t.Helper()
		who, err := w.Authenticate(ctx, actorFrom(""), accounts.Credential{Session: in.Cookie})
		if err != nil {
			t.Fatal(err)
		}
		return access.Level(who, access.Object{Project: project})
	}
	if got := level(); got != controlplane.LevelRead {
		t.Errorf("level %q", got)
	}
	// A second team with more: the highest counts, at the next request.
	_, err = w.PutTeam(ctx, w.admin, accounts.TeamPut{
		Name: "dev", Members: []string{"ada"},
		Grants: []controlplane.TeamGrant{{Project: "shop", Level: controlplane.LevelFull}},
	})
	// promise: N-011
	// promise: N-017
	if got := level(); err != nil || got != controlplane.LevelFull {
		t.Errorf("level %q, %v", got, err)
	}
	if err := w.DeleteTeam(ctx, w.admin, "dev"); err != nil || level() != controlplane.LevelRead {
		t.Errorf("after the team went: %q, %v", level(), err)
	}
	teams, _, err := w.ListTeams(ctx, in.Actor, controlplane.Page{})
	if err != nil || len(teams) != 1 || teams[0].Name != "qa" {
		t.Errorf("own teams: %+v %v", teams, err)
	}
	for field, bad := range map[string]accounts.TeamPut{
		"members[0]":      {Name: "x", Members: []string{"ghost"}},
		"grants[0]":       {Name: "x", Grants: []controlplane.TeamGrant{{Level: "full"}}},
		"grants[0].level": {Name: "x", Grants: []controlplane.TeamGrant{{Project: "shop"}}},
		"grants[0].project": {Name: "x", Grants: []controlplane.TeamGrant{
			{Project: "no", Level: "read"},
		}},
		"name": {Name: "-"},
	} {
		_, err := w.PutTeam(ctx, w.admin, bad)
		var said *controlplane.Error
		if !errors.As(err, &said) || said.Field != field || said.Kind != controlplane.Invalid {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A link opens once, for its address, for its time; the database does not have
// what opens it.
func TestLinks_AreSecretsWithAnEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	invite := func(address string) controlplane.Plain {
		t.Helper()
		_, value, err := w.Invite(t.Context(), w.admin,
			accounts.Invitation{Address: address, Role: controlplane.RoleUser})
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	link := invite("ada@example.org")
	if n := w.count(t, `SELECT count(*) FROM links WHERE links::text LIKE '%`+link.Reveal()+
		`%'`); n != 0 {
		t.Error("what opens the link is in the database")
	}
	w.pass(accounts.InvitationLife + time.Minute)
	_, err := w.AcceptInvitation(t.Context(), actorFrom("10.0.0.4"), accounts.JoinRequest{Link: link,
		Address: "ada@example.org", Name: "ada", Password: controlplane.NewPlain(password)})
	if controlplane.CodeOf(err) != "link_invalid" {
		t.Errorf("an invitation after its time: %v", err)
	}
	if err := w.DeleteExpired(t.Context(), access.System("test")); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, `SELECT count(*) FROM links`); n != 0 {
		t.Errorf("%d dead links are kept", n)
	}
	_, _, err = w.Invite(t.Context(), w.signIn2(t, "eve"),
		accounts.Invitation{Address: "x@example.org", Role: controlplane.RoleAdmin})
	if controlplane.KindOf(err) != controlplane.Forbidden {
		t.Errorf("somebody who is no admin invites: %v", err)
	}
}

// signIn2 makes a user and signs in.
func (w *world) signIn2(t *testing.T, name string) access.Actor {
	t.Helper()
	w.user(t, name, controlplane.RoleUser)
	return w.signIn(t, name).Actor
}
