package main_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/plugins/packaging"
)

// keepsData pushes newer builds of a branch whose rule keeps data: the next one begins with what
// the one before wrote, up to its last word. One that does not start leaves the data where it is.
func keepsData(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	tags := p.defineRows(t)
	n := p.enrol(t, "worker", "qa")

	first := p.pushBuild(t, "opened", tags[0], "")
	url := serviceURL(t, first, "web")
	p.answers(t, url)
	writeRow(t, n.volume(t, first.Id), "first")
	second := p.pushBuild(t, "updated", tags[1], first.Id)
	p.answers(t, url)
	// promise: W-02
	n.expectRows(t, second.Id, "first", "told to end\n")
	writeRow(t, n.volume(t, second.Id), "second")

	p.deliverBuild(t, "updated", tags[2])
	p.expectFailedUpdate(t)
	p.answers(t, url)
	if now := p.named(t, "rows-main"); now.Id != second.Id {
		t.Errorf("after an update that failed %s has the name", now.Id)
	}
	n.expectRows(t, second.Id, "firstsecond", "told to end\ntold to end\n")
	for _, id := range []string{second.Id, first.Id} {
		p.admin.remove(t, id)
		n.nothingLeft(t, id)
	}
}

// keepsDataAcrossNodes is keepsData where the node of the older build takes no new deployment: each
// update goes to the other node, with the data.
func keepsDataAcrossNodes(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.takeDataAlong(t, func() *node { return p.enrol(t, "right", "qa") })
}

// takeDataAlong has updates go from a node to another one, which is added when the first one has a
// deployment.
func (p *product) takeDataAlong(t *testing.T, addAnother func() *node) {
	t.Helper()
	tags := p.defineRows(t)
	left := p.enrol(t, "left", "qa")
	first := p.pushBuild(t, "opened", tags[0], "")
	url := serviceURL(t, first, "web")
	p.answers(t, url)
	writeRow(t, left.volume(t, first.Id), "first")

	right := addAnother()
	if out, errs, code := p.admin.cli(t, "node", "drain", "left", "--no-wait"); code != 0 {
		t.Fatalf("node drain: %d %s%s", code, out, errs)
	}
	second := p.pushBuild(t, "updated", tags[1], first.Id)
	p.answers(t, url)
	if textOf(second.Node) != "right" {
		t.Fatalf("the update is on %s", textOf(second.Node))
	}
	// promise: W-02
	right.expectRows(t, second.Id, "first", "told to end\n")
	writeRow(t, right.volume(t, second.Id), "second")
	// What was replaced runs where it was, with the data as it was.
	eventually(t, "the older build runs again", func() string {
		was := p.admin.deployment(t, first.Id)
		return missingPart(was.Name+" "+string(was.Status), "was--rows-main ready")
	})
	left.expectRows(t, first.Id, "first", "told to end\n")

	if out, errs, code := p.admin.cli(t, "node", "undrain", "left"); code != 0 {
		t.Fatalf("node undrain: %d %s%s", code, out, errs)
	}
	if out, errs, code := p.admin.cli(t, "node", "drain", "right", "--no-wait"); code != 0 {
		t.Fatalf("node drain: %d %s%s", code, out, errs)
	}
	p.deliverBuild(t, "updated", tags[2])
	p.expectFailedUpdate(t)
	p.answers(t, url)
	right.expectRows(t, second.Id, "firstsecond", "told to end\ntold to end\n")
	for _, id := range []string{second.Id, first.Id} {
		p.admin.remove(t, id)
		left.nothingLeft(t, id)
		right.nothingLeft(t, id)
	}
}

