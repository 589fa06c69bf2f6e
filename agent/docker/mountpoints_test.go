package docker_test

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// Files, folders in memory and other volumes can be inside a volume, also inside one that is
// read-only: a new one, one with the image's content, and one that another service writes.
func TestService_MountsAreInsideVolumes(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	file := func(path string) []pipeline.File {
		return []pipeline.File{{Path: path, Content: "of " + path}}
	}
	own, reader, maker := r.service(id, "own"), r.service(id, "reader"), r.service(id, "maker")
	own.Volumes = []pipeline.Volume{{Name: "new", Path: "/new", ReadOnly: true},
		{Name: "etc", Path: "/image", ReadOnly: true}, {Name: "inner", Path: "/new/a/inner"},
		{Name: "outer", Path: "/outer"}, {Name: "within", Path: "/outer/within", ReadOnly: true}}
	own.Tmpfs = []pipeline.Tmpfs{{Path: "/new/a/cache"}}
	own.Files = append(file("/new/config.ini"), append(file("/new/deep/er/x"),
		append(file("/outer/y"), file("/outer/within/z")...)...)...)
	maker.Command = []string{"serve", "80", "/out/last"}
	maker.Volumes = []pipeline.Volume{{Name: "out", Path: "/out", Shared: "site"}}
	reader.Volumes = []pipeline.Volume{{Name: "in", Path: "/in", Shared: "site", ReadOnly: true}}
	reader.Files = append(file("/in/config.ini"), file("/in/sub/x")...)
	r.start(maker)
	for range 2 { // what has been made is there the next time
		r.start(reader)
		r.start(own)
		for _, o := range r.services("reader") {
			if err := r.Remove(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.start(reader)
	for _, s := range []agent.ServiceSpec{own, reader} {
		for _, f := range s.Files {
			if got := r.get(id, s.Step, "/file?path="+f.Path); got != f.Content {
				t.Errorf("%s sees %q at %s", s.Step, got, f.Path)
			}
		}
	}
	if n := r.kinds(agent.KindCopy); n != 0 {
		t.Errorf("%d containers that made the places are left", n)
	}
}

// A path that does not fit into the image is refused in a sentence that names it, and no folder of
// the node.
func TestService_MountBelowAFileIsRefused(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/actor/config.ini", "/tmp"} {
		s := r.service(r.deployment(), "web")
		s.Files = []pipeline.File{{Path: path, Content: "x"}}
		err := r.StartService(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), `files[0].path: `) ||
			!strings.Contains(err.Error(), `"`+path+`"`) ||
			!strings.Contains(err.Error(), "choose another path") ||
			strings.Contains(err.Error(), "rootfs") || strings.Contains(err.Error(), r.runDir) {
			t.Errorf("a file at %s: %v", path, err)
		}
	}
}
