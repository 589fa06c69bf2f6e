package lifecycle_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// reactiveRig has nodes site-a and site-b, in this order of preference, which are asked.
func reactiveRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.failOnError(nil, r.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		_, err := tx.Nodes().Move(t.Context(), r.node, controlplane.NodeDisabled, "not in this test")
		return err
	}))
	r.addNode("site-a", controlplane.NodeSettings{Reactive: true, Priority: 1})
	r.addNode("site-b", controlplane.NodeSettings{Reactive: true, Priority: 2})
	return r
}

// claim is what a site answers that takes everything.
const claim = "claim"

// openOffers returns the nodes' open offers by their names.
func (r *rig) openOffers() map[string]controlplane.OfferID {
	r.t.Helper()
	text := pgtest.QueryValue[string](r.t, r.url, `SELECT coalesce(string_agg(n.name || ' ' || o.id,
		',' ORDER BY n.name), '') FROM offers o JOIN nodes n ON n.id = o.node_id
		WHERE o.status = 'open' AND o.expires_at > now()`)
	all := map[string]controlplane.OfferID{}
	for one := range strings.SplitSeq(text, ",") {
		if name, id, ok := strings.Cut(one, " "); ok {
			all[name] = controlplane.OfferID(id)
		}
	}
	return all
}

func (r *rig) nodeID(name string) controlplane.NodeID {
	r.t.Helper()
	return controlplane.NodeID(pgtest.QueryValue[string](r.t, r.url,
		"SELECT id::text FROM nodes WHERE name = $1", name))
}

func (r *rig) answerOffer(node string, id controlplane.OfferID, answer string) {
	r.t.Helper()
	r.failOnError(nil, r.AnswerOffer(r.t.Context(), system, lifecycle.OfferAnswer{Offer: id,
		Node: r.nodeID(node), Claim: answer == claim, Reason: answer}))
}