// defineRows defines a rule that keeps data, and returns the tags of its builds. The last one does
// not start.
func (p *product) defineRows(t *testing.T) (tags []string) {
	t.Helper()
	p.applyShop(t)
	repository := "nullops-test/rows-" + strings.ToLower(path.Base(t.Name()))
	for n, entry := range []string{"/actor", "/actor", "/nothing"} {
		tags = append(tags, p.w.publishBuild(t, repository, entry, n))
	}
	p.admin.put(t, "/services/keeping", object{"registry": "local", "image": repository,
		"tag_mode": "selectable"}, nil)
	p.define(t, "rows", keepingService(false))
	p.admin.put(t, "/rules/rows", object{"source": "generic", "project": "rows", "environment": "qa",
		"tag": "{tag}", "data": "keep", "secret": keepSecret}, nil)
	return tags
}

// publishBuild puts an image with the actor into the registry that differs from other builds.
func (w *world) publishBuild(t *testing.T, repository, entry string, n int) (tag string) {
	t.Helper()
	if w.cluster == nil {
		return dockertest.PublishActorImage(t, w.docker, repository,
			fmt.Sprintf("ENTRYPOINT [%q]", entry), fmt.Sprintf("LABEL build=%s-%d", repository, n)).Tag
	}
	tag = fmt.Sprintf("build-%d", n)
	w.cluster.publish(t, repository, tag, v1.Config{Entrypoint: []string{entry},
		Labels: map[string]string{"build": fmt.Sprint(n)}},
		packaging.File{Path: "actor", Mode: 0o755, Data: dockertest.BuildActor(t)},
		packaging.File{Path: "data", Dir: true})
	return tag
}

func (p *product) expectFailedUpdate(t *testing.T) {
	t.Helper()
	eventually(t, "the update fails", func() string {
		var r apiclient.RuleView
		p.admin.get(t, "/rules/rows", &r)
		return missingPart(string(r.Reviews[0].State)+textOf(r.Reviews[0].Detail),
			"failedthe update failed, and the earlier build still answers")
	})
}

const keepSecret = "a-secret-of-the-keeping-rule"

// deliverBuild says what was built of the branch, as a program without a code host does.
func (p *product) deliverBuild(t *testing.T, action, tag string) {
	t.Helper()
	body := fmt.Appendf(nil, `{"action":%q,"repository":"acme/rows","branch":"main","commit":%q,
		"tag":%q}`, action, tag, tag)
	at := fmt.Sprint(time.Now().Unix())
	mac := hmac.New(sha256.New, []byte(keepSecret))
	mac.Write(append([]byte(at+"."), body...))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/hooks/rows",
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Nullops-Timestamp", at)
	r.Header.Set("X-Nullops-Signature", fmt.Sprintf("v1=%x", mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusAccepted {
		t.Fatalf("the event is answered with %s", answer.Status)
	}
}

// pushBuild waits until a deployment other than the one before is ready with the build.
func (p *product) pushBuild(t *testing.T, action, tag, before string) (d apiclient.Deployment) {
	t.Helper()
	p.deliverBuild(t, action, tag)
	eventually(t, "the build "+tag+" is ready", func() string {
		d = p.named(t, "rows-main")
		if d.Id == before || d.Status != apiclient.DeploymentStatusReady {
			return fmt.Sprintf("%s is %s: %s", d.Id, d.Status, textOf(d.Detail))
		}
		return ""
	})
	return d
}

// named returns the deployment of a name; it is empty if there is none.
func (p *product) named(t *testing.T, name string) (found apiclient.Deployment) {
	t.Helper()
	for _, d := range p.admin.all(t) {
		if d.Name == name {
			found = p.admin.deployment(t, d.Id)
		}
	}
	return found
}

func writeRow(t *testing.T, volume, row string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(volume, "rows"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(row)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// expectRows checks what is in a volume, and what its services wrote when they were stopped.
func (n *node) expectRows(t *testing.T, id, rows, said string) {
	t.Helper()
	for name, want := range map[string]string{"rows": rows, "said": said} {
		text, err := os.ReadFile(filepath.Join(n.volume(t, id), name))
		if err != nil || string(text) != want {
			t.Errorf("%s holds %q, want %q: %v", name, text, want, err)
		}
	}
}
