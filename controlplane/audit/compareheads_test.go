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
)

// relinkChain does what someone with the database and the keys can do: a chain that holds, with
// an end that fits.
func relinkChain(t *testing.T, store *postgres.Store, url string) {
	t.Helper()
	var all []controlplane.AuditEntry
	err := store.Read(t.Context(), func(tx *postgres.Tx) (err error) {
		all, err = tx.Audit().ListChain(t.Context(), 0, 1000)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var link controlplane.AuditLink
	var sql strings.Builder
	for _, e := range all {
		link = pgtest.AuditKey().LinkEntry(link, e)
		fmt.Fprintf(&sql, `UPDATE audit SET mac = '\x%x' WHERE seq = %d;`, link, e.Seq)
	}
	fmt.Fprintf(&sql, `UPDATE audit_head SET seq = %d, mac = '\x%x'`, len(all), link)
	pgtest.Exec(t, url, sql.String())
}

func addEntries(t *testing.T, store *postgres.Store, actor, action string, many int) {
	t.Helper()
	for range many {
		e := controlplane.AuditEntry{Actor: actor, Action: action, Object: "installation"}
		if err := store.InAuditedTx(t.Context(), &e,
			func(*postgres.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

// currentHead returns the head that nodes are sent now.
func currentHead(t *testing.T, l *audit.Log) controlplane.AuditHead {
	t.Helper()
	head, ok, err := l.CurrentHead(t.Context(), access.System("test"))
	if err != nil || !ok {
		t.Fatalf("nothing to tell: %v, %v", ok, err)
	}
	return head
}

const witness = controlplane.NodeID("01a1fc00-0000-7000-8000-000000000000")

// A chain that was cut off or rewritten with the right key holds in itself. What a node remembers
// finds it, and where, also in another process than the one that sent it; and the node gets no more
// heads.
//
// threat: T9
func TestVerify_WitnessesFindARewrittenChain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql   string
		seq   int64
		finds string
	}{
		"an entry edited": {"UPDATE audit SET actor = 'eve' WHERE seq = 12", 11,
			"between 11 and 15 on: node-1 remembers another entry 15"},
		"the end cut off": {"DELETE FROM audit WHERE seq > 13", 14,
			"entries 14 to 20 are missing: node-1 remembers that the chain ended at 20"},
		"an entry deleted": {`DELETE FROM audit WHERE seq = 12;
			UPDATE audit SET seq = seq - 1 WHERE seq > 12`, 11, "between 11 and 15 on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, store, url := fillLog(t)
			heads := []controlplane.AuditHead{currentHead(t, l)}
			for range 2 {
				addEntries(t, store, "ada", "put", 5)
				heads = append(heads, currentHead(t, l))
			}
			execAsOwner(t, url, c.sql)
			relinkChain(t, store, url)
			if _, ok, err := l.CurrentHead(t.Context(), access.System("test")); ok || err != nil {
				t.Errorf("nodes are told of the new chain: %v", err)
			}
			fresh := audit.New(store, pgtest.AuditKey())
			if v := verifyChain(t, fresh); len(v.Findings) > 0 {
				t.Fatalf("the chain does not hold in itself: %+v", v.Findings)
			}
			ok, err := fresh.CompareHeads(t.Context(), access.System("test"), witness, "node-1", heads)
			if ok || err != nil {
				t.Errorf("the node is believed to agree: %v", err)
			}
			v := verifyChain(t, fresh)
			if v.Witnesses != 1 || len(v.Findings) == 0 || v.Findings[0].Seq != c.seq ||
				!strings.Contains(v.Findings[0].Problem, c.finds) {
				t.Errorf("found %+v", v)
			}
		})
	}
}

// What nodes remember goes with retention's cut and with a restored backup: both leave an entry. A
// change that a restore does not explain is found anyway.
func TestVerify_WitnessesKnowCutsAndRestores(t *testing.T) {
	t.Parallel()
	l, store, url := fillLog(t)
	heads := []controlplane.AuditHead{currentHead(t, l)}
	if _, err := l.DeleteBefore(t.Context(), access.System("test"),
		time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	addEntries(t, store, "ada", "put", 5)
	heads = append(heads, currentHead(t, l))
	agrees := func(what string, want bool) {
		t.Helper()
		fresh := audit.New(store, pgtest.AuditKey())
		ok, err := fresh.CompareHeads(t.Context(), access.System("test"), witness, "node-1", heads)
		if err != nil || ok != want || len(verifyChain(t, fresh).Findings) == 0 != want {
			t.Errorf("%s: the node agrees: %v, %v, %+v", what, ok, err, verifyChain(t, fresh).Findings)
		}
	}
	agrees("after a cut", true)
	// A backup from before the last four entries comes back.
	execAsOwner(t, url, "DELETE FROM audit WHERE seq > 12")
	pgtest.Exec(t, url, `UPDATE audit_head SET (seq, mac) =
		(SELECT seq, mac FROM audit ORDER BY seq DESC LIMIT 1)`)
	agrees("before the restore is in the audit", false)
	addEntries(t, store, "system:restore", "restore", 1)
	agrees("after a restore", true)
	l = audit.New(store, pgtest.AuditKey())
	addEntries(t, store, "ada", "put", 9)
	agrees("entries in the places of those that were lost", true)
	heads = append(heads, currentHead(t, l))
	execAsOwner(t, url, "DELETE FROM audit WHERE seq > 15")
	pgtest.Exec(t, url, `UPDATE audit_head SET (seq, mac) =
		(SELECT seq, mac FROM audit ORDER BY seq DESC LIMIT 1)`)
	agrees("cut off after the restore", false)
}