// answerAll answers the offers to nodes, one after the other, until the test has what it waits
// for. It returns in which order nodes were asked.
func (r *rig) answerAll(answers map[string]string, until <-chan struct{}) (asked []string) {
	r.t.Helper()
	for {
		for node, id := range r.openOffers() {
			if answer, ok := answers[node]; ok {
				asked = append(asked, node)
				r.answerOffer(node, id, answer)
			}
		}
		select {
		case <-until:
			return asked
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// createAsking creates a deployment while its nodes answer.
func (r *rig) createAsking(name string, answers map[string]string) (
	d controlplane.Deployment, asked []string, err error) {
	r.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		d, err = r.Create(r.t.Context(), system, newRequest(name))
	}()
	asked = r.answerAll(answers, done)
	return d, asked, err
}

func (r *rig) offersOf(d controlplane.Deployment) (text []string) {
	r.t.Helper()
	runs, err := r.Runs(r.t.Context(), system, d.ID)
	r.failOnError(nil, err)
	for _, o := range runs[0].Offers {
		text = append(text, o.Node+" "+string(o.Status)+" "+o.Reason)
	}
	return text
}

func reasonOf(t *testing.T, err error, node string) string {
	t.Helper()
	refused, ok := errors.AsType[*controlplane.Error](err)
	if !ok {
		t.Fatalf("it ended with %v", err)
	}
	for _, p := range refused.Placement {
		if p.Node == node {
			return p.Reason
		}
	}
	return ""
}

func TestOffer_TheNextNodeIsAskedAfterADecline(t *testing.T) {
	r := reactiveRig(t)
	d, asked, err := r.createAsking("one", map[string]string{
		"site-a": "closed\x1b[2J for\x00 the\nweek \u202Eend", "site-b": claim})
	r.failOnError(nil, err)
	if got := strings.Join(asked, " "); got != "site-a site-b" || d.Node != "site-b" {
		t.Errorf("asked %s, placed on %s", got, d.Node)
	}
	got := strings.Join(r.offersOf(d), "; ")
	if got != "site-a declined closed\uFFFD[2J for\uFFFD the week \uFFFDend; site-b taken " {
		t.Errorf("the table says %q", got)
	}
	if n := r.queryCount("SELECT count(*) FROM offers WHERE status IN ('open', 'claimed')"); n != 0 {
		t.Errorf("%d offers hold room", n)
	}
}

func TestOffer_APlainNodeTakesWhatAnotherDeclined(t *testing.T) {
	r := newRig(t)
	r.addNode("site-a", controlplane.NodeSettings{Reactive: true, Priority: 1})
	d, asked, err := r.createAsking("one", map[string]string{"site-a": "maintenance"})
	r.failOnError(nil, err)
	if got := strings.Join(asked, " "); got != "site-a" || d.NodeID != r.node {
		t.Errorf("asked %s, placed on %s", got, d.Node)
	}
}

func TestOffer_NobodyTakesIt(t *testing.T) {
	r := reactiveRig(t)
	_, _, err := r.createAsking("one", map[string]string{"site-a": "maintenance", "site-b": ""})
	if controlplane.CodeOf(err) != "no_room" {
		t.Fatalf("it ended with %v", err)
	}
	if got := reasonOf(t, err, "site-a"); got != "It declined: maintenance." {
		t.Errorf("site-a: %q", got)
	}
	if got := reasonOf(t, err, "site-b"); got != "It declined without a reason." {
		t.Errorf("site-b: %q", got)
	}
	if n := r.queryCount("SELECT count(*) FROM deployments"); n != 0 {
		t.Errorf("%d deployments were made", n)
	}
}

func TestOffer_NoAnswerIsADecline(t *testing.T) {
	r := reactiveRig(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for r.openOffers()["site-a"] == "" {
			time.Sleep(time.Millisecond)
		}
		pgtest.Exec(t, r.url, "UPDATE offers SET expires_at = now() WHERE status = 'open'")
	}()
	d, _, err := r.createAsking("one", map[string]string{"site-b": claim})
	<-done
	r.failOnError(nil, err)
	got := strings.Join(r.offersOf(d), "; ")
	if got != "site-a declined the offer was not answered within 20 seconds; site-b taken " {
		t.Errorf("the table says %q", got)
	}
}

// What is offered is reserved until it is answered, expires, or its asker has gone.
func TestOffer_ReservesUntilItEnds(t *testing.T) {
	r := reactiveRig(t)
	pgtest.Exec(t, r.url, `UPDATE nodes SET inventory = jsonb_set(inventory, '{memory}', '67108864')
		WHERE name LIKE 'site-%'`)
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := r.Create(ctx, system, newRequest("one"))
		gone <- err
	}()
	for r.openOffers()["site-a"] == "" {
		time.Sleep(time.Millisecond)
	}
	second, asked, err := r.createAsking("two", map[string]string{"site-b": claim})
	if err != nil || second.Node != "site-b" || len(asked) != 1 {
		t.Fatalf("the second asked %v, went to %q: %v", asked, second.Node, err)
	}
	if _, err := r.Create(t.Context(), system, newRequest("three")); !strings.Contains(
		reasonOf(t, err, "site-a"), "memory short") {
		t.Errorf("the third ended with %v", err)
	}
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who left got %v", err)
	}
	if d, _, err := r.createAsking("three", map[string]string{"site-a": claim}); d.Node != "site-a" {
		t.Errorf("after the first left, the third went to %q: %v", d.Node, err)
	}
	// A control plane that died leaves an offer that holds nothing once it expires.
	r.removeAll("site-a")
	pgtest.Exec(t, r.url, `INSERT INTO offers (id, node_id, deployment, cpu, memory_mib, expires_at)
		SELECT gen_random_uuid(), id, '{}', 1, 64, now() + interval '1 hour' FROM nodes
		WHERE name = 'site-a'`)
	if _, err := r.Create(t.Context(), system, newRequest("four")); err == nil {
		t.Error("the room of an offer was given to another deployment")
	}
	pgtest.Exec(t, r.url, `UPDATE offers SET expires_at = now() - interval '1 hour'
		WHERE status = 'open'`)
	if d, _, err := r.createAsking("four", map[string]string{"site-a": claim}); d.Node != "site-a" {
		t.Errorf("after it expired, the fourth went to %q: %v", d.Node, err)
	}
	if n, err := r.ForgetOffers(t.Context(), system); n != 1 || err != nil {
		t.Errorf("%d offers were forgotten: %v", n, err)
	}
}

