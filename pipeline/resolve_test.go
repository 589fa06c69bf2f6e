package pipeline_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/pipeline"
)

func testVersions() map[pipeline.StepKey]pipeline.Version {
	return map[pipeline.StepKey]pipeline.Version{
		"db": {Tag: "15", Digest: digest}, "api": {Tag: "v1", Digest: digest},
		"web": {Tag: "2.0", Digest: digest},
	}
}

func TestWithVersions_FillsACopyIn(t *testing.T) {
	p := readShop(t)
	before, _ := pipeline.Encode(p)
	out, problems := pipeline.WithVersions(p, testVersions())
	if len(problems) != 0 {
		t.Fatalf("problems:\n%s", problemText(problems))
	}
	api, _ := out.Step("api")
	if api.Service.Image.Tag != "v1" || api.Service.Image.Digest != digest {
		t.Errorf("api has %+v", api.Service.Image)
	}
	if after, _ := pipeline.Encode(p); string(before) != string(after) {
		t.Error("the saved version was changed")
	}
}

func TestWithVersions_Refuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(map[pipeline.StepKey]pipeline.Version)
		want   string
	}{
		"pinned": {func(v map[pipeline.StepKey]pipeline.Version) {
			v["db"] = pipeline.Version{Tag: "16", Digest: digest}
		}, "pinned to"},
		"pattern": {func(v map[pipeline.StepKey]pipeline.Version) {
			v["api"] = pipeline.Version{Tag: "latest", Digest: digest}
		}, `does not fit the pattern "v*"`},
		"missing": {func(v map[pipeline.StepKey]pipeline.Version) { delete(v, "web") },
			`choose a version for service "web"`},
		"stranger": {func(v map[pipeline.StepKey]pipeline.Version) {
			v["create-db"] = pipeline.Version{Tag: "1", Digest: digest}
		}, `no service "create-db"`},
		"digest": {func(v map[pipeline.StepKey]pipeline.Version) {
			v["web"] = pipeline.Version{Tag: "1"}
		}, "has no digest"},
	} {
		v := testVersions()
		c.change(v)
		_, problems := pipeline.WithVersions(readShop(t), v)
		if text := problemText(problems); !strings.Contains(text, c.want) {
			t.Errorf("%s: want %q, got:\n%s", name, c.want, text)
		}
	}
}

func TestLiterals_MarksWhatIsNotKnownYet(t *testing.T) {
	tree, references := pipeline.Literals(map[string]any{
		"a/b": "${{ secrets.x }}", "c": []any{"$${{", map[string]any{"d": "x${{ secrets.y }}"}},
		"e": 1.5,
	})
	want := []string{"/a~1b", "/c/1/d"}
	if d := cmp.Diff(want, references); d != "" {
		t.Error(d)
	}
	list, _ := tree["c"].([]any)
	if list[0] != "${{" || tree["e"] != 1.5 {
		t.Errorf("literals became %v", tree)
	}
}
