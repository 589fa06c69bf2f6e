package review

import (
	"maps"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// The images of one revision appear one by one. Each service whose image is there gets
// the tag, others stay at their default, and only a change is news.
func TestChooseVersions_TakesTheServicesThatHaveTheTag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putServices()
	rule := controlplane.ReviewRule{Project: "shop", Environment: "qa"}
	digest := func(c string) string { return "sha256:" + strings.Repeat(c, 64) }
	down := &controlplane.Error{Kind: controlplane.Unavailable, Code: "registry_down",
		Message: "the registry cannot be reached"}
	running := func(pairs ...string) *lifecycle.View {
		v := &lifecycle.View{}
		for i := 0; i < len(pairs); i += 2 {
			v.Versions = append(v.Versions, controlplane.ServiceVersion{
				Step: pipeline.StepKey(pairs[i]), Tag: "pr-12", Digest: digest(pairs[i+1])})
		}
		return v
	}
	for name, c := range map[string]struct {
		images  map[string]any
		running *lifecycle.View
		want    string
		news    bool
		code    string
	}{
		"none": {code: "tag_awaited"},
		"one":  {images: map[string]any{"api": digest("a")}, want: "api", news: true},
		"both": {images: map[string]any{"api": digest("a"), "web": digest("b")},
			want: "api web", news: true},
		"not the default": {images: map[string]any{"db": digest("a")}, code: "tag_awaited"},
		"nothing new": {images: map[string]any{"api": digest("a")}, running: running("api", "a"),
			want: "api"},
		"rebuilt": {images: map[string]any{"api": digest("c")}, running: running("api", "a"),
			want: "api", news: true},
		"the second came": {images: map[string]any{"api": digest("a"), "web": digest("b")},
			running: running("api", "a"), want: "api web", news: true},
		"one is down": {images: map[string]any{"api": digest("a"), "web": down}, want: "api", news: true},
		"a running one is down": {images: map[string]any{"api": digest("a"), "web": down},
			running: running("api", "a", "web", "b"), code: "registry_down"},
		"all are down": {images: map[string]any{"api": down, "web": down}, code: "registry_down"},
		"a running one lost its tag": {images: map[string]any{"api": digest("a")},
			running: running("api", "a", "web", "b"), want: "api"},
	} {
		clear(w.images)
		for service, v := range c.images {
			w.images["shop/"+service+":pr-12"] = v
		}
		versions, news, err := w.chooseVersions(t.Context(), rule, &controlplane.Review{Tag: "pr-12"},
			c.running)
		want := map[pipeline.StepKey]string{}
		for s := range strings.FieldsSeq(c.want) {
			want[pipeline.StepKey(s)] = "pr-12"
		}
		if controlplane.CodeOf(err) != c.code || !maps.Equal(versions, want) || news != c.news {
			t.Errorf("%s: %v, news %v, %v", name, versions, news, err)
		}
	}
}
