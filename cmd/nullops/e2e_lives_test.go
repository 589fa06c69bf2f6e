package main_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline/compose"
)

// biography is one project whose deployments live through all that people do to
// them, on images of its own whose tags can move.
type biography struct {
	p        *product
	n        *node
	full     *person
	original apiclient.Deployment
	// first and second are the images' ids, as the engine names them.
	first, second string
}

// lives clones, deletes, recreates and moves deployments, and checks the result on the engine.
func lives(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.applyShop(t)
	b := &biography{p: p, first: w.retag(t, "v1.0.0", "moving", "amd64"),
		second: w.retag(t, "v1.1.0", "next", "amd64")}
	w.retag(t, "v1.1.0", "for-arm", "arm64")
	p.admin.put(t, "/services/lives-web", object{"registry": "local", "image": "lives/web",
		"tag_mode": "selectable", "tag": "next"}, nil)
	p.define(t, "lives", b.web(nil))
	b.n = p.enrol(t, "here", "qa")
	b.full = p.member(t, "full", object{"project": "lives", "level": "full"})
	b.original = p.admin.deployReady(t, "lives", "original", map[string]string{"web": "moving"})
	b.runs(t, b.original, b.first)
	b.faulty(t)
	out, errs, code := p.admin.cli(t, "tags", "lives-web", "--search", "mov")
	if code != 0 || !strings.Contains(out, "moving") || strings.Contains(out, "next") ||
		!strings.Contains(out, "1 shown of 1 that match, among 3") {
		t.Errorf("tags: %d %s%s", code, out, errs)
	}
	b.changeVersions(t)
	b.cloneOriginal(t)
	b.together(t)
	b.recreateFromCapsule(t)
	b.deployTemplate(t)
	b.exportCompose(t)
	b.drainAll(t)
}

// retag tags an image of the shop's page in a repository of its own, and returns the id that the
// engine will know it by.
func (w *world) retag(t *testing.T, from, to, arch string) (id string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	source, err := name.NewTag(w.registry+"/shop/web:"+from, name.Insecure)
	must(err)
	target, err := name.NewTag(w.registry+"/lives/web:"+to, name.Insecure)
	must(err)
	image, err := remote.Image(source, remote.WithContext(t.Context()))
	must(err)
	config, err := image.ConfigFile()
	must(err)
	config = config.DeepCopy()
	config.Architecture, config.OS = arch, "linux"
	image, err = mutate.ConfigFile(image, config)
	must(err)
	must(remote.Write(target, image, remote.WithContext(t.Context())))
	var config256 v1.Hash
	config256, err = image.ConfigName()
	must(err)
	return config256.String()
}

func (b *biography) web(env object) object {
	step := webStep("web")
	service := step["service"].(object)
	service["name"] = "lives-web"
	maps.Copy(service["env"].(object), env)
	return step
}

// runs holds a deployment's container to an image.
func (b *biography) runs(t *testing.T, d apiclient.Deployment, image string) {
	t.Helper()
	if c := b.n.containers(t, d.Id)["web"]; c.Image != image {
		t.Errorf("%s runs image %s, wanted %s", d.Name, c.Image, image)
	}
}

