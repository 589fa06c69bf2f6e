package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/registry"
)

// addTesters lets the members of a team that may read the project say verdicts.
func (w *world) addTesters(members ...string) {
	w.t.Helper()
	yes := true
	w.expectSaved(w.accounts.PutTeam(w.t.Context(), system, accounts.TeamPut{Name: "qa",
		Members: members, Verdicts: &yes, Grants: []controlplane.TeamGrant{{Project: "shop",
			Level: controlplane.LevelRead}}}))
}

func (w *world) listVerdicts(d controlplane.Deployment, token string) (all api.VerdictList) {
	w.t.Helper()
	w.expect(http.StatusOK, "GET", "/deployments/"+string(d.ID)+"/verdicts", token, nil, &all)
	return all
}

func (w *world) giveVerdict(d controlplane.Deployment, token, outcome, remarks, set string) answer {
	w.t.Helper()
	return w.call("POST", "/api/v1/deployments/"+string(d.ID)+"/verdicts", token,
		object{"outcome": outcome, "remarks": remarks, "digest_set": set})
}

// deployedFirst returns a deployment that is ready.
func (w *world) deployedFirst() controlplane.Deployment {
	w.t.Helper()
	w.expect(http.StatusCreated, "POST", "/deployments", w.token("root"), object{"name": "first",
		"project": "shop", "environment": "qa", "versions": object{"api": "1.0"}}, nil)
	return w.deployReady("first")
}

// keepNotices has the database keep a copy of each notice in the table told: notices are deleted as
// soon as they are sent on.
func (w *world) keepNotices() {
	w.t.Helper()
	pgtest.Exec(w.t, w.database, `CREATE TABLE told (id bigserial, event text)`)
	pgtest.Exec(w.t, w.database, `CREATE FUNCTION keep_notice() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO told (event) VALUES (NEW.event); RETURN NEW; END $$`)
	pgtest.Exec(w.t, w.database, `CREATE TRIGGER keep AFTER INSERT ON notices
		FOR EACH ROW EXECUTE FUNCTION keep_notice()`)
}

// A verdict takes a right of its own, which no level includes; it is about the images that were
// tested, and is refused if others run.
func TestVerdict_TakesItsRightAndTheImagesThatWereTested(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.keepNotices()
	w.shop()
	d := w.deployedFirst()
	root, full, reader := w.token("root"), w.token("full"), w.token("reader")
	set := w.listVerdicts(d, full).DigestSet
	// promise: W-06
	if a := w.giveVerdict(d, full, "passed", "", set); a.status != http.StatusForbidden {
		t.Errorf("full access alone: %d %s", a.status, a.body)
	}
	if v := w.listVerdicts(d, full); v.May || v.Refusal == nil ||
		!strings.Contains(*v.Refusal, "a team that may say verdicts") {
		t.Errorf("full access alone is told %+v", v)
	}
	if a := w.giveVerdict(d, w.token("stranger"), "passed", "", set); a.status != http.StatusNotFound {
		t.Errorf("a stranger: %d", a.status)
	}
	w.addTesters("reader")
	for _, c := range []struct{ outcome, remarks, set, code string }{
		{"passed", "", strings.Repeat("0", 64), "images_changed"},
		{"remarks", "  ", set, "remarks_missing"},
		{"passed", "", "short", "invalid"}, {"perfect", "", set, "invalid"},
	} {
		if a := w.giveVerdict(d, reader, c.outcome, c.remarks, c.set); a.field("code") != c.code {
			t.Errorf("%+v: %d %s", c, a.status, a.body)
		}
	}
	a := w.giveVerdict(d, reader, "remarks", "slow on phones", set)
	if a.status != http.StatusCreated || a.field("author") != "reader" {
		t.Fatalf("with the right: %d %s", a.status, a.body)
	}
	var shown api.Deployment
	w.expect(http.StatusOK, "GET", "/deployments/"+string(d.ID), full, nil, &shown)
	if v := shown.Verdict; v == nil || v.Outcome != "remarks" || *v.Remarks != "slow on phones" ||
		v.VoidedAt != nil || v.DigestSet != set {
		t.Errorf("the deployment shows %+v", v)
	}
	if a := w.giveVerdict(d, root, "failed", "", set); a.status != http.StatusCreated {
		t.Errorf("an admin: %d %s", a.status, a.body)
	}
	all := w.listVerdicts(d, full).Items
	if len(all) != 2 || all[0].Outcome != "failed" || all[0].VoidedAt != nil ||
		all[1].VoidedReason == nil || *all[1].VoidedReason != "a newer verdict was given" {
		t.Errorf("listed are %+v", all)
	}
	entry := w.newest(root, "root").Items[0]
	if entry.Action != "give verdict" || entry.Object != "deployment first" ||
		!strings.HasPrefix(*entry.Detail, "failed, images ") {
		t.Errorf("the audit says %+v", entry)
	}
	events := pgtest.QueryValue[string](t, w.database,
		"SELECT string_agg(event, ' ' ORDER BY id) FROM told WHERE event LIKE '%verdict%'")
	if events != "deployment.verdict deployment.verdict" {
		t.Errorf("subscribers hear of %q", events)
	}
}