// removeAll forgets the deployments of a node.
func (r *rig) removeAll(node string) {
	r.t.Helper()
	pgtest.Exec(r.t, r.url, `UPDATE deployments SET status = 'undoing'
		WHERE node_id = $1 AND status = 'queued'`, r.nodeID(node))
	pgtest.Exec(r.t, r.url, `UPDATE deployments SET status = 'failed' WHERE node_id = $1`,
		r.nodeID(node))
}

func TestOffer_QueuedRunsAskAgainWithGrowingPauses(t *testing.T) {
	r := reactiveRig(t)
	d := r.createQueued("one", controlplane.DefaultPriority, 0)
	reason := func() string {
		return pgtest.QueryValue[string](t, r.url, "SELECT reason FROM queue WHERE left_at IS NULL")
	}
	if got := reason(); d.Status != controlplane.Queued ||
		got != "Node site-a is asked whether it takes it." {
		t.Fatalf("it is %s: %s", d.Status, got)
	}
	pauses := []string{"30", "60", "120"}
	for round, pause := range pauses {
		for _, node := range []string{"site-a", "site-b"} {
			r.admitQueued(true)
			offers := r.openOffers()
			if len(offers) != 1 || offers[node] == "" {
				t.Fatalf("round %d: offered to %v instead of %s", round, offers, node)
			}
			r.answerOffer(node, offers[node], "not now")
		}
		r.admitQueued(true)
		if got := reason(); len(r.openOffers()) != 0 ||
			got != "No node takes it; site-a: It declined: not now." {
			t.Fatalf("round %d: it waits since %q", round, got)
		}
		got := pgtest.QueryValue[string](t, r.url, `SELECT string_agg(DISTINCT
			extract(epoch FROM ask_after - changed_at)::int::text, ' ') FROM offers`)
		if got != pause {
			t.Errorf("round %d: the pauses are %s s, not %s", round, got, pause)
		}
		pgtest.Exec(t, r.url, "UPDATE offers SET ask_after = now()")
	}
	r.admitQueued(true)
	r.answerOffer("site-a", r.openOffers()["site-a"], claim)
	r.admitQueued(true)
	if got := r.get(d.ID); got.Node != "site-a" || r.queuedNames() != "" {
		t.Errorf("it is on %q, and %q waits", got.Node, r.queuedNames())
	}
	got := strings.Join(r.offersOf(d), "; ")
	if got != "site-b declined not now; site-a taken " {
		t.Errorf("the table says %q", got)
	}
}