// cli runs the command line and reads its JSON.
func (b *biography) cli(t *testing.T, into any, args ...string) {
	t.Helper()
	out, errs, code := b.p.admin.cli(t, append(args, "--json")...)
	if code != 0 {
		t.Fatalf("nullops %s: %d %s%s", strings.Join(args, " "), code, out, errs)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatalf("nullops %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// seededFault is one thing that stands against a deployment.
type seededFault struct {
	as          *person
	body        object
	check, says string
}

// faulty seeds twelve faults, one by one. Pre-flight and creating say the same of
// each, precisely, and nothing is made on the engine by either.
func (b *biography) faulty(t *testing.T) {
	t.Helper()
	p := b.p
	before := b.n.scanForLeaks(t)
	for what, f := range b.faults(t) {
		body := object{"name": "second", "project": "lives", "environment": "qa"}
		maps.Copy(body, f.body)
		if f.as == nil {
			f.as = p.admin
		}
		var found apiclient.Preflight
		f.as.want(t, http.StatusOK, http.MethodPost, "/deployments/preflight", body, &found)
		failed := slices.DeleteFunc(found.Checks, func(c apiclient.PreflightCheck) bool {
			return c.State != apiclient.PreflightCheckStateFailed
		})
		// promise: I-03
		if found.Ok || len(failed) != 1 || failed[0].Id != f.check ||
			!strings.Contains(failed[0].Message, f.says) || textOf(failed[0].Remedy) == "" {
			t.Errorf("%s: ok %t, failed %+v; wanted one of %s that says %q", what, found.Ok, failed,
				f.check, f.says)
			continue
		}
		refused := f.as.expectProblem(t, f.as.ask(t, http.MethodPost, "/deployments", body).status,
			http.MethodPost, "/deployments", body)
		if refused.Code != textOf(failed[0].Code) {
			t.Errorf("%s: creating says %s, pre-flight %s", what, refused.Code, textOf(failed[0].Code))
		}
	}
	out, errs, code := p.admin.cli(t, "deploy", "lives", "--env", "qa", "--name", "second",
		"--set", "web=next", "--dry-run")
	if code != 0 || !strings.Contains(out, "capacity") {
		t.Errorf("a dry run of what is well: %d %s%s", code, out, errs)
	}
	// promise: I-03, N-324
	if made := b.n.scanForLeaks(t).AddedSince(before); len(made) > 0 {
		t.Errorf("checking made %q", made)
	}
	var list apiclient.DeploymentList
	p.admin.get(t, "/deployments?removed=true&name=second", &list)
	if len(list.Items) > 0 {
		t.Errorf("checking made %+v", list.Items)
	}
}

func (b *biography) faults(t *testing.T) map[string]seededFault {
	t.Helper()
	p := b.p
	guarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="guarded"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(guarded.Close)
	for registry, host := range map[string]string{"guarded": guarded.Listener.Addr().String(),
		"down": freeAddress(t)} {
		p.admin.put(t, "/registries/"+registry, object{"host": host, "insecure": true}, nil)
		p.admin.put(t, "/services/"+registry, object{"registry": registry, "image": "a/b",
			"tag_mode": "selectable", "tag": "1"}, nil)
		step := b.web(nil)
		step["service"].(object)["name"] = registry
		p.define(t, registry, step)
	}
	p.admin.put(t, "/services/ruled", object{"registry": "local", "image": "lives/web",
		"tag_mode": "selectable", "pattern": "v*"}, nil)
	ruled, huge := b.web(nil), b.web(nil)
	ruled["service"].(object)["name"] = "ruled"
	p.define(t, "ruled", ruled)
	p.admin.put(t, "/projects/bare", object{"resources": object{}}, nil)
	huge["service"].(object)["resources"] = object{"cpu": 0.1, "memory_mib": 4_000_000}
	p.admin.put(t, "/projects/huge", object{"resources": object{"memory_mib": 8_000_000}}, nil)
	p.savePipeline(t, "huge", huge)
	of := func(project string) object { return object{"project": project} }
	tag := func(tag string) object { return object{"versions": object{"web": tag}} }
	reader := p.member(t, "reader", object{"project": "lives", "level": "read"})
	return map[string]seededFault{
		"a reader asks": {reader, object{}, "access", "full access"},
		"no project":    {nil, of("nowhere"), "project", "nowhere"},
		"no environment": {nil, object{"environment": "nowhere"},
			"environment", "nowhere"},
		"no pipeline": {nil, of("bare"), "pipeline", "no pipeline yet"},
		"the name is taken": {nil, object{"name": "original"},
			"name", "original is taken"},
		"no such tag": {nil, tag("v9.9.9"), "tag", "v9.9.9"},
		"a tag not allowed": {nil, object{"project": "ruled", "versions": object{"web": "next"}},
			"version", "v*"},
		"another processor":              {nil, tag("for-arm"), "platform", "arm64"},
		"a registry that lets nobody in": {nil, of("guarded"), "registry", "does not let us read"},
		"a registry that is down":        {nil, of("down"), "registry", "cannot be reached"},
		"no node is large enough":        {nil, of("huge"), "capacity", "memory"},
		"a version of nothing": {nil, object{"versions": object{"ghost": "1"}},
			"version", "ghost"},
	}
}

// changeVersions tries to change the versions of what is there.
func (b *biography) changeVersions(t *testing.T) {
	t.Helper()
	path, next := "/deployments/"+b.original.Id, object{"versions": object{"web": "next"}}
	for _, door := range []struct{ method, path string }{
		{http.MethodPut, path}, {http.MethodPatch, path}, {http.MethodPost, path},
		{http.MethodPut, path + "/versions"}, {http.MethodPost, path + "/retry"},
		{http.MethodPost, path + "/extend"},
	} {
		if a := b.p.admin.ask(t, door.method, door.path, next); a.status == http.StatusOK &&
			strings.Contains(a.body, `"next"`) {
			t.Errorf("%s %s changes the version: %s", door.method, door.path, a.body)
		}
	}
	now := b.p.admin.deployment(t, b.original.Id)
	// promise: N-252
	if len(now.Versions) != 1 || now.Versions[0].Tag != "moving" ||
		now.Versions[0].Digest != b.original.Versions[0].Digest {
		t.Errorf("the versions became %+v", now.Versions)
	}
	b.runs(t, b.original, b.first)
}

// cloneOriginal makes copies with the same tags, and with another one.
func (b *biography) cloneOriginal(t *testing.T) {
	t.Helper()
	b.p.define(t, "lives", b.web(object{"EDITED": "yes"}))
	var same, other apiclient.Deployment
	b.cli(t, &same, "clone", "original", "--name", "same")
	// promise: N-256
	if len(same.Versions) != 1 || same.Versions[0].Tag != "moving" ||
		same.Versions[0].Digest != b.original.Versions[0].Digest {
		t.Errorf("the clone has %+v, the original %+v", same.Versions, b.original.Versions)
	}
	b.runs(t, same, b.first)
	if same.PipelineVersion <= b.original.PipelineVersion {
		t.Errorf("the clone has pipeline version %d", same.PipelineVersion)
	}
	b.cli(t, &other, "clone", "original", "--name", "other", "--set", "web=next")
	b.runs(t, other, b.second)     // promise: N-001, N-257
	b.runs(t, b.original, b.first) // promise: N-001
	b.p.answers(t, serviceURL(t, other, "web"))
	b.p.admin.remove(t, other.Id)
}

// together has two people deploy one project at the same time; one of them then
// deletes what is theirs.
func (b *biography) together(t *testing.T) {
	t.Helper()
	var both sync.WaitGroup
	made := map[*person]*apiclient.Deployment{b.p.admin: {}, b.full: {}}
	for who, d := range made {
		both.Go(func() {
			a := who.ask(t, http.MethodPost, "/deployments", object{"name": "of-" + who.name,
				"project": "lives", "environment": "qa"})
			if err := json.Unmarshal([]byte(a.body), d); err != nil || a.status != http.StatusCreated {
				t.Errorf("%s deploys: %d %s", who.name, a.status, a.body)
			}
		})
	}
	both.Wait()
	networks := map[string]bool{}
	for who, d := range made {
		*d = who.await(t, d.Id, apiclient.DeploymentStatusReady)
		b.p.answers(t, serviceURL(t, *d, "web"))
		for network := range b.n.containers(t, d.Id)["web"].NetworkSettings.Networks {
			networks[network] = true
		}
	}
	// promise: N-260
	if mine, theirs := serviceURL(t, *made[b.p.admin], "web"), serviceURL(t, *made[b.full],
		"web"); len(networks) != 2 || mine == theirs {
		t.Errorf("%d networks, at %s and %s", len(networks), mine, theirs)
	}
	theirs := made[b.full]
	b.n.mustBeThere(t, theirs.Id, "container", "network")
	b.full.remove(t, theirs.Id)
	b.n.nothingLeft(t, theirs.Id) // promise: N-261
	b.p.answers(t, serviceURL(t, *made[b.p.admin], "web"))
	b.p.admin.remove(t, made[b.p.admin].Id)
}

// recreateFromCapsule deletes the original and makes it again from its capsule, after its
// tag came to mean another image.
func (b *biography) recreateFromCapsule(t *testing.T) {
	t.Helper()
	b.p.admin.remove(t, b.original.Id)
	b.n.nothingLeft(t, b.original.Id)
	if moved := b.p.w.retag(t, "v1.1.0", "moving", "amd64"); moved != b.second {
		t.Fatalf("the tag means %s", moved)
	}
	var c apiclient.Capsule
	b.cli(t, &c, "capsule", b.original.Id)
	if len(c.Services) != 1 || c.Services[0].Digest != b.original.Versions[0].Digest {
		t.Fatalf("the capsule says %+v", c.Services)
	}
	var again apiclient.Deployment
	b.cli(t, &again, "recreate", b.original.Id, "--pin")
	b.runs(t, again, b.first) // promise: I-14
	url := serviceURL(t, b.original, "web")
	// promise: N-183
	if serviceURL(t, again, "web") != url {
		t.Errorf("it was at %s and is at %s", url, serviceURL(t, again, "web"))
	}
	b.p.answers(t, url)
	b.original = again
}

// deployTemplate deploys what a template says, and nothing else.
func (b *biography) deployTemplate(t *testing.T) {
	t.Helper()
	if out, errs, code := b.full.cli(t, "template", "save", "lives", "nightly", "--env", "qa",
		"--name", "nightly", "--set", "web=moving"); code != 0 {
		t.Fatalf("template save: %s%s", out, errs)
	}
	var d apiclient.Deployment
	b.cli(t, &d, "deploy", "lives", "--template", "nightly")
	// promise: N-328
	if d.Name != "nightly" || d.Environment != "qa" || d.Versions[0].Tag != "moving" {
		t.Errorf("the template made %s in %s with %+v", d.Name, d.Environment, d.Versions)
	}
	b.p.admin.remove(t, d.Id)
}

// exportCompose writes the project as a compose file that is read as the same.
func (b *biography) exportCompose(t *testing.T) {
	t.Helper()
	out, errs, code := b.p.admin.cli(t, "export", "--compose", "lives")
	if code != 0 {
		t.Fatalf("export --compose: %d %s%s", code, out, errs)
	}
	read, err := compose.Read(t.Context(), []byte(out))
	want := compose.Service{Name: "web", Registry: b.p.w.registry, Repository: "lives/web",
		Tag: "next"}
	// promise: Y-13
	if err != nil || len(read.Services) != 1 || read.Services[0] != want ||
		read.Pipeline.Steps[0].Service.Env["EDITED"] != "yes" ||
		read.Pipeline.Steps[0].Service.Ports[0].Port != 8080 {
		t.Errorf("%v: %+v\n%s", err, read, out)
	}
}

// drainAll takes all from one node to another, where it answers as before.
func (b *biography) drainAll(t *testing.T) {
	t.Helper()
	there := b.p.enrol(t, "there", "qa")
	out, errs, code := b.p.admin.cli(t, "node", "drain", "here", "--move", "--no-wait")
	if code != 0 {
		t.Fatalf("drain: %d %s%s", code, out, errs)
	}
	b.n.awaitDrain(t, apiclient.DrainStatusDrained)
	moved := ""
	eventually(t, "what left arrived", func() string {
		moved = textOf(b.p.admin.deployment(t, b.original.Id).MovedTo)
		if moved == "" {
			return "not yet"
		}
		return ""
	})
	now := b.p.admin.await(t, moved, apiclient.DeploymentStatusReady)
	b.n.nothingLeft(t, b.original.Id)
	// promise: N-322
	if textOf(now.Node) != "there" || serviceURL(t, now, "web") != serviceURL(t, b.original, "web") {
		t.Errorf("%s is on %s at %s", now.Name, textOf(now.Node), serviceURL(t, now, "web"))
	}
	b.p.answers(t, serviceURL(t, b.original, "web")) // promise: N-322
	b.n = there
	b.runs(t, now, b.first)
}