// A run with another image voids a verdict; one with the same images leaves it.
func TestVerdict_IsVoidWithOtherImages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.keepNotices()
	w.shop()
	d := w.deployedFirst()
	root := w.token("root")
	if a := w.giveVerdict(d, root, "passed", "", w.listVerdicts(d, root).DigestSet); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	change := func(from, to string) {
		pgtest.Exec(t, w.database, fmt.Sprintf(`UPDATE deployments
			SET versions = replace(versions::text, '%s', '%s')::jsonb WHERE id = '%s'`, from, to, d.ID))
	}
	tag, digest := d.Versions[0].Tag, d.Versions[0].Digest
	change(`"tag": "`+tag, `"tag": "another-name`)
	if v := w.listVerdicts(d, root).Items[0]; v.VoidedAt != nil {
		t.Errorf("the same images under another name void it: %s", *v.VoidedReason)
	}
	change(digest, "sha256:"+strings.Repeat("f", 64))
	v := w.listVerdicts(d, root)
	// promise: W-06
	if v.Items[0].VoidedAt == nil || v.DigestSet == v.Items[0].DigestSet ||
		*v.Items[0].VoidedReason != "the deployment runs other images now" {
		t.Errorf("with another image it is %+v", v)
	}
	n := pgtest.QueryValue[int](t, w.database,
		"SELECT count(*)::int FROM told WHERE event = 'deployment.verdict_voided'")
	if n != 1 {
		t.Errorf("subscribers hear of it %d times", n)
	}
}

// The statement is verified by a program that knows nothing of us, and names all images together.
func TestVerdict_IsVerifiedByOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deployedFirst()
	root := w.token("root")
	a := w.giveVerdict(d, root, "passed", "", w.listVerdicts(d, root).DigestSet)
	var bundle struct {
		DsseEnvelope struct {
			Payload, PayloadType string
			Signatures           []struct{ Sig string }
		}
		VerificationMaterial struct{ PublicKey struct{ Hint string } }
	}
	w.expect(http.StatusOK, "GET", "/deployments/"+string(d.ID)+"/verdicts/"+a.field("id")+
		"/statement", root, nil, &bundle)
	var key api.VerdictKey
	w.expect(http.StatusOK, "GET", "/verdict-key", w.token("reader"), nil, &key)
	// An admin makes another key; the one that the statement names is still there.
	var rotated, shown api.VerdictKey
	w.expect(http.StatusOK, "POST", "/verdict-key/rotate", root, nil, &rotated)
	w.expect(http.StatusOK, "GET", "/verdict-key", w.token("reader"), nil, &shown)
	if shown.PublicKey == key.PublicKey || shown.PublicKey != rotated.PublicKey ||
		len(*shown.Former) != 1 || (*shown.Former)[0].PublicKey != key.PublicKey ||
		(*shown.Former)[0].Hint != bundle.VerificationMaterial.PublicKey.Hint {
		t.Errorf("after a rotation: %+v, before: %+v", shown, key)
	}
	payload, err := base64.StdEncoding.DecodeString(bundle.DsseEnvelope.Payload)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := base64.StdEncoding.DecodeString(bundle.DsseEnvelope.Signatures[0].Sig)
	if err != nil {
		t.Fatal(err)
	}
	kind := bundle.DsseEnvelope.PayloadType
	signed := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
	// promise: W-06
	if said := verifyWithOpenSSL(t, key.PublicKey, sig, signed); said != "Verified OK" {
		t.Errorf("openssl says %q", said)
	}
	forged := bytes.Replace(signed, []byte(`"PASSED"`), []byte(`"FAILED"`), 1)
	if said := verifyWithOpenSSL(t, key.PublicKey, sig, forged); said != "Verification failure" {
		t.Errorf("of a changed statement openssl says %q", said)
	}
	var statement struct {
		Subject []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct{ Result, TestedBy string }
	}
	if err := json.Unmarshal(payload, &statement); err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, s := range statement.Subject {
		named = append(named, s.Name+"@sha256:"+s.Digest["sha256"])
	}
	if want := controlplane.ImageReferences(d.Versions); !slices.Equal(named, want) ||
		statement.Predicate.Result != "PASSED" || statement.Predicate.TestedBy != "root" {
		t.Errorf("the statement is %s; want the images %v", payload, want)
	}
}