func TestOffer_TwoControlPlanesAskOnce(t *testing.T) {
	r := reactiveRig(t)
	r.createQueued("one", controlplane.DefaultPriority, 0)
	var both sync.WaitGroup
	for range 4 {
		both.Go(func() {
			if err := r.AdmitQueuedRuns(t.Context(), system, true); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if n := r.queryCount("SELECT count(*) FROM offers"); n != 1 {
		t.Errorf("%d offers were made", n)
	}
}

// The answer to an earlier offer, or of another node, counts for nothing; neither does one
// that comes after the end.
func TestOffer_LateAnswersCountForNothing(t *testing.T) {
	r := reactiveRig(t)
	d := r.createQueued("one", controlplane.DefaultPriority, 0)
	r.admitQueued(true)
	first := r.openOffers()["site-a"]
	r.answerOffer("site-b", first, claim)
	pgtest.Exec(t, r.url, "UPDATE offers SET expires_at = now()")
	r.admitQueued(true)
	pgtest.Exec(t, r.url, "UPDATE offers SET ask_after = now() WHERE status = 'declined'")
	r.answerOffer("site-b", r.openOffers()["site-b"], "no")
	r.admitQueued(true)
	r.answerOffer("site-a", first, claim)
	r.admitQueued(true)
	if got := r.get(d.ID); got.Node != "" {
		t.Fatalf("a late answer placed it on %s", got.Node)
	}
	second := r.openOffers()["site-a"]
	if second == "" || second == first {
		t.Fatalf("it was asked again with %q after %q", second, first)
	}
	r.removeDeployment(d.ID)
	r.answerOffer("site-a", second, claim)
	r.admitQueued(true)
	if n := r.queryCount("SELECT count(*) FROM offers WHERE status IN ('open', 'claimed')"); n != 0 ||
		r.get(d.ID).Status != controlplane.Canceled {
		t.Errorf("%d offers hold room for what was canceled", n)
	}
}

// A node that claims and then drains does not get the run; the next one is asked.
func TestOffer_AClaimThatCannotBeKept(t *testing.T) {
	r := reactiveRig(t)
	d := r.createQueued("one", controlplane.DefaultPriority, 0)
	r.admitQueued(true)
	r.answerOffer("site-a", r.openOffers()["site-a"], claim)
	pgtest.Exec(t, r.url, "UPDATE nodes SET settings = settings || "+
		`'{"taints": [{"key": "closed", "effect": "no_schedule"}]}' WHERE name = 'site-a'`)
	r.admitQueued(true)
	r.admitQueued(true)
	r.answerOffer("site-b", r.openOffers()["site-b"], claim)
	r.admitQueued(true)
	if got := r.get(d.ID); got.Node != "site-b" {
		t.Errorf("it is on %q", got.Node)
	}
}

func TestOffer_MovesAskAndRetriesDoNot(t *testing.T) {
	r := reactiveRig(t)
	d, _, err := r.createAsking("one", map[string]string{"site-a": claim})
	r.failOnError(nil, err)
	r.node = r.nodeID("site-a")
	d = r.applyStatuses(d.ID, controlplane.Applying, controlplane.Ready)
	move := func(answer string) (asked []string, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err = r.Move(t.Context(), system, d.ID, lifecycle.MoveRequest{})
		}()
		return r.answerAll(map[string]string{"site-b": answer}, done), err
	}
	if _, err := move("no"); controlplane.CodeOf(err) != "no_room" ||
		reasonOf(t, err, "site-b") != "It declined: no." ||
		r.get(d.ID).Status != controlplane.Ready {
		t.Errorf("declined, the move ended with %v", err)
	}
	if asked, err := move(claim); err != nil || len(asked) != 1 {
		t.Fatalf("claimed, the move asked %v: %v", asked, err)
	}
	r.applyStatuses(d.ID, controlplane.Removed)
	made, err := r.FinishMoves(t.Context(), system)
	if made != 1 || err != nil {
		t.Fatalf("%d were made elsewhere: %v", made, err)
	}
	id := controlplane.DeploymentID(pgtest.QueryValue[string](t, r.url,
		"SELECT id::text FROM deployments WHERE node_name = 'site-b'"))
	r.node = r.nodeID("site-b")
	r.applyStatuses(id, controlplane.Applying, controlplane.Undoing, controlplane.Failed)
	pgtest.Exec(t, r.url, "UPDATE nodes SET settings = settings || '{\"priority\": 200}' "+
		"WHERE name = 'site-a'")
	before := r.queryCount("SELECT count(*) FROM offers")
	again, err := r.Retry(t.Context(), system, id, lifecycle.RetryOptions{})
	if err != nil || again.Node != "site-b" || r.queryCount("SELECT count(*) FROM offers") != before {
		t.Errorf("the retry went to %q: %v", again.Node, err)
	}
}

func TestOffer_ADryRunAsksNobody(t *testing.T) {
	r := reactiveRig(t)
	got, err := r.Preflight(t.Context(), system, newRequest("one"))
	r.failOnError(nil, err)
	asks := map[string]bool{}
	for _, n := range got.Nodes {
		asks[n.Node] = n.Asks
	}
	if !got.OK() || !asks["site-a"] || !asks["site-b"] || asks["node-1"] {
		t.Errorf("it is ok: %v, asks %v", got.OK(), asks)
	}
	if n := r.queryCount("SELECT count(*) FROM offers"); n != 0 {
		t.Errorf("%d offers were made", n)
	}
}
