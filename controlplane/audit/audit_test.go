package audit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

// fillLog returns a journal of ten entries and the way to its database.
func fillLog(t *testing.T) (*audit.Log, *postgres.Store, string) {
	t.Helper()
	url := pgtest.URL(t, migrations.FS)
	store := pgtest.Open(t, url)
	for i := range 10 {
		e := controlplane.AuditEntry{Actor: "ada", Action: "put service",
			Object: fmt.Sprintf("service s%d", i)}
		if err := store.InAuditedTx(t.Context(), &e,
			func(*postgres.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return audit.New(store, pgtest.AuditKey()), store, url
}

// execAsOwner does what someone with the database and without the key can do.
func execAsOwner(t *testing.T, url, sql string) {
	t.Helper()
	pgtest.Exec(t, url, "ALTER TABLE audit DISABLE TRIGGER USER")
	pgtest.Exec(t, url, "ALTER TABLE audit_checkpoints DISABLE TRIGGER USER")
	pgtest.Exec(t, url, sql)
}

func verifyChain(t *testing.T, l *audit.Log) audit.Verification {
	t.Helper()
	v, err := l.Verify(t.Context(), access.System("test"))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerify_LocatesTampering(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql   string
		seq   int64
		finds string
	}{
		"an edited entry":   {"UPDATE audit SET actor = 'eve' WHERE seq = 4", 4, "changed"},
		"an edited time":    {"UPDATE audit SET at = at - interval '1 hour' WHERE seq = 4", 4, "changed"},
		"a deleted entry":   {"DELETE FROM audit WHERE seq = 5", 5, "entry 5 is missing"},
		"the first deleted": {"DELETE FROM audit WHERE seq < 3", 1, "entries 1 to 2 are missing"},
		"the end cut off":   {"DELETE FROM audit WHERE seq > 8", 9, "the end was cut off"},
		"an entry made up":  {"UPDATE audit SET mac = sha256(mac) WHERE seq = 7", 7, "changed"},
		"two entries swapped": {`UPDATE audit SET object = CASE seq WHEN 2 THEN 'service s2'
			ELSE 'service s1' END WHERE seq IN (2, 3)`, 2, "changed or moved"},
		"numbers swapped": {`UPDATE audit SET seq = -seq WHERE seq IN (2, 3);
			UPDATE audit SET seq = CASE seq WHEN -2 THEN 3 ELSE 2 END WHERE seq < 0`, 2, "changed or moved"},
		"a checkpoint made up": {`INSERT INTO audit_checkpoints SELECT seq, mac, at, sha256('x')
			FROM audit WHERE seq = 6; DELETE FROM audit WHERE seq <= 6`, 6, "not made by this installation"},
		"another end": {"UPDATE audit_head SET mac = sha256(mac)", 10, "chain's end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _, url := fillLog(t)
			if v := verifyChain(t, l); len(v.Findings) > 0 || v.Entries != 10 || v.Head != 10 {
				t.Fatalf("untouched: %+v", v)
			}
			execAsOwner(t, url, c.sql)
			v := verifyChain(t, l)
			if len(v.Findings) == 0 || v.Findings[0].Seq != c.seq ||
				!strings.Contains(v.Findings[0].Problem, c.finds) {
				t.Errorf("found %+v", v.Findings)
			}
		})
	}
}

// Someone who knows how links are made, but not the key, cannot mend them.
func TestVerify_NeedsTheKey(t *testing.T) {
	t.Parallel()
	_, store, _ := fillLog(t)
	other, _ := controlplane.NewAuditKey([]byte("another key of thirty-two bytes."))
	if v := verifyChain(t, audit.New(store, other)); len(v.Findings) != 10 {
		t.Errorf("%d of 10 links were not made with this key", len(v.Findings))
	}
}

// attempt fails unless the statement is refused for what it is.
const attempt = `DO $do$ BEGIN
	BEGIN %s; EXCEPTION WHEN restrict_violation THEN RETURN; END;
	RAISE EXCEPTION 'it was done';
END $do$`

// The database itself refuses changes, from whatever program they come.
func TestAudit_IsAppendOnly(t *testing.T) {
	t.Parallel()
	_, store, url := fillLog(t)
	for _, sql := range []string{
		"UPDATE audit SET actor = 'eve'", "DELETE FROM audit WHERE seq = 10",
		"TRUNCATE audit", "DELETE FROM audit", "UPDATE audit SET at = at WHERE seq = 10",
	} {
		// promise: G-22
		pgtest.Exec(t, url, fmt.Sprintf(attempt, sql))
	}
	if v := verifyChain(t, audit.New(store, pgtest.AuditKey())); v.Entries != 10 {
		t.Errorf("%d entries", v.Entries)
	}
}

// Retention cuts the chain and leaves a checkpoint; what remains still holds.
func TestCut_LeavesAChainThatHolds(t *testing.T) {
	t.Parallel()
	l, store, url := fillLog(t)
	gone, err := l.DeleteBefore(t.Context(), access.System("test"), time.Now().Add(time.Hour))
	if err != nil || gone != 10 {
		t.Fatalf("%d entries went: %v", gone, err)
	}
	again := controlplane.AuditEntry{Actor: "ada", Action: "put service", Object: "service after"}
	if err := store.InAuditedTx(t.Context(), &again,
		func(*postgres.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	v := verifyChain(t, l)
	if len(v.Findings) > 0 || v.Entries != 2 || v.Head != 12 {
		t.Errorf("after the cut: %+v", v)
	}
	execAsOwner(t, url, "DELETE FROM audit WHERE seq = 11")
	if v := verifyChain(t, l); len(v.Findings) != 1 || v.Findings[0].Seq != 11 {
		t.Errorf("an entry deleted behind the cut: %+v", v.Findings)
	}
}

// Concurrent writers queue: no gap, no double, no deadlock.
func TestInsertAudit_ByManyAtOnce(t *testing.T) {
	t.Parallel()
	l, store, _ := fillLog(t)
	errs := make(chan error)
	for i := range 20 {
		go func() {
			e := controlplane.AuditEntry{Actor: "bob", Action: "try", Object: fmt.Sprint(i)}
			errs <- store.InAuditedTx(t.Context(), &e, func(*postgres.Tx) error { return nil })
		}()
	}
	for range 20 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if v := verifyChain(t, l); len(v.Findings) > 0 || v.Head != 30 {
		t.Errorf("%+v", v)
	}
}

// A person sees their own deeds and what was done to objects of theirs; a
// restricted environment needs a grant of its own.
func TestList_ShowsWhatOneMaySee(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	store := pgtest.Open(t, url)
	l := audit.New(store, pgtest.AuditKey())
	open, closed := newEnvironment(t, store, "qa", false), newEnvironment(t, store, "prod", true)
	project := controlplane.NewID[controlplane.ProjectID]()
	ada := controlplane.User{ID: controlplane.NewID[controlplane.UserID](), Name: "ada"}
	for _, e := range []controlplane.AuditEntry{
		{Object: "foreign"}, {Object: "own", ActorID: ada.ID},
		{Object: "in qa", Environment: open, Project: project},
		{Object: "in prod", Environment: closed, Project: project},
		{Object: "project", Project: project},
	} {
		e.Actor, e.Action = "bob", "do"
		if err := store.InAuditedTx(t.Context(), &e,
			func(*postgres.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	grant := controlplane.Grant{Project: project, Level: controlplane.LevelRead}
	for name, c := range map[string]struct {
		actor access.Actor
		want  string
	}{
		"an admin":   {access.System("test"), "project,in prod,in qa,own,foreign"},
		"a stranger": {access.User(ada, nil), "own"},
		"a member":   {access.User(ada, []controlplane.Grant{grant}), "project,in qa,own"},
		"a member of the restricted environment": {access.User(ada, []controlplane.Grant{
			{Environment: closed, Level: controlplane.LevelRead}}), "in prod,own"},
	} {
		all, err := l.List(t.Context(), c.actor, audit.Filter{Most: 100})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range all {
			got = append(got, e.Object)
		}
		if strings.Join(got, ",") != c.want {
			t.Errorf("%s sees %s, want %s", name, strings.Join(got, ","), c.want)
		}
	}
	if _, err := l.List(t.Context(), access.Nobody(), audit.Filter{Most: 1}); err == nil {
		t.Error("nobody may list")
	}
	if _, err := l.Verify(t.Context(), access.User(ada, nil)); err == nil {
		t.Error("a user may verify")
	}
}

// Secrets are written large and everything else small: who searches need not know.
func TestList_FindsObjectsInAnyCase(t *testing.T) {
	t.Parallel()
	store := pgtest.Open(t, pgtest.URL(t, migrations.FS))
	l := audit.New(store, pgtest.AuditKey())
	e := controlplane.AuditEntry{Actor: "ada", Action: "put secret", Object: "secret SMTP of shop"}
	if err := store.InAuditedTx(t.Context(), &e, func(*postgres.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, forwards := range []bool{false, true} {
		for part, want := range map[string]int{"smtp OF": 1, "Shop": 1, "imap": 0} {
			f := audit.Filter{Object: part, Most: 9, Forwards: forwards}
			if all, err := l.List(t.Context(), access.System("test"), f); err != nil || len(all) != want {
				t.Errorf("%q, forwards %v: %d entries, %v", part, forwards, len(all), err)
			}
		}
	}
}

func newEnvironment(
	t *testing.T, store *postgres.Store, name string, restricted bool,
) controlplane.EnvironmentID {
	t.Helper()
	id := controlplane.NewID[controlplane.EnvironmentID]()
	err := store.InTx(t.Context(), func(tx *postgres.Tx) error {
		return tx.Environments().Put(t.Context(), controlplane.Environment{
			ID: id, Name: name, Domain: "localhost", Restricted: restricted})
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}