// slowRegistry takes a while for each statement, and notices two that come for one image at once.
type slowRegistry struct {
	images
	mu       sync.Mutex
	writing  map[string]bool
	taken    int
	together int
}

func (r *slowRegistry) Attach(_ context.Context, _ registry.Source, digest string,
	_ registry.Artifact) error {
	r.mu.Lock()
	if r.writing[digest] {
		r.together++
	}
	r.writing[digest], r.taken = true, r.taken+1
	r.mu.Unlock()
	time.Sleep(100 * time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writing[digest] = false
	return nil
}

// Verdicts that are given at once, on deployments with the same images, are attached one after the
// other, however many control planes there are: where a registry has no API for what is attached,
// the second writer of an image's index would undo what the first wrote.
func TestVerdict_OneAtATimeIsAttachedToAnImage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deployedFirst()
	root := w.token("root")
	set := w.listVerdicts(d, root).DigestSet
	slow := &slowRegistry{writing: map[string]bool{}}
	shared := catalog.New(catalog.Config{Store: w.store, Keys: w.keys, Images: slow,
		Log: slog.New(slog.DiscardHandler)})
	attach := lifecycle.New(lifecycle.Config{Store: w.store, Catalog: shared, Keys: w.keys,
		Log: slog.New(slog.DiscardHandler)})
	var control sync.WaitGroup
	for _, outcome := range []string{"passed", "failed", "passed", "failed"} {
		if a := w.giveVerdict(d, root, outcome, "", set); a.status != http.StatusCreated {
			t.Fatalf("%d %s", a.status, a.body)
		}
		control.Go(func() {
			if err := attach.AttachVerdicts(t.Context(), system); err != nil {
				t.Error(err)
			}
		})
	}
	control.Wait()
	if err := attach.AttachVerdicts(t.Context(), system); err != nil {
		t.Fatal(err)
	}
	all := w.listVerdicts(d, root).Items
	for _, v := range all {
		for _, i := range *v.Images {
			if i.AttachedAt == nil {
				t.Errorf("verdict %s is not attached to %s", v.Id, i.Image)
			}
		}
	}
	// promise: W-06
	if want := len(all) * len(*all[0].Images); slow.taken != want || slow.together > 0 {
		t.Errorf("%d statements were attached, %d at the same time as another; want %d",
			slow.taken, slow.together, want)
	}
}

// verifyWithOpenSSL verifies a signature with the program of that name.
func verifyWithOpenSSL(t *testing.T, key string, sig, signed []byte) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string][]byte{"key.pem": []byte(key), "sig": sig, "signed": signed}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "openssl", "dgst", "-sha256", "-verify", "key.pem",
		"-signature", "sig", "signed")
	c.Dir = dir
	out, _ := c.Output() // it fails for what is not verified, and says so
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return first
}

// leftVerdict is the id of what leaveVerdict stores.
const leftVerdict = "01890a5d-ac96-774b-bcce-b302099a8154"

// leaveVerdict stores a verdict on a deployment, without a change of it.
func (w *world) leaveVerdict(d controlplane.Deployment) {
	w.t.Helper()
	pgtest.Exec(w.t, w.database, `INSERT INTO verdicts (id, deployment_id, run, outcome, digest_set,
		author, bundle) VALUES ($1, $2, 1, 'passed', $3, 'root', '{}')`, leftVerdict, string(d.ID),
		strings.Repeat("a", 64))
}
